//! `perflab fmt`: files in their one layout. What cannot be read, or would not say the same afterwards, stays as it is.

use std::io::{self, IsTerminal, Read};
use std::path::Path;

use similar::TextDiff;

use super::args::FmtArgs;
use super::console::Console;
use super::{below, exit, files};
use crate::disk;
use crate::lang::fmt::{Refusal, format};
use crate::lang::source::{Source, Sources};

/// What became of the files.
#[derive(Default)]
struct Tally {
    files: usize,
    changed: usize,
    failed: bool,
}

pub fn run(args: &FmtArgs, console: Console) -> u8 {
    let mut tally = Tally::default();
    if reads_stdin(args) {
        if args.files.is_empty() && io::stdin().is_terminal() {
            console
                .error("there is nothing to format", "give files or directories, or `-` for standard input");
            return exit::INPUT;
        }
        stdin(args, console, &mut tally);
    } else {
        let (paths, whole) = below::files(&args.files, console);
        tally.failed = !whole;
        for path in paths {
            file(&path, args, console, &mut tally);
        }
        summary(args, console, &tally);
    }
    if tally.failed || args.check && tally.changed > 0 { exit::INPUT } else { exit::DONE }
}

fn reads_stdin(args: &FmtArgs) -> bool {
    args.files.is_empty() || args.files.iter().any(|f| f.as_os_str() == "-")
}

fn summary(args: &FmtArgs, console: Console, tally: &Tally) {
    let Tally { files, changed, .. } = tally;
    let noun = if *files == 1 { "file" } else { "files" };
    console.say(&match (args.check || args.diff, changed) {
        (_, 0) => format!("{files} {noun}, nothing to change"),
        (true, _) => format!("{changed} of {files} {noun} would change"),
        (false, _) => format!("{changed} of {files} {noun} changed"),
    });
}

fn stdin(args: &FmtArgs, console: Console, tally: &mut Tally) {
    tally.failed = true;
    if args.files.len() > 1 {
        console
            .error("`-` stands for standard input and takes no files beside it", "format one or the other");
        return;
    }
    let mut bytes = Vec::new();
    if let Err(e) = io::stdin().read_to_end(&mut bytes) {
        console.error(&format!("standard input: {e}"), "");
        return;
    }
    let text = match files::text_of(bytes) {
        Ok(text) => text,
        Err(why) => {
            console.error(&format!("standard input: {why}"), "give the text of a .plab file");
            return;
        }
    };
    let name = "<stdin>";
    let Some(formatted) = formatted(name, &text, console) else { return };
    tally.failed = false;
    tally.changed = usize::from(text != formatted);
    if !args.check && !args.diff {
        console.print_file(&formatted);
    } else if text != formatted {
        show(name, &text, &formatted, args, console);
    }
}

fn file(path: &Path, args: &FmtArgs, console: Console, tally: &mut Tally) {
    let name = path.display().to_string();
    tally.files += 1;
    let text = match files::read(path) {
        Ok(text) => text,
        Err(why) => {
            console.error(&format!("{name}: {why}"), "give the path of a .plab file, or of a directory");
            tally.failed = true;
            return;
        }
    };
    let Some(formatted) = formatted(&name, &text, console) else {
        tally.failed = true;
        return;
    };
    if text == formatted {
        return;
    }
    if args.check || args.diff {
        tally.changed += 1;
        show(&name, &text, &formatted, args, console);
    } else if let Err(e) = disk::replace(path, &formatted) {
        tally.failed = true;
        console.error(&format!("{name} cannot be written: {e}"), "the file is as it was");
    } else {
        tally.changed += 1;
        console.say(&format!("{name}: formatted"));
    }
}

/// The text in its layout. Why there is none has been said.
fn formatted(name: &str, text: &str, console: Console) -> Option<String> {
    match format(text) {
        Ok(formatted) => Some(formatted),
        Err(Refusal::Syntax(found)) => {
            let mut sources = Sources::default();
            sources.add(Source::new(name, crate::lang::sema::without_mark(text)));
            console.diagnostics(&found, &sources);
            None
        }
        Err(refusal @ Refusal::Different(_)) => {
            let help = "this is a mistake of perflab; the file is as it was. Please report it together with the file";
            console.error(&format!("{name}: internal error: {refusal}"), help);
            None
        }
    }
}

fn show(name: &str, text: &str, formatted: &str, args: &FmtArgs, console: Console) {
    if args.diff {
        let diff =
            TextDiff::configure().timeout(std::time::Duration::from_secs(5)).diff_lines(text, formatted);
        let mut unified = diff.unified_diff();
        console.print_file(&unified.context_radius(3).header(name, name).to_string());
    } else {
        console.print(&format!("{name}\n"));
    }
}
