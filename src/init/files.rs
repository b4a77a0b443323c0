//! `perflab init --from FILE`: which tool a file belongs to, its content says.

use serde_json::Value;

use super::error::InitError;
use super::shell::{Vars, Word};
use super::study::{Asked, Command, Written};
use super::sweep::{self, Sweep};
use super::{auto_benchmark, json, yaml};
use crate::lang::source::Files;

/// A study from another tool's files, and the command that they go with. Without files, the command may be
/// `vllm bench sweep` itself, which names its own; then `None` says that it is not.
pub fn from_files(
    names: &[String],
    command: Option<Command<'_>>,
    files: &dyn Files,
    asked: &Asked,
) -> Result<Option<Written>, InitError> {
    let mut vars = Vars::default();
    for (name, value) in &asked.variables {
        vars.set(name, Word::plain(value.clone()));
    }
    let pasted = match command {
        Some(Command::Text(text)) => Some(text.to_owned()),
        Some(Command::Words([one])) => Some(one.clone()),
        Some(Command::Words(words)) => Some(shell_words::join(words)),
        None => None,
    };
    let own = match &pasted {
        Some(text) if text.contains("bench") && text.contains("sweep") => {
            Sweep::of_command(text, &mut vars, files)?
        }
        _ => None,
    };
    if names.is_empty() && own.is_none() {
        return Ok(None);
    }
    let mut sweep = own.unwrap_or_else(|| Sweep { runs: 3, ..Sweep::default() });
    for name in names {
        match read(name, files)? {
            Content::Sets(sets) => sweep.add(sets),
            Content::AutoBenchmark(_) if pasted.as_ref().is_some_and(|t| !t.trim().is_empty()) => {
                let why = "it has the server's flags itself: leave out the command beside it".to_owned();
                return Err(InitError::File { file: name.clone(), why });
            }
            Content::AutoBenchmark(tree) if names.len() == 1 => {
                return auto_benchmark::study(name, &tree, asked).map(Some);
            }
            Content::AutoBenchmark(_) => {
                let why = "a file of auto_benchmark is read alone".to_owned();
                return Err(InitError::File { file: name.clone(), why });
            }
        }
    }
    let command = command.unwrap_or(Command::Text(""));
    let serves = sweep.serve_command.is_some() || pasted.as_ref().is_some_and(|t| !t.trim().is_empty());
    if !serves {
        let why = "its parameters go with a serve command: add it, `-- vllm serve MODEL …`".to_owned();
        return Err(InitError::File { file: names.first().cloned().unwrap_or_default(), why });
    }
    sweep.study(command, asked).map(Some)
}

enum Content {
    Sets(Vec<serde_json::Map<String, Value>>),
    AutoBenchmark(Value),
}

/// A file's text, without the mark that some editors begin a file with.
pub fn text(name: &str, files: &dyn Files) -> Result<String, String> {
    let text = files.read(name)?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

fn read(name: &str, files: &dyn Files) -> Result<Content, InitError> {
    let wrong = |why: String| InitError::File { file: name.to_owned(), why };
    let text = text(name, files).map_err(wrong)?;
    let begins = text.trim_start();
    if begins.starts_with(['[', '{']) {
        let json = json::strict(&text).map_err(wrong)?;
        return sweep::sets(name, json).map(Content::Sets);
    }
    yaml::tree(&text).map(Content::AutoBenchmark).map_err(wrong)
}
