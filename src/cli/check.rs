//! `perflab check`: every diagnostic of every file, and what of it a machine can mend.

use std::path::Path;

use serde_json::Value as Json;

use super::args::{CheckArgs, CheckFormat};
use super::console::Console;
use super::{exit, files, site};
use crate::lang::{Analysis, Diagnostic, Given, fix, render};

pub fn run(args: &CheckArgs, console: Console) -> u8 {
    let mut code = exit::DONE;
    let mut entries: Vec<Json> = Vec::new();
    let mut found: Vec<Diagnostic> = Vec::new();
    let studies = args.files.iter().map(|f| (f.clone(), args.set.as_slice()));
    let mut all: Vec<_> = studies.collect();
    for file in &args.files {
        // a site serves many studies: it is checked once, and no param of theirs is its own
        let site = site::file_for(args.site.as_deref(), file).filter(|s| all.iter().all(|(f, _)| f != s));
        all.extend(site.map(|s| (s, &[][..])));
    }
    for (path, set) in &all {
        if args.fix && args.files.contains(path) && !mend(path, set, console) {
            code = exit::INPUT;
        }
        let Some(analysis) = files::analysis(path, set, console) else {
            code = exit::INPUT;
            continue;
        };
        if analysis.has_errors() {
            code = exit::INPUT;
        }
        show(&analysis, args.format, &mut entries, console);
        found.extend(analysis.diagnostics);
    }
    match args.format {
        CheckFormat::Json => {
            let document = serde_json::json!({"schema": "perflab.diagnostics/1", "diagnostics": entries});
            console.print(&format!("{document:#}\n"));
        }
        CheckFormat::Text | CheckFormat::Github => {
            console.say(&render::summary(&found, all.len()));
        }
    }
    code
}

fn show(analysis: &Analysis, format: CheckFormat, entries: &mut Vec<Json>, console: Console) {
    let (found, sources) = (&analysis.diagnostics, &analysis.sources);
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
    if mended.fixes == 0 {
        return true;
    }
    let whole = format!("{}{}", &text[..mark], mended.text);
    if let Err(why) = files::replace(path, &whole) {
        console.error(&format!("cannot write {}: {why}", path.display()), "the file is as it was");
        return false;
    }
    let plural = if mended.fixes == 1 { "" } else { "es" };
    console.say(&format!("{}: {} fix{plural} made", path.display(), mended.fixes));
    true
}
