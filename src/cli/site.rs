//! The facts of this machine: which site holds for a study, its paths made absolute, and what must be right before a launch.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::console::Console;
use super::{closing, files};
use crate::engine::container::{Runtime, RuntimeError};
use crate::lang::Program;
use crate::lang::sema::program::{Change, Choice, Engine, From, Site, Step, Study, Via};
use crate::plan::Config;
use crate::report::preview::Launched;
use crate::run::container;

/// The pauses before an image is fetched again whose registry could not be reached.
const FETCHED_AGAIN: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(10)];
/// How soon a signal is seen meanwhile.
const LOOK_OUT: Duration = Duration::from_millis(50);

/// Where a site is looked for beside a study.
const NAME: &str = "site.plab";

/// The site file that holds for a study file: the one that is named, else the one beside it, if there is one.
pub fn file_for(named: Option<&Path>, study: &Path) -> Option<PathBuf> {
    let beside = study.with_file_name(NAME);
    named.map(Path::to_owned).or_else(|| (beside.is_file() && beside != study).then_some(beside))
}

/// Settles a program on its site: `--site FILE`, else a site of the study file itself, else `site.plab` beside it. False if that
/// cannot be read, which has been said.
pub fn settle(program: &mut Program, named: Option<&Path>, study: &Path, console: Console) -> bool {
    let own = program.site.take().filter(|_| named.is_none_or(|n| n == study));
    let (site, path) = match (own, file_for(named, study)) {
        (Some(own), _) => (Some((*own).clone()), study.to_owned()),
        (None, Some(path)) => match read(&path, console) {
            Some(site) => (Some(site), path),
            None => return false,
        },
        (None, None) => (None, study.to_owned()),
    };
    if let Some(site) = site {
        program.settle(at_home(site, &path));
    }
    true
}

/// The same for who only reads a study's results: by what lies beside it, and without a word. `None` if that cannot be read.
pub fn settle_quietly(program: &mut Program, study: &Path) -> Option<()> {
    let own = program.site.take();
    let (site, path) = match (own, file_for(None, study)) {
        (Some(own), _) => ((*own).clone(), study.to_owned()),
        (None, None) => return Some(()),
        (None, Some(path)) => {
            let text = files::read(&path).ok()?;
            let analysis = files::analysis_of(&path, &text, &[]);
            let site = analysis.program.site.as_deref().filter(|_| !analysis.has_errors())?;
            (site.clone(), path)
        }
    };
    program.settle(at_home(site, &path));
    Some(())
}

fn read(path: &Path, console: Console) -> Option<Site> {
    let analysis = files::analysis(path, &[], console)?;
    if analysis.has_errors() {
        console.diagnostics(&analysis.diagnostics, &analysis.sources);
        return None;
    }
    let site = analysis.program.site.as_deref().cloned();
    if site.is_none() {
        let help = "write `site NAME { … }` in it, or name another file with `--site FILE`";
        console.error(&format!("{} has no site", path.display()), help);
    }
    site
}

/// Paths are relative to the file that names them, and `~` is the user's home.
fn at_home(mut site: Site, file: &Path) -> Site {
    let dir = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let absolute = |path: &str| dir.join(home(path)).to_string_lossy().into_owned();
    for line in &mut site.engines {
        if let Via::Venv(dir) = &mut line.via {
            *dir = absolute(dir);
        }
    }
    for path in site.models.values_mut().chain(site.data.values_mut()) {
        *path = absolute(path);
    }
    site
}

/// `~` and `~/…`, as a shell reads them.
pub fn home(path: &str) -> String {
    let home = || std::env::var("HOME").ok().filter(|h| !h.is_empty());
    match (path, path.strip_prefix("~/")) {
        ("~", _) => home().unwrap_or_else(|| path.to_owned()),
        (_, Some(rest)) => {
            home().map_or_else(|| path.to_owned(), |h| format!("{}/{rest}", h.trim_end_matches('/')))
        }
        _ => path.to_owned(),
    }
}

/// The site as launches see it: `~` in the values of its variables is the user's home.
pub fn launched(program: &Program) -> Site {
    let mut site = program.site.as_deref().cloned().unwrap_or_default();
    for variable in &mut site.env {
        variable.value = home(&variable.value);
    }
    site
}

/// What of a site this version cannot carry out, by name.
pub fn refused(program: &Program) -> Vec<String> {
    let Some(site) = &program.site else { return Vec::new() };
    site.runner.iter().map(|r| format!("`runner {r}` (site {})", site.name)).collect()
}

/// What keeps a study from being launched here: a message and its help.
pub fn trouble(program: &Program, study: &Study) -> Option<(String, String)> {
    let site = program.site.as_ref()?;
    let used = engines(program, study);
    used.iter()
        .find_map(|e| venv_trouble(e, site))
        .or_else(|| used.iter().find_map(|e| container_trouble(e, site)))
        .or_else(|| model_trouble(program, study, site))
        .or_else(|| places_trouble(program, study, &used))
}

