//! `perflab report`: what a study found, from its journal.

use indexmap::IndexMap;

use super::args::ReportArgs;
use super::console::Console;
use super::{exit, files, measure, replay, state};
use crate::report::Report;

/// What is wrong, and what helps.
type Told = (String, &'static str);

const MEASURE: &str = "`perflab exec FILE` measures a study";

pub fn run(args: &ReportArgs, console: Console) -> u8 {
    let found = if args.file.is_dir() { from_directory(args) } else { from_study(args, console) };
    match found {
        Ok(Some(report)) => {
            let dir = if args.file.is_dir() { Some(args.file.as_path()) } else { args.dir.as_deref() };
            replay::print(&report, dir, args.format, console);
            exit::DONE
        }
        Ok(None) => exit::INPUT,
        Err((why, help)) => {
            console.error(&why, help);
            exit::INPUT
        }
    }
}

/// A state directory holds the report as it was last written.
fn from_directory(args: &ReportArgs) -> Result<Option<Report>, Told> {
    let path = args.file.join("report.json");
    let told = |why: String| (format!("{}: {why}", path.display()), MEASURE);
    let text = files::read(&path).map_err(told)?;
    Report::from_json(&text).map(Some).map_err(|e| told(e.to_string()))
}

fn from_study(args: &ReportArgs, console: Console) -> Result<Option<Report>, Told> {
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
        let why = format!("{} has not been measured: {} has no journal", args.file.display(), dir.display());
        return Err((why, MEASURE));
    }
    let checks = replay::checks(args.checks);
    let made = measure::recorded(&args.file, program, study, args.dir.as_deref(), checks);
    let made = made.map_err(|why| (why, measure::KEPT_JOURNAL))?;
    if let Some(other) = &made.of_another {
        console.warn(other);
    }
    if args.set.is_empty() {
        say_last_set(&made.set, console);
    }
    Ok(Some(made.report))
}

/// A report is of the file's own values unless it is told others: what was measured with others may be missing in it.
fn say_last_set(last: &IndexMap<String, String>, console: Console) {
    let set: Vec<String> = last.iter().map(|(name, value)| format!("--set {name}={value}")).collect();
    if !set.is_empty() {
        console.say(&format!("note: the last run was made with {}; this report is without", set.join(" ")));
    }
}
