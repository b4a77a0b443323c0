//! The serve command among the commands of a text: which engine, what stands before its flags, its environment.

use super::beside::{self, Beside};
use super::branches::shown;
use super::container;
use super::error::InitError;
use super::known::Engine;
use super::shell::{self, Simple, Vars, Word};
use super::slurm;
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
    /// the version that a command beside it installs
    pub pinned: Option<String>,
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

/// Programs that start another one and change how it runs: they stay in front of the engine.
const KEPT: [&str; 15] = [
    "numactl",
    "taskset",
    "nice",
    "ionice",
    "chrt",
    "uv",
    "uvx",
    "poetry",
    "pixi",
    "pdm",
    "conda",
    "mamba",
    "mpirun",
    "mpiexec",
    "trtllm-llmapi-launch",
];
/// Programs and words of a shell that only start another one, in some way that perflab has its own for.
const DROPPED: [&str; 14] = [
    "nohup", "sudo", "exec", "time", "setsid", "stdbuf", "env", "timeout", "command", "srun", "salloc",
    "unbuffer", "then", "do",
];
/// Programs that start a command in another place, where perflab has to run itself.
const ELSEWHERE: [&str; 12] = [
    "ssh",
    "kubectl",
    "oc",
    "docker",
    "podman",
    "nerdctl",
    "apptainer",
    "singularity",
    "enroot",
    "tmux",
    "screen",
    "sbatch",
];
const SHELLS: [&str; 3] = ["bash", "sh", "zsh"];
/// Commands within commands: more than a shell in a container in a shell is nobody's.
const DEEPEST: usize = 4;

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
            let first = others.first().and_then(|o| o.told().split_once(": another"));
            Err(InitError::NoServe(first.map(|(o, _)| format!(" in {o}")).unwrap_or_default()))
        }
        1 => {
            let mut launch = found.remove(0);
            for other in others {
                other.join(&mut launch);
            }
            Ok(launch)
        }
        n => {
            let all = found.iter().map(|l| format!("`{}`", l.launcher.join(" "))).collect::<Vec<_>>();
            Err(InitError::Several(n, all.join(", ")))
        }
    }
}

/// The serve commands among others, and the others.
fn apart(
    commands: Vec<Simple>,
    vars: &mut Vars,
    depth: usize,
) -> Result<(Vec<Launch>, Vec<Beside>), InitError> {
    let (mut found, mut others) = (Vec::new(), Vec::new());
    for command in commands {
        let other = beside::read(&command.words, told(&command));
        match serve_command(command, vars, depth)? {
            Some(launch) => found.push(launch),
            None => others.push(other),
        }
    }
    Ok((found, others))
}

/// A command that is no serve command, as it is told.
fn told(command: &Simple) -> String {
    let words = shown(&command.words);
    match (&command.text, &command.writes) {
        (Some(text), Some(file)) => {
            let (file, lines) = (super::value::plain(file), text.lines().count());
            format!("`{words} > {file}`: another command; the {lines} lines that it writes are not read")
        }
        (Some(text), None) => {
            format!(
                "`{words}`: another command; the {} lines that it reads are not read",
                text.lines().count()
            )
        }
        (None, _) if matches!(command.words.first().map(|w| w.text.as_str()), Some("source" | ".")) => {
            format!("`{words}`: another command; what that file sets is not known here")
        }
        (None, _) => format!("`{words}`: another command"),
    }
}

/// What a simple command serves, if it does.
fn serve_command(command: Simple, vars: &mut Vars, depth: usize) -> Result<Option<Launch>, InitError> {
    if depth > DEEPEST {
        return Ok(None);
    }
    let Simple { set, words, text, .. } = command;
    let mut env = set;
    let (prefix, rest) = unwrap(&words, &mut env);
    let (prefix, mut found) = match started(rest, vars, depth)? {
        None if elsewhere(&words) => (words.as_slice(), quoted(&words, vars, depth)?),
        found => (prefix, found),
    };
    // `bash <<EOF`, `ssh host <<EOF`: a script that it reads
    let runs = |w: &Word| SHELLS.contains(&base_name(&w.text));
    if let Some(script) = text.filter(|_| found.is_none() && (elsewhere(&words) || words.iter().any(runs))) {
        found = nested(&script, vars, depth)?;
    }
    let Some(mut launch) = found else { return Ok(None) };
    launch.env.splice(0..0, env);
    wrapped(&mut launch, prefix)?;
    Ok(Some(launch))
}

