//! The words of a launch's texts, and which names can be put together of them. How a name gets from a text to a question takes more forms
//! than any reader knows (lists, functions, programs within scripts), but its parts stand somewhere: a name that no text could spell is
//! asked for by nobody.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use super::opened::is_log;
use super::quoted;
use super::script_words::awaited_by;
use super::shell::{commands, made_by, read_by};
use super::sought;
use super::uses::{Use, use_of};
use crate::disk;

/// Words that are kept of all texts; more are data.
const MOST_WORDS: usize = 100_000;
/// Of a text within quotes that has more words than that: it is prose.
const MOST_OF_NAMES: usize = 6;
/// By which texts ask for directories.
const OF_DIRECTORIES: [&str; 5] = ["-d ", "isdir", "is_dir", "isDirectory", "wildcard"];
/// By which they name themselves: `${0%.sh}.env`.
const OF_ITSELF: [&str; 6] = ["$0", "${0", "__file__", "__filename", "BASH_SOURCE", "FindBin"];
/// By which they make small letters of large ones, or the other way round.
const OF_CASE: [&str; 8] =
    ["tr A-Z", "tr a-z", "[:upper:]", ",,}", "^^}", ".lower()", "toLowerCase", "toUpperCase"];
/// What a directory of settings is gone through for.
const OF_SETTINGS: [&str; 10] = ["env", "conf", "cfg", "ini", "toml", "yaml", "yml", "sh", "args", "flags"];
const REMOVERS: [&str; 4] = ["rm", "mv", "cp", "ls"];
/// Parts of names that leave open whether a file is read, and of which most are written.
const KEPT: [&str; 10] = [
    "cache",
    "caches",
    "hicache",
    "trace",
    "traces",
    "profiler",
    "record",
    "storage",
    "workspace",
    "checkpoints",
];
/// Endings of what editors and tools leave, and of what is for people.
const LEFT: [&str; 24] = [
    "swp", "swo", "swx", "bak", "orig", "rej", "old", "save", "part", "md", "markdown", "rst", "adoc", "pdf",
    "png", "jpg", "svg", "html", "ipynb", "csv", "tsv", "parquet", "npz", "zip",
];

/// Words, and what else texts say of names.
#[derive(Debug, Default)]
pub struct Lexicon {
    words: HashSet<String>,
    /// endings that a language puts behind the names of modules itself
    endings: BTreeSet<&'static str>,
    /// what the texts write themselves, or wait for
    made: HashSet<String>,
    asks_directories: bool,
    /// patterns of names of settings that are gone through in directories whose own names stand elsewhere: `"$DIR"/*.env`
    patterns: BTreeSet<String>,
}

/// How a text is read.
enum Kind {
    /// each word counts
    All,
    /// those within quotes, with the endings of the language's modules
    Program(&'static [&'static str]),
}

