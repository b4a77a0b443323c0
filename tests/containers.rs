//! Engines in containers, with the real podman: started, measured, killed and removed by the same code that starts official images.
//! The image holds the binary under test, which serves as the simulated engine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{EXEC, Lab, Output, Running, binary, events, marked, wait_for};

const IMAGE: &str = "localhost/perflab-test:1";
const SECRET: &str = "tok-never-in-arguments";

const STUDY: &str = r#"
use std/engines { sim }
engine small "Small" = sim { --max-model-len=4Ki  env ENGINE_TOKEN="tok-never-in-arguments" }
profile quick "Quick" {
    data        random
    input       16
    output      8
    concurrency 4
    requests    8
    warmup      0
}
axis seqs = --max-num-seqs=[1, 2]
axis bad  = raw --no-such-flag=1
study s "S" {
    model    "Qwen/Qwen3-0.6B"
    baseline small
    maximize total_tps on quick
    repeat   1
    step seqs { vary seqs }
    step bad  { vary bad }
}
"#;

/// Whether a machine lets containers run is not the tests' to demand, not even where nothing may be skipped.
fn skipped(test: &str, why: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("SKIPPED {test}: {why}\n").as_bytes());
}

/// podman with a storage of its own, so that nothing of this machine's is seen or touched.
struct Pod {
    lab: Lab,
}

impl Pod {
    /// `None`, said aloud, where podman cannot run a container.
    fn new(test: &str) -> Option<Self> {
        let lab = Lab::with(STUDY);
        let dir = |name: &str| lab.path(name).to_string_lossy().into_owned();
        let (graph, run) = (dir("graph"), dir("run"));
        lab.write(
            "storage.conf",
            format!("[storage]\ndriver = \"vfs\"\ngraphroot = \"{graph}\"\nrunroot = \"{run}\"\n"),
        );
        let pod = Self { lab };
        // as it comes, else as it works inside of virtual machines and other containers
        let plain = "[engine]\nevents_logger = \"file\"\n";
        let careful = "[engine]\nevents_logger = \"file\"\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\n\
                       [containers]\ndefault_ulimits = [\"nofile=4096:4096\", \"nproc=4096:4096\"]\n";
        pod.lab.write("containers.conf", plain);
        if !pod.import() {
            skipped(test, "podman is not installed, or cannot import an image");
            return None;
        }
        for config in [careful, plain] {
            pod.lab.write("containers.conf", config);
            let run =
                ["run", "--rm", "--network=host", "--pull=never", "--entrypoint=perflab", IMAGE, "--version"];
            if pod.podman(&run).is_some_and(|said| said.starts_with("perflab ")) {
                pod.lab.write("site.plab", format!("site lab {{ engine sim via podman \"{IMAGE}\" }}\n"));
                return Some(pod);
            }
        }
        skipped(test, "podman cannot run a container here");
        None
    }

    /// The binary and the libraries that it is linked with, and nothing else.
    fn import(&self) -> bool {
        let root = self.lab.path("root");
        let copy = |from: &Path, to: &str| {
            let to = root.join(to.trim_start_matches('/'));
            fs::create_dir_all(to.parent().expect("a directory")).expect("directories");
            fs::copy(from, &to).expect("a copy");
            to
        };
        let program = copy(Path::new(binary()), "/usr/local/bin/perflab");
        let _ = Command::new("strip").arg(&program).status();
        let linked = Command::new("ldd").arg(binary()).output().expect("ldd");
        for word in String::from_utf8_lossy(&linked.stdout).split_whitespace().filter(|w| w.starts_with('/'))
        {
            copy(Path::new(word), word);
        }
        for program in ["/bin/sh", "/bin/sleep"] {
            copy(Path::new(program), program);
        }
        fs::create_dir_all(root.join("tmp")).expect("a directory");
        let archive = self.lab.path("root.tar");
        let tar = Command::new("tar").arg("-C").arg(&root).args(["-cf"]).arg(&archive).arg(".").status();
        assert!(tar.expect("tar").success());
        self.podman(&["import", &archive.to_string_lossy(), IMAGE]).is_some()
    }

