//! What a script's words may stand for, as far as it says so itself: variables that it sets (`V=$PWD/venv`, then `$V/bin/python`), those of
//! its loops (`for f in a b; do . $f; done`) and defaults (`${F:-a}`), and braces (`{flags,other}.txt`). A command with such words counts once more for each of these.

use std::collections::BTreeMap;

use super::homes;
use super::shell::{Word, assigned};

/// Values of one variable that are tried.
const MOST_VALUES: usize = 16;
/// Variables within values within values.
const DEEPEST: usize = 4;
/// Commands that are added to those of one script.
const MOST: usize = 512;

/// Values by the names of their variables.
type Values<'c> = BTreeMap<&'c str, Vec<&'c str>>;

/// The commands of a script, and behind them those that they may stand for.
pub fn spelled_out(commands: Vec<Vec<Word>>) -> Vec<Vec<Word>> {
    let inherited: Vec<_> = homes::all().collect();
    let mut values = Values::new();
    for (name, value) in commands.iter().flat_map(|command| given(command)) {
        let known = values.entry(name).or_default();
        if known.len() < MOST_VALUES && !known.contains(&value) {
            known.push(value);
        }
    }
    // an engine has perflab's own
    for (name, dir) in &inherited {
        values.entry(name).or_default().push(dir);
    }
    let mut added = Vec::new();
    for command in &commands {
        for at in 0..MOST_VALUES {
            let spelled: Vec<Word> = command.iter().flat_map(|word| spell(word, &values, at)).collect();
            // the next value of any of its variables
            if spelled == *command || added.last() == Some(&spelled) || added.len() >= MOST {
                break;
            }
            added.push(spelled);
        }
    }
    let mut all = commands;
    all.extend(added);
    all
}

/// The variables that a command gives values to: `A=b`, `A+=b`, `for a in b c`, `: ${A:=b}`.
pub(super) fn given(command: &[Word]) -> Vec<(&str, &str)> {
    let texts = || command.iter().map(|word| word.text.as_str());
    if let [first, name, of, values @ ..] = command
        && (first.text.as_str(), of.text.as_str()) == ("for", "in")
    {
        return values.iter().map(|value| (name.text.as_str(), value.text.as_str())).collect();
    }
    let assigned = texts().filter(|text| !text.starts_with('-')).filter_map(|text| match assigned(text) {
        (Some(name), value) => Some((name, value)),
        // behind what the variable held before
        _ => text.split_once("+=").filter(|(name, _)| is_name(name)),
    });
    let set = texts().filter_map(|text| {
        let inner = text.split_once("${")?.1.split_once('}')?.0;
        inner.split_once(":=").or(inner.split_once('=')).filter(|(name, _)| is_name(name))
    });
    assigned.chain(set).collect()
}

pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

fn spell(word: &Word, values: &Values<'_>, at: usize) -> Vec<Word> {
    let mut text = word.text.clone();
    for _ in 0..DEEPEST {
        let Some(next) = replaced(&text, values, at) else { break };
        text = next;
    }
    braces(&text)
        .into_iter()
        .map(|text| Word { text, is_written: word.is_written, is_read: word.is_read })
        .collect()
}

/// With the first variable in it replaced that has a value here.
fn replaced(text: &str, values: &Values<'_>, at: usize) -> Option<String> {
    let mut from = 0;
    while let Some(found) = text[from..].find('$') {
        let start = from + found;
        let rest = &text[start + 1..];
        let (name, after) = if let Some(inner) = rest.strip_prefix('{') {
            inner.split_once('}')?
        } else {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            rest.split_at(end)
        };
        // what stands behind a name, a default, is for a variable that has no value
        let name = name.split([':', '-', '=', '+', '%', '#', '[']).next().unwrap_or_default();
        let known = values.get(name).and_then(|all| all.get(at).or(all.last()));
        // a variable that is made of itself: `PATH=bin:$PATH`
        if let Some(value) = known.filter(|value| !value.contains(&format!("${name}"))) {
            return Some(format!("{}{}{after}", &text[..start], homes::before(name, value, after)));
        }
        from = start + 1;
    }
    None
}

/// `a{b,c}` as `ab` and `ac`.
fn braces(text: &str) -> Vec<String> {
    let list = || {
        let start = text.find('{').filter(|at| !text[..*at].ends_with('$'))?;
        let end = start + text[start..].find('}')?;
        let inner = &text[start + 1..end];
        (inner.contains(',') && !inner.contains(['{', '"', ':', ' '])).then_some((start, end, inner))
    };
    match list() {
        Some((start, end, inner)) => {
            inner.split(',').map(|part| format!("{}{part}{}", &text[..start], &text[end + 1..])).collect()
        }
        None => vec![text.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::super::shell::commands;
    use super::*;

    fn read(text: &str) -> Vec<String> {
        let all = commands(text);
        let from = all.len();
        let shown = |c: &Vec<Word>| c.iter().map(|w| w.text.as_str()).collect::<Vec<_>>().join(" ");
        spelled_out(all)[from..].iter().map(shown).collect()
    }

    #[test]
    fn words_are_what_their_variables_and_braces_say() {
        assert_eq!(
            read("V=$PWD/venv\n. \"$V/bin/activate\"\nexec ${V}/bin/python $X"),
            [". $PWD/venv/bin/activate", "exec $PWD/venv/bin/python $X"]
        );
        assert_eq!(read("C=a\nif x; then C=b; fi\n. ./$C.env"), [". ./a.env", ". ./b.env"]);
        assert_eq!(read("for f in a b c; do\n. ./$f.env; done"), [". ./a.env", ". ./b.env", ". ./c.env"]);
        assert_eq!(read(": ${F:=a.env}\n. ./$F"), [": a.env", ". ./a.env"]);
        assert_eq!(read("F=a\nF+=.env\n. ${F}"), [". a", ". .env"], "each part, as far as that is told");
        assert_eq!(read("export PATH=bin:$PATH\nexec x"), [] as [&str; 0]);
        assert_eq!(read("cat {a,b}.txt $X{1}"), ["cat a.txt b.txt $X{1}"]);
        assert!(read("A=$B\nB=$A\necho $A").len() <= 3, "a circle ends");
    }
}
