//! A profile as the load of a bench: one of a study file, or of the standard library. It is sent as the first run of a study sends it.

use std::path::{Path, PathBuf};

use super::args::BenchArgs;
use crate::cli::console::Console;
use crate::cli::{files, measure, site};
use crate::lang::diag::did_you_mean;
use crate::lang::sema::program::{Data, Profile, Site};
use crate::lang::{Analysis, stdlib};
use crate::load::LoadSpec;
use crate::plan::profile;
use crate::run::{self, Around, OrderError};

/// Options for what a profile says itself.
pub(super) const OF_A_PROFILE: [&str; 30] = [
    "no_stream",
    "num_prompts",
    "max_concurrency",
    "request_rate",
    "burstiness",
    "arrivals",
    "trace_slowdown",
    "request_rate_to",
    "duration",
    "ignore_eos",
    "num_warmups",
    "seed",
    "temperature",
    "top_p",
    "dataset_name",
    "recipe",
    "random_input_len",
    "random_output_len",
    "random_range_ratio",
    "random_prefix_len",
    "sharegpt_output_len",
    "custom_output_len",
    "prefix_repetition_prefix_len",
    "prefix_repetition_suffix_len",
    "prefix_repetition_num_prefixes",
    "prefix_repetition_output_len",
    "think_time",
    "recorded_answers",
    "conversation_output_len",
    "count_chat_template",
];

/// Why a profile is no load.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoProfile {
    /// It has been said.
    #[error("the file has errors")]
    Said,
    #[error("{message}")]
    Because { message: String, help: String },
}

fn because(message: impl Into<String>, help: impl Into<String>) -> NoProfile {
    NoProfile::Because { message: message.into(), help: help.into() }
}

/// The load of a profile, against the model and the endpoint of the command line.
pub(super) fn spec(args: &BenchArgs, name: &str, console: Console) -> Result<LoadSpec, NoProfile> {
    let (mut analysis, path) = found(args, name, console)?;
    if !site::settle(&mut analysis.program, None, &path, console) {
        return Err(NoProfile::Said);
    }
    let known = analysis.program.profiles.get(name).ok_or_else(|| unknown(args, name, &analysis))?;
    let mut asked = Profile::clone(known);
    let mut facts = site::launched(&analysis.program);
    if let Some(file) = &args.data.dataset_path {
        if asked.data != Some(Data::ShareGpt) {
            let why =
                format!("--dataset-path says where ShareGPT lies, and profile `{name}` asks something else");
            return Err(because(why, "leave it out"));
        }
        facts.data.insert("sharegpt".to_owned(), here(file));
    }
    if let Some(tokenizer) = &args.data.tokenizer {
        asked.tokenizer = Some(here(tokenizer));
    }
    let study_dir = measure::study_dir(&path);
    sound(&asked, &facts, &study_dir, args.data.dataset_path.is_some())?;
    let seed = run::seed(asked.seed, &profile::id(&asked), 1, 0);
    let at = facts.models.get(&args.model).map(PathBuf::from);
    let around = Around { study_dir: &study_dir, site: &facts, at: at.as_deref(), before: Vec::new() };
    run::load_spec(&asked, &args.model, args.endpoint, seed, around).map_err(|e| match e {
        OrderError::Tokenizer(_) => because(
            format!("the prompts of profile `{name}` are made of tokens and need a tokenizer"),
            "name one by --tokenizer PATH",
        ),
        other => because(other.to_string(), "`perflab bench --help` lists the options"),
    })
}

/// The text that has the profile, analysed, and the path that its own paths begin at.
fn found(args: &BenchArgs, name: &str, console: Console) -> Result<(Analysis, PathBuf), NoProfile> {
    let Some(file) = &args.file else {
        let known = stdlib::items("profiles").iter().any(|item| item.name == name);
        let text = if known { format!("use std/profiles {{ {name} }}\n") } else { String::new() };
        let path = PathBuf::from("std.plab");
        return Ok((files::analysis_of(&path, &text, &[]), path));
    };
    let analysis = files::analysis(file, &[], console).ok_or(NoProfile::Said)?;
    if analysis.has_errors() {
        console.diagnostics(&analysis.diagnostics, &analysis.sources);
        return Err(NoProfile::Said);
    }
    Ok((analysis, file.clone()))
}

fn unknown(args: &BenchArgs, name: &str, analysis: &Analysis) -> NoProfile {
    let of_file = args.file.as_ref().map(|file| {
        let names: Vec<String> = analysis.program.profiles.keys().cloned().collect();
        (file.display().to_string(), names)
    });
    let (place, names) = of_file.unwrap_or_else(|| {
        let items = stdlib::items("profiles").into_iter().map(|item| item.name);
        ("the standard library".to_owned(), items.collect())
    });
    let near = did_you_mean(name, names.iter().map(String::as_str));
    let help = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None if names.is_empty() => {
            "declare it there, or leave --file out for those of the standard library".to_owned()
        }
        None => format!("there are {}", names.join(", ")),
    };
    because(format!("{place} has no profile `{name}`"), help)
}

/// What a path of the command line means, which begins here and not at the study.
fn here(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).to_string_lossy().into_owned()
}

/// Refuses what cannot be sent, before anything is.
fn sound(asked: &Profile, facts: &Site, study_dir: &Path, stated: bool) -> Result<(), NoProfile> {
    if let Some(later) = asked.not_yet.first() {
        let why = format!("{} cannot be carried out yet", later.what);
        return Err(because(why, "take one that states one load"));
    }
    if let Some(tokenizer) = run::missing_tokenizer(asked, study_dir) {
        let why = format!("there is no tokenizer at {}", tokenizer.display());
        return Err(because(why, "name another by --tokenizer"));
    }
    match run::missing(asked, facts, study_dir) {
        Some((why, _)) if stated || asked.data == Some(Data::ShareGpt) => {
            Err(because(why, "say where the file is by --dataset-path FILE"))
        }
        Some((why, help)) => Err(because(why, help)),
        None => Ok(()),
    }
}
