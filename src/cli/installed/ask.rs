//! Asks an installed engine for its version and its flags. It may be broken in any way: whatever it does, there is an answer in time.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use super::output::{PATIENCE, output};
use super::place::{From, Lead, leads, program};
use crate::lang::learn::{Row, rows_of_argparse, rows_of_help};
use crate::lang::sema::program::Engine;

const LIST_FLAGS: &str = include_str!("list_flags.py");

/// What an engine says of itself.
#[derive(Debug, Deserialize)]
pub struct Answer {
    pub version: String,
    pub rows: Vec<Row>,
}

#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error("there is no {0}")]
    NoProgram(String),
    #[error("{program} cannot be started: {source}")]
    Start { program: String, source: std::io::Error },
    #[error("{program} gave no answer within {} s", PATIENCE.as_secs())]
    Late { program: String },
    #[error("{program} failed: {why}")]
    Failed { program: String, why: String },
    #[error("{program} answers what is no list of flags")]
    Strange { program: String },
    #[error("the flags of {0} cannot be read from an installed engine")]
    Unsupported(String),
}

impl AskError {
    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::NoProgram(_) => {
                "install it, activate its environment, or say in the site where it lies: `engine … via venv \"DIR\"`"
            }
            Self::Unsupported(_) => "its flags are checked against its schema all the same",
            Self::Start { .. } | Self::Late { .. } | Self::Failed { .. } | Self::Strange { .. } => {
                "see what it says when you run it; its flags are checked against its schema all the same"
            }
        }
    }
}

/// Asks an engine: who its serve line starts, not whoever has its name.
pub fn ask(engine: &Engine, from: &From) -> Result<Answer, AskError> {
    match engine.root() {
        "vllm" | "sglang" => ask_leads(engine.root(), leads(engine, from)?),
        "llama_cpp" => ask_llama(&program(&server(engine), from)?),
        other => Err(AskError::Unsupported(other.to_owned())),
    }
}

/// The word of the serve line that names llama.cpp's server.
fn server(engine: &Engine) -> String {
    let words = shell_words::split(&engine.serve).unwrap_or_default();
    words
        .into_iter()
        .find(|w| w.rsplit('/').next() == Some("llama-server"))
        .unwrap_or("llama-server".to_owned())
}

/// The answer of the first that gives one; else why the last gave none, which is the program itself where it can be asked.
fn ask_leads(root: &str, leads: Vec<Lead>) -> Result<Answer, AskError> {
    let mut failed = AskError::NoProgram(root.to_owned());
    for lead in leads {
        let answer = match lead {
            Lead::Python(python) => ask_python(root, &python),
            Lead::Program(program, before) => ask_program(&program, &before),
        };
        match answer {
            Ok(answer) => return Ok(answer),
            Err(why) => failed = why,
        }
    }
    Err(failed)
}

fn ask_python(engine: &str, python: &Path) -> Result<Answer, AskError> {
    let out = output(Command::new(python).args(["-c", LIST_FLAGS, engine]))?;
    serde_json::from_str(&out.stdout).map_err(|_| AskError::Strange { program: python.display().to_string() })
}

/// Asks a program whose environment nobody knows, as a script of a shell: its version and its help are all that it says.
fn ask_program(program: &Path, before: &[String]) -> Result<Answer, AskError> {
    let said = output(Command::new(program).arg("--version"))?;
    let strange = || AskError::Strange { program: program.display().to_string() };
    // below what importing it printed
    let version = said.stdout.lines().rev().find_map(release).ok_or_else(strange)?;
    let help = |word: &str| output(Command::new(program).args(before).arg(word));
    // the short help of some releases lists groups of flags only
    let help = help("--help=all").or_else(|_| help("--help"))?;
    let mut rows = rows_of_argparse(&help.stdout);
    rows.sort_by(|a, b| a.flag.cmp(&b.flag));
    if rows.is_empty() { Err(strange()) } else { Ok(Answer { version, rows }) }
}

/// The release in a line like `0.17.1+cpu` or `vllm 0.17.1`.
fn release(line: &str) -> Option<String> {
    let word = line.split_whitespace().last()?.trim_start_matches('v');
    let numbered = word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    numbered.then(|| word.to_owned())
}

fn ask_llama(server: &Path) -> Result<Answer, AskError> {
    let strange = || AskError::Strange { program: server.display().to_string() };
    let said = output(Command::new(server).arg("--version"))?;
    let said = said.stdout + &said.stderr;
    // `version: 11434 (ab12cd3)`
    let build = said.lines().find_map(|l| l.trim().strip_prefix("version:"));
    let version = build.and_then(|b| b.split_whitespace().next()).ok_or_else(strange)?.to_owned();
    let rows = rows_of_help(&output(Command::new(server).arg("--help"))?.stdout);
    if rows.is_empty() { Err(strange()) } else { Ok(Answer { version, rows }) }
}
