//! `perflab check`: every diagnostic of every file, and what of it a machine can mend.

use std::collections::HashMap;
use std::mem::{self, take};
use std::path::Path;

use serde_json::Value as Json;

use super::args::{CheckArgs, CheckFormat};
use super::console::{Console, learn_broken};
use super::installed::{self, Answer, AskError, From};
use super::used::{self, Found, Homes};
use super::{below, exit, files, machine, site};
use crate::disk;
use crate::lang::diag::{self, Severity};
use crate::lang::learn::{self, Installed};
use crate::lang::sema::program::Via;
use crate::lang::{Analysis, Given, fix, render};
use crate::secrets;

/// What was said, by root, serve line and place.
type Answers = HashMap<(String, String, From), Result<Answer, AskError>>;

pub fn run(args: &CheckArgs, console: Console) -> u8 {
    let (mut code, mut refused) = (exit::DONE, false);
    let mut answers = HashMap::new();
    let mut entries: Vec<Json> = Vec::new();
    let mut found: Vec<Found> = Vec::new();
    let (given, whole) = below::files(&args.files, console);
    if !whole {
        (code, refused) = (exit::INPUT, true);
    }
    let mut all: Vec<_> = given.iter().map(|f| (f.clone(), args.set.as_slice())).collect();
    for file in &given {
        // a site serves many studies: it is checked once, and no param of theirs is its own
        let site = site::file_for(args.site.as_deref(), file).filter(|s| all.iter().all(|(f, _)| f != s));
        all.extend(site.map(|s| (s, &[][..])));
    }
    // all of them first: what one says of another that it uses is said of the mended one
    for (path, set) in all.iter().filter(|(path, _)| args.fix && given.contains(path)) {
        if !mend(path, set, console) {
            code = exit::INPUT;
        }
    }
    let mut homes = Homes::default();
    for (path, set) in &all {
        let Some(mut analysis) = files::checked(path, set, &mut homes, console) else {
            code = exit::INPUT;
            refused = true;
            continue;
        };
        if given.contains(path) {
            machine::asked(&mut analysis, args.site.as_deref(), path, console);
        }
        if args.installed && given.contains(path) {
            // where an engine lies is the site's to say; what is wrong with the site is said where it is checked
            site::settle(&mut analysis.program, args.site.as_deref(), path, console);
            hold(&mut analysis, &mut answers);
        }
        if analysis.has_errors() {
            code = exit::INPUT;
        }
        learn_broken(&analysis.diagnostics, &analysis.sources);
        let (diagnostics, sources) = (take(&mut analysis.diagnostics), take(&mut analysis.sources));
        found.push(Found { diagnostics, sources });
        // the process is about to end: to give back the trees of a long file piece by piece takes a tenth of the whole check
        mem::forget(analysis);
    }
    used::once(&mut found);
    for one in &found {
        show(one, args.format, &mut entries, console);
    }
    match args.format {
        CheckFormat::Json => {
            let document = serde_json::json!({"schema": "perflab.diagnostics/1", "diagnostics": entries});
            console.print(&format!("{document:#}\n"));
        }
        CheckFormat::Text | CheckFormat::Github => {
            // what was refused has been said, and is no file without errors
            let told = || found.iter().flat_map(|f| &f.diagnostics);
            if !(refused && told().next().is_none()) {
                console.say(&render::summary(told(), all.len()));
            }
        }
    }
    code
}

fn show(found: &Found, format: CheckFormat, entries: &mut Vec<Json>, console: Console) {
    let Found { diagnostics: found, sources } = found;
    match format {
        CheckFormat::Text => console.diagnostics(found, sources),
        CheckFormat::Github => console.print(&render::github(found, sources)),
        CheckFormat::Json => {
            let mut document = render::json(found, sources);
            if let Some(found) = document["diagnostics"].as_array_mut() {
                entries.append(found);
            }
        }
    }
}

/// Rewrites a file with every fix that helps; false if it cannot be written, which has been said.
fn mend(path: &Path, set: &[Given], console: Console) -> bool {
    // a file that cannot be read is spoken of where it is checked
    let Ok(text) = files::read(path) else { return true };
    let mark = text.len() - crate::lang::sema::without_mark(&text).len();
    let mended = fix::mend(&text[mark..], &|t| files::analysis_of(path, t, set));
    if mended.fixes.is_empty() {
        return true;
    }
    let whole = format!("{}{}", &text[..mark], mended.text);
    if let Err(why) = disk::replace(path, &whole) {
        console.error(&format!("cannot write {}: {why}", path.display()), "the file is as it was");
        return false;
    }
    // what is quoted may be a secret of a file with errors
    if mended.fixes.iter().any(|f| f.code.severity() == Severity::Error) {
        secrets::learn(secrets::in_broken_text(&text));
    }
    for fix in &mended.fixes {
        console.say(&format!("{}:{}: {}", path.display(), fix.line, fix.told()));
    }
    let count = mended.fixes.len();
    let plural = if count == 1 { "" } else { "es" };
    console.say(&format!("{}: {count} fix{plural} made", path.display()));
    true
}

/// An engine that nobody here can be asked about.
fn untold(why: String) -> Installed {
    Installed::Missing { why, help: "its flags are checked against its schema all the same" }
}

/// Adds what the installed engines say; each is asked once.
fn hold(analysis: &mut Analysis, answers: &mut Answers) {
    let found = learn::held(&analysis.program, &mut |engine| {
        // what a file only imports is held where it is derived from; the simulated engine is this program
        let derives = engine.ancestry.len() > 1;
        let Some(library) = super::std::root_engine(engine.root()) else {
            let why = "the flags of an engine of one's own are what the file says of them";
            return (!derives).then(|| untold(why.to_owned()));
        };
        if !derives || library.simulated() {
            return None;
        }
        let from = match &engine.via {
            Via::Path => From::Path,
            Via::Venv(dir) => From::Venv(dir.into()),
            Via::Url(url) => return Some(untold(format!("{url} runs already and lists no flags"))),
            Via::Container(_) => return Some(untold("flags are not read from images yet".to_owned())),
        };
        let answer = answers
            .entry((engine.root().to_owned(), engine.serve.clone(), from.clone()))
            .or_insert_with(|| installed::ask(engine, &from));
        Some(match answer {
            Ok(a) => {
                let version = a.version.split('+').next().unwrap_or(&a.version).to_owned();
                let schema = learn::schema(&a.rows, &version, &library.schema);
                Installed::Found { version, schema }
            }
            Err(e) => Installed::Missing { why: e.to_string(), help: e.help() },
        })
    });
    analysis.diagnostics.retain(|d| !found.answers(d));
    analysis.diagnostics.extend(found.found);
    if analysis.has_errors() {
        // notes say what becomes of a file that is right
        analysis.diagnostics.retain(|d| d.severity() != Severity::Note);
    }
    diag::sort(&mut analysis.diagnostics);
}
