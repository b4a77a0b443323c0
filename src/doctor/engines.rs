//! Which inference engines are installed, in virtual environments and on the `PATH`, and in which versions. Versions are read from
//! package metadata: to import an engine takes half a minute.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::ask::{ask, is_program, on_path};
use super::finding::{Finding, Topic};

/// An installed engine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Found {
    /// its name in the standard library
    pub engine: String,
    /// `null` where it does not say
    pub version: Option<String>,
    pub via: Via,
    /// the virtual environment, or the program
    pub path: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    Venv,
    Path,
}

/// Engines that are Python packages: name here, distribution, program.
const PACKAGES: [(&str, &str, &str); 3] =
    [("vllm", "vllm", "vllm"), ("sglang", "sglang", "python"), ("trtllm", "tensorrt_llm", "trtllm-serve")];

/// Every engine that is found, environments first.
pub fn find() -> Vec<Found> {
    let environments = environments();
    let mut found: Vec<Found> = environments.iter().flat_map(|dir| in_environment(dir)).collect();
    found.extend(python_on_path(&environments));
    found.extend(llama());
    found
}

pub fn findings(found: &[Found]) -> Vec<Finding> {
    let line = |f: &Found| {
        let version = f.version.as_ref().map_or_else(|| "of unknown version".to_owned(), Clone::clone);
        let at = shown(&f.path);
        let how = match f.via {
            Via::Venv => format!("in the virtual environment {at}"),
            Via::Path => format!("on the PATH, {at}"),
        };
        Finding::ok(Topic::Engines, format!("{} {version} {how}", f.engine))
    };
    let mut out: Vec<Finding> = found.iter().map(line).collect();
    if out.is_empty() {
        let fix =
            "install one, as with `python3 -m venv ~/venvs/vllm` and `~/venvs/vllm/bin/pip install vllm`";
        out.push(Finding::warn(
            Topic::Engines,
            "no inference engine is installed where it is looked for",
            fix,
        ));
    }
    out.push(Finding::ok(Topic::Engines, "the simulated engine, built in"));
    out
}

/// A path as people write it.
pub fn shown(path: &Path) -> String {
    let home = std::env::var_os("HOME").filter(|h| !h.is_empty() && h != "/").map(PathBuf::from);
    let below = home.and_then(|h| path.strip_prefix(h).ok().map(Path::to_owned));
    below.map_or_else(|| path.display().to_string(), |p| format!("~/{}", p.display()))
}

/// Virtual environments where people put them.
fn environments() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let here = std::env::current_dir().unwrap_or_default();
    let mut dirs: Vec<PathBuf> = std::env::var_os("VIRTUAL_ENV").into_iter().map(PathBuf::from).collect();
    for (base, names) in [(&home, &[".venv", "venv"][..]), (&here, &[".venv", "venv"][..])] {
        dirs.extend(names.iter().map(|n| base.join(n)));
    }
    let parents = [
        home.join("venvs"),
        home.join(".venvs"),
        home.join(".virtualenvs"),
        home.join("miniconda3/envs"),
        home.join("anaconda3/envs"),
        here.join("venvs"),
        PathBuf::from("/opt"),
        PathBuf::from("/opt/venvs"),
        PathBuf::from("/opt/conda/envs"),
    ];
    dirs.extend(parents.iter().flat_map(|p| below(p)));
    let mut seen = BTreeSet::new();
    dirs.retain(|d| {
        d.join("bin/python").exists() && seen.insert(d.canonicalize().unwrap_or_else(|_| d.clone()))
    });
    dirs
}

fn below(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut dirs: Vec<PathBuf> = entries.map(|e| e.path()).filter(|p| p.is_dir()).collect();
    dirs.sort();
    dirs
}

fn in_environment(dir: &Path) -> Vec<Found> {
    let packages = PACKAGES.iter().filter_map(|(engine, distribution, program)| {
        let version = installed(dir, distribution)?;
        is_program(&dir.join("bin").join(program)).then(|| Found {
            engine: (*engine).to_owned(),
            version: Some(version),
            via: Via::Venv,
            path: dir.to_owned(),
        })
    });
    packages.collect()
}

