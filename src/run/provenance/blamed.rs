//! What a failure says that it failed on: a file that is not there or not open to it, a library, a program, a limit. Its state is part of
//! the finding, so that the finding ends with its cause: what was put there, opened or raised meanwhile is measured again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use nix::sys::resource::{Resource, getrlimit};

use super::build::Search;
use super::{elf, machine};
use crate::disk;
use crate::engine::failure::ENGINE_NOT_FOUND;
use crate::judge::RunOutcome;
use crate::lang::sema::program::Site;
use crate::plan::config::short_hash;
use crate::secrets;

/// What is not there says so.
pub const ABSENT: &str = "not there";

/// Classes whose cause may be what a model's directory holds, or who may read it.
const OF_FILES: [&str; 4] = ["no access", "missing file", "model missing", "model broken"];
/// Classes whose cause lies in no file; what their line names, engines write as they run.
const OF_OTHERS: [&str; 10] = [
    "unknown flag",
    "unsupported",
    "out of GPU memory",
    "GPU error",
    "worker lost",
    "never ready",
    "crash",
    "killed",
    "no request succeeded",
    "no answer",
];
const OPEN_FILES: &str = "the limit of open files";
const MEMORY: &str = "this machine's memory";
/// More names than any line that matters has.
const MOST: usize = 16;
/// Longer texts are no names.
const LONGEST: usize = 1024;
/// A directory with more entries is known by its own mode alone.
const MOST_ENTRIES: usize = 20_000;

/// Where names in a log lead.
pub struct Ground<'a> {
    /// where engines run
    pub study_dir: &'a Path,
    pub search: &'a Search,
}

/// What a failed run failed on, as it is now; empty for every other run.
pub fn blamed(
    outcome: &RunOutcome,
    model: &str,
    site: &Site,
    ground: &Ground<'_>,
) -> BTreeMap<String, String> {
    let (RunOutcome::FailedStart { class, line } | RunOutcome::FailedLoad { class, line }) = outcome else {
        return BTreeMap::new();
    };
    let elsewhere = OF_OTHERS.iter().any(|other| class.starts_with(other));
    let mut names = if elsewhere { BTreeSet::new() } else { named(line) };
    if OF_FILES.contains(&class.as_str()) || class.starts_with("unknown (") {
        let at = site.models.get(model).map_or(model, String::as_str);
        let is_path = site.models.contains_key(model) || ground.study_dir.join(at).exists();
        names.extend(is_path.then(|| at.to_owned()));
    }
    names.extend(program_missed(class, line));
    names.extend((class == "too many open files").then(|| OPEN_FILES.to_owned()));
    names.extend((class == "out of host memory").then(|| MEMORY.to_owned()));
    names.into_iter().filter_map(|name| Some((name.clone(), state(&name, ground)?))).collect()
}

/// What has such a name now, in words; `None` for what says nothing of a cause.
pub fn state(name: &str, ground: &Ground<'_>) -> Option<String> {
    match name {
        OPEN_FILES => return getrlimit(Resource::RLIMIT_NOFILE).ok().map(|(_, most)| most.to_string()),
        MEMORY => return Some(format!("{:.1} GiB", machine::memory_bytes() as f64 / f64::from(1 << 30))),
        _ => {}
    }
    if name.contains('/') {
        return of_path(name, ground.study_dir);
    }
    if is_library(name) {
        let found = elf::find(name, ground.search.library_path.as_deref());
        return Some(found.map_or_else(|| ABSENT.to_owned(), |path| of_file(&path)));
    }
    let beside = ground.study_dir.join(name);
    if beside.exists() {
        return of_path(name, ground.study_dir);
    }
    let mut dirs = ground.search.path.split(':').filter(|dir| !dir.is_empty());
    Some(dirs.find_map(|dir| program(&Path::new(dir).join(name))).unwrap_or_else(|| ABSENT.to_owned()))
}

/// The names in a line: whatever has a slash in it, libraries, files by their ending, and programs that a shell did not find.
fn named(line: &str) -> BTreeSet<String> {
    let marks = ['\'', '"', '`', '‘', '’'];
    let quoted = line.split(marks).skip(1).step_by(2);
    let plain = line.split(|c: char| c.is_whitespace() || marks.contains(&c));
    let trimmed =
        plain.map(|word| word.trim_matches(|c: char| "()[]{}<>,;:=".contains(c)).trim_end_matches('.'));
    let is_name = |word: &&str| {
        let looks = word.contains('/') || is_library(word) || is_file(word);
        looks
            && word.len() <= LONGEST
            && word.len() > 1
            && !word.contains("://")
            && secrets::mask(word) == **word
    };
    let words = quoted.chain(trimmed).filter(is_name).map(str::to_owned);
    words.chain(not_found(line)).chain(not_started(line)).chain(not_imported(line)).take(MOST).collect()
}

