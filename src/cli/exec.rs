//! `perflab exec`: checks the file, refuses what cannot be carried out, then replays or measures.

use super::args::ExecArgs;
use super::console::Console;
use super::{exit, files, overwritten, replay, site, state};
use crate::lang::sema::program::Repeat;

pub fn run(args: &ExecArgs, console: Console) -> u8 {
    let Some(mut analysis) = files::analysis(&args.file, &args.set, console) else { return exit::INPUT };
    if analysis.has_errors() {
        let errors: Vec<_> = analysis.diagnostics.iter().filter(|d| d.is_error()).cloned().collect();
        console.diagnostics(&errors, &analysis.sources);
        return exit::INPUT;
    }
    // a replay launches nothing: where, is no question
    if args.replay.is_none()
        && !site::settle(&mut analysis.program, args.site.as_deref(), &args.file, console)
    {
        return exit::INPUT;
    }
    let program = &analysis.program;
    let Some(study) = files::study(program, args.study.as_deref(), &args.file, console) else {
        return exit::INPUT;
    };
    let mut refused: Vec<String> =
        files::refused(program, study, args.replay.is_some()).iter().map(|n| n.what.clone()).collect();
    if args.replay.is_none() {
        refused.extend(site::refused(program));
    }
    if !refused.is_empty() {
        refused.dedup();
        let message = format!("this version cannot carry out: {}", refused.join("; "));
        let mut help = "`perflab check` shows where each stands".to_owned();
        if study.repeat == Repeat::Auto {
            help += "; write `repeat 3` for three launches of each, `repeat 1` for single runs";
        }
        console.error(&message, &help);
        return exit::INPUT;
    }
    if let Some((message, help)) = site::trouble(program, study).filter(|_| args.replay.is_none()) {
        console.error(&message, &help);
        return exit::INPUT;
    }
    if let Some(events) = args.events.as_deref().filter(|_| args.replay.is_none()) {
        let read_from = overwritten::read_from(&args.file, args.site.as_deref(), &analysis.sources, program);
        let dir = state::directory(&args.file, &study.name, args.dir.as_deref(), false);
        if let Some(message) = overwritten::trouble(events, &read_from, &dir) {
            console.error(&message, "`--events` overwrites its file: name one that nothing else needs");
            return exit::INPUT;
        }
    }
    match &args.replay {
        Some(recording) => replay::run(args, recording, program, study, console),
        None => super::measure::run(args, program, study, files::hash(&analysis), console),
    }
}
