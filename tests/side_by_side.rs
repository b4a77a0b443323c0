//! Launches side by side on GPUs that a script plays: disjoint slots, the A/A check of neighbours before, and everything that can go wrong
//! in one slot or in all.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::support::{EXEC, LIVE, Lab, Output, Report, Running, marked, wait_for};

/// One request at a time at the baseline, two and four at the candidates: which of them wins is not decided by noise.
const STEP: &str = "step one { vary seqs[2, 3, 4] }";

fn study(lines: &str, requests: &str) -> String {
    let engine = "= sim { --max-model-len=4Ki --max-num-seqs=1 }";
    let live = LIVE.replace("= sim { --max-model-len=4Ki }", engine).replace("requests    8", requests);
    format!(
        "{live}study s \"S\" {{\n model \"Qwen/Qwen3-0.6B\"\n baseline small\n maximize total_tps on quick\n \
         gpus 2 of \"H100\"\n{lines}\n}}\n"
    )
}

/// A lab with two GPUs and a home for verdicts of its own.
struct Machine(Lab);

impl Machine {
    fn new(lines: &str) -> Self {
        Self::under(lines, "requests    12", json!({"tolerated": 1000}))
    }

    fn under(lines: &str, requests: &str, script: Value) -> Self {
        let machine = Self(Lab::with(&study(lines, requests)));
        machine.play(script);
        machine
    }

    /// One where neighbours were seen to be harmless: the verdict is another study's.
    fn proven(lines: &str, requests: &str, script: Value) -> Self {
        let machine = Self::under(lines, requests, script);
        machine.know(harmless());
        machine
    }

    /// What the machine knows of neighbours.
    fn verdicts(&self) -> Vec<(OsString, Vec<u8>)> {
        let files = fs::read_dir(self.0.path("cache/perflab/neighbours")).expect("a directory").flatten();
        files.map(|f| (f.file_name(), fs::read(f.path()).expect("a file"))).collect()
    }

    fn know(&self, verdicts: &[(OsString, Vec<u8>)]) {
        let dir = self.0.path("cache/perflab/neighbours");
        fs::create_dir_all(&dir).expect("a directory");
        for (name, bytes) in verdicts {
            fs::write(dir.join(name), bytes).expect("written");
        }
    }

    fn play(&self, mut script: Value) {
        let card = json!({"name": "NVIDIA H100 80GB HBM3", "idle_mib": 4});
        if script["gpus"].is_null() {
            script["gpus"] = json!([card, card]);
        }
        let state = self.0.path(".").canonicalize().expect("a directory").join("state");
        let mark = perflab::plan::config::short_hash(&state.to_string_lossy());
        script["engines"] = json!([{
            "command": " sim ", "memory_mib": 70000, "drain_mib_per_s": 1e6, "mark": format!("plab-{mark}-"),
        }]);
        script["pace"] = json!({"every_ms": 20, "patience_ms": 1500});
        self.0.write("new.json", script.to_string());
        fs::rename(self.0.path("new.json"), self.0.path("gpus.json")).expect("renamed");
    }

    fn start(&self, more: &[&str]) -> Running {
        let fixed = [&EXEC[..], &["--events", "events.jsonl"]].concat();
        // so small a study makes no check that nobody asks for
        let asked: &[&str] = if more.contains(&"--parallel") { &[] } else { &["--parallel", "2"] };
        self.start_as(&[&fixed, asked, more].concat())
    }

    fn start_as(&self, args: &[&str]) -> Running {
        let mut command = self.0.command(args);
        command.env("PERFLAB_GPUS", self.0.path("gpus.json")).env_remove("CUDA_VISIBLE_DEVICES");
        command.env("XDG_CACHE_HOME", self.0.path("cache"));
        self.0.start_command(command)
    }

    fn exec(&self, more: &[&str]) -> Output {
        self.start(more).wait()
    }

