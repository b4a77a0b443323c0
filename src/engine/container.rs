//! Containers: engines that run under docker or podman instead of as children of the guard.
//!
//! A container is no descendant of ours: a daemon owns it, and killing the client that started it leaves it running.
//! So each carries labels, the study's mark and its launch's nonce, and is removed by them: by the guard when the
//! launch ends, however it ends, and by the next start for guards that were killed too. Nothing without our label is
//! ever touched.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::prctl;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The label that holds a launch's nonce.
pub const LAUNCH_LABEL: &str = "perflab.launch";
/// The label that holds the mark of a study's state directory.
pub const STUDY_LABEL: &str = "perflab.study";

/// A question to docker or podman is answered by then, or the service hangs.
const PATIENCE: Duration = Duration::from_secs(20);
/// Fetching an image takes as long as a network needs.
const PULL_PATIENCE: Duration = Duration::from_hours(2);
/// A client that was asked to leave tidies up, and is killed if it takes longer.
const TIDYING: Duration = Duration::from_secs(2);
/// Between two looks at whether a container is gone.
const PAUSE: Duration = Duration::from_millis(100);

/// docker or podman, as a program of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runtime {
    pub program: PathBuf,
    /// Its own environment: where its service and configuration are.
    pub env: Vec<(String, String)>,
}

/// Why docker or podman could not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RuntimeError {
    #[error("{program} cannot be started: {why}")]
    Start { program: String, why: String },
    #[error("{program} gave no answer within {} s", within.as_secs())]
    Late { program: String, within: Duration },
    /// Another time it may be had.
    #[error("the image {image} is not on this machine, and its registry cannot be reached: {why}")]
    Unreachable { image: String, why: String },
    #[error("the image {image} is not on this machine, which has no room for it: {why}")]
    NoRoom { image: String, why: String },
    #[error("the image {image} cannot be had: {program} says: {why}")]
    NoImage { image: String, program: String, why: String },
    #[error("{program} says: {why}")]
    Refused { program: String, why: String },
    #[error("{program} was stopped")]
    Stopped { program: String },
}

/// The containers of one launch: at most one, but it is its label that counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Container {
    pub runtime: Runtime,
    pub nonce: String,
}

impl Container {
    /// Removes what carries the launch's label, again and again until nothing does or `until` has passed.
    pub(super) fn remove(&self, until: Instant) -> Result<(), RuntimeError> {
        loop {
            let last = match self.runtime.remove(LAUNCH_LABEL, &self.nonce) {
                Ok(found) if found.is_empty() => return Ok(()),
                Ok(_) => None,
                Err(e) => Some(e),
            };
            if Instant::now() > until {
                let program = self.runtime.name();
                let why = "the container does not go away".to_owned();
                return Err(last.unwrap_or(RuntimeError::Refused { program, why }));
            }
            thread::sleep(PAUSE);
        }
    }

    /// The first process of each container that runs, as this machine counts processes.
    pub(super) fn pids(&self) -> Vec<i32> {
        let Ok(ids) = self.runtime.list(LAUNCH_LABEL, &self.nonce) else { return Vec::new() };
        let pid = |id: &String| self.runtime.ask(&["inspect", "--format", "{{.State.Pid}}", id]).ok();
        ids.iter().filter_map(pid).filter_map(|p| p.trim().parse().ok()).filter(|p| *p > 1).collect()
    }

    /// What is left of the launch, by the ids of its containers.
    pub(super) fn left(&self) -> Vec<String> {
        self.runtime.list(LAUNCH_LABEL, &self.nonce).unwrap_or_default()
    }
}

impl Runtime {
    /// Finds a program on perflab's own `PATH`, and what of the environment it needs.
    pub fn find(name: &str) -> Option<Self> {
        Some(Self { program: which::which_global(name).ok()?, env: own_environment() })
    }

