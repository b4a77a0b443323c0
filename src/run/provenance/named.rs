//! The files that a configuration names: chat templates, drafters, adapters, tuned settings, libraries that are loaded before others.
//! Their bytes are as much a part of it as its flags. A word is taken for what it names as soon as something of that name is there,
//! alone or inside of JSON or a list; a name that says that the engine writes there (a log, a socket, a cache) is passed over, and one that
//! leaves that open is taken for what it names where that is a file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::beside::is_reference;
use super::elf;
use super::scripts::is_of_system;
use super::uses::{Use, is_of_keys, is_of_place, use_of};
use super::{globs, homes};
use crate::lang::sema::program::Site;
use crate::lang::sema::schema::{Found, Kind};
use crate::plan::{Config, command};
use crate::secrets;

const LIBRARIES: &str = "LD_LIBRARY_PATH";
/// Variables that hold lists of directories, or a place of the user's.
pub(super) const PLACES: [&str; 8] =
    ["PATH", LIBRARIES, "LIBRARY_PATH", "CPATH", "MANPATH", "VIRTUAL_ENV", "PWD", "SHELL"];
/// Longer texts are no names.
const LONGEST: usize = 1024;
/// What stands between the names of a list, before and behind a name.
pub(super) const BETWEEN: [char; 13] = [',', '=', ':', '@', ' ', '\n', ';', '#', '?', '[', ']', '"', '\''];
/// What a file's name may end with.
const ENDINGS: [&str; 19] = [
    ".cfg",
    ".conf",
    ".env",
    ".ini",
    ".sh",
    ".jinja",
    ".json",
    ".jsonl",
    ".yaml",
    ".yml",
    ".toml",
    ".gguf",
    ".safetensors",
    ".bin",
    ".pt",
    ".txt",
    ".py",
    ".so",
    ".model",
];

/// What a configuration names.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// words that name something that is there
    pub there: BTreeSet<String>,
    /// words that look like the name of a file, and nothing is there
    pub absent: BTreeSet<String>,
    /// those that are there and may be what the engine writes
    pub perhaps_written: BTreeSet<String>,
}

/// What the flags and variables of a configuration, its serve line and the site's variables name, relative to where engines run.
/// `is_model` says whether a word is a model of the hub that lies here.
pub fn named(config: &Config, site: &Site, study_dir: &Path, is_model: impl Fn(&str) -> bool) -> Named {
    let mut find = Find { study_dir, is_model: &is_model, found: Named::default() };
    let words = command::to_copy(config).argv;
    let words_of_serve = shell_words::split(&config.engine.serve).unwrap_or_default();
    let at = site.models.get(&config.model);
    for (flag, value) in valued(&words) {
        // those of the serve line are followed to what they import
        if words_of_serve.iter().any(|w| w == value) && is_reference(value) {
            continue;
        }
        // `env PATH=tools:/usr/bin prog`
        if let Some((name, dirs)) = value.split_once('=').filter(|(name, _)| PLACES.contains(name)) {
            if name == LIBRARIES {
                find.libraries(dirs);
            }
            continue;
        }
        // the model has an identity of its own
        if value != config.model && Some(value) != at.map(String::as_str) {
            find.under(flag, value, takes_path(config, flag));
        }
    }
    // the words have such an object only as what makes its file
    for (name, object) in command::objects(config) {
        find.under(name.trim_start_matches('-'), &object, false);
    }
    let own = command::env(config, None);
    let of_site = site.env.iter().map(|e| (e.name.clone(), e.value.clone()));
    // the site's are looked through for what each engine needs of them
    for (_, dirs) in own.iter().filter(|(name, _)| name == LIBRARIES) {
        find.libraries(dirs);
    }
    let all: Vec<(String, String)> = own.into_iter().chain(of_site).collect();
    // a library that is loaded before others may be named as the loader finds it: `libtcmalloc.so.4`
    let listed = all.iter().find(|(name, _)| name == LIBRARIES).map(|(_, dirs)| dirs.as_str());
    let preloaded =
        all.iter().filter(|(name, _)| name == "LD_PRELOAD").flat_map(|(_, names)| names.split([' ', ':']));
    for path in preloaded.filter(|n| !n.is_empty() && !n.contains('/')).filter_map(|n| elf::find(n, listed)) {
        path.to_str().map(|path| find.word(path));
    }
    for (name, value) in all {
        if !PLACES.contains(&name.as_str()) {
            find.under(&name, &value, false);
        }
    }
    find.found
}

