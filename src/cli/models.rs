//! Models before anything starts: resolved to a commit, fetched where they are not here yet.
//!
//! Only for the engines of the standard library that load models of the hub by name; what other engines make of a
//! model is not known, and a simulated one loads none.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use super::console::Console;
use super::installed::{From, is_here};
use super::{closing, exit, site};
use crate::data;
use crate::hub::{Hub, HubError, Phase, Resolved, is_name};
use crate::lang::Program;
use crate::lang::sema::program::{Change, Engine, Profile, Study, Via};

/// How soon a signal is seen.
const LOOK_OUT: Duration = Duration::from_millis(50);

/// Engines that load models of the hub, by the names of their declarations.
const ENGINES: [&str; 3] = ["vllm", "sglang", "trtllm"];
/// Flags whose value is a model beside the served one.
const FLAGS: [&str; 6] = [
    "speculative-model",
    "speculative-draft-model-path",
    "speculative-draft-model",
    "tokenizer",
    "tokenizer-path",
    "hf-config-path",
];

/// What a study's engines load, by name. The error is an exit code; what is wrong has been said.
pub fn resolve(
    program: &Program,
    study: &Study,
    study_dir: &Path,
    download: bool,
    console: Console,
) -> Result<BTreeMap<String, Resolved>, u8> {
    let names = wanted(program, study, study_dir);
    let mut found = placed(program, study);
    if names.is_empty() {
        return Ok(found);
    }
    let said = |e: &HubError| {
        console.error(&e.to_string(), &e.help());
        if e.is_passing() { exit::INCOMPLETE } else { exit::INPUT }
    };
    let hub =
        Arc::new(Hub::from_environment(&|name| program.site.as_ref()?.variable(name)).map_err(|e| said(&e))?);
    let _heard = closing::Heard::listen();
    for name in names {
        let Some(resolved) = interruptible(&hub, &name, study_dir, download, console) else {
            let message = format!("interrupted while the model {name} was looked for or fetched");
            console.error(&message, "what has arrived is kept; the same command continues");
            return Err(exit::INCOMPLETE);
        };
        found.insert(name, resolved.map_err(|e| said(&e))?);
    }
    Ok(found)
}

/// Says of a tokenizer that is there and can be none, better before a GPU is taken than behind a launch: of those that profiles name and
/// of the models' own.
pub fn unreadable<'p>(
    profiles: impl Iterator<Item = &'p Profile>,
    models: &BTreeMap<String, Resolved>,
    study_dir: &Path,
) -> Option<(String, &'static str)> {
    let named = profiles.filter_map(|p| Some(study_dir.join(p.tokenizer.as_ref()?)));
    let all = named.chain(models.values().map(|model| model.dir.clone()));
    let files = all.map(|at| if at.is_dir() { at.join("tokenizer.json") } else { at });
    let is_one = |file: &PathBuf| file.is_file() && file.extension().is_some_and(|e| e == "json");
    files.filter(is_one).find_map(|file| {
        let why = data::unreadable(&file)?;
        let help = "fetch it again: remove the file (in the hub's cache the link and what it leads to)";
        Some((format!("{} is no tokenizer: {why}", file.display()), help))
    })
}

/// Resolves a model beside this thread, which looks out for signals: a hub that is silent holds nobody up. `None`: one came. What then
/// still goes on ends with this process; what has arrived is on disk.
fn interruptible(
    hub: &Arc<Hub>,
    name: &str,
    study_dir: &Path,
    download: bool,
    console: Console,
) -> Option<Result<Resolved, HubError>> {
    enum News {
        Phase(Phase),
        Over(Result<Resolved, HubError>),
    }
    let (tell, news) = mpsc::channel();
    let (hub, model, dir) = (hub.clone(), name.to_owned(), study_dir.to_owned());
    thread::spawn(move || {
        let mut hear = |phase| drop(tell.send(News::Phase(phase)));
        let resolved = hub.resolve(&model, &dir, download, &mut hear);
        drop(tell.send(News::Over(resolved)));
    });
    let mut progress = Progress::new(console);
    while closing::heard() == 0 {
        match news.recv_timeout(LOOK_OUT) {
            Ok(News::Phase(phase)) => progress.hear(&phase),
            Ok(News::Over(resolved)) => return Some(resolved),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => return None,
        }
    }
    None
}

/// Models that the site has, as far as they can be read; what is not there has been said.
fn placed(program: &Program, study: &Study) -> BTreeMap<String, Resolved> {
    let Some(site) = program.site.as_ref().filter(|_| !loaders(program, study).is_empty()) else {
        return BTreeMap::new();
    };
    let served = site::models(program, study).into_iter();
    let at = served.filter_map(|name| Some((site.models.get(&name)?, name)));
    at.filter_map(|(at, name)| Some((name, Resolved::local(Path::new(at)).ok()?))).collect()
}

