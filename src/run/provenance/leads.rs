//! Where the literal texts of a program lead: files, patterns of files, directories that it lists or looks for modules in. Programs put
//! names together (`os.path.join(HERE, "cfg", "x.json")`, `Path("cfg") / name`), so that each directory that a text names is one in which
//! all of its names may lie. What is taken for a name wrongly is at worst a file that counts without need.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use super::quoted::{self, Literal};
use super::sought::{self, Sought};
use crate::disk;

/// Directories in which names are looked for.
const MOST: usize = 16;
/// Directories above in which packages are looked for.
const MOST_ABOVE: usize = 5;
/// Entries of one that are looked at.
const MOST_ENTRIES: usize = 20_000;
/// Calls by which a program goes through a directory.
const LISTING: [&str; 9] = [
    "listdir(",
    "scandir(",
    "iterdir(",
    "walk(",
    "readdir",
    "glob(",
    "Dir[",
    "iter_modules(",
    "walk_packages(",
];
/// By which it says where modules are found.
const MODULES: [&str; 2] = ["sys.path", "addsitedir("];
/// By which it starts other programs.
const STARTING: [&str; 5] = ["subprocess.", "Popen(", "os.exec", "os.spawn", "exec_command("];
/// By which it asks whether something is there.
const ASKING: [&str; 6] = ["exists", "lexists", "isfile", "isdir", "existsSync", "access"];
/// Where the system keeps what is its own: no study's settings.
const SYSTEM: [&str; 9] = ["/bin", "/dev", "/etc", "/lib", "/proc", "/run", "/sys", "/usr", "/var"];

/// Where a program leads.
pub struct Leads<'t> {
    text: &'t str,
    literals: Vec<Literal<'t>>,
    /// where its names are looked for: where it runs and lies, and below that each directory that it names
    pub bases: Vec<PathBuf>,
    /// directories that it goes through
    pub listed: Vec<PathBuf>,
    /// directories in which it looks for modules
    pub modules: Vec<PathBuf>,
    /// directories that it reads as a whole: models, packages of JavaScript
    pub whole: Vec<PathBuf>,
    /// directories that it names
    named: Vec<PathBuf>,
    /// how many of the directories are where it runs and lies
    own: usize,
}

/// By which a program asks where it lies, or where a link leads.
const ITS_PLACE: [&str; 8] =
    ["readlink", "realpath", ".resolve()", "pwd -P", "cd -P", "__dirname", "import.meta", "FindBin"];

/// Whether a text asks where it lies, links resolved, or where a link leads.
pub fn asks_for_its_place(text: &str) -> bool {
    ITS_PLACE.iter().any(|ask| text.contains(ask))
}

/// The links in these directories whose names a text says, also within what it puts a name together of: `f"{Path('current').resolve()}"`.
pub fn links_said_by(text: &str, dirs: &[PathBuf]) -> Vec<String> {
    let of_dir = |dir: &PathBuf| {
        let names = entries(dir).into_iter().filter_map(|name| name.into_string().ok());
        let links = names.filter(|name| says(text, name) && dir.join(name).is_symlink());
        links.collect::<BTreeSet<String>>()
    };
    dirs.iter().flat_map(of_dir).take(MOST).collect()
}

impl<'t> Leads<'t> {
    /// Of a program that is run and lies in these directories.
    pub fn of(text: &'t str, bases: &[PathBuf]) -> Self {
        let literals = quoted::literals(text);
        let named = directories(&literals, bases);
        let at = |words: &[&str]| {
            let lines: Vec<&str> =
                quoted::lines(text).filter(|l| words.iter().any(|w| l.contains(w))).collect();
            let is_meant = |line: &str| {
                lines.iter().any(|l| *l == line || variable_of(line).is_some_and(|name| says(l, name)))
            };
            let meant = named.iter().filter(|(_, line)| is_meant(line)).map(|(dir, _)| dir.clone());
            meant.take(MOST).collect::<Vec<_>>()
        };
        let (listed, modules) = (at(&LISTING), at(&MODULES));
        let whole = whole(&literals, bases);
        let named: Vec<PathBuf> = named.into_iter().map(|(dir, _)| dir).collect();
        let (own, mut bases) = (bases.len(), bases.to_vec());
        for dir in &named {
            if !bases.contains(dir) && bases.len() < MOST {
                bases.push(dir.clone());
            }
        }
        Self { text, literals, bases, listed, modules, whole, named, own }
    }

    /// Names of files, each with whether it is one as it stands, there or not.
    pub fn names(&self) -> BTreeSet<(&str, bool)> {
        let is_own = |text: &str| !is_of_system(text) && text.contains(char::is_alphanumeric);
        let may = self.literals.iter().filter(|l| l.may_be_name() && is_own(&l.text));
        may.map(|l| (&*l.text, l.is_name())).collect()
    }

