//! Carries one load out and shows what it measured.

use std::io;

use tokio_util::sync::CancellationToken;

use super::args::BenchArgs;
use super::profile::NoProfile;
use super::progress::Progress;
use super::{files, notes, profile, questions, table};
use crate::cli::console::Console;
use crate::cli::{descriptors, exit};
use crate::data::DataError;
use crate::load::{self, Ended, Header, LoadError, LoadOutcome, LoadSpec};
use crate::report::wrap::hanging;
use crate::run::{Signals, prompt_cache};
use crate::secrets;

/// Why there was no load.
#[derive(Debug, thiserror::Error)]
enum NoLoad {
    #[error(transparent)]
    Data(#[from] DataError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Profile(#[from] NoProfile),
    /// The command line contradicts itself, or lacks something.
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Place(String),
    #[error("no runtime: {0}")]
    Runtime(#[from] io::Error),
}

impl NoLoad {
    fn code(&self) -> u8 {
        match self {
            // without a file that says it, all of a load stands in the command line
            Self::Usage(_)
            | Self::Data(DataError::Settings(_))
            | Self::Load(LoadError::Spec(_) | LoadError::Data(DataError::Settings(_))) => exit::USAGE,
            Self::Data(_) | Self::Load(_) | Self::Profile(_) | Self::Place(_) | Self::Runtime(_) => {
                exit::INPUT
            }
        }
    }
}

pub fn run(args: &BenchArgs, console: Console) -> u8 {
    descriptors::raise_limit();
    match measure(args, console) {
        Ok((spec, outcome)) => show((args, &spec), &outcome, console),
        Err(error) => {
            let help = match &error {
                NoLoad::Profile(NoProfile::Said) => return exit::INPUT,
                NoLoad::Profile(NoProfile::Because { help, .. }) => help,
                NoLoad::Place(_) => "nothing was sent; name a file that can be written",
                _ => "`perflab bench --help` lists the options",
            };
            console.error(&error.to_string(), help);
            error.code()
        }
    }
}

/// A text that stands behind this word, in lines as wide as a terminal.
fn folded(word: &str, text: &str, console: Console) -> String {
    let text = secrets::mask(text).into_owned();
    let Some(width) = console.stderr_width() else { return text };
    let lines = hanging(word, &text, width).join("\n");
    lines.strip_prefix(word).map_or(text, str::to_owned)
}

fn measure(args: &BenchArgs, console: Console) -> Result<(LoadSpec, LoadOutcome), NoLoad> {
    let spec = spec(args, console)?;
    files::named_twice(args, &spec).map_or(Ok(()), |why| Err(NoLoad::Usage(why)))?;
    files::look(args, &spec).map_err(NoLoad::Place)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(async {
        let signals = Signals::default();
        signals.listen(|| {}, |code| std::process::exit(code.into()));
        let mut progress = Progress::new(console, &spec.base_url);
        let measured = load::run(&spec, &mut progress, &signals.first, &CancellationToken::new()).await;
        progress.finish();
        measured
    });
    // prompts that are still being made are nobody's any more
    runtime.shutdown_background();
    Ok((spec, outcome?))
}

fn spec(args: &BenchArgs, console: Console) -> Result<LoadSpec, NoLoad> {
    let mut spec = match &args.profile {
        Some(name) => profile::spec(args, name, console)?,
        None => args.spec().map_err(NoLoad::Usage)?,
    };
    args.around(&mut spec).map_err(NoLoad::Usage)?;
    if let Ok(key) = std::env::var("OPENAI_API_KEY")
        && !key.is_empty()
        && !spec.headers.iter().any(Header::authorizes)
    {
        spec.headers.push(Header::authorization(format!("Bearer {key}")));
    }
    if args.profile.is_none() {
        spec.data = questions::of(args)?;
    }
    spec.prompt_cache = prompt_cache().filter(|_| !args.data.no_prompt_cache);
    Ok(spec)
}

fn show((args, spec): (&BenchArgs, &LoadSpec), outcome: &LoadOutcome, console: Console) -> u8 {
    if outcome.ended == Ended::Cancelled && outcome.records.is_empty() {
        console.warn("interrupted before a request was answered: nothing was measured");
        return exit::INCOMPLETE;
    }
    if !files::is_stdout(args.json.as_deref()) {
        console.print(&table::render(args, spec, outcome));
    }
    for note in notes::of(args, spec, outcome) {
        if note.warning {
            console.warn(&folded("warning: ", &note.text, console));
        } else {
            console.say(&format!("note: {}", folded("note: ", &note.text, console)));
        }
    }
    let unwritten = files::write((args, spec), outcome, console);
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
