//! `perflab init`: a first study from a serve command. What did not come over is said on stderr.

use std::fs::{self, OpenOptions};
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;

use clap::CommandFactory;

use super::args::{Args, InitArgs};
use super::console::Console;
use super::exit;
use super::files::Disk;
use crate::init::{Asked, Command, InitError, Written, from_command, from_files};

/// A serve command is some lines; this is room for a long script.
const MOST_BYTES: u64 = 1 << 20;

pub fn run(args: &InitArgs, console: Console) -> u8 {
    // files say what they go with, or the arguments do: nothing is waited for then
    let pasted = match (args.serve.is_empty(), args.from.is_empty()) {
        (false, _) => None,
        (true, false) => Some(String::new()),
        (true, true) if io::stdin().is_terminal() => return usage(),
        (true, true) => match from_stdin() {
            Ok(text) => Some(text),
            Err(why) => {
                console.error(&format!("stdin: {why}"), "give the command as arguments instead");
                return exit::INPUT;
            }
        },
    };
    let command = match &pasted {
        Some(text) => Command::Text(text),
        None => Command::Words(&args.serve),
    };
    let names: Vec<String> = args.from.iter().map(|p| p.to_string_lossy().into_owned()).collect();
    let asked = asked(args);
    let studied = from_files(&names, Some(command), &Disk, &asked);
    let written = match studied {
        Ok(None) => from_command(command, &asked),
        Ok(Some(written)) => Ok(written),
        Err(e) => Err(e),
    };
    match written {
        Ok(written) => deliver(args, &written, console),
        Err(e) => refused(&e, console),
    }
}

fn refused(error: &InitError, console: Console) -> u8 {
    console.error(&error.to_string(), error.help());
    exit::INPUT
}

/// The variables that commands insert most; everything else must be in what is pasted, as a study is for others too.
fn asked(args: &InitArgs) -> Asked {
    let variable = |name: &str| std::env::var(name).ok().map(|value| (name.to_owned(), value));
    let variables = ["HOME", "USER", "PWD"].into_iter().filter_map(variable).collect();
    Asked { version: args.engine_version.clone(), variables }
}

fn from_stdin() -> Result<String, String> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err("this is more than any serve command has".to_owned());
    }
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
    Ok(text.trim_start_matches('\u{feff}').to_owned())
}

/// Nothing was given and nobody sends anything: the help, as for every wrong usage.
fn usage() -> u8 {
    let mut command = Args::command();
    if let Some(init) = command.find_subcommand_mut("init") {
        let _ = write!(io::stderr(), "{}", init.clone().bin_name("perflab init").render_help());
    }
    exit::USAGE
}

fn deliver(args: &InitArgs, written: &Written, console: Console) -> u8 {
    for (what, all) in
        [("assumed", &written.assumed), ("left out", &written.remarks), ("note", &written.notes)]
    {
        for text in all {
            console.tell(&format!("{what}: {text}"));
        }
    }
    let Some(path) = &args.output else {
        console.print_file(&written.text);
        return exit::DONE;
    };
    match save(path, &written.text, args.force) {
        Ok(()) => {
            console.say(&format!("{}: written; next: perflab plan {}", path.display(), path.display()));
            exit::DONE
        }
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            let help = "choose another name, or overwrite it with --force";
            console.error(&format!("{}: there is a file of this name", path.display()), help);
            exit::INPUT
        }
        Err(e) => {
            console.error(&format!("{}: {e}", path.display()), "choose a file that can be written");
            exit::INPUT
        }
    }
}

fn save(path: &Path, text: &str, force: bool) -> io::Result<()> {
    if force {
        return fs::write(path, text);
    }
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}
