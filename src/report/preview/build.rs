//! The document from the walk.

use std::collections::HashMap;
use std::sync::Arc;

use super::budgets::{self, Account, Ahead, Needs};
use super::candidate::{Around, Candidates, baseline, start};
use super::document::{
    Counts, Gpus, Launched, Launches, Objective, Plan, Prediction, Profile, Publish, Require, Rule,
    SideBySide, Step,
};
use super::states::{State, States};
use crate::judge::forecast::{self, By, Costs};
use crate::judge::neighbours;
use crate::judge::{Next, Outcome, Setup, Walk};
use crate::lang::sema::program::{self, Owner, Prune, Repeat, Study};
use crate::plan::{command, profile};
use crate::report::resolved::meaning;

/// Why results of a trial do not count any more, by configuration and load.
pub type Again = HashMap<(String, String), String>;

/// What a plan is made from. It is made from the results that the setup holds; the costs say how long launches take.
pub struct Material<'a> {
    pub setup: &'a Setup<'a>,
    pub walk: &'a Walk,
    states: States<'a>,
    load: String,
    launches: usize,
    again: &'a Again,
    time: Option<Time>,
    sides: Option<SideBySide>,
    costs: &'a Costs,
    account: Option<Account<'a>>,
    engines: Vec<Launched>,
}

/// What is predicted of all that is still to come, at most. Seconds.
struct Time {
    wall_s: f64,
    gpu_s: f64,
    by: By,
}

impl<'a> Material<'a> {
    pub fn new(
        setup: &'a Setup<'a>,
        walk: &'a Walk,
        next: &Next,
        costs: &'a Costs,
        again: &'a Again,
    ) -> Self {
        let mut states = States::new(setup, walk);
        let profile = setup.profiles().into_iter().next().unwrap_or_default();
        let decided = matches!(next, Next::Decided);
        let confirming = confirming(setup, walk, decided, &mut states.counts);
        let offers = offers(setup, &mut states);
        let launches = if decided { 0 } else { states.launches + confirming + offers };
        let time = time(setup, walk, &states, costs, (confirming, offers)).filter(|_| launches > 0);
        let load = setup.load(&profile).to_owned();
        Self {
            setup,
            walk,
            load,
            states,
            launches,
            again,
            time,
            sides: None,
            costs,
            account: None,
            engines: Vec::new(),
        }
    }

    /// With what was spent already, the plan says what budgets leave room for.
    #[must_use]
    pub fn spent(mut self, account: Account<'a>) -> Self {
        self.account = Some(account);
        self
    }

    /// With how its engines are launched, the plan shows what would be started.
    #[must_use]
    pub fn launched(mut self, engines: Vec<Launched>) -> Self {
        self.engines = engines;
        self
    }

    pub(super) fn account(&self) -> Option<&Account<'a>> {
        self.account.as_ref()
    }

    pub(super) fn costs(&self) -> &Costs {
        self.costs
    }

    /// What each step of the walk still needs.
    pub(super) fn needs(&self) -> &[Needs] {
        &self.states.needs
    }

    /// What all that is still to come takes.
    fn ahead(&self) -> Ahead {
        let nothing = (self.launches == 0).then_some(0.0);
        let baseline = self.walk.baseline.as_ref().is_some_and(|(_, judged)| judged.is_none());
        Ahead {
            wall_s: self.time.as_ref().map(|t| t.wall_s).or(nothing),
            gpu_s: self.time.as_ref().map(|t| t.gpu_s).or(nothing),
            trials: self.states.to_come + usize::from(baseline),
        }
    }

    /// The same where launches run side by side: `room` says how many of so many GPUs each. A check of neighbours that is still to be
    /// made takes its part.
    #[must_use]
    pub fn side_by_side(mut self, sides: SideBySide, room: impl Fn(u32) -> usize, costs: &Costs) -> Self {
        self.sides = Some(sides);
        let Some((time, (baseline, _))) = self.time.as_mut().zip(self.walk.baseline.as_ref()) else {
            return self;
        };
        if sides.harmless == Some(false) || !sides.pays {
            return self;
        }
        if let Some(all) = forecast::forecast(self.setup, self.walk, costs) {
            time.wall_s *= all.share_of_wall(self.walk, room);
        }
        if sides.harmless.is_none()
            && let Some(one) = forecast::of_launch(self.setup, costs, baseline, &self.setup.profiles())
        {
            time.wall_s += one * neighbours::TURNS as f64;
            time.gpu_s += one * f64::from(baseline.gpus()) * sides.check as f64;
        }
        self
    }
}

