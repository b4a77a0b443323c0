//! What a server says of itself once it answers: its version, and the arguments that it runs with. It is asked over its own interface
//! (`/version`, `/get_server_info`, `/props`), and its log is read for what it printed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use indexmap::IndexMap;
use reqwest::Response;
use serde_json::Value as Json;

use super::super::asking;
use super::{literal, secrets};
use crate::journal::Says;
use crate::plan::config::short_hash;
use crate::secrets::Key;
use crate::trust;

/// What the simulated engine puts on every answer.
const SIMULATED: &str = "x-perflab-simulated";
/// A server that has just been found ready answers at once; one that does not is not waited for.
const PATIENCE: Duration = Duration::from_secs(3);
/// So many pages tell several servers that answer by turns from one.
const LOOKS: u32 = 4;
/// What engines print of their arguments stands at the beginning of the log.
const LOG_HEAD: u64 = 1 << 20;

/// Asks a server of an engine (its root's name), with its key, and reads its log.
pub async fn ask(base_url: &str, key: Option<&Key>, root: &str, log: &Path) -> Says {
    let mut says = from_log(&head(log));
    let paths: &[&str] = match root {
        "sglang" => &["/get_server_info"],
        "llama_cpp" => &["/props"],
        _ => &["/version"],
    };
    for path in paths {
        let Some(page) = page(base_url, path, key).await else { continue };
        // on each of its answers, whichever engine it stands for
        says.simulated |= page.headers().contains_key(SIMULATED);
        let Some(answer) = json_of(page).await else { continue };
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

/// What a server tells of a model that it serves: where its weights lie, and how long its requests may be.
pub async fn facts_of(base_url: &str, key: Option<&Key>, model: &str) -> IndexMap<String, Json> {
    let answer = get(base_url, "/v1/models", key).await.unwrap_or_default();
    let all = answer["data"].as_array().into_iter().flatten();
    let Some(own) = all.filter_map(Json::as_object).find(|m| m.get("id").is_some_and(|id| id == model))
    else {
        return IndexMap::new();
    };
    let known = ["root", "max_model_len"].into_iter();
    known.filter_map(|name| Some((format!("model {name}"), own.get(name)?.clone()))).collect()
}

/// When the process of a server was started, by its page of metrics, in whole seconds by its own clock. Where several answer at one
/// address it is nobody's.
pub async fn started(base_url: &str, page: &str, key: Option<&Key>) -> Option<u64> {
    let mut found = None;
    for _ in 0..LOOKS {
        // each on a connection of its own
        let text = text(base_url, page, key).await?;
        let value = text.lines().find_map(|line| line.strip_prefix("process_start_time_seconds "))?;
        let at = value.split_whitespace().next()?.parse::<f64>().ok()?.round() as u64;
        if *found.get_or_insert(at) != at {
            return None;
        }
    }
    found
}

/// A hash over what a server tells, in whichever order; `None` where that is nothing. What it draws anew at each start is no part of it.
pub fn hash_of(told: &IndexMap<String, Json>) -> Option<String> {
    let all: BTreeMap<&String, String> =
        told.iter().filter(|(name, _)| *name != "random_seed").map(|(n, v)| (n, v.to_string())).collect();
    let text = serde_json::to_string(&all).ok().filter(|_| !all.is_empty())?;
    Some(short_hash(&text))
}

async fn get(base_url: &str, path: &str, key: Option<&Key>) -> Option<Json> {
    json_of(page(base_url, path, key).await?).await
}

async fn text(base_url: &str, path: &str, key: Option<&Key>) -> Option<String> {
    text_of(page(base_url, path, key).await?).await
}

async fn page(base_url: &str, path: &str, key: Option<&Key>) -> Option<Response> {
    let client = asking::client(PATIENCE, key)?;
    client.get(format!("{base_url}{path}")).send().await.ok()
}

async fn json_of(page: Response) -> Option<Json> {
    serde_json::from_str(&text_of(page).await?).ok()
}

async fn text_of(page: Response) -> Option<String> {
    trust::whole(page.error_for_status().ok()?).await.ok()
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

/// `non-default args: {…}` (vLLM), `server_args=ServerArgs(…)` (SGLang), `version 0.17.1` (vLLM's banner). What vLLM decided of
/// its arguments comes later in the log, and wins over what it was asked.
fn from_log(text: &str) -> Says {
    let mut says = Says::default();
    let mut decided = IndexMap::new();
    for line in text.lines() {
        decided.extend(decided_in(line));
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
    // other servers may use the same words
    if says.from.is_some() {
        says.arguments.extend(decided);
    }
    says
}

/// What a line of vLLM's log tells of its decisions: the configuration of its engine, whose plain entries are arguments, and
/// the tokens that it batches.
fn decided_in(line: &str) -> IndexMap<String, Json> {
    if let Some((_, rest)) = line.split_once(" LLM engine (v")
        && let Some((_, config)) = rest.split_once(") with config: ")
    {
        let entries = literal::entries(&format!("({config})")).unwrap_or_default();
        let plain = entries.into_iter().filter(|(_, v)| !v.is_object() && !v.is_array() && !v.is_null());
        let named = plain
            .map(|(name, v)| if name == "max_seq_len" { ("max_model_len".to_owned(), v) } else { (name, v) });
        return named.collect();
    }
    let batched = line.split_once("Chunked prefill is enabled with max_num_batched_tokens=");
    let number = batched.and_then(|(_, rest)| rest.trim_end_matches('.').parse::<u64>().ok());
    number.map(|n| ("max_num_batched_tokens".to_owned(), n.into())).into_iter().collect()
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
    fn what_vllm_decided_wins_over_what_it_was_asked() {
        let logs = [
            include_str!("../../../tests/fixtures/effective/vllm-0.17.1.log"),
            include_str!("../../../tests/fixtures/effective/vllm-0.32.0.log"),
        ];
        for log in logs {
            // as if it had been asked for more than it took
            let says = from_log(&log.replacen("'max_model_len': 8192", "'max_model_len': 9000", 1));
            assert_eq!(says.arguments["max_num_seqs"], 8, "as asked: it is not told again");
            assert_eq!(says.arguments["max_model_len"], 8192);
            assert_eq!(says.arguments["enable_prefix_caching"], true);
            assert_eq!(says.arguments["dtype"], "torch.bfloat16");
            assert_eq!(says.arguments.get("compilation_config"), None);
        }
        assert_eq!(from_log(logs[0]).arguments["max_num_batched_tokens"], 2048);
        assert_eq!(from_log("V1 LLM engine (v1) with config: seed=0"), Says::default());
    }

    #[test]
    fn sglang_logs_all_of_its_arguments() {
        let says = from_log(include_str!("../../../tests/fixtures/effective/sglang-0.5.9.log"));
        assert_eq!(says.arguments["max_total_tokens"], 16384);
        assert_eq!(says.arguments["disable_cuda_graph"], true);
        assert_eq!(says.arguments["attention_backend"], "torch_native");
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