    fn journal(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.0.path("state/journal.jsonl")).unwrap_or_default();
        let whole = &text[..text.rfind('\n').map_or(0, |at| at + 1)];
        whole.lines().map(|l| serde_json::from_str(l).expect("a whole line")).collect()
    }

    /// The journal's events of a kind.
    fn events(&self, kind: &str) -> Vec<Value> {
        self.journal().iter().filter_map(|e| e["kind"].get(kind).cloned()).collect()
    }

    /// Launches that measure something.
    fn launches(&self) -> Vec<Launch> {
        let journal = self.journal();
        let at = |kind: &str, id: &Value| {
            let event = journal.iter().find(|e| e["kind"][kind]["launch"] == *id);
            event.and_then(|e| e["session_s"].as_f64())
        };
        let all = journal.iter().filter_map(|e| e["kind"].get("launch"));
        let launch = |l: &Value| Launch {
            label: l["label"].as_str().expect("a label").to_owned(),
            check: l["check"] == true,
            slot: l["slot"]["number"].as_u64(),
            gpus: serde_json::from_value(l["slot"]["gpus"].clone()).unwrap_or_default(),
            visible: l["env"]["CUDA_VISIBLE_DEVICES"].as_str().unwrap_or_default().to_owned(),
            from: at("launch", &l["launch"]).expect("it began"),
            to: at("gone", &l["launch"]).unwrap_or(f64::INFINITY),
        };
        all.map(launch).collect()
    }
}

/// What the journal says of one.
#[derive(Debug)]
struct Launch {
    label: String,
    check: bool,
    slot: Option<u64>,
    gpus: Vec<String>,
    visible: String,
    from: f64,
    to: f64,
}

/// Pairs of launches that ran at one time.
fn overlaps(launches: &[Launch]) -> Vec<(&Launch, &Launch)> {
    let pairs = launches.iter().enumerate().flat_map(|(i, a)| launches[i + 1..].iter().map(move |b| (a, b)));
    pairs.filter(|(a, b)| a.from < b.to && b.from < a.to).collect()
}

fn measuring(launches: Vec<Launch>) -> Vec<Launch> {
    launches.into_iter().filter(|l| !l.check).collect()
}

/// The machine's files that say that neighbours are harmless, from a check that was made once for all tests.
fn harmless() -> &'static [(OsString, Vec<u8>)] {
    static FILES: OnceLock<Vec<(OsString, Vec<u8>)>> = OnceLock::new();
    FILES.get_or_init(|| {
        let machine = Machine::new(&format!("repeat 1\n{STEP}"));
        machine.exec(&[]).expect_code(0);
        machine.verdicts()
    })
}

fn winner(report: &Report) -> String {
    report.recommended().expect("a recommendation").to_string()
}