    fn podman(&self, args: &[&str]) -> Option<String> {
        let mut command = Command::new("podman");
        self.configure(&mut command);
        let out = command.args(args).stdin(Stdio::null()).output().ok()?;
        out.status.success().then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned())
    }

    fn configure(&self, command: &mut Command) {
        command.env("CONTAINERS_CONF", self.lab.path("containers.conf"));
        command.env("CONTAINERS_STORAGE_CONF", self.lab.path("storage.conf"));
    }

    fn start(&self, more: &[&str]) -> Running {
        let mut command = self.lab.command(&[&EXEC[..], more].concat());
        self.configure(&mut command);
        self.lab.start_command(command)
    }

    fn exec(&self) -> Output {
        self.start(&[]).wait()
    }

    fn containers(&self, filter: &str) -> Vec<String> {
        let filter = format!("label={filter}");
        let all = self.podman(&["ps", "--all", "--quiet", "--filter", &filter]).expect("podman answers");
        all.lines().map(str::to_owned).collect()
    }

    fn launched(&self) -> bool {
        events(&self.lab).iter().any(|e| e["event"] == "launch_ready")
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        let _ = self.podman(&["rm", "--all", "--force"]);
    }
}

fn command_lines() -> Vec<String> {
    let all = fs::read_dir("/proc").expect("/proc").flatten().map(|e| e.path().join("cmdline"));
    let read = |p: PathBuf| fs::read(p).ok().map(|b| String::from_utf8_lossy(&b).replace('\0', " "));
    all.filter_map(read).collect()
}

/// Children of nobody may die a little after their container is gone.
#[track_caller]
fn expect_nothing_left(pod: &Pod) {
    wait_for("containers to be removed", || pod.containers("perflab.study").is_empty());
    wait_for("processes to be gone", || marked(&pod.lab).is_empty());
}

#[test]
fn an_engine_in_a_container_is_measured_killed_and_removed() {
    let Some(pod) = Pod::new("an_engine_in_a_container") else { return };
    // somebody else's container stays as it is, through everything
    let stranger = [
        "run",
        "--detach",
        "--network=host",
        "--label=perflab.launch=not-ours",
        "--entrypoint=perflab",
        IMAGE,
    ];
    let port = ["sim", "--model", "Qwen/Qwen3-0.6B", "--host", "127.0.0.1", "--port", "0"];
    let stranger = pod.podman(&[&stranger[..], &port].concat()).expect("a container");

    measured(&pod);
    killed(&pod);
    let study = killed_with_its_guard(&pod);
    left_without_a_process(&pod, &study);
    paused(&pod);
    interrupted(&pod);

    let all = pod.podman(&["ps", "--all", "--quiet", "--no-trunc"]).expect("podman answers");
    assert_eq!(all, stranger);
}

