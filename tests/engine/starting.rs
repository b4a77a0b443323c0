//! Starts that succeed, and all the ways in which they do not.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use perflab::engine::lifecycle::Stage;
use perflab::engine::{self, Exit, FailurePattern, LaunchEvent, LaunchSpec, Limit, Ready, StartError};
use tokio_util::sync::CancellationToken;

use super::roles;
use super::workshop::{Workshop, lives, runtime, start};

/// The stages that a launch came to.
fn stages(events: &[LaunchEvent]) -> Vec<Stage> {
    let to = |e: &LaunchEvent| match e {
        LaunchEvent::Step(step) => Some(step.to),
        _ => None,
    };
    events.iter().filter_map(to).collect()
}

fn failure_of(spec: LaunchSpec) -> StartError {
    runtime().block_on(start(spec)).unwrap_err()
}

#[test]
fn a_server_is_ready_when_it_answers() {
    let workshop = Workshop::new();
    let mut events = Vec::new();
    runtime().block_on(async {
        let spec = workshop.role("server");
        let server = engine::start(spec, &CancellationToken::new(), |e| events.push(e)).await.unwrap();
        assert!(events.contains(&LaunchEvent::Spawned { pid: server.pid() }));
        assert_eq!(stages(&events), [Stage::Spawning, Stage::Starting, Stage::Ready]);
        assert_eq!(server.base_url(), format!("http://127.0.0.1:{}", workshop.port));
        assert!(server.pids().contains(&server.pid()));
        assert!(!engine::is_free("127.0.0.1", workshop.port).unwrap());
        server.kill().await;
    });
    assert!(engine::is_free("127.0.0.1", workshop.port).unwrap());
}

#[test]
fn a_program_that_is_missing_is_named() {
    let workshop = Workshop::new();
    let mut spec = workshop.script("");
    spec.argv = vec!["no-such-engine".into()];
    let error = failure_of(spec);
    assert_eq!(error.to_string(), "no-such-engine: program not found in PATH=/usr/bin:/bin");

    let mut spec = workshop.script("");
    spec.argv = vec!["./no-such-engine".into()];
    assert_eq!(failure_of(spec).to_string(), "./no-such-engine: program not found");
}

#[test]
fn a_program_that_cannot_run_says_why() {
    let workshop = Workshop::new();
    std::fs::write(workshop.dir.join("text"), "#!/no/such/interpreter\n").unwrap();
    let mut spec = workshop.script("");
    spec.argv = vec!["./text".into()];
    let message = failure_of(spec).to_string();
    assert!(message.ends_with("/text cannot be run: it may not be executed here (mode 644)"), "{message}");
}

#[test]
fn a_server_that_ends_is_noticed_and_explained() {
    let workshop = Workshop::new();
    let mut spec = workshop.script("seq 100; echo 'error: bad flag --x' >&2; echo bye; exit 3");
    spec.failures = vec![FailurePattern::new("unknown flag", "bad flag (--x)").unwrap()];
    let began = Instant::now();
    let StartError::Exited { exit, failure, tail } = failure_of(spec) else { panic!("it ended") };
    assert!(began.elapsed() < Duration::from_secs(20), "the deadline was not waited for");
    assert_eq!((exit, failure.class.as_str()), (Exit::Code(3), "unknown flag"));
    assert_eq!(failure.line, "error: bad flag --x");
    assert_eq!(tail.len(), 20);
    assert_eq!(tail[17..], ["100", "error: bad flag --x", "bye"]);
}

#[test]
fn children_of_a_server_that_ended_do_not_live_on() {
    let workshop = Workshop::new();
    let error = failure_of(workshop.script("sleep 1000 & echo $! > notes; kill -9 $$"));
    assert!(matches!(error, StartError::Exited { exit: Exit::Signal(9), .. }), "{error}");
    let processes = workshop.processes();
    assert_eq!(processes.len(), 1);
    assert!(!lives(processes[0]));
}

#[test]
fn a_server_that_stays_silent_is_given_up() {
    let workshop = Workshop::new();
    let mut spec = workshop.script("echo loading the model; sleep 1000");
    spec.ready.within = Duration::from_millis(300);
    let error = failure_of(spec);
    let StartError::NeverReady { limit, failure, .. } = &error else { panic!("{error}") };
    assert_eq!(*limit, Limit::Silence(Duration::from_millis(300)));
    assert_eq!((failure.class.as_str(), failure.line.as_str()), ("never ready", "loading the model"));
    assert_eq!(engine::find_marked(&workshop.nonce), []);
}

/// Dots, repeated lines and counted attempts say that it lives; they lengthen the patience to three times itself.
#[test]
fn a_server_that_only_repeats_itself_is_given_up() {
    for noise in
        ["printf .", "echo waiting for the server", "n=$((n+1)); echo attempt $n; printf '\\r\\033[K'"]
    {
        let workshop = Workshop::new();
        let mut spec = workshop.script(&format!("echo loading; while :; do {noise}; sleep 0.1; done"));
        spec.ready.within = Duration::from_secs(1);
        let StartError::NeverReady { limit, after, .. } = failure_of(spec) else {
            panic!("it was never ready")
        };
        assert_eq!(limit, Limit::Idle(Duration::from_secs(3)), "{noise}");
        assert!((3.0..20.0).contains(&after.as_secs_f64()), "{noise}: {after:?}");
    }
}

