//! What lies among the distributions of a Python environment and belongs to none: modules that somebody copied there, and `sitecustomize.py`,
//! which every start of its interpreter runs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::patched::is_compiled;
use crate::disk::{self, Which};

/// Run by the interpreter itself, whoever put them there.
const RUN_AT_START: [&str; 2] = ["sitecustomize.py", "usercustomize.py"];
/// More than lies about anywhere: then it is no environment but a checkout.
const MOST: usize = 200;

/// Modules of a directory of distributions that no distribution recorded, each with a hash over its code. Of a directory that the whole
/// system shares (`own` is false) only what runs at every start counts.
pub fn modules(site: &Path, own: bool) -> Vec<(String, String)> {
    let mut names: Vec<String> = fs::read_dir(site)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|e| e.file_name().into_string().ok())
        .collect();
    names.sort();
    let recorded = if own { recorded(site, &names) } else { BTreeSet::new() };
    let counts = |name: &&String| {
        if is_compiled(name) && !disk::is_sourceless(&site.join(name)) {
            return false;
        }
        let starts = RUN_AT_START.contains(&name.as_str());
        starts && !recorded.contains(*name) || own && is_module(name) && !recorded.contains(*name)
    };
    let found = names.iter().filter(counts).take(MOST);
    found
        .filter_map(|name| Some(shown(name, &site.join(name))).filter(|(_, hash)| !hash.is_empty()))
        .collect()
}

pub(super) fn shown(name: &str, path: &Path) -> (String, String) {
    let (name, hash) = if path.is_dir() {
        (format!("{name}/"), disk::tree(path, Which::Code))
    } else {
        (name.to_owned(), disk::of_file(path))
    };
    (name, hash.map(|hash| hash.chars().take(8).collect()).unwrap_or_default())
}

/// What `import` may find: a package, a module, a compiled one.
pub(super) fn is_module(name: &str) -> bool {
    let stem =
        ["py", "so", "pyc"].iter().find_map(|end| name.strip_suffix(end)?.strip_suffix('.')).unwrap_or(name);
    let first = stem.split('.').next().unwrap_or_default();
    let word = first.chars().all(|c| c.is_alphanumeric() || c == '_') && !first.is_empty();
    // a directory has no dot in its name, a compiled module has its platform in it
    word && name != "__pycache__" && (!name.contains('.') || stem != name)
}

/// The first parts of all paths that distributions say are theirs.
fn recorded(site: &Path, names: &[String]) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for info in names.iter().filter(|n| n.ends_with(".dist-info") || n.ends_with(".egg-info")) {
        let at = site.join(info);
        let record = ["RECORD", "installed-files.txt"].map(|f| at.join(f)).into_iter().find(|f| f.is_file());
        // where its installer wrote nothing down, what it brought is known by its bytes alone, as what somebody copied there
        let Some(record) = record else { continue };
        let tops = disk::remembered(&record, "tops", |_| Ok(tops(&fs::read_to_string(&record)?))).ok();
        let own = info.split('-').next().unwrap_or_default().to_lowercase();
        all.extend([own.clone(), format!("{own}.py")]);
        all.extend(tops.iter().flat_map(|t| t.lines()).flat_map(|t| [t.to_owned(), format!("{t}.py")]));
    }
    all
}

fn tops(record: &str) -> String {
    let first = |line: &str| {
        let name = line.trim_start_matches('"').split([',', '"']).next().unwrap_or_default();
        name.trim_start_matches("../").split('/').next().unwrap_or_default().to_owned()
    };
    let all: BTreeSet<String> = record.lines().map(first).collect();
    all.into_iter().collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_distribution_brought_is_seen_and_what_one_did_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "torch-2.8.0.dist-info/RECORD",
            "torch/a.py,sha256=x,1\nsingle.py,,\n../../../bin/x,,\n\"q,d/a.py\",,\n",
        );
        for name in ["torch/a.py", "single.py", "__pycache__/a.pyc", "notes.txt", "a.pth"] {
            write(name, "x = 1\n");
        }
        assert_eq!(modules(dir.path(), true), []);
        write("patched/__init__.py", "x = 1\n");
        write("sitecustomize.py", "x = 1\n");
        write("fast.cpython-311-x86_64-linux-gnu.so", "1");
        let names = |own| modules(dir.path(), own).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names(true), ["fast.cpython-311-x86_64-linux-gnu.so", "patched/", "sitecustomize.py"]);
        assert_eq!(names(false), ["sitecustomize.py"], "what the system shares");
        // whose installer wrote nothing down
        write("old-1.egg-info/top_level.txt", "oldie\n");
        write("oldie/a.py", "x = 1\n");
        assert!(names(true).contains(&"oldie/".to_owned()));
        fs::remove_dir_all(dir.path().join("oldie")).unwrap();
        let before = modules(dir.path(), true);
        write("patched/__init__.py", "x = 2\n");
        let after = modules(dir.path(), true);
        assert!(before[1] != after[1] && before[2] == after[2], "{before:?} {after:?}");
    }
}
