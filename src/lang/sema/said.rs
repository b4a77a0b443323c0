//! What a profile says in some way: what stands in a line that is wrong is not missing, neither there nor in what derives from it.

use crate::lang::diag::{begun, did_you_mean};
use crate::lang::syntax::DATA;
use crate::lang::syntax::ast::{self, WordValue};
use crate::lang::syntax::{PROFILE_SETTINGS as SETTINGS, load_setting, meant_in_profile};

const TRACE: &str = "trace";

/// What the lines of a profile and of those that it derives from are about, whether or not they could be read.
#[derive(Debug, Clone, Default)]
pub struct Said {
    pub words: Vec<&'static str>,
    /// its rate or concurrency is stated, and what it says is not known
    pub load_unsure: bool,
}

impl Said {
    /// What a parent may say that is not known.
    pub fn anything() -> Self {
        Self { words: SETTINGS.to_vec(), load_unsure: true }
    }

    /// Notes what a profile's own lines are about.
    pub fn lines(&mut self, decl: &ast::Profile) {
        if decl.lines.iter().any(|l| is_load(&l.word.value)) {
            self.load_unsure = false;
        }
        for line in &decl.lines {
            let word = line.word.value.as_str();
            if let Some(known) = SETTINGS.iter().find(|s| **s == word) {
                self.about(known);
                continue;
            }
            let known = || SETTINGS.iter().copied();
            let near = did_you_mean(word, known()).or_else(|| begun(word, known()));
            let data = DATA.contains(&word).then_some("data");
            let meant: Vec<&str> =
                load_setting(word).map(|(s, _)| s).into_iter().chain(near).chain(data).collect();
            self.unreadable(
                SETTINGS.iter().copied().filter(|s| meant.contains(s)).chain(meant_in_profile(word)),
            );
        }
        // no line says again what another one states
        let stated = |setting: &&str| decl.lines.iter().any(|l| l.word.value == **setting);
        self.unreadable(decl.unread.iter().copied().filter(|s| !stated(s)));
    }

    /// Once each: a long row of profiles says little that is new.
    fn about(&mut self, setting: &'static str) {
        if !self.words.contains(&setting) {
            self.words.push(setting);
        }
    }

    fn unreadable(&mut self, settings: impl Iterator<Item = &'static str>) {
        for setting in settings {
            self.load_unsure |= is_load(setting);
            self.about(setting);
        }
    }
}

/// Whether a line was to say that requests come as in a trace, or may have been, whatever is wrong with it: a file of no kind may be one.
pub fn names_trace(line: &ast::WordLine) -> bool {
    let data = match &line.value {
        WordValue::Word { word, .. } => word.value == TRACE,
        WordValue::Text(_) => true,
        _ => false,
    };
    line.word.value == TRACE || line.word.value == "data" && data
}

/// Whether a setting says how much load there is.
pub fn is_load(word: &str) -> bool {
    matches!(word, "rate" | "concurrency")
}
