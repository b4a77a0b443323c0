//! Which configurations a study can come to, as far as a condition can tell them apart: each engine with, for every axis that sets
//! something the condition names, any of its points or none.
//!
//! That is more than the steps will really form, never less: what holds for all of these holds for every candidate.

use std::borrow::Cow;
use std::sync::Arc;

use foldhash::fast::RandomState;
use foldhash::{HashMap, HashMapExt, HashSet};
use indexmap::{IndexMap, IndexSet};

use super::config::Config;
use super::identity::Id;
use crate::lang::Program;
use crate::lang::sema::program::{Change, Engine, EnvSetting, Expr, From, Point, Step, Study};
use crate::lang::sema::schema::{Found, key};

/// More combinations than this are not looked at.
const MOST_COMBINATIONS: usize = 2048;
/// So many axes have more combinations, whatever their points.
const TOO_MANY_AXES: usize = MOST_COMBINATIONS.ilog2() as usize + 1;

/// Every engine that a study names.
pub fn engines(program: &Program, study: &Study) -> Vec<Arc<Engine>> {
    // also one of which no step could be read
    let tracks = study.tracks.iter().map(|t| t.engine.as_str());
    named(program, std::iter::once(study.baseline.as_str()).chain(tracks), study.steps.iter())
}

/// The engines that the incumbent may have which a step's guard is asked about: the one that its track or the study begins with, and
/// what stands before the step.
pub fn incumbents(program: &Program, study: &Study, step: &Step) -> Vec<Arc<Engine>> {
    if let Some(track) = &step.track {
        return named(program, [track.as_str()], []);
    }
    let before = study.steps.iter().take_while(|s| !std::ptr::eq(*s, step));
    // where a track stands of which no step could be read, nobody knows
    let unread = |engine: &&str| !study.steps.iter().any(|s| s.track.as_deref() == Some(*engine));
    let tracks = study.tracks.iter().map(|t| t.engine.as_str()).filter(unread);
    named(program, std::iter::once(study.baseline.as_str()).chain(tracks), before)
}

/// These engines and those that steps may leave behind.
pub fn named<'a>(
    program: &Program,
    first: impl IntoIterator<Item = &'a str>,
    steps: impl IntoIterator<Item = &'a Step>,
) -> Vec<Arc<Engine>> {
    let mut names: IndexSet<&str, RandomState> = first.into_iter().collect();
    for step in steps {
        names.extend(step.track.as_deref());
        if let From::Engine(name) = &step.from {
            names.insert(name);
        }
        for point in step.space.points() {
            let changes = point.changes.iter();
            names.extend(
                changes.filter_map(|c| if let Change::Engine(n) = c { Some(n.as_str()) } else { None }),
            );
        }
    }
    names.iter().filter_map(|n| program.engines.get(*n).cloned()).collect()
}

/// What conditions ask a configuration for.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// flags under all their spellings, as keys
    pub flags: HashSet<String>,
    /// variables of the server
    pub env: HashSet<String>,
    pub model: bool,
}

impl Asked {
    pub fn of(conditions: &[&Expr], mut gpus: bool, engine: &Engine) -> Self {
        let mut asked = Self::default();
        for condition in conditions {
            condition.walk(&mut |e| match e {
                Expr::Flag(name) | Expr::Given(name) => asked.flag(name, engine),
                Expr::Env(name) => drop(asked.env.insert(name.clone())),
                Expr::Model => asked.model = true,
                Expr::Gpus { .. } => gpus = true,
                _ => {}
            });
        }
        if gpus {
            let counting = engine.schema.marked().filter_map(|s| Some((s, s.uses_gpus.as_ref()?)));
            for (spec, uses) in counting {
                asked.flag(&spec.names[0], engine);
                uses.unless.iter().for_each(|u| asked.flag(u, engine));
            }
        }
        asked
    }

    fn flag(&mut self, name: &str, engine: &Engine) {
        self.flags.insert(key(name));
        self.flags.insert(flag_key(name).into_owned());
        if let Found::Known(spec, _) = engine.schema.find(name, engine.version.as_deref()) {
            self.flags.extend(spec.names.iter().chain(&spec.negated).map(|n| key(n)));
        }
    }

    pub fn touches(&self, change: &Change) -> bool {
        match change {
            Change::Model(_) => self.model,
            Change::Env(EnvSetting { name, .. }) | Change::UnsetEnv(name) => self.env.contains(name),
            Change::Flag { name, .. } | Change::Raw { name, .. } | Change::UnsetFlag { name, .. } => {
                !self.flags.is_empty() && self.flags.contains(&*flag_key(name))
            }
            Change::Engine(_) => false,
        }
    }
}

