//! What the loads of a study ask: the data sets of its profiles, with their files, seeds and lengths.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::data::{
    Conversations, Custom, DataSet, DrawnAgain, Lengths, PrefixRepetition, Random, Recipe, ShareGpt,
    ShareGptFilter, Source, Trace,
};
use crate::engine::caches;
use crate::lang::sema::program::{Answers, Data, Load, Profile, Site};

/// Conversations that are read for a load whose number of requests only its end tells.
const SOME: usize = 10_000;

/// No load of a profile that says nothing of its length goes on for longer, in seconds.
const LONGEST_S: f64 = 600.0;

/// Where prompts that a tokenizer made are kept for later loads; `None` where the user has no place for caches.
pub fn prompt_cache() -> Option<PathBuf> {
    Some(caches::base()?.parent()?.join("prompts"))
}

/// Which of a study's loads it is, and where its files lie.
pub struct Asking<'a> {
    pub profile: &'a Profile,
    pub tokenizer: Option<PathBuf>,
    pub study_dir: &'a Path,
    pub site: &'a Site,
    /// of this load, derived from all that tells it from others
    pub seed: u64,
    /// the study's loads before it whose prompts are drawn by recipes
    pub before: Vec<Random>,
}

/// Whether a profile asks for the very bytes that a tool sends.
fn exact(p: &Profile) -> bool {
    p.recipe.is_some() && p.seed_stated
}

/// How a file that holds too few is made to hold enough.
fn again(p: &Profile) -> DrawnAgain {
    match p.recipe.as_deref() {
        Some("vllm_0_11") => DrawnAgain::Choices,
        _ => DrawnAgain::Choice,
    }
}

impl Asking<'_> {
    /// The data set; `None` where the load draws prompts of perflab's own.
    pub fn data(&self) -> Option<DataSet> {
        let p = self.profile;
        let source = match p.data.as_ref()? {
            Data::Random => Source::Random(random(p, self.seed)?),
            Data::PrefixRepetition => Source::PrefixRepetition(self.groups()?),
            Data::ShareGpt => Source::ShareGpt(ShareGpt {
                file: sharegpt(self.site, self.study_dir)?,
                filter: if p.recipe.as_deref() == Some("sglang") {
                    ShareGptFilter::Sglang
                } else {
                    ShareGptFilter::Vllm(again(p))
                },
                count: Some(self.count()),
                seed: self.tool_seed(),
                output: p.output.map(|(_, most)| most),
            }),
            Data::Jsonl(file) => Source::Custom(Custom {
                file: self.study_dir.join(file),
                count: p.requests.map(|n| usize::try_from(n).unwrap_or(usize::MAX)),
                seed: self.tool_seed(),
                output: None,
                otherwise: p.output.map(|(_, most)| most),
                again: again(p),
            }),
            Data::Trace(file) => Source::Trace(self.trace(file)),
            Data::Conversations(file) => Source::Conversations(self.talks(file)),
        };
        Some(DataSet { source, tokenizer: self.tokenizer.clone(), apart_from: self.before.clone() })
    }

    /// As much of a trace as the load can take.
    fn trace(&self, file: &str) -> Trace {
        let p = self.profile;
        let of_times = p.load.is_none() && p.requests.is_none();
        let seconds = p.duration_s.unwrap_or(LONGEST_S);
        let span = of_times.then(|| seconds / p.slowdown.unwrap_or(1.0));
        Trace {
            file: self.study_dir.join(file),
            format: None,
            count: span.is_none().then(|| self.count()),
            span: span.and_then(|s| Duration::try_from_secs_f64(s).ok()),
        }
    }

    fn talks(&self, file: &str) -> Conversations {
        let p = self.profile;
        let think = p.think_s.unwrap_or((0.0, 0.0));
        let length = |s: f64| Duration::try_from_secs_f64(s).unwrap_or_default();
        Conversations {
            file: self.study_dir.join(file),
            seed: self.tool_seed(),
            count: Some(self.count()),
            output: p.output.map(|(_, most)| most),
            think: length(think.0)..=length(think.1),
            recorded: p.answers == Some(Answers::Recorded),
        }
    }

    fn groups(&self) -> Option<PrefixRepetition> {
        let p = self.profile;
        p.recipe.as_ref()?;
        Some(PrefixRepetition {
            prefix: p.prefix.unwrap_or(PREFIX),
            suffix: p.input.unwrap_or(SUFFIX).1,
            prefixes: p.prefixes.unwrap_or(PREFIXES),
            output: p.output.unwrap_or(ANSWER).1,
            count: self.count(),
            seed: u64::from(self.tool_seed() as u32),
        })
    }

    fn tool_seed(&self) -> u64 {
        if exact(self.profile) { self.profile.seed } else { self.seed }
    }

    /// How many questions the load can ask without asking one again.
    fn count(&self) -> usize {
        let p = self.profile;
        let by_rate = match (&p.load, p.duration_s) {
            (Some(Load::Rate { per_s, .. }), Some(s)) => Some((per_s * s).ceil() as u64),
            _ => None,
        };
        let known = p.requests.or(by_rate);
        known.map_or(SOME, |n| usize::try_from(n).unwrap_or(usize::MAX))
    }
}

