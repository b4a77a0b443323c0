//! Directories beside the study's own that the texts of a launch lead to: those of files that it names, and those that its scripts and
//! settings say (`/etc/llm/$STAGE/server.env`, `../conf`), whatever is put behind them at run time.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::beside::text_of;
use super::named::path_of;
use super::{homes, quoted};

/// Directories of one text.
const MOST: usize = 32;
/// Words of one text that are looked for as names of directories.
const MOST_WORDS: usize = 1024;
/// A text that goes further up looks for the root of a disk.
const MOST_UPS: usize = 4;
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
        let text = text_of(file).unwrap_or_default();
        found.extend(said_by(&text, &[study_dir, dir]));
        found.extend(led_up(&text, &[study_dir, dir]));
    }
    found.retain(|dir| is_somebodys(dir));
    found
}

/// The directories that a text says, as far as they are there.
fn said_by(text: &str, bases: &[&Path]) -> BTreeSet<PathBuf> {
    let in_path = |c: char| c.is_alphanumeric() || "._-+~/".contains(c);
    let text = text.replace("${HOME}/", "~/").replace("$HOME/", "~/");
    let words = text.split(|c: char| !in_path(c));
    let words = words.map(|w| &w[behind_option(w)..]);
    let led = words.filter(|w| w.starts_with('/') || w.starts_with("~/") || w.starts_with("../"));
    let mut found = BTreeSet::new();
    for word in led {
        let paths = bases.iter().filter_map(|base| path_of(word, base));
        for dir in paths.filter_map(|path| path.ancestors().find(|p| p.is_dir()).map(Path::to_owned)) {
            // a link that is said may lead elsewhere another time
            let is_plain = !dir.components().any(|c| c == Component::ParentDir);
            found.extend(dir.canonicalize().ok());
            found.extend(is_plain.then_some(dir));
        }
        if found.len() >= MOST {
            break;
        }
    }
    found
}

/// Where a path begins in a word in which something stands before it: `CONF:-/etc/llm` (of which a split leaves `-/etc/llm`),
/// `CONF-/etc/llm`, `-c/etc/llm/x.cfg`.
fn behind_option(word: &str) -> usize {
    if word.starts_with(['/', '~', '.']) {
        return 0;
    }
    let default = || ["-/", "-~/"].iter().filter_map(|sign| word.find(sign)).min().map(|at| at + 1);
    let glued = || word.starts_with('-').then(|| word.find(['/', '~'])).flatten();
    default().or_else(glued).unwrap_or(0)
}

/// Directories above that a text asks for (`dirname` of `dirname`, `parents[2]`, `git rev-parse --show-toplevel`), and of the user's home
/// where it asks for that (`Path.home() / "llm"`): what is named below them is put together.
fn led_up(text: &str, bases: &[&Path]) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let bases = || bases.iter().filter_map(|base| base.canonicalize().ok());
    let ups = ups(text).min(MOST_UPS);
    if ups > 0 {
        let above: Vec<PathBuf> =
            bases().filter_map(|base| base.ancestors().nth(ups).map(Path::to_owned)).collect();
        found.extend(above.iter().flat_map(|dir| named_in(dir, text)));
        found.extend(above);
    }
    if searches_upwards(text) {
        found.extend(bases().flat_map(|base| {
            base.ancestors().skip(1).take(MOST_UPS).map(Path::to_owned).collect::<Vec<_>>()
        }));
    }
    if text.contains("--show-toplevel") {
        found.extend(
            bases().filter_map(|base| {
                base.ancestors().find(|dir| dir.join(".git").exists()).map(Path::to_owned)
            }),
        );
    }
    if homes::is_asked_for(text) {
        let leads_elsewhere = |text: &str| {
            text.starts_with(['/', '~', '*']) || ["./", "../"].iter().any(|here| text.starts_with(here))
        };
        // below these everybody keeps something
        let is_shared = |text: &str| [".", "..", ".config", ".cache", ".local"].contains(&text);
        let named = quoted::literals(text).into_iter();
        let named = named.filter(|l| !leads_elsewhere(&l.text) && !is_shared(&l.text));
        let named = named.filter(|l| !l.text.is_empty() && !l.is_written && !l.is_pattern()).take(MOST);
        let below = named.filter_map(|l| path_of(&format!("~/{}", l.text), Path::new("/")));
        found.extend(below.filter_map(|path| {
            let dir = if path.is_dir() { path } else { path.parent()?.to_owned() };
            // of the home itself too much would be seen
            let dir =
                Some(dir).filter(|dir| path_of("~/", Path::new("/")).is_none_or(|home| home != *dir))?;
            dir.is_dir().then(|| dir.canonicalize().ok())?
        }));
    }
    found
}