#[test]
fn launches_run_side_by_side_once_neighbours_were_seen_to_be_harmless() {
    let machine = Machine::new(&format!("repeat 1\n{STEP}"));
    let out = machine.exec(&[]).expect_code(0);
    assert!(out.stderr.contains("launches run side by side, 2 at a time"), "{}", out.stderr);
    let launches = machine.launches();
    // the baseline alone, then the check: alone in each slot, and both at once
    let checks: Vec<&Launch> = launches.iter().filter(|l| l.check).collect();
    assert!(checks.len() >= 6, "{checks:?}");
    let mut slots: Vec<Option<u64>> = checks.iter().take(6).map(|l| l.slot).collect();
    // of those that begin together either may be written down first
    slots[4..].sort_unstable();
    assert_eq!(slots, [1, 1, 2, 2, 1, 2].map(Some), "{checks:?}");
    assert_eq!(machine.events("checked").len(), checks.len());
    // and the report says so
    let report = out.report();
    let told =
        report.0["launches"].as_array().expect("launches").iter().filter(|l| l["check"] == true).count();
    assert_eq!((told, &report.0["cost"]["checks"]), (checks.len(), &checks.len().into()));
    let page = machine.0.read("state/report.md");
    assert!(page.contains(&format!("{told} of them for the A/A check of neighbours")), "{page}");
    let verdicts = machine.events("neighbours");
    assert_eq!((verdicts.len(), &verdicts[0]["verdict"]["passed"]), (1, &json!(true)));
    assert_eq!((&verdicts[0]["of"]["size"], &verdicts[0]["of"]["launches"]), (&json!(1), &json!(2)));
    // whoever runs beside another has GPUs of its own, by UUID
    assert!(!overlaps(&launches).is_empty());
    for (a, b) in overlaps(&launches) {
        assert!(a.gpus.iter().all(|g| !b.gpus.contains(g)), "{a:?} {b:?}");
        assert_eq!((&a.visible, &b.visible), (&a.gpus.join(","), &b.gpus.join(",")));
    }
    let measuring = measuring(launches);
    assert_eq!((measuring.len(), machine.events("run").len()), (4, 4), "a check has no results");
    assert!(!overlaps(&measuring).is_empty());
    assert!(overlaps(&measuring).iter().all(|(a, b)| a.label != "Small" && b.label != "Small"));
    assert!(marked(&machine.0).is_empty());
    // the verdict is the machine's: another study takes it over, and writes it down
    let other = Machine::under(&format!("repeat 1\n{STEP}"), "requests    12", json!({}));
    other.know(&machine.verdicts());
    other.exec(&[]).expect_code(0);
    assert!(other.launches().iter().all(|l| !l.check));
    assert_eq!(other.events("neighbours")[0]["verdict"], verdicts[0]["verdict"]);
    assert!(!overlaps(&other.launches()).is_empty());
}

#[test]
fn what_is_decided_does_not_hang_on_how_many_run_at_a_time() {
    // a large model's steps take so long that a busy machine does not decide
    let large =
        |m: &Machine| m.0.write("study.plab", m.0.read("study.plab").replace("Qwen3-0.6B", "Qwen3-8B"));
    let lines = "repeat 1\nadopt gain >= 30%\nstep one { vary seqs[2, 4] }\n step two { vary batched }";
    let serial = Machine::proven(lines, "requests    12", json!({}));
    large(&serial);
    let alone = serial.exec(&["--parallel", "1"]).expect_code(0).report();
    let launches = serial.launches();
    assert!(overlaps(&launches).is_empty() && launches.iter().all(|l| l.slot.is_none() && !l.check));
    assert!(launches.iter().all(|l| l.visible == "GPU-script-0"), "{launches:?}");
    let both = Machine::proven(lines, "requests    12", json!({}));
    large(&both);
    let together = both.exec(&["--parallel", "2"]).expect_code(0).report();
    assert!(!overlaps(&both.launches()).is_empty());
    assert_eq!(winner(&alone), winner(&together));
    let labels = |m: &Machine| m.launches().into_iter().map(|l| l.label).collect::<BTreeSet<_>>();
    assert_eq!(labels(&serial), labels(&both));
}

#[test]
fn arms_swap_slots_between_repeats() {
    let machine = Machine::proven("repeat 2\nstep one { vary seqs[2, 4] }", "requests    12", json!({}));
    machine.exec(&[]).expect_code(0);
    let launches = machine.launches();
    for label in ["Small", "2", "4"] {
        let own: Vec<_> = launches.iter().filter(|l| l.label == label).map(|l| l.slot).collect();
        assert_eq!(own.iter().collect::<BTreeSet<_>>().len(), 2, "{label}: {own:?}");
    }
}

#[test]
fn neighbours_that_disturb_each_other_run_one_after_another() {
    let machine = Machine::under(&format!("repeat 1\n{STEP}"), "requests    12", json!({"tolerated": 0}));
    let out = machine.exec(&[]).expect_code(0);
    assert!(out.stderr.contains("launches run one after another, not 2 side by side"), "{}", out.stderr);
    let verdict = &machine.events("neighbours")[0]["verdict"];
    assert_eq!(verdict["passed"], false);
    let measuring = measuring(machine.launches());
    assert_eq!(measuring.len(), 4);
    assert!(overlaps(&measuring).is_empty());
}

