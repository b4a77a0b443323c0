//! The names that a program in another language may ask for before there is anything of that name: whether a file is there, whether it can
//! be opened, whether it is among what a directory lists. How a name gets from a text to the question takes many forms
//! (`FLAG = HERE / "turbo.flag"`, `for name in ("turbo", "slow")`), so that in a program that asks for anything each text counts that may
//! be a name: a wrong one costs something only where a file of just that name comes to be.

use std::collections::{BTreeSet, HashSet};

use super::homes;
use super::leads::{is_of_system, variable_of};
use super::quoted::{self, Literal, WRITTEN};
use super::uses::{Use, use_of};

/// By which a program asks for files.
const ASKING: [&str; 25] = [
    "exists",
    "isfile",
    "is_file",
    "isdir",
    "is_dir",
    "islink",
    "listdir",
    "iterdir",
    "scandir",
    "walk(",
    "glob(",
    "access(",
    "accessSync",
    "stat(",
    "statSync",
    "open(",
    "openSync",
    "readFile",
    "readdir",
    "read_text",
    "read_bytes",
    "File.",
    "Dir.",
    "opendir",
    "is_symlink",
];
/// The same in Perl, where an operator is a letter.
const OPERATORS: [&str; 7] = ["-e ", "-f ", "-d ", "-r ", "-s ", "-x ", "-l "];
/// By which it makes files, or takes them away.
const MAKING: [&str; 22] = [
    ".touch(",
    "mkdir",
    "makedirs",
    "write_text",
    "write_bytes",
    "writeFile",
    "createWriteStream",
    "appendFile",
    "unlink",
    "os.remove(",
    "rmtree",
    "rmSync",
    "os.rename(",
    ".rename(",
    "renameSync",
    "os.replace(",
    "shutil.",
    "mkfifo",
    "symlink",
    ".bind(",
    "FileHandler(",
    "File.write",
];
/// By which it reads variables of its environment.
const VARIABLES: [&str; 4] = ["environ", "getenv", "process.env", "ENV"];
/// Functions that take other texts than names.
const OF_TEXTS: [&str; 12] = [
    "print",
    "encode",
    "decode",
    "getenv",
    "add_argument",
    "format",
    "startswith",
    "endswith",
    "split",
    "strip",
    "replace",
    "import_module",
];
/// Longer ones are no names of people.
const LONGEST: usize = 100;

/// What a program may ask for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sought {
    /// what it asks for by its own words first
    pub names: Vec<Name>,
    /// what it makes itself
    pub written: BTreeSet<String>,
    /// what it waits for, which comes while it starts
    pub awaited: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    pub text: String,
    /// the line in which it stands asks, or one that says its variable
    pub is_asked: bool,
}

