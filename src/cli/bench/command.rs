//! Carries one load out and shows what it measured.

use std::io;

use tokio_util::sync::CancellationToken;

use super::args::BenchArgs;
use super::progress::Progress;
use super::{files, notes, questions, table};
use crate::cli::console::Console;
use crate::cli::{descriptors, exit};
use crate::data::DataError;
use crate::load::{self, Ended, Header, LoadError, LoadOutcome, LoadSpec};
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
    match measure(args, console) {
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

fn measure(args: &BenchArgs, console: Console) -> Result<LoadOutcome, NoLoad> {
    files::look(args).map_err(NoLoad::Place)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(async {
        let signals = Signals::default();
        signals.listen(|| {}, |code| std::process::exit(code.into()));
        let spec = spec(args)?;
        let mut progress = Progress::new(console, &spec.base_url);
        let measured = load::run(&spec, &mut progress, &signals.first, &CancellationToken::new()).await;
        progress.finish();
        Ok(measured?)
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

fn show(args: &BenchArgs, outcome: &LoadOutcome, console: Console) -> u8 {
    if outcome.ended == Ended::Cancelled && outcome.records.is_empty() {
        console.say("interrupted before a request was answered: nothing was measured");
        return exit::INCOMPLETE;
    }
    console.print(&table::render(args, outcome));
    for note in notes::of(args, outcome) {
        if note.warning {
            console.warn(&note.text);
        } else {
            console.say(&format!("note: {}", note.text));
        }
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
