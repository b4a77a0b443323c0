//! What a start script asks of files and never reads is a condition of its results, with the real binary: whether they are there, may be
//! run, or are newer than others, and where links lead.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::conditions::{STUDY, exec, expect, lab, script, write};
use crate::support::{Lab, binary, skip};

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
        ("more=$(cat extra 2>/dev/null); ls c.flag 2>/dev/null", "extra"),
        ("if ls b.flag; then :; fi; grep -qs fast modes", "b.flag"),
        ("grep -qs fast modes && mode=2", "modes"),
        ("read -r mode 2>/dev/null <mode", "mode"),
        ("[ \"$(find . -maxdepth 1 -name b.flag)\" ] && mode=2", "b.flag"),
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
fn the_first_file_of_a_name_with_an_open_part_is_seen() {
    for (lines, name, pattern) in [
        (
            r#"STAGE=${STAGE:-prod}; [ -f "conf/$STAGE.env" ] && . "conf/$STAGE.env""#,
            "conf/prod.env",
            "conf/*.env",
        ),
        (r#"F="conf/$(echo a).env"; [ -f "$F" ] && . "$F""#, "conf/a.env", "conf/*.env"),
        (r#"[ -f "./$(echo a).env" ] && . "./$(echo a).env""#, "a.env", "*.env"),
        (r#"set -- "$@" $(cat conf/${STAGE}a.flags 2>/dev/null)"#, "conf/a.flags", "conf/*a.flags"),
    ] {
        let lab = lab("");
        fs::create_dir(lab.path("conf")).expect("made");
        // what it makes itself is its own
        write(
            &lab,
            "engine.sh",
            script(&format!("{lines}\n[ -f \"made.$(echo a)\" ] || touch \"made.$(echo a)\"")),
        );
        assert_eq!(exec(&lab), 2, "{lines}");
        expect(&lab, "");
        write(&lab, name, "--seed=1\n");
        expect(&lab, &format!("measured before {pattern} was there"));
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

#[test]
fn logs_that_a_start_script_takes_away_by_age_cost_no_launch() {
    let lab = lab("");
    write(
        &lab,
        "engine.sh",
        script("ls -1t logs/*.log | tail -n +2 | xargs -r rm\necho x > \"logs/$$.log\""),
    );
    for name in ["1", "2", "3"] {
        write(&lab, &format!("logs/{name}.log"), "");
    }
    assert_eq!(exec(&lab), 2);
    expect(&lab, "");
}

#[test]
fn a_mounted_config_map_counts_by_its_content_and_not_by_its_refreshes() {
    let lab = lab("env CONFIG_DIR=\"cm\"");
    let mount = |version: &str, text: &str| {
        write(&lab, &format!("cm/..{version}/server.yaml"), text);
        let _ = fs::remove_file(lab.path("cm/..data"));
        symlink(format!("..{version}"), lab.path("cm/..data")).expect("a link");
    };
    write(&lab, "engine.sh", script("cat \"$CONFIG_DIR/server.yaml\""));
    mount("2026_11_27", "seqs: 4\n");
    symlink("..data/server.yaml", lab.path("cm/server.yaml")).expect("a link");
    assert_eq!(exec(&lab), 2);
    mount("2026_11_28", "seqs: 4\n");
    fs::remove_dir_all(lab.path("cm/..2026_11_27")).expect("removed");
    expect(&lab, "");
    mount("2026_11_29", "seqs: 8\n");
    expect(&lab, "cm changed since it was measured");
}

/// A study whose engine is a program that begins with these lines, and files that are there before.
fn program(engine: &str, file: &str, lines: &str, there: &[&str]) -> Lab {
    let lab = Lab::with(&STUDY.replace("WORDS", &format!("{engine} {file}")).replace("LINES", ""));
    write(&lab, file, lines.replace("SIM", binary()));
    for name in there {
        write(&lab, name, "{}\n");
    }
    lab
}

/// A program of Python with these lines.
fn python(lines: &str, there: &[&str]) -> Lab {
    let start =
        "a = sys.argv\nos.execv('SIM', ['SIM', 'sim', '--model', a[1], '--host', a[2], '--port', a[3]])\n";
    program(
        "python3",
        "serve.py",
        &format!("import os, sys\nfrom pathlib import Path\n{lines}\n{start}"),
        there,
    )
}

/// Expects each of these to be seen once it is there, and that all counts once it is gone.
fn each_is_seen(lab: &Lab, names: &[&str]) {
    assert_eq!(exec(lab), 2);
    expect(lab, "");
    for name in names {
        write(lab, name, "x=1\n");
        expect(lab, &format!("measured before {name} was there"));
        fs::remove_file(lab.path(name)).expect("removed");
        expect(lab, "");
    }
}

#[test]
fn a_file_that_comes_is_seen_however_a_program_asks_for_it() {
    let lines = "HERE = Path(__file__).resolve().parent\nFLAG = HERE / 'a.flag'\nif FLAG.exists(): pass\n\
                 for p in ('b_flag', 'c.flag'):\n    if os.path.exists(p): pass\n\
                 if os.path.isfile(os.path.join(HERE, 'cfg', 'd.json')): pass\nif 'e.flag' in os.listdir('.'): pass\n\
                 try: open(os.path.join('conf', 'f.json'))\nexcept OSError: pass\nCONF = HERE / 'conf'\nname = 'prod'\n\
                 if (CONF / f'{name}.yaml').exists(): pass\nMARK = 'made'\nif not os.path.exists(MARK): open(MARK, 'w')\n";
    let lab = python(lines, &["conf/other.json"]);
    each_is_seen(&lab, &["a.flag", "b_flag", "c.flag", "cfg/d.json", "e.flag", "conf/f.json"]);
    write(&lab, "conf/prod.yaml", "x: 1\n");
    expect(&lab, "measured before conf/*.yaml was there");
    fs::remove_file(lab.path("conf/prod.yaml")).expect("removed");
    for name in ["made", "other.flag", "conf/other.txt", "cfg/other"] {
        write(&lab, name, "2\n");
        expect(&lab, "");
    }
}

#[test]
fn what_an_engine_makes_by_a_way_that_no_text_shows_costs_nothing() {
    // the first launch makes them, and the others find them
    let lines = "def sure(where):\n    if not os.path.isdir(where): os.makedirs(where)\nfor name in ('results', 'work.d'): sure(name)";
    let lab = python(lines, &[]);
    assert_eq!(exec(&lab), 2);
    expect(&lab, "");
    fs::remove_dir(lab.path("results")).expect("removed");
    expect(&lab, "");
}

#[test]
fn a_file_that_comes_is_seen_by_programs_of_other_languages() {
    let node = "const fs=require('fs'), path=require('path'), {spawn}=require('child_process');\n\
                if (fs.existsSync(path.join(__dirname, 'a.flag'))) console.log(1);\n\
                try { fs.readFileSync(path.join(__dirname, 'conf', 'b.json')); } catch (e) {}\n\
                const a=process.argv; const c=spawn('SIM',['sim','--model',a[2],'--host',a[3],'--port',a[4]]);\n\
                process.on('SIGTERM',()=>c.kill('SIGTERM')); c.on('exit',r=>process.exit(r||0));\n";
    let perl = "if (-e \"a.flag\") { print 1; }\nopen(my $f, '<', 'conf/b.json');\n\
                exec 'SIM', 'sim', '--model', $ARGV[0], '--host', $ARGV[1], '--port', $ARGV[2];\n";
    for (engine, file, lines) in [("node", "s.js", node), ("perl", "s.pl", perl)] {
        if which::which(engine).is_ok() {
            each_is_seen(&program(engine, file, lines, &["conf/other"]), &["a.flag", "conf/b.json"]);
        } else {
            skip("programs of other languages", &format!("no {engine}"));
        }
    }
}

#[test]
fn a_variable_that_a_script_sets_once_stands_for_its_value_alone() {
    let lab = lab("");
    write(&lab, "conf/big.env", "A=1\n");
    write(&lab, "conf/small.env", "A=1\n");
    write(&lab, "engine.sh", script("X=big; cat \"conf/${X}.env\" >/dev/null\n. ./conf/$X.env"));
    assert_eq!(exec(&lab), 2);
    write(&lab, "conf/small.env", "A=2\n");
    expect(&lab, "");
    write(&lab, "conf/big.env", "A=2\n");
    expect(&lab, "conf/big.env changed since it was measured");
}

#[test]
fn whether_each_of_several_hooks_may_be_run_is_part_of_a_result() {
    fn hooks(lab: &Lab) {
        for name in ["pre.d/a.sh", "pre.d/b.sh"] {
            write(lab, name, "#!/bin/sh\ntrue\n");
            fs::set_permissions(lab.path(name), Permissions::from_mode(0o755)).expect("a mode");
        }
    }
    fn mode(lab: &Lab, mode: u32) {
        fs::set_permissions(lab.path("pre.d/b.sh"), Permissions::from_mode(mode)).expect("a mode");
    }
    for lines in [
        "for h in pre.d/*; do [ -x \"$h\" ] && . \"$h\"; done",
        "run() { [ -x \"$1\" ] || return 0; . \"$1\"; }\nfor h in pre.d/*.sh; do run \"$h\"; done",
        "for h in $(find pre.d -type f -executable); do . \"./$h\"; done",
        "run-parts --regex . pre.d",
    ] {
        told(lines, hooks, |lab| mode(lab, 0o644), |lab| mode(lab, 0o755), "changed since it was measured");
    }
}
