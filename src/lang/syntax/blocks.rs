//! The blocks of the language as the second look knows them: which lines they take, and where a word belongs that is not one of them.

use super::grammar::Rule;
use super::words;
use crate::lang::diag::did_you_mean;

/// The block in which a bad line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block {
    Engine,
    Profile,
    Study,
    Track,
    Step,
    Site,
    /// the settings of a site's runner, which are the runner's own
    Runner,
}

impl Block {
    /// Those whose settings the language knows.
    pub const ALL: [Self; 6] =
        [Self::Engine, Self::Profile, Self::Study, Self::Track, Self::Step, Self::Site];

    pub(super) fn rule(self) -> Rule {
        match self {
            Self::Engine => Rule::only_engine_line,
            Self::Profile | Self::Runner => Rule::only_word_line,
            Self::Study => Rule::only_study_line,
            Self::Track => Rule::only_track_line,
            Self::Step => Rule::only_step_line,
            Self::Site => Rule::only_site_line,
        }
    }

    /// Whether a line begins something in the block that has a name.
    pub fn declares(self, text: &str) -> bool {
        // a declaration that got into a block, behind a brace that is missing, has a name too
        let word = first_word(text);
        let named: &[&str] = match self {
            Self::Study => &["step", "prune", "track"],
            Self::Track => &["step"],
            _ => &[],
        };
        named.contains(&word)
            || did_you_mean(word, named.iter().copied()).is_some()
            || self == Self::Study && super::synonyms::settings(self, word).any(|s| s == "step")
            || words::DECLARATIONS.contains(&first_word(text))
                && !self.settings().1.contains(&first_word(text))
    }

    /// What the block is called, and the words that begin its lines.
    pub fn settings(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Engine => ("an engine", words::ENGINE_SETTINGS),
            Self::Profile => ("a profile", words::PROFILE_SETTINGS),
            Self::Study => ("a study", words::STUDY_SETTINGS),
            Self::Track => ("a track", words::TRACK_SETTINGS),
            Self::Step => ("a step", words::STEP_SETTINGS),
            Self::Site => ("a site", words::SITE_SETTINGS),
            Self::Runner => ("a runner", &[]),
        }
    }
}

/// Where a word stands that is a right one in another place.
pub fn elsewhere(block: Block, word: &str) -> Option<String> {
    Some(match (block, word) {
        (Block::Step, "by") => {
            "it stands behind the axes, on their line: `vary seqs * batched by staged`".to_owned()
        }
        (Block::Step, "from" | "when") => {
            "it stands before the braces: `step NAME \"Title\" from STEP when CONDITION { … }`".to_owned()
        }
        _ => {
            let all = [Block::Engine, Block::Profile, Block::Study, Block::Step, Block::Site];
            let home = all.into_iter().find(|b| b.settings().1.contains(&word))?;
            format!("`{word}` is a setting of {}", home.settings().0)
        }
    })
}

pub fn first_word(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len());
    &text[..end]
}
