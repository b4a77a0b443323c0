//! The installation that an engine runs with is part of its results: packages, modules and libraries beside it, however it finds them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::conditions::{STUDY, again, exec, expect, lab, script, write};
use crate::support::{EXEC, Lab, binary};

#[test]
fn libraries_beside_an_engine_are_part_of_a_result() {
    let lab = Lab::with(&STUDY.replace("WORDS", "own-serve").replace("LINES", ""));
    let site = "venv/lib/python3.11/site-packages";
    write(&lab, "site.plab", "site here {\n engine own via venv \"venv\"\n}\n");
    write(&lab, "venv/pyvenv.cfg", "include-system-site-packages = false\n");
    write(&lab, &format!("{site}/own_serve-1.0.dist-info/RECORD"), "own.py,sha256=a,1\n");
    write(&lab, &format!("{site}/torch-2.8.0.dist-info/RECORD"), "torch.py,sha256=a,1\n");
    fs::create_dir_all(lab.path("venv/bin")).expect("a folder");
    // a shell by the name of an interpreter
    symlink("/bin/sh", lab.path("venv/bin/python")).expect("a link");
    let head = format!("#!{}\n", lab.path("venv/bin/python").display());
    write(&lab, "venv/bin/own-serve", head + &script(""));
    fs::set_permissions(lab.path("venv/bin/own-serve"), fs::Permissions::from_mode(0o755)).expect("set");
    assert_eq!(exec(&lab), 2);
    expect(&lab, "");
    let (old, new) = (format!("{site}/torch-2.8.0.dist-info"), format!("{site}/torch-2.9.1.dist-info"));
    fs::rename(lab.path(&old), lab.path(&new)).expect("moved");
    expect(&lab, "measured with torch 2.8.0, now 2.9.1");
    fs::rename(lab.path(&new), lab.path(&old)).expect("moved");
    write(&lab, &format!("{old}/RECORD"), "torch.py,sha256=b,1\n");
    expect(&lab, "measured with another build of torch 2.8.0");
    write(&lab, &format!("{old}/RECORD"), "torch.py,sha256=a,1\n../../../bin/torchrun,sha256=x,9\n");
    expect(&lab, "");
    write(&lab, &format!("{site}/flashinfer_python-0.3.dist-info/RECORD"), "");
    expect(&lab, "measured without flashinfer-python, now with flashinfer-python 0.3");
    assert_eq!(exec(&lab), 4);
    // the journal says once what each of them was
    let journal = lab.read("state/journal.jsonl");
    assert_eq!(journal.matches("\"torch\":\"2.8.0 (").count(), 2, "{journal}");
}

#[test]
fn libraries_behind_a_shell_script_and_loose_modules_are_part_of_a_result() {
    let lab = Lab::with(&STUDY.replace("WORDS", "own-serve").replace("LINES", ""));
    let site = "venv/lib/python3.11/site-packages";
    write(&lab, "site.plab", "site here {\n engine own via venv \"venv\"\n}\n");
    write(&lab, "venv/pyvenv.cfg", "include-system-site-packages = false\n");
    write(&lab, &format!("{site}/torch-2.8.0.dist-info/RECORD"), "torch/a.py,sha256=a,1\n");
    write(&lab, &format!("{site}/torch/a.py"), "1");
    fs::create_dir_all(lab.path("venv/bin")).expect("a folder");
    symlink("/bin/sh", lab.path("venv/bin/python")).expect("a link");
    write(&lab, "venv/bin/own-serve", format!("#!/bin/sh\n{}", script("")));
    fs::set_permissions(lab.path("venv/bin/own-serve"), fs::Permissions::from_mode(0o755)).expect("set");
    assert_eq!(exec(&lab), 2);
    expect(&lab, "");
    let (old, new) = (format!("{site}/torch-2.8.0.dist-info"), format!("{site}/torch-2.9.1.dist-info"));
    fs::rename(lab.path(&old), lab.path(&new)).expect("moved");
    expect(&lab, "measured with torch 2.8.0, now 2.9.1");
    fs::rename(lab.path(&new), lab.path(&old)).expect("moved");
    expect(&lab, "");
    for (file, said) in
        [("sitecustomize.py", "sitecustomize.py"), ("fast_attention/__init__.py", "fast_attention/")]
    {
        write(&lab, &format!("{site}/{file}"), "x = 1\n");
        expect(&lab, &format!("measured without {said}, now with {said}"));
        fs::remove_file(lab.path(&format!("{site}/{file}"))).expect("removed");
    }
    fs::remove_dir(lab.path(&format!("{site}/fast_attention"))).expect("removed");
    expect(&lab, "");
    let wrapper = lab.read("venv/bin/own-serve");
    write(&lab, "venv/bin/own-serve", format!("{wrapper}# edited\n"));
    expect(&lab, "measured with own-serve ");
}

