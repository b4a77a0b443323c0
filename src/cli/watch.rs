//! `perflab watch`: a running study, seen from another terminal. It reads the journal and the small live state beside it, and takes
//! nothing: a study does not know who watches.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use super::args::{WatchArgs, WatchFormat};
use super::console::Console;
use super::live::Live;
use super::progress::counted;
use super::{exit, files, state};
use crate::journal::{self, Event, JournalError, Kind, Lock, Requests, Tail};
use crate::judge::RunOutcome;
use crate::report::wrap::hanging;

const PAUSE: Duration = Duration::from_millis(250);

pub fn run(args: &WatchArgs, console: Console) -> u8 {
    let Some(dir) = directory(args, console) else { return exit::INPUT };
    if !dir.join(journal::FILE).exists() && Live::read(&dir).is_none() {
        let message = format!("nothing has run in {}", dir.display());
        console.error(
            &message,
            "`perflab exec FILE` carries a study out; `--dir DIR` names its state directory",
        );
        return exit::INPUT;
    }
    let watched = match args.format {
        WatchFormat::Json => now(&dir, console),
        WatchFormat::Text => follow(&dir, console),
    };
    match watched {
        Ok(status) => status,
        Err(e) => {
            console.error(&e.to_string(), "the journal is kept as it is");
            exit::INPUT
        }
    }
}

fn directory(args: &WatchArgs, console: Console) -> Option<PathBuf> {
    if args.file.is_dir() {
        return Some(args.file.clone());
    }
    let analysis = files::analysis(&args.file, &[], console)?;
    let study = files::study(&analysis.program, args.study.as_deref(), &args.file, console)?;
    Some(state::directory(&args.file, &study.name, args.dir.as_deref(), false))
}

/// The state at this moment, `perflab.watch/1`.
#[derive(Serialize)]
struct Moment<'a> {
    schema: &'static str,
    /// whether an `exec` owns the directory now
    running: bool,
    launches: usize,
    trials: usize,
    live: Option<&'a Live>,
}

fn now(dir: &Path, console: Console) -> Result<u8, JournalError> {
    let running = Lock::is_held(dir);
    let history = journal::read(&dir.join(journal::FILE), Requests::LeftOut)?;
    let live = Live::read(dir);
    let moment = Moment {
        schema: "perflab.watch/1",
        running,
        launches: history.launches().len(),
        trials: history.runs().len(),
        live: live.as_ref(),
    };
    console.print(&(serde_json::to_string_pretty(&moment).unwrap_or_default() + "\n"));
    Ok(exit::DONE)
}

/// Prints what happens until nobody owns the directory any more; the status is that of the study.
fn follow(dir: &Path, console: Console) -> Result<u8, JournalError> {
    let mut tail = Tail::new(&dir.join(journal::FILE), Requests::LeftOut);
    let mut lines = Lines::default();
    let bar = bar(console);
    let mut seen = (Live::default(), Instant::now());
    loop {
        // looked at before the journal is: what is written until then is still read
        let running = Lock::is_held(dir);
        tail.read(|event| lines.hear(&event))?;
        lines.print(&bar, console);
        if let Some(live) = Live::read(dir)
            && live != seen.0
        {
            bar.set_prefix(format!("{} · {}", live.step, live.launch));
            seen = (live, Instant::now());
        }
        if !running {
            break;
        }
        bar.set_message(seen.0.words(seen.1.elapsed()));
        std::thread::sleep(PAUSE);
    }
    bar.finish_and_clear();
    Ok(ended(&seen.0, lines.end.filter(|_| Live::read(dir).is_none()), console))
}

/// `recorded`: what the journal says of the end, where nothing else does.
fn ended(live: &Live, recorded: Option<bool>, console: Console) -> u8 {
    let Some(end) = &live.ended else {
        if let Some(complete) = recorded {
            let how =
                if complete { "complete" } else { "incomplete; `perflab exec` goes on from the journal" };
            console.print(&format!("ended: {how}\n"));
            return if complete { exit::DONE } else { exit::INCOMPLETE };
        }
        console.print("ended: it was killed; `perflab exec` goes on from the journal\n");
        return exit::INCOMPLETE;
    };
    console.print(&format!("ended: {} (status {})\n", end.outcome.replace('_', " "), end.status));
    end.status
}