/// The values in a command, each with the flag that it stands behind, without its dashes.
fn valued(words: &[String]) -> impl Iterator<Item = (&str, &str)> {
    let mut flag = "";
    words.iter().skip(1).filter_map(move |word| {
        if let Some((name, value)) = word.strip_prefix("--").and_then(|w| w.split_once('=')) {
            flag = name;
            return Some((flag, value));
        }
        if word.starts_with('-') {
            flag = word.trim_start_matches('-');
            return None;
        }
        Some((flag, word.as_str()))
    })
}

/// Files of keys and certificates: a hash over them is written nowhere.
pub fn of_keys(config: &Config, site: &Site, study_dir: &Path) -> BTreeSet<PathBuf> {
    let mut named = command::env(config, None);
    named.extend(site.env.iter().map(|e| (e.name.clone(), e.value.clone())));
    let words = command::to_copy(config).argv;
    named.extend(valued(&words).map(|(flag, value)| (flag.to_owned(), value.to_owned())));
    let keys = named.iter().filter(|(name, _)| is_of_keys(name));
    keys.filter_map(|(_, value)| path_of(value, study_dir)).filter(|path| path.is_file()).collect()
}

/// What a path is called: below the study's directory from there on.
pub fn shown(path: &Path, study_dir: &Path) -> Option<String> {
    let name = path.strip_prefix(study_dir).unwrap_or(path).to_str()?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// Where a word leads: a path as it stands, below the user's home or another inherited directory, or below where engines run. `None` for what is there in any case
/// (a device, the study's own directory and those above it) and for what perflab itself writes.
pub fn path_of(word: &str, study_dir: &Path) -> Option<PathBuf> {
    let of_url = word.strip_prefix("file://").map(|path| path.replace("%20", " "));
    let word = of_url.as_deref().unwrap_or(word);
    let path = if homes::holds(word) { homes::path_of(word)? } else { study_dir.join(word) };
    let real = path.canonicalize().unwrap_or_else(|_| path.clone());
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let holds_us = study_dir.starts_with(&real) || home.starts_with(&real) || std::env::temp_dir() == real;
    // what lies in memory is a file as any other
    let is_file = real.starts_with("/dev/shm");
    let of_kernel = !is_file && ["/dev", "/proc", "/sys", "/run"].iter().any(|dir| real.starts_with(dir));
    let ours = real.components().any(|c| c.as_os_str() == ".perflab") || real.ancestors().any(is_state_dir);
    (!holds_us && !of_kernel && !ours).then_some(path)
}

/// Whether studies keep what they measured there, wherever `--dir` put it.
fn is_state_dir(dir: &Path) -> bool {
    dir.join(crate::journal::FILE).is_file()
}

struct Find<'a> {
    study_dir: &'a Path,
    is_model: &'a dyn Fn(&str) -> bool,
    found: Named,
}

