//! What is installed in the Python environment of a program: every distribution with its version and a hash over its files, as its
//! installer recorded them. Where the environment lies, and which installer made it, is no part of that: a moved one is the same.
//!
//! Their files themselves are looked at as well, since people patch them in place; a distribution that is installed as a link to a checkout
//! counts with the checkout's code.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use super::loose;
use super::patched::{self, Sweep, is_compiled};
use crate::disk::{self, Which, hex};

/// A Python environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Python {
    interpreter: PathBuf,
    /// where distributions lie, those that are found first first, and whether what lies there is the environment's or the user's own
    sites: Vec<(PathBuf, bool)>,
    /// a conda environment's list of packages
    conda: Option<PathBuf>,
}

/// What each distribution is: `2.8.0 (1f0e9d4c)`.
pub type Distributions = BTreeMap<String, String>;

impl Python {
    /// The environment that a program runs in: an interpreter's own, or that of the one that its first line names.
    pub fn of(program: &Path, path: &str) -> Option<Self> {
        let interpreter = if is_interpreter(program) { program.to_owned() } else { named_by(program, path)? };
        if !is_interpreter(&interpreter) {
            return None;
        }
        // the link to an interpreter says which environment is meant, and what it leads to does not
        let prefix = interpreter.parent()?.parent()?.to_owned();
        let settings = fs::read_to_string(prefix.join("pyvenv.cfg")).ok();
        let conda = Some(prefix.join("conda-meta")).filter(|d| d.is_dir());
        let below = |prefix: &Path, own: bool| {
            sites_below(&prefix.join("lib")).into_iter().map(move |site| (site, own))
        };
        let mut sites: Vec<_> = below(&prefix, settings.is_some() || conda.is_some()).collect();
        let sees_system = settings.as_ref().is_none_or(|text| {
            let words = |l: &str| l.split('=').map(|w| w.trim().to_lowercase()).collect::<Vec<_>>();
            text.lines().any(|l| words(l) == ["include-system-site-packages", "true"])
        });
        if sees_system {
            let real = interpreter.canonicalize().ok()?;
            let base = real.parent()?.parent()?.to_owned();
            let home = std::env::var_os("HOME").map(|h| PathBuf::from(h).join(".local"));
            sites.extend(home.iter().flat_map(|home| below(home, true)));
            sites.extend(below(Path::new("/usr/local"), false).chain(below(&base, false)));
        }
        let mut seen = BTreeSet::new();
        sites.retain(|(dir, _)| seen.insert(dir.canonicalize().unwrap_or_else(|_| dir.clone())));
        Some(Self { interpreter, sites, conda })
    }

    /// The environment whose programs lie beside a program or in a directory: for what says nothing of its own, as a shell script.
    pub fn beside(program: &Path, venv: Option<&Path>, path: &str) -> Option<Self> {
        let near =
            program.parent().filter(|bin| bin.parent().is_some_and(|p| p.join("pyvenv.cfg").is_file()));
        let bins = venv.map(|dir| dir.join("bin")).into_iter().chain(near.map(Path::to_owned));
        let mut pythons = bins.flat_map(|bin| ["python", "python3"].map(|name| bin.join(name)));
        pythons.find(|p| p.exists()).and_then(|python| Self::of(&python, path))
    }

    pub fn interpreter(&self) -> &Path {
        &self.interpreter
    }

    /// Where distributions lie.
    pub fn sites(&self) -> impl Iterator<Item = &Path> {
        self.sites.iter().map(|(site, _)| site.as_path())
    }

    /// All distributions, and what of their files is not as it was installed.
    pub fn distributions(&self) -> Distributions {
        let mut found = Distributions::new();
        for (site, own) in &self.sites {
            found.extend(loose::modules(site, *own));
            let sweep = patched::sweep(site);
            found.extend(sweep.added.clone());
            for entry in fs::read_dir(site).into_iter().flatten().flatten() {
                add(site, &entry.path(), &sweep, &mut found);
            }
        }
        for entry in self.conda.iter().filter_map(|d| fs::read_dir(d).ok()).flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            // NAME-VERSION-BUILD, of which the name may hold dashes
            let mut parts = name.strip_suffix(".json").unwrap_or_default().rsplitn(3, '-');
            if let (Some(build), Some(version), Some(name)) = (parts.next(), parts.next(), parts.next()) {
                found.insert(format!("{name} (conda)"), format!("{version} ({build})"));
            }
        }
        found
    }
}

/// Adds what an entry of a directory of distributions is, if it is one.
fn add(site: &Path, path: &Path, sweep: &Sweep, to: &mut Distributions) {
    let called = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let info = called.strip_suffix(".dist-info").or_else(|| called.strip_suffix(".egg-info"));
    if let Some((name, version)) = info.map(|i| i.split_once('-').unwrap_or((i, "0"))) {
        let patched = sweep.patched.get(&called).map_or(&[][..], Vec::as_slice);
        // what is found first is what is imported
        to.entry(normal(name)).or_insert_with(|| {
            let held = held(path, patched).unwrap_or_else(|_| "unread".to_owned());
            format!("{version} ({held})")
        });
    } else if called.strip_suffix(".pth").or(called.strip_suffix(".egg-link")).is_some() {
        let linked = linked(site, path);
        if !linked.is_empty() {
            to.insert(called, linked.join(", "));
        }
    }
}

