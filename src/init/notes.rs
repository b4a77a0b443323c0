//! What of a command came over and deserves a word: flags that nobody can check, flags that no engine takes, one machine of several.

use super::arguments::{Argument, Arguments};
use crate::lang::sema::flags::typed;
use crate::lang::sema::program::{self, WrittenValue};
use crate::lang::source::Span;

/// Flags that name a file of settings.
const SETTINGS: [&str; 3] = ["--config", "--extra-llm-api-options", "--models-preset"];

/// One line each.
pub fn of(known: &program::Engine, arguments: &Arguments) -> Vec<String> {
    let flags = arguments.flags.iter();
    let told = flags.filter_map(|flag| match &flag.raw {
        Some(_) if flag.wrong() => Some(wrong(known, flag)),
        Some(why) if flag.passed_on() => Some(format!("{}: {why}", flag.text())),
        _ => None,
    });
    let files = arguments.flags.iter().filter(|f| SETTINGS.contains(&f.canonical.replace('_', "-").as_str()));
    let unread = files.map(|f| format!("{}: what the file sets is not checked", f.text()));
    told.chain(unread).chain(one_of_several(arguments)).collect()
}

/// What the checker says of a flag that stands as it was typed.
fn wrong(known: &program::Engine, flag: &Argument) -> String {
    let span = Span::default();
    let value = flag.value.as_ref();
    let written = value.map(|v| WrittenValue { text: v.clone(), json: flag.json, template: false, span });
    let problem = typed(&known.schema, known.version.as_deref(), &flag.name, written.as_ref()).err();
    let said = problem.map(|p| p.diagnostic(&flag.name, span, written.as_ref(), known).message);
    let said = said.unwrap_or_else(|| "not what the engine takes".to_owned());
    format!("{} stands as it was typed, and `perflab check` refuses it: {said}", flag.text())
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
