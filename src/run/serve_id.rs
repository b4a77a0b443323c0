//! The identity of a `serve` line: a result counts as long as its engine is started, and spoken to, in the same way.

use std::collections::{BTreeMap, BTreeSet};

use super::container;
use crate::journal::{Contained, History};
use crate::lang::Program;
use crate::lang::sema::program::{Engine, Via};
use crate::plan::config::short_hash;

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
    short_hash(&format!("{}\n{:?}{how}", spaced(&engine.serve), engine.api))
}

/// A serve line with one space between its words: more of them say nothing, but where a quoted word holds them.
fn spaced(serve: &str) -> String {
    if serve.contains(['"', '\'', '\\']) {
        return serve.to_owned();
    }
    serve.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Identities of all serve lines: a result counts as long as its engine is started the same way.
pub fn serve_ids(program: &Program, images: &BTreeMap<String, String>) -> Vec<String> {
    program.engines.values().map(|e| serve_id(e, images)).collect()
}

/// The same however a site launches the engines: for a report, which is made without one.
pub fn serve_ids_anywhere(program: &Program, history: &History) -> Vec<String> {
    let images: BTreeSet<String> =
        containers(history).map(|c| contained_in(c.id.as_ref().unwrap_or(&c.image))).collect();
    let hows: Vec<&str> = ["", NOT_MANAGED].into_iter().chain(images.iter().map(String::as_str)).collect();
    program.engines.values().flat_map(|e| hows.iter().map(|how| serve_id_of(e, how))).collect()
}

/// What launches stood in.
fn containers(history: &History) -> impl Iterator<Item = &Contained> {
    history.launches().iter().filter_map(|l| l.container.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_between_words_say_nothing() {
        assert_eq!(spaced(" vllm  serve\t{model} "), "vllm serve {model}");
        assert_eq!(spaced("sh -c 'a  b'"), "sh -c 'a  b'");
    }
}
