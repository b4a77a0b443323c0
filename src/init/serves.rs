//! What single commands serve: an engine, by itself, behind wrappers, in a shell's script or in a container.

use super::beside::{self, Beside};
use super::branches::shown;
use super::container;
use super::error::InitError;
use super::known::Engine;
use super::launch::{Image, Launch, OF_ENGINES};
use super::programs::{base_name, recognise};
use super::shell::{self, Simple, Vars, Word};
use super::slurm;
use super::wrappers::{SHELLS, elsewhere, unwrap, wrappers};

/// Commands within commands: more than a shell in a container in a shell is nobody's.
pub const DEEPEST: usize = 4;

/// The serve commands among others, and the others.
pub fn apart(
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
    let Simple { set, words, text, repeated, .. } = command;
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
    if let Some(head) = repeated {
        launch
            .left_out
            .push(format!("`{head}`: a loop that starts several servers, and perflab measures one"));
    }
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
