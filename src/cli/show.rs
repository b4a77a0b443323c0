//! `perflab report`: what a study found, from its journal.

use super::args::ReportArgs;
use super::console::Console;
use super::{exit, files, measure, replay, state};
use crate::journal::{self, Requests};
use crate::report::Report;

pub fn run(args: &ReportArgs, console: Console) -> u8 {
    let found = if args.file.is_dir() { from_directory(args) } else { from_study(args, console) };
    match found {
        Ok(Some(report)) => {
            let dir = if args.file.is_dir() { Some(args.file.as_path()) } else { args.dir.as_deref() };
            replay::print(&report, dir, args.format, console);
            exit::DONE
        }
        Ok(None) => exit::INPUT,
        Err(why) => {
            console.error(&why, "`perflab exec FILE` measures a study");
            exit::INPUT
        }
    }
}

/// A state directory holds the report as it was last written.
fn from_directory(args: &ReportArgs) -> Result<Option<Report>, String> {
    let path = args.file.join("report.json");
    let text = files::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    Report::from_json(&text).map(Some).map_err(|e| format!("{}: {e}", path.display()))
}

fn from_study(args: &ReportArgs, console: Console) -> Result<Option<Report>, String> {
    let Some(analysis) = files::analysis(&args.file, &args.set, console) else { return Ok(None) };
    if analysis.has_errors() {
        console.diagnostics(&analysis.diagnostics, &analysis.sources);
        return Ok(None);
    }
    let program = &analysis.program;
    let Some(study) = files::study(program, args.study.as_deref(), &args.file, console) else {
        return Ok(None);
    };
    let dir = state::directory(&args.file, &study.name, args.dir.as_deref(), false);
    if !dir.join(crate::journal::FILE).exists() {
        return Err(format!(
            "{} has not been measured: {} has no journal",
            args.file.display(),
            dir.display()
        ));
    }
    if args.set.is_empty() {
        say_last_set(&dir, console);
    }
    measure::recorded(&args.file, program, study, &dir, replay::checks(args.checks)).map(Some)
}

/// A report is of the file's own values unless it is told others: what was measured with others may be missing in it.
fn say_last_set(dir: &std::path::Path, console: Console) {
    let history = journal::read(&dir.join(journal::FILE), Requests::LeftOut).unwrap_or_default();
    let last = history.sessions().last().map(|s| &s.set);
    let set: Vec<String> =
        last.into_iter().flatten().map(|(name, value)| format!("--set {name}={value}")).collect();
    if !set.is_empty() {
        console.say(&format!("note: the last run was made with {}; this report is without", set.join(" ")));
    }
}