/// What a program serves that nothing stands before: a shell's script, a container, an engine.
fn started(words: &[Word], vars: &mut Vars, depth: usize) -> Result<Option<Launch>, InitError> {
    let program = base_name(words.first().map_or("", |w| &w.text));
    if SHELLS.contains(&program) {
        let script = words.iter().skip_while(|w| !w.text.ends_with('c') || !w.text.starts_with('-')).nth(1);
        return script.map_or(Ok(None), |script| nested(&script.text, vars, depth));
    }
    if let Some(run) = container::read(words) {
        return in_container(run, vars, depth);
    }
    let Some((engine, len)) = recognise(words) else { return Ok(None) };
    known_here(&words[..len])?;
    Ok(Some(Launch {
        engine,
        launcher: words[..len].iter().map(|w| w.text.clone()).collect(),
        arguments: words[len..].to_vec(),
        env: Vec::new(),
        devices: None,
        image: None,
        mounts: Vec::new(),
        entrypoint: false,
        pinned: None,
        left_out: Vec::new(),
        notes: Vec::new(),
    }))
}

/// Whether words start a command in another place; a container's run is read as what it is.
fn elsewhere(words: &[Word]) -> bool {
    let named = words.first().is_some_and(|w| ELSEWHERE.contains(&base_name(&w.text)));
    named && !container::is_runtime(words)
}

