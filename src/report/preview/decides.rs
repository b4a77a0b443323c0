//! What decides over a study's results, compared between two revisions of it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::against::{Decides, Side};
use super::engines;
use crate::lang::sema::program::{Budget, Choice, From, Profile, Prune, Repeat, Require, Step, Study};
use crate::plan::{Id, Labels, profile};
use crate::report::format::fixed;
use crate::report::resolved::{spelled, told};

/// Every setting that decides and is not the same in both.
pub(super) fn decides(old: Side<'_>, new: Side<'_>) -> Vec<Decides> {
    let mut out = Vec::new();
    let (before, now) = (old.setup.study, new.setup.study);
    let settings = settings(old).into_iter().zip(settings(new));
    for ((what, same_as, before), (_, other, after)) in settings {
        match what {
            BASELINE => engines::baseline(old, new, &mut out),
            OBJECTIVE if same_as != other && before == after => out.push(aims(old, new)),
            _ if same_as != other => out.push(Decides { what: what.to_owned(), before, after }),
            _ => {}
        }
    }
    engines::others(old, new, &mut out);
    loads(old, new, &mut out);
    listed("confirm", (old, &before.confirm), (new, &now.confirm), &mut out);
    listed("curve", (old, &before.curve), (new, &now.curve), &mut out);
    tracks(before, now, &mut out);
    requirements(old, new, &mut out);
    rules(&before.prune, &now.prune, &mut out);
    steps(old, new, &mut out);
    out
}

const BASELINE: &str = "baseline";
const OBJECTIVE: &str = "objective";

/// A setting: its name, what two revisions must have in common for it to be the same, and how it is printed.
type Setting = (&'static str, String, Option<String>);

fn settings(side: Side<'_>) -> Vec<Setting> {
    let study = side.setup.study;
    let plain = |what, text: Option<String>| (what, text.clone().unwrap_or_default(), text);
    let objective = study.objective.as_ref().map(|o| {
        let way = if o.maximize { "maximize" } else { "minimize" };
        format!("{way} {} on {}", o.text, o.profiles.join(", "))
    });
    // profiles by their names or by what they are: a rename is no change, and a change is told of the profile itself
    let aim = study.objective.as_ref().map(|o| format!("{:?} {} {}", o.expr, o.maximize, o.profiles.len()));
    let repeat = match study.repeat {
        Repeat::Auto => "auto".to_owned(),
        Repeat::Times(n) => n.to_string(),
    };
    let gpus = study.gpus.as_ref().map(|g| match &g.of {
        Some(of) => format!("{} of {of}", g.count),
        None => g.count.to_string(),
    });
    vec![
        plain("model", Some(study.model.clone())),
        (BASELINE, String::new(), None),
        plain("gpus", gpus),
        (OBJECTIVE, aim.unwrap_or_default(), objective),
        plain("adopt", Some(format!("from {} % on", fixed(study.adopt * 100.0, 2)))),
        plain("repeat", Some(repeat)),
        plain("budget", study.budget.as_ref().map(Budget::to_string)),
    ]
}

/// An objective that reads the same and is another: what its metric is made of has changed.
fn aims(old: Side<'_>, new: Side<'_>) -> Decides {
    let told = |side: Side<'_>| {
        let aim = side.setup.study.objective.as_ref()?;
        Some(format!("{}, which is {}", aim.text, spelled(&aim.expr)))
    };
    Decides { what: OBJECTIVE.to_owned(), before: told(old), after: told(new) }
}

/// What the tracks that have kept their engines may cost.
fn tracks(before: &Study, now: &Study, out: &mut Vec<Decides>) {
    for track in &now.tracks {
        let Some(was) = before.tracks.iter().find(|t| t.engine == track.engine) else { continue };
        if was.budget != track.budget {
            let what = format!("track {}, budget", track.engine);
            let (before, after) = (was.budget.map(|b| b.to_string()), track.budget.map(|b| b.to_string()));
            out.push(Decides { what, before, after });
        }
    }
}

