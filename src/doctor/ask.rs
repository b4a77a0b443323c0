//! Asks a program a short question. It may hang, print for ever or leave children: there is an answer in time all the same.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

const PATIENCE: Duration = Duration::from_secs(5);
/// To set up a container takes a moment, on a cold disk some.
const LONG_PATIENCE: Duration = Duration::from_secs(20);
const MOST_OUTPUT: u64 = 64 << 10;

/// What a program prints on both streams; `None` if it fails, or takes longer than some seconds.
pub fn ask(program: &Path, args: &[&str]) -> Option<String> {
    told(program, args, PATIENCE).filter(|(success, _)| *success).map(|(_, text)| text)
}

/// What a program prints that takes its time, whether it fails or not; `None` if it does not end.
pub fn ask_slow(program: &Path, args: &[&str]) -> Option<String> {
    told(program, args, LONG_PATIENCE).map(|(_, text)| text)
}

/// Whether it succeeded, and what it printed.
fn told(program: &Path, args: &[&str], patience: Duration) -> Option<(bool, String)> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().ok()?;
    let group = Pid::from_raw(i32::try_from(child.id()).ok()?);
    let (out, err) = (child.stdout.take()?, child.stderr.take()?);
    let (done, answered) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = out.take(MOST_OUTPUT).read_to_end(&mut text);
        let _ = err.take(MOST_OUTPUT).read_to_end(&mut text);
        let _ = done.send(String::from_utf8_lossy(&text).into_owned());
    });
    let answer = answered.recv_timeout(patience).ok();
    if answer.is_none() {
        let _ = killpg(group, Signal::SIGKILL);
    }
    let status = child.wait().ok()?;
    answer.map(|text| (status.success(), text))
}

/// The first program of that name on the `PATH`.
pub fn on_path(name: &str) -> Option<PathBuf> {
    which::which_global(name).ok()
}

pub fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// The first number of a text that looks like a version: `Docker version 27.1.1, build` has `27.1.1`.
pub fn version_in(text: &str) -> Option<String> {
    let words = text.split(|c: char| c.is_whitespace() || c == ',' || c == '(' || c == ')');
    let candidates = words.map(|w| w.trim_start_matches('v'));
    let is_version =
        |w: &&str| w.starts_with(|c: char| c.is_ascii_digit()) && w.contains('.') && !w.contains('/');
    candidates.into_iter().find(is_version).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_time_or_not_at_all() {
        assert_eq!(ask(Path::new("/bin/echo"), &["hello"]).as_deref(), Some("hello\n"));
        assert_eq!(ask(Path::new("/bin/false"), &[]), None);
        assert_eq!(ask(Path::new("/no/such/program"), &[]), None);
    }

    #[test]
    fn versions_stand_in_sentences() {
        assert_eq!(version_in("Docker version 27.1.1, build 6312585").as_deref(), Some("27.1.1"));
        assert_eq!(version_in("podman version 4.3.1").as_deref(), Some("4.3.1"));
        assert_eq!(version_in("runc version v1.1.5+ds1\ncommit: x").as_deref(), Some("1.1.5+ds1"));
        assert_eq!(version_in("none"), None);
    }
}
