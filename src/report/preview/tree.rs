//! The plan for a terminal.

use super::against::{Against, Changed};
use super::candidate::Candidate;
use super::document::{Plan, Rule, Step};
use super::shown::{about, first_of, launches, mark, rest, rest_of, time, trials, whole};
use super::states::State;
use crate::plan::shell::quote;
use crate::report::style::Style;
use crate::report::wrap::clean;

/// The plan as a tree of steps and candidates, in lines of the terminal's width.
pub fn tree(plan: &Plan<'_>, style: Style) -> String {
    let mut out = Vec::new();
    head(&mut out, plan, style);
    if let Some(against) = &plan.against {
        difference(&mut out, against, plan.whole, style);
    }
    out.push(String::new());
    let baseline = &plan.baseline;
    let why = match &baseline.reason {
        Some(why) if baseline.state == State::ToMeasure => format!(" again: {why}"),
        Some(why) if baseline.failed => format!(": {why}"),
        _ => String::new(),
    };
    let gpus = baseline.on_gpus(1);
    push_wrapped(&mut out, "", &format!("baseline  {}{gpus}{why}", mark(baseline.state)), style);
    push_wrapped(&mut out, "  ", &baseline.command, style);
    push_again(&mut out, "  ", baseline, style);
    for (i, step) in plan.steps.iter().enumerate() {
        push_step(&mut out, i, step, plan, style);
    }
    rules(&mut out, &plan.rules, style);
    out.join("\n") + "\n"
}

fn head(out: &mut Vec<String>, plan: &Plan<'_>, style: Style) {
    let simulated = if plan.simulated { ", simulated" } else { "" };
    out.push(clean(&format!("{}  (study {}{simulated})", plan.title, plan.study)));
    let mut lines = about(plan);
    lines.push(("launches", format!("at most {}", launches(plan))));
    lines.push(("trials", format!("at most {}: {}", whole(plan.trials.max), trials(plan))));
    lines.push(("time", time(plan)));
    for (word, text) in lines {
        push_wrapped(out, "  ", &format!("{word:<9} {text}"), style);
    }
    for note in plan.notes {
        push_wrapped(out, "  ", &format!("note      {note}"), style);
    }
}

fn push_step(out: &mut Vec<String>, i: usize, step: &Step<'_>, plan: &Plan<'_>, style: Style) {
    let (gpus, all) = (plan.baseline.gpus, plan.whole);
    out.push(String::new());
    let guard = step.guard.map(|g| format!(", only when {g}")).unwrap_or_default();
    push_wrapped(
        out,
        "",
        &format!("{}. {}  (step {}, over {}{guard})", i + 1, step.heading, step.name, step.base),
        style,
    );
    if let (Some(because), Some(picked)) = (step.pick, &step.picked) {
        push_wrapped(out, "  ", &format!("picked by hand: {picked}, because {because}"), style);
    }
    for note in step.track_notes.iter().chain(step.notes) {
        push_wrapped(out, "  ", note, style);
    }
    if let Some(start) = &step.start {
        push_candidate(out, start, gpus, style);
    }
    let skipped = step.candidates.states().all(|s| s == State::Skipped);
    if let Some(why) = step.candidates.iter().next().filter(|_| skipped).and_then(|c| c.reason) {
        push_wrapped(out, "  ", &format!("not run: {why}"), style);
    }
    for candidate in step.candidates.iter().take(first_of(step.candidates.len(), all)) {
        push_candidate(out, &candidate, gpus, style);
    }
    out.extend(rest(&step.candidates, all).map(|text| format!("  {text}")));
}

fn push_candidate(out: &mut Vec<String>, c: &Candidate<'_>, baseline_gpus: u32, style: Style) {
    let reason = match (&c.reason, c.state) {
        (Some(r), State::Pruned | State::SameAs | State::Measured) => format!(": {r}"),
        (Some(r), State::Later) if c.config.is_none() => format!(": {r}"),
        // it was measured, and counts no more
        (Some(r), State::ToMeasure) => format!(" again: {r}"),
        _ => String::new(),
    };
    push_wrapped(
        out,
        "  ",
        &format!("• {}  {}{}{reason}", c.label, mark(c.state), c.on_gpus(baseline_gpus)),
        style,
    );
    if !c.changes.is_empty() {
        push_wrapped(out, "      ", &c.changes.join(" "), style);
    }
    if !c.command.is_empty() && !matches!(c.state, State::SameAs | State::Skipped) {
        push_wrapped(out, "      $ ", &c.command, style);
    }
    push_again(out, "      ", c, style);
    if !c.rules.is_empty() {
        push_wrapped(out, "      ", &format!("may be pruned later by {}", c.rules.join(", ")), style);
    }
}

