//! From a serve command to a first study: what stands where, and what is said of it.

use std::collections::HashSet;

use super::arguments::{self, Argument, Arguments};
use super::draft::{Axis, Block, Change, Draft, Engine, Line, Step, Study};
use super::environment::environment;
use super::error::InitError;
use super::gpus::gpus;
use super::ideas::{self, Facts, Idea, Ideas};
use super::known;
use super::launch::{self, Devices, Image, Launch};
use super::settle::settle;
use super::shell::{self, Vars, Word};
use super::value;
use super::{amd, llama, mounts, notes, reader, secret, write};
use crate::lang::sema::images::bare;
use crate::lang::sema::program;

/// Lines of a first study that are read at one go.
const PAGE: usize = 28;

/// A serve command, as it was handed over.
#[derive(Debug, Clone, Copy)]
pub enum Command<'a> {
    Text(&'a str),
    /// split by a shell already
    Words(&'a [String]),
}

/// What the user said beside the command.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    pub version: Option<String>,
    /// `HOME` and the like, for what the command inserts
    pub variables: Vec<(String, String)>,
}

/// A study as text, and what did not come over.
#[derive(Debug, Clone)]
pub struct Written {
    pub text: String,
    pub remarks: Vec<String>,
    /// what was taken for something that the input does not say
    pub assumed: Vec<String>,
    /// what stands in the study and deserves a word
    pub notes: Vec<String>,
}

/// The engine of a draft with all that was found out about it.
#[derive(Debug)]
pub struct Base {
    pub launch: Launch,
    pub known: std::sync::Arc<program::Engine>,
    pub arguments: Arguments,
    pub devices: Option<Devices>,
    pub draft: Engine,
    pub left_out: Vec<String>,
    pub assumed: Vec<String>,
    pub notes: Vec<String>,
    /// it is for GPUs that perflab cannot take
    pub amd: bool,
}

impl Base {
    /// What is said of the command, once its engine has been taken.
    pub fn said(&self) -> Said {
        Said { left_out: self.left_out.clone(), assumed: self.assumed.clone(), notes: self.notes.clone() }
    }
}

/// What is said beside a study.
#[derive(Debug, Clone, Default)]
pub struct Said {
    pub left_out: Vec<String>,
    pub assumed: Vec<String>,
    pub notes: Vec<String>,
}

/// A first study for a serve command.
pub fn from_command(command: Command<'_>, asked: &Asked) -> Result<Written, InitError> {
    let base = base(command, asked)?;
    let facts = facts(&base);
    let ideas = ideas::ideas(&facts);
    let title = base.launch.engine.title();
    let name = arguments::short_name(&base.arguments.model).to_owned();
    let mut draft = Draft {
        header: vec![format!(
            "Which flags of {title} serve {name} best? A first study, written by `perflab init`."
        )],
        engine: base.draft.clone(),
        profiles: vec![load(&facts, &ideas)],
        axes: ideas.all.iter().map(axis).collect(),
        rules: rules(&ideas),
        studies: vec![study(&facts, &ideas, &base)],
    };
    to_a_page(&mut draft);
    settled(draft, base.said())
}

/// A long command leaves room for fewer steps: the least promising goes, as long as two stay.
fn to_a_page(draft: &mut Draft) {
    while write::file(draft).text.lines().count() > PAGE {
        let Some(study) = draft.studies.first_mut().filter(|s| s.steps.len() > 2) else { return };
        let gone = study.steps.pop();
        let names: Vec<String> = gone.into_iter().flat_map(|s| s.vary).flatten().collect();
        draft.axes.retain(|a| !names.contains(&a.name));
    }
}

/// A draft of another tool's files, which says itself what of them it does not have.
pub fn finish(mut draft: Draft, mut said: Said) -> Result<Written, InitError> {
    // each of several loads may lack the same
    let mut once = HashSet::new();
    said.left_out.retain(|why| once.insert(why.clone()));
    if draft.engine.about.is_empty() {
        draft.engine.about.push("the command as it is: every gain is a gain over this".to_owned());
    }
    if !said.left_out.is_empty() {
        draft.engine.about.push("left out of what was given:".to_owned());
        draft.engine.about.extend(said.left_out.iter().map(|l| format!(" * {l}")));
    }
    settled(draft, said)
}

