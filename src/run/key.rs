//! The key that a server asks its clients for: where the engine's declaration says that it stands (`key --api-key env VLLM_API_KEY`), and
//! what is said of a server that refuses its clients all the same.

use std::fs;
use std::path::Path;

use crate::engine::Failure;
use crate::lang::sema::keys::{Holds, KeySource};
use crate::lang::sema::program::{Engine, Site, Via};
use crate::plan::{Config, command};
use crate::secrets::Key;

/// The class of a server that lets nobody in.
pub const REFUSED: &str = "access refused";

/// What a client of this configuration's server has to send, if anything is stated. A server that runs already may have got its key from
/// anybody: then perflab's own environment counts too.
pub fn of(config: &Config, site: &Site, study_dir: &Path) -> Option<Key> {
    let sources = config.engine.key.iter();
    let stated = sources.filter_map(|source| match source {
        KeySource::Flag { name, holds } => {
            let text = command::flag_value(config, name)?;
            match holds {
                Holds::Key => Some(first(&config.engine, &text)),
                Holds::Keys => text.split_whitespace().next().map(str::to_owned),
                Holds::File => first_line(&study_dir.join(text)),
            }
        }
        KeySource::Env(name) => Some(first(&config.engine, &variable(config, site, name)?)),
    });
    stated.map(|key| key.trim().to_owned()).find(|key| !key.is_empty()).map(Key::new)
}

/// llama.cpp takes several, apart by commas and perhaps in quotes; each of them opens.
fn first(engine: &Engine, text: &str) -> String {
    let bare = |one: &str| one.trim().trim_matches('"').trim().to_owned();
    if engine.root() == "llama_cpp" {
        return text.split(',').map(bare).find(|one| !one.is_empty()).unwrap_or_default();
    }
    text.to_owned()
}

/// The first line that is no comment.
fn first_line(file: &Path) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned)
}

fn variable(config: &Config, site: &Site, name: &str) -> Option<String> {
    let own = command::env(config, None).into_iter().find(|(n, _)| n == name).map(|(_, value)| value);
    let of_site = || site.env.iter().find(|e| e.name == name).map(|e| e.value.clone());
    let runs_already = matches!(config.engine.via, Via::Url(_));
    own.or_else(of_site).or_else(|| std::env::var(name).ok().filter(|_| runs_already))
}

/// A server that answered everything with this status, which says who is let in: what to do about it.
pub fn refused(status: u16, config: &Config, sent: Option<&Key>) -> Option<Failure> {
    matches!(status, 401 | 403).then(|| Failure::new(REFUSED, sentence(status, config, sent)))
}

/// The same in words.
pub fn sentence(status: u16, config: &Config, sent: Option<&Key>) -> String {
    let engine = &config.engine;
    let names: Vec<&str> = engine.key.iter().map(KeySource::name).collect();
    let places = names.join(" or ");
    match (sent, names.is_empty()) {
        (Some(_), _) => {
            format!("the server answers {status} also to the key of {places}, which perflab sends")
        }
        (None, false) => {
            format!("the server answers {status}, and no key is stated: perflab sends the one of {places}")
        }
        (None, true) => format!(
            "the server answers {status}, and engine `{}` does not say where its key stands: add `key env NAME` to it, or `key --flag`",
            engine.name
        ),
    }
}
