//! Where the time of a study went: launches are taken apart, and the parts add up.

use std::fs;
use std::time::Instant;

use crate::containers::children;
use crate::support::{EXEC, Lab, Report, assert_close, binary, events, live_study, wait_for};

fn parts(report: &Report) -> f64 {
    let launches = report.0["launches"].as_array().expect("launches");
    let keys = ["start_s", "warmup_s", "load_s", "stop_s", "own_s"];
    launches.iter().flat_map(|l| keys.map(|k| l[k].as_f64().unwrap_or_else(|| panic!("no {k}")))).sum()
}

/// Loads that last as long as their schedule says, so that their part is known on any machine.
#[test]
fn the_parts_of_the_launches_are_the_wall_time() {
    let study = live_study("step one { vary seqs[4] }");
    let lab = Lab::with(&study.replace("concurrency 4\n    requests    8", "rate 4/s\n    requests 12"));
    let report = lab.run(&EXEC).expect_code(0).report();
    let cost = &report.0["cost"];
    let (wall, own) = (cost["wall_s"].as_f64().expect("seconds"), cost["own_s"].as_f64().expect("seconds"));
    assert_eq!((&cost["launches"], &cost["trials"]), (&2.into(), &2.into()));
    assert_close(parts(&report), wall, wall * 0.01);
    assert!(own >= 0.0 && cost["gpu_s"].as_f64() == Some(0.0) && cost["energy_j"].is_null());
    for launch in report.0["launches"].as_array().expect("launches") {
        assert!(launch["load_s"].as_f64() > Some(2.5) && launch["start_s"].as_f64() > Some(0.0), "{launch}");
    }
}

/// An engine that loads its weights until it is told that they are there.
const SLOW: &str = r#"
engine slow "Slow" {
    version "1"
    serve   "sh engine.sh {model} {host} {port}"
    ready   get "/health" within 5min
    stop    sigterm within 5s
    flag --max-num-seqs int 1..
}
engine mine "Mine" = slow { --max-num-seqs=4 }
profile quick "Quick" {
    data        random
    input       16
    output      8
    concurrency 4
    requests    8
    warmup      0
}
axis seqs = --max-num-seqs=[8]
study s {
    model    "org/some-model"
    baseline mine
    maximize total_tps on quick
    repeat   1
    step one { vary seqs }
}
"#;

/// How often threads of these processes have waited for something and were woken.
fn waits(pids: &[u32]) -> u64 {
    let tasks =
        pids.iter().filter_map(|pid| fs::read_dir(format!("/proc/{pid}/task")).ok()).flatten().flatten();
    let status = tasks.filter_map(|task| fs::read_to_string(task.path().join("status")).ok());
    let count = |status: String| {
        let line = status.lines().find_map(|l| l.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse::<u64>().ok()
    };
    status.filter_map(count).sum()
}

/// An engine that loads its weights for minutes leaves perflab and its guard next to nothing to do: they are woken by a line of the log,
/// and by a few clocks. The processor time that this costs, below 1 % of a core, is measured by `benches/own_time.py`; a wake-up
/// takes less than a ten-thousandth of a second. A machine that is slow or busy wakes them less often.
#[test]
fn perflab_sleeps_while_an_engine_loads_its_weights() {
    const MOST_PER_S: f64 = 100.0;
    let lab = Lab::with(SLOW);
    let script = format!(
        "i=0\nuntil [ -e go ]; do i=$((i+1)); echo \"Loading safetensors checkpoint shards: $i% Completed\"; sleep 0.5; done\n\
         exec '{}' sim --model \"$1\" --host \"$2\" --port \"$3\"\n",
        binary()
    );
    lab.write("engine.sh", script);
    let running = lab.start(&[&EXEC[..], &["--events", "events.jsonl"]].concat());
    let said = |what: &str| events(&lab).iter().filter(|e| e["event"] == what).count();
    wait_for("an engine that loads", || said("starting") > 2);
    let ours: Vec<u32> = [running.child.id()].into_iter().chain(children(running.child.id())).collect();
    assert_eq!(ours.len(), 2, "perflab and a guard");
    let (began, before) = (Instant::now(), waits(&ours));
    let (then, more) = (said("starting"), 8);
    wait_for("some more of the weights", || said("starting") >= then + more);
    let woken = waits(&ours) - before;
    assert_eq!(said("launch_ready"), 0);
    let per_s = woken as f64 / began.elapsed().as_secs_f64();
    println!("woken {per_s:.1} times a second");
    assert!(per_s < MOST_PER_S, "{woken} wake-ups, {per_s} a second");
    lab.write("go", "");
    running.wait().expect_code(0);
}

#[test]
fn warmup_is_booked_apart_from_the_load() {
    let lab = Lab::with(&live_study("step one { vary seqs[4] }").replace("warmup      0", "warmup      4"));
    let report = lab.run(&EXEC).expect_code(0).report();
    for launch in report.0["launches"].as_array().expect("launches") {
        assert!(launch["warmup_s"].as_f64() > Some(0.0), "{launch}");
    }
    let baseline = report.trial(report.0["baseline"].as_str().expect("an id"));
    assert_eq!(baseline["metrics"]["planned"].as_f64(), Some(8.0));
}

#[test]
fn the_cost_is_the_studys_over_all_invocations() {
    let lab = Lab::with(&live_study("step one { vary seqs[1] }"));
    let first = lab.run(&EXEC).expect_code(0).report();
    lab.write("study.plab", live_study("step one { vary seqs[1, 2] }"));
    let second = lab.run(&EXEC).expect_code(0).report();
    let wall = |r: &Report| r.0["cost"]["wall_s"].as_f64().expect("seconds");
    assert!(wall(&second) > wall(&first));
    assert_eq!((&first.0["cost"]["launches"], &second.0["cost"]["launches"]), (&2.into(), &3.into()));
    assert_close(parts(&second), wall(&second), wall(&second) * 0.02 + 0.05);
}
