//! What a mistake in a profile makes unsure of the load: how long its requests are, how many there are, and how many at once.

use foldhash::HashSet;

use super::{Search, holds};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{self, Item, StudyLineKind};
use crate::lang::syntax::{PROFILE_SETTINGS, first_word};

/// Settings of a profile that decide how long its requests are.
const OF_LENGTHS: [&str; 5] = ["data", "input", "output", "prefix", "prefixes"];

/// Settings of a profile that decide how many requests there are, and how many at once.
const OF_COUNTS: [&str; 6] = ["rate", "arrivals", "in_flight", "concurrency", "requests", "duration"];

impl<'a> Search<'a> {
    /// Notes what of a load a mistake in its profile makes unsure.
    pub(super) fn in_profile(&mut self, profile: &ast::Profile, at: Span) {
        let line = self.analysis.modules.root_text().get(self.line(at).range()).unwrap_or_default();
        let read = profile.lines.iter().find(|l| holds(l.span, at)).map(|l| l.word.value.as_str());
        let word = read.unwrap_or_else(|| first_word(line.trim_start()));
        let concerns = |words: &[&str]| !PROFILE_SETTINGS.contains(&word) || words.contains(&word);
        if concerns(&OF_LENGTHS) {
            self.loads.insert(profile.name.value.clone());
        }
        // stated, they are as many however they come, and a cap bounds none of them
        let stated = profile.lines.iter().any(|l| l.word.value == "requests");
        let of_pace = word == "in_flight" || stated && matches!(word, "rate" | "arrivals" | "concurrency");
        self.in_flight |= concerns(&OF_COUNTS);
        if concerns(&OF_COUNTS) && !of_pace {
            self.profiles.insert(profile.name.value.clone());
        }
        self.places.push(profile.span);
    }

    /// Adds the profiles that take their lengths from one of which they are not known.
    pub(super) fn derived_loads(&mut self) {
        let loads = std::mem::take(&mut self.loads);
        self.loads = self.with_derived(loads);
    }

    /// The names of profiles of which nobody knows how many requests there are, or that derive from one, where they are declared.
    pub(in crate::plan) fn torn_profiles(&self) -> Vec<Span> {
        let names = self.with_derived(self.profiles.clone());
        self.profiles_there().filter(|p| names.contains(&p.name.value)).map(|p| p.name.span).collect()
    }

    /// Whether a study measures on a profile that could not be read, or that nothing declares.
    pub(super) fn aims_at_lost(&self) -> bool {
        let known = &self.analysis.program.profiles;
        let lost = |line: &ast::StudyLine| match &line.kind {
            StudyLineKind::Objective { on, .. } => on.iter().any(|p| !known.contains_key(&p.value)),
            _ => false,
        };
        self.studies().any(|study| study.lines.iter().any(lost))
    }

    pub(super) fn with_derived(&self, mut names: HashSet<String>) -> HashSet<String> {
        let parent = |p: &'a ast::Profile| Some((p.name.value.as_str(), p.parent.as_ref()?.value.as_str()));
        let derived: Vec<(&str, &str)> = self.profiles_there().filter_map(parent).collect();
        while let Some((name, _)) =
            derived.iter().find(|(name, parent)| names.contains(*parent) && !names.contains(*name))
        {
            names.insert((*name).to_owned());
        }
        names
    }

    pub(super) fn profiles_there(&self) -> impl Iterator<Item = &'a ast::Profile> + use<'a> {
        self.items().iter().filter_map(|i| if let Item::Profile(p) = i { Some(p) } else { None })
    }
}