fn measured(pod: &Pod) {
    let running = pod.start(&["--events", "events.jsonl"]);
    wait_for("an engine", || pod.launched() || running_ended(pod));
    let lines = command_lines();
    assert!(lines.iter().all(|l| !l.contains(SECRET)), "a secret in the arguments of a process");
    let report = running.wait().expect_code(0).report();
    expect_nothing_left(pod);
    assert!(["ok", "flagged"].contains(&report.outcome("seqs", "1")), "{}", report.0);
    // what the engine says in its container is the reason
    assert_eq!(report.outcome("bad", "bad"), "failed");
    assert!(report.reason("bad", "bad").contains("no-such-flag"), "{}", report.reason("bad", "bad"));
    let journal = pod.lab.read("state/journal.jsonl");
    let id = pod.podman(&["image", "inspect", "--format", "{{.Id}}", IMAGE]).expect("an id");
    assert!(journal.contains(&id) && journal.contains(r#""runtime":"podman""#), "{journal}");
    assert!(!journal.contains(SECRET));
    // nothing is measured twice, and a report needs no site
    let again = pod.exec().expect_code(0).report();
    assert_eq!(again.0["cost"]["launches"], report.0["cost"]["launches"]);
    let shown = pod.lab.run(&["report", "state", "--format", "json"]);
    assert!(shown.code == 0 || pod.lab.run(&["report", "study.plab", "--dir", "state"]).code == 0);
}

fn running_ended(pod: &Pod) -> bool {
    events(&pod.lab).iter().any(|e| e["event"] == "ends")
}

fn fresh(pod: &Pod) {
    fs::remove_dir_all(pod.lab.path("state")).expect("removed");
    let _ = fs::remove_file(pod.lab.path("events.jsonl"));
    // long enough to be killed in
    pod.lab.write("study.plab", STUDY.replace("requests    8", "duration 20s"));
}

fn killed(pod: &Pod) {
    fresh(pod);
    let mut running = pod.start(&["--events", "events.jsonl"]);
    wait_for("an engine", || pod.launched());
    assert_eq!(pod.containers("perflab.study").len(), 1);
    running.child.kill().expect("killed");
    running.child.wait().expect("ended");
    expect_nothing_left(pod);
}

/// The label that its containers had.
fn killed_with_its_guard(pod: &Pod) -> String {
    fresh(pod);
    let mut running = pod.start(&["--events", "events.jsonl"]);
    wait_for("an engine", || pod.launched());
    let container = pod.containers("perflab.study");
    let label = "{{index .Config.Labels \"perflab.study\"}}";
    let study = pod.podman(&["inspect", "--format", label, &container[0]]).expect("a label");
    let guards = children(running.child.id());
    for pid in guards.into_iter().chain([running.child.id()]) {
        let _ =
            nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid as i32), nix::sys::signal::Signal::SIGKILL);
    }
    running.child.wait().expect("ended");
    pod.lab.write("study.plab", STUDY);
    let out = pod.exec().expect_code(0);
    assert!(out.stderr.contains("of an earlier run were still there"), "{}", out.stderr);
    expect_nothing_left(pod);
    study
}

/// As a machine leaves it that lost its power: a container by whose label alone the dead study is known.
fn left_without_a_process(pod: &Pod, study: &str) {
    let label = |name: &str, value: &str| format!("--label=perflab.{name}={value}");
    let create = |labels: [&str; 2]| {
        let words =
            ["create", "--network=host", "--entrypoint=perflab", labels[0], labels[1], IMAGE, "--version"];
        pod.podman(&words).expect("a container")
    };
    let ours = create([&label("study", study), &label("launch", &format!("{study}L009"))]);
    let others = create(["--label=somebody=else", &label("launch", "plab-of-somebody-L009")]);
    let out = pod.exec().expect_code(0);
    let said = format!("containers of an earlier run were still there and were removed: {}", &ours[..12]);
    assert!(out.stderr.contains(&said), "{}", out.stderr);
    expect_nothing_left(pod);
    assert_eq!(pod.containers("somebody"), [&others[..12]]);
    pod.podman(&["rm", &others]).expect("removed");
}

pub fn children(of: u32) -> Vec<u32> {
    let stat = |pid: u32| fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let parent =
        |pid: u32| stat(pid).rsplit_once(") ").and_then(|(_, t)| t.split(' ').nth(1)?.parse::<u32>().ok());
    let all = fs::read_dir("/proc").expect("/proc").flatten();
    all.filter_map(|e| e.file_name().to_str()?.parse().ok()).filter(|pid| parent(*pid) == Some(of)).collect()
}

/// Its processes are frozen, and no kill ends them before its own program thaws it.
fn paused(pod: &Pod) {
    fresh(pod);
    let running = pod.start(&["--events", "events.jsonl"]);
    wait_for("an engine", || pod.launched());
    let id = pod.containers("perflab.study").first().cloned().expect("a container");
    if pod.podman(&["pause", &id]).is_none() {
        skipped("an_engine_in_a_container", "podman cannot pause a container here");
    }
    let pid = nix::unistd::Pid::from_raw(running.child.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).expect("signalled");
    let out = running.wait().expect_code(75);
    assert!(!out.stderr.contains("could not be removed"), "{}", out.stderr);
    assert!(!pod.lab.read("state/journal.jsonl").contains("\"stuck\""));
    assert_eq!(pod.containers("perflab.study"), [""; 0]);
    expect_nothing_left(pod);
}

