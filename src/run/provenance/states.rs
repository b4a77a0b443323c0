//! What of a file beside what it holds may decide what a script does: whether a directory is there, whether a file may be run, where a link
//! leads, which of two is newer, in which order the files of a pattern were written. Each is compared under a name of its own.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use super::contents;
use super::named::path_of;
use crate::plan::config::short_hash;

const IS_DIRECTORY: &str = " (a directory)";
const MAY_RUN: &str = " (whether it may be run)";
const LEADS: &str = " (where it leads)";
const BY_AGE: &str = " (by age)";
const NEWER: &str = " newer than ";

/// Whether there is a directory of that name.
pub fn directory(name: &str) -> String {
    format!("{name}{IS_DIRECTORY}")
}

/// Whether somebody may execute a file.
pub fn may_run(name: &str) -> String {
    format!("{name}{MAY_RUN}")
}

/// Where a link leads.
pub fn leads(name: &str) -> String {
    format!("{name}{LEADS}")
}

/// The order in which files were written last, of a pattern or in a directory.
pub fn by_age(name: &str) -> String {
    format!("{name}{BY_AGE}")
}

/// Whether one file was written later than another one.
pub fn newer(one: &str, other: &str) -> String {
    format!("{one}{NEWER}{other}")
}

/// What such a name is about; any other one as it is.
pub fn about(word: &str) -> &str {
    let suffixes = [IS_DIRECTORY, MAY_RUN, LEADS, BY_AGE];
    suffixes.iter().find_map(|suffix| word.strip_suffix(suffix)).unwrap_or(word)
}

/// What holds now of such a name; `None` where nothing does, or the name is none of these.
pub fn identity(word: &str, study_dir: &Path) -> Option<String> {
    let at = |name: &str| path_of(name, study_dir);
    if let Some(name) = word.strip_suffix(IS_DIRECTORY) {
        return at(name)?.is_dir().then(|| "yes".to_owned());
    }
    if let Some(name) = word.strip_suffix(MAY_RUN) {
        let may_run = contents::may_run(&at(name)?)?;
        return Some(if may_run { "yes" } else { "no" }.to_owned());
    }
    if let Some(name) = word.strip_suffix(LEADS) {
        return fs::read_link(at(name)?).ok().map(|to| short_hash(&to.to_string_lossy()));
    }
    if let Some(name) = word.strip_suffix(BY_AGE) {
        return order(name, study_dir);
    }
    let (one, other) = word.split_once(NEWER)?;
    let written = |name: &str| fs::metadata(at(name)?).ok()?.modified().ok();
    let is_newer = match (written(one), written(other)) {
        (Some(one), Some(other)) => one > other,
        // as a shell has it
        (one, _) => one.is_some(),
    };
    Some(if is_newer { "yes" } else { "no" }.to_owned())
}

fn order(name: &str, study_dir: &Path) -> Option<String> {
    let pattern = if path_of(name, study_dir)?.is_dir() { format!("{name}/*") } else { name.to_owned() };
    let written =
        |path: &Path| fs::metadata(path).and_then(|m| m.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let mut found: Vec<_> =
        super::globs::all(&pattern, study_dir).into_iter().map(|path| (written(&path), path)).collect();
    found.sort();
    let names: Vec<String> = found.iter().map(|(_, path)| path.display().to_string()).collect();
    (!names.is_empty()).then(|| short_hash(&names.join("\n")))
}

#[cfg(test)]
mod tests {
    use std::fs::{File, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::time::Duration;

    use super::super::folder;
    use super::*;

    #[test]
    fn each_tells_what_it_is_about_and_nothing_else() {
        let dir = folder::of(&[("conf/a.yaml", "1"), ("conf/b.yaml", "1"), ("tune.sh", "")]);
        let at = |name: &str| dir.path().join(name);
        symlink("conf", at("current")).expect("a link");
        fs::set_permissions(at("tune.sh"), Permissions::from_mode(0o644)).expect("a mode");
        let age = |name: &str, seconds: u64| {
            let file = File::options().append(true).open(at(name)).expect("open");
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).expect("set");
        };
        age("conf/a.yaml", 10);
        age("conf/b.yaml", 20);
        let now = || {
            [
                directory("conf"),
                directory("none"),
                may_run("tune.sh"),
                leads("current"),
                by_age("conf/*.yaml"),
                by_age("conf"),
                newer("conf/b.yaml", "conf/a.yaml"),
                newer("none", "conf/a.yaml"),
            ]
            .map(|name| identity(&name, dir.path()))
        };
        let before = now();
        let told = before.iter().map(|id| id.as_deref()).collect::<Vec<_>>();
        assert_eq!((told[0], told[1], told[2]), (Some("yes"), None, Some("no")));
        assert_eq!((told[6], told[7]), (Some("yes"), Some("no")));
        fs::write(at("conf/a.yaml"), "2").expect("written");
        age("conf/a.yaml", 11);
        assert_eq!(now(), before, "neither another content nor another time is another order");
        age("conf/a.yaml", 30);
        fs::set_permissions(at("tune.sh"), Permissions::from_mode(0o755)).expect("a mode");
        fs::remove_file(at("current")).expect("removed");
        symlink("other", at("current")).expect("a link");
        let after = now();
        let other: Vec<usize> = (0..before.len()).filter(|n| before[*n] != after[*n]).collect();
        assert_eq!(other, [2, 3, 4, 5, 6]);
    }
}