/// Has the checker look at a draft, and joins what it took out to what was left out before.
fn settled(draft: Draft, said: Said) -> Result<Written, InitError> {
    let settled = settle(draft)?;
    let remarks = said.left_out.into_iter().chain(settled.remarks).collect();
    Ok(Written { text: settled.text, remarks, assumed: said.assumed, notes: said.notes })
}

/// The engine of a study, from a command.
pub fn base(command: Command<'_>, asked: &Asked) -> Result<Base, InitError> {
    let mut vars = Vars::default();
    for (name, value) in &asked.variables {
        vars.set(name, Word::plain(value.clone()));
    }
    let mut launch = match command {
        Command::Text(text) => launch::pasted(text, &mut vars)?,
        Command::Words([one]) => launch::pasted(one, &mut vars)?,
        Command::Words(words) => launch::in_words(words, &mut vars)?,
    };
    if let Some(word) = launch.launcher.iter().find(|w| secret_word(w)) {
        let name = word.split('=').next().unwrap_or_default();
        return Err(InitError::Inexpressible(format!("a secret stands before the engine, `{name}`")));
    }
    let stated = asked.version.clone().or_else(|| stated(&launch));
    if let Some(version) = stated.as_ref().filter(|v| !known::sound(v)) {
        return Err(InitError::UnknownVersion(format!("{} {version}", launch.engine.title())));
    }
    let mut told = llama::variables_as_flags(&mut launch);
    let words = std::mem::take(&mut launch.arguments);
    let (known, mut arguments) = match &stated {
        Some(version) => under(&launch, Some(version), &words)?,
        None => newest(&launch, &words)?,
    };
    let amd = amd::named(&launch);
    told.extend(
        amd.as_ref()
            .map(|by| format!("{by}: the command is for AMD's GPUs, and perflab takes only NVIDIA's")),
    );
    told.extend(mounts::as_here(&mut launch, &mut arguments));
    let mut left_out = std::mem::take(&mut launch.left_out);
    left_out.extend(arguments.left_out.iter().cloned());
    left_out.extend(launch.image.as_ref().map(|image| containers(image, launch.engine)));
    let (env, devices) = environment(&launch, &mut left_out)?;
    let mut draft = engine(&launch, &known, &arguments, stated.is_some());
    draft.changes.extend(env);
    draft.changes.extend(arguments.flags.iter().map(flag));
    draft.changes.extend(
        arguments.published.iter().map(|(a, why)| Change { published: Some((*why).to_owned()), ..flag(a) }),
    );
    let assumed = assumed(&vars, &arguments.place);
    let said = std::mem::take(&mut launch.notes);
    let notes = notes::of(&known, &arguments).into_iter().chain(told).chain(said).collect();
    Ok(Base { launch, known, arguments, devices, draft, left_out, assumed, notes, amd: amd.is_some() })
}

/// How a site has every launch in such a container.
fn containers(image: &Image, engine: known::Engine) -> String {
    let method = if image.runtime == "podman" { "podman" } else { "docker" };
    // one of a version is the engine's own, or the study names it
    let of = match image.version {
        Some(_) => String::new(),
        None => format!(" {}", value::text(&image.full)),
    };
    let site = format!("site here {{ engine {} via {method}{of} }}", engine.std_name());
    format!("the container: to start one for every launch, write site.plab beside the study: {site}")
}

/// Variables that the command has a value for where they are unset, which they are here; those of the place that every launch
/// chooses anew are nobody's.
fn assumed(vars: &Vars, place: &[String]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for (name, text) in &vars.assumed {
        let told = format!("${name} is {text}, the default in the command, as nothing in the input sets it");
        let placed = place.contains(text) && ["HOST", "PORT", "ADDR"].iter().any(|p| name.contains(p));
        if !placed && !secret::variable(name) && !secret::value_is(text) && !out.contains(&told) {
            out.push(told);
        }
    }
    out
}

/// The version that the command itself says: of its image, `uv run --with vllm==0.17.1`, or a `pip install` before it.
fn stated(launch: &Launch) -> Option<String> {
    let of_image = launch.image.as_ref().and_then(|i| i.version.clone());
    let pinned = launch
        .launcher
        .iter()
        .find_map(|w| w.split_once("==").filter(|(p, _)| *p == launch.engine.std_name()));
    let of_wrapper = pinned.map(|(_, v)| v.to_owned()).filter(|v| known::sound(v));
    of_image.or(of_wrapper).or_else(|| launch.pinned.clone())
}

