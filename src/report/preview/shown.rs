//! What the renderings for people share: words for states and counts, and how many of a big step they show.

use super::candidate::Candidates;
use super::document::{Launched, Plan, Publish, SideBySide};
use super::states::State;
use crate::report::format::{duration, fixed, grouped};

/// A step with more candidates than this is shown by its first.
const WHOLE: usize = 24;
const FIRST: usize = 12;

/// How many of so many to show, where not all are asked for.
pub(super) fn first_of(count: usize, all: bool) -> usize {
    if all || count <= WHOLE { count } else { FIRST }
}

/// The line for those that are not shown; `None` if all are.
pub(super) fn rest(candidates: &Candidates<'_>, all: bool) -> Option<String> {
    let count = candidates.len();
    let hidden = count - first_of(count, all);
    let tally = tally(candidates.states().skip(first_of(count, all)));
    (hidden > 0).then(|| format!("… and {} more ({tally}); `--all` shows them", whole(hidden)))
}

/// The same for a list of anything.
pub(super) fn rest_of(count: usize, all: bool) -> Option<String> {
    let hidden = count - first_of(count, all);
    (hidden > 0).then(|| format!("… and {} more; `--all` shows them", whole(hidden)))
}

/// A count with its thousands grouped.
pub(super) fn whole(n: usize) -> String {
    grouped(n as f64, 0)
}

/// "3 to measure, 1 pruned"
pub(super) fn tally(states: impl Iterator<Item = State>) -> String {
    let mut counts = [0usize; ORDER.len()];
    for state in states {
        if let Some(i) = ORDER.iter().position(|s| *s == state) {
            counts[i] += 1;
        }
    }
    let parts = ORDER.iter().zip(counts).filter(|(_, n)| *n > 0);
    parts.map(|(s, n)| format!("{} {}", whole(n), mark(*s))).collect::<Vec<_>>().join(", ")
}

const ORDER: [State; 6] =
    [State::ToMeasure, State::Later, State::Measured, State::SameAs, State::Pruned, State::Skipped];

pub(super) fn mark(state: State) -> &'static str {
    match state {
        State::ToMeasure => "to measure",
        State::Measured => "measured",
        State::Pruned => "pruned",
        State::SameAs => "known",
        State::Later => "later",
        State::Skipped => "not run",
    }
}

/// An engine's version, and how it is launched unless it is the program on the `PATH`, as without a site.
fn launched(engine: &Launched) -> Option<String> {
    let version = engine.version.as_ref().map(|v| format!(" {v}")).unwrap_or_default();
    match &engine.from {
        Some(from) => Some(format!("{}{version}: {} {from}", engine.name, engine.via)),
        None => engine.version.is_some().then(|| format!("{}{version}", engine.name)),
    }
}

