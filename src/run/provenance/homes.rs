//! Directories that an engine inherits by a variable, its user's home first. What lies below them counts under the variable's name: the
//! same files in another home are the same, and others are others.

use std::env;
use std::path::{Path, PathBuf};

const HOME: &str = "HOME";
const VARIABLES: [&str; 5] = [HOME, "HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME"];
/// Stands behind such a directory in a path that was put together of its variable. It leads nowhere, and tells the path from one that was
/// written out.
const SIGN: &str = "/.";

/// By which a program asks for the user's home.
const ASKING: [&str; 13] = [
    "Path.home()",
    "homedir()",
    "expanduser(\"~\")",
    "expanduser('~')",
    "Dir.home",
    "environ[\"HOME\"]",
    "environ['HOME']",
    "environ.get(\"HOME\"",
    "getenv(\"HOME\")",
    "$ENV{HOME}",
    "ENV[\"HOME\"]",
    "ENV['HOME']",
    "process.env.HOME",
];

/// Whether a text of a program asks for the user's home.
pub fn is_asked_for(text: &str) -> bool {
    ASKING.iter().any(|ask| text.contains(ask))
}

/// The variables that are set, and their directories.
pub fn all() -> impl Iterator<Item = (&'static str, String)> {
    VARIABLES.into_iter().filter_map(|name| Some((name, of(name)?)))
}

fn of(name: &str) -> Option<String> {
    let dir = VARIABLES.contains(&name).then(|| env::var(name).ok()).flatten()?;
    let dir = dir.trim_end_matches('/');
    (dir.starts_with('/')).then(|| dir.to_owned())
}

/// A variable's value before what stands behind it in a word.
pub fn before(name: &str, value: &str, after: &str) -> String {
    let is_one = after.starts_with('/') && of(name).is_some_and(|dir| dir == value);
    format!("{value}{}", if is_one { SIGN } else { "" })
}

/// Where a name leads that begins with such a variable (`$HF_HOME/x.env`) or with the sign for the home.
pub fn path_of(name: &str) -> Option<PathBuf> {
    let (variable, rest) = parted(name)?;
    // what a file there names beside itself lies below the same directory
    Some(PathBuf::from(of(variable)? + SIGN).join(rest))
}

/// A name without such a beginning.
pub fn rest_of(name: &str) -> &str {
    parted(name).map_or(name, |(_, rest)| rest)
}

/// Whether a name counts by such a variable.
pub fn holds(name: &str) -> bool {
    parted(name).is_some()
}

fn parted(name: &str) -> Option<(&str, &str)> {
    if let Some(rest) = name.strip_prefix("~/") {
        return Some((HOME, rest));
    }
    let (variable, rest) = name.strip_prefix('$')?.split_once('/')?;
    VARIABLES.contains(&variable).then_some((variable, rest))
}

/// What a file counts by: below the variable that its name was put together of, else the name.
pub fn named(name: String, study_dir: &Path) -> String {
    let sign = format!("{SIGN}/");
    if !name.contains(&sign) {
        return name;
    }
    let path = study_dir.join(&name);
    let below = |(variable, dir): (&str, String)| {
        let rest = path.to_str()?.strip_prefix(&dir)?.strip_prefix(&sign)?.trim_start_matches('/');
        Some(if variable == HOME { format!("~/{rest}") } else { format!("${variable}/{rest}") })
    };
    all().find_map(below).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_a_variable_begins_counts_by_it_and_leads_there() {
        let home = of(HOME).expect("a home");
        let study_dir = Path::new("/study");
        let put_together = before(HOME, &home, "/x.env") + "/x.env";
        assert_eq!(named(put_together.clone(), study_dir), "~/x.env");
        // the study may hold the home
        let within = put_together.trim_start_matches('/').to_owned();
        assert_eq!(named(within, Path::new("/")), "~/x.env");
        assert_eq!(named(format!("{home}/x.env"), study_dir), format!("{home}/x.env"));
        assert_eq!(before(HOME, &home, ".d/x"), home);
        assert_eq!(path_of("~/x.env"), Some(Path::new(&home).join("x.env")));
        assert_eq!((rest_of("$HF_HOME/a/b"), rest_of("$OTHER/a")), ("a/b", "$OTHER/a"));
        assert!(holds("~/x") && !holds("x/~") && path_of("$OTHER/a").is_none());
    }
}