fn under(
    launch: &Launch,
    version: Option<&str>,
    words: &[Word],
) -> Result<(std::sync::Arc<program::Engine>, Arguments), InitError> {
    let known = known::engine(launch.engine, version)?;
    let arguments = reader::read(launch.engine, &known, words)?;
    Ok((known, arguments))
}

/// The command under the newest version that has its flags and reads its variables: one that is gone says that an older one runs.
fn newest(
    launch: &Launch,
    words: &[Word],
) -> Result<(std::sync::Arc<program::Engine>, Arguments), InitError> {
    let any = known::engine(launch.engine, None)?;
    let variables: Vec<&str> = launch.env.iter().map(|(name, _)| name.as_str()).collect();
    let mut best = None;
    for version in known::versions(&any.schema) {
        let read = under(launch, Some(&version), words)?;
        let refused = read.1.flags.iter().filter(|f| f.refused()).count()
            + known::unread(launch.engine, &version, &variables);
        if best.as_ref().is_none_or(|(least, _)| refused < *least) {
            best = Some((refused, read));
        }
        if refused == 0 {
            break;
        }
    }
    best.map_or_else(|| under(launch, None, words), |(_, read)| Ok(read))
}

fn engine(launch: &Launch, known: &program::Engine, arguments: &Arguments, stated: bool) -> Engine {
    let kind = launch.engine;
    let mut settings = Vec::new();
    if let Some(version) = &known.version {
        let line = Line::new("version", value::text(version));
        let guessed = format!("the newest one known with these flags; yours: {}", kind.version_command());
        settings.push(if stated { line } else { line.why(guessed) });
        let usual = known.image().map(|i| bare(&i).to_owned());
        let other = |i: &&Image| Some(bare(&i.full)) != usual.as_deref() && i.version.is_some();
        if let Some(image) = launch.image.as_ref().filter(other) {
            let text = image.full.replacen(version.as_str(), "{version}", 1);
            settings.push(Line::new("image", value::template(&text)));
        }
    }
    let serve = serve_line(launch, arguments);
    if serve != known.serve {
        settings.push(Line::new("serve", value::template(&serve)));
    }
    let title = match kind {
        known::Engine::Sim => "Simulated, as it is".to_owned(),
        _ => format!("{} as it is", kind.title()),
    };
    Engine {
        about: Vec::new(),
        root: kind.std_name().to_owned(),
        name: "current".to_owned(),
        title,
        settings,
        changes: vec![],
    }
}

fn serve_line(launch: &Launch, arguments: &Arguments) -> String {
    let words = launch.launcher.iter().map(|w| shell_word(w).replace('{', "{{").replace('}', "}}"));
    let mut out = words.collect::<Vec<_>>().join(" ");
    let option = arguments.model_option.as_deref().or(launch.engine.model_options().first().copied());
    let usual = launch.engine.serves_by_option().then_some(option).flatten();
    let written = arguments.model_option.as_deref().filter(|_| !launch.entrypoint);
    if let Some(option) = if launch.entrypoint { usual } else { written } {
        out.push(' ');
        out.push_str(option);
    }
    out.push_str(" {model} --host {host} --port {port}");
    out
}

/// A word of a serve line, in quotes only where a shell would need them.
fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        shell_words::quote(word).into_owned()
    }
}

/// A flag as a line of the engine.
pub fn flag(argument: &Argument) -> Change {
    Change {
        text: argument.text(),
        raw: argument.passed_on(),
        as_typed: argument.wrong(),
        comment: argument.raw.clone().filter(|_| argument.refused()),
        published: None,
    }
}

/// Whether a word of a wrapper gives a secret: `mpirun -x HF_TOKEN=…`.
fn secret_word(word: &str) -> bool {
    let named = shell::assignment(word).is_some_and(|(name, _)| secret::variable(name));
    named || secret::value_is(word)
}

fn axis(idea: &Idea) -> Axis {
    let comment = idea.comment.map(str::to_owned);
    Axis { name: idea.axis.to_owned(), text: idea.text.clone(), comment, ..Axis::default() }
}

