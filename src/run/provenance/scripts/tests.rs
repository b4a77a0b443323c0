//! What scripts name, on files of their own.

use super::super::folder;
use super::super::starts::ON_PATH;
use super::*;

struct Dir(tempfile::TempDir);

impl Dir {
    fn with(files: &[(&str, &str)]) -> Self {
        Self(folder::of(files))
    }

    fn said(&self, command: &str) -> Said {
        let words = shell_words::split(command).expect("words");
        let path = format!("{}:/usr/bin:/bin", self.0.path().join("bin").display());
        let ground = Ground { study_dir: self.0.path(), path: &path };
        said_by(&starts(&words, &ground), &ground)
    }

    fn names(&self, command: &str) -> Vec<String> {
        self.said(command).there.into_iter().collect()
    }
}

#[test]
fn what_a_script_sources_and_runs_counts_and_is_followed() {
    let dir = Dir::with(&[
        (
            "start.sh",
            "#!/bin/bash\nset -e\n. ./serve.env\nexec eng --n=$N --conf tuned.yaml \"$@\" > out.txt\n",
        ),
        ("serve.env", "N=2\nsource more\n"),
        ("more", "ENGINE=./real\n. ./serve.env\n"),
        ("real", "x"),
        ("tuned.yaml", "x"),
        ("out.txt", "x"),
        ("other", "x"),
        ("bin/eng", "#!/bin/sh\nexec python3 app/x.py; test -e no\n"),
        ("app/x.py", "import y\n"),
    ]);
    let expected =
        ["./real", "./serve.env", "app/x.py", "eng on PATH", "more", "python3 on PATH", "tuned.yaml"];
    let python = which::which_in("python3", Some("/usr/bin:/bin"), "/").is_ok();
    let expected: Vec<&str> = expected.into_iter().filter(|n| python || !n.starts_with("python3")).collect();
    for command in ["./start.sh --x", "bash start.sh", "env A=1 ./start.sh", "sh -c 'exec ./start.sh'"] {
        let found = dir.names(command);
        let found: Vec<&String> = found.iter().filter(|n| *n != "./start.sh").collect();
        assert_eq!(found, expected, "{command}");
    }
    assert_eq!(dir.names("./app/x.py"), [] as [&str; 0]);
}

#[test]
fn programs_of_a_path_of_its_own_and_names_in_other_languages_count() {
    let dir = Dir::with(&[
        ("start.sh", "#!/bin/sh\nexport PATH=\"$PWD/tools:$PATH\"\nexec serve-it --x\n"),
        ("tools/serve-it", "#!/usr/bin/perl\nrequire './x.pl';\n"),
        ("x.pl", "do 'conf.json';\n"),
        ("conf.json", "{}"),
        ("app/srv.py", "json.load(open('side.json')); open('out.json', 'w')\n"),
        ("app/side.json", "{}"),
        ("out.json", "{}"),
    ]);
    assert_eq!(dir.names("./start.sh"), ["./x.pl", "conf.json", "tools/serve-it"]);
    let python = dir.names("python3 app/srv.py --port={port}");
    assert_eq!(python, ["app/side.json"]);
    for text in
        [". ./start.sh; exec python3 app/srv.py", "set -a && . ./start.sh && exec ./x.pl", "./start.sh --x"]
    {
        let found = dir.names(&format!("sh -c '{text}'"));
        assert!(found.iter().any(|name| name == "./start.sh"), "{text}: {found:?}");
    }
}

#[test]
fn a_program_that_would_be_found_first_counts_as_missing() {
    let dir = Dir::with(&[
        (
            "start.sh",
            "#!/bin/sh\nexport PATH=\"$PWD/tools:$PATH\"\nexport PATH=\"$PWD/over:$PATH\"\nexec serve-it\n",
        ),
        ("tools/serve-it", "#!/bin/sh\nexec ./srv\n"),
        ("over/other", ""),
    ]);
    let said = dir.said("./start.sh");
    assert!(said.there.contains("tools/serve-it") && said.absent.contains("over/serve-it"), "{said:?}");
}

#[test]
fn names_that_a_program_puts_together_count() {
    let dir = Dir::with(&[
        (
            "app/srv.py",
            "sys.path.insert(0, os.path.join(HERE, '..', 'lib'))\nCONF = Path(__file__).parent / 'conf.d'\n\
             a = json.load(open(os.path.join(HERE,\n    'cfg', 'x.json')))\nb = open('dl').read()\n\
             for f in sorted(CONF.iterdir()): pass\nfor f in glob.glob('more/*.yaml'): pass\nopen(f'{HERE}/y.json')\n\
             subprocess.run(['tool', '--x'])\n",
        ),
        ("more/2.py", ""),
        ("bin/tool", "#!/bin/sh\ncat dl\n"),
        ("app/cfg/x.json", ""),
        ("app/conf.d/1", ""),
        ("app/y.json", ""),
        ("dl", ""),
        ("lib/m.py", ""),
        ("more/1.yaml", ""),
    ]);
    let said = dir.said("python3 app/srv.py");
    let found: Vec<&str> = said.there.iter().map(String::as_str).collect();
    assert_eq!(found, ["app/cfg/x.json", "app/conf.d/*", "app/y.json", "dl", "more/*.yaml", "tool on PATH"]);
    let written: Vec<&str> = said.perhaps_written.iter().map(String::as_str).collect();
    // whether it reads or writes there is known behind a launch
    assert_eq!(written, ["app/cfg/x.json", "app/conf.d/*", "app/y.json", "dl", "more/*.yaml"]);
    assert!(said.modules.contains(&dir.0.path().join("lib")), "{:?}", said.modules);
}

