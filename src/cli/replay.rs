//! `perflab exec --replay`: the same planner, judge and reporter over a recording instead of engines.

use std::path::Path;

use super::args::{ChecksArg, ExecArgs, ReportFormat};
use super::console::Console;
use super::{exit, state};
use crate::journal::{History, Recording};
use crate::judge::{Checks, Grid, Setup, Strategy};
use crate::lang::Program;
use crate::lang::sema::program::Study;
use crate::report::{self, Material, Report};

pub fn run(args: &ExecArgs, recording: &Path, program: &Program, study: &Study, console: Console) -> u8 {
    let recording = match Recording::read(recording) {
        Ok(r) => r,
        Err(e) => {
            console.error(
                &e.to_string(),
                "a recording is JSON with `recording` and `runs`; the examples hold some",
            );
            return exit::INPUT;
        }
    };
    let answers = recording.answers(program);
    for difference in &answers.differences {
        console.say(&format!("note: {difference}"));
    }
    let checks = checks(args.checks);
    let setup = Setup::new(program, study, &answers.results, checks, true);
    let (walk, _) = Grid.next(&setup);
    let history = History::default();
    let material = Material {
        setup: &setup,
        walk: &walk,
        history: &history,
        file: &args.file.to_string_lossy(),
        recording: Some((&recording, &answers.differences)),
        warnings: Vec::new(),
        again: Vec::new(),
    };
    let report = report::build(&material);
    let dir = state::directory(&args.file, &study.name, args.dir.as_deref(), true);
    finish(&report, &dir, args.format, console)
}

pub fn checks(arg: ChecksArg) -> Checks {
    match arg {
        ChecksArg::Refuse => Checks::Refuse,
        ChecksArg::Warn => Checks::Warn,
    }
}

/// Writes the report's files and prints it; the exit code follows from what it says.
fn finish(report: &Report, dir: &Path, format: ReportFormat, console: Console) -> u8 {
    let written = write(report, dir);
    say(report, dir, &written, format, console);
    if written.is_ok() { code(report) } else { exit::INPUT }
}

/// Writes the report's files. The error is a sentence.
pub fn write(report: &Report, dir: &Path) -> Result<(), String> {
    state::make(dir).and_then(|()| report::write(report, dir).map(drop).map_err(|e| e.to_string()))
}

/// Prints a report, and says what became of its files.
pub fn say(
    report: &Report,
    dir: &Path,
    written: &Result<(), String>,
    format: ReportFormat,
    console: Console,
) {
    // none is named that may not be there
    print(report, written.is_ok().then_some(dir), format, console);
    if let Err(why) = written {
        let help = "make room or choose another directory with `--dir DIR`; the results are in the journal";
        console.error(why, help);
    }
}

/// Prints a report in a format.
pub fn print(report: &Report, dir: Option<&Path>, format: ReportFormat, console: Console) {
    match format {
        ReportFormat::Text => {
            console.stream(|out| report::write_terminal(report, console.stdout_style(), dir, out));
        }
        ReportFormat::Md => console.stream(|out| report::write_markdown(report, out)),
        ReportFormat::Json => console.document(|out| report.write_json(out)),
    }
}

/// 0 with a recommendation or without an objective, 3 without one, 75 before the end.
pub fn code(report: &Report) -> u8 {
    if !report.complete {
        return exit::INCOMPLETE;
    }
    if report.objective.is_some() && report.recommended.is_none() { exit::NOTHING } else { exit::DONE }
}
