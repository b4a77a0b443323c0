//! What a script may choose its settings by that is no file of its own: the name of the machine, the branch that its repository is on,
//! what git is told there. Each is compared under a name of its own, where a text asks for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use crate::plan::config::short_hash;

const HOST: &str = "the name of the machine";
const BRANCH: &str = "the branch that git is on";
const SETTINGS: &str = "the settings of git's repository";

/// How each is asked for, in shells and programs; quotes and commas between words (`["git", "branch"]`) are left out.
static ASKED: LazyLock<[(&str, Option<Regex>); 3]> = LazyLock::new(|| {
    let host =
        r"\bhostname\b|\bHOSTNAME\b|\buname\s+-[a-z]*n|\bgethostname\b|\bplatform\.node\b|\bos\.uname\b";
    let git = r"\bgit\s+(?:-\S+\s+(?:\S*/\S*\s+)?)*";
    let branch =
        format!(r"{git}(?:branch|symbolic-ref|rev-parse\s[^\n;|&]*--abbrev-ref|name-rev)\b|\.git/HEAD\b");
    let settings = format!(r"{git}config\b");
    let compiled = |pattern: &str| Regex::new(pattern).ok();
    [(HOST, compiled(host)), (BRANCH, compiled(&branch)), (SETTINGS, compiled(&settings))]
});

/// What of these a text asks for.
pub fn asked_for(text: &str) -> impl Iterator<Item = &'static str> {
    let of_code = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let letters = of_code.flat_map(|line| line.chars().chain(['\n'])).filter_map(|c| match c {
        '"' | '\'' => None,
        ',' => Some(' '),
        c => Some(c),
    });
    let plain: String = letters.collect();
    ASKED
        .iter()
        .filter(move |(_, asks)| asks.as_ref().is_some_and(|asks| asks.is_match(&plain)))
        .map(|(name, _)| *name)
}

/// What holds now of such a name; `None` where nothing does, or the name is none of these.
pub fn identity(word: &str, study_dir: &Path) -> Option<String> {
    match word {
        HOST => Some(fs::read_to_string("/proc/sys/kernel/hostname").ok()?.trim().to_owned()),
        BRANCH => Some(fs::read_to_string(repository(study_dir)?.join("HEAD")).ok()?.trim().to_owned()),
        SETTINGS => {
            // a worktree has those of its repository
            let own = repository(study_dir)?;
            let common = fs::read_to_string(own.join("commondir")).ok();
            let dir = common.map_or_else(|| own.clone(), |common| own.join(common.trim()));
            let own = fs::read_to_string(dir.join("config")).ok()?;
            Some(short_hash(&(own + &of_user())))
        }
        _ => None,
    }
}

/// What the user tells git of all repositories.
fn of_user() -> String {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let home = variable("HOME").unwrap_or_default();
    let settings = variable("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
    let stated = variable("GIT_CONFIG_GLOBAL").map(|path| vec![path]);
    let places = stated.unwrap_or_else(|| vec![home.join(".gitconfig"), settings.join("git/config")]);
    places.into_iter().filter_map(|path| fs::read_to_string(path).ok()).collect()
}

/// Where git keeps what it knows of the repository that a directory lies in.
fn repository(dir: &Path) -> Option<PathBuf> {
    let dir = dir.canonicalize().ok()?;
    let at = dir.ancestors().map(|dir| dir.join(".git")).find(|at| at.exists())?;
    let Ok(text) = fs::read_to_string(&at) else { return Some(at) };
    // of a worktree and of a submodule it is a file that says where
    Some(at.parent()?.join(text.strip_prefix("gitdir:")?.trim()))
}

#[cfg(test)]
mod tests {
    use super::super::folder;
    use super::*;

    #[test]
    fn what_a_text_asks_for_is_found_however_it_is_written() {
        let asked = |text: &str| asked_for(text).collect::<Vec<_>>();
        for text in [
            ". conf/$(hostname).env",
            "N=$(uname -n)",
            "x = socket.gethostname()",
            "case $HOSTNAME in gpu*) ;; esac",
        ] {
            assert_eq!(asked(text), [HOST], "{text}");
        }
        for text in [
            "git branch --show-current",
            "B=$(git -C /srv/llm rev-parse --abbrev-ref HEAD)",
            "subprocess.run(['git', 'symbolic-ref', 'HEAD'])",
            "check_output([\"git\",\"rev-parse\",\"--abbrev-ref\",\"HEAD\"])",
            "open('.git/HEAD')",
        ] {
            assert_eq!(asked(text), [BRANCH], "{text}");
        }
        assert_eq!(asked("D=$(git config --get llm.delay)"), [SETTINGS]);
        for text in ["ROOT=$(git rev-parse --show-toplevel)", "# git branch", "uname -s", "--host \"$2\""] {
            assert!(asked(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn another_branch_and_other_settings_are_told_apart() {
        let dir =
            folder::of(&[(".git/HEAD", "ref: refs/heads/main\n"), (".git/config", "a"), ("study/x", "")]);
        let now = || [BRANCH, SETTINGS].map(|word| identity(word, &dir.path().join("study")));
        let before = now();
        assert_eq!(before[0].as_deref(), Some("ref: refs/heads/main"));
        fs::write(dir.path().join(".git/HEAD"), "ref: refs/heads/slow\n").expect("written");
        fs::write(dir.path().join(".git/config"), "b").expect("written");
        let after = now();
        assert!(before[0] != after[0] && before[1] != after[1]);
        assert!(identity(HOST, dir.path()).is_some() && identity("x", dir.path()).is_none());
    }
}