/// A bar that grows and lines of another kind are progress, however long they go on.
#[test]
fn a_server_that_comes_further_is_waited_for() {
    let workshop = Workshop::new();
    let bar = "for i in $(seq 1 45); do printf 'shards: %d%%| %d/45\\r' $((2*i)) $i; sleep 0.1; done";
    let mut spec = workshop.role_after(bar, "server");
    spec.ready.within = Duration::from_secs(1);
    let ready_after = runtime().block_on(async {
        let server = start(spec).await.expect("it is ready");
        let after = server.ready_after();
        server.kill().await;
        after
    });
    assert!(ready_after > Duration::from_secs(4), "{ready_after:?}");
}

#[test]
fn a_server_that_talks_is_waited_for_but_not_for_ever() {
    let workshop = Workshop::new();
    let mut spec = workshop.script("while :; do echo loading; sleep 0.1; done");
    spec.ready = Ready { path: "/".into(), within: Duration::from_secs(5), overall: Duration::from_secs(7) };
    let StartError::NeverReady { limit, after, .. } = failure_of(spec) else { panic!("it was never ready") };
    assert_eq!(limit, Limit::Overall);
    assert!(after >= Duration::from_secs(7));
}

#[test]
fn a_server_that_answers_something_else_is_not_ready() {
    let workshop = Workshop::new();
    let mut spec = workshop.role("server that loads");
    spec.ready.within = Duration::from_secs(1);
    assert!(matches!(failure_of(spec), StartError::NeverReady { .. }));
}

#[test]
fn a_cancelled_start_leaves_nothing() {
    let workshop = Workshop::new();
    let cancel = CancellationToken::new();
    let error = runtime().block_on(async {
        engine::start(workshop.script("sleep 1000"), &cancel, |_| cancel.cancel()).await.unwrap_err()
    });
    assert!(matches!(error, StartError::Cancelled));
    assert_eq!(engine::find_marked(&workshop.nonce), []);
}

#[test]
fn a_port_in_use_is_noticed_before_the_start() {
    let workshop = Workshop::new();
    let _stranger = TcpListener::bind(("127.0.0.1", workshop.port)).unwrap();
    let error = failure_of(workshop.script("touch started"));
    assert!(matches!(error, StartError::PortTaken { port, .. } if port == workshop.port));
    assert!(!workshop.dir.join("started").exists());
}

/// Starts an engine while this process listens on its port too, as soon as the engine runs.
fn start_beside_a_stranger(workshop: &Workshop, spec: LaunchSpec) -> StartError {
    let port = workshop.port;
    let appear = |event| {
        if matches!(event, LaunchEvent::Spawned { .. }) {
            std::thread::spawn(move || roles::serve(&roles::sharing_listener(port)));
        }
    };
    runtime().block_on(engine::start(spec, &CancellationToken::new(), appear)).unwrap_err()
}

#[test]
fn an_answer_of_a_stranger_is_not_the_engine() {
    let workshop = Workshop::new();
    let error = start_beside_a_stranger(&workshop, workshop.script("sleep 1000"));
    assert!(matches!(error, StartError::Stranger { pid, .. } if pid == std::process::id() as i32), "{error}");
}

#[test]
fn a_port_that_is_shared_with_a_stranger_is_refused() {
    let workshop = Workshop::new();
    // it listens only when the stranger does, so that the first answer already may be either's
    let wait = format!("while ! grep -q ':{:04X} 00000000:0000 0A' /proc/net/tcp; do :; done", workshop.port);
    let error = start_beside_a_stranger(&workshop, workshop.role_after(&wait, "sharing server"));
    assert!(matches!(error, StartError::Stranger { .. }), "{error}");
}

#[test]
fn a_gigabyte_of_output_neither_fills_the_disk_nor_stalls() {
    let workshop = Workshop::new();
    let mut spec = workshop.role_after("echo first; yes | head -c 1000000000; echo last", "server");
    spec.stop.signal = Signal::SIGTERM;
    runtime().block_on(async { start(spec).await.unwrap().stop().await });
    let log = std::fs::read(workshop.log()).unwrap();
    assert!((17 << 20..18 << 20).contains(&log.len()), "{} bytes", log.len());
    assert!(log.starts_with(b"first\ny\n"));
    let text = String::from_utf8_lossy(&log);
    assert!(text.contains("bytes of output left out here]\n"));
    assert!(text[text.len() - 4096..].contains("\nlast\n"));
}

#[test]
fn a_full_disk_does_not_hurt() {
    let workshop = Workshop::new();
    let dir = workshop.dir.join("launch");
    std::fs::create_dir(&dir).unwrap();
    std::os::unix::fs::symlink("/dev/full", dir.join(engine::LOG_NAME)).unwrap();
    runtime().block_on(async {
        let report = start(workshop.role_after("seq 100000", "server")).await.unwrap().stop().await;
        assert!(!report.killed);
    });
}
