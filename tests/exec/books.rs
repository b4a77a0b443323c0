//! Where the time of a study went: launches are taken apart, and the parts add up.

use std::os::unix::process::CommandExt as _;

use nix::libc;

use crate::support::{EXEC, Lab, Report, Running, assert_close, live_study};

fn parts(report: &Report) -> f64 {
    let launches = report.0["launches"].as_array().expect("launches");
    let keys = ["start_s", "warmup_s", "load_s", "stop_s", "own_s"];
    launches.iter().flat_map(|l| keys.map(|k| l[k].as_f64().unwrap_or_else(|| panic!("no {k}")))).sum()
}

/// An execution that gets a processor before others do, where the user may ask for that: time in which perflab waits for a processor that
/// other programs have is in its books as its own, and says nothing of it.
fn preferred(lab: &Lab) -> Running {
    let mut command = lab.command(&EXEC);
    let prefer = || {
        // SAFETY: a system call that changes this process's own priority, and nothing where it is refused
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -15) };
        Ok(())
    };
    // SAFETY: between fork and exec only that system call is made
    unsafe { command.pre_exec(prefer) };
    lab.start_command(command)
}

/// Loads that last as long as their schedule says, so that perflab's own part does not depend on the machine being fast.
#[test]
fn the_parts_of_the_launches_are_the_wall_time_and_little_is_our_own() {
    let study = live_study("step one { vary seqs[4] }");
    let study = study.replace("concurrency 4\n    requests    8", "rate 4/s\n    requests 48");
    let mut shares = Vec::new();
    // a machine that does something else for a moment may take one of three
    for _ in 0..3 {
        let lab = Lab::with(&study);
        let report = preferred(&lab).wait().expect_code(0).report();
        let cost = &report.0["cost"];
        let (wall, own) =
            (cost["wall_s"].as_f64().expect("seconds"), cost["own_s"].as_f64().expect("seconds"));
        assert_eq!((&cost["launches"], &cost["trials"]), (&2.into(), &2.into()));
        assert_close(parts(&report), wall, wall * 0.01);
        assert!(own >= 0.0 && cost["gpu_s"].as_f64() == Some(0.0) && cost["energy_j"].is_null());
        for launch in report.0["launches"].as_array().expect("launches") {
            assert!(
                launch["load_s"].as_f64() > Some(11.0) && launch["start_s"].as_f64() > Some(0.0),
                "{launch}"
            );
        }
        shares.push(own / wall);
        if own / wall < 0.02 {
            return;
        }
    }
    panic!("perflab's own shares of the wall time: {shares:?}");
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
