//! `perflab doctor`: what this machine can do, what to mend, and its first site file.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use super::args::{DoctorArgs, DoctorFormat};
use super::console::Console;
use super::{client_test, descriptors, effect, exit};
use crate::doctor::{self, Examination, Finding, Level};
use crate::lang::fmt;
use crate::load::{LoadError, SelfTest};
use crate::report::wrap::hanging;
use crate::report::{Style, Tone};

pub fn run(args: &DoctorArgs, console: Console) -> u8 {
    let mut found = doctor::examine();
    if args.client
        && let Err(error) = try_client(args, &mut found)
    {
        console.error(&error.to_string(), "`perflab doctor --help` lists the options");
        return exit::INPUT;
    }
    match args.format {
        DoctorFormat::Text => console.print(&page(&found, console.stdout_style())),
        DoctorFormat::Json => match serde_json::to_string_pretty(&found) {
            Ok(text) => console.print(&(text + "\n")),
            Err(e) => console.error(&format!("the document cannot be written: {e}"), "use `--format text`"),
        },
    }
    if let Some(path) = &args.write
        && !write_site(path, &found, args.force, console)
    {
        return exit::INPUT;
    }
    if found.worst == Level::Fail { exit::FAILED } else { exit::DONE }
}

/// Adds what the load generator can do.
fn try_client(args: &DoctorArgs, found: &mut Examination) -> Result<(), LoadError> {
    descriptors::raise_limit();
    let most = descriptors::room();
    if u64::from(args.streams) > most {
        return Err(LoadError::Spec(format!(
            "{} streams, half as many again and both ends of each in this process, are more than `ulimit -n` leaves room for: {most} \
             at most",
            args.streams
        )));
    }
    let cpus = args.pin_client.clone().map_or_else(Vec::new, |cpus| cpus.0);
    let test = SelfTest { streams: args.streams, tokens_per_s: args.tokens_per_second, cpus };
    let facts = client_test::run(&test)?;
    found.lines.extend(client_test::findings(&test, &facts));
    let seen = effect::run(test.streams, test.cpus)?;
    found.lines.push(effect::finding(&seen));
    found.worst = found.lines.iter().map(|line| line.level).max().unwrap_or(found.worst);
    let mut client = serde_json::to_value(facts).ok();
    if let Some(client) = client.as_mut().and_then(serde_json::Value::as_object_mut) {
        client.insert("effect".to_owned(), serde_json::json!(seen));
    }
    found.client = client;
    Ok(())
}

fn page(found: &Examination, style: Style) -> String {
    let mut out = String::new();
    let mut topic = None;
    for line in &found.lines {
        if topic != Some(line.topic) {
            let gap = if topic.is_some() { "\n" } else { "" };
            let _ = writeln!(out, "{gap}{}", style.paint(Tone::Strong, line.topic.title()));
            topic = Some(line.topic);
        }
        out += &shown(line, style);
    }
    let count = |level| found.lines.iter().filter(|l| l.level == level).count();
    let (warn, fail) = (count(Level::Warn), count(Level::Fail));
    out + &format!("\n{} lines: {fail} fail, {warn} warn\n", found.lines.len())
}

fn shown(line: &Finding, style: Style) -> String {
    let tone = match line.level {
        Level::Ok => Tone::Good,
        Level::Warn => Tone::Caution,
        Level::Fail => Tone::Bad,
    };
    let word = line.level.word();
    let mut lines = hanging("        ", &line.text, style.width());
    if let Some(first) = lines.first_mut() {
        *first = format!("  {}{}{}", style.paint(tone, word), " ".repeat(6 - word.len()), first.trim_start());
    }
    if let Some(fix) = &line.fix {
        lines.extend(hanging("        fix: ", fix, style.width()));
    }
    lines.join("\n") + "\n"
}

/// Writes the first site file; false if it cannot be, which has been said.
fn write_site(path: &Path, found: &Examination, force: bool, console: Console) -> bool {
    let text = doctor::site(&found.host, &found.engines, |name| std::env::var(name).ok());
    let text = fmt::format(&text).unwrap_or(text);
    match save(path, &text, force) {
        Ok(()) => {
            console.say(&format!("{}: written; studies beside it are launched by it", path.display()));
            true
        }
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            let help = "choose another name, or overwrite it with --force";
            console.error(&format!("{}: there is a file of this name", path.display()), help);
            false
        }
        Err(e) => {
            console.error(&format!("{}: {e}", path.display()), "choose a file that can be written");
            false
        }
    }
}

fn save(path: &Path, text: &str, force: bool) -> io::Result<()> {
    if force {
        return fs::write(path, text);
    }
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}