/// What the literal texts of a program may ask for.
pub fn by(text: &str, literals: &[Literal<'_>]) -> Sought {
    let said = Lines::of(text);
    let mut sought = Sought::default();
    if !said.asks {
        return sought;
    }
    let mut line = Line::default();
    let mut found = Vec::new();
    let mut chain = Chain::default();
    for literal in literals {
        // one line may hold all texts of a program
        if !std::ptr::eq(line.text, literal.line) {
            line = Line::of(literal.line);
        }
        let is_behind = literal.is_behind('/') || literal.is_behind(',') && chain.takes_commas;
        let continues = is_behind && chain.text.len() <= LONGEST;
        if !continues {
            chain = Chain {
                text: String::new(),
                takes_commas: literal.is_joined || line.is_continued,
                from: found.len(),
            };
        } else if literal.is_behind('/') || !line.is_continued {
            // what leads to something else is no name itself
            found.truncate(chain.from);
        }
        chain.text =
            if continues { format!("{}/{}", chain.text, literal.text) } else { literal.text.to_string() };
        let names = || std::iter::once(chain.text.as_str()).chain(continues.then_some(&*literal.text));
        let within = |words: &HashSet<&str>| line.variable.is_some_and(|name| words.contains(name));
        if literal.is_written || line.makes || within(&said.made) {
            sought.written.extend(names().map(str::to_owned));
        }
        if line.waits || within(&said.awaited) {
            sought.awaited.extend(names().map(str::to_owned));
        }
        let is_other = literal.called.is_some_and(|name| OF_TEXTS.contains(&name))
            || line.of_variables && is_of_variable(&literal.text);
        let is_asked = line.asks || within(&said.asked);
        let may = names().filter(|text| !is_other && (may_be_one(text) || is_elsewhere(text, is_asked)));
        found.extend(may.map(|text| Name { text: text.trim_start_matches("./").to_owned(), is_asked }));
        // `Path.home() / "llm" / "rc"`
        let below_home = line.is_of_home && is_asked && !is_other && may_be_one(&chain.text);
        found.extend(below_home.then(|| Name { text: format!("~/{}", chain.text), is_asked }));
    }
    let is_own = |text: &str| sought.written.contains(text) || sought.awaited.contains(text);
    found.retain(|name| !is_own(&name.text));
    // the surest first: there may be more than count
    found.sort_by_key(|name| (!name.is_asked, !name.text.contains(['.', '/'])));
    let mut seen = HashSet::new();
    found.retain(|name| seen.insert(name.text.clone()));
    sought.names = found;
    sought
}

/// Texts that follow one another and make one name.
#[derive(Default)]
struct Chain {
    text: String,
    /// those behind a comma belong to it
    takes_commas: bool,
    /// where its names begin among those that were found
    from: usize,
}

/// Whether a text names a file from the root of the file system or below the home, which is nothing of the system's: one that is asked for,
/// or that looks like a file (`for p in ("/srv/a.toml", "/srv/b.toml")`).
fn is_elsewhere(text: &str, is_asked: bool) -> bool {
    let rest = text.strip_prefix("~/").or_else(|| text.strip_prefix('/').filter(|rest| rest.contains('/')));
    let is_file = || rest.and_then(|rest| rest.rsplit('/').next()).is_some_and(|name| name.contains('.'));
    rest.is_some_and(may_be_one) && !is_of_system(text) && (is_asked || is_file())
}

/// Whether a text could be the name of a file, as people give them.
fn may_be_one(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "._-+/".contains(c);
    let is_kind = |text: &str| ["utf-8", "utf8", "latin-1", "ascii"].contains(&text) || quoted::is_mode(text);
    text.len() <= LONGEST
        && text.contains(char::is_alphabetic)
        && text.chars().all(plain)
        && !text.starts_with(['/', '-', '_'])
        && !text.ends_with('.')
        && !is_kind(&text.to_lowercase())
        && !WRITTEN.iter().any(|end| text.ends_with(end))
        && text.split('/').all(|part| use_of(part) == Use::Read)
}

fn is_of_variable(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// What the lines of a program say, those without a text among them.
#[derive(Default)]
struct Lines<'t> {
    asks: bool,
    /// the words of those that ask
    asked: HashSet<&'t str>,
    made: HashSet<&'t str>,
    awaited: HashSet<&'t str>,
}

impl<'t> Lines<'t> {
    fn of(text: &'t str) -> Self {
        let mut all = Self::default();
        for line in quoted::lines(text) {
            let Line { asks, makes, waits, .. } = Line::of(line);
            let words =
                || line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
            all.asks |= asks;
            if asks {
                all.asked.extend(words());
            }
            if makes {
                all.made.extend(words());
            }
            if waits {
                all.awaited.extend(words());
            }
        }
        all
    }
}

/// What one line says.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a thing that a line may say")]
struct Line<'t> {
    text: &'t str,
    variable: Option<&'t str>,
    asks: bool,
    makes: bool,
    waits: bool,
    /// it goes on with what an earlier one began
    is_continued: bool,
    of_variables: bool,
    /// it names the user's home
    is_of_home: bool,
}

