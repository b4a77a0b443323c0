//! What is installed of an engine: its build, and the libraries that it runs with. Found without starting it, since that takes half a
//! minute, and before anything is launched.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::python::{Python, normal};
use super::starts::{Ground, starts};
use super::{beside, boxes, console, elf, environments, loose, prefix, scripts};
use crate::disk;
use crate::lang::sema::program::{BoxRuntime, Engine, Via};

/// An installation of an engine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Installed {
    /// as `vllm 0.17.1 (4f21…)` for a Python distribution, `llama-server 9c1e…` for a program; `None` where nothing of it is found
    pub build: Option<String>,
    /// everything beside it, by name: distributions with their versions, shared libraries with a hash. `None` where that is not to be
    /// known: of what is in a container, runs already, or is perflab's own
    pub libraries: Option<BTreeMap<String, String>>,
}

/// Where programs and libraries are looked for, as the engine's environment says.
#[derive(Debug, Clone, Default)]
pub struct Search {
    pub path: String,
    pub library_path: Option<String>,
}

/// Looks at an engine's installation.
pub fn installed(engine: &Engine, search: &Search, study_dir: &Path) -> Installed {
    look(engine, search, study_dir).unwrap_or_default()
}

fn look(engine: &Engine, search: &Search, study_dir: &Path) -> Option<Installed> {
    let words = shell_words::split(&engine.serve).ok()?;
    let first = words.first()?;
    let venv = match &engine.via {
        Via::Path => None,
        Via::Venv(dir) => Some(study_dir.join(dir)),
        Via::Url(_) => return None,
        Via::Container(boxed) => return Some(mounted(&words, boxed.runtime, study_dir)),
    };
    if first == "perflab" {
        let build = Some(format!("perflab {}", env!("CARGO_PKG_VERSION")));
        return Some(Installed { build, libraries: None });
    }
    let dirs = venv.as_ref().map(|d| format!("{}:", d.join("bin").display())).unwrap_or_default();
    let path = match prefix::stated(&words, "PATH") {
        Some(stated) => within(stated, study_dir),
        None => format!("{dirs}{}", search.path),
    };
    let libraries_at = prefix::stated(&words, "LD_LIBRARY_PATH").map(|list| within(list, study_dir));
    let search = &Search { library_path: libraries_at.or(search.library_path.clone()), path };
    let (words, path) = (prefix::behind(&words), &search.path);
    let program = which::which_in(words.first()?, Some(path), study_dir).ok()?;
    let module = words.iter().position(|w| w == "-m").and_then(|i| words.get(i + 1));
    let name = match module {
        Some(module) => module.split('.').next().unwrap_or(module),
        None => program.file_name()?.to_str()?,
    };
    let mut libraries = BTreeMap::new();
    let told = Python::of(&program, path);
    // a shell script says nothing of the environment that it leads to
    let behind = told.is_none();
    let name = if behind && module.is_none() { engine.root() } else { name };
    let python = told.or_else(|| Python::beside(&program, venv.as_deref(), path));
    if behind {
        add_shared(&program, search, &mut libraries);
    }
    let ground = Ground { study_dir, path };
    let mut said = scripts::said_by(&starts(words, &ground), &ground);
    said.modules.extend(python_path(engine, study_dir));
    for python in python.iter().chain(&environments::led_to(said.paths.iter(), path)) {
        add_python(python, search, &mut libraries);
    }
    let build = libraries.get(&normal(name)).map(|version| format!("{name} {version}"));
    let is_own = behind || build.is_none();
    let wrapper = is_own.then(|| by_content(&program)).flatten();
    let build = match (build, wrapper) {
        (Some(build), Some(wrapper)) => Some(format!("{build} behind {wrapper}")),
        (build, wrapper) => build.or(wrapper),
    };
    if is_own {
        libraries.extend(scripts(words, study_dir));
    } else {
        libraries.extend(python.and_then(|python| console::edited(&program, &python)));
    }
    for program in
        said.paths.iter().filter(|p| elf::is_program(p) && !p.parent().is_some_and(scripts::is_of_system))
    {
        add_shared(program, search, &mut libraries);
    }
    for dir in said.libraries.iter().filter(|dir| !is_shared_by_all(dir)) {
        add_directory(dir, &mut libraries);
    }
    libraries.extend(beside::modules(&program, words, &said, study_dir).code());
    Some(Installed { build, libraries: Some(libraries) })
}

/// A list of directories as the engine reads it, which runs in the study's.
pub(super) fn within(list: &str, study_dir: &Path) -> String {
    let dirs = list.split(':').filter(|dir| !dir.is_empty());
    dirs.map(|dir| study_dir.join(dir).display().to_string()).collect::<Vec<_>>().join(":")
}

/// Where the engine's own variable says that modules are found.
fn python_path(engine: &Engine, study_dir: &Path) -> Vec<PathBuf> {
    let own = engine.env.iter().filter(|e| e.name == "PYTHONPATH");
    own.flat_map(|e| e.value.split(':'))
        .filter(|dir| !dir.is_empty())
        .map(|dir| study_dir.join(dir))
        .collect()
}

/// What a container is given of the study's directory: scripts that its command names, and what those import from beside them; and what the
/// settings of its runtime give to all. What is in its image is known by that.
fn mounted(words: &[String], runtime: BoxRuntime, study_dir: &Path) -> Installed {
    let nothing_is_said = scripts::Said::default();
    let mut found = scripts(words, study_dir);
    found.extend(beside::modules(Path::new(""), words, &nothing_is_said, study_dir).code());
    found.extend(boxes::settings(runtime));
    Installed { build: None, libraries: (!found.is_empty()).then_some(found) }
}