    /// Names of programs that it may start.
    pub fn programs(&self) -> BTreeSet<&str> {
        self.started().filter(|text| !text.contains('/')).collect()
    }

    /// The same by where they lie.
    pub fn programs_at(&self) -> BTreeSet<&str> {
        self.started().filter(|text| text.contains('/') && !is_of_system(text)).collect()
    }

    /// What stands in lines that start programs.
    fn started(&self) -> impl Iterator<Item = &str> {
        let starts = |line: &str| STARTING.iter().any(|word| line.contains(word));
        self.literals.iter().filter(move |l| starts(l.line) && !l.is_pattern()).map(|l| &*l.text)
    }

    /// Names of which it asks whether they are there, each with whether as a directory.
    pub fn asked_for(&self) -> BTreeSet<(&str, bool)> {
        let asks =
            |l: &&Literal<'_>| l.called.is_some_and(|f| ASKING.contains(&f)) || l.called == Some("Path");
        let all = self.literals.iter().filter(asks).filter(|l| !l.is_pattern() && !is_of_system(&l.text));
        let of_directory =
            |l: &Literal<'_>| l.called.is_some_and(|f| f.contains("isdir")) || l.line.contains(".is_dir()");
        let is_asked = |l: &&Literal<'_>| {
            l.called != Some("Path")
                || [".exists()", ".is_file()", ".is_dir()"].iter().any(|call| l.line.contains(call))
        };
        all.filter(is_asked).map(|l| (&*l.text, of_directory(l))).collect()
    }

    /// All that stands in quotes and is no pattern.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.literals.iter().filter(|l| !l.is_pattern()).map(|l| &*l.text)
    }

    /// Names that it may ask for before there is anything of that name.
    pub fn sought(&self) -> Sought {
        sought::by(self.text, &self.literals)
    }

    /// Where it runs and lies, and the directories beside these that it names.
    pub fn places(&self) -> [&[PathBuf]; 2] {
        self.bases.split_at(self.own).into()
    }

    /// Patterns of files: as they stand, and those of an ending in each directory that is named (`join("conf", name + ".json")`).
    pub fn patterns(&self) -> BTreeSet<String> {
        // which directory a variable names is known by what is opened there: each of them would count otherwise
        let is_open = |l: &&Literal<'_>| {
            let (dir, _) = l.text.rsplit_once('/').unwrap_or_default();
            matches!(l.text, Cow::Owned(_)) && dir.contains('*') && dir.strip_suffix(".d").is_none()
        };
        let stated = self.literals.iter().filter(|l| l.is_pattern() && !is_open(l)).map(|l| {
            // `unit + ".d/*.conf"`
            let is_rest = ["./", "../"].iter().all(|here| !l.text.starts_with(here))
                && l.text.starts_with('.')
                && l.text.contains('/');
            let before = if is_rest { "*" } else { "" };
            format!("{before}{}", l.text)
        });
        let endings = self.literals.iter().filter(|l| l.is_ending());
        let of_endings =
            endings.flat_map(|l| self.named.iter().map(|dir| format!("{}/*{}", dir.display(), l.text)));
        stated.chain(of_endings).collect()
    }
}

/// The directories of which a program reads all, below these.
fn whole(literals: &[Literal<'_>], bases: &[PathBuf]) -> Vec<PathBuf> {
    let models =
        literals.iter().filter(|l| l.may_be_read_whole() && !l.is_pattern() && !is_of_system(&l.text));
    let models = models.filter(|l| l.text.contains(char::is_alphanumeric)).map(|l| l.text.to_string());
    let required = |l: &&Literal<'_>| {
        l.called == Some("require") || l.line.contains(" from ") || l.line.starts_with("import ")
    };
    let packages = literals.iter().filter(required).filter(|l| !l.text.starts_with('.')).map(|l| {
        let parts = if l.text.starts_with('@') { 2 } else { 1 };
        format!("node_modules/{}", l.text.split('/').take(parts).collect::<Vec<_>>().join("/"))
    });
    // the nearest above is taken, as where workspaces share theirs
    let nearest = |base: &PathBuf, name: &str| {
        base.ancestors().take(MOST_ABOVE).map(|dir| dir.join(name)).find(|dir| dir.is_dir())
    };
    let (models, packages): (BTreeSet<String>, BTreeSet<String>) = (models.collect(), packages.collect());
    let models = models.iter().flat_map(|name| bases.iter().map(move |base| joined(base, name)));
    let packages = packages.iter().flat_map(|name| bases.iter().filter_map(move |base| nearest(base, name)));
    let dirs = models.chain(packages);
    let is_one = |dir: &PathBuf| {
        dir.is_dir() && !disk::is_environment(dir) && !bases.iter().any(|b| b.starts_with(dir))
    };
    dirs.filter(is_one).take(MOST).collect()
}

