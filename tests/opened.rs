//! What a launch opens is part of its result, whatever leads it there, with the real binary: no text says the names of the files here.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use crate::conditions::{again, exec, expect, lab, script, write};
use crate::support::{EXEC, Lab, binary};

/// A study whose engine is a script that reads these files, by names that stand nowhere.
fn reading(files: &[&str]) -> Lab {
    let lab = lab("");
    let read = |file: &&str| {
        format!("read -r line < \"$(echo {} | rev)\"\n", file.chars().rev().collect::<String>())
    };
    let lines: String = files.iter().map(read).collect();
    write(&lab, "engine.sh", script(&lines));
    lab
}

/// Lets a study's script do something behind its reading.
fn and_then(lab: &Lab, lines: &str) {
    let script = lab.read("engine.sh");
    write(lab, "engine.sh", script.replacen("\nexec", &format!("\n{lines}\nexec"), 1));
}

#[test]
fn files_that_no_text_names_are_part_of_a_result() {
    let lab = reading(&["conf/base.ini", "current", "latest/x.json", ".env.local", "README.md"]);
    write(&lab, "conf/base.ini", "1\n");
    write(&lab, "conf/other.ini", "1\n");
    write(&lab, "v1/x.json", "1\n");
    write(&lab, "v2/x.json", "2\n");
    write(&lab, ".env.local", "1\n");
    write(&lab, "README.md", "1\n");
    symlink("conf/base.ini", lab.path("current")).expect("linked");
    symlink("v1", lab.path("latest")).expect("linked");
    assert_eq!(exec(&lab), 2);
    expect(&lab, "");
    for file in ["conf/base.ini", ".env.local"] {
        write(&lab, file, "2\n");
        expect(&lab, &format!("{file}, which its launch opened, changed since it was measured"));
        write(&lab, file, "1\n");
        expect(&lab, "");
    }
    for file in ["conf/other.ini", "README.md", "study.md"] {
        write(&lab, file, "2\n");
    }
    expect(&lab, "");
    fs::remove_file(lab.path("latest")).expect("removed");
    symlink("v2", lab.path("latest")).expect("linked");
    expect(&lab, "latest/x.json, which its launch opened, changed since it was measured");
    fs::remove_file(lab.path("latest")).expect("removed");
    symlink("v1", lab.path("latest")).expect("linked");
    expect(&lab, "");
    fs::remove_file(lab.path("conf/base.ini")).expect("removed");
    expect(&lab, "conf/base.ini, which its launch opened, is not there now");
    write(&lab, "conf/base.ini", "3\n");
    assert_eq!(exec(&lab), 4);
    expect(&lab, "");
}

#[test]
fn modules_that_are_found_at_run_time_are_part_of_a_result_by_their_source() {
    let lab = Lab::with(&crate::conditions::STUDY.replace("WORDS", "python3 serve.py").replace("LINES", ""));
    let sim = binary();
    write(
        &lab,
        "serve.py",
        format!(
            "import importlib, os, sys\nimportlib.import_module('plug' + 'ins.' + chr(97))\n\
             os.execv('{sim}', ['{sim}', 'sim', '--model', sys.argv[1], '--host', sys.argv[2], '--port', sys.argv[3]])\n"
        ),
    );
    write(&lab, "plugins/a.py", "X = 1\n");
    write(&lab, "plugins/b.py", "X = 1\n");
    assert_eq!(exec(&lab), 2);
    expect(&lab, "");
    write(&lab, "plugins/b.py", "X = 2\n");
    expect(&lab, "");
    // the second launch opened what the first one compiled
    fs::remove_dir_all(lab.path("plugins/__pycache__")).expect("removed");
    expect(&lab, "");
    write(&lab, "plugins/a.py", "X = 3\n");
    expect(&lab, "plugins/a.py, which its launch opened, changed since it was measured");
}