/// An interpreter that is no virtual environment also finds what its user installed for all of them, below `~/.local`.
#[test]
fn loose_modules_of_a_user_s_own_site_packages_are_part_of_a_result() {
    let lab = Lab::with(&STUDY.replace("WORDS", "own-serve").replace("LINES", ""));
    let site = "home/.local/lib/python3.11/site-packages";
    write(&lab, &format!("{site}/torch-2.8.0.dist-info/RECORD"), "torch/a.py,sha256=a,1\n");
    write(&lab, &format!("{site}/torch/a.py"), "x = 1\n");
    write(&lab, &format!("{site}/patched.py"), "x = 1\n");
    fs::create_dir_all(lab.path("python/bin")).expect("a folder");
    // a shell by the name of an interpreter
    symlink("/bin/sh", lab.path("python/bin/python3")).expect("a link");
    let head = format!("#!{}\n", lab.path("python/bin/python3").display());
    write(&lab, "python/bin/own-serve", head + &script(""));
    fs::set_permissions(lab.path("python/bin/own-serve"), fs::Permissions::from_mode(0o755)).expect("set");
    let at_home = |words: &[&str], home: &str| {
        let mut command = lab.command(words);
        let programs = std::env::var("PATH").unwrap_or_default();
        command.env("HOME", lab.path(home));
        command.env("PATH", format!("{}:{programs}", lab.path("python/bin").display()));
        lab.start_command(command).wait().expect_code(0)
    };
    let planned = |home| again(&at_home(&["plan", "study.plab", "--dir", "state", "--format", "json"], home));
    at_home(&EXEC, "home");
    assert_eq!(planned("home"), "");
    write(&lab, &format!("{site}/patched.py"), "x = 2\n");
    let said = planned("home");
    assert!(said.contains("patched.py"), "{said}");
    write(&lab, &format!("{site}/patched.py"), "x = 1\n");
    assert_eq!(planned("home"), "");
    write(&lab, &format!("{site}/usercustomize.py"), "import torch\n");
    assert_eq!(planned("home"), "measured without usercustomize.py, now with usercustomize.py");
    fs::remove_file(lab.path(&format!("{site}/usercustomize.py"))).expect("removed");
    fs::rename(
        lab.path(&format!("{site}/torch-2.8.0.dist-info")),
        lab.path(&format!("{site}/torch-2.9.1.dist-info")),
    )
    .expect("moved");
    assert_eq!(planned("home"), "measured with torch 2.8.0, now 2.9.1");
    // nor are they there for a user who has none
    let said = planned("nobody");
    assert!(said.starts_with("measured with "), "{said}");
    // measured again under what is there now, and then it holds
    at_home(&EXEC, "home");
    assert_eq!(planned("home"), "");
}

