//! Studies that need several GPUs and do not say how many there are: told with the number that the largest launch takes, as far as that
//! is known before anything runs.

use std::sync::Arc;

use foldhash::{HashSet, HashSetExt};

use super::candidate::{Candidate, Ruling, ruling};
use super::config::Config;
use super::identity::Id;
use super::prepared::Prepared;
use super::reach::Asked;
use crate::lang::Diagnostic;
use crate::lang::codes::Code;
use crate::lang::diag::About;
use crate::lang::sema::program::{Change, Engine, Expr, From, Point, Site, Step, Study, Via};

/// Configurations that are looked at; what comes behind them may need more still.
const MOST_LOOKED_AT: usize = 4096;

/// What is said of a study without `gpus`; `engines` are all that it names.
pub(super) fn unstated<'a>(
    site: Option<&Site>,
    study: &'a Study,
    engines: &[Arc<Engine>],
    prepared: &mut Prepared<'a>,
) -> Option<Diagnostic> {
    // the GPUs of a server that runs already are its keeper's
    let engines: Vec<Arc<Engine>> = engines.iter().filter(|e| !runs_already(site, e)).cloned().collect();
    if study.gpus.is_some() || engines.is_empty() {
        return None;
    }
    let declared = engines.iter().map(|e| (Config::declared(e, study).gpus(), e));
    let (needed, engine) = declared.fold(None, |most: Option<(u32, _)>, next| match most {
        Some(most) if most.0 >= next.0 => Some(most),
        _ => Some(next),
    })?;
    let mut search = Search::new(study, &engines, prepared);
    search.most = needed;
    let sizes: Vec<Asked> = engines.iter().map(|e| Asked::of(&[], true, e)).collect();
    let asks = |p: &Point| p.changes.iter().any(|c| sizes.iter().any(|a| a.touches(c)));
    let (mut left, decided) = (Vec::new(), study.steps.iter().any(|s| s.space.any(&asks)));
    for step in study.steps.iter().filter(|_| decided) {
        let bases = search.look(step, &left);
        left.push(bases);
    }
    let about = if search.whose.is_some() { About::Plain } else { About::Engine(engine.name.clone()) };
    let what = search.whose.unwrap_or_else(|| format!("the engine `{}` needs", engine.name));
    let needed = Some(search.most).filter(|n| *n > 1)?;
    let message = format!("{what} {needed} GPUs, and the study does not say how many there are");
    let d = Diagnostic::new(Code::GpusUnstated, study.span, message).label("without `gpus`");
    let d = d.about(about);
    Some(d.help(format!("add `gpus {needed} of \"H100\"`, with a text that the device's name holds")))
}

fn runs_already(site: Option<&Site>, engine: &Engine) -> bool {
    let via = site.map_or_else(|| engine.via.clone(), |site| site.via(engine));
    matches!(via, Via::Url(_))
}

struct Search<'a, 'b> {
    study: &'a Study,
    prepared: &'b mut Prepared<'a>,
    /// what decides on GPUs under each engine, and what may prune a candidate
    asked: Vec<Asked>,
    budget: usize,
    most: u32,
    /// the candidate that needs so many
    whose: Option<String>,
}

impl<'a, 'b> Search<'a, 'b> {
    fn new(study: &'a Study, engines: &[Arc<Engine>], prepared: &'b mut Prepared<'a>) -> Self {
        let rules: Vec<&Expr> = study.prune.iter().map(|r| &r.when).collect();
        let asked = engines.iter().map(|e| Asked::of(&rules, true, e)).collect();
        Self { study, prepared, asked, budget: MOST_LOOKED_AT, most: 1, whose: None }
    }

    /// Looks at a step's candidates, and says on what the next step may stand.
    fn look(&mut self, step: &'a Step, left: &[Vec<Config>]) -> Vec<Config> {
        let mut bases = self.bases(step, left);
        let mut seen: HashSet<Id> = bases.iter().map(Config::key).collect();
        let combinations = self.combinations(step);
        for (nth, base) in bases.clone().into_iter().enumerate() {
            // what an earlier step leaves is not known yet
            let needs = if nth == 0 { "needs" } else { "may need" };
            for points in &combinations {
                if self.budget == 0 {
                    return bases;
                }
                self.budget -= 1;
                let config = base.with(points, self.prepared);
                let made = Candidate { label: String::new(), config };
                let runs = matches!(ruling(&made, self.prepared), Ruling::Run { .. });
                let Some(config) = made.config.ok().filter(|_| runs) else { continue };
                if config.gpus() > self.most {
                    let label = self.prepared.label(points, &step.space);
                    self.most = config.gpus();
                    self.whose = Some(format!("`{label}` of the step `{}` {needs}", step.name));
                }
                if seen.insert(config.key()) {
                    bases.push(config);
                }
            }
        }
        bases
    }

    /// What a step may start from, as far as it has to do with GPUs.
    fn bases(&mut self, step: &'a Step, left: &[Vec<Config>]) -> Vec<Config> {
        let declared = match &step.from {
            From::Engine(name) => name,
            From::Best => step.track.as_ref().unwrap_or(&self.study.baseline),
            From::Step(at) => return left.get(*at).cloned().unwrap_or_default(),
        };
        let mut out: Vec<Config> = self.prepared.declared(declared).into_iter().cloned().collect();
        if matches!(step.from, From::Best) {
            let own = |s: &Step| step.track.is_none() || s.track == step.track;
            let before = self.study.steps.iter().zip(left).filter(|(s, _)| own(s));
            out.extend(before.flat_map(|(_, configs)| configs.iter().cloned()));
        }
        let mut seen = HashSet::new();
        out.retain(|c| seen.insert(c.key()));
        out
    }

    /// The candidates of a step, each with only those points that matter here, no two alike.
    fn combinations(&self, step: &'a Step) -> Vec<Vec<&'a Point>> {
        let tells = |p: &Point| {
            let told = |c: &Change| matches!(c, Change::Engine(_)) || self.asked.iter().any(|a| a.touches(c));
            p.changes.iter().any(told)
        };
        if !step.space.any(&tells) {
            return Vec::new();
        }
        let mut seen: HashSet<Vec<*const Point>> = HashSet::new();
        let all = (0..step.space.len().min(MOST_LOOKED_AT)).map(|i| {
            let mut points = step.space.candidate(i);
            points.retain(|p| tells(p));
            points
        });
        all.filter(|points| seen.insert(points.iter().map(|p| std::ptr::from_ref::<Point>(p)).collect()))
            .collect()
    }
}