#[test]
fn what_launches_make_or_write_is_no_condition_though_they_open_it() {
    let lab = lab("");
    let lines = "d=\"$(echo ehcac | rev)\"\nmkdir -p \"$d\"\ncat \"$d\"/* 2>/dev/null\necho 1 > \"$d/x\"\n\
                 s=\"$(echo etats.nwo | rev)\"\nn=$(cat \"$s\")\necho $((n + 1)) > \"$s\"\n\
                 m=\"$(echo edam | rev)\"\n[ -f \"$m\" ] || echo 1 > \"$m\"\ncat \"$m\"";
    write(&lab, "engine.sh", script(lines));
    write(&lab, "own.state", "1\n");
    // what was there and is read and written may be a person's until some launches have done so
    assert_eq!(exec(&lab), 4);
    assert_eq!(fs::read_to_string(lab.path("own.state")).expect("there"), "5\n");
    expect(&lab, "");
    fs::remove_dir_all(lab.path("cache")).expect("removed");
    fs::remove_file(lab.path("made")).expect("removed");
    expect(&lab, "");
    // one that a launch made once and nobody wrote since is read by the next ones
    write(&lab, "made", "2\n");
    expect(&lab, "made, which its launch opened, changed since it was measured");
    write(&lab, "made", "1\n");
    expect(&lab, "");
    assert_eq!(exec(&lab), 4);
}

#[test]
fn of_what_lies_there_a_script_may_take_the_newest() {
    let lab = lab("");
    write(&lab, "engine.sh", script("d=$(ls -d releases/* | sort -V | tail -1)\ncat $d/x.txt || true"));
    write(&lab, "releases/1/x.txt", "1");
    assert_eq!(exec(&lab), 2);
    expect(&lab, "");
    fs::create_dir(lab.path("releases/2")).expect("made");
    expect(&lab, "releases/* changed since it was measured");
}

#[test]
fn a_file_that_is_opened_and_edited_under_one_launch_is_measured_again() {
    let lab = reading(&["conf.ini"]);
    write(&lab, "conf.ini", "1\n");
    let edits = "[ -e edited ] || { echo 2 > \"$(echo ini.fnoc | rev)\"; touch edited; }";
    and_then(&lab, edits);
    assert_eq!(exec(&lab), 3);
    expect(&lab, "");
    assert!(again(&crate::conditions::plan(&lab)).is_empty());
}

#[test]
fn settings_that_a_script_renders_as_they_were_cost_no_launch() {
    let lab = lab("");
    let render =
        "sed s/N/1/ env.tmpl > server.env\n. ./server.env\ncp base.json r.tmp && mv r.tmp r.json\ncat r.json";
    write(&lab, "engine.sh", script(render));
    for (name, text) in
        [("env.tmpl", "A=N\n"), ("server.env", "A=1\n"), ("base.json", "1\n"), ("r.json", "1\n")]
    {
        write(&lab, name, text);
    }
    assert_eq!(exec(&lab), 2);
    expect(&lab, "");
    write(&lab, "env.tmpl", "A=N2\n");
    expect(&lab, "env.tmpl changed since it was measured");
    // what somebody writes there under a launch is no rendering
    and_then(&lab, "[ -e edited ] || { touch edited; echo A=7 > \"$(echo vne.revres | rev)\"; }");
    let out = lab.run(&EXEC).expect_code(0);
    assert!(out.stderr.contains("server.env changed while it was measured"), "{out:?}");
}

#[test]
fn a_file_of_keys_is_no_condition_though_it_is_opened() {
    let lab = lab("env API_KEY_FILE=\"keys.txt\"\n    --mode-file=\"plugins\"");
    write(&lab, "engine.sh", script("read -r key < \"$API_KEY_FILE\""));
    write(&lab, "keys.txt", "one\n");
    assert_eq!(exec(&lab), 2);
    write(&lab, "keys.txt", "two\n");
    expect(&lab, "");
    // what a flag's name says is a place may come to be there
    write(&lab, "plugins/x.py", "");
    expect(&lab, "measured before plugins was there");
}

#[test]
fn a_file_that_is_edited_under_each_launch_is_nobody_s_but_the_person_s() {
    let lab = reading(&["conf.ini"]);
    write(&lab, "conf.ini", "1\n");
    let edits =
        "echo started >> count\nn=$(wc -l < count)\n[ $n -gt 2 ] || echo \"$n\" > \"$(echo ini.fnoc | rev)\"";
    and_then(&lab, edits);
    let out = lab.run(&EXEC).expect_code(0);
    assert!(out.stderr.contains("L001: conf.ini changed while it was measured"), "{out:?}");
    assert_eq!(out.report().0["cost"]["launches"], 4);
    expect(&lab, "");
    write(&lab, "conf.ini", "7\n");
    expect(&lab, "conf.ini, which its launch opened, changed since it was measured");
}

