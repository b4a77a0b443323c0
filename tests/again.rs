//! Failures whose cause lies outside of perflab: they end with their cause where it can be looked at, and by the user's word where it
//! cannot.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use crate::support::{Lab, binary};

const STUDY: &str = r#"
engine own "Own" {
    serve "sh engine.sh {model} {host} {port}"
    ready get "/health" within 30s
    api   openai
    stop  sigterm within 5s
    args  joined
    flag --mode text
}
engine mine "Mine" = own { --mode=plain }
profile quick "Quick" {
    data        random
    input       16
    output      4
    concurrency 2
    requests    4
    warmup      0
}
axis mode = --mode=[one, two]
study s "S" {
    model    "org/some-model"
    baseline mine
    maximize total_tps on quick
    repeat   1
    step mode { vary mode }
}
"#;

/// A busy machine is not what this is about.
const EXEC: [&str; 8] = ["exec", "study.plab", "--dir", "state", "--format", "json", "--checks", "warn"];

/// A study whose candidate `one` does this first.
fn lab(one: &str) -> Lab {
    let lab = Lab::with(STUDY);
    let script = format!(
        "case \"$*\" in *--mode=one*)\n{one}\n;; esac\nexec '{}' sim --model \"$1\" --host \"$2\" --port \"$3\"\n",
        binary()
    );
    lab.write("engine.sh", script);
    lab
}

/// Launches of the study so far.
#[track_caller]
fn exec(lab: &Lab, more: &[&str]) -> u64 {
    let report = lab.run(&[&EXEC[..], more].concat()).expect_code(0).report();
    report.0["cost"]["launches"].as_u64().expect("a number")
}

/// State and reason of the candidate `one`.
#[track_caller]
fn one(lab: &Lab) -> String {
    let plan = lab
        .run(&["plan", "study.plab", "--dir", "state", "--format", "json", "--checks", "warn"])
        .expect_code(0)
        .json();
    let c = &plan["steps"][0]["candidates"][0];
    format!("{}: {}", c["state"].as_str().expect("a state"), c["reason"].as_str().unwrap_or_default())
}

/// Measured, and at most flagged.
fn works(one: &str) -> bool {
    one.starts_with("measured: ") && !one.contains("did not start")
}

#[test]
fn a_file_that_is_opened_ends_the_finding_that_it_was_closed() {
    let refuse = "[ $(stat -c %a w.bin) = 600 ] && { echo \"PermissionError: [Errno 13] Permission denied: 'w.bin'\"; exit 1; }";
    let lab = lab(refuse);
    lab.write("w.bin", "weights");
    let set = |mode| fs::set_permissions(lab.path("w.bin"), Permissions::from_mode(mode)).expect("a mode");
    set(0o600);
    assert_eq!(exec(&lab, &[]), 3);
    assert_eq!(
        one(&lab),
        "measured: did not start: no access: PermissionError: [Errno 13] Permission denied: 'w.bin'"
    );
    assert_eq!(exec(&lab, &[]), 3, "a finding stands");
    set(0o644);
    let said = one(&lab);
    assert!(said.starts_with("to_measure: w.bin is not as it was when it failed on it (mode 600"), "{said}");
    assert_eq!(exec(&lab, &[]), 4, "one launch, of the one that failed");
    assert!(works(&one(&lab)), "{}", one(&lab));
}

#[test]
fn what_is_put_there_ends_the_finding_that_it_was_missing() {
    for (line, put) in [
        ("FileNotFoundError: [Errno 2] No such file or directory: 'cfg/a.json'", "cfg/a.json"),
        (
            "engine: error while loading shared libraries: libmade-up.so.7: cannot open shared object file",
            "lib/libmade-up.so.7",
        ),
        ("sh: 1: made-up-tool: not found", "bin/made-up-tool"),
    ] {
        let lab = lab(&format!("[ -e \"$(echo {put})\" ] || {{ echo \"{line}\" >&2; exit 1; }}"));
        let site = "site here {\n    env LD_LIBRARY_PATH=\"@LIB\"\n    env PATH=\"@BIN:/usr/bin:/bin\"\n}\n";
        let at = |name: &str| lab.path(name).display().to_string();
        lab.write("site.plab", site.replace("@LIB", &at("lib")).replace("@BIN", &at("bin")));
        for dir in ["lib", "bin"] {
            fs::create_dir(lab.path(dir)).expect("made");
        }
        assert_eq!(exec(&lab, &[]), 3);
        assert!(one(&lab).starts_with("measured: did not start: missing file"), "{}", one(&lab));
        let path = lab.path(put);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(&path, "x").expect("put there");
        fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("a mode");
        let said = one(&lab);
        assert!(said.starts_with("to_measure: ") && said.contains("(not there; now mode 755"), "{said}");
        // a new library beside engines is a condition of the others too
        assert!([4, 6].contains(&exec(&lab, &[])), "{line}");
        assert!(works(&one(&lab)), "{}", one(&lab));
    }
}

#[test]
fn a_trial_is_measured_again_where_the_user_says_so() {
    // nothing in the line tells what it was
    let lab = lab("[ -e \"$(echo dednem | rev)\" ] || { echo 'ValueError: heads are odd' >&2; exit 1; }");
    assert_eq!(exec(&lab, &[]), 3);
    lab.write("mended", "");
    assert_eq!(exec(&lab, &[]), 3, "perflab cannot see it");
    let strictness = ["--checks", "warn"];
    let text =
        lab.run(&[&["plan", "study.plab", "--dir", "state"][..], &strictness].concat()).expect_code(0).stdout;
    assert!(text.contains("`exec --again one` measures it again"), "{text}");
    let report =
        lab.run(&[&["exec", "study.plab", "--dir", "state"][..], &strictness].concat()).expect_code(0).stdout;
    assert!(report.contains("`exec --again failed` measures"), "{report}");
    assert_eq!(exec(&lab, &["--again", "failed"]), 4);
    assert!(works(&one(&lab)), "{}", one(&lab));
    assert_eq!(exec(&lab, &["--again", "failed"]), 4, "nothing failed any more");
    assert_eq!(exec(&lab, &["--again", "two", "--again", "baseline"]), 6);
    assert_eq!(exec(&lab, &["--again", "L003"]), 7, "a launch names its configuration");
    assert_eq!(exec(&lab, &[]), 7);
    let wrong = lab.run(&[&EXEC[..], &["--again", "three"]].concat());
    wrong.expect_error(1, &["no trial is called `three`", "`one`, `two`"]);
    assert_eq!(exec(&lab, &[]), 7, "nothing was put aside for a wrong name");
}

#[test]
fn what_was_put_aside_stays_so_after_a_kill() {
    let lab = lab("[ -e hang ] && sleep 60");
    assert_eq!(exec(&lab, &[]), 3);
    lab.write("hang", "");
    let mut running = lab.start(&[&EXEC[..], &["--again", "one"]].concat());
    crate::support::wait_for("the launch", || lab.read("state/journal.jsonl").contains("\"L004\""));
    running.child.kill().expect("killed");
    running.wait();
    fs::remove_file(lab.path("hang")).expect("removed");
    assert_eq!(one(&lab), "to_measure: asked for with `--again`");
    assert_eq!(exec(&lab, &[]), 5);
    assert!(works(&one(&lab)), "{}", one(&lab));
}
