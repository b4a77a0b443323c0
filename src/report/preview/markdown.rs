//! The plan for a pull request: a headline, what changed, a table for each step, the commands folded away.

use super::against::{Against, Changed};
use super::candidate::Candidate;
use super::document::{Plan, Rule, Step};
use super::shown::{about, first_of, mark, rest, rest_of, time, trials, whole};
use super::states::State;
use crate::report::md::{Markdown, code, escape};

/// The plan as GitHub's markdown.
pub fn markdown(plan: &Plan<'_>) -> String {
    let mut page = Markdown::default();
    page.heading(2, &format!("Plan: {}", plan.title), plan.simulated.then_some("simulated"));
    page.block(&format!(
        "**At most {} {} to come**{}, {} {}: {}. Time: {}.",
        whole(plan.launches.max),
        if plan.launches.max == 1 { "launch" } else { "launches" },
        if plan.budgets.iter().any(|b| b.fits == Some(false)) {
            " (fewer where a budget has no room)"
        } else {
            ""
        },
        whole(plan.trials.max),
        if plan.trials.max == 1 { "trial" } else { "trials" },
        trials(plan),
        escape(time(plan).trim_end_matches('.'))
    ));
    if let Some(against) = &plan.against {
        difference(&mut page, against, plan.whole);
    }
    let settings = about(plan).into_iter().map(|(word, text)| vec![word.to_owned(), escape(&text)]);
    page.table(&words(&["study", plan.study]), settings);
    for note in plan.notes {
        page.block(&escape(note));
    }
    page.block(&format!("Baseline, {}{}:", mark(plan.baseline.state), plan.baseline.on_gpus(1)));
    page.fence("sh", &plan.baseline.command);
    for (i, step) in plan.steps.iter().enumerate() {
        push_step(&mut page, i, step, plan);
    }
    rules(&mut page, &plan.rules);
    page.finish()
}

fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|w| escape(w)).collect()
}

fn push_step(page: &mut Markdown, i: usize, step: &Step<'_>, plan: &Plan<'_>) {
    let (gpus, all) = (plan.baseline.gpus, plan.whole);
    page.heading(3, &format!("{}. {}", i + 1, step.heading), None);
    let guard = step.guard.map(|g| format!(", only when {}", code(g))).unwrap_or_default();
    page.block(&format!("Step {} over {}{guard}.", code(step.name), code(step.base)));
    if let (Some(because), Some(picked)) = (step.pick, &step.picked) {
        page.block(&format!("Picked by hand: {}, because {}", escape(picked), escape(because)));
    }
    for note in step.track_notes.iter().chain(step.notes) {
        page.block(&escape(note));
    }
    let first: Vec<Candidate<'_>> =
        step.candidates.iter().take(first_of(step.candidates.len(), all)).collect();
    let shown: Vec<&Candidate<'_>> = step.start.iter().chain(&first).collect();
    let ruled = shown.iter().any(|c| !c.rules.is_empty());
    let mut head = words(&["candidate", "changes", "state"]);
    head.extend(ruled.then(|| "may be pruned by".to_owned()));
    let row = |c: &Candidate<'_>| {
        let changes: Vec<String> = c.changes.iter().map(|change| code(change)).collect();
        let mut row = vec![escape(&c.label), changes.join(" "), state(c, gpus)];
        row.extend(ruled.then(|| c.rules.iter().map(|r| code(r)).collect::<Vec<_>>().join(", ")));
        row
    };
    page.table(&head, shown.iter().map(|c| row(c)));
    if let Some(more) = rest(&step.candidates, all) {
        page.block(&more);
    }
    let runs = shown.iter().filter(|c| !matches!(c.state, State::Pruned | State::SameAs | State::Skipped));
    let commands: Vec<String> = runs.map(|c| c.command.clone()).collect();
    if !commands.is_empty() {
        page.folded("commands", &commands.join("\n"));
    }
}

fn state(c: &Candidate<'_>, baseline_gpus: u32) -> String {
    let mark = |state| format!("{}{}", mark(state), c.on_gpus(baseline_gpus));
    match (&c.reason, c.state) {
        (Some(r), State::Pruned | State::SameAs | State::Measured | State::Skipped) => {
            format!("{}: {}", mark(c.state), escape(r))
        }
        (Some(r), State::Later) if c.config.is_none() => format!("{}: {}", mark(c.state), escape(r)),
        (Some(r), State::ToMeasure) => format!("{} again: {}", mark(c.state), escape(r)),
        _ => mark(c.state),
    }
}

fn rules(page: &mut Markdown, rules: &[Rule<'_>]) {
    if rules.is_empty() {
        return;
    }
    page.heading(3, "Rules", None);
    let row = |r: &Rule<'_>| {
        let (now, later) = (whole(r.prunes), whole(r.may_prune));
        vec![code(r.name), escape(r.reason), code(&r.condition()), r.settled.to_owned(), now, later]
    };
    let head = words(&["rule", "prunes", "when", "settled", "prunes now", "may prune"]);
    page.table(&head, rules.iter().map(row));
}

fn difference(page: &mut Markdown, against: &Against, all: bool) {
    page.heading(3, &format!("Against {}", against.file), None);
    page.block(&format!("{}.", escape(&against.headline())));
    if !against.decides.is_empty() {
        let or_none = |text: &Option<String>| text.as_deref().map_or_else(|| "–".to_owned(), escape);
        let row = |d: &super::against::Decides| vec![escape(&d.what), or_none(&d.before), or_none(&d.after)];
        page.table(&words(&["what decides", "before", "now"]), against.decides.iter().map(row));
    }
    changed(page, "added", (&against.added, all), Changed::now);
    changed(page, "gone", (&against.gone, all), Changed::left);
}

fn changed(
    page: &mut Markdown,
    what: &str,
    (changes, all): (&[Changed], bool),
    state: fn(&Changed) -> String,
) {
    if changes.is_empty() {
        return;
    }
    let shown = &changes[..first_of(changes.len(), all)];
    let row = |c: &Changed| vec![escape(&c.place()), code(&c.profile), escape(&state(c))];
    page.table(&words(&[what, "profile", "state"]), shown.iter().map(row));
    if let Some(more) = rest_of(changes.len(), all) {
        page.block(&more);
    }
    let commands = shown.iter().map(|c| c.command.as_str()).filter(|c| !c.is_empty());
    let commands: Vec<&str> = commands.collect();
    if !commands.is_empty() {
        page.folded(&format!("commands that are {what}"), &commands.join("\n"));
    }
}
