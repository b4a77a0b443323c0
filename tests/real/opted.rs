//! vLLM, SGLang and transformers: minutes for each and gigabytes of disk, so only where somebody asks for them. `PERFLAB_REAL` names
//! the directory in which `tests/real/setup.sh` installed them (`tests/real/run.sh` does both); without it each of these tests
//! says that it is skipped.

use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::trouble::{Asked, Session};
use crate::support::{Lab, project, skip};

/// What `chat.plab` asks for; the chat template adds three tokens to a prompt.
const CHAT: Asked = Asked { requests: 24, input: 64 + 3, output: 128 };
const SHORT_CHAT: Asked = Asked { output: 32, ..CHAT };

/// Two servers at once would compete for cores and memory.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// An engine, its study, and how its failures are told.
struct Real {
    /// as `setup.sh` calls it
    installed: &'static str,
    /// the name of the engine's root, and its version, for the site
    root: &'static str,
    version: &'static str,
    /// the file in this folder, and the study in it
    file: &'static str,
    study: &'static str,
    /// what its load asks for
    asked: Asked,
    /// words of the command line of the process that is killed under load
    worker: &'static str,
    /// candidates: label, how the engine ended before it was ready (`None`: it failed under load), and what the reason says
    failures: [(&'static str, Option<&'static str>, &'static [&'static str]); 4],
    /// what is said of the one whose worker is killed
    killed: &'static [&'static str],
    /// one of the candidates asks its clients for a key
    keyed: bool,
}

/// The key in the studies.
const KEY: &str = "key-of-a-real-server-5531";

#[test]
fn vllm_0_17_1() {
    Real {
        installed: "vllm-0.17.1",
        root: "vllm",
        version: "0.17.1",
        file: "vllm.plab",
        study: "vllm_0_17_1",
        asked: CHAT,
        worker: "VLLM::EngineCore",
        failures: [
            (
                "an unknown flag",
                Some("exit code 2"),
                &["unknown flag: vllm: error: unrecognized arguments: --no-such-flag=1"],
            ),
            (
                "a bad value",
                Some("exit code 2"),
                &["bad value: ", "argument --max-num-seqs: invalid int value: 'many'"],
            ),
            ("a missing model", Some("exit code 1"), &["model missing: ", "/no-such-model'"]),
            (
                "a huge cache",
                Some("exit code 1"),
                &["out of host memory: ", "can't allocate memory: you tried to allocate"],
            ),
        ],
        killed: &["worker lost: Engine core proc EngineCore_DP0 died unexpectedly"],
        keyed: true,
    }
    .meets_every_failure();
}

#[test]
fn vllm_0_32_0() {
    Real {
        installed: "vllm-0.32.0",
        root: "vllm",
        version: "0.32.0",
        file: "vllm.plab",
        study: "vllm_0_32_0",
        asked: CHAT,
        worker: "VLLM::EngineCore",
        failures: [
            (
                "an unknown flag",
                Some("exit code 2"),
                &["unknown flag: vllm: error: unrecognized arguments: --no-such-flag=1"],
            ),
            (
                "a bad value",
                Some("exit code 2"),
                &["bad value: ", "argument --max-num-seqs: invalid int value: 'many'"],
            ),
            ("a missing model", Some("exit code 1"), &["model missing: ", "/no-such-model'"]),
            (
                "a huge cache",
                Some("exit code 1"),
                &["out of host memory: ", "on kv cache allocation is less than requested"],
            ),
        ],
        killed: &["worker lost: "],
        keyed: true,
    }
    .meets_every_failure();
}

#[test]
fn sglang_0_5_9() {
    Real {
        installed: "sglang-0.5.9",
        root: "sglang",
        version: "0.5.9",
        file: "sglang.plab",
        study: "sglang_0_5_9",
        asked: SHORT_CHAT,
        worker: "sglang::scheduler",
        failures: [
            (
                "an unknown flag",
                Some("exit code 2"),
                &["unknown flag: ", "unrecognized arguments: --no-such-flag=1"],
            ),
            (
                "a bad value",
                Some("exit code 2"),
                &["bad value: ", "argument --max-running-requests: invalid int value: 'many'"],
            ),
            ("a missing model", Some("exit code 1"), &["model missing: ", "/no-such-model'"]),
            // it ends itself
            (
                "a huge cache",
                Some("SIGKILL"),
                &["out of host memory: ", "can't allocate memory: you tried to allocate"],
            ),
        ],
        killed: &["worker lost: "],
        keyed: true,
    }
    .meets_every_failure();
}

