//! Gains in words: with their sign, and what stands in their place where 0 leaves no ratio.

use super::document::{Direction, Gain, Recommended, Report, Role, Row, Step};
use super::format::{number, percent};
use super::lookup::Lookup;
use crate::judge::scale;

/// "+2.09 % over SGLang"; where less is better "2.09 % better than SGLang", as "+2.09 % over" would read as more of what is to be less.
pub(super) fn over(report: &Report, gain: Option<f64>, between: &str, other: &str) -> String {
    let Some(gain) = gain else {
        let nothing = if minimizes(report) { "with an objective of 0" } else { "whose objective is 0" };
        return format!("better than {other}, {nothing}: no ratio can be told");
    };
    match report.objective.as_ref().map(|o| o.direction) {
        Some(Direction::Minimize) => match percent(gain).strip_prefix(['+', '-']) {
            Some(size) => {
                let way = if gain > 0.0 { "better" } else { "worse" };
                format!("{size}{between} {way} than {other}")
            }
            None => format!("no better than {other}{between}"),
        },
        _ => format!("{}{between} over {other}", percent(gain)),
    }
}

/// "+2.09 % over the baseline in total_tps on chat", with its interval where there is one.
pub fn gain(report: &Report, recommended: &Recommended) -> String {
    let gain = &recommended.gain;
    if recommended.trial == report.baseline {
        return "no gain: the baseline itself is recommended, no step found better".to_owned();
    }
    let what = report
        .objective
        .as_ref()
        .map_or_else(String::new, |o| format!(" in {} on {}", o.expr, o.profiles.join(", ")));
    if gain.value.is_none() {
        return format!(
            "better than the baseline{what}: {}, so no ratio can be told",
            changes(report, recommended)
        );
    }
    format!("{}{what}", over(report, gain.value, &interval(gain), "the baseline"))
}

/// "from 0 to 12.5 on busy, +2.1 % on quiet": what became of the objective on each of its profiles.
fn changes(report: &Report, recommended: &Recommended) -> String {
    let lookup = Lookup::new(report);
    let (theirs, ours) = (lookup.on_objective(&report.baseline), lookup.on_objective(&recommended.trial));
    let pairs = theirs.iter().filter_map(|b| Some((b, ours.iter().find(|o| o.profile == b.profile)?)));
    let each = pairs.filter_map(|(b, o)| {
        let (before, after) = (b.objective?, o.objective?);
        let gain = Some(scale::gain(!minimizes(report), after, before)).filter(|g| g.is_finite());
        let words = gain.map_or_else(|| format!("from {} to {}", number(before), number(after)), percent);
        Some(format!("{words} on {}", lookup.profile_title(&b.profile)))
    });
    each.collect::<Vec<_>>().join(", ")
}

fn minimizes(report: &Report) -> bool {
    report.objective.as_ref().is_some_and(|o| o.direction == Direction::Minimize)
}

/// A gain as tables show it: "+2.09 %", and "from 0" where there is no ratio; "to 0" where less is better.
pub fn gain_words(report: &Report, gain: &Gain) -> String {
    let no_ratio = if minimizes(report) { "to 0" } else { "from 0" };
    gain.value.map_or_else(|| no_ratio.to_owned(), percent)
}

/// The same of a row in its step; nothing where nothing is gained over the incumbent.
pub fn row_gain_words(step: &Step, row: &Row) -> String {
    let before = step.rows.iter().find(|r| r.role == Role::Incumbent).and_then(|r| r.objective);
    match (row_gain(row), before, row.objective) {
        (Some(gain), _, _) => percent(gain),
        _ if row.role == Role::Incumbent || !row.outcome.is_valid() => String::new(),
        (None, Some(before), Some(after)) if before <= 0.0 && after > 0.0 => "from 0".to_owned(),
        (None, Some(before), Some(after)) if before > 0.0 && after <= 0.0 => "to 0".to_owned(),
        _ => String::new(),
    }
}

/// " (+1.20 % to +2.98 %)", or nothing.
pub fn interval(gain: &Gain) -> String {
    match (gain.low, gain.high) {
        (Some(low), Some(high)) => format!(" ({} to {})", percent(low), percent(high)),
        _ => String::new(),
    }
}

/// A row's gain, where it can be won: what is refused gains nothing, however fast it looks.
pub fn row_gain(row: &Row) -> Option<f64> {
    row.gain.filter(|_| row.outcome.is_valid())
}
