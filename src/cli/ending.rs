//! How a study's invocation ended: its status and its files first, what there is to say about it afterwards. A terminal that takes
//! nothing, or a signal while it prints, must not cost the report.

use super::args::{ExecArgs, ReportFormat};
use super::console::Console;
use super::{exit, only, replay};
use crate::engine::Survivor;
use crate::journal::JournalError;
use crate::judge::{Grid, Setup, Strategy};
use crate::report::{self, Material};
use crate::run::{Ended, Execution, OrderError, RunError, Unmet};

/// The exit status, and what is said when everything is written.
pub struct Ending<'a> {
    pub status: u8,
    pub say: Box<dyn FnOnce(Console) + 'a>,
}

impl<'a> Ending<'a> {
    fn new(status: u8, say: impl FnOnce(Console) + 'a) -> Self {
        Self { status, say: Box::new(say) }
    }
}

/// Writes what is to be written.
pub fn of<'a>(
    args: &'a ExecArgs,
    x: &'a Execution<'_>,
    ended: Result<Ended, RunError>,
    launched: bool,
) -> Ending<'a> {
    let removed = x.journal.keep_in_place().err();
    let measured = launched && x.journal.history().of_last_session().next().is_some();
    let in_vain = ended.is_err() && !measured;
    let ending = written(args, x, ended, launched);
    let overwritten = matches!(removed, Some(JournalError::Overwritten { .. }));
    let status = if overwritten && ending.status == exit::DONE { exit::INCOMPLETE } else { ending.status };
    Ending::new(status, move |console| {
        if let Some(removed) = removed {
            console.warn(&removed.to_string());
        }
        (ending.say)(console);
        let goes_on = ending.status == exit::INCOMPLETE && !in_vain;
        if let Some(option) = puts_aside(args).filter(|_| goes_on) {
            console.warn(&format!("go on without `{option}`: it would put aside what was just measured too"));
        }
    })
}

fn written<'a>(
    args: &'a ExecArgs,
    x: &'a Execution<'_>,
    ended: Result<Ended, RunError>,
    launched: bool,
) -> Ending<'a> {
    match ended {
        Ok(Ended::Decided) => decided(args, x, launched),
        Ok(Ended::Interrupted) => unfinished(args, x, |document, console| {
            // programs were promised a document
            if matches!(args.format, ReportFormat::Json) {
                let shown = only::shown(document, args.only.as_deref());
                replay::print(&shown, None, args.format, console);
            }
            console.say("interrupted: what was measured is in the journal; the same command continues");
        }),
        Ok(Ended::Unclean(left)) => Ending::new(exit::INCOMPLETE, move |console| {
            let names: Vec<String> = left.iter().map(ToString::to_string).collect();
            let message = format!("a server could not be removed: {}", names.join("; "));
            let mut remedies: Vec<String> = left.iter().map(Survivor::remedy).collect();
            remedies.dedup();
            let help = format!(
                "nothing is started beside it; what helps: {}; then run the same command again",
                remedies.join("; ")
            );
            console.error(&message, &help);
        }),
        Ok(Ended::Held(held)) => unfinished(args, x, move |_, console| {
            let advice = "perflab ends nothing that it did not start: end it or wait for it, then run the same command again";
            console.error(&held.join("; "), advice);
        }),
        Ok(Ended::Left(why)) => unfinished(args, x, move |_, console| {
            let message = format!("a server that ran already was lost: {why}");
            let help = "that load has no result, and says nothing about the configuration; once a server answers there, the same \
                        command measures it again; if that one was started with other flags, add `--again TRIAL` for what was \
                        measured there before";
            console.error(&message, help);
        }),
        Err(e @ RunError::Unmet(Unmet { may_pass: true, .. })) => unfinished(args, x, move |_, console| {
            let help = "what was measured until here is in the journal; once a server answers there, the same command continues";
            console.error(&e.to_string(), help);
        }),
        Err(e @ (RunError::GpuLost(_) | RunError::Gpus(_))) => unfinished(args, x, move |_, console| {
            let help = "what was measured until here is in the journal; reset the GPU or restart the machine, and the same \
                        command continues";
            console.error(&e.to_string(), help);
        }),
        // what failed was good enough for a launch: the machine has changed, not the input
        Err(e) => {
            let no_port = matches!(e, RunError::Order(OrderError::Port(_)));
            let of_machine =
                no_port || matches!(e, RunError::Journal(_) | RunError::Machine(_) | RunError::Shifting(_));
            let status = if launched && of_machine { exit::INCOMPLETE } else { exit::INPUT };
            Ending::new(status, move |console| {
                let kept = match &e {
                    RunError::Journal(_) => {
                        "what could not be written does not count, even if it was shown; what came before it is"
                    }
                    _ => "what was measured until here is",
                };
                let help = format!("{kept} in the journal; mend it, and the same command continues");
                console.error(&e.to_string(), &help);
            })
        }
    }
}

fn decided<'a>(args: &'a ExecArgs, x: &'a Execution<'_>, launched: bool) -> Ending<'a> {
    let document = document(args, x);
    let written = replay::write(&document, &x.dir);
    let code = if x.whole.is_some() { only::code(x) } else { replay::code(&document) };
    let document = only::shown(document, args.only.as_deref());
    let status = match (&written, code) {
        // the report could not be written, where a launch could
        (Err(_), _) if launched => exit::INCOMPLETE,
        (Err(_), _) => exit::INPUT,
        (Ok(()), code) => code,
    };
    // such a study is not complete: its status says so already
    let machine_failed = x.journal.history().machine_failed(x.checks);
    Ending::new(status, move |console| {
        replay::say(&document, &x.dir, &written, args.format, console);
        if machine_failed {
            console
                .say("this machine failed, not only the study: the same command tries again what it cut off");
        }
    })
}

/// The state of an unfinished study, for people who look before it goes on.
fn unfinished<'a>(
    args: &'a ExecArgs,
    x: &'a Execution<'_>,
    say: impl FnOnce(report::Report, Console) + 'a,
) -> Ending<'a> {
    let document = document(args, x);
    let failed = report::write(&document, &x.dir).err();
    Ending::new(exit::INCOMPLETE, move |console| {
        if let Some(e) = failed {
            let help = "the journal is complete; `perflab report` makes the files again";
            console.error(&e.to_string(), help);
        }
        say(document, console);
    })
}

/// The option that the same command must not have to go on.
fn puts_aside(args: &ExecArgs) -> Option<&'static str> {
    if args.fresh { Some("--fresh") } else { (!args.again.is_empty()).then_some("--again") }
}

/// The report of what has been measured so far, of all of the study.
pub fn document(args: &ExecArgs, x: &Execution<'_>) -> report::Report {
    let results = x.results();
    let setup = Setup::new(x.program, x.whole(), &results, replay::checks(args.checks), false);
    let setup = setup.leaving(&x.left_out);
    let (walk, _) = Grid.next(&setup);
    // it reads the journal too, which is held while the report is made
    let again = x.measured_again();
    let mut report = report::build(&Material {
        setup: &setup,
        walk: &walk,
        history: &x.journal.history(),
        file: x.file,
        recording: None,
        warnings: Vec::new(),
        again,
    });
    if let Some(option) = puts_aside(args) {
        let without = format!("the same command without `{option}`");
        for text in [&mut report.goes_on, &mut report.no_recommendation].into_iter().flatten() {
            *text = text.replace("the same command", &without);
        }
    }
    report
}
