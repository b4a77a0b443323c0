//! What a server says of itself once it answers: its version, and the arguments that it runs with. It is asked over its own interface
//! (`/version`, `/get_server_info`, `/props`), and its log is read for what it printed.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use indexmap::IndexMap;
use serde_json::Value as Json;

use super::{literal, secrets};
use crate::journal::Says;

/// A server that has just been found ready answers at once; one that does not is not waited for.
const PATIENCE: Duration = Duration::from_secs(3);
/// More than any of these answers has.
const MOST_BYTES: usize = 1 << 20;
/// What engines print of their arguments stands at the beginning of the log.
const LOG_HEAD: u64 = 1 << 20;

/// Asks a server of an engine (its root's name), and reads its log.
pub async fn ask(base_url: &str, root: &str, log: &Path) -> Says {
    let mut says = from_log(&head(log));
    let paths: &[&str] = match root {
        "sglang" => &["/get_server_info"],
        "llama_cpp" => &["/props"],
        _ => &["/version"],
    };
    for path in paths {
        let Some(answer) = get(base_url, path).await else { continue };
        says.version = version_in(&answer).or(says.version);
        let arguments = match *path {
            "/get_server_info" => plain(&answer),
            "/props" => props(&answer),
            _ => IndexMap::new(),
        };
        if !arguments.is_empty() {
            says.arguments = arguments;
            says.from = Some((*path).to_owned());
        }
    }
    says.arguments = masked(says.arguments);
    says
}

/// What a server's own version says against the one that the file states.
pub fn contradiction(stated: Option<&str>, said: Option<&str>) -> Option<String> {
    let (stated, said) = (stated?, said?);
    (!same_version(stated, said))
        .then(|| format!("the server says that it is {said}, the file says {stated}"))
}

/// A build's own suffix (`+cpu`, `-4f2a1b`) and llama.cpp's `b` do not make another version.
fn same_version(stated: &str, said: &str) -> bool {
    let bare = |v: &str| {
        let v = v.trim().trim_start_matches(['v', 'b']);
        v.split(['+', '-']).next().unwrap_or(v).to_owned()
    };
    stated == said || bare(stated) == bare(said)
}

async fn get(base_url: &str, path: &str) -> Option<Json> {
    let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().ok()?;
    let mut answer = client.get(format!("{base_url}{path}")).send().await.ok()?.error_for_status().ok()?;
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.ok()? {
        body.extend_from_slice(&chunk);
        if body.len() > MOST_BYTES {
            return None;
        }
    }
    serde_json::from_slice(&body).ok()
}

fn version_in(answer: &Json) -> Option<String> {
    let version = answer["version"].as_str().or_else(|| answer["build_info"].as_str())?.trim();
    // builds without a number of their own say `b0-unknown` or `b1-…`
    let anonymous = ["", "b0", "b1", "unknown"].contains(&version.split('-').next().unwrap_or_default());
    (!anonymous).then(|| version.to_owned())
}

/// The entries of an object that are no objects themselves.
fn plain(answer: &Json) -> IndexMap<String, Json> {
    let all = answer.as_object().into_iter().flatten();
    all.filter(|(name, v)| !v.is_object() && *name != "internal_states")
        .map(|(n, v)| (n.clone(), v.clone()))
        .collect()
}

/// What `/props` says that is an argument.
fn props(answer: &Json) -> IndexMap<String, Json> {
    let mut out = IndexMap::new();
    for name in ["total_slots", "model_path", "model_alias"] {
        out.extend(Some(&answer[name]).filter(|v| !v.is_null()).map(|v| (name.to_owned(), v.clone())));
    }
    let context = &answer["default_generation_settings"]["n_ctx"];
    out.extend(Some(context).filter(|v| !v.is_null()).map(|v| ("n_ctx".to_owned(), v.clone())));
    out
}

fn head(log: &Path) -> String {
    let mut bytes = Vec::new();
    let read = File::open(log).and_then(|f| f.take(LOG_HEAD).read_to_end(&mut bytes));
    if read.is_err() {
        return String::new();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `non-default args: {…}` (vLLM), `server_args=ServerArgs(…)` (SGLang), `version 0.17.1` (vLLM's banner).
fn from_log(text: &str) -> Says {
    let mut says = Says::default();
    for line in text.lines() {
        for mark in ["non-default args: ", "server_args="] {
            if let Some((_, rest)) = line.split_once(mark)
                && let Some(arguments) = literal::entries(rest)
            {
                says.arguments = arguments;
                says.from = Some("log".to_owned());
            }
        }
        if says.version.is_none()
            && let Some((_, rest)) = line.split_once("API server version ")
        {
            says.version = rest.split_whitespace().next().map(str::to_owned);
        }
    }
    says
}

fn masked(arguments: IndexMap<String, Json>) -> IndexMap<String, Json> {
    let mask = |(name, value): (String, Json)| {
        let shown = value.as_str().map(|text| {
            let masked = secrets::masked_variables(std::iter::once((name.as_str(), text)));
            masked.into_values().next().unwrap_or_default()
        });
        (name, shown.map_or(value, Json::from))
    };
    arguments.into_iter().map(mask).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_tell_version_and_arguments() {
        let log = "(APIServer pid=1) INFO [api_server.py:1] vLLM API server version 0.17.1\n\
                   (APIServer pid=1) INFO [utils.py:2] non-default args: {'model': 'm', 'max_num_seqs': 8}\n";
        let says = from_log(log);
        assert_eq!(says.version.as_deref(), Some("0.17.1"));
        assert_eq!(says.arguments["max_num_seqs"], 8);
        let says = from_log(
            "[2026-01-01 10:00:00] server_args=ServerArgs(model_path='m', api_key='x', tp_size=1)\n",
        );
        assert_eq!(masked(says.arguments)["api_key"], crate::secrets::MASKED);
        assert_eq!(from_log("nothing of it"), Says::default());
    }

    #[test]
    fn another_version_is_a_contradiction_and_another_build_is_none() {
        let says = |stated, said| contradiction(Some(stated), Some(said)).is_some();
        assert!(!says("0.17.1", "0.17.1+cu128") && !says("11434", "b11434-4f2a1b") && !says("v1.0", "1.0"));
        assert!(
            says("0.17.1", "0.17.2") && says("0.5.5", "0.5.5.post1") && says("0.17.1", "0.17.1.dev3+gab")
        );
        assert_eq!(contradiction(None, Some("1")), None);
        assert_eq!(contradiction(Some("1"), None), None);
        assert_eq!(version_in(&serde_json::json!({"build_info": "b1-unknown"})), None);
    }
}
