//! Between two loads of one launch the engine's prefix cache is emptied, and that it was is seen: a question that the cache
//! answered before the reset has to be computed anew after it. Servers have been seen to say 200 and do nothing.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::event::{Event, Listener};
use super::hits::{Counters, Hits};
use super::launch::Crew;
use super::target::Target;
use crate::lang::sema::program::{Engine, Reset};
use crate::load::{Api, LoadSpec, SAMPLING_PARAMS};
use crate::trust;

/// A reset is a matter of milliseconds; one that hangs is not waited for, and the load that follows says that nothing was proven.
const RESET_WITHIN: Duration = Duration::from_secs(10);
/// A question of so many words at least and at most: more than one block of any cache, and no load of its own.
const WORDS: (u32, u32) = (256, 2048);
/// A server that does not take so long a prompt is asked with half of it, this often.
const HALVINGS: u32 = 4;
/// Counters follow what they count after a moment.
const COUNTED_WITHIN: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(20);

/// What an engine's reset needs to be there: vLLM opens its own only to developers.
pub fn variables(engine: &Engine) -> Option<(String, String)> {
    let closed = engine.root() == "vllm" && engine.reset.is_some();
    closed.then(|| ("VLLM_SERVER_DEV_MODE".to_owned(), "1".to_owned()))
}

/// What requests to an engine without a reset say instead: llama.cpp leaves its cache alone when told so.
pub fn body_fields(engine: &Engine) -> Map<String, Value> {
    let told = engine.root() == "llama_cpp" && engine.reset.is_none();
    told.then(|| ("cache_prompt".to_owned(), Value::Bool(false))).into_iter().collect()
}

/// What is known of the cache after a reset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Emptied {
    /// the engine has no reset
    NotAsked,
    /// `before` tokens of a question came from the cache before the reset, and none after it
    Proven { before: u64 },
    /// the same question twice: the engine keeps no prefixes of that length
    KeepsNone,
    /// why it is not known to be empty
    Unproven(String),
}

impl Emptied {
    /// What a reader of the load that follows has to know.
    pub fn note(&self) -> Option<String> {
        match self {
            Self::Unproven(why) => {
                Some(format!("the prefix cache is not known to be empty before it: {why}"))
            }
            Self::NotAsked | Self::Proven { .. } | Self::KeepsNone => None,
        }
    }
}

/// Empties the prefix cache, where the engine says how, and sees that it is empty. `spec` is a load that the server takes.
pub async fn empty(
    crew: &Crew<'_>,
    target: &Target<'_>,
    spec: &LoadSpec,
    listener: &mut dyn Listener,
) -> Emptied {
    let Some(reset) = &crew.config.engine.reset else { return Emptied::NotAsked };
    let emptied = tokio::select! {
        emptied = proven(crew, target, spec, reset) => emptied,
        () = crew.signals.first.cancelled() => return Emptied::NotAsked,
    };
    let launch = crew.launch.to_owned();
    if let Some(note) = emptied.note() {
        listener.hear(&Event::Warning { text: format!("{launch}: {note}") });
    } else {
        let before = if let Emptied::Proven { before } = emptied { before } else { 0 };
        listener.hear(&Event::PrefixCacheEmptied { launch, hit_before: before, hit_after: 0 });
    }
    emptied
}

/// [`empty`] between two loads: an engine that kept no prefixes before keeps none now.
pub async fn again(
    crew: &Crew<'_>,
    target: &Target<'_>,
    spec: &LoadSpec,
    listener: &mut dyn Listener,
    before: &Emptied,
) -> Emptied {
    match before {
        Emptied::KeepsNone => Emptied::KeepsNone,
        _ => empty(crew, target, spec, listener).await,
    }
}

async fn proven(crew: &Crew<'_>, target: &Target<'_>, spec: &LoadSpec, reset: &Reset) -> Emptied {
    let Some(mut question) = Question::new(crew, target, spec) else {
        return Emptied::Unproven("no HTTP client".to_owned());
    };
    let before = question.asked_again().await;
    let trouble = call(target, reset).await;
    let trouble = match (trouble, before) {
        (Some(trouble), _) => trouble,
        (None, Err(why)) => why,
        (None, Ok(0)) => return Emptied::KeepsNone,
        (None, Ok(before)) => match question.hits().await {
            Ok(Some(0)) => return Emptied::Proven { before },
            Ok(Some(after)) => format!(
                "{} answered that it was, but {after} tokens of a question that was asked before still came from it",
                reset.path
            ),
            Ok(None) => NO_COUNTS.to_owned(),
            Err(why) => why,
        },
    };
    Emptied::Unproven(trouble)
}

