//! What of a command came over and deserves a word: flags that nobody can check, flags that no engine takes, one machine of several.

use super::arguments::{Argument, Arguments};
use crate::lang::diag::Diagnostic;
use crate::lang::sema::flags::{doubt, typed};
use crate::lang::sema::program;
use crate::lang::source::Span;

/// Flags that name a file of settings.
const SETTINGS: [&str; 3] = ["--config", "--extra-llm-api-options", "--models-preset"];

/// One line each.
pub fn of(known: &program::Engine, arguments: &Arguments) -> Vec<String> {
    let told = of_flags(known, arguments.flags.iter().chain(arguments.published.iter().map(|(a, _)| a)));
    let files = arguments.flags.iter().filter(|f| SETTINGS.contains(&f.canonical.replace('_', "-").as_str()));
    let unread = files.map(|f| format!("{}: what the file sets is not checked", f.text()));
    told.into_iter().chain(unread).chain(one_of_several(arguments)).collect()
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
