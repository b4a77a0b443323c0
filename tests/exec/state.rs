//! The state directory: what is wrong with it is said, and what was measured is not lost.

use std::fs;
use std::process::Command;

use crate::support::{EXEC, Lab, events, live_study, marked, skip, unsealed, wait_for};

const ONE_STEP: &str = "step one { vary seqs[1, 2] }";

fn measured() -> Lab {
    let lab = Lab::with(&live_study(ONE_STEP));
    lab.run(&EXEC).expect_code(0);
    lab
}

fn exec_in(lab: &Lab, dir: &str) -> crate::support::Output {
    lab.run(&["exec", "study.plab", "--checks", "warn", "--format", "json", "--dir", dir])
}

#[test]
fn a_state_directory_that_cannot_be_made() {
    let lab = Lab::with(&live_study(ONE_STEP));
    lab.write("file", "");
    exec_in(&lab, "file/state").expect_error(1, &["file/state", "--dir"]);
    exec_in(&lab, "file").expect_error(1, &["file", "--dir"]);
    exec_in(&lab, "/proc/perflab-state").expect_error(1, &["/proc/perflab-state", "--dir"]);
}

/// A small file system of its own, as long as it lives.
struct Disk<'a>(&'a Lab);

impl<'a> Disk<'a> {
    fn mount(lab: &'a Lab) -> Option<Self> {
        fs::create_dir(lab.path("disk")).expect("a folder");
        let options = ["-t", "tmpfs", "-o", "size=256k", "tmpfs"];
        let mounted = Command::new("mount").args(options).arg(lab.path("disk")).output();
        mounted.is_ok_and(|o| o.status.success()).then_some(Self(lab))
    }

    /// Leaves room for so many bytes, in whole pages.
    fn fill_but(&self, left: usize) {
        let filler = vec![b'x'; (256 << 10) - left - (32 << 10)];
        fs::write(self.0.path("disk/filler"), filler).expect("there is room");
        for page in 0.. {
            if fs::write(self.0.path(&format!("disk/page{page}")), [b'x'; 4096]).is_err() {
                break;
            }
        }
        for page in 0..left / 4096 {
            fs::remove_file(self.0.path(&format!("disk/page{page}"))).expect("a page");
        }
    }

    fn clear(&self) {
        for entry in fs::read_dir(self.0.path("disk")).expect("a folder").flatten() {
            if entry.path().is_file() {
                fs::remove_file(entry.path()).expect("removed");
            }
        }
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path("disk")).output();
    }
}

#[test]
fn a_full_disk_ends_the_run_and_loses_nothing() {
    let lab = Lab::with(&live_study(ONE_STEP));
    let Some(disk) = Disk::mount(&lab) else {
        return skip("a_full_disk_ends_the_run_and_loses_nothing", "a tmpfs cannot be mounted here");
    };
    disk.fill_but(20 << 10);
    let out = exec_in(&lab, "disk/state");
    // room for a launch, and not for what it says
    assert_eq!(out.code, 75, "{}", out.stderr);
    assert!(out.stderr.contains("disk/state") && out.stderr.contains("No space left"), "{}", out.stderr);
    assert!(!out.stderr.contains("panicked"));
    let journal = || fs::read_to_string(lab.path("disk/state/journal.jsonl")).unwrap_or_default();
    assert!(journal().is_empty() || journal().ends_with('\n'), "no line is torn");
    let before = journal();
    disk.clear();
    let report = exec_in(&lab, "disk/state").expect_code(0).report();
    assert!(journal().starts_with(&before), "what was there stays");
    assert_eq!(report.0["trials"].as_array().map(Vec::len), Some(3));
}

#[test]
fn a_journal_with_a_broken_line_is_refused_and_kept() {
    let lab = measured();
    let text = lab.read("state/journal.jsonl");
    let mut lines: Vec<&str> = text.lines().collect();
    let middle = lines.len() / 2;
    let half = &lines[middle][..lines[middle].len() / 2];
    lines[middle] = half;
    let broken = lines.join("\n") + "\n";
    lab.write("state/journal.jsonl", &broken);
    let line = format!("line {}", middle + 1);
    lab.run(&EXEC).expect_error(1, &["journal.jsonl", &line, "help:"]);
    lab.run(&["plan", "study.plab", "--dir", "state"]).expect_error(1, &["journal.jsonl", &line]);
    lab.run(&["report", "study.plab", "--dir", "state"]).expect_error(1, &["journal.jsonl", &line]);
    assert_eq!(lab.read("state/journal.jsonl"), broken);
}