/// One name however it is spelled: `Flash_Attn`, `flash-attn`.
pub fn normal(name: &str) -> String {
    name.to_lowercase().replace(['_', '.'], "-")
}

fn is_interpreter(program: &Path) -> bool {
    // a version manager puts scripts of that name before it
    let mut head = [0; 2];
    let is_script = fs::File::open(program).is_ok_and(|mut f| io::Read::read(&mut f, &mut head).is_ok())
        && head == *b"#!";
    is_called_python(program) && !is_script
}

fn is_called_python(program: &Path) -> bool {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    name.strip_prefix("python").is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// The interpreter in a script's first line, or in the second of those whose path is too long for a first one; that of a version
/// manager is a script itself. `path` is where `env` looks.
pub fn named_by(script: &Path, path: &str) -> Option<PathBuf> {
    let mut head = vec![0; 1024];
    let read = io::Read::read(&mut fs::File::open(script).ok()?, &mut head).ok()?;
    let text = String::from_utf8_lossy(&head[..read]).into_owned();
    let mut lines = text.lines();
    let first = lines.next()?.strip_prefix("#!")?.trim();
    let mut words = first.split_whitespace();
    let named = words.next()?;
    let name = |p: &str| Path::new(p).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let found = match name(named).as_str() {
        "env" => {
            let word = words.find(|w| !w.starts_with('-') && !w.contains('='))?;
            which::which_in(word, Some(path), "/").ok()?
        }
        "sh" => {
            let second = lines.next()?.strip_prefix("'''exec' ")?;
            PathBuf::from(shell_words::split(second.split(" \"$0\"").next()?).ok()?.into_iter().next()?)
        }
        _ => PathBuf::from(named),
    };
    is_called_python(&found).then_some(found)
}

fn sites_below(lib: &Path) -> Vec<PathBuf> {
    let pythons = fs::read_dir(lib).into_iter().flatten().flatten();
    let pythons = pythons.filter(|e| e.file_name().to_string_lossy().starts_with("python"));
    let mut all: Vec<PathBuf> =
        pythons.flat_map(|e| ["site-packages", "dist-packages"].map(|d| e.path().join(d))).collect();
    all.retain(|dir| dir.is_dir());
    all.sort();
    all
}

/// A hash over what a distribution holds, eight digits.
fn held(info: &Path, patched: &[(String, String)]) -> io::Result<String> {
    let record = info.join("RECORD");
    let mut hash = Sha256::new();
    if record.is_file() {
        hash.update(disk::remembered(&record, "record", |_| Ok(recorded(&fs::read_to_string(&record)?)))?);
        for (name, what) in patched {
            hash.update(format!("{name}\0{what}\0"));
        }
    } else {
        let told = ["METADATA", "PKG-INFO"].map(|f| info.join(f));
        let told = told.iter().find(|f| f.is_file()).map_or(info, PathBuf::as_path);
        hash.update(disk::identity(told)?);
    }
    if let Some(checkout) = checkout(info) {
        hash.update(disk::tree(&checkout, Which::Code).unwrap_or_default());
    }
    Ok(hex(&hash.finalize())[..8].to_owned())
}

/// What of a record says what was installed: not the scripts, which hold the environment's own path, nor the installer's notes.
fn recorded(text: &str) -> String {
    let counts = |line: &&str| {
        let name = line.split(',').next().unwrap_or_default();
        !name.starts_with("../") && !name.contains(".dist-info/") && !is_compiled(name)
    };
    let mut lines: Vec<&str> = text.lines().filter(counts).collect();
    lines.sort_unstable();
    hex(&Sha256::digest(lines.join("\n")))
}

/// Where the code of a distribution lies that is installed as a link.
fn checkout(info: &Path) -> Option<PathBuf> {
    let told: Json = serde_json::from_str(&fs::read_to_string(info.join("direct_url.json")).ok()?).ok()?;
    let editable = told["dir_info"]["editable"].as_bool().unwrap_or(false);
    let at = told["url"].as_str()?.strip_prefix("file://")?.replace("%20", " ");
    editable.then(|| PathBuf::from(at))
}

/// The directories that a file of paths adds, with a hash over their code; its own lines of Python count as they are.
fn linked(site: &Path, file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let lines = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#') && *l != ".");
    let told = |line: &str| {
        let dir = site.join(line);
        let code = dir.is_dir().then(|| disk::tree(&dir, Which::Code).ok()).flatten();
        let what = code.unwrap_or_else(|| hex(&Sha256::digest(line)));
        what[..8].to_owned()
    };
    lines.map(told).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Venv(tempfile::TempDir);

    impl Venv {
        fn new() -> Self {
            let venv = Self(tempfile::tempdir().unwrap());
            fs::create_dir_all(venv.0.path().join("bin")).unwrap();
            symlink("/bin/sh", venv.0.path().join("bin/python")).unwrap();
            fs::write(
                venv.0.path().join("pyvenv.cfg"),
                "home = /usr/bin\ninclude-system-site-packages = false\n",
            )
            .unwrap();
            venv.write("torch/a.py", "1");
            venv.install(
                "torch",
                "2.8.0",
                "torch/a.py,sha256=a4ayc_80_OGda4BO_1o_V0etpOqiLx1JwB5S3beHW0s,1\n",
            );
            venv
        }

        fn site(&self) -> PathBuf {
            self.0.path().join("lib/python3.11/site-packages")
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.site().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn install(&self, name: &str, version: &str, record: &str) {
            self.write(&format!("{name}-{version}.dist-info/RECORD"), record);
        }

        fn found(&self) -> Distributions {
            Python::of(&self.0.path().join("bin/python"), "").unwrap().distributions()
        }
    }

    #[test]
    fn versions_and_contents_count_and_places_do_not() {
        let venv = Venv::new();
        let first = venv.found();
        assert!(first["torch"].starts_with("2.8.0 ("), "{first:?}");
        let record = venv.site().join("torch-2.8.0.dist-info/RECORD");
        let text = fs::read_to_string(&record).unwrap();
        fs::write(
            &record,
            format!("../../../bin/x,sha256=abc,3\n{text}torch-2.8.0.dist-info/INSTALLER,sha256=z,2\n"),
        )
        .unwrap();
        assert_eq!(venv.found(), first);
        fs::write(&record, text.replace("a4ay", "b4ay")).unwrap();
        assert_ne!(venv.found(), first);
        fs::write(&record, &text).unwrap();
        fs::rename(venv.site().join("torch-2.8.0.dist-info"), venv.site().join("torch-2.9.1.dist-info"))
            .unwrap();
        assert!(venv.found()["torch"].starts_with("2.9.1"));
    }

    #[test]
    fn a_patched_file_of_the_engine_is_seen_and_a_copied_one_is_the_same() {
        let venv = Venv::new();
        let first = venv.found();
        let file = venv.site().join("torch/a.py");
        let later = std::time::SystemTime::now() + std::time::Duration::from_mins(10);
        fs::File::open(&file).unwrap().set_modified(later).unwrap();
        assert_eq!(venv.found(), first, "the hash of the record is still that of the file");
        fs::write(&file, "2").unwrap();
        fs::File::open(&file).unwrap().set_modified(later).unwrap();
        assert_ne!(venv.found(), first);
        fs::remove_file(&file).unwrap();
        assert_ne!(venv.found(), first);
    }

    #[test]
    fn checkouts_count_with_their_code() {
        let (venv, code) = (Venv::new(), tempfile::tempdir().unwrap());
        fs::write(code.path().join("m.py"), "1").unwrap();
        let at = code.path().display().to_string();
        venv.write("__editable__.vllm-1.0.pth", &format!("{at}\n"));
        venv.install("vllm", "1.0", "");
        venv.write(
            "vllm-1.0.dist-info/direct_url.json",
            &format!(r#"{{"url": "file://{at}", "dir_info": {{"editable": true}}}}"#),
        );
        let first = venv.found();
        fs::write(code.path().join("m.py"), "2").unwrap();
        let second = venv.found();
        assert!(
            first["vllm"] != second["vllm"]
                && first["__editable__.vllm-1.0.pth"] != second["__editable__.vllm-1.0.pth"]
        );
    }

    #[test]
    fn conda_and_egg_infos_are_told_too() {
        let venv = Venv::new();
        venv.write("old-1.2.egg-info/PKG-INFO", "Name: old");
        fs::create_dir_all(venv.0.path().join("conda-meta")).unwrap();
        fs::write(venv.0.path().join("conda-meta/cuda-nvcc-12.4.1-h1.json"), "{}").unwrap();
        let found = venv.found();
        assert!(found["old"].starts_with("1.2 ("), "{found:?}");
        assert_eq!(found["cuda-nvcc (conda)"], "12.4.1 (h1)");
    }

    #[test]
    fn scripts_name_their_interpreter() {
        let venv = Venv::new();
        let (bin, script) = (venv.0.path().join("bin"), venv.0.path().join("bin/vllm"));
        let python = bin.join("python");
        for head in [
            format!("#!{}\nimport vllm\n", python.display()),
            "#!/usr/bin/env python\nimport vllm\n".to_owned(),
            format!("#!/bin/sh\n'''exec' \"{}\" \"$0\" \"$@\"\n' '''\n", python.display()),
        ] {
            fs::write(&script, &head).unwrap();
            let found = Python::of(&script, &bin.display().to_string());
            // `env` needs one that can be run, which the link is
            assert_eq!(found.unwrap().interpreter(), python, "{head}");
        }
        fs::write(&script, "#!/bin/bash\n").unwrap();
        assert_eq!(Python::of(&script, ""), None);
    }
}
