//! The identity of a `serve` line: a result counts as long as its engine is started, and spoken to, in the same way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::container;
use crate::journal::{Contained, History};
use crate::lang::Program;
use crate::lang::sema::program::{Api, Engine, Via};
use crate::plan::config::short_hash;
use crate::plan::named_engines;

/// How an engine is started and spoken to. What somebody else started is no run of ours, wherever it answers, and another image
/// is another engine, whatever it is called.
pub(super) fn serve_id(engine: &Engine, images: &BTreeMap<String, String>) -> String {
    let how = match &engine.via {
        Via::Url(_) => NOT_MANAGED.to_owned(),
        Via::Container(boxed) => {
            let image = container::image(engine, boxed).unwrap_or_default();
            contained_in(images.get(&image).unwrap_or(&image))
        }
        Via::Path | Via::Venv(_) => String::new(),
    };
    serve_id_of(engine, &how)
}

const NOT_MANAGED: &str = "\nnot managed";

fn contained_in(image: &str) -> String {
    format!("\nin {image}")
}

fn serve_id_of(engine: &Engine, how: &str) -> String {
    short_hash(&format!("{}{how}", engine.started()))
}

/// The engines that studies of a file run. Of one that is only derived from nothing is measured, and what was measured of its children is
/// not its own.
fn used(program: &Program) -> Vec<Arc<Engine>> {
    let used = program.studies.iter().flat_map(|s| named_engines(program, s));
    let mut seen = BTreeSet::new();
    used.filter(|e| seen.insert(e.name.clone())).collect()
}

/// How the normal forms of configurations begin whose engine is started as its root declares it, with the identities of their serve lines:
/// what a configuration of that name was measured with counts for nothing else.
pub(super) fn plain(program: &Program, images: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let plain = used(program).into_iter().filter(|e| e.apart.is_none());
    plain.map(|e| (format!("{{\"engine\":\"{}\",", e.root()), serve_id(&e, images))).collect()
}

/// Identities of all serve lines: a result counts as long as its engine is started the same way.
pub fn serve_ids(program: &Program, images: &BTreeMap<String, String>) -> Vec<String> {
    used(program).iter().map(|e| serve_id(e, images)).collect()
}

/// What an engine's declaration says of how it is waited for, let in and judged: what failed under another one may not fail now.
pub(super) fn judged_by(engine: &Engine) -> String {
    let Engine { ready, key, failures, reset, stop, .. } = engine;
    format!("as {}", short_hash(&format!("{ready:?} {key:?} {failures:?} {reset:?} {stop:?}")))
}

/// The same of each engine that studies run, beside the identity of its serve line.
pub(super) fn judgements(program: &Program, images: &BTreeMap<String, String>) -> Vec<(String, String)> {
    used(program).iter().map(|e| (serve_id(e, images), judged_by(e))).collect()
}

/// Why a result's serve line, API or way to launch is none of this program's; `then` is what its launch stood in.
pub(super) fn otherwise(
    program: &Program,
    images: &BTreeMap<String, String>,
    id: &str,
    then: Option<&Contained>,
) -> String {
    let boxed = then.map(|c| contained_in(c.id.as_ref().unwrap_or(&c.image)));
    let hows = boxed.as_deref().map_or(vec!["", NOT_MANAGED], |how| vec![how]);
    let used = used(program);
    let engines = || used.iter();
    let same = engines().find_map(|e| Some((e, *hows.iter().find(|how| serve_id_of(e, how) == id)?)));
    if let Some((engine, how)) = same {
        return another_way(engine, images, how == NOT_MANAGED, then);
    }
    let other_api = |e: &Arc<Engine>| {
        let others = Api::ALL.into_iter().filter(|api| *api != e.api);
        let mut others = others.map(|api| Engine { api, ..Engine::clone(e) });
        others.any(|other| hows.iter().any(|how| serve_id_of(&other, how) == id))
    };
    let other_args = |e: &Arc<Engine>| {
        let other = Engine { joined: !e.joined, ..Engine::clone(e) };
        hows.iter().any(|how| serve_id_of(&other, how) == id)
    };
    let no_reset = |e: &Arc<Engine>| {
        let other = Engine { reset: None, ..Engine::clone(e) };
        e.reset.is_some() && hows.iter().any(|how| serve_id_of(&other, how) == id)
    };
    let what = match (engines().any(other_api), engines().any(other_args), engines().any(no_reset)) {
        (true, ..) => "through another `api`",
        (_, true, _) => "with flags typed another way (`args`)",
        (.., true) => "without the `reset` between its loads",
        _ => "with another serve line, `ready` or `reset`",
    };
    format!("measured {what}")
}

/// The same line, started in another way.
fn another_way(
    engine: &Engine,
    images: &BTreeMap<String, String>,
    ran_already: bool,
    then: Option<&Contained>,
) -> String {
    let then = match then {
        Some(c) => format!("in the image {}", c.image),
        None if ran_already => "on a server that ran already".to_owned(),
        None => "on a server of its own".to_owned(),
    };
    let now = match &engine.via {
        Via::Url(_) => "on one that runs already".to_owned(),
        Via::Container(boxed) => {
            let image = container::image(engine, boxed).unwrap_or_default();
            if then.strip_prefix("in the image ") == Some(image.as_str()) {
                let id = images.get(&image).map_or("another one", String::as_str);
                return format!("measured {then} as it was then, now it is {}", short(id));
            }
            format!("in {image}")
        }
        Via::Path | Via::Venv(_) => "on a server of its own".to_owned(),
    };
    format!("measured {then}, now {now}")
}

/// Enough of an image's id to tell it.
fn short(id: &str) -> &str {
    let hash = id.strip_prefix("sha256:").unwrap_or(id);
    hash.get(..12).unwrap_or(hash)
}

/// The same however a site launches the engines: for a report, which is made without one.
pub fn serve_ids_anywhere(program: &Program, history: &History) -> Vec<String> {
    let images: BTreeSet<String> =
        containers(history).map(|c| contained_in(c.id.as_ref().unwrap_or(&c.image))).collect();
    let hows: Vec<&str> = ["", NOT_MANAGED].into_iter().chain(images.iter().map(String::as_str)).collect();
    used(program).iter().flat_map(|e| hows.iter().map(|how| serve_id_of(e, how))).collect()
}

/// What launches stood in.
fn containers(history: &History) -> impl Iterator<Item = &Contained> {
    history.launches().iter().filter_map(|l| l.container.as_deref())
}