#[test]
fn a_digit_that_changed_on_the_disk_is_seen() {
    let lab = measured();
    let text = lab.read("state/journal.jsonl");
    let at = text.find("\"total_tps\":").expect("a result") + "\"total_tps\":".len();
    let line = format!("line {}", text[..at].lines().count());
    let mut bytes = text.clone().into_bytes();
    bytes[at] ^= 1;
    lab.write("state/journal.jsonl", &bytes);
    for args in
        [&EXEC[..], &["plan", "study.plab", "--dir", "state"], &["report", "study.plab", "--dir", "state"]]
    {
        let out = lab.run(args).expect_code(1);
        assert!(out.stderr.contains(&line) && out.stderr.contains("checksum"), "{}", out.stderr);
        assert!(
            out.stderr.contains("put a copy of it back") && !out.stderr.contains("measures a study"),
            "{}",
            out.stderr
        );
    }
    // a journal of a version without checksums is read as it is
    lab.write("state/journal.jsonl", unsealed(&text));
    assert_eq!(lab.run(&EXEC).expect_code(0).report().0["cost"]["launches"], 3);
}

#[test]
fn a_journal_that_is_emptied_is_refused_and_one_that_is_gone_is_told_of() {
    let lab = measured();
    lab.write("state/journal.jsonl", "");
    lab.run(&EXEC).expect_error(1, &["journal.jsonl is empty, and beside it lies what was measured"]);
    fs::remove_file(lab.path("state/journal.jsonl")).expect("removed");
    let out = lab.run(&EXEC).expect_code(0);
    assert!(out.stderr.contains("state holds logs of launches and no journal"), "{}", out.stderr);
}

#[test]
fn a_journal_that_lacks_a_line_is_refused() {
    let lab = measured();
    let text = lab.read("state/journal.jsonl");
    let kept: Vec<&str> = text.lines().enumerate().filter(|(i, _)| *i != 2).map(|(_, l)| l).collect();
    lab.write("state/journal.jsonl", kept.join("\n") + "\n");
    lab.run(&EXEC).expect_error(1, &["journal.jsonl", "line 3", "missing"]);
}

#[test]
fn a_torn_last_line_is_what_a_crash_leaves() {
    let lab = measured();
    let text = lab.read("state/journal.jsonl");
    let out = lab.run(&EXEC).expect_code(0);
    lab.write("state/journal.jsonl", text.clone() + "{\"v\":1,\"seq\":99,\"at");
    assert_eq!(lab.run(&EXEC).expect_code(0).stdout, out.stdout);
    // the last whole line is torn: what it said happened, happened for nothing, and is done again at most
    lab.write("state/journal.jsonl", &text[..text.len() - 10]);
    let again = lab.run(&EXEC).expect_code(0).report();
    assert_eq!(again.0["trials"].as_array().map(Vec::len), Some(3));
    assert_eq!(again.0["trials"][0]["metrics"], out.report().0["trials"][0]["metrics"]);
}

#[test]
fn a_journal_of_a_newer_version_is_refused() {
    let lab = measured();
    let text = lab.read("state/journal.jsonl");
    let newer = text.clone() + "{\"v\":99,\"seq\":1000,\"what\":\"nobody knows\"}\n";
    lab.write("state/journal.jsonl", &newer);
    lab.run(&EXEC).expect_error(1, &["newer", "version 99"]);
    assert_eq!(lab.read("state/journal.jsonl"), newer);
}

#[test]
fn the_second_exec_of_a_study_leaves_it_to_the_first() {
    let lab = Lab::with(&live_study(ONE_STEP).replace("requests    8", "requests    20000"));
    let first = lab.start(&[&EXEC[..], &["--events", "events.jsonl"]].concat());
    wait_for("the first launch", || events(&lab).iter().any(|e| e["event"] == "launch_ready"));
    let pid = first.child.id().to_string();
    lab.run(&EXEC).expect_error(1, &["another perflab", "state", &format!("pid {pid}")]);
    // looking is allowed meanwhile
    lab.run(&["plan", "study.plab", "--dir", "state"]).expect_code(0);
    let signal = nix::sys::signal::Signal::SIGINT;
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(first.child.id() as i32), signal).expect("it lives");
    first.wait().expect_code(75);
    assert_eq!(marked(&lab), [0i32; 0]);
}