impl Find<'_> {
    /// What stands under a name. Of one that may be written to, only a file that is there is of interest.
    fn under(&mut self, name: &str, value: &str, is_path: bool) {
        match use_of(name) {
            Use::Passed => {}
            Use::Read => self.value(value, is_path || is_of_place(name)),
            Use::Either => {
                let is_model = |_: &str| false;
                let mut find =
                    Find { study_dir: self.study_dir, is_model: &is_model, found: Named::default() };
                find.value(value, is_path);
                let is_file = |word: &String| path_of(word, self.study_dir).is_some_and(|p| p.is_file());
                let Named { there, perhaps_written, .. } = find.found;
                let files: BTreeSet<String> =
                    there.into_iter().chain(perhaps_written).filter(is_file).collect();
                self.found.there.extend(files.iter().cloned());
                self.found.perhaps_written.extend(files);
            }
        }
    }

    /// Directories of libraries, those of the system left out.
    fn libraries(&mut self, dirs: &str) {
        for dir in dirs.split(':').filter(|dir| !dir.is_empty()) {
            if path_of(dir, self.study_dir).is_some_and(|path| !is_of_system(&path)) {
                self.word(dir);
            }
        }
    }

    fn value(&mut self, value: &str, is_path: bool) {
        let value = value.trim();
        if value.starts_with(['{', '['])
            && let Ok(json) = serde_json::from_str::<Json>(value)
        {
            return self.json("", &json);
        }
        if self.word(value) || self.reference(value) {
            return;
        }
        // `@path`: the value is what stands in that file
        if let Some(path) = value.strip_prefix('@') {
            return self.value(path, is_path);
        }
        // `name=path`, `path:scale`, lists
        let pieces: Vec<&str> = value.split(BETWEEN).filter(|p| !p.is_empty()).collect();
        let before = self.found.there.len();
        if pieces.len() > 1 {
            for piece in &pieces {
                self.word(piece);
            }
            for piece in value.split([',', ' ']) {
                self.reference(piece);
            }
        }
        let known = self.found.there.len() > before;
        let looks_so = is_path || (pieces.len() == 1 && looks_like_a_path(value));
        let missing = || path_of(value, self.study_dir).is_some_and(|p| !p.exists());
        if !known && looks_so && may_be_shown(value) && missing() {
            self.found.absent.insert(value.to_owned());
        }
    }

    fn json(&mut self, name: &str, json: &Json) {
        match json {
            Json::String(text) => self.under(name, text, false),
            Json::Array(all) => all.iter().for_each(|v| self.json(name, v)),
            Json::Object(map) if use_of(name) == Use::Read => {
                map.iter().for_each(|(key, v)| self.json(key, v));
            }
            _ => {}
        }
    }

    /// Whether a text names an object of a module that lies where engines run: `processors:Limit`, `plugins.processors.Limit`.
    fn reference(&mut self, text: &str) -> bool {
        let is_dotted = || text.contains('.') && is_reference(&text.replacen('.', ":", 1));
        if !(is_reference(text) || is_dotted()) {
            return false;
        }
        let module = text.split([':', '.']).next().unwrap_or_default();
        let single = self.word(&format!("{module}.py"));
        // not the directory: what is compiled of them lies in it too
        let package = format!("{module}/*.py");
        let is_package = !globs::files(&package, self.study_dir).is_empty();
        if is_package {
            self.found.there.insert(package);
        }
        single || is_package
    }

    /// Whether something of that name is there.
    fn word(&mut self, word: &str) -> bool {
        if !may_be_shown(word) {
            return false;
        }
        let there = path_of(word, self.study_dir).is_some_and(|p| p.is_file() || p.is_dir());
        let known = there || (self.is_model)(word);
        if known {
            self.found.there.insert(word.to_owned());
        }
        known
    }
}

/// Whether a text could be a name, and may stand in the journal.
pub(super) fn may_be_shown(word: &str) -> bool {
    let plain = !word.is_empty() && word.len() <= LONGEST && !word.contains(['\0', '\n']);
    plain && word.parse::<f64>().is_err() && secrets::mask(word) == word
}

fn looks_like_a_path(word: &str) -> bool {
    let bare = !word.contains("://") || word.starts_with("file://");
    bare && (word.contains('/') || ENDINGS.iter().any(|end| word.ends_with(end)))
}

/// Whether a text is the name of a file by its ending, so that one may come to be there.
pub(super) fn looks_like_a_file(text: &str) -> bool {
    let is_bare = !text.contains(char::is_whitespace) && !text.contains("://");
    is_bare && ENDINGS.iter().any(|end| text.len() > end.len() && text.ends_with(end))
}

