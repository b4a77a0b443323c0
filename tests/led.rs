//! Where the texts and variables of a launch lead: to directories above and apart, through links and patterns, and to what a first launch
//! makes, with the real binary.

use std::fs;
use std::os::unix::fs::symlink;

use crate::conditions::{STUDY, again, exec, expect, lab, script, write};
use crate::support::Lab;

#[test]
fn settings_below_a_directory_that_a_variable_tells_of_count() {
    let apart = tempfile::tempdir().expect("a directory");
    let at = |name: &str| apart.path().join(name);
    fs::create_dir(at("conf")).expect("made");
    fs::write(at("conf/a.env"), "A=1\n").expect("written");
    let lab = lab(&format!("env LLM_HOME=\"{}\"", apart.path().display()));
    write(&lab, "engine.sh", script("for f in \"$LLM_HOME\"/conf/*.env; do . \"$f\"; done"));
    assert_eq!(exec(&lab), 2);
    expect(&lab, "");
    fs::write(at("conf/a.env"), "A=2\n").expect("written");
    expect(&lab, "conf/a.env, which its launch opened, changed");
}

#[test]
fn settings_above_that_a_script_searches_for_or_goes_up_to_count() {
    for lines in [
        "d=$PWD\nwhile [ \"$d\" != / ]; do [ -f \"$d/.llmrc\" ] && { . \"$d/.llmrc\"; break; }; d=$(dirname \"$d\"); done",
        "python3 - <<'E' || true\nimport os\nopen(os.path.join(os.path.dirname(os.path.abspath('engine.sh')), os.pardir, 'conf', 'x.yaml')).read()\nE",
    ] {
        let lab = Lab::with("");
        let study = STUDY.replace("WORDS", "sh engine.sh").replace("LINES", "");
        write(&lab, "svc/study.plab", study);
        write(&lab, "svc/engine.sh", script(lines));
        write(&lab, ".llmrc", "A=1\n");
        write(&lab, "conf/x.yaml", "a: 1\n");
        let state = ["svc/study.plab", "--dir", "state", "--format", "json"];
        let run = |command: &[&str]| lab.run(&[command, &state].concat()).expect_code(0);
        run(&["exec", "--checks", "warn"]);
        assert_eq!(again(&run(&["plan"])), "", "{lines}");
        write(&lab, ".llmrc", "A=2\n");
        write(&lab, "conf/x.yaml", "a: 2\n");
        let why = again(&run(&["plan"]));
        assert!(why.contains("which its launch opened, changed"), "{lines}: {why}");
    }
}

#[test]
fn settings_that_the_first_launch_makes_in_a_directory_of_its_own_count() {
    let lab = lab("");
    let lines = "python3 - <<'E' || true\nfrom pathlib import Path\np = Path('tuned') / 'best.json'\n\
                 if not p.exists():\n    p.parent.mkdir(exist_ok=True)\n    p.write_text('{}')\np.read_text()\nE";
    write(&lab, "engine.sh", script(lines));
    assert_eq!(exec(&lab), 2);
    expect(&lab, "");
    write(&lab, "tuned/best.json", "{\"tile\": 128}");
    assert_eq!(exec(&lab), 4, "of the first launch as well");
    expect(&lab, "");
}

#[test]
fn where_a_link_to_the_launcher_leads_counts_if_it_reads_beside_itself() {
    let lab = lab("");
    for (release, seqs) in [("v1", "1"), ("v2", "2")] {
        let text = script("HERE=$(dirname \"$(readlink -f \"$0\")\"); . \"$HERE/serve.env\"");
        write(&lab, &format!("{release}/engine.sh"), text);
        write(&lab, &format!("{release}/serve.env"), format!("A={seqs}\n"));
    }
    let lead = |to: &str| {
        let _ = fs::remove_file(lab.path("engine.sh"));
        symlink(to, lab.path("engine.sh")).expect("a link");
    };
    lead("v1/engine.sh");
    assert_eq!(exec(&lab), 2);
    expect(&lab, "");
    lead("v2/engine.sh");
    expect(&lab, "engine.sh (where it leads) changed");
    lead("v1/engine.sh");
    expect(&lab, "");
}

#[test]
fn patterns_with_open_directories_are_what_they_match() {
    let lab = lab("");
    let lines = "for d in adapters/*/; do :; done\nfor f in conf/*/*.env; do . \"./$f\"; done";
    write(&lab, "engine.sh", script(lines));
    write(&lab, "adapters/a/x.json", "{}");
    write(&lab, "conf/a/x.env", "A=1\n");
    assert_eq!(exec(&lab), 2);
    expect(&lab, "");
    write(&lab, "conf/b/x.env", "A=2\n");
    expect(&lab, "conf/*/*.env changed since it was measured");
    fs::remove_dir_all(lab.path("conf/b")).expect("removed");
    expect(&lab, "");
    write(&lab, "adapters/b/x.json", "{}");
    expect(&lab, "adapters/*/ changed since it was measured");
}
