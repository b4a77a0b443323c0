//! The plan as a Mermaid graph of bases, steps and candidates, as GitHub renders it in a pull request.
//!
//! Names of nodes are ours (`s1c2`), so that no reserved word (`end`) can stand there; everything that a file says stands in quoted
//! labels, in which all but plain characters are entities.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::candidate::Candidate;
use super::document::{Plan, Step};
use super::shown::{mark, tally, whole};
use super::states::State;

/// A graph that people still read, and that GitHub still draws.
const MOST_NODES: usize = 60;
/// Longer labels are cut.
const LONGEST: usize = 60;

/// The graph, `flowchart TD`.
pub fn mermaid(plan: &Plan<'_>) -> String {
    let mut out = String::from("flowchart TD\n");
    let bases = engines(plan);
    let steps = &plan.steps[..plan.steps.len().min(MOST_NODES / 2)];
    let open = expanded(plan, steps, MOST_NODES.saturating_sub(3 + bases.len() + steps.len()));
    node(
        &mut out,
        "b",
        &["baseline", plan.baseline_title, mark(plan.baseline.state)],
        class(plan.baseline.state),
    );
    for (name, id) in &bases {
        // where a track begins with it, it is measured as it is declared
        let start = plan.steps.iter().find(|s| s.base == *name).and_then(|s| s.start.as_ref());
        let state = start.map(|s| s.state);
        let called = plan.steps.iter().find(|s| s.base == *name).and_then(|s| s.base_title).unwrap_or(name);
        let lines: Vec<&str> = ["engine", called].into_iter().chain(state.map(mark)).collect();
        node(&mut out, id, &lines, state.and_then(class));
    }
    for (i, step) in steps.iter().enumerate() {
        push_step(&mut out, plan, i, step, open[i]);
        let from = bases_of(plan, i, step, &bases).join(" & ");
        let guard = step.guard.map(|g| format!("|\"{}\"|", label(&format!("when {g}"))));
        // writing to a string cannot fail
        let _ = writeln!(out, "    {from} -->{} s{}", guard.unwrap_or_default(), i + 1);
    }
    if steps.len() < plan.steps.len() {
        let more = format!("and {} more steps", plan.steps.len() - steps.len());
        node(&mut out, "more", &[&more], None);
        let _ = writeln!(out, "    s{} --> more", steps.len());
    } else if !plan.confirm.is_empty() && !steps.is_empty() {
        node(&mut out, "confirm", &["afterwards", "baseline and winner on", &plan.confirm.join(", ")], None);
        let _ = writeln!(out, "    s{} --> confirm", steps.len());
    }
    if let Some(against) = &plan.against {
        node(&mut out, "against", &["against", &against.file, &against.headline()], None);
    }
    out.push_str(CLASSES);
    out
}

const CLASSES: &str = "    classDef measured stroke:#2e7d32,stroke-width:2px\n    \
     classDef pruned stroke:#9e9e9e,stroke-dasharray:4 3\n    \
     classDef later stroke-dasharray:2 2\n    \
     classDef added stroke:#1565c0,stroke-width:3px\n";

/// The engines that steps start from by name, with the names of their nodes.
fn engines<'a>(plan: &Plan<'a>) -> BTreeMap<&'a str, String> {
    let mut out = BTreeMap::new();
    for step in &plan.steps {
        if step.base != "best" && !plan.steps.iter().any(|s| s.name == step.base && s.track == step.track) {
            let next = out.len() + 1;
            out.entry(step.base).or_insert_with(|| format!("e{next}"));
        }
    }
    while out.len() > MOST_NODES / 4 {
        out.pop_last();
    }
    out
}

/// The nodes that a step hangs on: its base, and where tracks meet the last step of each.
fn bases_of(plan: &Plan<'_>, i: usize, step: &Step<'_>, engines: &BTreeMap<&str, String>) -> Vec<String> {
    let last = |track: &String| plan.steps[..i].iter().rposition(|s| s.track == Some(track.as_str()));
    let tracks = step.contest.iter().filter_map(last).map(|n| format!("s{}", n + 1));
    std::iter::once(base(plan, i, step, engines)).chain(tracks).collect()
}