/// `ModuleNotFoundError: No module named 'plugins.one'`: a file or a directory where engines run
fn not_imported(line: &str) -> Vec<String> {
    let named = line.split_once("No module named ").and_then(|(_, rest)| rest.split(['\'', '"']).nth(1));
    let is_name = |name: &&str| {
        name.len() <= LONGEST && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.')
    };
    let Some(path) = named.filter(is_name).map(|name| name.replace('.', "/")) else { return Vec::new() };
    let (first, _) = path.split_once('/').unwrap_or((&path, ""));
    vec![format!("./{path}.py"), format!("./{path}"), format!("./{first}.py"), format!("./{first}")]
}

/// `FileNotFoundError: [Errno 2] No such file or directory: 'nvcc'`: a file that was opened, or a program that was to be started
fn not_started(line: &str) -> Option<String> {
    let name = line.split_once("No such file or directory: '")?.1.strip_suffix('\'')?;
    let is_plain = !name.is_empty()
        && name.len() <= LONGEST
        && !name.contains(['\'', '/'])
        && secrets::mask(name) == name;
    is_plain.then(|| name.to_owned())
}

/// The engine's own program, which the `PATH` did not lead to.
fn program_missed(class: &str, line: &str) -> Option<String> {
    let name = line.strip_prefix("there is no program `").filter(|_| class == ENGINE_NOT_FOUND)?;
    Some(name.strip_suffix('`')?.to_owned())
}

/// `sh: 1: nvcc: not found`, `bash: line 3: nvcc: command not found`, `env: ‘vllm’: No such file or directory`
fn not_found(line: &str) -> Option<String> {
    let of_starter = [
        "env: ",
        "nice: ",
        "nohup: ",
        "setsid: ",
        "timeout: ",
        "stdbuf: ",
        "taskset: ",
        "numactl: ",
        "ionice: ",
        "chrt: ",
    ];
    let started = of_starter.iter().any(|first| line.starts_with(first));
    let before = line
        .strip_suffix(": not found")
        .or_else(|| line.strip_suffix(": command not found"))
        .or_else(|| line.strip_suffix(": No such file or directory").filter(|_| started))?;
    let said = before.rsplit(": ").next()?.trim();
    let deeds = ["failed to run command ", "failed to execute ", "execution of "];
    let said = deeds.iter().find_map(|deed| said.strip_prefix(deed)).unwrap_or(said);
    let word = said.trim_matches(['\'', '‘', '’', '"', '`']);
    (!word.is_empty() && !word.contains(char::is_whitespace)).then(|| word.to_owned())
}

fn is_library(word: &str) -> bool {
    let is_shared = word.split('.').skip(1).any(|part| part == "so");
    !word.contains('/') && word.starts_with("lib") && is_shared
}

fn is_file(word: &str) -> bool {
    const ENDINGS: [&str; 9] =
        [".json", ".jinja", ".gguf", ".safetensors", ".bin", ".py", ".yaml", ".txt", ".model"];
    ENDINGS.iter().any(|end| word.len() > end.len() && word.ends_with(end))
}

fn program(path: &Path) -> Option<String> {
    let meta = fs::metadata(path).ok()?;
    (meta.is_file() && meta.permissions().mode() & 0o111 != 0).then(|| of_file(path))
}

/// Of what the kernel makes and of perflab's own files nothing is compared.
fn of_path(name: &str, study_dir: &Path) -> Option<String> {
    let path = match name.strip_prefix("~/") {
        Some(rest) => PathBuf::from(std::env::var_os("HOME")?).join(rest),
        None => study_dir.join(name),
    };
    let of_kernel = ["/proc", "/sys"].iter().any(|dir| path.starts_with(dir));
    let ours = |part: &str| part == ".perflab" || part.starts_with("plab-");
    let is_ours = path.components().any(|c| c.as_os_str().to_str().is_some_and(ours));
    if of_kernel || is_ours {
        return None;
    }
    let meta = match fs::metadata(&path) {
        Ok(meta) => meta,
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            return Some("closed to this user".to_owned());
        }
        Err(_) => return Some(ABSENT.to_owned()),
    };
    if !meta.is_dir() {
        return Some(of_file(&path));
    }
    let around_us = path.canonicalize().is_ok_and(|real| study_dir.starts_with(real));
    let entries = if around_us { None } else { entries(&path) };
    Some(entries.map_or_else(|| mode(&meta), |entries| format!("{}, {entries}", mode(&meta))))
}

fn of_file(path: &Path) -> String {
    let Ok(meta) = fs::metadata(path) else { return ABSENT.to_owned() };
    if !meta.is_file() {
        return mode(&meta);
    }
    match disk::identity(path) {
        Ok(hash) => format!("{}, {}", mode(&meta), hash.get(..12).unwrap_or(&hash)),
        Err(_) => format!("{}, closed to this user", mode(&meta)),
    }
}