#[test]
fn a_second_run_measures_nothing_and_prints_the_same() {
    let lab = measured();
    let journal = lab.read("state/journal.jsonl");
    let text = ["exec", "study.plab", "--checks", "warn", "--dir", "state"];
    let (json, first) = (lab.run(&EXEC).expect_code(0), lab.run(&text).expect_code(0));
    let (json_again, again) = (lab.run(&EXEC).expect_code(0), lab.run(&text).expect_code(0));
    assert_eq!((json.stdout, first.stdout), (json_again.stdout, again.stdout));
    assert_eq!(
        lab.read("state/journal.jsonl"),
        journal,
        "an invocation that measured nothing leaves no trace"
    );
    assert!(!again.stderr.contains("L0"), "{}", again.stderr);
}

#[test]
fn an_edit_loses_no_run_that_still_counts() {
    let lab = measured();
    let launches = |lab: &Lab| {
        let report = lab.run(&EXEC).expect_code(0).report();
        report.0["cost"]["launches"].as_u64().expect("a count")
    };
    assert_eq!(launches(&lab), 3);
    let edits: [(&str, &str, u64); 7] = [
        ("study s \"S\"", "study s \"Another title\"", 3),
        ("repeat 1", "adopt gain >= 50%\n repeat 1", 3),
        ("profile quick \"Quick\"", "# a comment\nprofile quick \"Fast\"", 3),
        ("engine small \"Small\"", "engine small \"Tiny\"", 3),
        // another order, and a step more over what there is
        ("seqs[1, 2]", "seqs[2, 1]", 3),
        // one flag value more is one launch more
        ("seqs[2, 1]", "seqs[2, 1, 3]", 4),
        // another load makes new trials of all
        ("requests    8", "requests    9", 8),
    ];
    for (from, to, expected) in edits {
        let text = lab.read("study.plab");
        assert!(text.contains(from), "{from}");
        lab.write("study.plab", text.replace(from, to));
        assert_eq!(launches(&lab), expected, "after {from:?} became {to:?}");
    }
    // and back again: nothing is forgotten
    lab.write("study.plab", live_study(ONE_STEP));
    assert_eq!(launches(&lab), 8);
}

#[test]
fn a_step_added_before_others_measures_only_itself() {
    let lab = measured();
    lab.write(
        "study.plab",
        live_study(&format!("adopt gain >= 1000%\n step zero {{ vary batched }}\n {ONE_STEP}")),
    );
    assert_eq!(lab.run(&EXEC).expect_code(0).report().0["cost"]["launches"], 4);
}

#[test]
fn the_report_is_made_from_the_journal_alone() {
    let lab = measured();
    let exec = lab.run(&EXEC).expect_code(0);
    let json = |args: &[&str]| lab.run(&[args, &["--format", "json"]].concat()).expect_code(0).report();
    // a state directory holds the report as it was last written
    assert_eq!(json(&["report", "state"]), exec.report());
    // from the file it is judged anew; what was measured is the same
    let report = json(&["report", "study.plab", "--dir", "state"]);
    let metrics = |r: &crate::support::Report| -> Vec<_> {
        let trials = r.0["trials"].as_array().expect("trials").iter();
        trials.map(|t| (t["id"].clone(), t["metrics"].clone())).collect()
    };
    let found = metrics(&report);
    assert!(found.iter().all(|t| metrics(&exec.report()).contains(t)) && !found.is_empty());
    assert_eq!(report.0["launches"], exec.report().0["launches"]);
    for (format, begins) in [("md", "#"), ("text", "S\n")] {
        let out = lab.run(&["report", "state", "--format", format]).expect_code(0);
        assert!(out.stdout.starts_with(begins) && out.stdout.contains("imulated"), "{}", out.stdout);
    }
    // where nothing was measured there is nothing to show
    lab.run(&["report", "study.plab", "--dir", "elsewhere"])
        .expect_error(1, &["elsewhere", "has not been measured"]);
    fs::create_dir(lab.path("hollow")).expect("a folder");
    lab.run(&["report", "hollow"]).expect_error(1, &["hollow", "report.json"]);
}

#[test]
fn state_lies_beside_the_file_unless_told_otherwise() {
    let lab = Lab::new();
    fs::create_dir(lab.path("studies")).expect("a folder");
    lab.write("studies/study.plab", live_study("step one { vary seqs[1] }"));
    lab.run(&["exec", "studies/study.plab", "--checks", "warn"]).expect_code(0);
    let state = lab.path("studies/.perflab/s");
    for name in ["journal.jsonl", "trials", "report.md", "report.json", "recommended.sh"] {
        assert!(state.join(name).exists(), "{name}");
    }
    lab.run(&["report", "studies/study.plab"]).expect_code(0);
}