fn interrupted(pod: &Pod) {
    fresh(pod);
    let running = pod.start(&["--events", "events.jsonl"]);
    wait_for("an engine", || pod.launched());
    let pid = nix::unistd::Pid::from_raw(running.child.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).expect("signalled");
    running.wait().expect_code(75);
    expect_nothing_left(pod);
    // an image that is nowhere is said before anything starts
    pod.lab.write("site.plab", "site lab { engine sim via podman \"localhost/no-such-image:1\" }\n");
    pod.exec().expect_error(1, &["podman says", "see that the name of the image is right"]);
    // a registry that is down is another matter
    let port = crate::running::free_port();
    let nobody = format!("127.0.0.1:{port}/nobody/nothing:1");
    pod.lab.write("site.plab", format!("site lab {{ engine sim via podman \"{nobody}\" }}\n"));
    pod.exec().expect_error(75, &[&nobody, "cannot be reached", "connection refused"]);
}

/// The candidate's server dies in mid-load, as `dies` makes it die; why its trial failed.
fn dead_in_mid_load(pod: &Pod, study: &str, dies: impl Fn(&Pod)) -> String {
    let _ = fs::remove_dir_all(pod.lab.path("state"));
    let _ = fs::remove_file(pod.lab.path("events.jsonl"));
    pod.lab.write("study.plab", study);
    let running = pod.start(&["--events", "events.jsonl"]);
    let of_candidate = |e: &Value| e["event"] == "load" && e["launch"] == "L002";
    let answered = || events(&pod.lab).iter().any(|e| of_candidate(e) && e["done"].as_u64() > Some(8));
    let over = || running.stderr().contains("error: ") || running_ended(pod);
    wait_for("the candidate's load", || answered() || over());
    assert!(answered(), "{}", running.stderr());
    dies(pod);
    let out = running.wait();
    expect_nothing_left(pod);
    let report = out.expect_code(0).report();
    assert_eq!(report.outcome("seqs", "1"), "failed", "{}", report.0);
    report.reason("seqs", "1").to_owned()
}

/// Kills the process of the launch that runs so.
fn kill_process(pod: &Pod, runs: impl Fn(&str) -> bool) {
    let line = |pid: i32| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text = |pid: i32| String::from_utf8_lossy(&line(pid)).replace('\0', " ");
    let own = pod.containers("perflab.study").remove(0);
    let is_own = |pid: i32| marked(&pod.lab).contains(&pid) || text(pid).contains(&own);
    let all = fs::read_dir("/proc").expect("/proc").flatten();
    let mut pids = all.filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
    let found = pids.find(|pid| runs(&text(*pid)) && is_own(*pid)).expect("it runs");
    let found = nix::unistd::Pid::from_raw(found);
    nix::sys::signal::kill(found, nix::sys::signal::Signal::SIGKILL).expect("it lives");
}

/// What is started in a container, as everywhere: its end under a load is the candidate's, however it comes.
#[test]
fn a_server_that_dies_in_its_container_under_load_is_one_failed_trial() {
    let Some(pod) = Pod::new("a_server_that_dies_in_its_container") else { return };
    let study = STUDY.replace("requests    8", "duration    6s").replace("[1, 2]", "[1]");
    let (study, _) = study.split_once("    step bad").expect("a step");
    let study = format!("{study}}}\n").replace("axis bad  = raw --no-such-flag=1\n", "");
    let crash = "failed under load: crash under load";

    // its container's first process
    let reason =
        dead_in_mid_load(&pod, &study, |pod| kill_process(pod, |line| line.starts_with("perflab sim")));
    assert!(reason.starts_with(&format!("{crash} (SIGKILL)")), "{reason}");
    // the whole container
    let reason = dead_in_mid_load(&pod, &study, |pod| {
        let id = pod.containers("perflab.study").first().cloned().expect("a container");
        pod.podman(&["kill", &id]).expect("it lives");
    });
    assert!(reason.starts_with(&format!("{crash} (SIGKILL)")), "{reason}");
    // and with it who would tell podman of its end: its client waits on
    let reason = dead_in_mid_load(&pod, &study, |pod| {
        kill_process(pod, |line| line.split(' ').next().is_some_and(|program| program.ends_with("conmon")));
        kill_process(pod, |line| line.starts_with("perflab sim"));
    });
    assert!(reason.starts_with(crash), "{reason}");
    // a script is its first process, and stays
    let script = "perflab sim --model \"$1\" --host \"$2\" --port \"$3\" &\ntrap 'kill $!; exit' TERM\nwait $!\nsleep 60 & wait $!\n";
    pod.lab.write("engine.sh", script);
    let scripted = study.replace(
        "sim { --max-model-len=4Ki ",
        "sim { serve \"/bin/sh engine.sh {model} {host} {port}\"\n --max-model-len=4Ki\n ",
    );
    let reason =
        dead_in_mid_load(&pod, &scripted, |pod| kill_process(pod, |line| line.starts_with("perflab sim")));
    assert!(reason.starts_with(&format!("{crash}: nobody listens on its port any more")), "{reason}");
}

