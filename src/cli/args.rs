//! The arguments of every command.

use std::path::PathBuf;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

use super::cpus::{Cpus, cpus};
use crate::lang::Given;
use crate::lang::sema::program::Budget;

/// Find the serve command for a model: experiments written in a reviewed file, carried out on your GPUs.
#[derive(Debug, Parser)]
#[command(name = "perflab", version, max_term_width = 100)]
pub struct Args {
    /// When to use colour
    #[arg(long, value_enum, default_value_t = Color::Auto, global = true)]
    pub color: Color,
    /// No progress on stderr
    #[arg(long, short, global = true)]
    pub quiet: bool,
    #[command(subcommand)]
    pub command: Command,
}

/// What begins with a minus and is a number is an option's value, however wrong: then it is told what a right one is.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let lets = |arg: clap::Arg| {
        let takes = !arg.is_positional() && arg.get_action().takes_values();
        if takes { arg.allow_negative_numbers(true) } else { arg }
    };
    command.mut_args(lets).mut_subcommands(with_negative_numbers)
}

impl Args {
    /// Reads the command line. Ends the process as clap does where it is none.
    pub fn read() -> Self {
        let found = with_negative_numbers(Self::command()).get_matches();
        Self::from_arg_matches(&found).unwrap_or_else(|e| e.exit())
    }

