//! Launches that change files, and whose files they are taken for.

use serde_json::json;

use super::super::event::{Event, Kind, LaunchTimes, VERSION};
use super::*;
use crate::judge::{Metrics, Run};

/// What a launch does: to a file that was there, or that was not.
#[derive(Clone, Copy)]
enum Does {
    Changes,
    PutsBack,
    Makes,
    Fails,
    Nothing,
}
use Does::{Changes, Fails, Makes, Nothing, PutsBack};

fn push(history: &mut History, kind: Kind) {
    let seq = history.last_seq() + 1;
    history.push(Event { v: VERSION, seq, at: String::new(), session: 1, session_s: 0.0, kind });
}

fn begins(history: &mut History, launch: &str) {
    begins_of(history, launch, "c");
}

fn begins_of(history: &mut History, launch: &str, config: &str) {
    let told = json!({
        "launch": launch, "config_id": config, "config": {}, "profiles": [], "label": "", "nonce": launch
    });
    push(history, serde_json::from_value(json!({ "launch": told })).expect("an event"));
}

fn ends(history: &mut History, launch: &str, does: Does, was_there: bool) {
    let mut made = Conditions::default();
    if was_there {
        made.files.insert("f".to_owned(), "1".to_owned());
    } else {
        made.absent.insert("f".to_owned());
    }
    let failed = RunOutcome::FailedStart { class: "x".to_owned(), line: String::new() };
    let run = Run {
        n: 1,
        launch: launch.into(),
        outcome: if matches!(does, Fails) { failed } else { RunOutcome::Done },
        metrics: Metrics::default(),
        notes: Vec::new(),
        devices: None,
        confirming: false,
        simulated: false,
        log_tail: Vec::new(),
    };
    let text = || "c".to_owned();
    let (infrastructure, made, seed) = (false, Some(Box::new(made)), None);
    let (launch, config_id, profile, profile_id) = (launch.to_owned(), text(), text(), text());
    let kind = Kind::Run {
        launch: launch.clone(),
        config_id,
        profile,
        profile_id,
        serve_id: text(),
        host_id: text(),
        infrastructure,
        run,
        made,
        seed,
        opened: None,
    };
    push(history, kind);
    let changed = match does {
        Changes => vec!["f".to_owned()],
        PutsBack => vec![format!("f{PUT_BACK}")],
        _ => Vec::new(),
    };
    let appeared = if matches!(does, Makes) { vec!["f".to_owned()] } else { Vec::new() };
    let (times, stuck) = (LaunchTimes::default(), Vec::new());
    let (came, made) = (Vec::new(), Vec::new());
    let left = BTreeMap::new();
    push(history, Kind::Gone { launch, times, gpus: 0, changed, appeared, came, made, left, stuck });
}

/// Which of launches one after another are doubtful, and whether the file is the engine's.
fn told(launches: &[Does]) -> (Vec<usize>, bool) {
    let mut history = History::default();
    let mut was_there = !matches!(launches.first(), Some(Makes));
    for (at, does) in launches.iter().enumerate() {
        begins(&mut history, &format!("L{at}"));
        ends(&mut history, &format!("L{at}"), *does, was_there);
        was_there |= matches!(does, Makes);
    }
    let moved = Moved::of(&history);
    let doubtful = moved.doubtful().map(|l| l[1..].parse().expect("a number")).collect();
    (doubtful, moved.written().any(|name| name == "f"))
}

#[test]
fn only_what_changes_under_every_launch_is_the_engine_s() {
    assert_eq!(told(&[Changes]), (vec![0], false));
    assert_eq!(told(&[Changes, Changes]), (vec![0, 1], false), "a person edits twice");
    assert_eq!(told(&[Changes, Changes, Changes, Changes]), (vec![0, 1], true));
    assert_eq!(told(&[Changes, Fails, Changes, Changes]), (vec![0, 2], true), "it came not so far");
    assert_eq!(told(&[Changes, Changes, Changes, Nothing]), (vec![0, 1, 2], false), "it was a person");
    assert_eq!(told(&[Nothing, Changes, Changes, Changes]), (vec![1, 2, 3], false));
    assert_eq!(told(&[PutsBack, PutsBack, PutsBack]), (vec![0, 1], false));
    assert_eq!(told(&[Makes, Changes, Changes]), (vec![], true));
    assert_eq!(told(&[Makes, Changes, Nothing]), (vec![0, 1], false));
    assert_eq!(told(&[Makes]), (vec![], true));
    assert_eq!(told(&[Makes, Nothing]), (vec![0], false), "a person made it");
}

#[test]
fn one_edit_under_launches_side_by_side_is_one_edit() {
    let mut history = History::default();
    let names = ["L0", "L1", "L2", "L3"];
    for name in names {
        begins(&mut history, name);
    }
    for name in names {
        ends(&mut history, name, Changes, true);
    }
    let moved = Moved::of(&history);
    assert_eq!(moved.doubtful().collect::<Vec<_>>(), names);
    assert_eq!(moved.written().next(), None);
}

#[test]
fn what_every_launch_of_one_configuration_changes_is_that_one_s() {
    let mut history = History::default();
    let all = [("c", Nothing), ("d", Makes), ("d", PutsBack), ("d", Changes), ("c", Nothing)];
    for (at, (config, does)) in all.into_iter().enumerate() {
        let launch = format!("L{at}");
        begins_of(&mut history, &launch, config);
        ends(&mut history, &launch, does, at > 1);
    }
    let moved = Moved::of(&history);
    // two of them a person may have edited
    assert_eq!(moved.doubtful().collect::<Vec<_>>(), ["L1", "L2"]);
    let is_own = |launch| moved.is_own_since(launch, "f", || None);
    assert_eq!(["L0", "L3", "L4"].map(is_own), [false, true, false], "others still read it");
}
