//! What a start script asks of files and never reads is a condition of its results, with the real binary: whether they are there, may be
//! run, or are newer than others, and where links lead.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::conditions::{exec, expect, lab, script, write};
use crate::support::Lab;

/// Measures with a script that begins with these lines, changes something, and expects to be told of it; once it is as it was, all counts.
fn told(lines: &str, before: fn(&Lab), change: fn(&Lab), back: fn(&Lab), why: &str) {
    let lab = lab("");
    write(&lab, "engine.sh", script(lines));
    before(&lab);
    assert_eq!(exec(&lab), 2, "{lines}");
    expect(&lab, "");
    change(&lab);
    expect(&lab, why);
    back(&lab);
    expect(&lab, "");
}

fn nothing(_: &Lab) {}

fn may(lab: &Lab, mode: u32) {
    fs::set_permissions(lab.path("hook.sh"), Permissions::from_mode(mode)).expect("a mode");
}

fn written(lab: &Lab, names: [&str; 2]) {
    for (second, name) in names.iter().enumerate() {
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1 + second as u64);
        let file = fs::File::options().append(true).create(true).open(lab.path(name)).expect("open");
        file.set_modified(at).expect("set");
    }
}

fn lead(lab: &Lab, to: &str) {
    let _ = fs::remove_file(lab.path("current"));
    symlink(to, lab.path("current")).expect("a link");
}

#[test]
fn a_file_that_comes_is_seen_wherever_a_script_looks_for_it() {
    for (lines, name) in [
        (
            r#"HERE=$(cd "$(dirname "$0")" && pwd); [ -f "$HERE/local.env" ] && . "$HERE/local.env""#,
            "local.env",
        ),
        (
            r#"DIR="$(dirname "$0")/conf"; if [ -f $DIR/local.env ]; then . $DIR/local.env; fi"#,
            "conf/local.env",
        ),
        (r#"(. "$PWD/local.env") 2>/dev/null"#, "local.env"),
        ("more=$(cat extra.args 2>/dev/null)", "extra.args"),
        (r#"PATH="$PWD/bin:$PATH"; command -v tuner >/dev/null && tuner"#, "bin/tuner"),
    ] {
        let lab = lab("");
        fs::create_dir(lab.path("conf")).expect("made");
        fs::create_dir(lab.path("bin")).expect("made");
        write(&lab, "engine.sh", script(lines));
        assert_eq!(exec(&lab), 2, "{lines}");
        expect(&lab, "");
        write(&lab, name, "x=1\n");
        expect(&lab, &format!("measured before {name} was there"));
        fs::remove_file(lab.path(name)).expect("removed");
        expect(&lab, "");
    }
}

#[test]
fn a_directory_and_the_right_to_run_are_conditions() {
    told(
        "[ -d turbo ] && mode=2",
        nothing,
        |lab| fs::create_dir(lab.path("turbo")).expect("made"),
        |lab| fs::remove_dir(lab.path("turbo")).expect("removed"),
        "measured before turbo (a directory) was there",
    );
    told(
        "delay=$(./hook.sh 2>/dev/null || echo 2)",
        |lab| {
            write(lab, "hook.sh", "#!/bin/sh\necho 1\n");
            may(lab, 0o755);
        },
        |lab| may(lab, 0o644),
        |lab| may(lab, 0o755),
        "./hook.sh (whether it may be run) changed since it was measured",
    );
}

#[test]
fn where_a_link_leads_and_what_is_newest_are_conditions() {
    told(
        r#"[ "$(readlink current)" = two ] && mode=2"#,
        |lab| lead(lab, "one"),
        |lab| lead(lab, "two"),
        |lab| lead(lab, "one"),
        "current (where it leads) changed since it was measured",
    );
    told(
        "newest=$(ls -t *.yaml | head -1); [ a.yaml -nt b.yaml ] && mode=2",
        |lab| written(lab, ["a.yaml", "b.yaml"]),
        |lab| written(lab, ["b.yaml", "a.yaml"]),
        |lab| written(lab, ["a.yaml", "b.yaml"]),
        "*.yaml (by age) changed since it was measured",
    );
}