/// The plan of a study.
pub fn plan<'a>(m: &'a Material<'a>) -> Plan<'a> {
    let study = m.setup.study;
    Plan {
        schema: "perflab.plan/1",
        study: &study.name,
        title: &study.title,
        simulated: m.walk.baseline.as_ref().is_some_and(|(c, _)| c.engine.simulated()),
        set: &m.setup.program.given,
        site: m.setup.program.site.as_ref().map(|s| s.name.as_str()),
        engines: m.engines.clone(),
        model: &study.model,
        gpus: study.gpus.as_ref().map(|g| Gpus { count: g.count, of: g.of.as_deref() }),
        side_by_side: m.sides,
        objective: study.objective.as_ref().map(|o| Objective {
            expr: &o.text,
            means: meaning(&o.text, &o.expr),
            direction: if o.maximize { "maximize" } else { "minimize" },
            profiles: &o.profiles,
        }),
        adopt: study.adopt,
        repeat: match study.repeat {
            Repeat::Auto => None,
            Repeat::Times(n) => Some(n),
        },
        require: study
            .require
            .iter()
            .map(|r| Require {
                expr: r.text.clone(),
                means: meaning(&r.text, &r.expr),
                on: r.on.clone(),
                implied: r.implied,
            })
            .collect(),
        profiles: profiles(m.setup),
        loads: loads(m.setup),
        launches: Launches { max: m.launches },
        trials: Counts { ..m.states.counts },
        gpu_time_s: gpu_time(m),
        ends_in_s: m.time.as_ref().map(|t| t.wall_s),
        budgets: budgets::limits(m, m.ahead()),
        baseline: baseline(m.setup, m.walk, m.again),
        baseline_title: m
            .walk
            .baseline
            .as_ref()
            .map_or(&study.baseline, |(c, _)| m.setup.engine_label(&c.engine)),
        whole: false,
        steps: (0..m.walk.steps.len()).map(|at| step(m, at)).collect(),
        curve: &study.curve,
        confirm: if study.objective.is_some() { &study.confirm } else { &[] },
        rules: rules(m, study),
        publish: publish(m.walk),
        notes: &study.notes,
        against: None,
    }
}

fn publish(walk: &Walk) -> Option<Publish> {
    let (config, _) = walk.baseline.as_ref()?;
    let command::Published { added, hidden, .. } = command::published(config);
    (!added.is_empty() || !hidden.is_empty()).then_some(Publish { added, hidden })
}

fn profiles<'a>(setup: &'a Setup<'_>) -> Vec<Profile<'a>> {
    let study = setup.study;
    let names = study.objective.as_ref().map_or(&study.confirm, |o| &o.profiles);
    let described = names.iter().map(|name| Profile {
        name,
        id: setup.load(name),
        load: setup.program.profiles.get(name).map(|p| profile::describe(p)).unwrap_or_default(),
    });
    described.collect()
}

/// Every load that the study sends, those of `confirm on` and of requirements among them.
fn loads(setup: &Setup<'_>) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    for name in setup.loads() {
        let known = out.iter().any(|(n, _)| *n == name);
        if let Some(p) = setup.program.profiles.get(&name).filter(|_| !known) {
            out.push((name, profile::describe(p)));
        }
    }
    out
}

fn step<'a>(m: &'a Material<'a>, at: usize) -> Step<'a> {
    let study = m.setup.study;
    let view = &m.walk.steps[at];
    let declared = &study.steps[view.step];
    let around = Around {
        states: &m.states,
        load: &m.load,
        name: &declared.name,
        again: m.again,
        prune: &study.prune,
    };
    Step {
        name: &declared.name,
        title: &declared.title,
        track: declared.track.as_deref(),
        heading: heading(m.setup, declared),
        base: study.base_name(view.step),
        base_title: m
            .setup
            .program
            .engines
            .get(study.base_name(view.step))
            .map(|engine| m.setup.engine_label(engine)),
        contest: &declared.contest,
        guard: declared.when.as_ref().map(|g| g.text.as_str()),
        pick: declared.pick.as_ref().map(|p| p.because.as_str()),
        picked: super::decides::picked(declared),
        track_notes: study.begins(view.step).map_or(&[], |engine| notes_of(study, engine)),
        notes: &declared.notes,
        start: m.states.start(at).map(|row| start(view, row, at, around)),
        candidates: Candidates { view, at, around },
    }
}

fn notes_of<'a>(study: &'a Study, engine: &str) -> &'a [String] {
    study.tracks.iter().find(|t| t.engine == engine).map_or(&[], |t| &t.notes)
}

fn heading(setup: &Setup<'_>, step: &program::Step) -> String {
    let track = step.track.as_ref().map(|name| setup.track_label(name));
    track.map_or_else(|| step.title.clone(), |track| format!("{track}: {}", step.title))
}

