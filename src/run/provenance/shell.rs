//! The words of a shell script: its commands, as far as they can be told without a shell. Nothing is executed and little is understood;
//! what is read wrongly is at worst a name that counts without need.

use std::collections::BTreeSet;

pub const KEYWORDS: [&str; 9] = ["if", "then", "elif", "else", "while", "until", "do", "!", "{"];
/// Commands that run what stands behind them, after options of their own.
pub const RUNNERS: [&str; 14] = [
    "exec", "env", "nohup", "command", "nice", "ionice", "setsid", "stdbuf", "numactl", "taskset", "chrt",
    "time", "sudo", "timeout",
];
/// Commands whose files are made by them.
pub const MAKERS: [&str; 9] = ["tee", "touch", "rm", "mkdir", "mkfifo", "mktemp", "rmdir", "truncate", "mv"];
/// Commands whose last file is made by them.
const COPIERS: [&str; 3] = ["cp", "ln", "install"];
/// Commands that ask whether a file is there.
pub const TESTS: [&str; 3] = ["[", "[[", "test"];

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    /// behind `>`: the script writes it
    pub is_written: bool,
    /// behind `<`: a command reads it
    pub is_read: bool,
}

/// Stands for what a command within a word prints.
const PRINTED: &str = "$_";

/// The commands of a text, each with its words, quotes taken off. Those within `$(…)` are commands of their own.
pub fn commands(text: &str) -> Vec<Vec<Word>> {
    let joined = text.replace("\\\n", " ");
    let lines: Vec<&str> = joined.lines().filter(|l| !l.trim_start().starts_with('#')).collect();
    let mut found = Vec::new();
    for part in unnested(&lines.join("\n")) {
        part.lines().for_each(|line| Line::default().read(line, &mut found));
    }
    found
}

/// The text and the commands within its words, apart.
fn unnested(text: &str) -> Vec<String> {
    // whether each of them is one of `$(…)`, and its text so far
    let mut open = vec![(false, String::new())];
    let mut done = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let within = open.last().is_some_and(|(is_nested, _)| *is_nested);
        let opens = c == '$' && chars.next_if_eq(&'(').is_some();
        if opens {
            open.push((true, String::new()));
        } else if c == '(' && within {
            open.push((false, String::new()));
        } else if c == ')' && open.len() > 1 {
            let (is_nested, inner) = open.pop().unwrap_or_default();
            done.push(inner);
            add(&mut open, if is_nested { PRINTED } else { "\n" });
        } else {
            add(&mut open, c.encode_utf8(&mut [0; 4]));
        }
    }
    done.extend(open.into_iter().map(|(_, text)| text));
    done
}

fn add(open: &mut [(bool, String)], text: &str) {
    if let Some((_, last)) = open.last_mut() {
        last.push_str(text);
    }
}

#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a thing that may be known of the next word")]
struct Line {
    words: Vec<Word>,
    word: String,
    /// a word has begun, maybe an empty one
    begun: bool,
    writes: bool,
    reads: bool,
    /// the next word says where a text within the script ends
    ends_text: bool,
}

impl Line {
    fn read(mut self, line: &str, to: &mut Vec<Vec<Word>>) {
        let mut rest = line;
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            match c {
                // a quote that does not end in its line is a sign like others: one in a text that is printed must hide nothing
                '"' | '\'' => {
                    if let Some((inner, after)) = rest.split_once(c) {
                        self.word.push_str(inner);
                        (self.begun, rest) = (true, after);
                    }
                }
                ' ' | '\t' | '\r' => self.ends_word(),
                ';' | '|' | '&' | '(' | ')' | '`' => {
                    self.ends_word();
                    // `>&2`, `>|file`
                    if !(self.writes && matches!(c, '&' | '|')) {
                        (self.writes, self.reads, self.ends_text) = (false, false, false);
                        self.ends_command(to);
                    }
                }
                '>' | '<' => {
                    // the number of what is led away is no word
                    if self.word.chars().all(|c| c.is_ascii_digit()) {
                        (self.begun, self.word) = (false, String::new());
                    }
                    self.ends_word();
                    self.writes = c == '>';
                    let behind = rest.trim_start_matches('<');
                    let signs = usize::from(c == '<') * (rest.len() - behind.len());
                    rest = behind.strip_prefix('-').filter(|_| signs == 1).unwrap_or(&rest[signs..]);
                    (self.reads, self.ends_text) = (c == '<' && signs == 0, signs == 1);
                }
                c => {
                    self.word.push(c);
                    self.begun = true;
                }
            }
        }
        self.ends_word();
        self.ends_command(to);
    }

    fn ends_word(&mut self) {
        if std::mem::take(&mut self.begun) {
            let (is_written, is_read) = (std::mem::take(&mut self.writes), std::mem::take(&mut self.reads));
            let text = std::mem::take(&mut self.word);
            if !std::mem::take(&mut self.ends_text) {
                self.words.push(Word { text, is_written, is_read });
            }
        }
    }

    fn ends_command(&mut self, to: &mut Vec<Vec<Word>>) {
        let words = std::mem::take(&mut self.words);
        if !words.is_empty() {
            to.push(words);
        }
    }
}