/// The points of a study's steps, by what they change: a study is asked about many conditions.
pub struct Offered<'a> {
    study: &'a Study,
    points: Vec<&'a Point>,
    /// indices of points, by the key of a flag
    by_flag: HashMap<Cow<'a, str>, Vec<usize>>,
    with_model: Vec<usize>,
    by_env: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Offered<'a> {
    pub fn of(study: &'a Study) -> Self {
        Self::by(study, &study.steps)
    }

    /// Those of some of its steps.
    pub fn by(study: &'a Study, steps: impl IntoIterator<Item = &'a Step>) -> Self {
        let points: Vec<&Point> = steps.into_iter().flat_map(|s| s.space.points()).collect();
        let mut by_flag: HashMap<Cow<'_, str>, Vec<usize>> = HashMap::new();
        let (mut with_model, mut by_env) = (Vec::new(), HashMap::new());
        for (i, change) in points.iter().enumerate().flat_map(|(i, p)| p.changes.iter().map(move |c| (i, c)))
        {
            match change {
                Change::Model(_) => with_model.push(i),
                Change::Env(EnvSetting { name, .. }) | Change::UnsetEnv(name) => {
                    by_env.entry(name.as_str()).or_insert_with(Vec::new).push(i);
                }
                Change::Flag { name, .. } | Change::Raw { name, .. } | Change::UnsetFlag { name, .. } => {
                    by_flag.entry(flag_key(name)).or_default().push(i);
                }
                Change::Engine(_) => {}
            }
        }
        Self { study, points, by_flag, with_model, by_env }
    }

    /// Those that change what is asked for, in written order.
    fn touched(&self, asked: &Asked) -> impl Iterator<Item = &'a Point> {
        let by_flag = asked.flags.iter().filter_map(|f| self.by_flag.get(f.as_str())).flatten();
        let models = self.with_model.iter().filter(|_| asked.model);
        let variables = asked.env.iter().filter_map(|name| self.by_env.get(name.as_str())).flatten();
        let mut found: Vec<usize> = by_flag.chain(models).chain(variables).copied().collect();
        found.sort_unstable();
        found.dedup();
        found.into_iter().map(|i| self.points[i])
    }
}

/// The flags that a text says, as keys.
pub(super) fn flags_in(text: &str) -> HashSet<String> {
    let in_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let flags = text.split(|c| !in_word(c)).filter(|w| w.starts_with('-'));
    flags.map(|w| key(&flag_key(w))).collect()
}

/// The key of the flag that a name belongs to; a JSON key belongs to its flag.
pub(super) fn flag_key(name: &str) -> Cow<'_, str> {
    // names are short: bytes one by one are faster than a search
    let end = name.bytes().position(|b| b == b'.').unwrap_or(name.len());
    let flag = &name[..end];
    if flag.bytes().any(|b| b == b'_') { Cow::Owned(key(flag)) } else { Cow::Borrowed(flag) }
}

/// The configurations of one engine that conditions can tell apart.
pub struct Reach<'a> {
    base: Config,
    axes: Vec<Vec<&'a Point>>,
    asked: Asked,
}

impl<'a> Reach<'a> {
    /// For conditions, and for the number of GPUs if that is asked.
    pub fn new(engine: &Arc<Engine>, offered: &Offered<'a>, conditions: &[&Expr], gpus: bool) -> Self {
        Self::over(Config::declared(engine, offered.study), offered, conditions, gpus)
    }

    /// The same over a configuration.
    pub fn over(base: Config, offered: &Offered<'a>, conditions: &[&Expr], gpus: bool) -> Self {
        let asked = Asked::of(conditions, gpus, &base.engine);
        let mut axes: IndexMap<&str, IndexMap<&str, &Point, RandomState>, RandomState> = IndexMap::default();
        for point in offered.touched(&asked) {
            axes.entry(&point.axis).or_default().insert(&point.name, point);
            if axes.len() == TOO_MANY_AXES {
                break;
            }
        }
        let axes = axes.into_values().map(|points| points.into_values().collect()).collect();
        Self { base, axes, asked }
    }

    /// Whether a point changes something that was asked for.
    pub fn tells(&self, point: &Point) -> bool {
        point.changes.iter().any(|c| self.asked.touches(c))
    }

    /// The key of the configuration that none of these points is set over, where no candidate is that: each of them sets what is asked
    /// for.
    pub fn only_base(&self, study: &Study) -> Option<Id> {
        let steps = study.steps.iter();
        let told = |s: &Step| s.track.is_none() && s.space.each_holds(&|p| self.tells(p));
        steps.into_iter().all(told).then(|| self.base.key())
    }

    /// Whether something holds for each of them. `None` where there are too many; `budget` counts those that may still be looked at.
    pub fn all(&self, budget: &mut usize, holds: &mut dyn FnMut(&Config) -> bool) -> Option<bool> {
        let many = self.axes.iter().fold(1_usize, |n, a| n.saturating_mul(a.len() + 1));
        if many > MOST_COMBINATIONS.min(*budget) {
            return None;
        }
        *budget -= many;
        Some(self.each(&self.base, &self.axes, holds))
    }

    fn each(&self, config: &Config, axes: &[Vec<&Point>], holds: &mut dyn FnMut(&Config) -> bool) -> bool {
        let Some((first, rest)) = axes.split_first() else { return holds(config) };
        self.each(config, rest, holds)
            && first.iter().all(|point| self.with(config, point).is_none_or(|c| self.each(&c, rest, holds)))
    }

    /// A configuration with what is asked for of a point set over it; `None` if it cannot be.
    fn with(&self, config: &Config, point: &Point) -> Option<Config> {
        let mut config = config.clone();
        for change in point.changes.iter().filter(|c| self.asked.touches(c)) {
            config.set(change).ok()?;
        }
        Some(config)
    }
}