#[test]
fn transformers_5_19_0() {
    Real {
        installed: "transformers-5.19.0",
        root: "transformers",
        version: "5.19.0",
        file: "transformers.plab",
        study: "transformers_5_19_0",
        asked: SHORT_CHAT,
        worker: "transformers serve",
        failures: [
            ("an unknown flag", Some("exit code 2"), &["unknown flag: ", "No such option '--no-such-flag'"]),
            ("a bad value", Some("exit code 2"), &["bad value: ", "Invalid value for '--cb-num-blocks'"]),
            ("a missing model", Some("exit code 1"), &["model missing: ", "/no-such-model'"]),
            // it looks for the memory when the first request comes
            ("a huge cache", None, &["out of host memory: ", "is more than available memory"]),
        ],
        killed: &["crash under load (SIGKILL)"],
        keyed: false,
    }
    .meets_every_failure();
}

impl Real {
    fn meets_every_failure(&self) {
        let Some(dir) = self.asked_for() else { return };
        let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let set = format!("dir={}", dir.display());
        let mut session = Session::start(self.lab(&dir), &[self.study, "--set", &set]);
        session.kill_under_load(self.worker);
        let ended = session.end(0);
        std::fs::write(self.results(&dir).join("table.md"), ended.table(self.installed)).expect("a table");

        for (label, end, words) in &self.failures {
            match end {
                Some(end) => ended.left_at_once(label, end, words),
                None => ended.failed(label, words),
            }
        }
        ended.failed("a killed worker", self.killed);
        ended.measured("nothing at all", &self.asked);
        if self.keyed {
            ended.measured("a server with a key", &self.asked);
            ended.nowhere_is(KEY);
        }
        ended.recommends_what_works(&self.asked);
        let launches = 7 + u32::from(self.keyed);
        assert_eq!(ended.report.0["cost"]["launches"], launches, "findings are not tried again");
    }

    /// The directory of the engines, if somebody wants this one to be tried.
    fn asked_for(&self) -> Option<PathBuf> {
        let Some(dir) = std::env::var_os("PERFLAB_REAL").map(PathBuf::from) else {
            let said = format!("NOT ASKED FOR {}: bash tests/real/run.sh {0}\n", self.installed);
            // written past the test harness, which keeps what `eprintln!` says to itself
            let _ = std::io::stderr().write_all(said.as_bytes());
            return None;
        };
        if dir.join(self.installed).join("whole").exists() {
            return Some(dir);
        }
        skip(self.installed, "it is not installed; bash tests/real/setup.sh says how");
        None
    }

    /// Where journal, logs and report stay.
    fn results(&self, dir: &Path) -> PathBuf {
        dir.join("results").join(self.installed)
    }

    /// The study, the load, and the site of this machine.
    fn lab(&self, dir: &Path) -> Lab {
        let folder = project().join("tests/real");
        let text = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a study");
        let lab = Lab::with(&text(self.file));
        lab.write("chat.plab", text("chat.plab"));
        // for whoever wants to read more of it
        let results = self.results(dir);
        let _ = std::fs::remove_dir_all(&results);
        std::fs::create_dir_all(&results).expect("a directory");
        symlink(&results, lab.path("state")).expect("a link");
        let Self { installed, root, version, .. } = self;
        let engine = format!("engine {root} \"{version}\" via venv \"{}/{installed}\"", dir.display());
        let model = format!("model \"perflab/tiny\" at \"{}/model\"", dir.display());
        lab.write("site.plab", format!("site here {{\n    {engine}\n    {model}\n}}\n"));
        lab
    }
}
