//! The literal texts of programs in other scripting languages that may be names of files: `open("conf.json")`, `require "./more.pl"`,
//! `f"{HERE}/conf.json"`. Which of them are is for [`super::leads`] to say.

use std::borrow::Cow;

/// First lines and endings of such programs.
const LANGUAGES: [&str; 5] = ["python", "perl", "ruby", "node", "lua"];
const ENDINGS: [&str; 7] = ["py", "pl", "pm", "rb", "js", "mjs", "lua"];
/// Endings of what programs write.
pub(super) const WRITTEN: [&str; 9] =
    [".log", ".pid", ".sock", ".out", ".db", ".sqlite", ".sqlite3", ".lock", ".tmp"];
/// A longer text is no name.
const LONGEST: usize = 200;
/// Bytes of a line that are looked at as one.
const LONGEST_LINE: usize = 1024;
/// Calls that put names together of what stands between commas.
const JOINING: [&str; 6] = ["join(", "joinpath(", "Path(", "resolve(", "catfile(", "catdir("];

/// A literal text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Literal<'t> {
    /// without a variable that it begins with (`{HERE}/`, `%s/`), and with `*` for each that it holds
    pub text: Cow<'t, str>,
    /// the line in which it stands
    pub line: &'t str,
    /// the function that is called with it first: `open("conf")`
    pub called: Option<&'t str>,
    /// it stands behind a text that is a flag: `["serve", "--model-path", "models/tiny"]`
    pub is_of_flag: bool,
    /// the program says that it writes there
    pub is_written: bool,
    /// what alone stands between it and the text before it, in one line: a comma, or a stroke
    between: Option<char>,
    /// behind a call that puts names together: `join(HERE, "cfg")`
    pub is_joined: bool,
}

/// Whether a file is such a program, by its first line, else by the ending of its name.
pub fn is_program(first: &str, ending: Option<&str>) -> bool {
    match first.strip_prefix("#!") {
        Some(line) => LANGUAGES.iter().any(|name| line.contains(name)),
        None => ending.is_some_and(|ending| ENDINGS.contains(&ending)),
    }
}

/// The lines of a program that are no comments. Those that no person writes (a whole program in one) come in pieces, as each text looks
/// at what its line says.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim_start().starts_with(['#', '/'])).flat_map(pieces)
}

fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let most = rest.floor_char_boundary(LONGEST_LINE);
        let end =
            if most == rest.len() { None } else { rest[..most].rfind([';', ',', ' ']).filter(|at| *at > 0) };
        let (piece, after) = rest.split_at(end.unwrap_or(most));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// All literal texts that may be a name, or a part of one.
pub fn literals(text: &str) -> Vec<Literal<'_>> {
    lines(text).flat_map(of_line).collect()
}

fn of_line(line: &str) -> Vec<Literal<'_>> {
    let mut found = Vec::new();
    let (mut rest, mut before, mut is_first) = (line, "", true);
    while let Some(at) = rest.find(['"', '\'', '`']) {
        let (quote, from) = (rest[at..].chars().next().unwrap_or('"'), at + 1);
        let Some(length) = rest[from..].find(quote) else { break };
        let (inner, after) = (&rest[from..from + length], &rest[from + length + 1..]);
        let text = behind_variable(inner);
        // `HERE + "/x.json"`
        let lead = without_kind(&rest[..at]);
        let is_joined = lead.ends_with('+');
        let text = if is_joined { text.trim_start_matches('/') } else { text };
        let text = in_directory(open_within(text), lead, before);
        let between = if is_first { None } else { sign(lead) };
        is_first = !is_plain(&text);
        if !is_first {
            let called = called(lead);
            let is_of_flag = before.starts_with("--") && rest[..at].trim() == ",";
            let is_written = is_written(before, &text, after);
            found.push(Literal {
                text,
                line,
                called,
                is_of_flag,
                is_written,
                between,
                is_joined: joins(lead),
            });
        }
        (rest, before) = (after, inner);
    }
    found
}

