//! The files that launches open, among what results are made of: where a launch is followed, what of that is written down, and what of an
//! earlier one is not as it was.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::named::{PLACES, of_keys, path_of, shown};
use super::opened::{File, Ground, is_log};
use super::standing::Standing;
use super::{globs, homes, leaves, roots, uses};
use crate::journal::{Conditions, History, Moved, RunRecord};
use crate::lang::sema::program::Via;
use crate::plan::{Config, command};

/// What of the files that a result's launch opened is not as it was, by what they hold now. What launches make or write is not compared.
pub(super) fn other_opened(
    run: &RunRecord,
    history: &History,
    moved: &Moved<'_>,
    held: impl Fn(&str) -> Option<String>,
    is_there: impl Fn(&str) -> Option<bool>,
    is_own: impl Fn(&str) -> bool,
) -> Option<String> {
    let opened = history.looked(run.made.as_ref()?)?;
    let read = opened.files.iter().filter(|(name, _)| !is_own(name) && !moved.is_remade(name));
    // a file says more than the list that it stands in
    let (lists, files): (Vec<_>, Vec<_>) = read.partition(|(name, _)| name.ends_with('*'));
    let other = files.into_iter().chain(lists).find_map(|(name, was)| {
        let its = format!("{name}, which its launch opened,");
        match held(name) {
            Some(is) if is == *was => None,
            Some(_) => Some(format!("{its} changed since it was measured")),
            // a launch makes it again
            None if moved.is_made(name) => None,
            None => Some(format!("{its} is not there now")),
        }
    });
    let came = || {
        let mut there = opened.absent.iter().filter(|name| is_there(name) == Some(true));
        there.find(|name| !is_own(name) && !moved.is_made_itself(name))
    };
    let went = || {
        let mut gone = opened.there.iter().filter(|name| is_there(name) == Some(false));
        gone.find(|name| !is_own(name) && !moved.is_made(name))
    };
    let told = |name: &String, is: &str| format!("{name}, which its launch looked for, is {is} now");
    other
        .or_else(|| came().map(|name| told(name, "there")))
        .or_else(|| went().map(|name| told(name, "not there")))
}

impl Standing<'_> {
    /// The files that a launch opened, with what they held then; those that count by their names are left out.
    pub fn opened(&self, files: BTreeSet<File>, made: &Conditions) -> BTreeMap<String, String> {
        let is_named = self.named_by(made);
        // what of a directory a pattern means is known by that
        let dir = |name: &str| self.study_dir.join(name).parent().map(Path::to_owned);
        let of_patterns: BTreeSet<Option<PathBuf>> =
            made.files.keys().chain(&made.absent).filter(|w| globs::is_one(w)).map(|w| dir(w)).collect();
        let is_meant = |name: &str| name.ends_with("/*") && of_patterns.contains(&dir(name));
        let others = files.into_iter().filter(|f| !is_named(&f.name) && !is_meant(&f.name));
        let held = |f: File| {
            let held = f.held.or_else(|| self.words.held(&f.name))?;
            Some((f.name, held))
        };
        others.filter_map(held).collect()
    }

    /// Whether a path counts by a name in a text.
    pub(super) fn named_by<'m>(&'m self, made: &'m Conditions) -> impl Fn(&str) -> bool + 'm {
        // they count below an inherited directory, wherever that is
        let at_home = made.files.keys().chain(&made.absent).filter(|name| homes::holds(name));
        let at_home: BTreeSet<PathBuf> = at_home
            .filter_map(|name| path_of(name, self.study_dir))
            .flat_map(|path| [path.canonicalize().ok(), Some(path)])
            .flatten()
            .collect();
        move |name: &str| {
            let path = self.study_dir.join(name);
            made.files.contains_key(name) || made.absent.contains(name) || at_home.contains(&path)
        }
    }

    /// What a name stands for here: a hash over files, or a model's commit.
    pub fn held(&self, name: &str) -> Option<String> {
        self.words.held(name)
    }

    /// Whether a launch made what a text calls so.
    pub(super) fn is_made(&self, moved: &Moved<'_>, word: &str) -> bool {
        let at = || path_of(word, self.study_dir);
        let is_made_there = |path: PathBuf| {
            // without the sign for the home
            let path: PathBuf = path.components().collect();
            shown(&path, self.study_dir).is_some_and(|name| moved.is_made_itself(&name))
        };
        moved.is_made_itself(word) || at().is_some_and(is_made_there)
    }

    /// Whether something is there under a name, or in a directory (`conf.d/*`).
    pub(super) fn is_there(&self, name: &str) -> bool {
        if name.ends_with("/*") {
            self.words.held(name).is_some()
        } else {
            self.study_dir.join(name).exists()
        }
    }

    /// What of these files may be settings, which people edit between launches that change them, with hashes over their lines.
    pub fn settings<'n>(&self, names: impl Iterator<Item = &'n String>) -> BTreeMap<String, String> {
        let may_be = |path: &Path| leaves::are_in(path) && !is_log(path) && !path.ends_with("*");
        let settings = names.filter(|name| may_be(Path::new(name)));
        settings.filter_map(|name| Some((name.clone(), self.words.lines(name)?))).collect()
    }

    /// The directories that variables tell an engine of: what its scripts name below them (`"$CONF_ROOT"/*.env`) is known by being opened.
    fn told(&self, config: &Config) -> BTreeSet<PathBuf> {
        let mut all = command::env(config, None);
        all.extend(self.site.env.iter().map(|e| (e.name.clone(), e.value.clone())));
        let names_one = |(name, value): &(String, String)| {
            let is_apart = uses::is_for_leftovers(name) || PLACES.contains(&name.as_str());
            let path = path_of(value, self.study_dir).filter(|_| !is_apart)?;
            (value.starts_with(['/', '~']) && path.is_dir()).then(|| path.canonicalize().ok())?
        };
        all.iter().filter_map(names_one).filter(|dir| roots::is_somebodys(dir)).collect()
    }

    /// Where a launch is to be followed. `None`: it opens nothing here that is not known.
    pub fn ground(&self, config: &Config, made: &Conditions) -> Option<Ground> {
        if config.engine.simulated() || matches!(config.engine.via, Via::Url(_)) {
            return None;
        }
        let words = shell_words::split(&config.engine.serve).unwrap_or_default();
        let named = words.iter().filter(|w| w.contains('/')).chain(made.files.keys());
        let files: BTreeSet<PathBuf> =
            named.filter_map(|word| path_of(word, self.study_dir)).filter(|path| path.is_file()).collect();
        let mut others = roots::of(&files, self.study_dir);
        others.extend(self.told(config));
        let model = self.site.models.get(&config.model).unwrap_or(&config.model);
        let mut spared = vec![self.study_dir.join(model)];
        spared.extend(of_keys(config, self.site, self.study_dir));
        let (modules, rendered) = (self.words.module_dirs(config), self.words.rendered(config));
        Some(Ground { study_dir: self.study_dir.to_owned(), others, spared, modules, rendered })
    }
}
