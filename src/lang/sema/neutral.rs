//! Candidates that set flags to their defaults and nothing else: each is a trial of its own, as its command differs, and an A/A pair
//! with its base, as the engine does the same.

use std::sync::Arc;

use super::check::Checker;
use super::program::{Change, Engine, From, Point, Space, Step};
use super::schema::{Setting, key};
use super::typed::typed;
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::source::Span;

/// Flags at their defaults, and where each value stands.
type Defaults = Vec<(Setting, Span)>;

/// What a step's candidates stand over.
struct Bases<'a> {
    engines: &'a [Arc<Engine>],
    /// steps whose points may be in the base by then
    earlier: Vec<&'a Step>,
}

impl Checker<'_> {
    /// Warns about candidates that cannot but do what their base does.
    pub fn at_defaults(&mut self, step: &Step, bases: &[Arc<Engine>], earlier: &[Step]) {
        if step.space.lists().iter().all(|list| self.sound.without_default(list, bases)) {
            return;
        }
        let earlier = match step.from {
            From::Engine(_) => Vec::new(),
            From::Step(i) => earlier.iter().take(i + 1).collect(),
            From::Best => earlier.iter().collect(),
        };
        let bases = Bases { engines: bases, earlier };
        for (settings, engine) in bases.neutral(&step.space) {
            let set: Vec<String> = settings.iter().map(|(s, _)| key(&s.canonical)).collect();
            if !self.is_torn(engine, &set) {
                self.at_default(&settings, engine);
            }
        }
    }

    /// Once for each place.
    fn at_default(&mut self, settings: &[(Setting, Span)], engine: &Engine) {
        let Some((_, span)) = settings.first() else { return };
        // what is set twice, or in a way that is none, is to be mended first
        let said = |(_, span): &(Setting, Span)| {
            self.sink.says(Code::FlagTwice, *span) || self.sink.in_span(*span).next().is_some()
        };
        if settings.iter().any(said) || self.sink.says(Code::AaPair, *span) {
            return;
        }
        let written = |(setting, _): &(Setting, Span)| {
            let value = setting.shown.as_ref().map(|v| format!("={v}")).unwrap_or_default();
            format!("{}{value}", setting.spelled)
        };
        let all = settings.iter().map(written).collect::<Vec<_>>().join(" ");
        let message = format!("{all} is what {} does by default", engine.title);
        let help = "leave it out, unless the default is to be measured against itself";
        self.sink.push(Diagnostic::new(Code::AaPair, *span, message).label("changes nothing").help(help));
    }
}

impl<'a> Bases<'a> {
    /// The neutral candidates of a space; of a product the first, which is neutral only if each of its factors is.
    fn neutral(&self, space: &Space) -> Vec<(Defaults, &'a Engine)> {
        match space {
            Space::Points(points) => points.iter().filter_map(|p| self.neutral_point(p)).collect(),
            Space::Sum(terms) => terms.iter().flat_map(|t| self.neutral(t)).collect(),
            Space::Product(factors) => {
                let each = factors.iter().map(|f| self.neutral(f).into_iter().next());
                let Some(each) = each.collect::<Option<Vec<_>>>() else {
                    // `async * weights`, whose one point changes nothing of any candidate
                    let lone = factors.iter().filter(|f| f.points().len() == 1);
                    return lone.flat_map(|f| self.neutral(f)).collect();
                };
                let engine = each.first().map(|(_, engine)| *engine);
                let all = each.into_iter().flat_map(|(settings, _)| settings).collect();
                engine.map(|e| (all, e)).into_iter().collect()
            }
        }
    }

    /// A point that changes nothing of any base that can take it.
    fn neutral_point(&self, point: &Point) -> Option<(Defaults, &'a Engine)> {
        let mut found = None;
        for engine in self.engines {
            match self.over(point, engine) {
                Over::Nothing(settings) => found = found.or(Some((settings, &**engine))),
                Over::Something => return None,
                Over::Impossible => {}
            }
        }
        found
    }

    fn over(&self, point: &Point, engine: &Engine) -> Over {
        let version = engine.version.as_deref();
        let mut settings = Vec::new();
        let mut differs = point.changes.is_empty();
        for change in &point.changes {
            let Change::Flag { name, value, span } = change else { return Over::Something };
            let Ok(setting) = typed(&engine.schema, version, name, value.as_ref()) else {
                return Over::Impossible;
            };
            let default = engine.schema.default(name, version);
            let as_default = default.is_some_and(|d| d.normal() == setting.value.normal())
                || engine.schema.is_default_word(name, version, &setting.value);
            differs |= !as_default
                || engine.flags.iter().any(|f| f.canonical == setting.canonical)
                || self.set_before(&setting, engine);
            settings.push((setting, value.as_ref().map_or(*span, |v| v.span)));
        }
        if differs { Over::Something } else { Over::Nothing(settings) }
    }

    /// Whether a step before may have left a value of the flag in the base.
    fn set_before(&self, setting: &Setting, engine: &Engine) -> bool {
        let version = engine.version.as_deref();
        let mut points = self.earlier.iter().flat_map(|s| s.space.points());
        points.any(|p| {
            p.changes.iter().any(|c| match c {
                Change::Flag { name, value, .. } => typed(&engine.schema, version, name, value.as_ref())
                    .is_ok_and(|s| s.canonical == setting.canonical && s.value != setting.value),
                Change::Raw { name, .. } => key(name) == key(&setting.spelled),
                _ => false,
            })
        })
    }
}

/// What a point does to an engine.
enum Over {
    /// only flags at their defaults, set
    Nothing(Defaults),
    Something,
    /// it cannot stand there
    Impossible,
}
