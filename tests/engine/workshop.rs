//! Tools of these tests: launches, waiting, and looking whether a process lives.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use perflab::engine::{self, LaunchSpec, Ready, Server, StartError, Stop};
use tokio_util::sync::CancellationToken;

use super::roles::{COUNT, NOTES, PORT, ROLE, command_line, variable};

/// How long anything may take before a test gives up. A machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A directory, a free port and a name for one launch.
pub struct Workshop {
    /// Removed with the workshop; a perflab that is to be killed works in the directory of its test.
    _dir: Option<tempfile::TempDir>,
    pub dir: PathBuf,
    pub port: u16,
    pub nonce: String,
}

impl Workshop {
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let dir = tempfile::tempdir().unwrap();
        Self {
            dir: dir.path().canonicalize().unwrap(),
            _dir: Some(dir),
            port: engine::free_port("127.0.0.1").unwrap(),
            nonce: format!("test-{}-{}.", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed)),
        }
    }

    /// A launch of `sh -c script`.
    pub fn script(&self, script: &str) -> LaunchSpec {
        self.launch(["/bin/sh", "-c", script].map(Into::into).to_vec(), &[])
    }

    /// A launch of this test binary in a role.
    pub fn role(&self, role: &str) -> LaunchSpec {
        self.launch(command_line(), &[(ROLE, role)])
    }

    /// The same, where the shell does something first.
    pub fn role_after(&self, script: &str, role: &str) -> LaunchSpec {
        let line = shell_words(&command_line());
        self.launch(
            ["/bin/sh", "-c", &format!("{script}; exec {line}")].map(Into::into).to_vec(),
            &[(ROLE, role)],
        )
    }

    fn launch(&self, argv: Vec<String>, env: &[(&str, &str)]) -> LaunchSpec {
        let (port, notes) = (self.port.to_string(), self.notes());
        let own = [("PATH", "/usr/bin:/bin"), (PORT, &port), (NOTES, notes.to_str().unwrap()), (COUNT, "3")];
        let env: BTreeMap<&str, &str> = own.into_iter().chain(env.iter().copied()).collect();
        LaunchSpec {
            cpus: Vec::new(),
            memory: None,
            argv,
            env: env.into_iter().map(|(n, v)| (n.into(), v.into())).collect(),
            cwd: self.dir.clone(),
            dir: self.dir.join("launch"),
            private: None,
            host: "127.0.0.1".into(),
            port: self.port,
            key: None,
            ready: Ready { path: "/health".into(), within: PATIENCE, overall: 2 * PATIENCE },
            stop: Stop { signal: Signal::SIGTERM, within: PATIENCE },
            failures: Vec::new(),
            guard: [env!("CARGO_BIN_EXE_perflab"), "guard"].map(Into::into).to_vec(),
            keep_fd: None,
            grows: None,
            lookups: None,
            container: None,
            nonce: self.nonce.clone(),
        }
    }

    pub fn notes(&self) -> PathBuf {
        self.dir.join("notes")
    }

    pub fn log(&self) -> PathBuf {
        self.dir.join("launch").join(engine::LOG_NAME)
    }

    /// The processes that the engine noted, and those that carry its mark.
    pub fn processes(&self) -> Vec<i32> {
        let noted = std::fs::read_to_string(self.notes()).unwrap_or_default();
        let marked = engine::find_marked(&self.nonce).into_iter().map(|m| m.pid);
        let mut all: Vec<i32> = noted.lines().map(|l| l.parse().unwrap()).chain(marked).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The processes of the role "tree", once all are there: the leader, its child and three daemons.
    pub fn tree(&self) -> Vec<i32> {
        wait_for("all processes of the tree", || self.processes().len() >= 5);
        self.processes()
    }

    /// A perflab in a process of its own, which has started a tree of processes and waits to be killed.
    pub fn perflab(&self) -> Child {
        let line = command_line();
        let child = Command::new(&line[0])
            .args(&line[1..])
            .env(ROLE, "perflab")
            .env(DIR, &self.dir)
            .env(PORT, self.port.to_string())
            .env(NONCE, &self.nonce)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for("the tree to be ready", || self.dir.join(READY).exists());
        child
    }

    /// The guard of the launch that [`Workshop::perflab`] made.
    pub fn guard(&self) -> i32 {
        std::fs::read_to_string(self.dir.join(READY)).unwrap().parse().unwrap()
    }
}

const DIR: &str = "PLAB_TEST_DIR";
const NONCE: &str = "PLAB_TEST_NONCE";
const READY: &str = "ready";

/// The role of a perflab: starts a tree, writes the number of its guard to a file and waits.
pub fn perflab_to_be_killed() {
    engine::adopt_orphans().unwrap();
    let dir = PathBuf::from(variable(DIR));
    let workshop = Workshop {
        _dir: None,
        dir: dir.clone(),
        port: variable(PORT).parse().unwrap(),
        nonce: variable(NONCE),
    };
    let mut spec = workshop.role("tree");
    let lock = std::fs::File::create(dir.join("lock")).unwrap();
    lock.try_lock().unwrap();
    spec.keep_fd = Some(lock.try_clone().unwrap().into());
    runtime().block_on(async {
        let server = start(spec).await.unwrap();
        std::fs::write(dir.join("ready.new"), parent_of(server.pid()).unwrap().to_string()).unwrap();
        std::fs::rename(dir.join("ready.new"), dir.join(READY)).unwrap();
        std::future::pending::<()>().await;
    });
}

pub async fn start(spec: LaunchSpec) -> Result<Server, StartError> {
    engine::start(spec, &CancellationToken::new(), |_| {}).await
}

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

pub fn kill_hard(pid: i32) {
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
}

/// Waits for something to become true; returns how long it took.
pub fn wait_for(what: &str, done: impl Fn() -> bool) -> Duration {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
    began.elapsed()
}

/// Waits until none of these processes lives.
pub fn wait_until_gone(pids: &[i32]) -> Duration {
    wait_for(&format!("the end of {pids:?}"), || !pids.iter().any(|p| lives(*p)))
}

/// Whether a process runs; one that is dead and not collected does not.
pub fn lives(pid: i32) -> bool {
    stat(pid).is_some_and(|fields| fields[0] != "Z")
}

pub fn parent_of(pid: i32) -> Option<i32> {
    stat(pid)?[1].parse().ok()
}

/// The fields of `/proc/PID/stat` from the state on.
fn stat(pid: i32) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(text.rsplit_once(')')?.1.split_ascii_whitespace().map(Into::into).collect())
}

/// The directory for temporary files, as the engine printed it.
pub fn scratch_of(environment: &str) -> &Path {
    let line = environment.lines().find_map(|l| l.strip_prefix("TMPDIR="));
    Path::new(line.expect("the engine has a TMPDIR"))
}

fn shell_words(words: &[String]) -> String {
    words.iter().map(|w| format!("'{}'", w.replace('\'', r"'\''"))).collect::<Vec<_>>().join(" ")
}
