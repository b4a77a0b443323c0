//! Asks an installed engine for its version and its flags. It may be broken in any way: whatever it does, there is an answer in time.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::Deserialize;

use crate::lang::learn::{Row, rows_of_help};

/// Importing an engine takes half a minute on a slow machine.
const PATIENCE: Duration = Duration::from_mins(3);
/// More than any engine prints.
const MOST_OUTPUT: u64 = 16 << 20;
const LIST_FLAGS: &str = include_str!("list_flags.py");

/// Where to look for an engine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum From {
    Path,
    Venv(PathBuf),
}

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

/// Asks the engine of that name in the standard library.
pub fn ask(engine: &str, from: &From) -> Result<Answer, AskError> {
    match engine {
        "vllm" | "sglang" => ask_python(engine, &python(engine, from)?),
        "llama_cpp" => ask_llama(&program("llama-server", from)?),
        other => Err(AskError::Unsupported(other.to_owned())),
    }
}

fn ask_python(engine: &str, python: &Path) -> Result<Answer, AskError> {
    let out = output(Command::new(python).args(["-c", LIST_FLAGS, engine]))?;
    serde_json::from_str(&out.stdout).map_err(|_| AskError::Strange { program: python.display().to_string() })
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

/// The interpreter that the engine is installed for.
fn python(engine: &str, from: &From) -> Result<PathBuf, AskError> {
    if let From::Venv(_) = from {
        return program("python", from).or_else(|_| program("python3", from));
    }
    // the program's own environment has its interpreter beside it
    let beside = || {
        let found = program(engine, from).ok()?;
        let real = found.canonicalize().ok()?;
        Some(real.with_file_name("python")).filter(|p| p.is_file())
    };
    let on_path =
        || program("python3", from).map_err(|_| AskError::NoProgram(format!("{engine} on the PATH")));
    beside().map_or_else(on_path, Ok)
}

/// Whether a program is where it would be looked for.
pub fn is_here(name: &str, from: &From) -> bool {
    program(name, from).is_ok()
}

fn program(name: &str, from: &From) -> Result<PathBuf, AskError> {
    match from {
        From::Venv(dir) => {
            let program = dir.join("bin").join(name);
            if program.is_file() {
                Ok(program)
            } else {
                Err(AskError::NoProgram(program.display().to_string()))
            }
        }
        From::Path => {
            which::which_global(name).map_err(|_| AskError::NoProgram(format!("{name} on the PATH")))
        }
    }
}

struct Output {
    stdout: String,
    stderr: String,
}

fn output(command: &mut Command) -> Result<Output, AskError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let start = |source| AskError::Start { program: program.clone(), source };
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(start)?;
    let group = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
    let stdout = reader(child.stdout.take());
    let stderr = reader(child.stderr.take());
    let status = wait(&mut child);
    // what the engine left behind holds the pipes open
    let _ = killpg(group, Signal::SIGKILL);
    let Some(status) = status else {
        let _ = child.wait();
        return Err(AskError::Late { program });
    };
    let (stdout, stderr) = (stdout.join().unwrap_or_default(), stderr.join().unwrap_or_default());
    if !status.success() {
        let last = stderr.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("it says nothing");
        return Err(AskError::Failed { program, why: last.trim().to_owned() });
    }
    Ok(Output { stdout, stderr })
}

fn wait(child: &mut Child) -> Option<std::process::ExitStatus> {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if let Some(status) = child.try_wait().ok()? {
            return Some(status);
        }
        thread::sleep(Duration::from_millis(20));
    }
    None
}

fn reader(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.by_ref().take(MOST_OUTPUT).read_to_end(&mut bytes);
            let _ = std::io::copy(&mut pipe, &mut std::io::sink());
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