/// `Path("conf").glob("*.json")`: a pattern in the directory that the text before it names, and in no other.
fn in_directory<'t>(pattern: Cow<'t, str>, lead: &str, before: &str) -> Cow<'t, str> {
    let dir = open_within(behind_variable(before.trim_end_matches('/')));
    if lead.trim_start() != ").glob(" || !is_plain(&dir) || dir.contains('*') {
        return pattern;
    }
    Cow::Owned(format!("{dir}/{pattern}"))
}

/// Without letters that say of what kind the text behind them is: `open(f`.
fn without_kind(before: &str) -> &str {
    before.trim_end_matches(|c: char| c.is_alphabetic()).trim_end()
}

/// Whether a call in a text puts names together.
fn joins(lead: &str) -> bool {
    JOINING.iter().any(|call| lead.contains(call))
}

/// The sign that alone stands between two texts: `"cfg", "x.json"`, `Path("cfg") / "x.json"`.
fn sign(between: &str) -> Option<char> {
    match between.trim_start().trim_start_matches(')').trim() {
        "," => Some(','),
        "/" => Some('/'),
        _ => None,
    }
}

/// The function whose call a text ends with.
fn called(lead: &str) -> Option<&str> {
    let lead = lead.strip_suffix('(')?;
    let start = lead.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_').len();
    Some(&lead[start..])
}

