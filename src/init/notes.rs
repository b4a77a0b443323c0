//! What of a command came over and deserves a word: flags that nobody can check, flags that no engine takes, one machine of several.

use serde_json::Value as Json;

use super::arguments::{Argument, Arguments};
use crate::lang::diag::Diagnostic;
use crate::lang::sema::program;
use crate::lang::sema::typed::{doubt, typed};
use crate::lang::source::Span;

/// Flags that name a file of settings.
const SETTINGS: [&str; 3] = ["--config", "--extra-llm-api-options", "--models-preset"];

/// One line each.
pub fn of(known: &program::Engine, arguments: &Arguments) -> Vec<String> {
    let told = of_flags(known, arguments.flags.iter().chain(arguments.published.iter().map(|(a, _)| a)));
    let files = arguments.flags.iter().filter(|f| SETTINGS.contains(&f.canonical.replace('_', "-").as_str()));
    let unread = files.map(|f| format!("{}: what the file sets is not checked", f.text()));
    let told = told.into_iter().chain(unread).chain(one_of_several(arguments));
    told.chain(half(arguments)).chain(of_the_hub(arguments)).collect()
}

/// What is said of flags that the schema does not have like this; of those of one name once.
pub fn of_flags<'a>(known: &program::Engine, flags: impl Iterator<Item = &'a Argument>) -> Vec<String> {
    let mut names: Vec<&str> = Vec::new();
    let mut out = Vec::new();
    for flag in flags {
        let told = match &flag.raw {
            Some(_) if flag.wrong() => wrong(known, flag),
            Some(why) if flag.passed_on() => format!("{}: {why}", flag.text()),
            _ => continue,
        };
        if !names.contains(&flag.name.as_str()) {
            names.push(&flag.name);
            out.push(told);
        }
    }
    out
}

/// What the checker says of a flag that stands as it was typed.
fn wrong(known: &program::Engine, flag: &Argument) -> String {
    let (name, span, written) = (&flag.name, Span::default(), flag.written());
    let (schema, version, value) = (&known.schema, known.version.as_deref(), written.as_ref());
    let refused = typed(schema, version, name, value).err();
    let does = if refused.is_some() { "refuses" } else { "doubts" };
    let said = match refused {
        Some(problem) => Some(problem.diagnostic(name, span, value, known)),
        None => doubt(schema, version, name, value).map(|p| p.doubt(name, span, value, known)),
    };
    let said = said.map_or_else(|| "not what the engine takes".to_owned(), |d| sentence(&d));
    format!("{} stands as it was typed, and `perflab check` {does} it: {said}", flag.text())
}

/// A diagnostic in a line.
fn sentence(d: &Diagnostic) -> String {
    d.help.as_ref().map_or_else(|| d.message.clone(), |help| format!("{}; {help}", d.message))
}

/// A command that starts the prefill or the decode of a server which has them apart.
fn half(arguments: &Arguments) -> Option<String> {
    let (flag, role) = arguments.flags.iter().find_map(|f| Some((f, role(f)?)))?;
    Some(format!(
        "{}: the command starts half of a server, its {role}, and perflab measures whole servers: leave this out, or start all of it \
         yourself and measure the address that clients ask, `engine … via url` in a site",
        flag.text()
    ))
}

/// What a flag leaves to a server, if that is one part of its work.
fn role(flag: &Argument) -> Option<&'static str> {
    let value = flag.value.as_deref()?;
    let json = || serde_json::from_str::<Json>(value).ok();
    let said = match flag.canonical.replace('_', "-").as_str() {
        "--kv-transfer-config" => json()?.get("kv_role")?.as_str()?.to_owned(),
        "--kv-transfer-config.kv-role" | "--disaggregation-mode" => value.to_owned(),
        _ => return None,
    };
    match said.as_str() {
        "kv_producer" | "prefill" => Some("prefill"),
        "kv_consumer" | "decode" => Some("decode"),
        _ => None,
    }
}

/// llama.cpp takes a file by `-m`, and a model of the hub by `-hf`.
fn of_the_hub(arguments: &Arguments) -> Option<String> {
    let model = &arguments.model;
    let by_file = matches!(arguments.model_option.as_deref(), Some("-m" | "--model"));
    let (name, quant) = model.split_once(':')?;
    let named = name.to_ascii_lowercase().contains("gguf");
    let parts = name.split('/').filter(|p| !p.is_empty()).count();
    let hub = named && parts == 2 && !name.starts_with(['/', '.', '~']);
    let found = by_file && hub && !quant.contains('/') && !quant.is_empty();
    found
        .then(|| format!("-m {model}: -m names a file; llama-server takes a model of the hub by -hf {model}"))
}

/// A command that starts a part of a server which spans machines.
fn one_of_several(arguments: &Arguments) -> Option<String> {
    let several = |flag: &&Argument| match flag.canonical.as_str() {
        "--nnodes" => flag.number().is_some_and(|n| n > 1),
        "--node-rank" => flag.number().is_some_and(|n| n > 0),
        "--headless" | "--data-parallel-address" => true,
        _ => false,
    };
    let flag = arguments.flags.iter().find(several)?;
    Some(format!(
        "{}: the command starts one of several machines, and perflab measures what one machine serves",
        flag.text()
    ))
}
