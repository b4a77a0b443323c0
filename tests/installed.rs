//! Which program is asked for an engine's flags: the one that a launch would start, wherever its link, its first line or its script leads.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::support::Lab;

const STUDY: &str = r#"use std/engines { vllm }

engine mine = vllm {
    version "0.17.1"
    --max-num-seqs=64
}
"#;

/// What an engine of release 9.9.9 answers to the question that perflab puts to its interpreter, and to a shell.
const ANSWER: &str = r#"{"version": "9.9.9", "rows": [{"flag": "--seed", "type": "int"}]}"#;
const HELP: &str = "\
case \"$*\" in
--version) echo 'INFO imported'; echo 9.9.9 ;;
'serve --help=all') printf 'usage: x\\n\\noptions:\\n  --seed SEED  Random. (default: 0)\\n' ;;
*) echo \"what is $*\" >&2; exit 2 ;;
esac";

fn program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(path, text).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("allowed");
}

/// A place where `python3` has another engine, or none, and `vllm` is what the test makes it.
struct Machine(Lab);

impl Machine {
    fn new() -> Self {
        let lab = Lab::new();
        lab.write("study.plab", STUDY);
        let wrong = ANSWER.replace("9.9.9", "1.1.1");
        program(&lab.path("bin/python3"), &format!("#!/bin/sh\necho '{wrong}'\n"));
        Self(lab)
    }

    /// A program in a directory that is not on the `PATH`.
    fn tool(&self, name: &str, text: &str) -> String {
        let path = self.0.path("tool/bin").join(name);
        program(&path, text);
        path.display().to_string()
    }

    fn command(&self, arguments: &[&str]) -> String {
        let mut command = self.0.command(arguments);
        command.env("PATH", format!("{}:/usr/bin:/bin", self.0.path("bin").display()));
        let out = command.output().expect("it runs");
        String::from_utf8_lossy(&[out.stdout, out.stderr].concat())
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn check(&self) -> String {
        self.command(&["check", "--installed", "study.plab"])
    }
}

#[test]
fn a_tool_of_pipx_is_asked_in_its_own_interpreter() {
    let machine = Machine::new();
    let python = machine.tool("python", &format!("#!/bin/sh\necho '{ANSWER}'\n"));
    let script =
        machine.tool("vllm", &format!("#!{python}\nimport sys\nfrom vllm.entrypoints import main\n"));
    symlink(script, machine.0.path("bin/vllm")).expect("linked");
    let said = machine.check();
    assert!(said.contains("vLLM 9.9.9 is installed, and this says 0.17.1"), "{said}");
    let learned = machine.command(&["std", "learn", "vllm", "--from", "path"]);
    assert!(learned.contains("vllm_9_9_9.plab: 1 flags of vLLM 9.9.9"), "{learned}");
    machine.0.run(&["fmt", "--check", "vllm_9_9_9.plab"]).expect_code(0);
}

#[test]
fn a_script_of_a_shell_is_asked_for_its_help() {
    let machine = Machine::new();
    program(&machine.0.path("bin/vllm"), &format!("#!/bin/sh\n{HELP}\n"));
    let said = machine.check();
    assert!(said.contains("vLLM 9.9.9 is installed, and this says 0.17.1"), "{said}");
    machine.0.write("study.plab", STUDY.replace("0.17.1", "9.9.9"));
    let said = machine.check();
    assert!(said.contains("the installed vLLM 9.9.9 says: vLLM has no flag --max-num-seqs"), "{said}");
    // a Python script that only starts the engine says nothing of the Python that the engine runs in
    let python = machine.tool("python", &format!("#!/bin/sh\nshift\n{HELP}\n"));
    program(&machine.0.path("bin/vllm"), &format!("#!{python}\nimport os\nos.execv('/opt/vllm', [])\n"));
    let said = machine.check();
    assert!(said.contains("the installed vLLM 9.9.9 says"), "{said}");
}

/// What the installed engine lists is no doubt any more; an engine of one's own has nobody to ask, which is said.
#[test]
fn doubts_that_the_installed_engine_answers_are_gone() {
    let machine = Machine::new();
    program(
        &machine.0.path("bin/vllm"),
        &format!("#!/bin/sh\n{}\n", HELP.replace("--seed SEED", "--warp INT")),
    );
    let study = STUDY.replace("0.17.1", "9.9.9").replace("--max-num-seqs=64", "--warp=3");
    machine.0.write("study.plab", &study);
    let alone = machine.command(&["check", "study.plab"]);
    assert!(alone.contains("W331") && alone.contains("has no flag --warp"), "{alone}");
    let said = machine.check();
    assert!(!said.contains("W331") && !said.contains("E33"), "{said}");
    let own = "engine mine = own { --a=4 }\nengine own {\n version \"1\"\n ready get \"/health\" within 1min\n \
               serve \"own {model} --port {port}\"\n flag --a int\n}\n";
    machine.0.write("study.plab", own);
    let said = machine.check();
    assert_eq!(said.matches("W335").count(), 1, "{said}");
}

#[test]
fn a_serve_line_of_ones_own_says_who_is_asked() {
    let machine = Machine::new();
    let tool = machine.tool("serve-it", &format!("#!/bin/sh\n{}\n", HELP.replace("serve --help", "--help")));
    let serve = format!("    serve \"{tool} {{model}} --port {{port}}\"\n");
    machine.0.write("study.plab", STUDY.replace("    --max", &format!("{serve}    --max")));
    let said = machine.check();
    assert!(said.contains("vLLM 9.9.9 is installed"), "{said}");
}

#[test]
fn who_is_not_there_or_fails_is_named() {
    let machine = Machine::new();
    let said = machine.check();
    assert!(said.contains("could not be asked: there is no vllm on the PATH"), "{said}");
    let learned = machine.command(&["std", "learn", "vllm", "--from", "path"]);
    assert!(learned.contains("there is no vllm on the PATH"), "{learned}");
    program(&machine.0.path("bin/vllm"), "#!/bin/sh\necho 'libcuda.so.1: cannot open' >&2\nexit 1\n");
    let said = machine.check();
    assert!(said.contains("bin/vllm failed: libcuda.so.1: cannot"), "{said}");
    assert!(!said.contains("install it"), "{said}");
}
