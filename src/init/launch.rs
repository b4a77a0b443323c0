//! The serve command among the commands of a text: which engine, what stands before its flags, its environment.

use super::error::InitError;
use super::known::Engine;
use super::serves::{DEEPEST, apart};
use super::shell::{self, Simple, Vars, Word};
use super::{manifest, pasted};

/// A serve command, found and taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    pub engine: Engine,
    /// the words before its arguments, wrappers that matter included: `numactl --membind=0 vllm serve`
    pub launcher: Vec<String>,
    pub arguments: Vec<Word>,
    pub env: Vec<(String, Word)>,
    /// as the command says which GPUs it may use: `CUDA_VISIBLE_DEVICES=0,1`
    pub devices: Option<Devices>,
    pub image: Option<Image>,
    /// folders of this machine that the container has elsewhere
    pub mounts: Vec<Mount>,
    /// an image's entrypoint starts the engine, not words of the command
    pub entrypoint: bool,
    /// what was not carried over, and why
    pub left_out: Vec<String>,
    /// what came over and deserves a word
    pub notes: Vec<String>,
}

/// The GPUs that a command was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Devices {
    pub count: u32,
    /// as it was written
    pub written: String,
    /// the ones that it names: `0,1`
    pub which: Option<String>,
}

/// A folder of this machine, and where it is in the container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    pub here: String,
    pub inside: String,
}

/// A container image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// the program that starts it: `docker`
    pub runtime: String,
    pub full: String,
    pub version: Option<String>,
}

/// The one serve command of what a person pasted: a manifest, a unit of systemd, or commands with what stood around them.
pub fn pasted(text: &str, vars: &mut Vars) -> Result<Launch, InitError> {
    let (text, changed) = pasted::plain(text);
    let mut launch = read_plain(&text, vars, 0)?;
    if changed {
        let note = "typographic quotes and dashes were read as those of a shell";
        launch.notes.push(note.to_owned());
    }
    Ok(launch)
}

fn read_plain(text: &str, vars: &mut Vars, depth: usize) -> Result<Launch, InitError> {
    let (all, broken) = manifest::containers(text);
    let mut found = Vec::new();
    for container in &all {
        match in_words(&container.words, vars) {
            Ok(mut launch) => {
                launch.left_out.extend(container.left_out.iter().cloned());
                found.push(launch);
            }
            Err(InitError::NoServe(_) | InitError::Nothing) => {}
            Err(other) => return Err(other),
        }
    }
    match found.len() {
        0 => in_commands(text, vars, broken, depth),
        1 => {
            let mut launch = found.remove(0);
            if launch.image.is_some() {
                let others = all.iter().filter(|c| Some(&c.image) != launch.image.as_ref().map(|i| &i.full));
                launch.left_out.extend(others.map(manifest::Container::told));
            }
            Ok(launch)
        }
        n => Err(InitError::Several(n, "in one manifest".to_owned())),
    }
}

/// The serve command among commands, or in a text that one of them writes.
fn in_commands(
    text: &str,
    vars: &mut Vars,
    broken: Option<String>,
    depth: usize,
) -> Result<Launch, InitError> {
    let none = match find(&pasted::commands_only(text), vars) {
        Err(error @ (InitError::NoServe(_) | InitError::Nothing)) => error,
        Err(error @ InitError::Shell(_)) => return Err(broken.map_or(error, InitError::Manifest)),
        other => return other,
    };
    for text in std::mem::take(&mut vars.texts) {
        match read_plain(&text, vars, depth + 1) {
            Err(InitError::NoServe(_) | InitError::Nothing | InitError::Shell(_)) if depth < DEEPEST => {}
            Ok(mut launch) => {
                launch
                    .notes
                    .push("the command stands in a text that another command reads or writes".to_owned());
                return Ok(launch);
            }
            Err(other) => return Err(other),
        }
    }
    Err(broken.map_or(none, InitError::Manifest))
}

/// The one serve command of a text; `vars` has the variables that the text and its surroundings set.
pub fn find(text: &str, vars: &mut Vars) -> Result<Launch, InitError> {
    let commands = shell::commands(text, vars)?;
    let mut found = one_of(commands, vars)?;
    exported(&mut found, vars);
    found.left_out.extend(vars.passed_by());
    Ok(found)
}

/// The serve command in words that a shell has split already.
pub fn in_words(words: &[String], vars: &mut Vars) -> Result<Launch, InitError> {
    one_of(vec![shell::split_already(words, vars)?], vars)
}

fn one_of(commands: Vec<Simple>, vars: &mut Vars) -> Result<Launch, InitError> {
    if commands.is_empty() {
        return Err(InitError::Nothing);
    }
    let (mut found, others) = apart(commands, vars, 0)?;
    match found.len() {
        0 => {
            let first = others.first().and_then(|o| o.split_once(": another"));
            Err(InitError::NoServe(first.map(|(o, _)| format!(" in {o}")).unwrap_or_default()))
        }
        1 => {
            let mut launch = found.remove(0);
            launch.left_out.extend(others);
            Ok(launch)
        }
        n => {
            let all = found.iter().map(|l| format!("`{}`", l.launcher.join(" "))).collect::<Vec<_>>();
            Err(InitError::Several(n, all.join(", ")))
        }
    }
}

/// Beginnings of variables that engines and what they are built on read.
pub const OF_ENGINES: [&str; 10] =
    ["VLLM_", "SGLANG_", "SGL_", "TRTLLM_", "NCCL_", "TORCH_", "HF_", "CUDA_", "LLAMA_", "GGML_"];

/// What the text exports belongs to the engine, unless the text only inserts it elsewhere.
fn exported(launch: &mut Launch, vars: &Vars) {
    let own = OF_ENGINES;
    // a container has the variables that it is given, whatever the script around it exports
    let given = |name: &String, launch: &Launch| launch.env.iter().any(|(n, _)| n == name);
    let of_engines = vars.kept_to_itself().filter(|n| own.iter().any(|p| n.starts_with(p)));
    for name in of_engines.filter(|n| !given(n, launch)).collect::<Vec<_>>() {
        launch.left_out.push(format!("{name}: the script does not export it, so that no engine gets it"));
    }
    for (name, value) in vars.exported().iter().rev() {
        let scripts = vars.inserted.contains(name) && !own.iter().any(|p| name.starts_with(p));
        if !scripts && !launch.env.iter().any(|(n, _)| n == name) {
            launch.env.insert(0, (name.clone(), value.clone()));
        }
    }
}
