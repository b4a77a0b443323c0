//! Carries one load out and shows what it measured.

use std::io;

use tokio_util::sync::CancellationToken;

use super::args::BenchArgs;
use super::{files, notes, questions, table};
use crate::cli::console::Console;
use crate::cli::{descriptors, exit};
use crate::data::DataError;
use crate::judge::checks;
use crate::load::{self, Ended, Header, LoadError, LoadOutcome, LoadSpec, Outcome, Silent};
use crate::run::{Signals, prompt_cache};

/// Why there was no load.
#[derive(Debug, thiserror::Error)]
enum NoLoad {
    #[error(transparent)]
    Data(#[from] DataError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("{0}")]
    Place(String),
    #[error("no runtime: {0}")]
    Runtime(#[from] io::Error),
}

pub fn run(args: &BenchArgs, console: Console) -> u8 {
    descriptors::raise_limit();
    match measure(args) {
        Ok(outcome) => show(args, &outcome, console),
        Err(error) => {
            let help = match error {
                NoLoad::Place(_) => "nothing was sent; name a file that can be written",
                _ => "`perflab bench --help` lists the options",
            };
            console.error(&error.to_string(), help);
            exit::INPUT
        }
    }
}

fn measure(args: &BenchArgs) -> Result<LoadOutcome, NoLoad> {
    files::look(args).map_err(NoLoad::Place)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(async {
        let signals = Signals::default();
        signals.listen(|| {}, |code| std::process::exit(code.into()));
        let spec = spec(args)?;
        Ok(load::run(&spec, &mut Silent, &signals.first, &CancellationToken::new()).await?)
    });
    // prompts that are still being made are nobody's any more
    runtime.shutdown_background();
    outcome
}

fn spec(args: &BenchArgs) -> Result<LoadSpec, NoLoad> {
    let mut spec = args.spec().map_err(LoadError::Spec)?;
    if let Ok(key) = std::env::var("OPENAI_API_KEY")
        && !key.is_empty()
        && !spec.headers.iter().any(|h| h.name.eq_ignore_ascii_case("authorization"))
    {
        spec.headers.push(Header::authorization(format!("Bearer {key}")));
    }
    spec.data = questions::of(args)?;
    spec.prompt_cache = prompt_cache().filter(|_| !args.data.no_prompt_cache);
    Ok(spec)
}

/// What kept the client from reading in time, by the limits beyond which a study refuses a measurement.
pub(super) fn held_up(outcome: &LoadOutcome) -> Option<String> {
    let client = outcome.summary.client;
    let held = checks::held_up(client.loop_lag_p99_ms, client.stall_ms)?;
    Some(format!("this machine held the client up {held}"))
}

fn show(args: &BenchArgs, outcome: &LoadOutcome, console: Console) -> u8 {
    if outcome.ended == Ended::Cancelled && outcome.records.is_empty() {
        console.say("interrupted before a request was answered: nothing was measured");
        return exit::INCOMPLETE;
    }
    console.print(&table::render(args, outcome));
    for note in notes::of(args, outcome) {
        console.say(&format!("note: {}", note["text"].as_str().unwrap_or_default()));
    }
    let failures = outcome.records.iter().filter_map(|r| match &r.outcome {
        Outcome::Failed(failure) => Some(failure),
        Outcome::Ok | Outcome::Short => None,
    });
    if let Some(first) = failures.into_iter().next() {
        console.warn(&format!("{} requests failed, the first so: {first}", outcome.summary.failed));
    }
    if let Some(held_up) = held_up(outcome) {
        console.warn(&format!("{held_up}: its times are not the server's, measure again"));
    }
    if outcome.ended == Ended::Cancelled {
        console.warn(&format!(
            "interrupted: the numbers are of the {} requests that had ended",
            outcome.records.len()
        ));
    }
    let unwritten = files::write(args, outcome, console);
    for message in &unwritten {
        console.error(message, "the numbers stand above");
    }
    if !unwritten.is_empty() {
        return exit::INPUT;
    }
    match outcome.ended {
        Ended::Cancelled => exit::INCOMPLETE,
        _ if outcome.summary.completed == 0 => exit::NOTHING,
        _ => exit::DONE,
    }
}
