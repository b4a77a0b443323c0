//! The words of a shell script: its commands, as far as they can be told without a shell. Nothing is executed and little is understood;
//! what is read wrongly is at worst a name that counts without need.

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    /// behind `>`: the script writes it
    pub is_written: bool,
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
struct Line {
    words: Vec<Word>,
    word: String,
    /// a word has begun, maybe an empty one
    begun: bool,
    writes: bool,
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
                        self.writes = false;
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
            let is_written = std::mem::take(&mut self.writes);
            self.words.push(Word { text: std::mem::take(&mut self.word), is_written });
        }
    }

    fn ends_command(&mut self, to: &mut Vec<Vec<Word>>) {
        let words = std::mem::take(&mut self.words);
        if !words.is_empty() {
            to.push(words);
        }
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
    }
}