    /// `docker` or `podman`.
    pub fn name(&self) -> String {
        self.program.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// An image's own id, if it is on this machine.
    pub fn image(&self, reference: &str) -> Result<Option<String>, RuntimeError> {
        match self.ask(&["image", "inspect", "--format", "{{.Id}}", reference]) {
            Ok(id) => Ok(Some(id.trim().to_owned()).filter(|id| !id.is_empty())),
            Err(RuntimeError::Refused { why, .. }) if is_absent(&why) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Fetches an image, unless `stop` says meanwhile that nobody wants it any more. The client does not outlive this process.
    pub fn pull(&self, reference: &str, stop: impl Fn() -> bool) -> Result<(), RuntimeError> {
        let client = mortal(self.client(&["pull", "--quiet", reference]));
        self.answer(client, PULL_PATIENCE, stop).map(drop).map_err(|e| not_fetched(e, reference))
    }

    /// Removes every container of a study whose state directory has this mark. Returns their ids.
    pub fn sweep(&self, mark: &str) -> Result<Vec<String>, RuntimeError> {
        self.sweep_labelled(STUDY_LABEL, mark)
    }

    /// Those of one launch.
    pub fn sweep_launch(&self, nonce: &str) -> Result<Vec<String>, RuntimeError> {
        self.sweep_labelled(LAUNCH_LABEL, nonce)
    }

    fn sweep_labelled(&self, label: &str, value: &str) -> Result<Vec<String>, RuntimeError> {
        let until = Instant::now() + PATIENCE;
        let mut all = Vec::new();
        loop {
            let found = self.remove(label, value)?;
            if found.is_empty() {
                return Ok(all);
            }
            all.extend(found.into_iter().filter(|id| !all.contains(id)).collect::<Vec<_>>());
            if Instant::now() > until {
                let why = format!("{} cannot be removed", all.join(", "));
                return Err(RuntimeError::Refused { program: self.name(), why });
            }
            thread::sleep(PAUSE);
        }
    }

    /// Asks for the removal of what carries a label; what was met is not gone yet.
    fn remove(&self, label: &str, value: &str) -> Result<Vec<String>, RuntimeError> {
        let ids = self.list(label, value)?;
        if !ids.is_empty() {
            let mut words = vec!["rm", "--force", "--volumes"];
            words.extend(ids.iter().map(String::as_str));
            // one that goes by itself at this moment is an error to docker; the next list tells
            let _ = self.ask(&words);
        }
        Ok(ids)
    }

    /// All of them, running or not.
    fn list(&self, label: &str, value: &str) -> Result<Vec<String>, RuntimeError> {
        let filter = format!("label={label}={value}");
        let words = ["ps", "--all", "--quiet", "--no-trunc", "--filter", &filter];
        Ok(self.ask(&words)?.split_whitespace().map(str::to_owned).collect())
    }

    /// Runs the client with a command that starts a container, and waits for its end.
    pub(super) fn start(&self, words: &[&str]) -> Result<(), RuntimeError> {
        self.ask(words).map(drop)
    }

    fn ask(&self, words: &[&str]) -> Result<String, RuntimeError> {
        self.answer(self.client(words), PATIENCE, || false)
    }

    /// In a process group of its own: a terminal's signals are for perflab.
    fn client(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words).env_clear().envs(self.env.iter().cloned()).current_dir("/").process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn answer(
        &self,
        mut client: Command,
        patience: Duration,
        stop: impl Fn() -> bool,
    ) -> Result<String, RuntimeError> {
        let program = self.name();
        let start = |e: std::io::Error| RuntimeError::Start { program: program.clone(), why: e.to_string() };
        let mut child = client.spawn().map_err(start)?;
        let (said, complaint) = (reader(child.stdout.take()), reader(child.stderr.take()));
        let until = Instant::now() + patience;
        let status = loop {
            if let Some(status) = child.try_wait().map_err(start)? {
                break status;
            }
            if stop() {
                end(&mut child, TIDYING);
                return Err(RuntimeError::Stopped { program });
            }
            if Instant::now() > until {
                end(&mut child, Duration::ZERO);
                return Err(RuntimeError::Late { program, within: patience });
            }
            thread::sleep(Duration::from_millis(5));
        };
        let said = said.join().unwrap_or_default();
        if status.success() {
            return Ok(said);
        }
        let complaint = complaint.join().unwrap_or_default();
        let tells = |l: &&str| !l.is_empty() && !is_advice(l);
        let why = complaint.lines().rev().map(str::trim).find(tells).unwrap_or("nothing");
        Err(RuntimeError::Refused { program, why: why.to_owned() })
    }
}

/// A program that dies with the thread that starts it.
fn mortal(mut program: Command) -> Command {
    // SAFETY: between fork and exec only that system call is made
    unsafe { program.pre_exec(|| Ok(prctl::set_pdeathsig(Signal::SIGKILL)?)) };
    program
}

/// Ends a client and what it has started, which may tidy up for so long.
fn end(child: &mut Child, tidying: Duration) {
    let group = Pid::from_raw(child.id() as i32);
    let until = Instant::now() + tidying;
    let _ = killpg(group, Signal::SIGTERM);
    while Instant::now() < until && matches!(child.try_wait(), Ok(None)) {
        thread::sleep(Duration::from_millis(5));
    }
    let _ = killpg(group, Signal::SIGKILL);
    let _ = child.wait();
}

/// Why an image was not fetched: whose fault that is, is told by words alone.
fn not_fetched(error: RuntimeError, image: &str) -> RuntimeError {
    let RuntimeError::Refused { program, why } = error else { return error };
    let image = image.to_owned();
    let said = why.to_lowercase();
    let says = |all: &[&str]| all.iter().any(|words| said.contains(words));
    if says(&["no space left on device"]) {
        return RuntimeError::NoRoom { image, why };
    }
    // what was to be built here is at no registry
    if says(&PASSING) && !says(&OWN_SERVICE) && !image.starts_with("localhost/") {
        return RuntimeError::Unreachable { image, why };
    }
    RuntimeError::NoImage { image, program, why }
}

/// What docker and podman say of a registry that is away, out of reach, overloaded or in trouble.
const PASSING: [&str; 23] = [
    "connection refused",
    "connection reset",
    "connection timed out",
    "broken pipe",
    "no such host",
    "temporary failure in name resolution",
    "server misbehaving",
    "network is unreachable",
    "network is down",
    "no route to host",
    "host is down",
    "i/o timeout",
    "tls handshake timeout",
    "timeout exceeded",
    "deadline exceeded",
    "request canceled while waiting",
    "unexpected eof",
    ": eof",
    "too many requests",
    "toomanyrequests",
    "bad gateway",
    "service unavailable",
    "internal server error",
];
/// A service of this machine's that does not run is no registry.
const OWN_SERVICE: [&str; 2] = ["docker daemon", "podman socket"];

/// docker ends its complaints with where to read on.
fn is_advice(line: &str) -> bool {
    line.ends_with("--help'.") || (line.starts_with("Run '") && line.contains("--help'"))
}

/// docker: `No such image: x`; podman: `x: image not known`.
fn is_absent(why: &str) -> bool {
    let why = why.to_lowercase();
    ["no such image", "image not known", "not found", "failed to find image"].iter().any(|w| why.contains(w))
}

/// Everything of perflab's environment but secrets that are not a registry's: the client needs to find its service.
fn own_environment() -> Vec<(String, String)> {
    const NEEDED: [&str; 12] = [
        "PATH",
        "HOME",
        "USER",
        "LANG",
        "TMPDIR",
        "XDG_RUNTIME_DIR",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "REGISTRY_AUTH_FILE",
        "SSH_AUTH_SOCK",
        "DBUS_SESSION_BUS_ADDRESS",
        "STORAGE_DRIVER",
    ];
    const FAMILIES: [&str; 3] = ["DOCKER_", "CONTAINER", "PODMAN_"];
    let wanted = |n: &str| NEEDED.contains(&n) || FAMILIES.iter().any(|f| n.starts_with(f));
    let own = std::env::vars_os().filter_map(|(n, v)| Some((n.into_string().ok()?, v.into_string().ok()?)));
    own.filter(|(n, _)| wanted(n)).collect()
}

fn reader(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            let _ = pipe.take(1 << 20).read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::*;

    /// A runtime that is a script: `state` beside it holds the ids that it lists.
    fn scripted(dir: &Path, script: &str) -> Runtime {
        let program = dir.join("docker");
        fs::write(&program, format!("#!/bin/sh\ncd '{}'\necho \"$*\" >> asked\n{script}\n", dir.display()))
            .unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Runtime { program, env: vec![("PATH".into(), "/usr/bin:/bin".into())] }
    }

    #[test]
    fn containers_are_removed_by_label_and_seen_to_be_gone() {
        let dir = tempfile::tempdir().unwrap();
        let script =
            "case $1 in ps) cat state;; rm) echo 'removal in progress' >&2; : > state; exit 1;; esac";
        let runtime = scripted(dir.path(), script);
        fs::write(dir.path().join("state"), "abc\ndef\n").unwrap();
        let container = Container { runtime: runtime.clone(), nonce: "plab-1-L001".into() };
        container.remove(Instant::now() + Duration::from_secs(5)).unwrap();
        let asked = fs::read_to_string(dir.path().join("asked")).unwrap();
        let lines: Vec<&str> = asked.lines().collect();
        assert_eq!(lines[0], "ps --all --quiet --no-trunc --filter label=perflab.launch=plab-1-L001");
        assert_eq!(lines[1], "rm --force --volumes abc def");
        assert_eq!(lines.len(), 3);
        assert_eq!(runtime.sweep("plab-1-").unwrap(), [""; 0]);
    }

    #[test]
    fn a_registry_that_is_away_is_told_from_an_image_that_is_nowhere() {
        let of = |why: &str, image: &str| {
            not_fetched(RuntimeError::Refused { program: "docker".into(), why: why.into() }, image)
        };
        let says = [
            "Error response from daemon: Get \"https://r.io/v2/\": dial tcp 10.0.0.1:443: connect: connection refused",
            "Error response from daemon: Get \"https://r.io/v2/\": dial tcp: lookup r.io: no such host",
            "Error response from daemon: Get \"https://r.io/v2/\": net/http: TLS handshake timeout",
            "Error: initializing source docker://r.io/a:1: pinging container registry r.io: received unexpected HTTP status: 503 Service Unavailable",
            "toomanyrequests: You have reached your pull rate limit",
        ];
        for why in says {
            assert!(matches!(of(why, "r.io/a:1"), RuntimeError::Unreachable { .. }), "{why}");
        }
        let mistaken = [
            "Error response from daemon: manifest for r.io/a:1 not found: manifest unknown",
            "Error response from daemon: pull access denied for a, repository does not exist or may require 'docker login'",
            "Cannot connect to the Docker daemon at tcp://10.0.0.1: connection refused. Is the docker daemon running?",
        ];
        for why in mistaken {
            assert!(matches!(of(why, "r.io/a:1"), RuntimeError::NoImage { .. }), "{why}");
        }
        assert!(matches!(of(says[0], "localhost/a:1"), RuntimeError::NoImage { .. }));
        assert!(matches!(of(says[0], "localhost:5000/a:1"), RuntimeError::Unreachable { .. }));
        assert!(matches!(of("write /x: no space left on device", "r.io/a:1"), RuntimeError::NoRoom { .. }));
    }

    #[test]
    fn a_service_that_is_away_is_an_error_and_an_absent_image_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let runtime = scripted(dir.path(), "echo 'Cannot connect to the Docker daemon' >&2; exit 1");
        let container = Container { runtime: runtime.clone(), nonce: "x".into() };
        let error = container.remove(Instant::now()).unwrap_err();
        assert_eq!(error.to_string(), "docker says: Cannot connect to the Docker daemon");
        assert!(runtime.image("a:b").is_err());
        let runtime = scripted(dir.path(), "echo 'Error: No such image: a:b' >&2; exit 1");
        assert_eq!(runtime.image("a:b"), Ok(None));
    }
}
