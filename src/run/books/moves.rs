//! What was not the same at the end of a launch as at its beginning: what changed under it, what came to be, and who did it, as far as
//! that is seen.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{Books, made, stamps};
use crate::journal::{Conditions, Moved, PUT_BACK, between, moved};
use crate::run::provenance::{self, File, Names, Since};

/// Names that are written down of what one launch made.
const MOST_MADE: usize = 1024;

/// What was not the same at the end of a launch as at its beginning, by name.
#[derive(Debug, Default)]
pub struct Moves {
    pub changed: Vec<String>,
    /// what came to be of what its command names, and what was written of what may be the engine's
    pub appeared: Vec<String>,
    /// what it made where engines read
    pub came: Vec<String>,
    /// what it made itself of what it had not found
    pub made: BTreeSet<String>,
    /// hashes over the lines of the settings that changed
    pub left: BTreeMap<String, String>,
}

impl Books<'_> {
    /// What changed of what its results are made of while it lived, and what of it came to be.
    pub fn moved(&self) -> Moves {
        // before perflab itself reads them again
        let mut seen = self.opened.as_ref().map(|opened| opened.files(None)).unwrap_or_default();
        let looked = self.lookups.as_ref().and_then(|(_, lookups)| lookups.until(None));
        let names = Names::of(looked.as_deref(), &self.x.study_dir);
        seen.retain(|file| self.is_of_launch(&names, &file.name));
        let now = made(self.x, self.setup, &self.task.wanted);
        let pairs = self.conditions.iter().zip(&now);
        let (mut changed, mut appeared) =
            pairs.map(|(begin, end)| between(begin, end)).next().unwrap_or_default();
        if let Some((begin, end)) = self.conditions.iter().zip(&now).next() {
            appeared.extend(self.came_unnamed(begin, end));
        }
        let of_data = self.loads.iter().zip(self.conditions.iter().zip(&now));
        let others = of_data.filter(|(_, (begin, end))| begin.data != end.data);
        changed.extend(others.map(|(order, _)| moved::data(&order.profile, None)));
        let stamps = stamps(self.x, &self.task.wanted, &self.conditions, self.loads);
        let is_told = |w: &str| changed.iter().any(|c| c == w || w.starts_with(&format!("{c}: ")));
        // settings that a script renders at each start, with what they held before
        let is_same = |w: &str| self.opened.as_ref().is_some_and(|opened| opened.is_rendered_same(w));
        let touched = self.stamps.touched(&stamps).filter(|w| !is_told(w) && !is_same(w));
        // under a name of its own: one that an engine touches at each start is compared all the same
        let back: Vec<(&str, String)> = touched.map(|w| (w, format!("{w}{PUT_BACK}"))).collect();
        // what its name leaves open is the engine's once a launch has written it, and only that
        let history = self.x.journal.history();
        let earlier = Moved::of(&history);
        // what a launch made before is the engine's, also where it is read
        let were_read: HashSet<&str> =
            seen.iter().filter(|f| f.is_read && !f.is_new).map(|f| f.name.as_str()).collect();
        let is_read = |word: &str| !earlier.is_made(word) && were_read.contains(word);
        let is_engines = |word: &str| self.perhaps_written.contains(word) && !is_read(word);
        let (own, mut changed): (Vec<String>, Vec<String>) = changed.into_iter().partition(|w| is_engines(w));
        appeared.extend(own);
        appeared.extend(back.iter().filter(|(w, _)| is_engines(w)).map(|(w, _)| (*w).to_owned()));
        changed.extend(back.into_iter().filter(|(w, _)| !is_engines(w)).map(|(_, told)| told));
        let (read, written): (Vec<String>, Vec<String>) =
            self.written(&seen, &names).into_iter().partition(|name| is_read(name));
        changed.extend(read);
        appeared.extend(written);
        let mut came = self.opened.as_ref().map(|opened| opened.came(&seen)).unwrap_or_default();
        came.retain(|name| self.is_of_launch(&names, name));
        came.extend(self.came_spelled().filter(|name| !came.contains(name)).collect::<Vec<_>>());
        let made = self.by_calls(&names, &mut changed, &mut appeared, &came);
        let left = self.x.standing().settings(changed.iter().chain(&appeared).chain(&came));
        let changed = changed.into_iter().map(|what| self.in_full(what)).collect();
        Moves { changed, appeared, came, made, left }
    }

    /// What its calls tell beside that: takes in what others did of what it looked for, and says what it made itself.
    fn by_calls(
        &self,
        names: &Names<'_>,
        changed: &mut Vec<String>,
        appeared: &mut Vec<String>,
        came: &[String],
    ) -> BTreeSet<String> {
        // also as texts spell it
        let spelled = appeared.iter().filter(|name| names.is_made(name)).cloned();
        let (own, aside): (Vec<String>, Vec<String>) = names.made().partition(|name| self.counts(name));
        let made: BTreeSet<String> = own.into_iter().chain(aside).take(MOST_MADE).chain(spelled).collect();
        let others: Vec<String> = appeared.extract_if(.., |name| names.came_of_others(name)).collect();
        changed.extend(others);
        let told: HashSet<&String> = changed.iter().chain(appeared.iter()).chain(came).collect();
        let others: Vec<String> = names.changed().filter(|name| !told.contains(name)).collect();
        changed.extend(others);
        made
    }

    /// What came to be of names that only might be asked for: once something is there they are no names any more.
    fn came_unnamed(&self, begin: &Conditions, end: &Conditions) -> Vec<String> {
        let standing = self.x.standing();
        let is_unnamed = |name: &&String| !end.absent.contains(*name) && !end.files.contains_key(*name);
        let came = begin.absent.iter().filter(is_unnamed).filter(|name| standing.held(name).is_some());
        came.cloned().collect()
    }

    /// What came to be of the names that its texts could spell, however it did: also what was moved there.
    fn came_spelled(&self) -> impl Iterator<Item = String> {
        let find = || {
            let (opened, begin) = (self.files()?, self.opened.as_ref()?.lay().0);
            let (config, made) = (&self.task.wanted.config, self.conditions.first()?);
            self.x.standing().came_spelled(config, opened, begin, made)
        };
        find().unwrap_or_default().into_iter().take(MOST_MADE)
    }

    /// What it opened and what is not as it was then. Of what was read, by whomever, a person may have changed it; what was only written is
    /// the engine's own.
    fn written(&self, seen: &BTreeSet<File>, names: &Names<'_>) -> Vec<String> {
        let (Some(files), standing) = (self.files(), self.x.standing()) else { return Vec::new() };
        // what its launch does to a file is seen, or nobody knows who does it
        let by_others = |f: &File| names.are_seen() && !names.touches(&f.name);
        let is_moved = |f: &File| f.since == Since::Other || f.since == Since::Touched && by_others(f);
        let touched: HashSet<&str> = seen.iter().filter(|f| is_moved(f)).map(|f| f.name.as_str()).collect();
        let is_other = |(name, was): &(&String, &String)| {
            touched.contains(name.as_str()) || standing.held(name).as_ref() != Some(*was)
        };
        files.files.iter().filter(is_other).map(|(name, _)| name.clone()).collect()
    }

    /// Says of an installation that changed what of it did.
    fn in_full(&self, what: String) -> String {
        let begin = self.conditions.first().filter(|c| what == moved::installation(&c.engine));
        let which = begin.and_then(|begin| {
            let history = self.x.journal.history();
            let then = history.libraries(begin.libraries.as_ref()?)?;
            provenance::libraries_named(
                then,
                &self.x.standing().libraries(&self.task.wanted.config.engine)?.1,
            )
        });
        match which {
            Some(which) => format!("{what} ({which})"),
            None => what,
        }
    }
}