fn mode(meta: &fs::Metadata) -> String {
    format!("mode {:o} of {}:{}", meta.permissions().mode() & 0o7777, meta.uid(), meta.gid())
}

/// A hash over the names in a directory.
fn entries(path: &Path) -> Option<String> {
    let names = fs::read_dir(path).ok()?.flatten().map(|e| e.file_name().to_string_lossy().into_owned());
    let names: BTreeSet<String> = names.take(MOST_ENTRIES).collect();
    let all = names.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
    Some(format!("entries {}", short_hash(&all)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(class: &str, line: &str) -> RunOutcome {
        RunOutcome::FailedStart { class: class.to_owned(), line: line.to_owned() }
    }

    #[test]
    fn the_names_in_a_line_are_found() {
        let names = |line: &str| named(line).into_iter().collect::<Vec<_>>();
        assert_eq!(
            names("PermissionError: [Errno 13] Permission denied: '/m/with space/x.bin'"),
            ["/m/with", "/m/with space/x.bin", "space/x.bin"]
        );
        assert_eq!(names("cannot open data/w.bin: No such file."), ["data/w.bin"]);
        assert_eq!(names("OSError: m does not have a file named config.json."), ["config.json"]);
        let shared = "x: error while loading shared libraries: libfoo.so.2: cannot open shared object file";
        assert_eq!(names(shared), ["libfoo.so.2"]);
        assert_eq!(names("sh: 1: nvcc: not found"), ["nvcc"]);
        assert_eq!(names("bash: line 3: nvcc: command not found"), ["nvcc"]);
        assert_eq!(names("env: ‘vllm’: No such file or directory"), ["vllm"]);
        assert_eq!(names("nice: 'vllm': No such file or directory"), ["vllm"]);
        assert_eq!(names("timeout: failed to run command ‘vllm’: No such file or directory"), ["vllm"]);
        assert_eq!(names("numactl: execution of `vllm': No such file or directory"), ["vllm"]);
        assert_eq!(names("FileNotFoundError: [Errno 2] No such file or directory: 'nvcc'"), ["nvcc"]);
        let module = names("ModuleNotFoundError: No module named 'plug.one'");
        assert_eq!(module, ["./plug", "./plug.py", "./plug/one", "./plug/one.py"]);
        assert_eq!(names("401 Client Error for url: https://hub/x/config.json"), Vec::<String>::new());
        assert_eq!(names("ValueError: heads are odd"), Vec::<String>::new());
    }

    #[test]
    fn a_state_follows_what_can_be_mended() {
        let dir = tempfile::tempdir().unwrap();
        let search = Search { path: dir.path().join("bin").display().to_string(), library_path: None };
        let ground = Ground { study_dir: dir.path(), search: &search };
        let of = |name: &str| state(name, &ground).unwrap();
        assert_eq!(
            (of("a/b"), of("tool"), of("libnone.so.1")),
            (ABSENT.into(), ABSENT.into(), ABSENT.into())
        );
        fs::create_dir_all(dir.path().join("a")).unwrap();
        fs::create_dir_all(dir.path().join("bin")).unwrap();
        fs::write(dir.path().join("a/b"), "x").unwrap();
        fs::write(dir.path().join("bin/tool"), "x").unwrap();
        let (before, folder) = (of("a/b"), of("./a"));
        assert_eq!(of("tool"), ABSENT, "it cannot be run");
        for path in ["a/b", "bin/tool"] {
            fs::set_permissions(dir.path().join(path), fs::Permissions::from_mode(0o755)).unwrap();
        }
        assert!(of("a/b") != before && of("tool") != ABSENT, "{before}");
        fs::write(dir.path().join("a/c"), "x").unwrap();
        assert_ne!(of("./a"), folder);
        assert_eq!(state("/proc/self/status", &ground), None);
        assert_eq!(state("x/.perflab/s/server.log", &ground), None);
    }

    #[test]
    fn only_failures_blame() {
        let dir = tempfile::tempdir().unwrap();
        let search = Search { path: String::new(), library_path: None };
        let ground = Ground { study_dir: dir.path(), search: &search };
        let of = |outcome: &RunOutcome| {
            blamed(outcome, "m", &Site::default(), &ground).into_keys().collect::<Vec<_>>()
        };
        assert_eq!(of(&RunOutcome::Done), Vec::<String>::new());
        assert_eq!(of(&failed("too many open files", "OSError: [Errno 24]")), [OPEN_FILES]);
        assert_eq!(of(&failed("engine not found", "there is no program `mysrv`")), ["mysrv"]);
        assert_eq!(of(&failed("out of host memory", "std::bad_alloc")), [MEMORY]);
        fs::create_dir(dir.path().join("m")).unwrap();
        assert_eq!(of(&failed("no access", "not allowed")), ["m"]);
        assert_eq!(of(&failed("out of GPU memory", "CUDA out of memory: /m")), Vec::<String>::new());
    }
}