fn venv_trouble(engine: &Engine, site: &Site) -> Option<(String, String)> {
    let Via::Venv(dir) = &engine.via else { return None };
    let whose = format!("(engine {} of site {})", engine.name, site.name);
    let bin = Path::new(dir).join("bin");
    if !bin.is_dir() {
        let help = "make it, as with `python -m venv DIR`, or mend the site's line".to_owned();
        return Some((format!("there is no virtual environment {dir} {whose}"), help));
    }
    let word = shell_words::split(&engine.serve).unwrap_or_default().into_iter().next()?;
    let there = word.contains('/') || word == "perflab" || bin.join(&word).is_file();
    (!there).then(|| {
        let help = format!("install the engine there: `{dir}/bin/pip install …`");
        (format!("the virtual environment {dir} has no program `{word}` {whose}"), help)
    })
}

fn container_trouble(engine: &Engine, site: &Site) -> Option<(String, String)> {
    let Via::Container(boxed) = &engine.via else { return None };
    let name = boxed.runtime.name();
    let whose = format!("(engine {} of site {})", engine.name, site.name);
    if container::image(engine, boxed).is_err() {
        let help =
            format!("name it: `via {name} \"IMAGE\"`, or give an engine of the standard library a version");
        return Some((format!("it is not known which image {name} is to start {whose}"), help));
    }
    let missing = container::runtime(boxed).is_err();
    missing.then(|| {
        let help = format!("install {name}, or say in the site how else the engine is launched");
        (format!("there is no program `{name}` {whose}"), help)
    })
}

/// The images of a study's engines with their own ids. What is not on this machine is fetched where `fetch` says so, which takes
/// its time and is told, and which a signal ends; without it, it is left out.
pub fn images(
    program: &Program,
    study: &Study,
    fetch: Option<Console>,
) -> Result<BTreeMap<String, String>, RuntimeError> {
    let mut found = BTreeMap::new();
    for engine in engines(program, study) {
        let Via::Container(boxed) = &engine.via else { continue };
        let (Ok(runtime), Ok(image)) = (container::runtime(boxed), container::image(engine, boxed)) else {
            continue;
        };
        if found.contains_key(&image) {
            continue;
        }
        let mut id = runtime.image(&image)?;
        if let (None, Some(console)) = (&id, fetch) {
            console.say(&format!("fetching image {image}"));
            let _heard = closing::Heard::listen();
            fetch_image(&runtime, &image, console)?;
            id = runtime.image(&image)?;
        }
        found.extend(id.map(|id| (image, id)));
    }
    Ok(found)
}

/// Fetches an image. A registry that cannot be reached is asked again, like all that is the machine's failure.
fn fetch_image(runtime: &Runtime, image: &str, console: Console) -> Result<(), RuntimeError> {
    let stopped = || closing::heard() != 0;
    for (n, pause) in FETCHED_AGAIN.iter().enumerate() {
        match runtime.pull(image, stopped) {
            Err(e @ RuntimeError::Unreachable { .. }) => {
                let again =
                    format!("fetched again in {} s ({} of {})", pause.as_secs(), n + 1, FETCHED_AGAIN.len());
                console.warn(&format!("{e}; {again}"));
            }
            done => return done,
        }
        let until = Instant::now() + *pause;
        while Instant::now() < until {
            if stopped() {
                return Err(RuntimeError::Stopped { program: runtime.name() });
            }
            thread::sleep(LOOK_OUT);
        }
    }
    runtime.pull(image, stopped)
}

fn model_trouble(program: &Program, study: &Study, site: &Site) -> Option<(String, String)> {
    let message = model_away(program, study, site)?;
    Some((message, "fetch it there, or mend the site's line".to_owned()))
}

/// A model that is not where the site says, in a sentence.
pub fn model_away(program: &Program, study: &Study, site: &Site) -> Option<String> {
    let (at, model) = models(program, study)
        .into_iter()
        .find_map(|m| Some((site.models.get(&m)?, m)).filter(|(at, _)| !Path::new(at).exists()))?;
    Some(format!("the model {model} is not at {at} (site {})", site.name))
}

/// Every model that a study may serve.
pub fn models(program: &Program, study: &Study) -> BTreeSet<String> {
    let of_engines = engines(program, study).into_iter().filter_map(|e| e.model.clone());
    let of_points =
        changes(study).filter_map(|c| if let Change::Model(m) = c { Some(m.clone()) } else { None });
    std::iter::once(study.model.clone()).chain(of_engines).chain(of_points).collect()
}