/// How far above its own directory a text goes.
fn ups(text: &str) -> usize {
    let of_line = |line: &str| {
        let dirnames = line.matches("dirname").count();
        let parents = line.matches(".parent").count() - line.matches(".parents").count();
        let nth =
            line.split(".parents[").skip(1).filter_map(|rest| rest.split(']').next()?.trim().parse().ok());
        let dots = line.matches("/..").count() + line.matches("pardir").count();
        [dirnames.saturating_sub(1), parents.saturating_sub(1), nth.max().unwrap_or(0), dots]
            .into_iter()
            .max()
            .unwrap_or(0)
    };
    text.lines().map(of_line).max().unwrap_or(0)
}

/// Whether a text looks for something in each of the directories above.
fn searches_upwards(text: &str) -> bool {
    let all_parents = text.split(".parents").skip(1).any(|rest| !rest.starts_with('['));
    let in_turn = text.contains("while") && (text.contains("dirname") || text.contains("cd .."));
    all_parents || in_turn || text.contains("dotenv")
}

/// The directories in one that a text names: of one that holds the study not all below it is gone through.
fn named_in(dir: &Path, text: &str) -> Vec<PathBuf> {
    let in_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    // of `Bin/../etc/` what lies above
    let words = text.split(|c| !in_name(c)).filter_map(|w| w.rsplit("../").next());
    let words: BTreeSet<&str> = words.map(|w| w.trim_matches(['.', '/'])).collect();
    let words = words.into_iter().filter(|w| !w.is_empty()).take(MOST_WORDS);
    words.map(|word| dir.join(word)).filter(|path| path.is_dir()).take(MOST).collect()
}

/// Whether a directory lies so deep that it belongs to somebody.
pub fn is_somebodys(dir: &Path) -> bool {
    dir.components().filter(|c| matches!(c, Component::Normal(_))).count() > 1
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::folder;
    use super::*;

    #[test]
    fn a_text_goes_up_by_names_and_by_calls() {
        for (text, far) in [
            (". \"$(dirname \"$0\")/a.env\"\n", 0),
            ("R=$(realpath \"$(dirname \"$0\")/../..\")\n", 2),
            ("D=$(dirname \"$(dirname \"$(readlink -f \"$0\")\")\")", 1),
            ("C = Path(__file__).resolve().parents[2] / \"conf\"", 2),
            ("C = Path(__file__).parent.parent.parent / 'conf'", 2),
            ("C = Path(__file__).parent / 'conf'", 0),
        ] {
            assert_eq!(ups(text), far, "{text}");
        }
    }

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

    #[test]
    fn a_default_and_what_is_glued_to_an_option_lead_somewhere_too_also_by_links() {
        let dir =
            folder::of(&[("study/serve.sh", ""), ("v12/conf/a", ""), ("etc/llm/a", ""), ("inc/tune.h", "")]);
        let root = dir.path().canonicalize().expect("there");
        std::os::unix::fs::symlink("v12", root.join("current")).expect("linked");
        let at = root.display();
        let text = format!("D=${{D:-{at}/etc/llm}}; E=${{E-{at}/current/conf}}; gcc -I{at}/inc x.c\n");
        fs::write(root.join("study/serve.sh"), text).expect("written");
        let found = of(&BTreeSet::from([root.join("study/serve.sh")]), &root.join("study"));
        for name in ["etc/llm", "current/conf", "v12/conf", "inc"] {
            assert!(found.contains(&root.join(name)), "{name}: {found:?}");
        }
    }
}