/// Rules with how many candidates each prunes now, and may prune later.
fn rules<'a>(m: &Material<'_>, study: &'a Study) -> Vec<Rule<'a>> {
    // what a rule prunes over the base as it is now it need not prune over the base that there will be
    let (mut now, mut later) = (vec![0; study.prune.len()], vec![0; study.prune.len()]);
    // most candidates share the rules that are open for them
    let mut open: HashMap<*const [usize], (&[usize], usize)> = HashMap::new();
    for (at, view) in m.walk.steps.iter().enumerate() {
        for (i, row) in view.rows.iter().enumerate() {
            let by = match m.states.of(at, i) {
                State::Pruned => &mut now,
                State::Later if row.judged.outcome == Outcome::Pruned => &mut later,
                State::ToMeasure | State::Later => {
                    open.entry(Arc::as_ptr(&row.open_rules)).or_insert((&row.open_rules, 0)).1 += 1;
                    continue;
                }
                State::Measured | State::SameAs | State::Skipped => continue,
            };
            if let Some(rule) = row.pruned_by {
                by[rule] += 1;
            }
        }
    }
    for (rules, candidates) in open.into_values() {
        for rule in rules {
            later[*rule] += candidates;
        }
    }
    let rule = |(p, (prunes, may_prune)): (&'a Prune, (usize, usize))| Rule {
        name: &p.name,
        reason: &p.reason,
        when: &p.text,
        after: p.after,
        settled: settled(p),
        prunes,
        may_prune,
    };
    study.prune.iter().zip(now.into_iter().zip(later)).map(rule).collect()
}

fn settled(p: &Prune) -> &'static str {
    let with_baseline_alone = p.when.compares_with(Owner::Baseline) && !p.when.compares_with(Owner::Best);
    match (p.when.is_static(), p.after, p.when.compares()) {
        (false, None, false) if p.when.may_settle(true) => {
            "before anything starts where the configuration settles it, else after a candidate's run"
        }
        (true, _, _) => "before anything starts",
        (false, Some(_), _) => "during a candidate's load",
        (false, None, true) if with_baseline_alone => "against the baseline, after a candidate's run",
        (false, None, true) => "against the incumbent, after a candidate's run",
        (false, None, false) => "after a candidate's run",
    }
}

/// Every candidate that is still to come may be offered, and is then measured on the profiles of `require … on`; their trials are
/// counted, and those of the baseline.
fn offers(setup: &Setup<'_>, states: &mut States<'_>) -> usize {
    let elsewhere = setup.elsewhere().count();
    if elsewhere == 0 || setup.study.objective.is_none() {
        return 0;
    }
    let new = elsewhere * (states.to_come + 1);
    states.counts.max += new;
    states.counts.to_measure += new;
    states.to_come * setup.repeat()
}

/// The launches that confirm, at most; their trials are counted.
fn confirming(setup: &Setup<'_>, walk: &Walk, decided: bool, counts: &mut Counts) -> usize {
    let study = setup.study;
    if study.objective.is_none() || study.confirm.is_empty() {
        return 0;
    }
    let others = study.confirm.iter().filter(|p| !setup.profiles().contains(p)).count();
    counts.max += 2 * others;
    *(if decided { &mut counts.measured } else { &mut counts.to_measure }) += 2 * others;
    match walk.needs.iter().filter(|n| n.confirming).count() {
        0 => 2 * setup.repeat(),
        wanted => wanted,
    }
}

/// What the launches still to come take: those of steps, the confirming ones, and those of offers on other profiles.
fn time(
    setup: &Setup<'_>,
    walk: &Walk,
    states: &States<'_>,
    costs: &Costs,
    (confirming, offers): (usize, usize),
) -> Option<Time> {
    let (baseline, _) = walk.baseline.as_ref()?;
    let elsewhere: Vec<String> = setup.elsewhere().map(str::to_owned).collect();
    let of = |profiles: &[String]| forecast::of_launch(setup, costs, baseline, profiles);
    let step_s = of(&setup.profiles())?;
    let after_s = of(&forecast::confirmed(setup))? * confirming as f64 + of(&elsewhere)? * offers as f64;
    Some(Time {
        wall_s: step_s * states.launches as f64 + after_s,
        gpu_s: step_s * states.gpu_launches + after_s * f64::from(baseline.gpus()),
        by: costs.by()?,
    })
}

fn gpu_time(m: &Material<'_>) -> Prediction {
    let note = || m.costs.note().map(str::to_owned);
    match &m.time {
        Some(time) => Prediction { predicted: Some(time.gpu_s), by: time.by.as_str(), note: note() },
        None if m.launches == 0 => Prediction { predicted: Some(0.0), by: By::Journal.as_str(), note: None },
        None => Prediction { predicted: None, by: "none", note: note() },
    }
}
