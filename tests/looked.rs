//! What a launch looks for is part of its result, there or not, with the real binary: no text says the names here, and the kernel tells them
//! (`engine::lookups`). Where it tells nobody, these are skipped.

use std::fs;

use perflab::engine::lookups;

use crate::conditions::{expect, lab, script, write};
use crate::support::{EXEC, Lab, Running, wait_for};

fn start(lab: &Lab) -> Running {
    let mut command = lab.command(&EXEC);
    command.env("PERFLAB_LOOKUPS", "on");
    lab.start_command(command)
}

/// Launches of the study so far.
#[track_caller]
fn exec(lab: &Lab) -> u64 {
    start(lab).wait().expect_code(0).report().0["cost"]["launches"].as_u64().expect("a number")
}

/// A study whose start script begins with these lines; `None` where nothing is told of what it looks for.
fn looking(lines: &str) -> Option<Lab> {
    if !lookups::can_be_seen() {
        // that is up to the machine, and nothing that could be installed there
        eprintln!("SKIPPED what engines look for: the kernel does not tell it to this user");
        return None;
    }
    let lab = lab("");
    write(&lab, "engine.sh", script(lines));
    Some(lab)
}

#[test]
fn what_comes_to_a_name_that_a_launch_looked_for_is_seen() {
    for (lines, name) in [
        ("for f in $(printf 'tune%s ' .env .more); do [ -f \"$f\" ] && . \"./$f\"; done", "tune.env"),
        (
            "see() { [ -e \"$1.$2\" ] && echo \"$1\"; }\nboth() { see \"$2\" \"$1\"; }\nboth flag slow",
            "slow.flag",
        ),
        ("cat \"$(echo vne.lacol/fnoc | rev)\" 2>/dev/null", "conf/local.env"),
        ("sh -c \". ./$(echo erom | rev)\" 2>/dev/null", "more"),
        ("for f in \"$(echo d.fnoc | rev)\"/*.env; do [ -e \"$f\" ] && . \"$f\"; done", "conf.d/a.env"),
        ("PATH=\"$PWD/$(echo nib | rev):$PATH\"; $(echo renut | rev) 2>/dev/null", "bin/tuner"),
    ] {
        let Some(lab) = looking(lines) else { return };
        for dir in ["conf", "conf.d", "bin"] {
            fs::create_dir(lab.path(dir)).expect("made");
        }
        assert_eq!(exec(&lab), 2, "{lines}");
        expect(&lab, "");
        write(&lab, name, "x=1\n");
        let told = if name.starts_with("conf.d") { "conf.d/*" } else { name };
        expect(&lab, &format!("{told}, which its launch looked for, is there now"));
        fs::remove_file(lab.path(name)).expect("removed");
        expect(&lab, "");
    }
}

#[test]
fn what_goes_that_a_launch_asked_for_is_seen() {
    let Some(lab) = looking("[ -f \"$(echo galf.wols | rev)\" ] && mode=2\n[ -d \"$(echo obrut | rev)\" ]")
    else {
        return;
    };
    write(&lab, "slow.flag", "");
    fs::create_dir(lab.path("turbo")).expect("made");
    assert_eq!(exec(&lab), 2);
    expect(&lab, "");
    fs::remove_file(lab.path("slow.flag")).expect("removed");
    expect(&lab, "slow.flag, which its launch looked for, is not there now");
    write(&lab, "slow.flag", "");
    expect(&lab, "");
    fs::remove_dir(lab.path("turbo")).expect("removed");
    expect(&lab, "turbo, which its launch looked for, is not there now");
}

#[test]
fn what_a_launch_makes_itself_costs_nothing() {
    let lines = "d=$(echo d.etats | rev)\n[ -d \"$d\" ] || mkdir \"$d\"\n[ -f \"$d/seen\" ] || echo 1 > \"$d/seen\"\n\
                 [ -f \"$d/pid\" ] && rm \"$d/pid\"\necho $$ > \"$d/pid\"\nln -sf seen \"$d/last\"\nchmod 755 \"$d\"";
    let Some(lab) = looking(lines) else { return };
    assert_eq!(exec(&lab), 2);
    expect(&lab, "");
    fs::remove_dir_all(lab.path("state.d")).expect("removed");
    expect(&lab, "");
}

/// The script says so itself.
fn wait_until_it_looks(lab: &Lab) {
    wait_for("a launch that looks", || lab.path("begun.log").exists());
}

/// A file that is put there for a moment, or moved away for one, while a launch looks for it again and again.
#[test]
fn what_comes_and_goes_under_a_launch_makes_it_doubtful() {
    let ask = "f=$(echo galf.toh | rev)\nlook() { [ -e \"$f\" ] && echo there > seen.log || echo none > seen.log; }\nlook\necho $$ >> begun.log\n\
               while :; do look; sleep 0.02; done &\nsleep 1";
    for there in [false, true] {
        let Some(lab) = looking(ask) else { return };
        let (file, aside) = (lab.path("hot.flag"), lab.path("aside"));
        if there {
            write(&lab, "hot.flag", "");
        }
        let running = start(&lab);
        wait_until_it_looks(&lab);
        let (first, then): (&dyn Fn(), &dyn Fn()) = if there {
            (&|| fs::rename(&file, &aside).expect("moved"), &|| fs::rename(&aside, &file).expect("moved"))
        } else {
            (&|| fs::write(&file, "").expect("written"), &|| fs::remove_file(&file).expect("removed"))
        };
        first();
        let other = if there { "none" } else { "there" };
        wait_for("the launch to see it", || lab.read("seen.log").trim() == other);
        then();
        let out = running.wait().expect_code(0);
        assert!(out.stderr.contains("L001: hot.flag changed while it was measured"), "{out:?}");
        assert_eq!(out.report().0["cost"]["launches"], 3);
    }
}

/// Settings that were read are moved away, others stand there for a moment, and they are put back: they hold what they held.
#[test]
fn a_file_that_was_opened_and_is_moved_away_and_back_makes_a_launch_doubtful() {
    let Some(lab) = looking("read -r line < \"$(echo ini.fnoc | rev)\"\necho $$ >> begun.log\nsleep 1")
    else {
        return;
    };
    write(&lab, "conf.ini", "1\n");
    let running = start(&lab);
    wait_until_it_looks(&lab);
    fs::rename(lab.path("conf.ini"), lab.path("aside")).expect("moved");
    write(&lab, "conf.ini", "2\n");
    fs::rename(lab.path("aside"), lab.path("conf.ini")).expect("moved");
    let out = running.wait().expect_code(0);
    assert!(out.stderr.contains("L001: conf.ini changed while it was measured"), "{out:?}");
}