/// What `prefix_repetition` is unless a profile says otherwise, as in vLLM: tokens that a group shares, groups, tokens after them, and of
/// an answer.
pub const PREFIX: u32 = 256;
pub const PREFIXES: u32 = 10;
pub const SUFFIX: (u32, u32) = (256, 256);
pub const ANSWER: (u32, u32) = (128, 128);

/// The random prompts of a profile with a recipe, as its tool draws them.
pub fn random(p: &Profile, seed: u64) -> Option<Random> {
    let recipe = match p.recipe.as_deref()? {
        "vllm" => Recipe::Vllm,
        "vllm_0_11" => Recipe::Vllm011,
        _ => Recipe::Sglang,
    };
    let (input, output, count) = (p.input?.1, p.output?.1, p.requests?);
    if p.data != Some(Data::Random) {
        return None;
    }
    // SGLang's ratio is that of the shortest to the longest, vLLM's how far lengths lie apart
    let range_ratio = if recipe == Recipe::Sglang { 1.0 } else { 0.0 };
    let lengths = Lengths { input, output, range_ratio, prefix: p.prefix.unwrap_or(0) };
    let drawn = if recipe == Recipe::Sglang { u64::from(seed as u32) } else { seed };
    let seed = if exact(p) { p.seed } else { drawn };
    Some(Random { recipe, lengths, count: usize::try_from(count).ok()?, seed, exact: exact(p) })
}

/// Where the site says that the conversations of ShareGPT lie.
pub fn sharegpt(site: &Site, study_dir: &Path) -> Option<PathBuf> {
    site.data.get("sharegpt").map(|file| study_dir.join(file))
}

/// The file that a profile's questions lie in.
pub fn file(p: &Profile, site: &Site, study_dir: &Path) -> Option<PathBuf> {
    match p.data.as_ref()? {
        Data::ShareGpt => sharegpt(site, study_dir),
        Data::Jsonl(file) | Data::Trace(file) | Data::Conversations(file) => Some(study_dir.join(file)),
        Data::Random | Data::PrefixRepetition => None,
    }
}

/// What a profile's load needs to be asked and has not: better said before anything starts.
pub fn missing(p: &Profile, site: &Site, study_dir: &Path) -> Option<(String, &'static str)> {
    let named = |file: PathBuf, what: &str, help| {
        (!file.is_file())
            .then(|| (format!("profile `{}`: there is no {what} at {}", p.name, file.display()), help))
    };
    match &p.data {
        Some(Data::ShareGpt) => match sharegpt(site, study_dir) {
            None => Some((
                format!("profile `{}`: where the conversations of ShareGPT lie is not known", p.name),
                "say it in a site: `data sharegpt at \"ShareGPT_V3_unfiltered_cleaned_split.json\"`",
            )),
            Some(file) => named(file, "file of conversations", "correct the site's line `data sharegpt at`"),
        },
        Some(Data::Jsonl(file)) => {
            named(study_dir.join(file), "file of prompts", "name it relative to the file that states it")
        }
        Some(Data::Conversations(file)) => named(
            study_dir.join(file),
            "file of conversations",
            "name it relative to the file that states it",
        ),
        Some(Data::Trace(file)) => {
            named(study_dir.join(file), "trace", "name it relative to the file that states it")
        }
        _ => None,
    }
}