/// What the study is, in lines of a word and a text.
pub(super) fn about(plan: &Plan<'_>) -> Vec<(&'static str, String)> {
    let mut out = vec![("model", plan.model.to_owned())];
    out.extend(plan.site.map(|name| ("site", name.to_owned())));
    out.extend(plan.engines.iter().filter_map(launched).map(|text| ("engine", text)));
    if let Some(g) = &plan.gpus {
        out.push(("gpus", format!("{}{}", g.count, g.of.map(|o| format!(" of {o}")).unwrap_or_default())));
    }
    out.extend(plan.side_by_side.map(|s| ("parallel", parallel(s))));
    if let Some(o) = &plan.objective {
        let means = o.means.as_ref().map_or_else(String::new, |means| format!("; {} is {means}", o.expr));
        let on = o.profiles.join(", ");
        out.push(("objective", format!("{} {} on {on}{means}", o.direction, o.expr)));
        out.push(("adopt", format!("from a gain of {} % on", fixed(plan.adopt * 100.0, 1))));
    } else {
        let on: Vec<&str> = plan.profiles.iter().map(|p| p.name).collect();
        out.push(("objective", format!("none: tables of {}, nothing is recommended", on.join(", "))));
    }
    out.extend(plan.loads.iter().map(|(name, load)| ("load", format!("{name}: {load}"))));
    for r in &plan.require {
        let how = match &r.on {
            _ if r.implied => " (unless a study says otherwise)".to_owned(),
            // every candidate is measured on the objective's profiles anyway
            Some(on) if plan.objective.as_ref().is_none_or(|o| o.profiles.contains(on)) => {
                format!(" on {on}")
            }
            Some(on) => format!(" on {on}: measured for the baseline and each offer"),
            None => String::new(),
        };
        let means = r.means.as_ref().map_or_else(String::new, |means| format!(", which is {means}"));
        out.push(("require", format!("{}{means}{how}", r.expr)));
    }
    match plan.repeat {
        Some(n) if n > 1 => out.push(("repeat", format!("{n} launches of every candidate"))),
        Some(_) => {}
        None => out.push((
            "repeat",
            "auto: as many launches as the noise asks for, of which one of every candidate is counted here"
                .to_owned(),
        )),
    }
    if !plan.confirm.is_empty() {
        let known = |p: &&String| !plan.objective.as_ref().is_some_and(|o| o.profiles.contains(p));
        let others: Vec<&str> = plan.confirm.iter().filter(known).map(String::as_str).collect();
        let others =
            if others.is_empty() { String::new() } else { format!(", and on {}", others.join(", ")) };
        out.push(("confirm", format!("baseline and winner once more{others}")));
    }
    if !plan.curve.is_empty() {
        out.push(("curve", format!("of {}, which this version does not measure", plan.curve.join(", "))));
    }
    out.extend(plan.publish.as_ref().map(|p| ("publish", published(p))));
    out.extend(plan.budgets.iter().map(|limit| ("budget", limit.sentence())));
    out.extend(plan.set.iter().map(|(name, value)| ("set", format!("{name}={value}"))));
    out
}

/// What the recommended command will have that no candidate was measured with, and the reverse.
fn published(p: &Publish) -> String {
    let with = (!p.added.is_empty()).then(|| format!("with {}, unmeasured", p.added.join(" ")));
    let without = (!p.hidden.is_empty()).then(|| format!("without {}", p.hidden.join(" ")));
    format!(
        "the recommended command stands {}",
        [with, without].into_iter().flatten().collect::<Vec<_>>().join("; ")
    )
}

fn parallel(s: SideBySide) -> String {
    let SideBySide { launches, harmless, check, pays } = s;
    match harmless {
        Some(true) => format!("{launches} launches side by side"),
        Some(false) => {
            format!("one launch after another: {launches} side by side were seen to disturb each other")
        }
        None if !pays => format!(
            "one launch after another: the A/A check of neighbours ({check} launches or more) takes longer than {launches} side by side save"
        ),
        None => format!(
            "{launches} launches side by side, if an A/A check of neighbours ({check} launches or more) allows it"
        ),
    }
}

/// "54", or where the budget has no room for them all, that.
pub(super) fn launches(plan: &Plan<'_>) -> String {
    let most = whole(plan.launches.max);
    let short = plan.budgets.iter().any(|b| b.fits == Some(false));
    if short {
        format!("{most} to come, fewer where a budget has no room")
    } else {
        format!("{most} to come")
    }
}

/// "9 to measure, 0 measured, 1 pruned before they start"
pub(super) fn trials(plan: &Plan<'_>) -> String {
    let t = &plan.trials;
    let (to_measure, measured) = (whole(t.to_measure), whole(t.measured));
    format!("{to_measure} to measure, {measured} measured, {} pruned before they start", whole(t.pruned))
}

/// How long it takes, where that can be said.
pub(super) fn time(plan: &Plan<'_>) -> String {
    let note = plan.gpu_time_s.note.as_ref().map_or_else(String::new, |note| format!(", {note}"));
    match (plan.gpu_time_s.predicted, plan.ends_in_s) {
        (Some(gpu), Some(wall)) => {
            format!(
                "about {} of GPU time at most, over {} after it starts; predicted by the {}{note}",
                duration(gpu),
                duration(wall),
                plan.gpu_time_s.by
            )
        }
        (Some(_), None) => "none: nothing is left to run".to_owned(),
        (None, _) => format!("not predicted, as nothing has been measured yet{note}"),
    }
}
