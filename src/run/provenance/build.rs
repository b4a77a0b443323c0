//! Which build of an engine is installed: found without starting it, since that takes half a minute, and before anything is launched.

use std::fs;
use std::path::{Path, PathBuf};

use super::files;
use crate::lang::sema::program::{Engine, Via};

/// As `vllm 0.17.1 (4f21…)` for a Python distribution, `llama-server 9c1e…` for a program. `None` where nothing of it is found here.
pub fn installed(engine: &Engine, path: Option<&str>, study_dir: &Path) -> Option<String> {
    let words = shell_words::split(&engine.serve).ok()?;
    let first = words.first()?;
    if first == "perflab" {
        return Some(format!("perflab {}", env!("CARGO_PKG_VERSION")));
    }
    let venv = match &engine.via {
        Via::Path => None,
        Via::Venv(dir) => Some(Path::new(dir).join("bin")),
        Via::Url(_) | Via::Container(_) => return None,
    };
    let program = find(first, venv.as_deref(), path, study_dir)?;
    let module = words.iter().position(|w| w == "-m").and_then(|i| words.get(i + 1));
    let name = match module {
        Some(module) => module.split('.').next().unwrap_or(module),
        None => program.file_name()?.to_str()?,
    };
    distribution(&program, name).or_else(|| by_content(&program, &words, study_dir))
}

fn find(word: &str, venv: Option<&Path>, path: Option<&str>, study_dir: &Path) -> Option<PathBuf> {
    let own = std::env::var("PATH").unwrap_or_default();
    let venv = venv.map(|d| format!("{}:", d.display())).unwrap_or_default();
    which::which_in(word, Some(format!("{venv}{}", path.unwrap_or(&own))), study_dir).ok()
}

/// The distribution of that name in the environment that a program belongs to.
fn distribution(program: &Path, name: &str) -> Option<String> {
    let lib = program.parent()?.parent()?.join("lib");
    let pythons = fs::read_dir(lib).ok()?.flatten().map(|e| e.path().join("site-packages"));
    let infos = pythons.filter_map(|dir| fs::read_dir(dir).ok()).flatten().flatten();
    let normal = |text: &str| text.to_ascii_lowercase().replace('-', "_");
    for info in infos {
        let called = info.file_name().to_string_lossy().into_owned();
        let Some((distribution, version)) = called.strip_suffix(".dist-info").and_then(|c| c.split_once('-'))
        else {
            continue;
        };
        if normal(distribution) == normal(name) {
            // two builds may carry one version
            let record = info.path().join("RECORD");
            let hash = files::content(std::iter::once(record.as_path())).map(|h| format!(" ({h})"));
            return Some(format!("{distribution} {version}{}", hash.unwrap_or_default()));
        }
    }
    None
}

/// A hash of the program and of the scripts that its command names.
fn by_content(program: &Path, words: &[String], study_dir: &Path) -> Option<String> {
    let scripts = words.iter().skip(1).filter(|w| !w.starts_with('-')).map(|w| study_dir.join(w));
    let scripts: Vec<PathBuf> = scripts.filter(|p| p.is_file()).collect();
    let all = std::iter::once(program).chain(scripts.iter().map(PathBuf::as_path));
    let hash = files::content(all).ok()?;
    Some(format!("{} {hash}", program.file_name()?.to_str()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_is_found_beside_its_script() {
        let dir = tempfile::tempdir().expect("a folder");
        let info = dir.path().join("lib/python3.11/site-packages/vllm-0.17.1+cpu.dist-info");
        fs::create_dir_all(&info).expect("a folder");
        fs::create_dir(dir.path().join("bin")).expect("a folder");
        let program = dir.path().join("bin/vllm");
        fs::write(&program, "#!/usr/bin/env python3\n").expect("written");
        fs::write(info.join("RECORD"), "a").expect("written");
        let first = distribution(&program, "vllm").expect("found");
        assert!(first.starts_with("vllm 0.17.1+cpu ("), "{first}");
        fs::write(info.join("RECORD"), "b").expect("written");
        assert_ne!(distribution(&program, "vllm"), Some(first));
        assert_eq!(distribution(&program, "sglang"), None);
    }
}
