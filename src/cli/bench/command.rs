//! Carries one load out and shows what it measured.

use std::io;
use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use super::args::BenchArgs;
use super::{documents, questions, requests, table};
use crate::cli::console::Console;
use crate::cli::{descriptors, exit};
use crate::data::DataError;
use crate::load::{self, Ended, Header, LoadError, LoadOutcome, LoadSpec, Outcome, Silent};
use crate::run::{Signals, prompt_cache};

/// Why there was no load.
#[derive(Debug, thiserror::Error)]
enum NoLoad {
    #[error(transparent)]
    Data(#[from] DataError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("no runtime: {0}")]
    Runtime(#[from] io::Error),
}

pub fn run(args: &BenchArgs, console: Console) -> u8 {
    descriptors::raise_limit();
    match measure(args) {
        Ok(outcome) => show(args, &outcome, console),
        Err(error) => {
            console.error(&error.to_string(), "`perflab bench --help` lists the options");
            exit::INPUT
        }
    }
}

fn measure(args: &BenchArgs) -> Result<LoadOutcome, NoLoad> {
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
    spec.prompt_cache = prompt_cache().filter(|_| !args.no_prompt_cache);
    Ok(spec)
}

fn show(args: &BenchArgs, outcome: &LoadOutcome, console: Console) -> u8 {
    if outcome.ended == Ended::Cancelled && outcome.records.is_empty() {
        console.say("interrupted before a request was answered: nothing was measured");
        return exit::INCOMPLETE;
    }
    console.print(&table::render(args, outcome));
    for finding in &outcome.findings {
        console.say(&format!("note: {finding}"));
    }
    let failures = outcome.records.iter().filter_map(|r| match &r.outcome {
        Outcome::Failed(failure) => Some(failure),
        Outcome::Ok | Outcome::Short => None,
    });
    if let Some(first) = failures.into_iter().next() {
        console.say(&format!("{} requests failed, the first so: {first}", outcome.summary.failed));
    }
    let mut written = Ok(());
    if let Some(file) = &args.json {
        written = write(file, &format!("{:#}\n", documents::own(args, outcome)));
    }
    if args.save_result {
        let date = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string();
        let file = result_file(args, &date);
        written = written.and(write(&file, &documents::vllm(args, outcome, &date).to_string()));
        if written.is_ok() {
            console.say(&format!("written: {}", file.display()));
        }
    }
    if let Some(file) = &args.save_requests {
        written = written.and_then(|()| requests::write(file, &outcome.records));
    }
    if let Err(message) = written {
        console.error(&message, "the numbers stand above");
        return exit::INPUT;
    }
    match outcome.ended {
        Ended::Cancelled => exit::INCOMPLETE,
        _ if outcome.summary.completed == 0 => exit::NOTHING,
        _ => exit::DONE,
    }
}

/// The name that `vllm bench serve` gives it.
fn result_file(args: &BenchArgs, date: &str) -> PathBuf {
    let name = args.result_filename.clone().unwrap_or_else(|| {
        let label = args.label.as_deref().unwrap_or(documents::backend(args.endpoint));
        let rate = documents::python_float(args.request_rate);
        let at_once = args.max_concurrency.map_or_else(String::new, |n| format!("-concurrency{n}"));
        let model = args.model.rsplit('/').next().unwrap_or(&args.model);
        format!("{label}-{rate}qps{at_once}-{model}-{date}.json").into()
    });
    args.result_dir.as_deref().unwrap_or(Path::new("")).join(name)
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    let into = file.parent().filter(|dir| !dir.as_os_str().is_empty());
    let made = into.map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| std::fs::write(file, text)).map_err(|e| format!("{}: {e}", file.display()))
}
