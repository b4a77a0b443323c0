//! Directories beside the study's own that the texts of a launch lead to: those of files that it names, and those that its scripts and
//! settings say (`/etc/llm/$STAGE/server.env`, `../conf`), whatever is put behind them at run time.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::beside::text_of;
use super::named::path_of;

/// Directories of one text.
const MOST: usize = 32;
/// Directories of programs, beside which what they read lies.
const OF_PROGRAMS: [&str; 3] = ["bin", "sbin", "scripts"];

/// The directories that files lie in and that they say.
pub fn of(files: &BTreeSet<PathBuf>, study_dir: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for file in files {
        let Some(dir) = file.parent() else { continue };
        found.insert(dir.to_owned());
        if dir.file_name().and_then(|n| n.to_str()).is_some_and(|name| OF_PROGRAMS.contains(&name)) {
            found.extend(dir.parent().map(Path::to_owned));
        }
        found.extend(said_by(&text_of(file).unwrap_or_default(), &[study_dir, dir]));
    }
    found.retain(|dir| is_somebodys(dir));
    found
}

/// The directories that a text says, as far as they are there.
fn said_by(text: &str, bases: &[&Path]) -> BTreeSet<PathBuf> {
    let in_path = |c: char| c.is_alphanumeric() || "._-+~/".contains(c);
    let words = text.split(|c: char| !in_path(c));
    let led = words.filter(|w| w.starts_with('/') || w.starts_with("~/") || w.starts_with("../"));
    let mut found = BTreeSet::new();
    for word in led {
        let paths = bases.iter().filter_map(|base| path_of(word, base));
        found.extend(paths.filter_map(|path| path.ancestors().find(|p| p.is_dir())?.canonicalize().ok()));
        if found.len() >= MOST {
            break;
        }
    }
    found
}

/// Whether a directory lies so deep that it belongs to somebody.
fn is_somebodys(dir: &Path) -> bool {
    dir.components().filter(|c| matches!(c, Component::Normal(_))).count() > 1
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::folder;
    use super::*;

    #[test]
    fn what_stands_before_a_variable_is_a_directory_that_a_script_leads_to() {
        let dir = folder::of(&[("study/serve.sh", ""), ("etc/llm/prod/x.env", ""), ("conf/a", "")]);
        let at = |name: &str| dir.path().join(name).canonicalize().expect("there");
        let (study, etc) = (at("study"), at("etc/llm"));
        let text = format!(
            "#!/bin/sh\n. {}/$STAGE/server.env\ncat ../conf/\"$x\".ini; exec /usr/bin/env x /\n",
            etc.display()
        );
        fs::write(study.join("serve.sh"), text).expect("written");
        let files = BTreeSet::from([study.join("serve.sh")]);
        let found = of(&files, &study);
        assert!([&study, &etc, &at("conf")].iter().all(|dir| found.contains(*dir)), "{found:?}");
        assert!(!found.contains(Path::new("/")) && found.len() <= 5, "{found:?}");
    }
}