/// The engines of a study that load models of the hub.
fn loaders<'a>(program: &'a Program, study: &Study) -> Vec<&'a Engine> {
    let loads = |e: &&Engine| ENGINES.contains(&e.root()) && !e.simulated() && may_start(e);
    site::engines(program, study).into_iter().filter(loads).collect()
}

/// Nothing is fetched for an engine that is not here: that it is missing is the result of its launch, and is known at once.
fn may_start(engine: &Engine) -> bool {
    let word = engine.serve.split_whitespace().next().unwrap_or_default();
    let here = |from: &From| word.contains('/') || is_here(word, from);
    match &engine.via {
        Via::Path => here(&From::Path),
        Via::Venv(dir) => here(&From::Venv(dir.into())) || here(&From::Path),
        Via::Container(_) => true,
        Via::Url(_) => false,
    }
}

/// Names of the hub, and directories that stand in a study in the place of a name.
fn wanted(program: &Program, study: &Study, study_dir: &Path) -> BTreeSet<String> {
    let used = loaders(program, study);
    if used.is_empty() {
        return BTreeSet::new();
    }
    let served = site::models(program, study);
    let flags =
        used.iter().flat_map(|e| &e.flags).filter_map(|f| Some((f.spelled.as_str(), f.shown.as_deref()?)));
    let points = site::changes(study).filter_map(|c| match c {
        Change::Flag { name, value: Some(value), .. } => Some((name.as_str(), value.text.as_str())),
        _ => None,
    });
    let beside = flags.chain(points).filter_map(|(name, value)| model_in(name, value));
    let at = program.site.as_ref().map(|s| &s.models);
    let known = |m: &String| at.is_some_and(|at| at.contains_key(m));
    let is_model = |m: &String| is_name(m) || study_dir.join(m).exists();
    served.into_iter().chain(beside).filter(|m| !known(m) && is_model(m)).collect()
}

/// A model that a flag's value names: a drafter, a tokenizer.
fn model_in(flag: &str, value: &str) -> Option<String> {
    let flag = flag.trim_start_matches('-').replace('_', "-");
    let named = if FLAGS.contains(&flag.as_str()) {
        value.to_owned()
    } else if let Some(key) = flag.strip_prefix("speculative-config.") {
        (key == "model").then(|| value.to_owned())?
    } else if flag == "speculative-config" {
        let json: serde_json::Value = serde_json::from_str(value).ok()?;
        json.get("model")?.as_str()?.to_owned()
    } else {
        return None;
    };
    is_name(&named).then_some(named)
}

/// One line when a fetch begins, then one for each tenth of it.
struct Progress {
    console: Console,
    of: u64,
    arrived: u64,
    tenths: u64,
}

impl Progress {
    fn new(console: Console) -> Self {
        Self { console, of: 0, arrived: 0, tenths: 0 }
    }

    fn hear(&mut self, phase: &Phase) {
        match phase {
            Phase::Fetching { name, files, bytes } => {
                self.of = *bytes;
                let size = crate::hub::size(*bytes);
                self.console.say(&format!("fetching model {name}: {files} files, {size}"));
            }
            Phase::Arrived { bytes } => {
                self.arrived += bytes;
                let tenths = (self.arrived * 10).checked_div(self.of).unwrap_or(0).min(10);
                // small models are there before anybody has read the line
                if tenths > self.tenths && self.of > 100_000_000 {
                    self.tenths = tenths;
                    self.console.say(&format!("  {} % of {}", tenths * 10, crate::hub::size(self.of)));
                }
            }
            Phase::Again { why, attempt, of } => {
                self.console.say(&format!("  {why}; asked again ({attempt} of {of})"));
            }
            Phase::Unreached { name, why } => self
                .console
                .warn(&format!("the hub cannot be reached ({why}); what lies here of model {name} is taken")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_beside_the_served_one_are_found_in_flags() {
        let json = r#"{"method": "eagle3", "model": "org/draft", "num_speculative_tokens": 3}"#;
        assert_eq!(model_in("--speculative-config", json).as_deref(), Some("org/draft"));
        assert_eq!(model_in("--speculative-config.model", "org/draft").as_deref(), Some("org/draft"));
        assert_eq!(model_in("--speculative_draft_model_path", "org/d").as_deref(), Some("org/d"));
        assert_eq!(model_in("--speculative-config", r#"{"method": "mtp"}"#), None);
        assert_eq!(model_in("--tokenizer", "./local"), None);
        assert_eq!(model_in("--served-model-name", "org/name"), None);
    }
}