/// The version of a distribution below a prefix, as its metadata's directory is called: `vllm-0.17.1.dist-info`.
fn installed(prefix: &Path, distribution: &str) -> Option<String> {
    let libs = ["lib", "lib64", "local/lib"].into_iter().flat_map(|lib| below(&prefix.join(lib)));
    let sites = libs.flat_map(|python| [python.join("site-packages"), python.join("dist-packages")]);
    sites.into_iter().find_map(|site| {
        let entries = fs::read_dir(site).ok()?.flatten();
        entries.into_iter().find_map(|e| version_of(e.file_name().to_str()?, distribution))
    })
}

/// What follows a `+` is who built it, and no part of the release.
fn version_of(metadata: &str, distribution: &str) -> Option<String> {
    let (name, version) = metadata.strip_suffix(".dist-info")?.rsplit_once('-')?;
    let version = version.split('+').next().unwrap_or(version);
    (name == distribution).then(|| version.to_owned())
}

/// Programs on the `PATH`, unless they belong to an environment that is known already.
fn python_on_path(known: &[PathBuf]) -> Vec<Found> {
    let on_path = PACKAGES.iter().filter_map(|(engine, distribution, program)| {
        let path = on_path(program)?;
        let is_known = known.iter().any(|dir| path.starts_with(dir));
        let version = prefixes(&path).iter().find_map(|p| installed(p, distribution));
        // an interpreter is no engine; it may have the package of one
        let is_engine = *program != "python" || version.is_some();
        (!is_known && is_engine).then(|| Found {
            engine: (*engine).to_owned(),
            version,
            via: Via::Path,
            path,
        })
    });
    on_path.collect()
}

/// Where the packages of a script may lie: beside it, below the interpreter that its first line names, in the user's own.
fn prefixes(script: &Path) -> Vec<PathBuf> {
    let up = |p: &Path| p.parent().and_then(Path::parent).map(Path::to_owned);
    let real = script.canonicalize().unwrap_or_else(|_| script.to_owned());
    let text = fs::read(&real).unwrap_or_default();
    let first = text.split(|b| *b == b'\n').next().map(String::from_utf8_lossy);
    let interpreter =
        first.and_then(|l| Some(PathBuf::from(l.strip_prefix("#!")?.split_whitespace().next()?)));
    let user = std::env::var_os("HOME").map(|h| PathBuf::from(h).join(".local"));
    [up(script), up(&real), interpreter.and_then(|i| up(&i)), user].into_iter().flatten().collect()
}

fn llama() -> Option<Found> {
    let path = on_path("llama-server")?;
    let said = ask(&path, &["--version"]).unwrap_or_default();
    // `version: 11434 (ab12cd3)`
    let build = said.lines().find_map(|l| l.trim().strip_prefix("version:"));
    let version = build.and_then(|b| b.split_whitespace().next()).map(str::to_owned);
    Some(Found { engine: "llama_cpp".to_owned(), version, via: Via::Path, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_from_the_metadata_of_exactly_that_package() {
        assert_eq!(version_of("vllm-0.17.1+cpu.dist-info", "vllm").as_deref(), Some("0.17.1"));
        assert_eq!(version_of("vllm_router-0.1.dist-info", "vllm"), None);
        assert_eq!(version_of("vllm-0.17.1.data", "vllm"), None);
    }

    #[test]
    fn an_environment_without_the_program_has_no_engine() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(dir.path().join("lib/python3.11/site-packages/vllm-0.9.dist-info")).expect("made");
        fs::create_dir(dir.path().join("bin")).expect("made");
        assert!(in_environment(dir.path()).is_empty());
        let program = dir.path().join("bin/vllm");
        fs::write(&program, "#!/bin/sh\n").expect("written");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("executable");
        let found = in_environment(dir.path());
        assert_eq!((found[0].engine.as_str(), found[0].version.as_deref()), ("vllm", Some("0.9")));
    }
}
