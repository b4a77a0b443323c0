//! Names that the texts of a launch could spell are conditions of its results, with the real binary: what is put together in ways that no
//! reader knows, and what may come to be without that anybody measures anew.

use std::fs;

use crate::conditions::{STUDY, exec, expect, lab, script, write};
use crate::support::{EXEC, Lab, binary, skip};

const THERE: &str = "which its scripts may ask for, and which is there now";
const GONE: &str = "which its scripts may ask for, and which is not there now";

/// Expects each of these to be told of once it is there, and that all counts once it is gone.
fn each_is_told(lab: &Lab, names: &[&str]) {
    assert_eq!(exec(lab), 2);
    expect(lab, "");
    for name in names {
        write(lab, name, "\n");
        expect(lab, &format!("measured without {name}, {THERE}"));
        fs::remove_file(lab.path(name)).expect("removed");
        expect(lab, "");
    }
}

/// A study whose engine is a file that a program reads.
fn of(program: &str, file: &str, text: &str) -> Option<Lab> {
    if which::which(program).is_err() {
        skip("what programs of other kinds look for", &format!("no {program}"));
        return None;
    }
    let lab = Lab::with(&STUDY.replace("WORDS", &format!("{program} {file}")).replace("LINES", ""));
    write(&lab, file, text.replace("SIM", binary()));
    Some(lab)
}

#[test]
fn a_name_that_a_script_puts_together_is_told_of_once_it_is_there() {
    let lab = lab(r#"env STAGE="prod""#);
    let lines = "FILES=\"serve.env local.env\"\nfor f in $FILES; do [ -f \"$f\" ] && . \"./$f\"; done\n\
                 src() { [ -r \"$1\" ] && . \"$1\"; return 0; }\nload() { src \"./$1/$2.env\"; }\nload conf tuning\n\
                 for n in near $STAGE; do src \"./$n.conf\"; done\n\
                 python3 - <<'E' || true\nimport os\nfor n in ('turbo', 'eager'):\n    if os.path.exists(n + '.flag'): pass\nE\n\
                 . ./more.list.env";
    write(&lab, "engine.sh", script(lines));
    write(&lab, "more.list.env", "src second.list\n");
    each_is_told(&lab, &["local.env", "conf/tuning.env", "prod.conf", "eager.flag", "second.list"]);
}

#[test]
fn what_arrays_makefiles_and_modules_name_is_told_of_once_it_is_there() {
    let bash = "FILES=(serve.env local.env)\ndeclare -A OF=([fast]=extra.env)\n\
                for f in \"${FILES[@]}\" \"${OF[fast]}\"; do [[ -f $f ]] && source \"./$f\"; done\n\
                exec 'SIM' sim --model \"$1\" --host \"$2\" --port \"$3\"\n";
    if let Some(lab) = of("bash", "engine.sh", bash) {
        each_is_told(&lab, &["local.env", "extra.env"]);
    }
    let node = "const {spawn}=require('child_process');\ntry { require('./local'); } catch (e) {}\n\
                import('./plugin.mjs').catch(() => {});\nconst a=process.argv;\n\
                const c=spawn('SIM',['sim','--model',a[2],'--host',a[3],'--port',a[4]]);\n\
                process.on('SIGTERM',()=>c.kill('SIGTERM')); c.on('exit',r=>process.exit(r||0));\n";
    if let Some(lab) = of("node", "serve.js", node) {
        each_is_told(&lab, &["local.js", "plugin.mjs"]);
    }
    if which::which("make").is_err() {
        return skip("what makefiles include", "no make");
    }
    let lab = lab("");
    write(&lab, "engine.sh", script("make -s settings"));
    write(
        &lab,
        "Makefile",
        "-include local.mk\nifneq ($(wildcard turbo),)\nX=1\nendif\nsettings:\n\t@true\n",
    );
    each_is_told(&lab, &["local.mk", "turbo"]);
}

#[test]
fn a_name_that_is_only_asked_for_and_goes_is_told_of() {
    let lab = lab("");
    let lines = "python3 - <<'E' || true\nimport os\nfor n in ('turbo', 'slow'):\n    if os.path.exists(n + '.flag'): pass\nE";
    write(&lab, "engine.sh", script(lines));
    write(&lab, "slow.flag", "");
    assert_eq!(exec(&lab), 2);
    expect(&lab, "");
    fs::remove_file(lab.path("slow.flag")).expect("removed");
    expect(&lab, &format!("measured with slow.flag, {GONE}"));
    assert_eq!(exec(&lab), 4);
    expect(&lab, "");
    let counted = lab.run(&["report", "state", "--format", "json"]).expect_code(0).report().0;
    assert!(
        ["L003", "L004"].iter().all(|launch| counted["trials"].to_string().contains(launch)),
        "{counted}"
    );
    assert!(!counted["trials"].to_string().contains("L001"), "{counted}");
    // as it was when the first ones were measured
    write(&lab, "slow.flag", "");
    expect(&lab, "");
}

#[test]
fn what_no_text_could_spell_and_what_people_leave_measures_nothing_anew() {
    let lab = lab("");
    let lines = "for f in serve.env local.env engine.env notes.env; do [ -f $f ] && . ./$f; done\necho swp bak md log plab out git";
    write(&lab, "engine.sh", script(lines));
    assert_eq!(exec(&lab), 2);
    for name in [
        "other.env",
        "local.plab",
        "local.log",
        "engine.sh~",
        ".engine.sh.swp",
        "engine.sh.bak",
        "notes.md",
        "README.env",
        ".git/local.env",
        "__pycache__/local.env",
        "somewhere/local.env",
        "out.env",
    ] {
        write(&lab, name, "\n");
        expect(&lab, "");
    }
    let another = EXEC.map(|word| if word == "state" { "serve" } else { word });
    lab.run(&another).expect_code(0);
    expect(&lab, "");
}

#[test]
fn what_launches_make_themselves_by_names_that_they_spell_measures_nothing_anew() {
    let lab = lab("");
    let lines = "python3 - <<'E'\nimport os\nos.makedirs('ge' + 'n', exist_ok=True)\nfor n in ('gen', 'gen/first'):\n    p = n + '.env'\n\
                 \x20   if not os.path.exists(p):\n        open(n + '.part', 'w').close()\n        os.rename(n + '.part', p)\n    open(p).read()\nE";
    write(&lab, "engine.sh", script(lines));
    assert_eq!(exec(&lab), 2);
    expect(&lab, "");
    fs::remove_file(lab.path("gen.env")).expect("removed");
    expect(&lab, "");
    fs::remove_dir_all(lab.path("gen")).expect("removed");
    expect(&lab, "");
    assert_eq!(exec(&lab), 2);
}

#[test]
fn another_value_of_a_variable_is_measured_once_and_the_files_of_the_first_are_no_others() {
    let lab = lab("");
    let site = |stage: &str| format!("\nsite here {{ env STAGE=\"{stage}\" }}\n");
    let study = STUDY.replace("WORDS", "sh engine.sh").replace("LINES", "");
    write(&lab, "engine.sh", script(". \"./env/${STAGE:-none}.env\""));
    write(&lab, "env/prod.env", "A=1\n");
    write(&lab, "env/dev.env", "A=2\n");
    write(&lab, "study.plab", study.clone() + &site("prod"));
    assert_eq!(exec(&lab), 2);
    expect(&lab, "");
    write(&lab, "study.plab", study + &site("dev"));
    expect(&lab, "measured with the site's STAGE=prod, now with the site's STAGE=dev");
    assert_eq!(exec(&lab), 4);
    expect(&lab, "");
}