impl<'t> Line<'t> {
    fn of(text: &'t str) -> Self {
        let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
        let start = text.trim_start();
        let is_operator = |at: usize| text[..at].ends_with([' ', '(', '!']);
        let of_perl = || OPERATORS.iter().any(|word| text.match_indices(word).any(|(at, _)| is_operator(at)));
        Self {
            text,
            variable: variable_of(text),
            asks: says(&ASKING) || of_perl(),
            makes: says(&MAKING) || text.contains("open") && opens_to_write(text),
            waits: ["while ", "while(", "until "].iter().any(|word| start.starts_with(word)),
            is_continued: start.starts_with(['"', '\'']),
            of_variables: says(&VARIABLES),
            is_of_home: homes::is_asked_for(text),
        }
    }
}

/// Whether a mode of opening stands in a line by which a file is written: `open(path, "w")`.
fn opens_to_write(line: &str) -> bool {
    line.split(['"', '\'']).skip(1).any(|text| {
        !text.is_empty() && text.len() <= 3 && quoted::is_mode(text) && text.starts_with(['w', 'a', 'x', '>'])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sought(text: &str) -> Sought {
        by(text, &quoted::literals(text))
    }

    fn names(text: &str) -> Vec<String> {
        sought(text).names.into_iter().map(|name| name.text).collect()
    }

    #[test]
    fn names_elsewhere_and_below_the_home_count_too() {
        let names = |text: &str| sought(text).names.into_iter().map(|n| n.text).collect::<Vec<_>>();
        assert_eq!(names("f = '/srv/etc/l.json'\nif os.path.exists(f): pass"), ["/srv/etc/l.json"]);
        let list = "for p in ('/srv/a.toml', '/srv/b', '/etc/c.toml'):\n    if p.exists(): pass";
        assert_eq!(names(list), ["/srv/a.toml"]);
        assert_eq!(names("open(os.path.expanduser('~/.llmrc'))"), ["~/.llmrc"]);
        let home = names("if (Path.home() / 'llm' / 'rc').exists(): pass");
        assert!(home.contains(&"~/llm/rc".to_owned()), "{home:?}");
    }

    #[test]
    fn each_text_that_may_be_a_name_is_asked_for_where_anything_is() {
        let text = "p = \"turbo.flag\"\nif os.path.exists(p): print('on')\nfor d in ('fast', 'slow'): pass\n\
                    q = Path('conf') / 'a.json'\nos.path.join(HERE, 'cfg', 'deep', 'x.json')\n";
        let expected = ["turbo.flag", "conf/a.json", "a.json", "cfg/deep/x.json", "x.json", "fast", "slow"];
        assert_eq!(names(text), expected);
        assert_eq!(names("if (-e \"turbo\") { print \"on\"; }"), ["turbo", "on"]);
        assert_eq!(names("p = 'turbo.flag'\nprint(p)\n"), [] as [&str; 0], "nothing is asked for");
    }

    #[test]
    fn what_a_program_makes_or_waits_for_and_what_is_no_name_is_not_asked_for() {
        let text = "MARK = 'mark'\nif not os.path.exists(MARK): open(MARK, 'w')\nos.makedirs('work')\n\
                    while not os.path.exists('go'): sleep(1)\nopen('a', encoding='utf-8')\nopen('run/x.pid')\nopen('logs/x')\n\
                    os.environ.get('STAGE')\nparser.add_argument('name')\nopen('it is')\n";
        let found = sought(text);
        let names: Vec<&str> = found.names.iter().map(|name| name.text.as_str()).collect();
        assert_eq!(names, [] as [&str; 0]);
        assert!(["mark", "work"].iter().all(|name| found.written.contains(*name)), "{found:?}");
        assert!(found.awaited.contains("go"), "{found:?}");
    }
}