fn bar(console: Console) -> ProgressBar {
    let target = if console.live() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(None, target);
    if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix}\n  {wide_msg}") {
        bar.set_style(style);
    }
    bar
}

/// Lines about the last invocation; of those before it, how much there is.
#[derive(Default)]
struct Lines {
    fresh: Vec<String>,
    launches: usize,
    trials: usize,
    /// what is to be measured again, as the command line said it
    asked: Option<String>,
    /// whether the last invocation was complete, if it ended by itself
    end: Option<bool>,
}

impl Lines {
    fn hear(&mut self, event: &Event) {
        match &event.kind {
            Kind::Session { file, .. } => {
                self.fresh.clear();
                self.end = None;
                let before = match self.launches {
                    0 => String::new(),
                    n => {
                        let (launches, trials) = (counted(n, "launch"), counted(self.trials, "trial"));
                        format!(", {launches} and {trials} are in the journal")
                    }
                };
                self.fresh.push(format!("{file}{before}"));
                // it was asked for before the invocation began to measure
                self.fresh.extend(self.asked.take());
            }
            Kind::Launch { launch, label, command, .. } => {
                self.launches += 1;
                let command = command.join(" ");
                let command = if command.is_empty() { command } else { format!(": {command}") };
                self.fresh.push(format!("  {launch} {label}{command}"));
            }
            Kind::Ready { launch, after_s, .. } => {
                self.fresh.push(format!("  {launch} ready after {}", crate::report::duration(*after_s)));
            }
            Kind::Run { launch, profile, run, .. } => {
                self.trials += 1;
                let rate = run.metrics.number("total_tps").map(|t| format!(", {t:.0} tok/s in all"));
                let said = match &run.outcome {
                    RunOutcome::Done => "done".to_owned(),
                    RunOutcome::Stopped { rule, .. } => format!("stopped by rule {rule}"),
                    RunOutcome::FailedStart { class, line } | RunOutcome::FailedLoad { class, line } => {
                        format!("failed: {class}, {line}").trim_end_matches(", ").to_owned()
                    }
                };
                self.fresh.push(format!("  {launch} {profile}: {said}{}", rate.unwrap_or_default()));
            }
            Kind::Lost { launch, .. } => self.fresh.push(format!("  {launch} was lost: nobody saw its end")),
            Kind::Setback { launch, class, .. } => {
                self.fresh.push(format!("  {launch} was set back by the machine: {class}"));
            }
            Kind::Neighbours { of, verdict } => {
                let how = if verdict.passed { "harmless" } else { "not harmless" };
                let n = of.launches;
                self.fresh.push(format!("  neighbours, {n} launches side by side: {how}, {verdict}"));
            }
            Kind::Again { asked, .. } if asked.iter().any(|name| name == journal::FRESH) => {
                self.asked = Some("  asked to take nothing over that was measured before".to_owned());
            }
            Kind::Again { asked, .. } => {
                self.asked = Some(format!("  asked to measure again: {}", asked.join(", ")));
            }
            Kind::End { complete } => self.end = Some(*complete),
            Kind::Gone { launch, changed, .. } if !changed.is_empty() => {
                self.fresh.push(format!("  {launch}: {} changed while it was measured", changed.join(", ")));
            }
            Kind::Gone { .. } | Kind::Checked { .. } => {}
        }
    }

    fn print(&mut self, bar: &ProgressBar, console: Console) {
        for line in self.fresh.drain(..) {
            bar.suspend(|| console.print(&folded(&line, console.line_width())));
        }
    }
}

/// A line in as many as its page needs; what goes on stands below what follows the launch's name.
fn folded(line: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return format!("{line}\n") };
    let margin = line.len() - line.trim_start().len();
    let name = if margin == 0 { 0 } else { line[margin..].find(' ').map_or(0, |at| margin + at + 1) };
    let (prefix, text) = line.split_at(name);
    hanging(prefix, text, width).join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::folded;

    #[test]
    fn long_lines_fold_below_their_text() {
        let line = "  L001 Small: perflab sim --max-model-len=4096";
        assert_eq!(folded(line, None), format!("{line}\n"));
        assert_eq!(folded(line, Some(100)), format!("{line}\n"));
        assert_eq!(folded(line, Some(30)), "  L001 Small: perflab sim\n       --max-model-len=4096\n");
        assert_eq!(folded("study.plab, 1 launch", Some(12)), "study.plab,\n1 launch\n");
    }
}