#[test]
fn other_rights_are_no_change_and_another_lead_of_a_link_is_one() {
    let lab = reading(&["current/x.ini"]);
    write(&lab, "v1/x.ini", "1\n");
    write(&lab, "v2/x.ini", "2\n");
    symlink("v1", lab.path("current")).expect("linked");
    let first = "find v1 v2 -type f -exec chmod a+r {} +\n[ -e led ] || { touch led; ln -sfn \"v$((1 + 1))\" current; }";
    and_then(&lab, first);
    assert_eq!(exec(&lab), 3, "the first launch read what lies elsewhere");
    expect(&lab, "");
    write(&lab, "v2/x.ini", "3\n");
    expect(&lab, "current/x.ini, which its launch opened, changed since it was measured");
}

#[test]
fn what_lies_elsewhere_and_what_is_listed_is_part_of_a_result() {
    let lab = lab(r#"env STAGE="prod""#);
    let etc = lab.path("elsewhere/etc");
    let lines = format!(
        ". {}/$STAGE/server.env\nfor f in \"$(echo d.gulp | rev)\"/*; do cat \"$f\"; done\nfind /tmp -maxdepth 1 -name 'op-*' -exec rm -rf {{}} +",
        etc.display()
    );
    write(&lab, "study/engine.sh", script(&lines));
    write(&lab, "study/study.plab", lab.read("study.plab"));
    write(&lab, "study/plug.d/a", "1");
    write(&lab, "elsewhere/etc/prod/server.env", "N=1\n");
    let run = |args: &[&str]| {
        let mut command = lab.command(args);
        command.current_dir(lab.path("study"));
        lab.start_command(command).wait()
    };
    let plan = || again(&run(&["plan", "study.plab", "--dir", "state", "--format", "json"]).expect_code(0));
    run(&EXEC).expect_code(0);
    assert_eq!(plan(), "");
    write(&lab, "elsewhere/etc/prod/server.env", "N=2\n");
    assert!(plan().contains("server.env, which its launch opened, changed"), "{}", plan());
    write(&lab, "elsewhere/etc/prod/server.env", "N=1\n");
    let left = tempfile::Builder::new().prefix("left-over").tempfile_in("/tmp").expect("made");
    assert_eq!(plan(), "");
    drop(left);
    write(&lab, "study/plug.d/b", "1");
    assert!(plan().contains("plug.d/*, which its launch opened, changed"), "{}", plan());
}

#[test]
fn a_file_that_some_launches_rewrite_ends_in_being_the_engine_s() {
    let lab = reading(&["rota.te"]);
    write(&lab, "rota.te", "1\n");
    let lines = "echo started >> count\nn=$(wc -l < count)\n[ $((n % 2)) -eq 0 ] || echo \"$n\" > \"$(echo et.ator | rev)\"";
    and_then(&lab, lines);
    lab.run(&EXEC).expect_code(0);
    expect(&lab, "");
}

/// A start script that sets the port in its settings each time changes them under every launch, and a person changes them between two.
#[test]
fn settings_that_every_start_rewrites_are_compared_from_one_launch_to_the_next() {
    for told in ["server.yaml", "$(echo lmay.revres | rev)"] {
        let lab = lab("");
        write(&lab, "server.yaml", "seqs: 16\nport: 1\n");
        let lines = format!("f={told}\nsed -i \"s/^port:.*/port: $3/\" \"$f\"\nread -r line < \"$f\"");
        write(&lab, "engine.sh", script(&lines));
        let said = exec(&lab);
        expect(&lab, "");
        let mine = lab.read("server.yaml");
        write(&lab, "server.yaml", mine.replace("16", "17"));
        expect(&lab, "server.yaml");
        // the script, run by hand
        write(&lab, "server.yaml", "seqs: 16\nport: 7\n");
        expect(&lab, "");
        write(&lab, "server.yaml", mine.replace("16", "18"));
        assert_eq!(exec(&lab), said + 2, "one more of each");
        expect(&lab, "");
        let counted = lab.run(&["report", "state", "--format", "json"]).expect_code(0).report().0;
        assert_eq!(counted["trials"].to_string().matches("\"launch\":\"L").count(), 2, "{counted}");
        // what was measured with it as it was is a result again
        write(&lab, "server.yaml", &mine);
        expect(&lab, "");
    }
}

/// What an engine reads in a place that holds something else for a moment.
#[test]
fn what_is_exchanged_while_it_is_read_and_put_back_is_measured_again() {
    let links = ["ln -sfn v2 current", "ln -sfn v1 current"];
    let apart = ["ln -sfn ../$(basename \"$PWD\").v2 current", "ln -sfn v1 current"];
    let dirs = ["mv current was; mv v2 current", "mv current v2; mv was current"];
    let files = ["ln -sfn ../v2/x.ini current/x.ini", "ln -sfn ../v1/x.ini current/x.ini"];
    for [there, back] in [links, apart, dirs, files] {
        let lab = reading(&["current/x.ini"]);
        write(&lab, "v1/x.ini", "1\n");
        write(&lab, "v2/x.ini", "2\n");
        let beside =
            PathBuf::from(format!("{}.v2", lab.path("").display().to_string().trim_end_matches('/')));
        fs::create_dir(&beside).expect("made");
        fs::write(beside.join("x.ini"), "2\n").expect("written");
        if there.starts_with("mv") {
            write(&lab, "current/x.ini", "1\n");
        } else if there.ends_with("ini") {
            fs::create_dir(lab.path("current")).expect("made");
            symlink("../v1/x.ini", lab.path("current/x.ini")).expect("linked");
        } else {
            symlink("v1", lab.path("current")).expect("linked");
        }
        let script = lab.read("engine.sh");
        // the first launch alone finds something else
        let first = format!("[ -e led ] || {{ {there}; sleep 0.6; }}\n{script}");
        let last = format!("\n[ -e led ] || {{ touch led; sleep 0.6; {back}; }}\nexec");
        write(&lab, "engine.sh", first.replacen("\nexec", &last, 1));
        let launches = exec(&lab);
        fs::remove_dir_all(beside).expect("removed");
        assert_eq!(launches, 3, "{there}");
        expect(&lab, "");
    }
}

#[test]
fn one_more_module_where_a_launch_goes_through_all_is_another_engine() {
    let lab =
        Lab::with(&crate::conditions::STUDY.replace("WORDS", "python3 app/serve.py").replace("LINES", ""));
    let sim = binary();
    write(
        &lab,
        "app/serve.py",
        format!(
            "import os, sys\nd = ''.join(['plug', 'ins'])\nfor f in sorted(os.listdir(d)):\n    \
             if f.endswith('.py'): exec(open(os.path.join(d, f)).read())\nimport near\n\
             os.execv('{sim}', ['{sim}', 'sim', '--model', sys.argv[1], '--host', sys.argv[2], '--port', sys.argv[3]])\n"
        ),
    );
    write(&lab, "app/near.py", "");
    write(&lab, "plugins/a.py", "X = 1\n");
    assert_eq!(exec(&lab), 2);
    expect(&lab, "");
    write(&lab, "app/other.py", "X = 1\n");
    expect(&lab, "");
    write(&lab, "plugins/b.py", "X = 1\n");
    expect(&lab, "plugins/*, which its launch opened, changed since it was measured");
    fs::remove_file(lab.path("plugins/b.py")).expect("removed");
    expect(&lab, "");
}

#[test]
fn what_lies_beside_the_files_that_a_pattern_means_is_none_of_them() {
    let lab = lab("");
    write(&lab, "engine.sh", script("for f in conf.d/*.env; do . \"./$f\"; done"));
    write(&lab, "conf.d/a.env", "A=1\n");
    assert_eq!(exec(&lab), 2);
    expect(&lab, "");
    for name in ["conf.d/b.env.disabled", "conf.d/a.env~", "conf.d/README.md"] {
        write(&lab, name, "B=1\n");
    }
    expect(&lab, "");
    write(&lab, "conf.d/b.env", "B=1\n");
    expect(&lab, "conf.d/*.env changed since it was measured");
}

#[test]
fn a_file_that_holds_a_secret_counts_by_being_there_and_is_read_by_nobody_else() {
    let lab = lab("");
    let lines = "T=$(cat secrets/hf_token); P=$(cat ./db_password.txt); for d in tls; do cat $d/server.key >/dev/null; done";
    write(&lab, "engine.sh", script(lines));
    let keys = ["secrets/hf_token", "db_password.txt", "tls/server.key"];
    let renew = |text: &str| keys.iter().for_each(|name| write(&lab, name, text));
    renew("one-of-them-84a1\n");
    assert_eq!(exec(&lab), 2);
    expect(&lab, "");
    renew("other-of-them-51c7\n");
    expect(&lab, "");
    fs::remove_file(lab.path("secrets/hf_token")).expect("removed");
    expect(&lab, "measured with secrets/hf_token, which is not there now");
}