#[test]
fn names_with_open_parts_stand_for_all_that_match() {
    let dir = Dir::with(&[
        (
            "start.sh",
            "#!/bin/sh\n. \"env/$STAGE.sh\"\nfor f in $(find conf.d -type f); do . $f; done\nexec python3 srv.py\n",
        ),
        ("env/a.sh", ""),
        ("conf.d/1", ""),
        (
            "srv.py",
            "open(f'conf/{stage}.json')\nload(join('presets', name + '.yaml'))\nm = from_pretrained('models/tiny')\n\
             subprocess.run(['serve', '--adapter', 'adapters/sql'])\nmakedirs('logs')\n",
        ),
        ("conf/prod.json", ""),
        ("presets/x.yaml", ""),
        ("models/tiny/w.bin", ""),
        ("adapters/sql/a.bin", ""),
        ("logs/x", ""),
        ("web.js", "const x = require('express')\nconst c = require(`./cfg/${env}.json`)\n"),
        ("node_modules/express/index.js", ""),
        ("cfg/a.json", ""),
    ]);
    let names: Vec<String> = dir.names("./start.sh").into_iter().filter(|n| !n.ends_with(ON_PATH)).collect();
    let expected =
        ["adapters/sql", "conf.d/*", "conf/*.json", "env/*.sh", "models/tiny", "presets/*.yaml", "srv.py"];
    assert_eq!(names, expected);
    assert_eq!(dir.names("node web.js"), ["cfg/*.json", "node_modules/express"]);
}

#[test]
fn directories_behind_flags_count_and_environments_do_not() {
    let dir = Dir::with(&[
        (
            "start.sh",
            "#!/bin/sh\nM=models\nmkdir --parents logs\nserve --log-dir logs --model-path $M/tiny --lora sql=adapters/sql --venv venv\n",
        ),
        ("models/tiny/w.bin", ""),
        ("adapters/sql/a.bin", ""),
        ("logs/x", ""),
        ("venv/pyvenv.cfg", ""),
    ]);
    assert_eq!(dir.names("./start.sh"), ["adapters/sql", "models/tiny"]);
}

#[test]
fn patterns_defaults_and_makefiles_lead_to_files() {
    let dir = Dir::with(&[
        (
            "start.sh",
            "#!/bin/sh\ntouch kept.env read.env mark\n[ -e mark ] && cat read.env\nfor f in conf.d/*.env; do . $f; done\n. ./flags.e?v\n. ${CONF:-./more.cfg}\n. ./kept.env\n\
             case $1 in *.cfg) ;; esac\nfor f in none/*.env; do . $f; done\nexec python3 x.py $(cat a.*) > a.out\n",
        ),
        ("conf.d/1.env", "X=./inner\n"),
        ("inner", ""),
        ("flags.env", ""),
        ("more.cfg", ""),
        ("kept.env", ""),
        ("read.env", ""),
        ("mark", ""),
        ("a.txt", ""),
        ("Makefile", "run:\n\texec ./start.sh $(shell cat a.txt)\n"),
    ]);
    let said = dir.said("./start.sh");
    let there: Vec<&str> = said.there.iter().map(String::as_str).filter(|n| !n.ends_with(ON_PATH)).collect();
    assert_eq!(
        there,
        ["./inner", "./kept.env", "./more.cfg", "a.*", "conf.d/*.env", "flags.e?v", "read.env"],
        "{:?}",
        said.absent
    );
    assert!(said.absent.contains("none/*.env"), "{:?}", said.absent);
    let made = dir.names("make run");
    for name in ["Makefile", "./start.sh", "a.txt", "conf.d/*.env"] {
        assert!(made.iter().any(|n| n == name), "{name}: {made:?}");
    }
    let shell = dir.names("sh -c 'exec python3 srv.py $(cat a.txt) --port={port}' --x=b");
    assert!(shell.iter().any(|n| n == "a.txt"), "{shell:?}");
}

#[test]
fn names_are_looked_for_beside_the_script_and_where_it_goes() {
    let dir = Dir::with(&[
        (
            "tool/start",
            "#!/usr/bin/env bash\nHERE=\"$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)\"\n\
             source \"$HERE/a.env\"\n. \"$(dirname \"$0\")/b.env\"\n. ${0%/*}/c.env\ncd lib && ./d\ncp f.txt copied\n\
             [ -f local.env ] && . ./local.env\nif [ -e mark ]; then rm mark; fi\n./run$N.sh\nnohup bash -c './e --x' --log-file f.txt\n",
        ),
        ("tool/a.env", ""),
        ("tool/b.env", ""),
        ("tool/c.env", ""),
        ("lib/d", ""),
        ("e", ""),
        ("f.txt", ""),
        ("run1.sh", ""),
        ("mark", ""),
        ("copied", ""),
    ]);
    let said = dir.said("tool/start");
    let there: Vec<&str> = said.there.iter().map(String::as_str).collect();
    // of a variable that is set elsewhere each value may come
    assert_eq!(
        there,
        [
            "./e",
            "./e (whether it may be run)",
            "f.txt",
            "lib/d",
            "lib/d (whether it may be run)",
            "run*.sh",
            "tool/a.env",
            "tool/b.env",
            "tool/c.env"
        ]
    );
    assert_eq!(said.absent.iter().collect::<Vec<_>>(), ["./local.env"]);
}