fn takes_path(config: &Config, flag: &str) -> bool {
    let version = config.engine.version.as_deref();
    ["--", "-"].iter().any(|dashes| {
        let name = format!("{dashes}{flag}");
        matches!(config.engine.schema.find(&name, version), Found::Known(spec, _) if spec.kind == Kind::Path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_rooms_know_a_state_directory_by_the_same_file() {
        assert_eq!(crate::disk::JOURNAL, crate::journal::FILE);
    }

    fn find(dir: &Path, values: &[&str]) -> Named {
        let is_model = |word: &str| word == "org/draft";
        let mut find = Find { study_dir: dir, is_model: &is_model, found: Named::default() };
        for value in values {
            find.value(value, false);
        }
        find.found
    }

    fn set(of: &[&str]) -> BTreeSet<String> {
        of.iter().map(|w| (*w).to_owned()).collect()
    }

    #[test]
    fn whatever_names_something_that_is_there_counts() {
        let dir = tempfile::tempdir().unwrap();
        for file in ["t.jinja", "a", "b", "8", "semi", "hash"] {
            std::fs::write(dir.path().join(file), "x").unwrap();
        }
        std::fs::create_dir(dir.path().join("drafter")).unwrap();
        let absolute = dir.path().join("a").to_string_lossy().into_owned();
        let found = find(
            dir.path(),
            &[
                "./t.jinja",
                r#"{"model": "drafter", "n": 3, "deep": [{"path": "a"}], "torch_profiler_dir": "b"}"#,
                "sql=a,other=b:0.5",
                "['semi;no', 'hash#1']?x",
                "org/draft",
                "8",
                "auto",
                ".",
                "..",
                "/",
                "/dev/null",
                &absolute,
            ],
        );
        let all = ["./t.jinja", "drafter", "a", "b", "semi", "hash", "org/draft", &absolute];
        assert_eq!(found.there, set(&all));
        assert_eq!(found.absent, set(&[]), "what is there in any case is not absent");
    }

    #[test]
    fn objects_that_go_into_files_name_files_too() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("t.jinja"), "x").unwrap();
        let text = r#"
            engine own "own" {
                serve "own"
                ready get "/health" within 10s
                api openai
                stop sigterm within 3s
                args joined
                flag --jf json_file
            }
            engine mine = own {
                --jf={"deep":{"chat_template":"t.jinja"}}
            }
            profile p {
                data random
                input 1
                output 1
                rate max
            }
            study s {
                model "org/m"
                baseline mine
                maximize total_tps on p
                repeat 1
            }
        "#;
        let program = crate::lang::analyze(&crate::lang::source::NoFiles, "test.plab", text).program;
        let config = Config::declared(&program.engines["mine"], &program.studies[0]);
        let found = named(&config, &Site::default(), dir.path(), |_| false);
        assert_eq!(found.there, set(&["t.jinja"]));
    }

    #[test]
    fn what_is_not_there_is_remembered_if_it_looks_like_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let found =
            find(dir.path(), &["none.jinja", "no/such", "auto", "http://host/x.json", "1.5", "x y/z w"]);
        assert_eq!((found.there, found.absent), (set(&[]), set(&["none.jinja", "no/such"])));
    }

    #[test]
    fn files_under_names_that_leave_it_open_count_and_may_be_written() {
        let dir = tempfile::tempdir().unwrap();
        for file in ["lookup.bin", "text"] {
            std::fs::write(dir.path().join(file), "x").unwrap();
        }
        std::fs::create_dir(dir.path().join("cached")).unwrap();
        let is_model = |_: &str| false;
        let mut find = Find { study_dir: dir.path(), is_model: &is_model, found: Named::default() };
        for (name, value) in [
            ("lookup-cache-static", "lookup.bin"),
            ("cache-dir", "cached"),
            ("cache-file", "none.bin"),
            ("log-file", "text"),
        ] {
            find.under(name, value, true);
        }
        assert_eq!((find.found.there, find.found.absent), (set(&["lookup.bin"]), set(&[])));
        assert_eq!(find.found.perhaps_written, set(&["lookup.bin"]));
    }

    #[test]
    fn objects_of_modules_that_lie_there_name_these() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("plugins")).unwrap();
        for file in ["procs.py", "plugins/limit.py", "auto"] {
            std::fs::write(dir.path().join(file), "x").unwrap();
        }
        let found =
            find(dir.path(), &["procs:Limit", "plugins.limit.Limit", "none:Limit", "auto:x", "a,procs:X"]);
        assert_eq!((found.there, found.absent), (set(&["procs.py", "plugins/*.py", "auto"]), set(&[])));
    }

    #[test]
    fn what_a_file_holds_is_named_behind_its_sign() {
        let dir = tempfile::tempdir().unwrap();
        for file in ["conf.json", "@own"] {
            std::fs::write(dir.path().join(file), "x").unwrap();
        }
        let found = find(dir.path(), &["@conf.json", "@own", "@none.json", "name=@conf.json"]);
        assert_eq!((found.there, found.absent), (set(&["conf.json", "@own"]), set(&["none.json"])));
    }
}
