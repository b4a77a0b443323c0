//! The real binary in a directory of its own, and what an invocation leaves.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{SigHandler, Signal, signal};
use serde_json::Value;

use super::{Recording, Report};

/// How long anything may take before a test gives up. A machine may be slow and busy.
pub const PATIENCE: Duration = Duration::from_mins(2);

/// The tests may run under `nohup`, which everything that they start would inherit.
pub fn hear_hangups() -> std::io::Result<()> {
    // SAFETY: the default action runs no code
    unsafe { signal(Signal::SIGHUP, SigHandler::SigDfl) }?;
    Ok(())
}

/// A directory for one test, removed with it.
pub struct Lab {
    dir: tempfile::TempDir,
}

/// What an invocation left.
#[derive(Debug)]
pub struct Output {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Output {
    /// Fails with both streams unless the exit code is this one.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// An error must say so on stderr, and leave stdout to results.
    #[track_caller]
    pub fn expect_error(self, code: i32, words: &[&str]) -> Self {
        let out = self.expect_code(code);
        assert_eq!(out.stdout, "", "nothing belongs on stdout");
        for word in words {
            assert!(out.stderr.contains(word), "`{word}` is missing in:\n{}", out.stderr);
        }
        out
    }

    /// Stdout as one JSON document and nothing else.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("no JSON ({e}):\n{}\nstderr:\n{}", self.stdout, self.stderr))
    }

    #[track_caller]
    pub fn report(&self) -> Report {
        Report(self.json())
    }
}

/// The binary under test.
pub fn binary() -> &'static str {
    env!("CARGO_BIN_EXE_perflab")
}

/// The project's own directory.
pub fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

impl Lab {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary directory") }
    }

    /// A lab with a study file, `study.plab`.
    pub fn with(study: &str) -> Self {
        let lab = Self::new();
        lab.write("study.plab", study);
        lab
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).expect("a file in the lab");
        path
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// The binary in this directory, without colours and with a width that does not depend on who runs the tests.
    pub fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(binary());
        command.args(args).current_dir(self.dir.path()).stdin(Stdio::null());
        command.env("COLUMNS", "100").env("NO_COLOR", "1");
        // what a test leaves there is nobody else's
        command.env("XDG_CACHE_HOME", self.dir.path().join("user-caches"));
        command
    }

    pub fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Output {
        self.start(args).wait()
    }

    /// Starts the binary; its streams go to files, so that nothing that it leaves behind can hold a pipe open.
    pub fn start<S: AsRef<OsStr>>(&self, args: &[S]) -> Running {
        self.start_command(self.command(args))
    }

    pub fn start_command(&self, mut command: Command) -> Running {
        let streams = tempfile::tempdir_in(self.dir.path()).expect("a temporary directory");
        let file = |name: &str| File::create(streams.path().join(name)).expect("a file for a stream");
        command.stdout(file("stdout")).stderr(file("stderr"));
        // SAFETY: between fork and exec only a system call is made
        unsafe { command.pre_exec(hear_hangups) };
        let child = command.spawn().expect("perflab starts");
        Running { child, streams }
    }

    /// A replay of `study.plab` over made-up runs, as people read it.
    pub fn replay_text(&self, recording: &Recording, more: &[&str]) -> Output {
        self.write("recording.json", recording.text());
        let fixed = ["exec", "study.plab", "--replay", "recording.json", "--dir", "replayed"];
        self.run(&[&fixed, more].concat())
    }

    /// A replay of `study.plab` over made-up runs, as a report.
    pub fn replay(&self, recording: &Recording, more: &[&str]) -> Output {
        self.write("recording.json", recording.text());
        let fixed =
            ["exec", "study.plab", "--replay", "recording.json", "--format", "json", "--dir", "replayed"];
        self.run(&[&fixed, more].concat())
    }
}

/// An invocation that goes on.
pub struct Running {
    pub child: Child,
    streams: tempfile::TempDir,
}

impl Running {
    pub fn wait(self) -> Output {
        self.wait_at_most(PATIENCE)
    }

    pub fn wait_at_most(mut self, patience: Duration) -> Output {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child's status") {
                break status;
            }
            if began.elapsed() > patience {
                let _ = self.child.kill();
                let _ = self.child.wait();
                panic!("no end after {patience:?}; stderr:\n{}", self.stderr());
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let signal = std::os::unix::process::ExitStatusExt::signal(&status).map_or(0, |s| 1000 + s);
        Output { code: status.code().unwrap_or(signal), stdout: self.text("stdout"), stderr: self.stderr() }
    }

    pub fn stderr(&self) -> String {
        self.text("stderr")
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.streams.path().join(name)).unwrap_or_default()).into_owned()
    }
}

/// Waits for something to become true.
#[track_caller]
pub fn wait_for(what: &str, done: impl Fn() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A test that needs what this machine lacks passes and says so, unless nothing may be skipped.
#[track_caller]
pub fn skip(name: &str, why: &str) {
    assert!(std::env::var_os("PERFLAB_NO_SKIP").is_none_or(|v| v != "1"), "{name} may not be skipped: {why}");
    // written past the test harness, which keeps what `eprintln!` says to itself
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("SKIPPED {name}: {why}\n").as_bytes());
}

/// The `.plab` files of a folder, in order.
pub fn studies(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|e| e.expect("an entry").path());
    let mut found: Vec<_> = paths.filter(|p| p.extension().is_some_and(|e| e == "plab")).collect();
    found.sort();
    found
}

/// Request records that lie packed in a file.
#[track_caller]
pub fn packed_records(file: &Path) -> Vec<Value> {
    let packed = fs::read(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let mut text = String::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut text).expect("gzip");
    text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect()
}

/// Whether two numbers are as good as equal.
#[track_caller]
pub fn assert_close(left: f64, right: f64, within: f64) {
    assert!((left - right).abs() <= within, "{left} is not {right} (within {within})");
}