/// A failure stands until its cause is seen to change, or until the user says so.
fn push_again(out: &mut Vec<String>, indent: &str, c: &Candidate<'_>, style: Style) {
    if c.failed {
        let text = format!("`exec --again {}` measures it again", quote(&c.label));
        push_wrapped(out, indent, &text, style);
    }
}

fn rules(out: &mut Vec<String>, rules: &[Rule<'_>], style: Style) {
    if rules.is_empty() {
        return;
    }
    out.push(String::new());
    out.push("rules".to_owned());
    for r in rules {
        let does = effect(r);
        let text = format!(
            "{}: prunes \"{}\" when {}; settled {}{does}",
            r.name,
            r.reason,
            r.condition(),
            r.settled
        );
        push_wrapped(out, "  ", &text, style);
    }
}

/// How many candidates a rule prunes, or may prune.
fn effect(r: &Rule<'_>) -> String {
    match (r.prunes, r.may_prune) {
        (0, 0) => String::new(),
        (0, later) => format!("; may prune {}", whole(later)),
        (now, 0) => format!("; prunes {}", whole(now)),
        (now, later) => format!("; prunes {}, may prune {}", whole(now), whole(later)),
    }
}

fn difference(out: &mut Vec<String>, against: &Against, all: bool, style: Style) {
    out.push(String::new());
    push_wrapped(out, "", &format!("against {}", against.file), style);
    push_wrapped(out, "  ", &against.headline(), style);
    for d in &against.decides {
        push_wrapped(out, "  ~ ", &d.sentence(), style);
    }
    changed(out, "+", (&against.added, all), Changed::now, style);
    changed(out, "-", (&against.gone, all), Changed::left, style);
}

fn changed(
    out: &mut Vec<String>,
    sign: &str,
    (changes, all): (&[Changed], bool),
    state: fn(&Changed) -> String,
    style: Style,
) {
    for c in changes.iter().take(first_of(changes.len(), all)) {
        let text = format!("{} on {}  {}", c.place(), c.profile, state(c));
        push_wrapped(out, &format!("  {sign} "), &text, style);
        if !c.command.is_empty() {
            push_wrapped(out, "      $ ", &c.command, style);
        }
    }
    out.extend(rest_of(changes.len(), all).map(|text| format!("  {sign} {text}")));
}

/// Breaks at spaces, and takes line feeds and other control characters for such; what does not fit on the first line is indented further.
/// The words of a text; a space within a command's quotes is part of one, as a line that ends there would change what is copied.
fn words(text: &str) -> Vec<&str> {
    let (mut words, mut start, mut quote, mut before) = (Vec::new(), 0, None, ' ');
    for (at, c) in text.char_indices() {
        match (c, quote) {
            // an apostrophe stands in a word
            ('\'' | '"', None) if !before.is_alphanumeric() && text[at + 1..].contains(c) => quote = Some(c),
            (_, Some(open)) if c == open => quote = None,
            (' ', None) => {
                words.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        before = c;
    }
    words.push(&text[start..]);
    words
}

fn push_wrapped(out: &mut Vec<String>, indent: &str, text: &str, style: Style) {
    let mut line = indent.to_owned();
    let mut fresh = true;
    for word in words(&clean(text)) {
        let len = line.chars().count() + word.chars().count() + usize::from(!fresh);
        if !fresh && len > style.width() {
            out.push(std::mem::replace(&mut line, " ".repeat(indent.chars().count() + 2)));
            fresh = true;
        }
        if !fresh {
            line.push(' ');
        }
        line.push_str(word);
        fresh = false;
    }
    out.push(line);
}
