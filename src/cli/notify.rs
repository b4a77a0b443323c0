//! A command that is run when a study has ended, for people who sleep meanwhile. What it does is no part of the study: that it fails is
//! a warning, and it is not waited for longer than a minute. A signal ends it.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::console::Console;
use super::{closing, exit};
use crate::secrets;

const PATIENCE: Duration = Duration::from_mins(1);
/// So long it is waited for without a word.
const SLOW: Duration = Duration::from_secs(2);

/// What the command is told.
pub struct Notice<'a> {
    pub study: &'a str,
    pub status: u8,
    pub dir: &'a Path,
    /// the recommended command with its variables, if there is one
    pub recommended: Option<&'a str>,
}

/// One word for how a study ended.
pub fn outcome(status: u8) -> &'static str {
    match status {
        exit::DONE => "done",
        exit::NOTHING => "nothing_recommended",
        exit::INCOMPLETE => "incomplete",
        129 | 130 | 143 => "killed",
        _ => "failed",
    }
}

/// Runs the command, and says if it fails.
pub fn notify(command: &str, notice: &Notice<'_>, console: Console) {
    if let Err(why) = run(command, notice, console) {
        console.warn(&format!("the command of `--notify` {why}"));
    }
}

fn run(command: &str, notice: &Notice<'_>, console: Console) -> Result<(), String> {
    let report = std::path::absolute(notice.dir.join("report.md")).unwrap_or_default();
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command);
    shell.env("PERFLAB_OUTCOME", outcome(notice.status));
    shell.env("PERFLAB_EXIT_CODE", notice.status.to_string());
    shell.env("PERFLAB_STUDY", notice.study);
    shell.env("PERFLAB_DIR", notice.dir);
    shell.env("PERFLAB_REPORT", if report.is_file() { report.as_os_str() } else { "".as_ref() });
    // as the report has it: such commands post what they are told
    shell.env("PERFLAB_RECOMMENDED", &*secrets::mask(notice.recommended.unwrap_or_default()));
    // stdout is the report's; what the command prints goes to stderr
    shell.stdin(Stdio::null()).stdout(std::io::stderr()).process_group(0);
    let heard = closing::heard();
    let mut child = shell.spawn().map_err(|e| format!("could not be started: {e}"))?;
    let _passed_on = closing::pass_on(child.id(), heard);
    let began = Instant::now();
    let mut told = false;
    loop {
        if began.elapsed() >= SLOW && !std::mem::replace(&mut told, true) {
            console
                .say(&format!("waiting for the command of `--notify`, for {} s at most", PATIENCE.as_secs()));
        }
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("failed: {status}")),
            Ok(None) if began.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(20)),
            Ok(None) => {
                let _ = killpg(Pid::from_raw(child.id() as i32), Signal::SIGKILL);
                let _ = child.wait();
                return Err(format!("was ended after {} s", PATIENCE.as_secs()));
            }
            Err(e) => return Err(format!("was lost: {e}")),
        }
    }
}
