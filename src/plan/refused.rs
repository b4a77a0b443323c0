//! Configurations that an engine refuses to start with, as its schema tells: a candidate is pruned before anything runs, and an engine
//! that is measured as declared is a mistake of the file.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::Arc;

use foldhash::{HashMap, HashMapExt, HashSet};

use super::command::published_config;
use super::config::Config;
use super::eval::{Before, Known, condition, number, surely};
use super::reach::flag_key;
use crate::lang::codes::Code;
use crate::lang::sema::program::{Change, Engine, Expr, From, Point, Refusal, Refuses, Step, Study};
use crate::lang::sema::schema::{self, Kind, Value, key};
use crate::lang::source::Span;
use crate::lang::syntax::ast::BinaryOp;
use crate::lang::{Diagnostic, Program};

/// What an engine refuses of a configuration, of what its release does so surely or perhaps.
pub(super) fn refusal(config: &Config, how: Refuses) -> Option<&Refusal> {
    let engine = &config.engine;
    let version = engine.version.as_deref();
    let mut reading = engine.refusals.reading(config.held().iter().map(|h| h.key.as_str()));
    reading.find(|r| r.holds_for(version) == how && surely(&r.when, &Before(config)))
}

/// For a table: why a candidate cannot be.
pub(super) fn refused(refusal: &Refusal, engine: &Engine) -> String {
    let version = engine.version.as_ref().map(|v| format!(" {v}")).unwrap_or_default();
    format!("{}{version} refuses to start: {}", engine.title, refusal.reason)
}

/// The refusals that a study's points can bring about or avoid, and those of engines that its steps change to as they are declared.
pub(super) fn touched<'e>(study: &Study, engines: &'e [Arc<Engine>]) -> Vec<&'e Refusal> {
    let varied = Varied::by(study);
    let mut seen: HashSet<*const Refusal> = HashSet::default();
    let mut out = Vec::new();
    for engine in engines {
        let surely = |r: &&Refusal| r.holds_for(engine.version.as_deref()) == Refuses::Surely;
        let own = if is_changed_to(engine, study) { set_by(engine) } else { HashSet::default() };
        let told = |r: &&Refusal| {
            r.flags.iter().any(|f| varied.changes.contains_key(f.as_str()) || own.contains(f.as_str()))
        };
        let mut found = engine.refusals.iter().filter(told).filter(surely).peekable();
        if found.peek().is_none() {
            continue;
        }
        let declared = Config::declared(engine, study);
        out.extend(
            found.filter(|r| varied.may_hold(&r.when, &declared) && seen.insert(std::ptr::from_ref(*r))),
        );
    }
    out
}

/// Whether steps change to an engine or start from it, and nothing else measures it as it is declared.
fn is_changed_to(engine: &Engine, study: &Study) -> bool {
    let is = |name: &str| name == engine.name;
    let changes = |p: &Point| p.changes.iter().any(|c| matches!(c, Change::Engine(name) if is(name)));
    let named = |s: &Step| matches!(&s.from, From::Engine(name) if is(name)) || s.space.any(&changes);
    let declared = is(&study.baseline) || study.steps.iter().any(|s| s.track.as_deref().is_some_and(is));
    !declared && study.steps.iter().any(named)
}

/// The flags that an engine's declarations set, as refusals name them.
fn set_by(engine: &Engine) -> HashSet<Cow<'_, str>> {
    engine.written.iter().filter_map(flag_of).map(flag_key).collect()
}

/// What the points of a study set, by the key of the flag.
struct Varied<'s> {
    changes: HashMap<Cow<'s, str>, Offers<'s>>,
}

/// What points make of one flag.
#[derive(Default)]
struct Offers<'s> {
    changes: Vec<&'s Change>,
    /// the smallest and the largest number of them, for any number of conditions that ask
    numbers: OnceCell<Result<Option<(f64, f64)>, NoNumber>>,
}

impl Offers<'_> {
    fn numbers(&self) -> Result<Option<(f64, f64)>, NoNumber> {
        *self.numbers.get_or_init(|| {
            let mut all = None;
            for change in &self.changes {
                all = wider(all, value_of(change)?.map(|n| (n, n)));
            }
            Ok(all)
        })
    }
}

fn wider(one: Option<(f64, f64)>, other: Option<(f64, f64)>) -> Option<(f64, f64)> {
    match (one, other) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        (one, other) => one.or(other),
    }
}

impl<'s> Varied<'s> {
    fn by(study: &'s Study) -> Self {
        let points = study.steps.iter().flat_map(|s| s.space.points());
        let mut changes: HashMap<Cow<'_, str>, Offers<'_>> = HashMap::new();
        for (change, flag) in points.flat_map(|p| &p.changes).filter_map(|c| Some((c, flag_of(c)?))) {
            changes.entry(flag_key(flag)).or_default().changes.push(change);
        }
        Self { changes }
    }

    /// Whether a condition may hold for some candidate over an engine, which costs far less than to look at each: false only where
    /// what is not varied, or the smallest and the largest value of what is, speaks against it.
    fn may_hold(&self, when: &Expr, declared: &Config) -> bool {
        when.truth(&|part| self.part(part, declared)) != Some(false)
    }