/// Profiles of the objective: another load under the old name, or another profile in the place of one. What only came, or went, stands in
/// the objective itself.
fn loads(old: Side<'_>, new: Side<'_>, out: &mut Vec<Decides>) {
    let (Some(before), Some(now)) = (&old.setup.study.objective, &new.setup.study.objective) else { return };
    let (mut left, mut came): (Vec<&String>, Vec<&String>) = (before.profiles.iter().collect(), Vec::new());
    for n in &now.profiles {
        let same_load = |b: &&String| old.setup.load(b) == new.setup.load(n);
        let partner = left.iter().position(|b| *b == n).or_else(|| left.iter().position(same_load));
        match partner.map(|at| left.remove(at)) {
            Some(b) if !same_load(&b) => out.push(changed(old, new, b, n)),
            Some(_) => {}
            None => came.push(n),
        }
    }
    out.extend(left.into_iter().zip(came).map(|(b, n)| changed(old, new, b, n)));
}

/// A profile of one revision, and the one that stands in its place in the other.
fn changed(old: Side<'_>, new: Side<'_>, before: &str, now: &str) -> Decides {
    let was = old.setup.program.profiles.get(before);
    let is = new.setup.program.profiles.get(now);
    let told = |name: &str, own: Option<&Arc<Profile>>, other: Option<&Arc<Profile>>| {
        let own = own?;
        let settings = other.map(|other| profile::differences(own, other)).unwrap_or_default();
        let all: Vec<String> = std::iter::once(profile::describe(own)).chain(settings).collect();
        Some(format!("{name}: {}", all.join("; ")))
    };
    let (before, after) = (told(before, was, is), told(now, is, was));
    Decides { what: "profile".to_owned(), before, after }
}

/// The identity of a load, also of one that no launch has.
fn load(side: Side<'_>, name: &str) -> String {
    match side.setup.load(name) {
        "" => side.setup.program.profiles.get(name).map(|p| profile::id(p)).unwrap_or_default(),
        id => id.to_owned(),
    }
}