/// With an asterisk for what a text inserts: `conf/{name}.json` stands for all of them.
fn open_within(text: &str) -> Cow<'_, str> {
    if !text.contains(['{', '%']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '%']) {
        let (before, inserted) = rest.split_at(at);
        let end = if inserted.starts_with('{') {
            inserted.find('}').map(|n| n + 1)
        } else {
            inserted.get(..2).map(str::len)
        };
        out.push_str(before.strip_suffix(['$', '#']).unwrap_or(before));
        out.push('*');
        rest = end.and_then(|end| inserted.get(end..)).unwrap_or_default();
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Without a variable that a text begins with, in the spelling of any language: most often the directory of the program.
fn behind_variable(text: &str) -> &str {
    let rest = if let Some(inner) = text.trim_start_matches(['$', '#']).strip_prefix('{') {
        inner.split_once('}').map(|(_, rest)| rest)
    } else if let Some(rest) = text.strip_prefix("%s") {
        Some(rest)
    } else {
        text.strip_prefix('$').map(|rest| rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_'))
    };
    match rest.and_then(|rest| rest.strip_prefix('/')) {
        Some(rest) => rest,
        None => text,
    }
}

fn is_plain(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "._-/+@=,~*?[]".contains(c);
    !text.is_empty() && text.len() <= LONGEST && !text.starts_with('-') && text.chars().all(plain)
}

/// `open("x", "w")`, `open(my $f, ">", "x")`, `Path("x").write_text(…)`, and names of logs and the like.
fn is_written(before: &str, text: &str, after: &str) -> bool {
    let mode = after.trim_start().strip_prefix(',').map(|m| m.trim_start().trim_start_matches("mode="));
    let mode = mode.and_then(|m| m.strip_prefix(['"', '\'']));
    let by_mode = mode.is_some_and(|m| is_mode(m) && m.starts_with(['w', 'a', 'x', '>']));
    let by_name = WRITTEN.iter().any(|end| text.ends_with(end));
    by_mode || by_name || before.starts_with('>') || after.trim_start().starts_with(").write")
}

/// Whether a text begins with a mode of opening and its quote, and not with a name: `"wb"`, `">"`.
pub(super) fn is_mode(text: &str) -> bool {
    let mode: &str = text.split(['"', '\'']).next().unwrap_or_default();
    mode.len() <= 3 && mode.chars().all(|c| "rwaxbt+>".contains(c))
}

impl Literal<'_> {
    /// Whether it is a name of a file as it stands, which a program reads where it runs as soon as there is one.
    pub fn is_name(&self) -> bool {
        !self.is_written
            && self.text.contains(['.', '/'])
            && !self.is_pattern()
            && !self.text.starts_with(['/', '~'])
    }

    /// Whether it may be the name of a file, if one is there: without an ending, or from the root of the file system.
    pub fn may_be_name(&self) -> bool {
        !self.is_written && !self.is_pattern() && (self.called.is_some() || self.text.contains(['.', '/']))
    }

    /// Whether nothing but such a sign stands between it and the text before it.
    pub fn is_behind(&self, sign: char) -> bool {
        self.between == Some(sign)
    }

    /// Whether it is an ending alone: `name + ".json"`.
    pub fn is_ending(&self) -> bool {
        self.text
            .strip_prefix('.')
            .is_some_and(|end| !end.is_empty() && end.chars().all(char::is_alphanumeric))
    }

    /// Whether what lies in a directory of that name is read as a whole: `from_pretrained("models/tiny")`.
    pub fn may_be_read_whole(&self) -> bool {
        const READERS: [&str; 3] = ["load", "pretrained", "read"];
        self.is_of_flag || self.called.is_some_and(|name| READERS.iter().any(|word| name.contains(word)))
    }

    /// Whether it stands for several files: `*.yaml`.
    pub fn is_pattern(&self) -> bool {
        self.text.contains(['*', '?', '[', ']'])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        literals(text).iter().filter(|l| l.is_name()).map(|l| l.text.to_string()).collect()
    }

    #[test]
    fn names_that_are_read_are_told_from_those_that_are_written() {
        let text = "# open('old.json')\nimport json\nconf = json.load(open(\"conf.json\"))\nwith open('out.json', 'w') as f: pass\n\
                    open(\"more.txt\", mode=\"a\"); Path('state.json').write_text(x); load('data/w.bin', \"rb\")\n\
                    require './x.pl'; open(my $f, '>', 'y.txt'); print(\"it's a.b c\", 'http://h/x', '/etc/passwd', 'x.log')\n";
        assert_eq!(names(text), ["conf.json", "data/w.bin", "./x.pl"]);
        assert!(is_program("#!/usr/bin/env perl", None) && is_program("import x", Some("py")));
        assert!(!is_program("#!/bin/sh", Some("py")) && !is_program("{}", Some("json")));
    }

    #[test]
    fn a_variable_before_a_name_is_left_out() {
        assert_eq!(
            names("open(HERE + \"/a.json\"); open(dirname(abspath(__file__)) + '/conf/b.txt')"),
            ["a.json", "conf/b.txt"]
        );
        let text = "f\"{HERE}/a.json\"; `${__dirname}/b.json`; \"#{dir}/c.json\"; '%s/d.json' % x; \"$dir/e.json\"; f'{x}.json'";
        assert_eq!(names(text), ["a.json", "b.json", "c.json", "d.json", "e.json"]);
    }

    #[test]
    fn what_is_no_name_by_itself_may_be_one() {
        let text = "open('flags'); open('log', 'w'); print(x, 'flags'); open(r'/srv/x'); join(HERE, 'cfg', 'a.json'); glob('*.yaml')";
        let all = literals(text);
        let may: Vec<&str> = all.iter().filter(|l| l.may_be_name()).map(|l| &*l.text).collect();
        assert_eq!(may, ["flags", "/srv/x", "a.json"]);
        assert_eq!(all.iter().filter(|l| l.is_pattern()).map(|l| &*l.text).collect::<Vec<_>>(), ["*.yaml"]);
        let open = literals("f'conf/{stage}.env'; 'a/%s.json' % x; 'b/{0}'.format(y); `c/${z}.js`");
        let open: Vec<&str> = open.iter().filter(|l| l.is_pattern()).map(|l| &*l.text).collect();
        assert_eq!(open, ["conf/*.env", "a/*.json", "b/*", "c/*.js"]);
        let within =
            literals("Path('/srv/conf').glob('*.json'); (HERE / f'{x}/d').glob('*.env'); p.glob('*.ini')");
        let within: Vec<&str> = within.iter().filter(|l| l.is_pattern()).map(|l| &*l.text).collect();
        assert_eq!(within, ["/srv/conf/*.json", "d/*.env", "*.ini"]);
    }
}
