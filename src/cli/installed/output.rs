//! Runs a program for what it prints. It may be broken in any way: whatever it does, there is an end in time.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::ask::AskError;

/// Importing an engine takes half a minute on a slow machine.
pub const PATIENCE: Duration = Duration::from_mins(3);
/// More than any engine prints.
const MOST_OUTPUT: u64 = 16 << 20;

pub struct Output {
    pub stdout: String,
    pub stderr: String,
}

/// What it prints, if it ends well.
pub fn output(command: &mut Command) -> Result<Output, AskError> {
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

fn wait(child: &mut Child) -> Option<ExitStatus> {
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