/// What an environment holds. Of a name that another one has too, as what it is there as well.
fn add_python(python: &Python, search: &Search, to: &mut BTreeMap<String, String>) {
    add_shared(python.interpreter(), search, to);
    let interpreter =
        disk::identity(python.interpreter()).map(|id| ("python".to_owned(), id[..8].to_owned()));
    for (name, what) in python.distributions().into_iter().chain(interpreter) {
        match to.get_mut(&name) {
            Some(known) if *known != what => *known = format!("{known}, {what}"),
            Some(_) => {}
            None => drop(to.insert(name, what)),
        }
    }
}

/// A program by its content.
fn by_content(program: &Path) -> Option<String> {
    let hash = crate::plan::config::short_hash(&disk::of_file(program).ok()?);
    Some(format!("{} {hash}", program.file_name()?.to_str()?))
}

/// The files that a command names beside its program, each with a hash: which of them was edited can be said.
fn scripts(words: &[String], study_dir: &Path) -> BTreeMap<String, String> {
    let named = words.iter().skip(1).filter(|w| !w.starts_with('-') && study_dir.join(w).is_file());
    named.map(|word| loose::shown(word, &study_dir.join(word))).collect()
}

/// The shared libraries of a program: those that it is linked with, those beside it, which it may load by name, and those in the
/// directories that its environment names for whatever it loads.
fn add_shared(program: &Path, search: &Search, to: &mut BTreeMap<String, String>) {
    let mut files: BTreeMap<String, PathBuf> =
        elf::libraries(program, search.library_path.as_deref()).into_iter().collect();
    let real = program.canonicalize().unwrap_or_else(|_| program.to_owned());
    if let Some(dir) = real.parent().filter(|d| !is_shared_by_all(d)) {
        for (name, path) in shared_in(dir) {
            files.entry(name).or_insert(path);
        }
    }
    let known = files.iter().filter_map(|(name, path)| Some((name.clone(), disk::of_file(path).ok()?)));
    to.extend(known.map(|(name, id)| (name, id[..8].to_owned())));
    for dir in directories(search.library_path.as_deref()) {
        add_directory(&dir, to);
    }
}

/// The shared libraries that lie in a directory, which are too many to be read.
fn add_directory(dir: &Path, to: &mut BTreeMap<String, String>) {
    let seen: Vec<String> =
        shared_in(dir).iter().filter_map(|(name, p)| Some(format!("{name} {}", state(p)?))).collect();
    let hash = crate::plan::config::short_hash(&seen.join("\n"));
    to.insert(dir.display().to_string(), hash[..8].to_owned());
}

/// The directories of a search path that are there and hold not the whole system's libraries: links resolved, each once.
pub fn directories(list: Option<&str>) -> Vec<PathBuf> {
    let mut out: Vec<PathBuf> = Vec::new();
    for dir in list
        .unwrap_or("")
        .split(':')
        .filter(|d| !d.is_empty())
        .filter_map(|d| Path::new(d).canonicalize().ok())
    {
        if dir.is_dir() && !is_shared_by_all(&dir) && !out.contains(&dir) {
            out.push(dir);
        }
    }
    out
}

/// Size and time of a file, as one word.
fn state(path: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let meta = fs::metadata(path).ok()?;
    // a time that was put back says nothing, and when that was done does
    let changed = (meta.ctime(), meta.ctime_nsec());
    Some(format!("{} {}.{} {}.{}", meta.size(), meta.mtime(), meta.mtime_nsec(), changed.0, changed.1))
}

/// Directories of the whole system: what lies in them has nothing to do with each other.
pub(super) fn is_shared_by_all(dir: &Path) -> bool {
    let system = [
        "/",
        "/bin",
        "/sbin",
        "/lib",
        "/lib64",
        "/usr/bin",
        "/usr/sbin",
        "/usr/lib",
        "/usr/lib64",
        "/usr/local/bin",
        "/usr/local/lib",
    ];
    let of_architecture =
        dir.parent().is_some_and(|p| p.ends_with("lib")) && dir.to_string_lossy().ends_with("-linux-gnu");
    system.iter().any(|d| dir == Path::new(d)) || of_architecture
}

/// `libx.so`, `libx.so.2`.
fn is_shared(name: &str) -> bool {
    format!("{name}.").contains(".so.")
}

/// The shared libraries of a directory, in the order of their names.
fn shared_in(dir: &Path) -> BTreeMap<String, PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let named = entries.map(|e| (e.file_name().to_string_lossy().into_owned(), e.path()));
    named.filter(|(name, path)| is_shared(name) && path.is_file()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_beside_a_program_count_and_those_of_the_system_by_their_use() {
        let dir = tempfile::tempdir().expect("a folder");
        let program = dir.path().join("server");
        fs::copy("/bin/sh", &program).expect("copied");
        let found = || {
            let mut all = BTreeMap::new();
            add_shared(&program, &Search::default(), &mut all);
            all
        };
        let first = found();
        assert!(first.contains_key("libc.so.6"), "{first:?}");
        fs::write(dir.path().join("libggml-cuda.so"), "1").expect("written");
        let second = found();
        assert_eq!(second.len(), first.len() + 1);
        fs::write(dir.path().join("libggml-cuda.so"), "2").expect("written");
        assert_ne!(found(), second);
    }

    #[test]
    fn a_search_path_is_the_directories_that_are_there() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = dir.path().canonicalize().expect("there");
        let list = format!(":{0}/:/no/such:{0}:/usr/lib", at.display());
        assert_eq!(directories(Some(&list)), [at]);
        assert_eq!(directories(None), [] as [PathBuf; 0]);
    }
}
