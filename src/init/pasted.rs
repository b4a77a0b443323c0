//! What a terminal, a wiki or a chat puts around a command: prompts, output between commands, code fences.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// `$ `, `(venv) $ `, `me@box:~/x$ `, `root@4f1:/workspace# `, `[me@box x]$ `, `% `, `❯ `, `PS C:\> `.
static PROMPT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^\s*(?:\([\w.+-]+\)\s*)?(?:\[?[\w.-]+@[\w.-]+[^\n$#%❯'\x22]*?\]?[$#%❯]|[$%❯]|PS [A-Za-z]:\\[^>\n]*>)\s+").ok()
});

/// `<<EOF`, and the word that ends the text.
static TEXT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"(?:^|[^<])<<-?\s*['"\\]?(\w+)"#).ok());

/// A dash of typography before the name of a flag.
static DASH: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(^|\s)[–—−‑]+([A-Za-z][\w-]*)").ok());

/// `$env:NAME = value`, `$name = value`
static POWERSHELL: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\s*\$(env:)?([A-Za-z_]\w*)\s*=\s*(.+?)\s*$").ok());

/// The commands of a pasted text, without what is around them. Where lines have a prompt, the others are output.
pub fn commands_only(text: &str) -> String {
    if let Some(started) = of_a_unit(text) {
        return started;
    }
    let text = quoted(text);
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim_start().starts_with("```")).collect();
    if lines.iter().all(|l| prompt(l).is_none()) {
        return lines.join("\n");
    }
    let mut kept: Vec<&str> = Vec::new();
    let mut open = false;
    // the word that ends a text which a command reads
    let mut text: Option<String> = None;
    let mut command = Open::default();
    for line in lines {
        let line = if open { line.strip_prefix("> ").unwrap_or(line) } else { line };
        let line = match prompt(line) {
            Some(rest) if !open => {
                command = Open::default();
                rest
            }
            _ if open => line,
            _ => continue,
        };
        kept.push(line);
        command.read(line);
        text = match text {
            Some(end) if line.trim() == end => {
                command = Open::default();
                None
            }
            Some(end) => Some(end),
            None => TEXT.as_ref().and_then(|t| t.captures(line)).map(|c| c[1].to_owned()),
        };
        open = text.is_some() || command.goes_on();
    }
    kept.join("\n")
}

/// A text whose every line is quoted as in a mail or in markdown, without the signs.
fn quoted(text: &str) -> Cow<'_, str> {
    let mut lines = text.lines().filter(|l| !l.trim().is_empty()).peekable();
    let is_quoted = lines.peek().is_some() && lines.all(|l| l == ">" || l.starts_with("> "));
    if !is_quoted {
        return text.into();
    }
    let bare = |line: &str| line.strip_prefix("> ").unwrap_or_default().to_owned();
    text.lines().map(bare).collect::<Vec<_>>().join("\n").into()
}

/// What a page makes of a command, as it was before: spaces that do not break, typographic quotes, and dashes before flags. Says
/// whether there was any of it but spaces.
pub fn plain(text: &str) -> (String, bool) {
    let spaces = text.replace(['\u{a0}', '\u{202f}', '\u{2007}'], " ").replace(['\u{200b}', '\u{feff}'], "");
    let quotes = spaces.replace(['“', '”', '„'], "\"").replace(['‘', '’'], "'");
    let dashes = DASH.as_ref().map_or_else(
        || quotes.clone(),
        |dash| {
            let of = |found: &regex::Captures<'_>| {
                let sign = if found[2].len() > 3 || found[2].contains('-') { "--" } else { "-" };
                format!("{}{sign}{}", &found[1], &found[2])
            };
            dash.replace_all(&quotes, of).into_owned()
        },
    );
    let changed = dashes != spaces;
    (other_shells(&dashes), changed)
}

/// Variables as PowerShell sets them, and commands of a notebook, as a shell has them.
fn other_shells(text: &str) -> String {
    let one = |line: &str| {
        if line.trim_start().starts_with("%%") {
            return String::new();
        }
        if let Some(found) = POWERSHELL.as_ref().and_then(|p| p.captures(line)) {
            let exports = if found.get(1).is_some() { "export " } else { "" };
            return format!("{exports}{}={}", &found[2], &found[3]);
        }
        let bare = line.trim_start().strip_prefix('!');
        bare.filter(|b| b.starts_with(|c: char| c.is_ascii_alphabetic())).unwrap_or(line).to_owned()
    };
    text.split('\n').map(one).collect::<Vec<_>>().join("\n")
}

