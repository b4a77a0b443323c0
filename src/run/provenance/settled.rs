//! The variables that a shell script gives one value, once and for good, before it says them: `X=big`, then `. ./conf/$X.env`. There the
//! value alone is meant, and not whatever might stand in its place. What is not sure is left as it is: values within `if` and the like, and
//! of what a script sources, reads or evaluates meanwhile nobody knows what it sets.

use std::collections::{BTreeSet, HashMap};

use super::shell::Word;
use super::variants::{given, is_name};

/// By which a script may set variables whose names it does not say there.
const SETTING: [&str; 9] =
    [".", "source", "eval", "read", "mapfile", "readarray", "getopts", "unset", "declare"];
const OPENING: [&str; 7] = ["if", "while", "until", "for", "case", "select", "{"];
const CLOSING: [&str; 4] = ["fi", "done", "esac", "}"];
/// Behind which a command begins.
const BEFORE: [&str; 6] = ["then", "else", "elif", "do", "{", "!"];
/// Variables within values within values.
const DEEPEST: usize = 4;

/// The commands of a script with the values of such variables in their places.
pub fn put_in(mut commands: Vec<Vec<Word>>, text: &str) -> Vec<Vec<Word>> {
    let settled = Text::of(text).settled();
    let mut values: HashMap<String, Option<String>> = HashMap::new();
    for (name, value) in commands.iter().flat_map(|command| given(command)) {
        if !settled.contains(name) {
            continue;
        }
        let is_of_itself = [format!("${name}"), format!("${{{name}")].iter().any(|own| value.contains(own));
        let is_one = !value.is_empty() && !value.contains(char::is_whitespace) && !is_of_itself;
        let known = values.entry(name.to_owned()).or_insert_with(|| is_one.then(|| value.to_owned()));
        if known.as_deref() != Some(value) {
            *known = None;
        }
    }
    let values: HashMap<&str, &str> =
        values.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_deref()?))).collect();
    if !values.is_empty() {
        for word in commands.iter_mut().flatten().filter(|word| word.text.contains('$')) {
            for _ in 0..DEEPEST {
                let Some(text) = replaced(&word.text, &values) else { break };
                word.text = text;
            }
        }
    }
    commands
}

/// With the values of these variables, if there are any in it.
fn replaced(text: &str, values: &HashMap<&str, &str>) -> Option<String> {
    let (mut out, mut rest, mut is_other) = (String::new(), text, false);
    while let Some(at) = rest.find('$') {
        let (before, behind) = rest.split_at(at);
        out.push_str(before);
        let (name, after) = variable(&behind[1..]);
        // one with an operator (`${X%.env}`) is something else
        let is_plain = !behind.starts_with("${") || after.starts_with('}');
        if let Some(value) = values.get(name).filter(|_| is_plain) {
            out.push_str(value);
            rest = after.strip_prefix('}').filter(|_| behind.starts_with("${")).unwrap_or(after);
            is_other = true;
        } else {
            out.push('$');
            rest = &behind[1..];
        }
    }
    out.push_str(rest);
    is_other.then_some(out)
}

/// The name of a variable behind its sign, and what follows on it.
fn variable(behind: &str) -> (&str, &str) {
    let inner = behind.strip_prefix('{').unwrap_or(behind);
    inner.split_at(inner.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(inner.len()))
}

/// Where a script sets variables and says them, by its bytes.
#[derive(Default)]
struct Text<'t> {
    /// where each is set first of those that are set by a command of their own in no other
    set: HashMap<&'t str, usize>,
    /// where each is said first, and where the command begins that says it last
    said: HashMap<&'t str, (usize, usize)>,
    /// where something else may set any
    unsure: Vec<usize>,
    /// within commands that may be run at any time something else does
    is_unsure: bool,
    depth: i32,
}

impl<'t> Text<'t> {
    fn of(text: &'t str) -> Self {
        let mut all = Self::default();
        // behind a text within the script, or a quote over several lines, nothing is told apart
        let mut is_read = true;
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            if !line.trim_start().starts_with('#') {
                is_read &=
                    !line.contains("<<") && ['"', '\''].iter().all(|q| line.matches(*q).count() % 2 == 0);
                let mut from = at;
                for command in line.split(';') {
                    all.command(command, from, is_read);
                    from += command.len() + 1;
                }
            }
            at += line.len();
        }
        all
    }

    fn command(&mut self, command: &'t str, at: usize, is_read: bool) {
        let mut is_first = true;
        for word in command.split_whitespace() {
            let word = word.trim_start_matches(['(', '`', '$']);
            if is_first && OPENING.contains(&word) || word == "{" {
                self.depth += 1;
            } else if is_first && CLOSING.contains(&word) || word == "}" {
                self.depth -= 1;
            }
            if SETTING.contains(&word) {
                self.unsure.push(at);
                self.is_unsure |= self.depth > 0 && self.set.is_empty();
            }
            is_first = is_first && BEFORE.contains(&word);
        }
        for (sign, _) in command.match_indices('$') {
            let (name, _) = variable(&command[sign + 1..]);
            let said = self.said.entry(name).or_insert((at + sign, at));
            said.1 = at;
        }
        let plain = command.trim();
        let plain = plain.strip_prefix("export ").or(plain.strip_prefix("readonly ")).unwrap_or(plain);
        let Some((name, value)) = plain.split_once('=').filter(|(name, _)| is_name(name)) else { return };
        let is_one = !value.contains(['&', '|', '`', '#'])
            && shell_words::split(value).is_ok_and(|words| words.len() == 1);
        if is_one && is_read && self.depth == 0 {
            self.set.entry(name).or_insert(at);
        }
    }

    fn settled(&self) -> BTreeSet<&'t str> {
        // where not all that was begun is ended it was read wrongly
        if self.depth != 0 || self.is_unsure {
            return BTreeSet::new();
        }
        let is_settled = |name: &&'t str| {
            let (Some(set), Some((first, last))) = (self.set.get(name), self.said.get(name)) else {
                return false;
            };
            let between =
                self.unsure.partition_point(|at| at <= set)..self.unsure.partition_point(|at| at < last);
            first > set && between.is_empty()
        };
        self.set.keys().copied().filter(is_settled).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::shell::commands;
    use super::*;

    fn last(text: &str) -> String {
        let all = put_in(commands(text), text);
        let words = all.last().into_iter().flatten().map(|word| word.text.as_str());
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_value_that_is_given_once_and_for_good_stands_for_its_variable() {
        for text in [
            "X=big\n. ./conf/$X.env",
            "X=big; . \"./conf/${X}.env\"",
            "if a; then b; fi\n. ./a.env\nY=big\nexport X=$Y\n. ./conf/$X.env\n",
        ] {
            assert_eq!(last(text), ". ./conf/big.env", "{text}");
        }
        assert_eq!(last("X=a.env\n. ./${X%.env}"), ". ./${X%.env}");
    }

    #[test]
    fn one_that_may_have_another_value_is_left_open() {
        for text in [
            "[ -n \"$X\" ] || X=big\n. ./$X",
            "if a; then\nX=big\nfi\n. ./$X",
            "X=big\nX=small\n. ./$X",
            "X=${X:-big}\n. ./$X",
            ". ./$X\nX=big\n. ./$X",
            "X=big\n. ./other\n. ./$X",
            "X=big\nread X\n. ./$X",
            "f() { . ./other; }\nX=big\nf\n. ./$X",
            "cat <<E\nX=big\nE\n. ./$X",
            "X=big cmd\n. ./$X",
        ] {
            assert_eq!(last(text), ". ./$X", "{text}");
        }
    }
}