#[test]
fn modules_that_a_script_imports_from_beside_it_are_part_of_a_result() {
    let serve = "import os, sys\nimport helper\n\nos.execv(helper.program(), ['x', 'sim', '--model', sys.argv[1], '--host', sys.argv[2], '--port', sys.argv[3]])\n";
    let helper = format!("import deeper\n\n\ndef program():\n    return '{}'\n", binary());
    for (words, dir) in [("python3 app/serve.py", "app/"), ("python3 -m serve", "")] {
        let lab = Lab::with(&STUDY.replace("WORDS", words).replace("LINES", ""));
        write(&lab, &format!("{dir}serve.py"), serve);
        write(&lab, &format!("{dir}helper.py"), &helper);
        write(&lab, &format!("{dir}deeper.py"), "x = 1\n");
        assert_eq!(exec(&lab), 2);
        expect(&lab, "");
        write(&lab, &format!("{dir}deeper.py"), "x = 2\n");
        expect(&lab, "measured with another ./deeper.py");
        write(&lab, &format!("{dir}deeper.py"), "x = 1\n");
        // what nobody imports, and what Python itself leaves there
        write(&lab, &format!("{dir}analysis.py"), "x = 1\n");
        expect(&lab, "");
        write(&lab, &format!("{dir}helper.py"), format!("{helper}# edited\n"));
        expect(&lab, "measured with another ./helper.py");
        assert_eq!(exec(&lab), 2 + 2, "measured again");
        expect(&lab, "");
    }
}

/// An environment whose `python` is a shell, with one distribution.
fn venv(lab: &Lab) -> (String, String) {
    let site = "venv/lib/python3.11/site-packages";
    write(lab, "venv/pyvenv.cfg", "include-system-site-packages = false\n");
    write(lab, &format!("{site}/helper-1.0.dist-info/RECORD"), "helper/a.py,sha256=a,1\n");
    write(lab, &format!("{site}/helper/a.py"), "1");
    write(lab, "venv/bin/activate", "PATH=\"$PWD/venv/bin:$PATH\"\n");
    symlink("/bin/sh", lab.path("venv/bin/python")).expect("a link");
    (format!("{site}/helper-1.0.dist-info"), format!("{site}/helper-2.0.dist-info"))
}

#[test]
fn the_environment_behind_a_wrapper_or_a_prefix_is_part_of_a_result() {
    for (words, wrapper) in [
        ("./run.sh", "source venv/bin/activate\nexec python engine.sh \"$@\"\n"),
        ("./run.sh", "V=$PWD/venv\nexec \"$V/bin/python\" engine.sh \"$@\"\n"),
        ("env A=1 venv/bin/python engine.sh", ""),
        ("nice -n 1 stdbuf -oL venv/bin/python engine.sh", ""),
        ("sh -c '. venv/bin/activate && exec python engine.sh $0 $1 $2'", ""),
    ] {
        let lab = Lab::with(&STUDY.replace("WORDS", words).replace("LINES", ""));
        write(&lab, "engine.sh", script(""));
        write(&lab, "run.sh", format!("#!/bin/bash\n{wrapper}"));
        fs::set_permissions(lab.path("run.sh"), fs::Permissions::from_mode(0o755)).expect("set");
        let (old, new) = venv(&lab);
        exec(&lab);
        expect(&lab, "");
        fs::rename(lab.path(&old), lab.path(&new)).expect("moved");
        expect(&lab, "measured with helper 1.0, now 2.0");
        fs::rename(lab.path(&new), lab.path(&old)).expect("moved");
        let site = old.trim_end_matches("/helper-1.0.dist-info");
        write(&lab, &format!("{site}/helper/configs/E=8.json"), "{}");
        expect(&lab, "measured without helper/configs/E=8.json, now with");
        fs::remove_file(lab.path(&format!("{site}/helper/configs/E=8.json"))).expect("removed");
        expect(&lab, "");
    }
}

#[test]
fn code_that_a_shell_script_puts_on_the_path_is_part_of_a_result() {
    for place in ["export PYTHONPATH=$PWD/src", "cd src"] {
        let lab = lab("");
        let last = script("MODULE=eng.server");
        let back = if place.starts_with("cd") { "\ncd .." } else { "" };
        write(&lab, "engine.sh", format!("{place}{back}\n{last}"));
        for file in ["__init__.py", "server.py", "deep.py"] {
            write(&lab, &format!("src/eng/{file}"), "x = open('side.txt')\n");
        }
        write(&lab, "side.txt", "one");
        exec(&lab);
        expect(&lab, "");
        write(&lab, "src/eng/deep.py", "x = 2\n");
        expect(&lab, "measured with another ./eng/ (");
        write(&lab, "src/eng/deep.py", "x = open('side.txt')\n");
        expect(&lab, "");
        write(&lab, "side.txt", "two");
        expect(&lab, "side.txt changed since it was measured (");
    }
}