/// What a command makes or takes away: no file that it reads. What is touched stays what it was for those that read it.
pub fn made_by(command: &[Word], read: &BTreeSet<&str>) -> Vec<String> {
    let first = first_of(command);
    let makes = |w: &&Word| MAKERS.contains(&first) && !(first == "touch" && read.contains(w.text.as_str()));
    let copy = command.last().filter(|_| COPIERS.contains(&first));
    command.iter().filter(|w| w.is_written || makes(w)).chain(copy).map(|w| w.text.clone()).collect()
}

/// What commands take in, other than those that only ask whether a file is there.
pub fn read_by(commands: &[Vec<Word>]) -> BTreeSet<&str> {
    let reads = |c: &&Vec<Word>| !MAKERS.contains(&first_of(c)) && !TESTS.contains(&first_of(c));
    let words = commands.iter().filter(reads).flatten();
    words.filter(|w| !w.is_written).map(|w| w.text.as_str()).collect()
}

/// The command itself, behind what may stand before it.
pub fn first_of(command: &[Word]) -> &str {
    command.iter().map(|w| w.text.as_str()).find(|w| !skipped(w)).unwrap_or_default()
}

/// What stands before the command itself.
fn skipped(word: &str) -> bool {
    KEYWORDS.contains(&word) || RUNNERS.contains(&word) || word.contains('=') && assigned(word).0.is_some()
}

/// A word with the first `${NAME:-default}` in it replaced by its default.
pub fn defaulted(word: &str) -> Option<String> {
    let (before, rest) = word.split_once("${")?;
    let (inner, after) = rest.split_once('}')?;
    let (name, default) = inner.split_once('-')?;
    let name = name.trim_end_matches(':');
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    (is_name && !default.is_empty()).then(|| format!("{before}{default}{after}"))
}

/// A word behind the variable that it begins with: a directory, most often the script's own.
pub fn rest_of(word: &str) -> &str {
    let Some(rest) = word.strip_prefix('$') else { return word };
    let end = if rest.starts_with('{') { rest.find('}').unwrap_or(rest.len()) } else { 0 };
    rest[end..].split_once('/').map_or("", |(_, rest)| rest.trim_start_matches('/'))
}

/// The name and the value of `NAME=value`, of `--name=value`.
pub fn assigned(word: &str) -> (Option<&str>, &str) {
    let is_name = |n: &str| n.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-') && !n.is_empty();
    match word.split_once('=').filter(|(name, _)| is_name(name)) {
        Some((name, value)) => (Some(name.trim_start_matches('-')), value),
        None => (None, word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        let shown = |w: &Word| if w.is_written { format!(">{}", w.text) } else { w.text.clone() };
        commands(text).iter().map(|c| c.iter().map(shown).collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn commands_are_told_apart() {
        assert_eq!(
            read(
                "# ./old\n. ./a.env; A=1 exec \"./my engine\" \\\n  --x='y' 2>&1 >>log | tee b &\nit's (./c)"
            ),
            [". ./a.env", "A=1 exec ./my engine --x=y >1 >log", "tee b", "its", "./c"]
        );
        assert_eq!(
            read("H=$(cd \"$(dirname \"$0\")\" && pwd)\n. \"$(dirname $0)/x\" <in"),
            ["dirname $0", "cd $_", "pwd", "dirname $0", "H=$_", ". $_/x in"]
        );
        assert_eq!(read("$( ( ./a ) ; ./b"), ["./a", "./b"]);
        assert_eq!(read("cat <<EOF >out\ncat <<-'E' a\ncat <<<b <c"), ["cat >out", "cat a", "cat b c"]);
    }
}