impl Lexicon {
    /// Takes in a file's text. Whether there is room for it.
    pub fn add(&mut self, path: &Path, text: &str) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match kind(&name, text) {
            Kind::All => {
                let code = |line: &&str| !line.trim_start().starts_with(['#', ';']);
                for line in text.lines().filter(code) {
                    self.words_of(line);
                    self.patterns_of(line);
                }
                self.made_by_shell(text);
            }
            Kind::Program(endings) => {
                for inner in quoted_in(text) {
                    self.words_of(inner);
                }
                self.unquoted(text);
                self.endings.extend(endings);
                let found = sought::by(text, &quoted::literals(text));
                self.made.extend(found.written.iter().chain(&found.awaited).filter_map(|word| plain(word)));
            }
        }
        if OF_ITSELF.iter().any(|own| text.contains(own)) {
            self.words_of(&name);
        }
        if OF_CASE.iter().any(|of| text.contains(of)) {
            let small = self.words.iter().map(|word| word.to_lowercase());
            let large = self.words.iter().map(|word| word.to_uppercase());
            let all: Vec<String> = small.chain(large).collect();
            self.words.extend(all);
        }
        self.asks_directories |= OF_DIRECTORIES.iter().any(|asks| text.contains(asks));
        self.words.len() <= MOST_WORDS
    }

    pub fn asks_directories(&self) -> bool {
        self.asks_directories
    }

    /// The words of a text that are not of a file: of a command, of a value.
    pub fn words_of(&mut self, text: &str) {
        for part in parts(text) {
            if !self.words.contains(part) {
                self.words.insert(part.to_owned());
            }
        }
    }

    /// `for f in "$DIR"/*.env`: not where they are taken away.
    fn patterns_of(&mut self, line: &str) {
        let is_removed = || line.split_whitespace().any(|word| REMOVERS.contains(&word));
        if !line.contains("/*.") || is_removed() {
            return;
        }
        for word in line.split([' ', '\t', ';', '(', ')', '`', '=']) {
            let word = word.replace(['"', '\''], "");
            let Some((dir, ending)) = word.rsplit_once("/*.") else { continue };
            let is_open = dir.rsplit('/').next().is_some_and(|last| last.starts_with('$'));
            if is_open && OF_SETTINGS.contains(&ending) {
                self.patterns.insert(format!(".{ending}"));
            }
        }
    }

    /// `eval { require Local }`, `qw(base local)`: names that stand without quotes.
    fn unquoted(&mut self, text: &str) {
        let is_one = |line: &&str| ["require ", "qw", "%w"].iter().any(|before| line.contains(before));
        for line in text.lines().filter(is_one) {
            self.words_of(line);
        }
    }

    fn made_by_shell(&mut self, text: &str) {
        let all = commands(text);
        let read = read_by(&all);
        let made: Vec<String> = all
            .iter()
            .flat_map(|command| made_by(command, &read).into_iter().chain(awaited_by(command)))
            .collect();
        self.made.extend(made.iter().filter_map(|word| plain(word)));
    }

    /// Whether a name is something that a launch would ask for. It costs more than to see that no text spells it, which most are.
    pub fn may_be_asked(&self, name: &str, is_dir: bool) -> bool {
        let (dirs, last) = name.rsplit_once('/').unwrap_or(("", name));
        let mut ends = name.match_indices('/').map(|(at, _)| &name[at + 1..]).chain([name]);
        (is_dir || may_be_read(last))
            && !ends.any(|end| self.made.contains(end))
            && !dirs.split('/').chain([last]).any(is_left)
    }

    /// The parts of a name, below the directory at which the texts' names begin, that no text says; `None` where it has no letter.
    /// `is_open` where the launch went into its directory, whatever that is called.
    pub fn missing<'n>(&self, name: &'n str, is_open: bool) -> Option<Vec<&'n str>> {
        let (dirs, last) = name.rsplit_once('/').unwrap_or(("", name));
        let ending = last.rsplit_once('.').map(|(_, end)| end).filter(|end| self.endings.contains(end));
        let of_dirs = if is_open { "" } else { dirs };
        let last = ending.map_or(last, |end| &last[..last.len() - end.len()]);
        let says_something = parts(last).any(|part| part.contains(char::is_alphabetic));
        let last = if self.patterns.iter().any(|end| last.ends_with(end.as_str())) { "" } else { last };
        let missing =
            || parts(of_dirs).chain(parts(last)).filter(|part| !self.words.contains(*part)).collect();
        says_something.then(missing)
    }
}

/// What a name or a text is put together of: all that stands between other signs than letters and digits.
pub fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty())
}

fn kind(name: &str, text: &str) -> Kind {
    let first = text.lines().next().unwrap_or_default();
    let ending = Path::new(name).extension().and_then(|end| end.to_str());
    if !quoted::is_program(first, ending) {
        return Kind::All;
    }
    let is = |language: &str, endings: &[&str]| match first.strip_prefix("#!") {
        Some(line) => line.contains(language),
        None => ending.is_some_and(|end| endings.contains(&end)),
    };
    Kind::Program(if is("python", &["py"]) {
        &["py", "so"]
    } else if is("node", &["js", "mjs", "cjs"]) {
        &["js", "mjs", "cjs", "json", "node"]
    } else if is("perl", &["pl", "pm"]) {
        &["pl", "pm"]
    } else if is("ruby", &["rb"]) {
        &["rb"]
    } else {
        &["lua"]
    })
}

/// The texts within quotes that may be names or parts of them: not those over several lines, and no prose.
fn quoted_in(text: &str) -> Vec<&str> {
    let (mut found, mut rest, mut begins) = (Vec::new(), text, true);
    while let Some(at) = rest.find(['\n', '"', '\'', '`']) {
        let (before, behind) = rest.split_at(at);
        let is_comment = begins && before.trim_start().starts_with(['#', '/']);
        let sign = &behind[..1];
        begins = sign == "\n";
        if begins || is_comment {
            rest = behind.split_once('\n').map_or("", |(_, next)| next);
            begins = true;
        } else if let Some(within) = behind.strip_prefix(&sign.repeat(3)) {
            rest = within.split_once(&sign.repeat(3)).map_or("", |(_, after)| after);
        } else {
            let line = behind[1..].split('\n').next().unwrap_or_default();
            let inner = line.split_once(sign).map(|(inner, _)| inner);
            found.extend(inner);
            rest = &behind[1 + inner.map_or(0, |inner| inner.len() + 1)..];
        }
    }
    found.retain(|inner| inner.split_whitespace().count() <= MOST_OF_NAMES);
    found
}

