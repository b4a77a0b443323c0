//! Which names the texts of a launch and its configuration can spell, and which texts are those.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::beside::text_of;
use super::lexicon::{Lexicon, parts};
use super::listing::Listed;
use super::named::{PLACES, shown};
use super::opened::is_log;
use super::scripts::is_of_system;
use super::starts;
use super::uses::{Use, use_of};
use super::{elf, inherited, quoted};
use crate::disk;
use crate::journal::Conditions;

/// Texts whose words count.
const MOST_TEXTS: usize = 256;
/// Lines and bytes of a text that is no program: longer ones are data.
const MOST_LINES: usize = 512;
const LONGEST: usize = 1 << 16;
/// A compiled program that holds more is no launcher of somebody's.
const LONGEST_COMPILED: u64 = 1 << 18;

/// The words that texts, and a configuration, give to names.
pub struct Speller {
    lexicon: Lexicon,
    /// directories in which the launch read something
    open: HashSet<String>,
}

impl Speller {
    pub fn missing<'n>(&self, listed: &'n Listed) -> Option<Vec<&'n str>> {
        let dir = listed.name.rsplit_once('/').map_or("", |(dir, _)| dir);
        if listed.is_dir && !listed.is_closed && !self.lexicon.asks_directories() {
            return None;
        }
        self.lexicon.missing(listed.below(), self.open.contains(dir))
    }

    pub fn may_be_asked(&self, listed: &Listed) -> bool {
        self.lexicon.may_be_asked(listed.below(), listed.is_dir)
    }
}

/// Whether texts and a configuration spell a name.
pub fn is_spelled(speller: &Speller, listed: &Listed, words: &HashSet<String>) -> bool {
    let missing = speller.missing(listed);
    missing.is_some_and(|missing| missing.iter().all(|part| words.contains(*part)))
        && speller.may_be_asked(listed)
}

/// The words that a serve line, a configuration (its normal form) and variables give to names.
pub fn words_given(serve: &str, config: &Json, made: &Conditions) -> HashSet<String> {
    let mut words = HashSet::new();
    let mut add = |text: &str| words.extend(parts(text).map(str::to_owned));
    add(serve);
    for key in ["model", "flags"] {
        each_leaf(&config[key], &mut add);
    }
    let of_config = config["env"].as_object().into_iter().flatten();
    let of_config = of_config.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
    let all = of_config.filter(|(name, _)| !PLACES.contains(name)).map(|(_, value)| value);
    all.chain(values_given(made)).for_each(&mut add);
    words
}

/// The values of variables that are the site's or the user's, which are no part of a configuration.
pub fn values_given(made: &Conditions) -> impl Iterator<Item = &str> {
    let of_site = made.site_env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let user = made.inherited.get(inherited::USER).and_then(Option::as_deref);
    let user = user.map(|value| (inherited::USER, value));
    of_site.chain(user).filter(|(name, _)| !PLACES.contains(name)).map(|(_, value)| value)
}

fn each_leaf(json: &Json, add: &mut impl FnMut(&str)) {
    match json {
        Json::String(text) => add(text),
        Json::Number(number) => add(&number.to_string()),
        Json::Array(all) => all.iter().for_each(|one| each_leaf(one, add)),
        Json::Object(map) => map.iter().for_each(|(key, one)| {
            add(key);
            each_leaf(one, add);
        }),
        Json::Bool(_) | Json::Null => {}
    }
}

pub fn speller(
    texts: &[(PathBuf, String)],
    study_dir: &Path,
    opened: &BTreeMap<String, String>,
) -> Option<Speller> {
    let mut lexicon = Lexicon::default();
    if texts.len() > MOST_TEXTS || !texts.iter().all(|(path, text)| lexicon.add(path, text)) {
        return None;
    }
    let read = texts.iter().filter_map(|(path, _)| shown(path, study_dir));
    let files = read.chain(opened.keys().cloned());
    let open = files.filter_map(|name| Some(name.rsplit_once('/')?.0.trim_start_matches("./").to_owned()));
    Some(Speller { lexicon, open: open.collect() })
}

/// What a file says: a text, or the names in a small compiled program.
pub fn said_by(path: &Path) -> Option<String> {
    let is_small = |path: &Path| fs::metadata(path).is_ok_and(|m| m.is_file() && m.len() <= LONGEST_COMPILED);
    text_of(path).or_else(|| elf::names(&fs::read(Some(path).filter(|path| is_small(path))?).ok()?))
}

/// Whether a file may be a text that somebody wrote for a launch: none of the system's, of an installation, of data or of what is written.
pub fn may_be_own(real: &Path) -> bool {
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    let installed = ["site-packages", "dist-packages", "node_modules"];
    let is_installed = real.iter().any(|part| installed.iter().any(|dir| part == *dir))
        || real.ancestors().skip(1).take(2).any(disk::is_environment)
        || real.parent().is_some_and(is_of_system);
    !is_installed && disk::Which::All.counts(&name) && !is_log(real) && use_of(&name) == Use::Read
}

/// Whether it is one, by what it says.
pub fn is_own_text(path: &Path, text: &str) -> bool {
    let is_short = || text.len() <= LONGEST && text.lines().nth(MOST_LINES).is_none();
    (is_program(path, text) || is_short()) && !is_entry_point(text)
}

pub fn is_program(path: &Path, text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let ending = path.extension().and_then(|end| end.to_str());
    starts::is_of_shell(first, ending) || quoted::is_program(first, ending) || is_makefile(path)
}

fn is_makefile(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with("akefile") || name.ends_with(".mk")
}

/// What an installer makes of a distribution's entry points.
fn is_entry_point(text: &str) -> bool {
    text.starts_with("#!") && text.contains("sys.exit(") && text.contains("sys.argv[0] = ")
}