/// The directories that texts name, in others that they name too, each with the line in which its name stands.
fn directories<'t>(literals: &[Literal<'t>], bases: &[PathBuf]) -> Vec<(PathBuf, &'t str)> {
    let mut seen = BTreeSet::new();
    let texts: Vec<&Literal<'t>> = literals
        .iter()
        .filter(|l| {
            !l.is_pattern()
                && l.text != "."
                && !is_of_system(&l.text)
                && seen.insert((l.text.clone(), l.line))
        })
        .collect();
    let mut found: Vec<(PathBuf, &str)> = Vec::new();
    let mut open = bases.to_vec();
    while let Some(base) = open.pop() {
        // far more texts name nothing than something
        let there = entries(&base);
        for literal in texts.iter().filter(|l| may_lead(&l.text, &there)) {
            let dir = joined(&base, &literal.text);
            let is_known = |known: &PathBuf| *known == dir;
            // one that holds all of the others is named by chance, unless the program goes up there itself
            let is_above = literal.text.starts_with('/')
                && bases.iter().any(|base| base.starts_with(&dir) && *base != dir);
            if found.len() >= MOST || is_above || !dir.is_dir() {
                continue;
            }
            if !bases.iter().any(is_known) && !found.iter().any(|(known, _)| is_known(known)) {
                open.push(dir.clone());
            }
            if !found.contains(&(dir.clone(), literal.line)) {
                found.push((dir, literal.line));
            }
        }
    }
    found
}

/// What lies directly in a directory, by name.
fn entries(dir: &Path) -> HashSet<OsString> {
    fs::read_dir(dir).into_iter().flatten().flatten().take(MOST_ENTRIES).map(|e| e.file_name()).collect()
}

/// Whether a text may name something below a directory that holds these, or elsewhere.
fn may_lead(text: &str, there: &HashSet<OsString>) -> bool {
    match Path::new(text.trim_start_matches("./")).components().next() {
        Some(Component::Normal(first)) => there.contains(first),
        Some(_) => true,
        None => false,
    }
}

/// Without the steps up and down that are none.
pub(super) fn joined(base: &Path, text: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for part in base.join(text).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(path.pop()),
            part => path.push(part),
        }
    }
    path
}

pub(super) fn is_of_system(text: &str) -> bool {
    SYSTEM.iter().any(|dir| Path::new(text).starts_with(dir))
}

/// The variable that a line gives a value to.
pub(super) fn variable_of(line: &str) -> Option<&str> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim().rsplit([' ', '$', '@']).next()?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    (is_name && !value.starts_with('=')).then_some(name)
}

/// Whether a word stands in a line.
pub(super) fn says(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word)
}

#[cfg(test)]
mod tests {
    use super::super::folder;
    use super::*;

    fn below(dir: &Path, all: &[PathBuf]) -> Vec<String> {
        all.iter().map(|p| p.strip_prefix(dir).expect("below").display().to_string()).collect()
    }

    #[test]
    fn directories_that_a_program_names_are_where_its_names_may_lie() {
        let dir =
            folder::of(&[("cfg/deep/x.json", ""), ("lib/mod.py", ""), ("conf.d/a.yaml", ""), ("data/y", "")]);
        let text = "import sys\nCONF = \"conf.d\"\nsys.path.insert(0, os.path.join(HERE, 'lib'))\n\
                    load(os.path.join(HERE,\n  'cfg',\n  'deep', 'x.json'))\nfor f in os.listdir(CONF): pass\nprint('data')\n";
        let leads = Leads::of(text, &[dir.path().to_owned()]);
        let bases: BTreeSet<String> = below(dir.path(), &leads.bases).into_iter().collect();
        assert!(["", "cfg", "cfg/deep", "conf.d"].iter().all(|d| bases.contains(*d)), "{bases:?}");
        assert_eq!(below(dir.path(), &leads.listed), ["conf.d"]);
        assert_eq!(below(dir.path(), &leads.modules), ["lib"]);
        assert!(leads.names().contains(&("x.json", true)));
    }

    #[test]
    fn what_everybody_shares_and_what_lies_above_is_nowhere_to_look() {
        let dir = folder::of(&[("a/serve.py", ""), ("cfg/x", "")]);
        let up = Leads::of("join(HERE, '..', 'cfg')", &[dir.path().join("a")]);
        assert!(up.bases.contains(&dir.path().join("cfg")), "{:?}", up.bases);
        let text = "x = ['/usr/bin', '.', '/', 'nowhere']; open('/etc/passwd'); open('/srv/models/x')";
        let leads = Leads::of(text, &[dir.path().join("a")]);
        assert_eq!(leads.bases, [dir.path().join("a")]);
        let names: Vec<&str> = leads.names().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["/srv/models/x"]);
    }
}
