//! A data set as a load names it: plain data, made into questions when the load is prepared.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::beginnings::Beginnings;
use super::chat::{ChatTemplate, TemplateTokens};
use super::conversations::{Conversation, Conversations};
use super::custom::Custom;
use super::kept;
use super::prefix_repetition::PrefixRepetition;
use super::question::{DataError, Question};
use super::recipe::Random;
use super::sharegpt::ShareGpt;
use super::trace::{Trace, Traced};
use super::vocabulary::Vocabulary;
use crate::disk::Shelf;

/// Where a load's questions come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// Random prompts of a recipe.
    Random(Random),
    /// Conversations.
    ShareGpt(ShareGpt),
    /// Groups of prompts that begin alike.
    PrefixRepetition(PrefixRepetition),
    /// Lines of a file.
    Custom(Custom),
    /// Requests of a trace, whose texts the load makes.
    Trace(Trace),
    /// Conversations of several turns.
    Conversations(Conversations),
}

impl Source {
    /// Whether its prompts are made of tokens; others can do with words.
    pub fn needs_tokenizer(&self) -> bool {
        matches!(self, Self::Random(_) | Self::ShareGpt(_) | Self::PrefixRepetition(_))
    }
}

/// What a data set gives a load.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Prompts as they are sent.
    Questions(Vec<Question>),
    /// Lengths and times alone.
    Traced(Vec<Traced>),
    /// What people say, turn by turn.
    Talks(Arc<[Conversation]>),
}

/// Content, and how it came to be.
#[derive(Debug, Clone, PartialEq)]
pub struct Made {
    /// What there is to ask.
    pub content: Content,
    /// What the model's chat template adds to a question, where that is known.
    pub template: Option<TemplateTokens>,
    /// It was made before, and no tokenizer was read.
    pub kept: bool,
}

/// A load's questions, before they are made.
#[derive(Debug, Clone, PartialEq)]
pub struct DataSet {
    /// Where they come from.
    pub source: Source,
    /// A `tokenizer.json` or its folder. Only prompts of a file can do without one.
    pub tokenizer: Option<PathBuf>,
    /// Other loads of the same launch: no random prompt of this one begins as one of theirs, unless its recipe's own bytes are asked for.
    pub apart_from: Vec<Random>,
}

impl DataSet {
    /// What it holds, in its order. For an endpoint that puts its prompts into the model's chat template, `body` holds further fields of
    /// the requests. What was made before is taken from the shelf, and what is made is put there.
    ///
    /// # Errors
    /// A file that cannot be used, settings that a recipe refuses, or no tokenizer where one is needed.
    pub fn content(
        &self,
        body: Option<&Map<String, Value>>,
        before: Option<&Shelf>,
    ) -> Result<Made, DataError> {
        // one that cannot be used is the server's matter: what it adds is not known then
        let template = match (body, &self.tokenizer) {
            (Some(body), Some(path)) => ChatTemplate::load(path, body).ok().flatten(),
            _ => None,
        };
        let around = template.and_then(|template| template.around().ok());
        let place = before.and_then(|shelf| Some((shelf, kept::key(self, around.as_ref())?)));
        if let Some((shelf, key)) = &place
            && let Some(made) = kept::find(shelf, key)
        {
            return Ok(made);
        }
        let mut vocabulary = match &self.source {
            Source::Trace(_) => None,
            source if source.needs_tokenizer() => Some(self.vocabulary()?),
            _ => self.any_vocabulary()?,
        };
        let template = vocabulary.as_mut().zip(around.as_ref()).and_then(|(v, around)| v.within(around).ok());
        let made = Made { content: self.made(vocabulary.as_ref())?, template, kept: false };
        // a file that was replaced meanwhile is not what the key says
        if let Some((shelf, key)) = &place
            && kept::key(self, around.as_ref()).as_ref() == Some(key)
        {
            kept::keep(shelf, key, &made);
        }
        Ok(made)
    }

    fn made(&self, vocabulary: Option<&Vocabulary>) -> Result<Content, DataError> {
        let needed = || vocabulary.ok_or(DataError::NoTokenizer);
        let questions = match &self.source {
            Source::Custom(custom) => custom.questions(vocabulary),
            Source::Random(random) => {
                let vocabulary = needed()?;
                random.apart_from(&Beginnings::of(&self.apart_from, vocabulary)?, vocabulary)
            }
            Source::ShareGpt(sharegpt) => sharegpt.questions(needed()?),
            Source::PrefixRepetition(groups) => groups.questions(needed()?),
            Source::Trace(trace) => return trace.requests().map(Content::Traced),
            Source::Conversations(talks) => {
                return Ok(Content::Talks(talks.read(vocabulary)?.into()));
            }
        };
        questions.map(Content::Questions)
    }

    /// The same for a load that is repeated: other random prompts, unless its recipe's own bytes are asked for.
    #[must_use]
    pub fn again(&self) -> Self {
        let mut other = self.clone();
        if let Source::Random(random) = &mut other.source
            && !random.exact
        {
            other.apart_from.push(*random);
            random.seed = u64::from((random.seed as u32).wrapping_add(1));
        }
        other
    }

    fn any_vocabulary(&self) -> Result<Option<Vocabulary>, DataError> {
        self.tokenizer.is_some().then(|| self.vocabulary()).transpose()
    }

    fn vocabulary(&self) -> Result<Vocabulary, DataError> {
        let path = self.tokenizer.as_ref();
        Vocabulary::load(path.ok_or(DataError::NoTokenizer)?)
    }
}
