//! Which directories a launch goes through for the files in them, so that one more file there is another engine. That a directory was listed
//! tells little: each start of Python lists those in which it looks for modules.

use std::fs;
use std::path::{Path, PathBuf};

/// Entries of a directory whose list counts.
const MOST: usize = 256;

/// Whether a directory that was listed was gone through: some of its files were read, and of modules of Python all, where none are looked
/// for by their names.
pub fn is_gone_through(dir: &Path, is_of_modules: bool, was_opened: impl Fn(&str) -> bool) -> bool {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().take(MOST + 1);
    let inner: Vec<PathBuf> = entries.map(|e| e.path()).collect();
    let names: Vec<&str> = inner.iter().filter_map(|path| path.file_name()?.to_str()).collect();
    let is_module = |name: &&str| Path::new(name).extension().is_some_and(|end| end == "py");
    let has_modules = names.iter().any(|name| is_module(name) || *name == "__pycache__");
    // plugins whose names begin so are for those beside them
    let mut modules = names.iter().filter(|name| is_module(name) && !name.starts_with('_'));
    inner.len() <= MOST
        && names.iter().any(|name| was_opened(name))
        && (!has_modules || !is_of_modules && modules.all(|name| was_opened(name)))
}

#[cfg(test)]
mod tests {
    use super::super::folder;
    use super::*;

    #[test]
    fn modules_are_gone_through_where_all_are_opened() {
        let dir =
            folder::of(&[("p/a.py", ""), ("p/b.py", ""), ("p/_c.py", ""), ("q/a.txt", ""), ("q/b.txt", "")]);
        let is = |name: &str, is_of_modules: bool, opened: &[&str]| {
            is_gone_through(&dir.path().join(name), is_of_modules, |name| opened.contains(&name))
        };
        assert!(is("p", false, &["a.py", "b.py"]) && is("q", true, &["a.txt"]));
        assert!(!is("p", true, &["a.py", "b.py"]), "Python looks for modules there");
        assert!(!is("p", false, &["a.py"]) && !is("q", false, &[]));
    }
}