#[test]
fn what_is_installed_while_it_is_measured_is_named() {
    let lab = Lab::with(&STUDY.replace("WORDS", "own-serve").replace("LINES", ""));
    let site = "venv/lib/python3.11/site-packages";
    write(&lab, "site.plab", "site here {\n engine own via venv \"venv\"\n}\n");
    write(&lab, "venv/pyvenv.cfg", "include-system-site-packages = false\n");
    write(&lab, &format!("{site}/torch-2.8.0.dist-info/RECORD"), "torch/a.py,sha256=a,1\n");
    fs::create_dir_all(lab.path("venv/bin")).expect("a folder");
    symlink("/bin/sh", lab.path("venv/bin/python")).expect("a link");
    // the first launch alone finds the mark, and the other release under it
    write(&lab, "upgrade", "");
    let upgrade = format!(
        "if [ -e upgrade ]; then rm upgrade; mv {site}/torch-2.8.0.dist-info {site}/torch-2.9.1.dist-info; fi"
    );
    write(&lab, "venv/bin/own-serve", format!("#!/bin/sh\n{}", script(&upgrade)));
    fs::set_permissions(lab.path("venv/bin/own-serve"), fs::Permissions::from_mode(0o755)).expect("set");
    let out = lab.run(&EXEC).expect_code(0);
    let said =
        "L001: the installation of own (torch) changed while it was measured, its results are doubtful";
    assert!(out.stderr.contains(said), "{out:?}");
    let warnings = out.report().0["warnings"].to_string();
    let told = "no result of launch L001: the installation of own (torch) changed while it was measured";
    assert!(warnings.contains(told), "{warnings}");
}

/// A login shell reads its user's profile, which may say where the engine finds its code; what is given to it is a script.
#[test]
fn the_profile_of_a_login_shell_is_part_of_a_result() {
    a_profile_counts_where(|serve| {
        format!("#!/bin/sh\nexec bash -lc '. ./extra.sh; {serve}' own \"$1\" \"$2\" \"$3\"\n")
    });
    a_profile_counts_where(|serve| format!("#!/usr/bin/env -S bash -l\n. ./extra.sh\n{serve}\n"));
}

fn a_profile_counts_where(started: impl Fn(&str) -> String) {
    let lab = Lab::with(&STUDY.replace("WORDS", "own-serve").replace("LINES", ""));
    write(&lab, "home/.bash_profile", "export OWN_MODE=one\n");
    write(&lab, "extra.sh", "true\n");
    let serve = script("").replace(['\'', '"'], "").trim().to_owned();
    write(&lab, "bin/own-serve", started(&serve));
    fs::set_permissions(lab.path("bin/own-serve"), fs::Permissions::from_mode(0o755)).expect("set");
    let at_home = |words: &[&str]| {
        let mut command = lab.command(words);
        let programs = std::env::var("PATH").unwrap_or_default();
        command.env("HOME", lab.path("home"));
        command.env("PATH", format!("{}:{programs}", lab.path("bin").display()));
        lab.start_command(command).wait().expect_code(0)
    };
    let planned = || again(&at_home(&["plan", "study.plab", "--dir", "state", "--format", "json"]));
    at_home(&EXEC);
    assert_eq!(planned(), "");
    write(&lab, "home/.bash_profile", "export OWN_MODE=two\n");
    let said = planned();
    assert!(said.contains(".bash_profile changed since it was measured"), "{said}");
    write(&lab, "home/.bash_profile", "export OWN_MODE=one\n");
    assert_eq!(planned(), "");
    write(&lab, "extra.sh", "OTHER=1\n");
    assert!(planned().contains("extra.sh changed since it was measured"), "{}", planned());
}