/// Calls the engine's reset. What went wrong, if something did.
async fn call(target: &Target<'_>, Reset { post, path }: &Reset) -> Option<String> {
    let client = target.client(RESET_WITHIN)?;
    let url = format!("{}{path}", target.base_url);
    let request = if *post { client.post(&url) } else { client.get(&url) };
    match request.send().await {
        Ok(answer) if answer.status().is_success() => None,
        Ok(answer) => Some(format!("{path} answered HTTP {}", answer.status().as_u16())),
        Err(error) => Some(format!("{path}: {}", error.without_url())),
    }
}

const NO_COUNTS: &str = "the server shows no prefix hits, neither among its metrics nor in its answers \
     (SGLang does with --enable-metrics)";

/// What a question asks for beside its text: one token, drawn as the load's are.
fn form(spec: &LoadSpec, model: &str) -> Value {
    let mut body = match spec.api {
        Api::Generate => json!({"stream": false}),
        Api::Chat | Api::Completions => {
            json!({"model": model, "max_tokens": 1, "temperature": 0, "stream": false})
        }
    };
    for (name, value) in &spec.extra_body {
        body[name] = value.clone();
    }
    if spec.api == Api::Generate {
        let mut sampling =
            spec.extra_body.get(SAMPLING_PARAMS).and_then(Value::as_object).cloned().unwrap_or_default();
        sampling.extend([("max_new_tokens".to_owned(), 1.into()), ("temperature".to_owned(), 0.into())]);
        body[SAMPLING_PARAMS] = sampling.into();
    }
    body
}

/// A prompt that nobody else sends.
struct Question {
    client: reqwest::Client,
    url: String,
    body: Value,
    api: Api,
    words: u32,
    counters: Option<Counters>,
}

impl Question {
    fn new(crew: &Crew<'_>, target: &Target<'_>, spec: &LoadSpec) -> Option<Self> {
        let model = target.model.as_ref().unwrap_or(&spec.model);
        Some(Self {
            client: target.client(RESET_WITHIN)?,
            url: format!("{}{}", target.base_url, spec.api.path()),
            body: form(spec, model),
            api: spec.api,
            words: (*spec.prompts.input.end()).clamp(WORDS.0, WORDS.1),
            counters: Counters::of(crew.config, target),
        })
    }

    /// Tokens of the question that came from the cache when it was asked again.
    async fn asked_again(&mut self) -> Result<u64, String> {
        for _ in 0..HALVINGS {
            match self.ask().await {
                Err(why) if why.contains("HTTP 400") => self.words /= 2,
                Err(why) => return Err(why),
                Ok(_) => break,
            }
        }
        self.hits().await?.ok_or_else(|| NO_COUNTS.to_owned())
    }

    /// Asks, and says how many tokens came from the cache; `None` where the server does not say.
    async fn hits(&mut self) -> Result<Option<u64>, String> {
        let before = self.counted().await;
        let said = self.ask().await?;
        let counted = match before {
            Some(before) => Some(self.counted_since(before).await),
            None => None,
        };
        // each is a witness against an empty cache
        Ok(said.max(counted))
    }

    /// Asks; what the answer says of the cache, if it says something.
    async fn ask(&mut self) -> Result<Option<u64>, String> {
        let text = vec!["prefix"; self.words as usize].join(" ");
        match self.api {
            Api::Chat => self.body["messages"] = json!([{"role": "user", "content": text}]),
            Api::Completions => self.body["prompt"] = text.into(),
            Api::Generate => self.body["text"] = text.into(),
        }
        let answer = self.client.post(&self.url).json(&self.body).send().await;
        let answer = answer.map_err(|e| format!("a question to prove it failed: {}", e.without_url()))?;
        if !answer.status().is_success() {
            return Err(format!(
                "a question to prove it was answered with HTTP {}",
                answer.status().as_u16()
            ));
        }
        let answer = trust::whole(answer).await.unwrap_or_default();
        let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
        let told = match self.api {
            Api::Generate => &answer["meta_info"],
            Api::Chat | Api::Completions => &answer["usage"]["prompt_tokens_details"],
        };
        Ok(told["cached_tokens"].as_u64())
    }

    async fn counted(&self) -> Option<Hits> {
        self.counters.as_ref()?.read().await
    }

    /// The hits that were added, once the question itself has been counted; none where it never is, as in a server that keeps no
    /// prefixes.
    async fn counted_since(&self, before: Hits) -> u64 {
        let until = tokio::time::Instant::now() + COUNTED_WITHIN;
        loop {
            match self.counted().await {
                Some(now) if now.asked > before.asked => return (now.hits - before.hits).max(0.0) as u64,
                _ if tokio::time::Instant::now() >= until => return 0,
                _ => tokio::time::sleep(LOOK).await,
            }
        }
    }
}
