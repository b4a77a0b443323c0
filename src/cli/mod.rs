//! The command line: arguments, what goes to which stream, exit codes; one file per command. It glues the other rooms together.

mod again;
mod against;
mod args;
mod below;
mod bench;
mod budget;
mod check;
mod client_test;
mod closing;
mod console;
mod cpus;
mod descriptors;
mod doctor;
mod effect;
mod ending;
mod events;
mod exec;
mod explain;
mod files;
mod fmt;
mod guess;
mod heap;
mod init;
mod installed;
mod live;
mod machine;
mod measure;
mod models;
mod notify;
mod only;
mod overwritten;
mod plan;

mod progress;
mod replay;
mod screen;
mod show;
mod site;
mod state;
mod stated;
mod std;
mod still;
mod threads;
mod unreadable;
mod used;
mod watch;

use ::std::process::ExitCode;

use args::{Args, Command};

/// Exit codes that scripts rely on.
pub mod exit {
    /// done as asked
    pub const DONE: u8 = 0;
    /// the input is wrong, or this version cannot carry it out
    pub const INPUT: u8 = 1;
    /// wrong usage, as clap has it
    pub const USAGE: u8 = 2;
    /// the study ended and recommends nothing
    pub const NOTHING: u8 = 3;
    /// a check that the user asked for fails
    pub const FAILED: u8 = 4;
    /// interrupted, or the infrastructure was lost: the same command continues
    pub const INCOMPLETE: u8 = 75;
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    console::outlive_file_limits();
    // the guard must come before everything else: it may not have threads, other handlers or arguments of ours
    if ::std::env::args_os().nth(1).is_some_and(|a| a == "guard") {
        return crate::engine::guard_main();
    }
    let args = Args::read();
    args.refuse_repeated_set();
    // a study goes on when nobody reads its progress any more, and whoever sends requests outlives servers that hang up; everything
    // else ends as Unix tools do
    let outlives = matches!(args.command, Command::Exec(_) | Command::Sim(_) | Command::Bench(_));
    let tries = matches!(&args.command, Command::Doctor(doctor) if doctor.client);
    if !outlives && !tries {
        console::restore_sigpipe();
    }
    if matches!(args.command, Command::Check(_) | Command::Fmt(_)) {
        heap::grow_in_large_steps();
    }
    if matches!(args.command, Command::Plan(_) | Command::Exec(_) | Command::Report(_) | Command::Watch(_)) {
        heap::keep_large_lists_apart();
    }
    crate::secrets::learn_environment();
    let console = console::Console::new(args.color, args.quiet);
    let whole_again = match args.command {
        Command::Exec(_) | Command::Report(_) => "`perflab report` prints a study's report again",
        // a load is measured once
        Command::Bench(_) => "another run measures anew; `--json FILE` keeps the numbers of one",
        _ => "the same command prints it again",
    };
    let code = match args.command {
        Command::Check(a) => check::run(&a, console),
        Command::Explain(a) => explain::run(&a, console),
        Command::Plan(a) => plan::run(&a, console),
        Command::Exec(a) => exec::run(&a, console),
        Command::Report(a) => show::run(&a, console),
        Command::Watch(a) => watch::run(&a, console),
        Command::Fmt(a) => fmt::run(&a, console),
        Command::Doctor(a) => doctor::run(&a, console),
        Command::Init(a) => init::run(&a, console),
        Command::Std(a) => self::std::run(&a, console),
        Command::Bench(a) => bench::run(&a, console),
        Command::Sim(a) => return crate::sim::command(a.words),
    };
    ExitCode::from(if lost_output(whole_again, console) && code == exit::DONE { exit::INPUT } else { code })
}

/// Says so if a result could not be printed, and how it can be had whole.
fn lost_output(whole_again: &str, console: console::Console) -> bool {
    let lost = console::output_lost();
    if let Some(why) = lost {
        let help = format!("what was printed is not whole; {whole_again}");
        console.error(&format!("standard output: {why}"), &help);
    }
    lost.is_some()
}