/// A word that a text writes to, as a name: without the variable that it begins with.
fn plain(word: &str) -> Option<String> {
    let name = super::shell::rest_of(word).trim_start_matches("./");
    (!name.is_empty() && !name.contains(['$', '*', '{'])).then(|| name.to_owned())
}

/// Whether a name is one of what is left over, written, or kept by tools.
fn is_left(name: &str) -> bool {
    let lower = name.to_lowercase();
    let is_kept = || lower.split(['-', '_', '.']).any(|part| KEPT.contains(&part));
    let usual = match use_of(name) {
        Use::Passed => true,
        Use::Either => is_kept(),
        Use::Read => false,
    };
    usual
        || disk::is_kept_by_tools(name)
        || name == "__pycache__"
        || name.ends_with('~')
        || name.starts_with(['#'])
}

/// Whether engines read files of such names.
fn may_be_read(name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, end)| end);
    disk::Which::All.counts(name)
        && !is_log(Path::new(name))
        && !LEFT.contains(&ending)
        && !name.starts_with(".#")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing<'n>(name: &str, text: &str, asked: &'n str) -> Option<Vec<&'n str>> {
        let mut lexicon = Lexicon::default();
        assert!(lexicon.add(Path::new(name), text));
        lexicon.missing(asked, false).filter(|_| lexicon.may_be_asked(asked, false))
    }

    #[test]
    fn a_name_is_spelled_where_each_of_its_parts_is_a_word() {
        let text = "# never.env\nFILES=\"serve.env conf/local.env\" # and so on\n";
        let of = |asked| missing("start.sh", text, asked);
        for spelled in ["serve.env", "conf/local.env", "local.env", "env/conf_serve", "conf/serve-local.env"]
        {
            assert_eq!(of(spelled), Some(vec![]), "{spelled}");
        }
        assert_eq!(of("never.env"), Some(vec!["never"]));
        assert_eq!(of("conf/serve2.env"), Some(vec!["serve2"]), "numbers make other words");
        assert_eq!(of("other/Local.env"), Some(vec!["other", "Local"]));
        for none in
            ["serve.env~", ".serve.env.swp", "local.md", "local.log", "conf/README", "12", "env/cache/local"]
        {
            assert_eq!(of(none), None, "{none}");
        }
    }

    #[test]
    fn of_a_program_what_stands_in_quotes_counts_and_its_language_s_endings() {
        let text = "\"\"\"Says local here.\"\"\"\nimport prose # it's\nx = 'serve' + \".toml\"\nhelp='this is far too much to be a name of a file'\n";
        let of = |asked| missing("serve.py", text, asked);
        assert_eq!((of("serve.toml"), of("serve.py")), (Some(vec![]), Some(vec![])));
        assert_eq!(of("prose.toml"), Some(vec!["prose"]));
        assert_eq!(of("local.toml"), Some(vec!["local"]));
        assert_eq!(of("file.toml"), Some(vec!["file"]));
        assert_eq!(missing("s.js", "require('./local')", "local.json"), Some(vec![]));
        assert_eq!(
            missing("s.pl", "eval { require Local };\nfor (qw(near far)) {}", "Local/far.pm"),
            Some(vec![])
        );
    }

    #[test]
    fn what_a_text_makes_or_goes_through_and_its_own_name_are_told_apart() {
        let text = "[ -f a.env ] || echo >a.env\n. \"${0%.sh}.conf\"\nfor f in \"$D\"/*.env; do . $f; done\n";
        let of = |asked| missing("start.sh", text, asked);
        assert_eq!((of("a.env"), of("f/a.env")), (None, None));
        assert_eq!((of("start.conf"), of("anything.env")), (Some(vec![]), Some(vec![])));
        assert_eq!(of("other/anything.env"), Some(vec!["other"]));
        let cases = missing("s.sh", "f=$(echo CONF | tr A-Z a-z); cat $f", "conf");
        assert_eq!(cases, Some(vec![]));
    }
}
