//! Where the texts and variables of a launch lead: to directories above and apart, through links and patterns, and to what a first launch
//! makes, with the real binary.

use std::fs;
use std::os::unix::fs::symlink;

use crate::conditions::{STUDY, again, exec, expect, lab, script, write};
use crate::support::{EXEC, Lab};

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

#[test]
fn what_the_directory_is_called_that_a_link_leads_to_counts() {
    let lab = Lab::with(&STUDY.replace("WORDS", "sh current/engine.sh").replace("LINES", ""));
    for release in ["v1", "v2"] {
        let text = script("HERE=$(cd \"$(dirname \"$0\")\" && pwd -P); . \"./conf/${HERE##*/}.env\"");
        write(&lab, &format!("releases/{release}/engine.sh"), text);
        write(&lab, &format!("conf/{release}.env"), format!("A={release}\n"));
    }
    symlink("releases/v1", lab.path("current")).expect("a link");
    assert_eq!(exec(&lab), 2);
    expect(&lab, "");
    let lead = |to: &str| {
        fs::remove_file(lab.path("current")).expect("removed");
        symlink(to, lab.path("current")).expect("a link");
    };
    lead("releases/v2");
    expect(&lab, "current (where it leads) changed");
    lead("releases/v1");
    let name = "from pathlib import Path\nopen(f'conf/{Path(\"current\").resolve().name}.env')";
    write(&lab, "name.py", name);
    for release in ["v1", "v2"] {
        write(&lab, &format!("releases/{release}/engine.sh"), script("python3 name.py"));
    }
    exec(&lab);
    expect(&lab, "");
    lead("releases/v2");
    expect(&lab, "current (where it leads) changed");
}

#[test]
fn settings_in_an_environment_that_a_script_activates_count() {
    let lab = lab("");
    write(&lab, "ve/pyvenv.cfg", "");
    write(&lab, "ve/bin/activate", "VIRTUAL_ENV=$PWD/ve\n");
    write(&lab, "ve/etc/serve.env", "A=1\n");
    write(&lab, "engine.sh", script(". ve/bin/activate\n. \"$VIRTUAL_ENV/etc/serve.env\""));
    assert_eq!(exec(&lab), 2);
    expect(&lab, "");
    write(&lab, "ve/etc/serve.env", "A=2\n");
    expect(&lab, "ve/etc/serve.env changed since it was measured");
}

#[test]
fn a_database_of_settings_that_each_start_writes_to_is_said_to_be_the_engine_s() {
    let lab = lab("");
    let write_to = "python3 -c \"import sqlite3; c = sqlite3.connect('settings.db'); \
                    c.execute('insert into t values(1)'); c.commit()\"";
    write(&lab, "engine.sh", script(write_to));
    let made = std::process::Command::new("python3")
        .args(["-c", "import sqlite3; c = sqlite3.connect('settings.db'); c.execute('create table t(x)')"])
        .current_dir(lab.path("."))
        .status();
    assert!(made.is_ok_and(|status| status.success()));
    let out = lab.run(&EXEC).expect_code(0);
    assert!(out.stderr.contains("L001: settings.db changed while it was measured"), "{out:?}");
    assert!(out.stderr.contains("it is taken for the engine's own"), "{out:?}");
    expect(&lab, "");
}