fn load(facts: &Facts<'_>, ideas: &Ideas) -> Block {
    let load = ideas::load(facts, ideas);
    let mut settings = Vec::new();
    if let Some((input, output)) = load.lengths {
        settings.push(Line::new("input", input.to_string()));
        settings.push(Line::new("output", output.to_string()));
    }
    settings.push(Line::new("concurrency", load.concurrency.to_string()));
    settings.extend(load.requests.map(|n| Line::new("requests", n.to_string())));
    let yours = if load.lengths.is_some() { "make it" } else { "512 tokens in, 256 out: make it" };
    settings[0] = settings[0].clone().why(format!("{yours} like your traffic"));
    Block {
        about: Vec::new(),
        name: "load".to_owned(),
        title: format!("{} users", load.concurrency),
        parent: Some("chat"),
        settings,
    }
}

/// Rules of the library: against what cannot be, if the candidates have any, and what is not worth a second launch.
fn rules(ideas: &Ideas) -> Vec<&'static str> {
    ideas.cannot_fill.into_iter().chain(["far_behind"]).collect()
}

/// What every study begins with: model, GPUs, baseline. Its candidates take so many GPUs at most.
pub fn opening(base: &Base, most: u64) -> Vec<Line> {
    let mut settings = vec![Line::new("model", value::text(&base.arguments.model))];
    let counts = base.known.schema.specs().iter().any(|s| s.uses_gpus.is_some());
    // llama.cpp spreads over all that it sees, and no flag says how many those are
    let layers = base.arguments.flag("--gpu-layers").filter(|_| base.draft.root == "llama_cpp");
    let spreads = layers.is_some_and(offloads);
    let on_processors = layers.is_some() && !spreads;
    let kind = if base.amd {
        "NVIDIA's, as perflab takes no others"
    } else if spreads && base.devices.is_none() {
        "as many as it may take, and their kind: 2 of \"H100\""
    } else {
        "add the kind: of \"H100\""
    };
    if (counts && !on_processors) || spreads || base.devices.is_some() {
        settings.push(Line::new("gpus", gpus(base).1.max(most).to_string()).why(kind));
    }
    settings.push(Line::new("baseline", "current"));
    settings
}

/// Whether `-ngl` puts anything on a GPU.
fn offloads(layers: &Argument) -> bool {
    layers.value.as_deref() != Some("0")
}

/// A name as it can stand in a title.
pub fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(60).collect()
}

fn study(facts: &Facts<'_>, ideas: &Ideas, base: &Base) -> Study {
    let name = arguments::short_name(&facts.arguments.model);
    let mut settings = opening(base, 1);
    let repeat = match facts.engine {
        known::Engine::Sim => Line::new("repeat", "1").why("a simulation hardly differs from run to run"),
        _ => Line::new("repeat", "3").why("launches of every candidate; 1 for a first look"),
    };
    settings.extend([
        Line::new("maximize", "total_tps on load").why("add your limits: require p99(ttft) <= 2s"),
        repeat,
    ]);
    Study {
        about: Vec::new(),
        name: value::name(name),
        title: format!("{} with {}", shown(name), facts.engine.title()),
        settings,
        steps: steps(ideas),
        closing: Vec::new(),
    }
}

/// The steps that ideas ask for; those of one step are varied together.
fn steps(ideas: &Ideas) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for idea in &ideas.all {
        match steps.iter_mut().find(|s| s.name == idea.step) {
            Some(step) => step.vary[0].push(idea.axis.to_owned()),
            None => steps.push(Step {
                about: Vec::new(),
                name: idea.step.to_owned(),
                title: idea.title.to_owned(),
                vary: vec![vec![idea.axis.to_owned()]],
            }),
        }
    }
    steps
}

/// Axes, rules and steps for a command that comes with none of its own.
pub fn proposed(base: &Base) -> (Vec<Axis>, Vec<&'static str>, Vec<Step>) {
    let ideas = ideas::ideas(&facts(base));
    (ideas.all.iter().map(axis).collect(), rules(&ideas), steps(&ideas))
}

fn facts(base: &Base) -> Facts<'_> {
    let (used, given) = gpus(base);
    Facts { engine: base.launch.engine, known: &base.known, arguments: &base.arguments, used, given }
}