/// A server that runs already takes no changes, and is one configuration; and no configuration runs in two places.
fn places_trouble(program: &Program, study: &Study, used: &[&Engine]) -> Option<(String, String)> {
    let elsewhere = |e: &Engine| matches!(e.via, Via::Url(_));
    for step in &study.steps {
        let own = step.space.points().into_iter().flat_map(|p| &p.changes);
        let changed = own.filter(|c| !matches!(c, Change::Engine(_))).count() > 0;
        let under = if changed { under(program, study, step) } else { Vec::new() };
        if let Some(engine) = under.into_iter().find(|e| elsewhere(e)) {
            let message = format!(
                "step `{}` changes `{}`, which the site says runs already and is not managed",
                step.name, engine.name
            );
            let help = "a running server takes no changes: vary another engine there, or let the site launch this one";
            return Some((message, help.to_owned()));
        }
    }
    for (i, a) in used.iter().enumerate() {
        let twice =
            |b: &&&Engine| a.via != b.via && config_id(program, study, a) == config_id(program, study, b);
        if let Some(b) = used[..i].iter().find(twice) {
            let message =
                format!("`{}` and `{}` are one configuration, and run in two places", b.name, a.name);
            let help = "results are told apart by their configuration: state the `version` or the flags in which the two differ";
            return Some((message, help.to_owned()));
        }
        let same = |b: &&&Engine| {
            a.via == b.via && elsewhere(b) && config_id(program, study, a) != config_id(program, study, b)
        };
        if let Some(b) = used[..i].iter().find(same) {
            let message =
                format!("`{}` and `{}` are two configurations of one running server", b.name, a.name);
            return Some((message, "give each a server of its own, or let the site launch them".to_owned()));
        }
    }
    None
}

fn config_id(program: &Program, study: &Study, engine: &Engine) -> Option<String> {
    let engine = program.engines.get(&engine.name)?;
    Some(Config::declared(engine, study).id().to_owned())
}

pub fn changes(study: &Study) -> impl Iterator<Item = &Change> {
    study.steps.iter().flat_map(|s| s.space.points()).flat_map(|p| &p.changes)
}

fn named<'a>(program: &'a Program, name: &str) -> Option<&'a Engine> {
    program.engines.get(name).map(|e| &**e)
}

/// The engines that a step's candidates may have.
fn under<'a>(program: &'a Program, study: &'a Study, step: &'a Step) -> Vec<&'a Engine> {
    let points = step.space.points().into_iter().flat_map(|p| &p.changes);
    let varied: Vec<&Engine> = points.filter_map(|c| engine_of(program, c)).collect();
    match (&step.from, varied.is_empty()) {
        (_, false) => varied,
        (From::Engine(name), true) => named(program, name).into_iter().collect(),
        _ => {
            let before = study.steps.iter().take_while(|s| s.name != step.name || s.track != step.track);
            let varied = before.flat_map(|s| s.space.points()).flat_map(|p| &p.changes);
            let first = step.track.as_ref().unwrap_or(&study.baseline);
            named(program, first).into_iter().chain(varied.filter_map(|c| engine_of(program, c))).collect()
        }
    }
}

fn engine_of<'a>(program: &'a Program, change: &Change) -> Option<&'a Engine> {
    if let Change::Engine(name) = change { named(program, name) } else { None }
}

/// How each engine is launched that a study may launch.
pub fn launched_by(program: &Program, study: &Study) -> Vec<Launched> {
    let launched = |engine: &Engine| {
        let (via, from) = match &engine.via {
            Via::Path => ("path", None),
            Via::Venv(dir) => ("venv", Some(dir.clone())),
            Via::Url(url) => ("url", Some(url.clone())),
            Via::Container(boxed) => (boxed.runtime.name(), container::image(engine, boxed).ok()),
        };
        Launched { name: engine.name.clone(), version: engine.version.clone(), via, from }
    };
    engines(program, study).into_iter().map(launched).collect()
}

/// Whether every engine that a study may launch is the simulated one: then it uses no GPU.
pub fn simulated(program: &Program, study: &Study) -> bool {
    engines(program, study).iter().all(|e| e.simulated())
}

/// Every engine that a study may launch, once.
pub fn engines<'a>(program: &'a Program, study: &Study) -> Vec<&'a Engine> {
    let mut names: Vec<&str> = vec![&study.baseline];
    for step in &study.steps {
        names.extend(step.track.as_deref());
        if let From::Engine(name) = &step.from {
            names.push(name);
        }
        let picked = step.pick.iter().flat_map(|p| match &p.choice {
            Choice::Points(points) => points.as_slice(),
            Choice::Base => &[],
        });
        let points = step.space.points().into_iter().chain(picked).flat_map(|p| &p.changes);
        names.extend(
            points.filter_map(|c| if let Change::Engine(name) = c { Some(name.as_str()) } else { None }),
        );
    }
    let mut seen = BTreeSet::new();
    names.into_iter().filter(|n| seen.insert(*n)).filter_map(|n| named(program, n)).collect()
}