    fn part(&self, part: &Expr, declared: &Config) -> Option<bool> {
        let (mut varied, mut other) = (false, false);
        part.walk(&mut |e| match e {
            Expr::Flag(f) | Expr::Given(f) => varied |= self.of(f, declared).next().is_some(),
            Expr::Env(_) | Expr::Engine | Expr::Model | Expr::Gpus { .. } => other = true,
            _ => {}
        });
        if !varied && !other {
            return condition(part, &Before(declared));
        }
        let Expr::Binary { op, left, right } = part else { return None };
        let (left, right) = (self.bounds(left, declared)?, self.bounds(right, declared)?);
        let possible = match op {
            BinaryOp::Lt => left.0 < right.1,
            BinaryOp::Le => left.0 <= right.1,
            BinaryOp::Gt => left.1 > right.0,
            BinaryOp::Ge => left.1 >= right.0,
            _ => true,
        };
        (!possible).then_some(false)
    }

    /// What points make of a flag, under whichever spelling, of which some may come twice.
    fn of<'v>(&'v self, flag: &str, declared: &'v Config) -> impl Iterator<Item = &'v Offers<'s>> {
        let own = flag_key(flag);
        let names = declared.engine.schema.named(&own).flat_map(|s| s.names.iter().chain(&s.negated));
        let others = names.filter_map(|n| self.changes.get(&*flag_key(n)));
        self.changes.get(&*own).into_iter().chain(others)
    }

    /// The smallest and the largest value of a side; `None` where one is no number.
    fn bounds(&self, side: &Expr, declared: &Config) -> Option<(f64, f64)> {
        let mut all = match number(side, &Before(declared)) {
            Known::Value(n) => Some((n, n)),
            Known::Absent => None,
            Known::Later => return None,
        };
        if let Expr::Flag(name) = side {
            // a key of an object is not looked for in what sets the whole
            let whole = !name.contains('.');
            for offers in self.of(name, declared) {
                all = wider(all, offers.numbers().ok().filter(|_| whole)?);
            }
        } else if !matches!(side, Expr::Number(_)) {
            return None;
        }
        all
    }
}

/// A flag may be given something else than a number.
#[derive(Clone, Copy)]
struct NoNumber;

/// The number that a change gives a flag, nothing where it takes it away.
fn value_of(change: &Change) -> Result<Option<f64>, NoNumber> {
    let text = match change {
        Change::UnsetFlag { .. } => return Ok(None),
        Change::Flag { value: Some(value), .. } if !value.template => &value.text,
        _ => return Err(NoNumber),
    };
    match schema::value(&Kind::Float { min: None, max: None }, text) {
        Ok(Value::Float(n)) => Ok(Some(n)),
        _ => Err(NoNumber),
    }
}

/// The engines that a study measures as declared, and that do not start so.
pub(super) fn refused_engines(program: &Program, study: &Study) -> Vec<Diagnostic> {
    let mut names: Vec<&str> = vec![&study.baseline];
    names.extend(study.steps.iter().filter_map(|s| s.track.as_deref()));
    names.dedup();
    let engines = names.iter().filter_map(|n| program.engines.get(*n));
    engines.filter_map(|engine| told(engine, study)).collect()
}

fn told(engine: &Arc<Engine>, study: &Study) -> Option<Diagnostic> {
    let declared = Config::declared(engine, study);
    let mut places = Vec::new();
    let mut found = |refusal: &Refusal| {
        let lines = engine
            .written
            .iter()
            .filter(|c| flag_of(c).is_some_and(|f| refusal.flags.contains(&key(&flag_key(f)))));
        places = lines.filter_map(place).filter(|s| s.file == study.span.file).collect();
    };
    let (refusal, surely) = match refusal(&declared, Refuses::Surely) {
        Some(refusal) => (refusal, true),
        None => match refusal(&declared, Refuses::Perhaps) {
            Some(refusal) => (refusal, false),
            None => return published(engine, study, &declared),
        },
    };
    found(refusal);
    let last = places.pop();
    let span = last.unwrap_or(if engine.span.file == study.span.file { engine.span } else { study.span });
    let d = if surely {
        Diagnostic::new(Code::Refused, span, refused(refusal, engine))
            .label("refused at its start")
            .help("each launch of it would end with this: mend the flags of the engine")
    } else {
        let version = engine.version.as_deref().unwrap_or_default();
        let message =
            format!("{} of a release near {version} refuses to start: {}", engine.title, refusal.reason);
        Diagnostic::new(Code::FlagDoubt, span, message)
            .label("may be refused")
            .help(format!("it is passed on, as {version} may take it"))
    };
    Some(places.into_iter().rev().take(2).fold(d, |d, place| d.related(place, "beside this")))
}

/// `publish --enable-auto-tool-choice` without a parser: what is recommended would not start, unless a step finds what it lacks.
fn published(engine: &Engine, study: &Study, declared: &Config) -> Option<Diagnostic> {
    if engine.publish.is_empty() {
        return None;
    }
    let shown = published_config(declared);
    let refusal = refusal(&shown, Refuses::Surely)?;
    let of = |c: &Change| flag_of(c).is_some_and(|f| refusal.flags.contains(&key(&flag_key(f))));
    if study.steps.iter().any(|s| s.space.any(&|p| p.changes.iter().any(of))) {
        return None;
    }
    let change = engine.publish.iter().map(|p| &p.change).rfind(|c| of(c))?;
    let span = place(change).filter(|s| s.file == study.span.file).unwrap_or(engine.span);
    let d =
        Diagnostic::new(Code::Refused, span, refused(refusal, engine)).label("refused once it is published");
    Some(d.help("the command that is recommended would end with this: mend what is published"))
}

fn flag_of(change: &Change) -> Option<&str> {
    match change {
        Change::Flag { name, .. } | Change::Raw { name, .. } | Change::UnsetFlag { name, .. } => Some(name),
        _ => None,
    }
}

fn place(change: &Change) -> Option<Span> {
    match change {
        Change::Flag { span, .. } | Change::Raw { span, .. } => Some(*span),
        _ => None,
    }
}