#[test]
fn killed_beside_each_other_launches_are_lost_and_nothing_else() {
    let machine = Machine::proven(&format!("repeat 1\n{STEP}"), "requests    60", json!({}));
    let mut exec = machine.start(&[]);
    wait_for("two launches", || machine.launches().len() >= 3 && marked(&machine.0).len() >= 2);
    exec.child.kill().expect("it lives");
    exec.child.wait().expect("it ends");
    wait_for("both engines to be gone", || marked(&machine.0).is_empty());
    let before = machine.events("run").len();
    let out = machine.exec(&[]).expect_code(0).report();
    assert_eq!(out.0["complete"], true);
    let lost: Vec<String> =
        machine.events("lost").iter().map(|e| e["launch"].as_str().expect("a name").to_owned()).collect();
    assert_eq!(lost, ["L002", "L003"], "both, and no other");
    assert_eq!((before, machine.events("run").len()), (1, 4));
    assert!(marked(&machine.0).is_empty());
}

/// As they begin, under load, and when one has just ended: nothing outlives perflab, and what was measured stays as it was.
#[test]
fn killed_at_several_moments_beside_each_other_nothing_measured_is_lost() {
    type Reached<'a> = &'a dyn Fn(usize, usize) -> bool;
    let machine = Machine::proven(&format!("repeat 2\n{STEP}"), "requests    40", json!({}));
    let count = |kind: &str| machine.events(kind).len();
    let open = || count("launch") - count("gone") - count("lost");
    let moments: [(&str, Reached<'_>); 3] = [
        ("two launches", &|_, _| open() >= 2),
        ("two loads", &|ready, _| open() >= 2 && count("ready") >= ready + 2),
        ("a result", &|_, runs| open() >= 1 && count("run") > runs),
    ];
    let mut measured: Vec<Value> = Vec::new();
    let mut beside = 0;
    for (what, reached) in moments {
        let (ready, runs) = (count("ready"), count("run"));
        let mut exec = machine.start(&[]);
        wait_for(what, || reached(ready, runs));
        exec.child.kill().expect("it lives");
        exec.child.wait().expect("it ends");
        wait_for("all engines to be gone", || marked(&machine.0).is_empty());
        beside += usize::from(open() >= 2);
        let now = machine.events("run");
        assert_eq!(now[..measured.len()], measured, "killed at {what}");
        measured = now;
    }
    assert!(beside >= 1, "none was killed with two launches");
    let report = machine.exec(&[]).expect_code(0).report();
    assert_eq!(report.0["complete"], true);
    let runs = machine.events("run");
    assert_eq!(runs[..measured.len()], measured);
    // of each configuration what was asked for, and not once more
    let mut of: BTreeMap<String, usize> = BTreeMap::new();
    for run in &runs {
        *of.entry(run["config_id"].to_string()).or_default() += 1;
    }
    assert!(of.len() == 4 && of.values().all(|runs| *runs == 2), "{of:?}");
    assert!(marked(&machine.0).is_empty());
}

#[test]
fn a_signal_ends_all_of_them() {
    let machine = Machine::proven(&format!("repeat 1\n{STEP}"), "requests    60", json!({}));
    let exec = machine.start(&[]);
    wait_for("two launches", || machine.launches().len() >= 3 && marked(&machine.0).len() >= 2);
    kill(Pid::from_raw(exec.child.id() as i32), Signal::SIGINT).expect("it lives");
    exec.wait().expect_code(75);
    assert!(marked(&machine.0).is_empty());
    // they were ended, and their ends are known
    assert_eq!((machine.events("launch").len(), machine.events("gone").len()), (3, 3));
    assert_eq!(machine.events("end")[0]["complete"], false);
    machine.exec(&[]).expect_code(0);
    assert!(machine.events("lost").is_empty());
    assert_eq!(machine.events("run").len(), 4);
}

#[test]
fn a_gpu_that_falls_off_the_bus_in_one_slot_does_not_spoil_the_other() {
    // two candidates: whichever ends first, no third takes its slot while the loss is being noticed
    let machine = Machine::proven("repeat 1\nstep one { vary seqs[2, 4] }", "requests    120", json!({}));
    let exec = machine.start(&[]);
    wait_for("two loads", || {
        let text = fs::read_to_string(machine.0.path("events.jsonl")).unwrap_or_default();
        ["L002", "L003"].iter().all(|l| {
            text.lines().any(|e| e.contains("\"event\":\"load\"") && e.contains(&format!("\"{l}\"")))
        })
    });
    let of = |slot: u64| machine.launches().iter().position(|l| l.slot == Some(slot) && l.label != "Small");
    let (spared, hit) = (of(1).expect("slot 1"), of(2).expect("slot 2"));
    machine.play(json!({"lost": [{"gpu": 1}]}));
    exec.wait().expect_error(75, &["GPU-script-1 is lost", "nothing that ran on it counts"]);
    let name = |at: usize| format!("L{:03}", at + 1);
    let runs: Vec<Value> = machine.events("run").iter().map(|r| r["launch"].clone()).collect();
    assert!(runs.contains(&json!(name(spared))) && !runs.contains(&json!(name(hit))), "{runs:?}");
    assert_eq!(runs.len(), 2, "the baseline and the other slot");
    assert!(marked(&machine.0).is_empty());
    machine.play(json!({}));
    machine.exec(&[]).expect_code(0);
    assert_eq!(machine.events("run").len(), 3);
}

#[test]
fn a_check_that_takes_longer_than_it_saves_is_not_made_unless_asked_for() {
    let machine = Machine::new(&format!("repeat 1\n{STEP}"));
    let plan = |more: &[&str]| {
        let mut command = machine.0.command(&[&["plan", "study.plab", "--dir", "state"], more].concat());
        command.env("PERFLAB_GPUS", machine.0.path("gpus.json")).env_remove("CUDA_VISIBLE_DEVICES");
        command.env("XDG_CACHE_HOME", machine.0.path("cache"));
        machine.0.start_command(command).wait().expect_code(0)
    };
    let text = plan(&[]).stdout;
    assert!(
        text.contains(
            "one launch after another: the A/A check of neighbours (6 launches or more) takes longer"
        ),
        "{text}"
    );
    let sides =
        |more: &[&str]| plan(&[&["--format", "json"], more].concat()).json()["side_by_side"]["pays"].clone();
    assert_eq!((sides(&[]), sides(&["--parallel", "2"])), (false.into(), true.into()));
    let out = machine.start_as(&EXEC).wait().expect_code(0);
    assert!(out.stderr.contains("at most 4 launches to come\n"), "{}", out.stderr);
    assert!(out.stderr.contains("`--parallel 2` makes it all the same"), "{}", out.stderr);
    assert!(machine.launches().iter().all(|l| !l.check) && overlaps(&machine.launches()).is_empty());
    // asked for, it is counted
    let machine = Machine::new(&format!("repeat 1\n{STEP}"));
    let out = machine.exec(&[]).expect_code(0);
    let said = "at most 4 launches to come, and 6 or more of an A/A check of neighbours";
    assert!(out.stderr.contains(said), "{}", out.stderr);
}

#[test]
fn a_plan_says_how_many_run_side_by_side_and_what_they_save() {
    let lines = format!("repeat 1\n{STEP}");
    let machine = Machine::under(&lines, "requests    12", json!({}));
    let plan = |more: &[&str]| {
        let mut command = machine.0.command(&[&["plan", "study.plab", "--dir", "state"], more].concat());
        command.env("PERFLAB_GPUS", machine.0.path("gpus.json")).env_remove("CUDA_VISIBLE_DEVICES");
        command.env("XDG_CACHE_HOME", machine.0.path("cache"));
        machine.0.start_command(command).wait().expect_code(0)
    };
    let json = |more: &[&str]| plan(&[&["--format", "json"], more].concat()).json();
    let text = plan(&["--parallel", "2"]).stdout;
    let line =
        "parallel  2 launches side by side, if an A/A check of neighbours (6 launches or more) allows it";
    assert!(text.contains(line), "{text}");
    let (alone, unknown) = (json(&["--parallel", "1"]), json(&["--parallel", "2"]));
    assert!(alone["side_by_side"].is_null());
    assert_eq!(unknown["side_by_side"], json!({"launches": 2, "harmless": null, "check": 6, "pays": true}));
    machine.know(harmless());
    let known = json(&[]);
    assert_eq!(known["side_by_side"]["harmless"], true);
    // one baseline and three candidates: four turns, or three
    let wall = |plan: &Value| plan["ends_in_s"].as_f64().expect("predicted");
    assert!((wall(&known) / wall(&alone) - 0.75).abs() < 1e-9, "{} {}", wall(&known), wall(&alone));
    assert!((wall(&unknown) / wall(&alone) - 1.75).abs() < 1e-9, "{} {}", wall(&unknown), wall(&alone));
    assert_eq!(known["gpu_time_s"], alone["gpu_time_s"]);
    let mut command = machine.0.command(&["plan", "study.plab", "--parallel", "0"]);
    command.env("PERFLAB_GPUS", machine.0.path("gpus.json"));
    machine.0.start_command(command).wait().expect_error(2, &["--parallel"]);
}

/// Where this machine lets its user limit memory: made and removed by hand, as somebody would who looks for it.
fn can_limit_memory() -> bool {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let path = own.lines().find_map(|l| l.split_once(":memory:").map(|(_, path)| path.to_owned()));
    let mut parents: Vec<PathBuf> = match path {
        Some(path) => vec![PathBuf::from("/sys/fs/cgroup/memory").join(path.trim_start_matches('/'))],
        None => Vec::new(),
    };
    parents.extend(["/sys/fs/cgroup/memory", "/sys/fs/cgroup"].map(PathBuf::from));
    parents.iter().any(|parent| {
        let dir = parent.join(format!("by-hand-{}", std::process::id()));
        let made = fs::create_dir(&dir).is_ok();
        let limits = ["memory.limit_in_bytes", "memory.max"].iter().any(|f| dir.join(f).exists());
        made && fs::remove_dir(&dir).is_ok() && limits
    })
}

#[test]
fn each_launch_has_its_part_of_the_memory() {
    let machine = Machine::proven(&format!("repeat 1\n{STEP}"), "requests    60", json!({}));
    let exec = machine.start(&[]);
    wait_for("two launches", || machine.launches().len() >= 3 && marked(&machine.0).len() >= 2);
    let groups: Vec<String> = marked(&machine.0)
        .iter()
        .filter_map(|pid| fs::read_to_string(format!("/proc/{pid}/cgroup")).ok())
        .filter_map(|text| text.lines().find(|l| l.contains("/perflab-")).map(str::to_owned))
        .collect();
    kill(Pid::from_raw(exec.child.id() as i32), Signal::SIGINT).expect("it lives");
    exec.wait().expect_code(75);
    if can_limit_memory() {
        let apart: BTreeSet<&String> = groups.iter().collect();
        assert!(apart.len() >= 2, "each has a group of its own: {groups:?}");
    } else {
        assert_eq!(groups, [""; 0]);
    }
    for group in groups {
        let (_, path) = group.split_once("/perflab-").expect("seen above");
        let left =
            ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"].map(|d| Path::new(d).join(format!("perflab-{path}")));
        assert!(left.iter().all(|dir| !dir.exists()), "{left:?}");
    }
}