/// An image of another processor is the most common of them.
#[test]
fn an_image_whose_program_cannot_be_run_is_named() {
    let Some(pod) = Pod::new("an_image_whose_program_cannot_be_run") else { return };
    let program = pod.lab.path("root/usr/local/bin/perflab");
    for (text, why) in [
        (&b"\x7fELF\x02\x01\x01\0 of no processor"[..], "exec format error"),
        (b"#!/no/such/interpreter\n", "no such file or directory"),
    ] {
        let _ = fs::remove_dir_all(pod.lab.path("state"));
        fs::write(&program, text).expect("written");
        let archive = pod.lab.path("other.tar");
        let tar = Command::new("tar")
            .arg("-C")
            .arg(pod.lab.path("root"))
            .arg("-cf")
            .arg(&archive)
            .arg(".")
            .status();
        assert!(tar.expect("tar").success());
        pod.podman(&["import", &archive.to_string_lossy(), "localhost/perflab-test:other"])
            .expect("imported");
        pod.lab.write("site.plab", "site lab { engine sim via podman \"localhost/perflab-test:other\" }\n");
        let report = pod.exec().expect_code(3).report();
        let said = report.0["no_recommendation"].to_string();
        assert!(said.contains("engine cannot be run") && said.contains(why), "{said}");
    }
    expect_nothing_left(&pod);
}

#[test]
fn a_runtime_that_starts_nothing_is_the_machine_s_failure_and_nothing_is_kept() {
    let Some(pod) = Pod::new("a_runtime_that_starts_nothing") else { return };
    let works = pod.lab.read("containers.conf");
    // more descriptors than anybody may have
    let limits = "[containers]\ndefault_ulimits = [\"nofile=2000000000:2000000000\"]\n";
    let (engine, _) = works.split_once("[containers]").unwrap_or((&works, ""));
    pod.lab.write("containers.conf", format!("{engine}{limits}"));
    let out = pod.exec().expect_code(75);
    for said in ["podman cannot start a container: ", "set back by the machine, container not started"] {
        assert!(out.stderr.contains(said), "{said}: {}", out.stderr);
    }
    let mut doctor = pod.lab.command(&["doctor"]);
    pod.configure(&mut doctor);
    let said = pod.lab.start_command(doctor).wait();
    assert!(said.stdout.contains("podman cannot start a container here"), "{}", said.stdout);
    // once it works, so does the study
    pod.lab.write("containers.conf", works);
    let report = pod.exec().expect_code(0).report();
    assert!(["ok", "flagged"].contains(&report.outcome("seqs", "1")), "{}", report.0);
    expect_nothing_left(&pod);
}

#[test]
fn what_a_container_needs_is_said_before_anything_starts() {
    let lab = Lab::with(STUDY);
    let none: Vec<&str> = Vec::new();
    for (via, words) in [
        ("via docker", vec!["it is not known which image docker is to start", "engine small of site lab"]),
        ("via podman \"image:1\"", vec!["there is no program `podman`"]),
        ("via docker \"--privileged\"", vec!["E308", "is not the name of an image"]),
    ] {
        lab.write("site.plab", format!("site lab {{ engine sim {via} }}\n"));
        let mut command = lab.command(&[&EXEC[..], &none].concat());
        command.env("PATH", lab.path("nothing"));
        lab.start_command(command).wait().expect_error(1, &words);
    }
    assert!(!lab.path("state").exists());
}