/// A command that such a program is given in quotes: `ssh box "vllm serve …"`.
fn quoted(words: &[Word], vars: &mut Vars, depth: usize) -> Result<Option<Launch>, InitError> {
    for word in words.iter().filter(|w| w.text.contains(' ')) {
        if let Some(found) = nested(&word.text, vars, depth)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// What stands before it joins a launch: wrappers that matter, and what Slurm was asked for.
fn wrapped(launch: &mut Launch, prefix: &[Word]) -> Result<(), InitError> {
    let (kept, mut dropped) = wrappers(prefix);
    known_here(&kept)?;
    let mut kept: Vec<String> = kept.into_iter().map(|w| w.text).collect();
    if launch.image.is_some() && !kept.is_empty() {
        dropped.push(format!("`{}`: it stands before the container", kept.join(" ")));
        kept.clear();
    }
    launch.launcher.splice(0..0, kept);
    launch.left_out.splice(0..0, dropped);
    let asked = slurm::read(prefix);
    launch.devices = launch.devices.take().or(asked.devices);
    if let Some(full) = asked.image.filter(|_| launch.image.is_none()) {
        let version = version_of(launch.engine, &full);
        launch.image = Some(Image { runtime: "docker".to_owned(), full, version });
    }
    Ok(())
}

/// Whether no word that starts the engine has something in it that only a running shell knows.
fn known_here(words: &[Word]) -> Result<(), InitError> {
    let open = words.iter().find_map(|w| w.missing.as_deref());
    open.map_or(Ok(()), |name| Err(InitError::open(name)))
}

/// The version that an image's tag has.
fn version_of(engine: Engine, image: &str) -> Option<String> {
    let image = image.split('@').next().unwrap_or(image);
    super::known::version_of_tag(engine, image.rsplit_once(':').map_or("", |(_, tag)| tag))
}

fn nested(script: &str, vars: &mut Vars, depth: usize) -> Result<Option<Launch>, InitError> {
    let commands = shell::commands(script, vars)?;
    let (mut found, others) = apart(commands, vars, depth + 1)?;
    if found.len() > 1 {
        return Err(InitError::Several(found.len(), "in one script".to_owned()));
    }
    let mut launch = found.pop();
    if let Some(launch) = &mut launch {
        for other in others {
            other.join(launch);
        }
    }
    Ok(launch)
}

fn in_container(run: container::Run, vars: &mut Vars, depth: usize) -> Result<Option<Launch>, InitError> {
    let by_image = container::engine_of(&run.image);
    // a shell in it inserts what the container is given
    for (name, value) in &run.env {
        vars.set(name, value.clone());
    }
    let before = vars.inserted.len();
    let explicit = Simple { words: run.command.clone(), ..Simple::default() };
    let inside = serve_command(explicit, vars, depth + 1)?;
    let mut launch = match (inside, by_image) {
        (Some(inside), _) => inside,
        // the image's own entrypoint takes the words as arguments
        (None, Some(engine)) if run.entrypoint.is_none() => Launch {
            engine,
            launcher: engine.launcher().iter().map(|w| (*w).to_owned()).collect(),
            arguments: run.command,
            env: Vec::new(),
            devices: None,
            image: None,
            mounts: Vec::new(),
            entrypoint: true,
            pinned: None,
            left_out: Vec::new(),
            notes: Vec::new(),
        },
        _ => return Ok(None),
    };
    let version = version_of(launch.engine, &run.image);
    let own = |name: &String| {
        vars.inserted.iter().skip(before).any(|n| n == name)
            && !OF_ENGINES.iter().any(|p| name.starts_with(p))
    };
    launch.env.splice(0..0, run.env.into_iter().filter(|(name, _)| !own(name)));
    launch.image = Some(Image { runtime: run.runtime, full: run.image, version });
    launch.devices = run.devices.or(launch.devices);
    launch.mounts = run.mounts;
    launch.left_out.splice(0..0, run.left_out);
    Ok(Some(launch))
}

/// Splits off what stands before the program that matters; what `env` sets joins the environment.
fn unwrap<'w>(words: &'w [Word], env: &mut Vec<(String, Word)>) -> (&'w [Word], &'w [Word]) {
    let wraps = |w: &Word| KEPT.contains(&base_name(&w.text)) || DROPPED.contains(&base_name(&w.text));
    if !words.first().is_some_and(wraps) && !elsewhere(words) {
        return (&[], words);
    }
    let runs = |at: usize| {
        let program = base_name(&words[at].text);
        SHELLS.contains(&program) || container::is_runtime(&words[at..]) || recognise(&words[at..]).is_some()
    };
    let at = (1..words.len()).find(|at| runs(*at)).unwrap_or(0);
    let (prefix, rest) = words.split_at(at);
    // `env A=b` and `sudo A=b` set variables; `uv run --with vllm==0.17.1` does not
    if elsewhere(words) {
        env.extend(container::variables(prefix));
        return (prefix, rest);
    }
    let mut sets = false;
    for word in prefix {
        if wraps(word) {
            sets = matches!(base_name(&word.text), "env" | "sudo");
        } else if let Some((name, value)) = shell::assignment(&word.text).filter(|_| sets) {
            env.push((name.to_owned(), Word { text: value.to_owned(), missing: word.missing.clone() }));
        }
    }
    (prefix, rest)
}

/// The wrappers that stay, and what is said of those that do not.
fn wrappers(prefix: &[Word]) -> (Vec<Word>, Vec<String>) {
    let (mut kept, mut dropped) = (Vec::new(), Vec::new());
    let mut keep = false;
    if elsewhere(prefix) {
        let told = format!("`{}`: start perflab itself there", shown(prefix));
        return (kept, vec![told]);
    }
    for (at, word) in prefix.iter().enumerate() {
        let name = base_name(&word.text);
        if KEPT.contains(&name) {
            keep = true;
        } else if DROPPED.contains(&name) {
            keep = false;
            if slurm::starts(word) {
                let whole = shown(&prefix[at..]);
                dropped.push(format!(
                    "`{whole}`: start perflab itself in the allocation, `{name} … perflab exec`"
                ));
            } else if matches!(name, "sudo" | "timeout") {
                dropped.push(format!("`{name}`: perflab starts and stops the server itself"));
            }
        }
        if keep {
            kept.push(word.clone());
        }
    }
    (kept, dropped)
}

/// The engine that words start, and how many words do so.
fn recognise(words: &[Word]) -> Option<(Engine, usize)> {
    let word = |at: usize| words.get(at).map_or("", |w| w.text.as_str());
    let program = base_name(word(0));
    match program {
        "vllm" if word(1) == "serve" => Some((Engine::Vllm, 2)),
        "sglang" if word(1) == "serve" => Some((Engine::Sglang, 2)),
        "trtllm-serve" if word(1) == "serve" => Some((Engine::Trtllm, 2)),
        "trtllm-serve" if !matches!(word(1), "disaggregated" | "disaggregated_mpi_worker") => {
            Some((Engine::Trtllm, 1))
        }
        "llama-server" => Some((Engine::LlamaCpp, 1)),
        "perflab" if word(1) == "sim" => Some((Engine::Sim, 2)),
        _ if python(program) => module(words),
        _ => None,
    }
}

/// `python -u -m MODULE`.
fn module(words: &[Word]) -> Option<(Engine, usize)> {
    let at = words.iter().take(6).position(|w| w.text == "-m")? + 1;
    let next = words.get(at + 1).map(|w| w.text.as_str());
    match words.get(at)?.text.as_str() {
        "vllm.entrypoints.openai.api_server" => Some((Engine::Vllm, at + 1)),
        "vllm" | "vllm.entrypoints.cli.main" if next == Some("serve") => Some((Engine::Vllm, at + 2)),
        "sglang.launch_server" => Some((Engine::Sglang, at + 1)),
        "tensorrt_llm.commands.serve" if next == Some("serve") => Some((Engine::Trtllm, at + 2)),
        "tensorrt_llm.commands.serve" => Some((Engine::Trtllm, at + 1)),
        _ => None,
    }
}

fn python(program: &str) -> bool {
    program.strip_prefix("python").is_some_and(|v| v.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// A program's name without its folder.
pub fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
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