/// Profiles of `confirm on` or `curve on`: which they are, and what they are where they have kept their names.
fn listed(
    what: &str,
    (old, before): (Side<'_>, &Vec<String>),
    (new, now): (Side<'_>, &Vec<String>),
    out: &mut Vec<Decides>,
) {
    let ids = |side: Side<'_>, names: &[String]| {
        let mut ids: Vec<String> = names.iter().map(|n| load(side, n)).collect();
        ids.sort_unstable();
        ids
    };
    if ids(old, before) == ids(new, now) {
        return;
    }
    if before == now {
        let differ = |n: &&String| load(old, n) != load(new, n);
        let all: Vec<Decides> = now.iter().filter(differ).map(|n| changed(old, new, n, n)).collect();
        // the objective's have been told
        out.extend(all.into_iter().filter(|d| !out.contains(d)).collect::<Vec<_>>());
        return;
    }
    let list = |names: &[String]| (!names.is_empty()).then(|| names.join(", "));
    out.push(Decides { what: what.to_owned(), before: list(before), after: list(now) });
}

fn requirements(old: Side<'_>, new: Side<'_>, out: &mut Vec<Decides>) {
    let (before, now) = (&old.setup.study.require, &new.setup.study.require);
    // a profile by what it is: a rename is no change
    let same_on = |b: &Require, n: &Require| match (&b.on, &n.on) {
        (Some(b), Some(n)) => load(old, b) == load(new, n),
        (b, n) => b == n,
    };
    let same = |b: &Require, n: &Require| b.expr == n.expr && same_on(b, n);
    let text = |r: &Require| match &r.on {
        Some(on) => format!("{} on {on}", r.text),
        None => r.text.clone(),
    };
    let gone: Vec<&Require> = before.iter().filter(|b| !now.iter().any(|n| same(b, n))).collect();
    let came: Vec<&Require> = now.iter().filter(|n| !before.iter().any(|b| same(b, n))).collect();
    // of what reads the same, a param, a metric or a profile has changed
    let reads_same = |a: &Require, b: &Require| text(a) == text(b);
    let require = |before, after| Decides { what: "require".to_owned(), before, after };
    for r in &gone {
        let Some(n) = came.iter().find(|n| reads_same(n, r)) else {
            out.push(require(Some(text(r)), None));
            continue;
        };
        if r.expr != n.expr {
            let (before, after) = told((&text(r), &r.expr), (&text(n), &n.expr));
            out.push(require(Some(before), Some(after)));
        }
        if let Some(on) = r.on.as_ref().filter(|_| !same_on(r, n)) {
            let profile = changed(old, new, on, on);
            if !out.contains(&profile) {
                out.push(profile);
            }
        }
    }
    for r in came.iter().filter(|n| !gone.iter().any(|r| reads_same(n, r))) {
        out.push(require(None, Some(text(r))));
    }
}

fn rules(before: &[Prune], now: &[Prune], out: &mut Vec<Decides>) {
    let same = |a: &Prune, b: &Prune| a.when == b.when && a.after == b.after;
    let text = |p: &Prune| match p.after {
        Some(n) => format!("{} after {n} requests", p.text),
        None => p.text.clone(),
    };
    for p in before.iter().filter(|p| !now.iter().any(|n| same(p, n))) {
        let renewed = now.iter().find(|n| n.name == p.name);
        let (before, after) = match renewed {
            Some(n) => {
                let (before, after) = told((&text(p), &p.when), (&text(n), &n.when));
                (before, Some(after))
            }
            None => (text(p), None),
        };
        out.push(Decides { what: format!("prune {}", p.name), before: Some(before), after });
    }
    for p in now.iter().filter(|p| !before.iter().any(|b| same(p, b) || b.name == p.name)) {
        out.push(Decides { what: format!("prune {}", p.name), before: None, after: Some(text(p)) });
    }
}

/// Steps by name, else by what they offer: their bases, guards, picks and order.
fn steps(old: Side<'_>, new: Side<'_>, out: &mut Vec<Decides>) {
    let (before, now) = (&old.setup.study.steps, &new.setup.study.steps);
    let partner = partners(old, new);
    let of_old: HashMap<usize, usize> = partner.iter().map(|(n, o)| (*o, *n)).collect();
    for (i, step) in before.iter().enumerate().filter(|(i, _)| !of_old.contains_key(i)) {
        let was = describe(old.setup.study, i);
        out.push(Decides { what: format!("step {}", step.name), before: Some(was), after: None });
    }
    for (i, step) in now.iter().enumerate() {
        let Some(&o) = partner.get(&i) else {
            let is = describe(new.setup.study, i);
            out.push(Decides { what: format!("step {}", step.name), before: None, after: Some(is) });
            continue;
        };
        let was = &before[o];
        let mut differs = |what: &str, same: bool, before: Option<String>, after: Option<String>| {
            if !same {
                out.push(Decides { what: format!("step {}, {what}", step.name), before, after });
            }
        };
        let same_base = match (&was.from, &step.from) {
            (From::Step(a), From::Step(b)) => of_old.get(a) == Some(b),
            (From::Engine(a), From::Engine(b)) => engines::alike((old, a), (new, b)),
            (a, b) => a == b,
        };
        differs("from", same_base, Some(from(old.setup.study, was)), Some(from(new.setup.study, step)));
        let condition = |s: &Step| s.when.as_ref().map(|g| g.expr.clone());
        let (before, after) = guards(was, step);
        differs("when", condition(was) == condition(step), before, after);
        differs("pick", picked(was) == picked(step), picked(was), picked(step));
        let budget = |s: &Step| s.budget.as_ref().map(Budget::to_string);
        differs("budget", was.budget == step.budget, budget(was), budget(step));
        differs("by", was.search == step.search, Some(search(was)), Some(search(step)));
    }
    let order: Vec<usize> = (0..now.len()).filter_map(|i| partner.get(&i).copied()).collect();
    if !order.is_sorted() {
        let names = |study: &Study, all: &mut dyn Iterator<Item = usize>| {
            Some(all.map(|i| study.steps[i].name.clone()).collect::<Vec<_>>().join(", "))
        };
        let (mut sorted, mut kept) = (order.clone(), (0..now.len()).filter(|i| partner.contains_key(i)));
        sorted.sort_unstable();
        out.push(Decides {
            what: "order of steps".to_owned(),
            before: names(old.setup.study, &mut sorted.into_iter()),
            after: names(new.setup.study, &mut kept),
        });
    }
}

/// The guards of a step in both revisions.
fn guards(was: &Step, is: &Step) -> (Option<String>, Option<String>) {
    match (&was.when, &is.when) {
        (Some(a), Some(b)) => {
            let (before, after) = told((&a.text, &a.expr), (&b.text, &b.expr));
            (Some(before), Some(after))
        }
        (a, b) => (a.as_ref().map(|g| g.text.clone()), b.as_ref().map(|g| g.text.clone())),
    }
}

/// Which step of the old revision each of the new one is.
fn partners(old: Side<'_>, new: Side<'_>) -> HashMap<usize, usize> {
    let (before, now) = (&old.setup.study.steps, &new.setup.study.steps);
    let mut out: HashMap<usize, usize> = HashMap::new();
    let places: HashMap<(Option<&str>, &str), usize> =
        before.iter().enumerate().map(|(i, s)| ((s.track.as_deref(), s.name.as_str()), i)).collect();
    for (i, step) in now.iter().enumerate() {
        if let Some(o) = places.get(&(step.track.as_deref(), step.name.as_str())) {
            out.insert(i, *o);
        }
    }
    let mut taken: HashSet<usize> = out.values().copied().collect();
    for (i, step) in now.iter().enumerate() {
        if out.contains_key(&i) {
            continue;
        }
        let mine = offers(new, i);
        let same =
            |o: &usize| !taken.contains(o) && before[*o].track == step.track && offers(old, *o) == mine;
        if let Some(o) = (0..before.len()).find(same) {
            taken.insert(o);
            out.insert(i, o);
        }
    }
    out
}

/// What a step offers, as configurations.
fn offers(side: Side<'_>, step: usize) -> Vec<Option<Id>> {
    let view = side.walk.steps.iter().find(|v| v.step == step);
    let rows =
        view.into_iter().flat_map(|v| &v.rows).filter(|r| r.role == crate::judge::walk::Role::Candidate);
    rows.map(|r| r.config.as_ref().map(crate::plan::Config::key)).collect()
}

fn describe(study: &Study, step: usize) -> String {
    let step = &study.steps[step];
    let guard = step.when.as_ref().map(|g| format!(", only when {}", g.text)).unwrap_or_default();
    let count = step.space.len();
    let candidates = if count == 1 { "candidate" } else { "candidates" };
    format!("{count} {candidates} over {}{guard}", from(study, step))
}

fn from(study: &Study, step: &Step) -> String {
    match &step.from {
        From::Best => "best".to_owned(),
        From::Step(i) => study.steps[*i].name.clone(),
        From::Engine(name) => name.clone(),
    }
}

/// The label of the candidate that a step picks by hand.
pub fn picked(step: &Step) -> Option<String> {
    step.pick.as_ref().map(|p| match &p.choice {
        Choice::Base => "the base".to_owned(),
        Choice::Points(points) => Labels::of(&step.space).label(&points.iter().collect::<Vec<_>>()),
    })
}

fn search(step: &Step) -> String {
    format!("{:?}", step.search).to_lowercase()
}