/// What a unit of systemd starts, with its variables as a shell has them.
fn of_a_unit(text: &str) -> Option<String> {
    const START: &str = "ExecStart=";
    text.lines().find(|l| l.trim_start().starts_with(START))?;
    let mut kept = String::new();
    let mut open = false;
    for line in text.lines() {
        let line = line.trim();
        let of_unit = if let Some(variables) = line.strip_prefix("Environment=") {
            Some(format!("export {variables}"))
        } else if let Some(file) = line.strip_prefix("EnvironmentFile=") {
            Some(format!("source {}", file.trim_start_matches('-')))
        } else {
            // signs before the program say how systemd runs it
            line.strip_prefix(START).map(|c| c.trim_start_matches(['-', '@', ':', '+', '!']).to_owned())
        };
        if let Some(kept_line) = of_unit.or_else(|| open.then(|| line.to_owned())) {
            open = kept_line.ends_with('\\');
            kept.push_str(&kept_line);
            kept.push('\n');
        }
    }
    Some(kept.trim_end().to_owned())
}

fn prompt(line: &str) -> Option<&str> {
    let found = PROMPT.as_ref()?.find(line)?;
    Some(&line[found.end()..])
}

/// What is open in the lines of a command, counted line by line: a script has thousands of them.
#[derive(Debug, Default)]
struct Open {
    /// the last line ends with a backslash, or the backtick of PowerShell
    continued: bool,
    quotes: usize,
    /// an array over several lines
    array: bool,
    /// `(` without those that are closed again
    brackets: isize,
}

impl Open {
    fn read(&mut self, line: &str) {
        let trimmed = line.trim_end();
        let backtick = trimmed.ends_with('`') && trimmed.matches('`').count() % 2 == 1;
        self.continued = trimmed.ends_with('\\') || backtick;
        self.array |= line.contains("=(");
        for c in line.chars() {
            match c {
                '\'' => self.quotes += 1,
                '(' => self.brackets += 1,
                ')' => self.brackets -= 1,
                _ => {}
            }
        }
    }

    /// Whether the next line belongs to the last one.
    fn goes_on(&self) -> bool {
        self.continued || self.quotes % 2 == 1 || self.array && self.brackets > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typography_and_other_shells_are_undone() {
        let cases = [
            (
                "vllm serve x –tensor-parallel-size 2 —tp 1 –dtype a-b",
                "vllm serve x --tensor-parallel-size 2 -tp 1 --dtype a-b",
            ),
            ("a\u{a0}–c ‘{“m”: 1}’", "a -c '{\"m\": 1}'"),
            ("$env:A = \"1\"\n$m = 'x'\n%%bash\n!vllm serve $m", "export A=\"1\"\nm='x'\n\nvllm serve $m"),
            ("$ A=1 vllm serve x --a=b", "$ A=1 vllm serve x --a=b"),
        ];
        for (text, expected) in cases {
            assert_eq!(plain(text).0, expected, "{text}");
        }
    }

    #[test]
    fn prompts_and_output_go() {
        let cases = [
            ("vllm serve x", "vllm serve x"),
            ("$ vllm serve x\nINFO ready\n$ ls", "vllm serve x\nls"),
            ("(venv) me@box:~/w$ vllm serve x \\\n>   --a 1\nINFO", "vllm serve x \\\n  --a 1"),
            ("root@4f1:/workspace# vllm serve x", "vllm serve x"),
            ("[me@box w]$ vllm serve x", "vllm serve x"),
            ("# a comment\nvllm serve x", "# a comment\nvllm serve x"),
            ("```bash\nvllm serve x\n```", "vllm serve x"),
            (
                "[Service]\nEnvironment=\"A=1 2\" B=3\nExecStart=-/opt/vllm serve x \\\n  --y 1\nRestart=always",
                "export \"A=1 2\" B=3\n/opt/vllm serve x \\\n--y 1",
            ),
            ("$ cat <<E > y\n> it's\n> E\n$ b\nINFO", "cat <<E > y\nit's\nE\nb"),
            ("$ vllm serve x --c '{\n \"a\": 1}'\nINFO", "vllm serve x --c '{\n \"a\": 1}'"),
        ];
        for (text, expected) in cases {
            assert_eq!(commands_only(text), expected, "{text}");
        }
    }
}