    /// Ends the process as clap does if a param is set twice: which value is meant is not known.
    pub fn refuse_repeated_set(&self) {
        let given: &[Given] = match &self.command {
            Command::Check(a) => &a.set,
            Command::Plan(a) => &a.set,
            Command::Exec(a) => &a.set,
            Command::Report(a) => &a.set,
            _ => &[],
        };
        let twice = given.iter().enumerate().find(|(i, g)| given[..*i].iter().any(|o| o.name == g.name));
        if let Some((_, g)) = twice {
            let message = format!("`--set {}=…` is given twice", g.name);
            Self::command().error(clap::error::ErrorKind::ArgumentConflict, message).exit();
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check files and say everything that is wrong with them
    Check(CheckArgs),
    /// Explain a diagnostic or a validity check, with a wrong and a right example
    Explain(ExplainArgs),
    /// Show what a study would run: the dry run
    Plan(PlanArgs),
    /// Carry a study out, or continue it where it stopped
    Exec(ExecArgs),
    /// Show what a study found
    Report(ReportArgs),
    /// Watch a running study from another terminal; ends when the study ends
    Watch(WatchArgs),
    /// Lay files out as a person would align them
    Fmt(FmtArgs),
    /// Write a first study from a serve command
    #[command(after_help = INIT_EXAMPLES)]
    Init(InitArgs),
    /// Say what this machine can do and what to mend; write its first site file
    Doctor(DoctorArgs),
    /// Print the standard library, or write a schema from an installed engine
    #[command(args_conflicts_with_subcommands = true)]
    Std(StdArgs),
    /// Load a server that runs already, and say how fast it is
    Bench(Box<super::bench::BenchArgs>),
    /// The simulated engine: a model of continuous batching behind an OpenAI-compatible server
    #[command(disable_help_flag = true)]
    Sim(SimWords),
}

#[derive(Debug, clap::Args)]
pub struct StdArgs {
    #[command(subcommand)]
    pub command: Option<StdCommand>,
    /// engines, profiles, axes, rules or metrics; without one, everything is listed
    pub module: Option<String>,
    /// One item of the module
    pub item: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum StdCommand {
    /// Write the flags of an installed engine as a file that studies can use
    Learn(LearnArgs),
}

#[derive(Debug, clap::Args)]
pub struct LearnArgs {
    /// vllm, sglang or llama_cpp
    pub engine: String,
    /// Where it is installed: `venv DIR` or `path`
    #[arg(long, num_args = 1..=2, value_names = ["venv DIR | path", "DIR"], required = true)]
    pub from: Vec<String>,
    /// The file to write, else ENGINE_VERSION.plab in this directory
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write over a file that is there
    #[arg(long)]
    pub force: bool,
}

/// What `--from` says.
pub enum LearnSource {
    Path,
    Venv(String),
}

impl LearnSource {
    pub fn of(words: &[String]) -> Option<Self> {
        match words {
            [word] if word == "path" => Some(Self::Path),
            [word, dir] if word == "venv" => Some(Self::Venv(dir.clone())),
            _ => None,
        }
    }
}

/// The simulated engine reads its own words, as its errors are those of an engine.
#[derive(Debug, clap::Args)]
pub struct SimWords {
    /// As an engine takes them; `perflab sim --help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<std::ffi::OsString>,
}

#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// Study files, or directories (every .plab file below them)
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Ask the installed engines for their versions and flags too, and hold the files against them
    #[arg(long)]
    pub installed: bool,
    /// How diagnostics are written; `github` marks the lines of a pull request
    #[arg(long, value_enum, default_value_t = CheckFormat::Text)]
    pub format: CheckFormat,
    /// Rewrite the files with every fix that a machine can make, then say what is left
    #[arg(long)]
    pub fix: bool,
    /// Set a param of the file: NAME=VALUE
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<Given>,
    /// The facts of this machine; without it, a site in the study file or `site.plab` beside it
    #[arg(long, value_name = "FILE")]
    pub site: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    Text,
    Json,
    Github,
}

#[derive(Debug, clap::Args)]
pub struct ExplainArgs {
    /// A diagnostic's code or a validity check's name, such as E301 or CLIENT_SAT; without one all are listed
    pub code: Option<String>,
}

#[derive(Debug, clap::Args)]
pub struct PlanArgs {
    /// The study file
    pub file: PathBuf,
    /// Which of several studies
    pub study: Option<String>,
    /// How the plan is written
    #[arg(long, value_enum, default_value_t = PlanFormat::Tree)]
    pub format: PlanFormat,
    /// Show every candidate: without it, a tree and a page show the first of a step that has many
    #[arg(long)]
    pub all: bool,
    /// Another revision of the file to say what changes against; `-` reads it from stdin
    #[arg(long, value_name = "OLD")]
    pub against: Option<PathBuf>,
    /// The study's state directory
    #[arg(long)]
    pub dir: Option<PathBuf>,
    /// What validity checks do with a result that breaks them
    #[arg(long, value_enum, default_value_t = ChecksArg::Refuse)]
    pub checks: ChecksArg,
    /// Predict for so many launches at a time, at most, as `exec --parallel` does
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub parallel: Option<u32>,
    /// Set a param of the file: NAME=VALUE
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<Given>,
    /// The facts of this machine; without it, a site in the study file or `site.plab` beside it
    #[arg(long, value_name = "FILE")]
    pub site: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlanFormat {
    Tree,
    Json,
    Md,
    Mermaid,
}

#[derive(Debug, clap::Args)]
pub struct ExecArgs {
    /// The study file
    pub file: PathBuf,
    /// Which of several studies
    pub study: Option<String>,
    /// The study's state directory
    #[arg(long)]
    pub dir: Option<PathBuf>,
    /// Answer trials from a recording instead of running engines
    #[arg(long, value_name = "RECORDING")]
    pub replay: Option<PathBuf>,
    /// What validity checks do with a result that breaks them
    #[arg(long, value_enum, default_value_t = ChecksArg::Refuse)]
    pub checks: ChecksArg,
    /// How the report is written
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub format: ReportFormat,
    /// Measure a trial again, whatever was measured of it: its label, a launch as L003, `baseline`, or `failed` for all that failed
    #[arg(long, value_name = "TRIAL", conflicts_with = "replay")]
    pub again: Vec<String>,
    /// Take nothing over: what was measured before stays in the journal and counts no more
    #[arg(long, conflicts_with_all = ["replay", "again"])]
    pub fresh: bool,
    /// Carry out that step alone, over the results of those before it, which must be there; `baseline` for what all of them stand on
    #[arg(long, value_name = "STEP", conflicts_with = "replay")]
    pub only: Option<String>,
    /// Do not fetch models: what is not on this machine is an error
    #[arg(long)]
    pub no_download: bool,
    /// Write the event stream to a file as JSON lines
    #[arg(long, value_name = "FILE", value_parser = super::events::parser())]
    pub events: Option<PathBuf>,
    /// What the study may cost: 6h, 6gpu_hours, 20usd, 48trials; counts everything that it has cost so far
    #[arg(long, value_name = "BUDGET", value_parser = super::budget::parse, allow_hyphen_values = true)]
    pub budget: Option<Budget>,
    /// Launch so many at a time on GPUs of their own, at most; 1 launches one after another [default: as many as fit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub parallel: Option<u32>,
    /// Go ahead without asking, however much is predicted
    #[arg(long)]
    pub yes: bool,
    /// Run a command when the study has ended, however it did: `sh -c COMMAND` with PERFLAB_OUTCOME,
    /// PERFLAB_EXIT_CODE, PERFLAB_REPORT and others in its environment
    #[arg(long, value_name = "COMMAND")]
    pub notify: Option<String>,
    /// Set a param of the file: NAME=VALUE
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<Given>,
    /// The facts of this machine; without it, a site in the study file or `site.plab` beside it
    #[arg(long, value_name = "FILE")]
    pub site: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ChecksArg {
    Refuse,
    Warn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    Text,
    Json,
    Md,
}

#[derive(Debug, clap::Args)]
pub struct ReportArgs {
    /// The study file, or a state directory
    pub file: PathBuf,
    /// Which of several studies
    pub study: Option<String>,
    /// The study's state directory
    #[arg(long)]
    pub dir: Option<PathBuf>,
    /// How the report is written
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub format: ReportFormat,
    /// What validity checks do with a result that breaks them
    #[arg(long, value_enum, default_value_t = ChecksArg::Refuse)]
    pub checks: ChecksArg,
    /// Set a param of the file: NAME=VALUE
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<Given>,
}

#[derive(Debug, clap::Args)]
pub struct WatchArgs {
    /// The study file, or a state directory
    pub file: PathBuf,
    /// Which of several studies
    pub study: Option<String>,
    /// The study's state directory
    #[arg(long)]
    pub dir: Option<PathBuf>,
    /// Text follows the study to its end; JSON is its state at this moment
    #[arg(long, value_enum, default_value_t = WatchFormat::Text)]
    pub format: WatchFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WatchFormat {
    Text,
    Json,
}

#[derive(Debug, clap::Args)]
pub struct FmtArgs {
    /// Files, directories (every .plab file below them), or `-` for standard input, which is read where none is given
    pub files: Vec<PathBuf>,
    /// Write nothing; list the files that would change, and exit with 1 if there are any
    #[arg(long)]
    pub check: bool,
    /// Write nothing; show what would change as a unified diff
    #[arg(long)]
    pub diff: bool,
}

#[derive(Debug, clap::Args)]
pub struct DoctorArgs {
    /// How the lines are written
    #[arg(long, value_enum, default_value_t = DoctorFormat::Text)]
    pub format: DoctorFormat,
    /// Write a first site to this file, with the engines that were found; `site.plab` is read by studies beside it
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
    /// Overwrite the file
    #[arg(long, requires = "write")]
    pub force: bool,
    /// Try the load generator too, for less than a minute: against a server in this process, and what it takes from a simulated engine beside it
    #[arg(long)]
    pub client: bool,
    /// Streams of the load that it is tried for; half as many again are opened
    #[arg(long, default_value_t = 256, value_name = "N", requires = "client", value_parser = clap::value_parser!(u32).range(1..))]
    pub streams: u32,
    /// Tokens a second of each stream
    #[arg(long, default_value_t = 40.0, value_name = "RATE", requires = "client")]
    pub tokens_per_second: f64,
    /// Processors that the load generator's thread is kept on, such as 0-3,8
    #[arg(long, value_name = "CPUS", requires = "client", value_parser = cpus)]
    pub pin_client: Option<Cpus>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DoctorFormat {
    Text,
    Json,
}

const INIT_EXAMPLES: &str = "\
Examples:
  perflab init -- vllm serve Qwen/Qwen3-8B --max-model-len 32768 -tp 2
  perflab init -o study.plab 'docker run --gpus all vllm/vllm-openai:v0.17.1 --model Qwen/Qwen3-8B'
  perflab init -o study.plab < serve.sh
  perflab init --from serve_params.json --from bench_params.json -- vllm serve Qwen/Qwen3-8B";

#[derive(Debug, clap::Args)]
pub struct InitArgs {
    /// Read another tool's sweep: the JSON files of `vllm bench sweep`, the YAML file of SGLang's auto_benchmark
    #[arg(long, value_name = "FILE")]
    pub from: Vec<PathBuf>,
    /// Write the study to this file; without it, to stdout
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite the file
    #[arg(long)]
    pub force: bool,
    /// The engine's version, where the command does not say it
    #[arg(long, value_name = "VERSION")]
    pub engine_version: Option<String>,
    /// The serve command: as it is, as one argument in quotes, or on stdin
    #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    pub serve: Vec<String>,
}