/// The node of a step's base.
fn base(plan: &Plan<'_>, i: usize, step: &Step<'_>, engines: &BTreeMap<&str, String>) -> String {
    let earlier = &plan.steps[..i];
    let last = |found: Option<usize>| found.map(|n| format!("s{}", n + 1));
    let named = match step.base {
        "best" => last(earlier.iter().rposition(|s| s.track == step.track)),
        name => last(earlier.iter().rposition(|s| s.name == name && s.track == step.track))
            .or_else(|| engines.get(name).cloned()),
    };
    named.unwrap_or_else(|| "b".to_owned())
}

/// Which steps show their candidates: the smallest first, as long as there is room.
fn expanded(plan: &Plan<'_>, steps: &[Step<'_>], mut room: usize) -> Vec<bool> {
    let mut order: Vec<usize> = (0..steps.len()).collect();
    order.sort_by_key(|i| plan.steps[*i].candidates.len());
    let mut open = vec![false; steps.len()];
    for i in order {
        let needs = plan.steps[i].candidates.len();
        if needs <= room {
            room -= needs;
            open[i] = true;
        }
    }
    open
}

fn push_step(out: &mut String, plan: &Plan<'_>, i: usize, step: &Step<'_>, open: bool) {
    let id = format!("s{}", i + 1);
    let head = format!("Step {}: {}", i + 1, step.heading);
    let mut lines = vec![head.as_str()];
    let count = step.candidates.len();
    let candidates = if count == 1 { "candidate" } else { "candidates" };
    let summary = format!("{} {candidates}: {}", whole(count), tally(step.candidates.states()));
    if !open {
        lines.push(&summary);
    }
    node(out, &id, &lines, None);
    if !open {
        return;
    }
    for (n, c) in step.candidates.iter().enumerate() {
        let own = format!("{id}c{}", n + 1);
        let added = plan.against.as_ref().is_some_and(|a| a.is_added(c.id));
        let class = if added { Some("added") } else { class(c.state) };
        node(out, &own, &[&c.label, &state(&c, added)], class);
        let _ = writeln!(out, "    {id} --- {own}");
    }
}

fn state(c: &Candidate<'_>, added: bool) -> String {
    let new = if added { "new, " } else { "" };
    match (&c.reason, c.state) {
        (Some(r), State::Pruned) => format!("{new}pruned: {r}"),
        _ => format!("{new}{}", mark(c.state)),
    }
}

fn class(state: State) -> Option<&'static str> {
    match state {
        State::Measured => Some("measured"),
        State::Pruned => Some("pruned"),
        State::Later | State::SameAs | State::Skipped => Some("later"),
        State::ToMeasure => None,
    }
}

fn node(out: &mut String, id: &str, lines: &[&str], class: Option<&str>) {
    let text = lines.iter().map(|l| label(l)).collect::<Vec<_>>().join("<br/>");
    let class = class.map(|c| format!(":::{c}")).unwrap_or_default();
    let _ = writeln!(out, "    {id}[\"{text}\"]{class}");
}

/// A text in a quoted label: what Mermaid, its Markdown or HTML could read as a mark is an entity.
fn label(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (i, c) in text.chars().enumerate() {
        match c {
            _ if i == LONGEST => {
                out.push('…');
                break;
            }
            c if c.is_control() => out.push(' '),
            c if c.is_alphanumeric() || matches!(c, ' ' | ',' | '/' | '=' | '%' | ':' | '…' | '–') => {
                out.push(c);
            }
            // a number and a point at the beginning would be a list
            '.' if i > 2 => out.push(c),
            '-' if i > 0 => out.push(c),
            c => drop(write!(out, "#{};", u32::from(c))),
        }
    }
    // Mermaid looks for these two words before it reads labels
    out.replace("style", "st#121;le").replace("classDef", "class#68;ef")
}

#[cfg(test)]
mod tests {
    use super::label;

    #[test]
    fn nothing_in_a_label_is_a_mark() {
        assert_eq!(label("FP8"), "FP8");
        assert_eq!(label("a \"b\" [c] `d` <e> #f"), "a #34;b#34; #91;c#93; #96;d#96; #60;e#62; #35;f");
        assert_eq!(label("1. one"), "1#46; one");
        assert_eq!(label("- one"), "#45; one");
        assert_eq!(label("--max_num=2"), "#45;-max#95;num=2");
        assert_eq!(label("style: x"), "st#121;le: x");
    }

    #[test]
    fn long_labels_are_cut() {
        assert_eq!(label(&"x".repeat(100)).chars().count(), 61);
    }
}
