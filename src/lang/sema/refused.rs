//! Flags that the engines of a step refuse. Where another step's engines take the same flag of the same axis, the axis is right and its
//! use is wrong: that is where the diagnostic stands.

use std::sync::Arc;

use super::check::Checker;
use super::copied::is_pasted;
use super::lost::declares_flag;
use super::program::Engine;
use super::schema::{Found, key};
use super::scope::Kind;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic};
use crate::lang::source::Span;
use crate::lang::stdlib;
use crate::lang::syntax::ast::{Axes, Factor, Item, Step, StepLineKind as Line, StudyLineKind as StudyLine};

/// A flag that no engine of a step takes.
#[derive(Debug)]
pub struct Refused {
    /// the change in its axis, and the line of its flag there
    change: Span,
    whole: Span,
    axis: String,
    /// where the step names the axis
    used: Span,
    engine: String,
    flag: String,
    /// the flag, where only the engines that are known lack it and another may stand there
    doubtful: Option<String>,
    diagnostic: Diagnostic,
}

impl Checker<'_> {
    /// Notes a refusal; which of the two places is wrong is known once all steps were seen.
    /// `unknown`: not one engine there has the flag, and others could be meant to stand there.
    pub(super) fn refuse(
        &mut self,
        (change, whole): (Span, Span),
        axis: &str,
        engine: &Engine,
        (flag, unknown): (&str, bool),
        diagnostic: Diagnostic,
    ) {
        let used = self.varied.iter().rev().find(|(name, _)| name == axis).map(|(_, span)| *span);
        // the built-in axis, and one in a group, stand for all that the step varies
        let used = used.or_else(|| self.varied.last().map(|(_, span)| *span)).unwrap_or(change);
        let (axis, engine) = (axis.to_owned(), engine.title.clone());
        let doubtful = unknown.then(|| flag.to_owned());
        let flag = flag.to_owned();
        self.refused.push(Refused { change, whole, axis, used, engine, flag, doubtful, diagnostic });
    }

    /// Where a step names its axes; what it varies as a whole comes last.
    pub(super) fn step_varies(&mut self, step: &Step) {
        self.varied.clear();
        for line in &step.lines {
            if let Line::Vary { axes, .. } = &line.kind {
                named(axes, &mut self.varied);
                self.varied.push((String::new(), axes.span));
            }
        }
    }

    /// Reports what was refused, each at the place that is wrong.
    pub(super) fn say_refused(&mut self) {
        // at the step where an axis is of another engine
        let mut at_use: Vec<(Refused, Vec<Refused>)> = Vec::new();
        // which of two engines of one name a step is over, nobody knows
        let twice = self.engine_twice();
        let axes_twice = self.axes_twice();
        let doubled = self.tracks_of_another();
        for mut refused in std::mem::take(&mut self.refused) {
            if let Some(flag) = refused.doubtful.as_ref().or(twice.then_some(&refused.flag)) {
                let Some(diagnostic) = self.unless_lost(flag, refused.diagnostic) else { continue };
                refused.diagnostic = diagnostic;
            }
            // nor which of two axes of one name it varies
            if axes_twice.contains(&refused.axis) {
                continue;
            }
            // nor which engine a track tunes that stands twice
            if doubled.iter().any(|d| d.accounts_for(&refused)) {
                continue;
            }
            if let Some(flag) = refused.flag_of_release()
                && self.may_be_anothers(&flag)
            {
                continue;
            }
            // a step that picks one value has the flag for all of them
            let has_flag =
                refused.diagnostic.code == Code::UnknownFlag && self.accepted.contains(&refused.whole);
            let right_elsewhere = has_flag || self.accepted.contains(&refused.change);
            let of_another_file = refused.change.file != refused.used.file && !self.is_nobodys(&refused);
            if !right_elsewhere && !of_another_file {
                self.sink.push(refused.diagnostic);
                continue;
            }
            match at_use.iter_mut().find(|(first, _)| first.goes_with(&refused)) {
                Some((_, others)) => others.push(refused),
                None => at_use.push((refused, Vec::new())),
            }
        }
        for (first, others) in at_use {
            self.sink.push(first.at_use(&others));
        }
    }
}

impl Checker<'_> {
    /// Names of two axes that are not the same.
    fn axes_twice(&self) -> Vec<String> {
        let modules = self.modules;
        let second = |d: &&Diagnostic| d.about == About::Second(Kind::Axis) && !is_pasted(modules, d.span);
        self.sink.found().filter(second).map(|d| modules.slice(d.span).to_owned()).collect()
    }

    /// Tracks that stand twice for one engine, of which one should be another's.
    fn tracks_of_another(&mut self) -> Vec<Doubled> {
        let twice = |d: &&Diagnostic| d.code == Code::DeclaredTwice && d.about == About::Twice(Kind::Engine);
        let told: Vec<(Span, String)> = self
            .sink
            .found()
            .filter(twice)
            .filter_map(|d| Some((d.related.first()?.0, d.suggested.first()?.clone())))
            .collect();
        let modules = self.modules;
        let mut found = Vec::new();
        for (first, other) in told {
            let lines = modules.root().file.items.iter().filter_map(|i| match i {
                Item::Study(study) => Some(&study.lines),
                _ => None,
            });
            let track = lines.flatten().find_map(|l| match &l.kind {
                StudyLine::Track(t) if t.engine.span == first => Some(l.span),
                _ => None,
            });
            let engine = modules.root().find(Kind::Engine, &other).and_then(|at| self.engine(at));
            found.extend(track.zip(engine).map(|(track, engine)| Doubled { track, engine }));
        }
        found
    }

    /// Whether a user's own file sets what no engine takes, a value that all refuse which it is held against or a flag that none there is
    /// has: who uses it is not to blame.
    fn is_nobodys(&self, refused: &Refused) -> bool {
        if self.modules.home(refused.change).library {
            return false;
        }
        match refused.diagnostic.code {
            Code::BadFlagValue | Code::FlagNeedsValue => true,
            Code::UnknownFlag => {
                let flag = key(refused.flag.split('.').next().unwrap_or(&refused.flag));
                let declares = |text: &str| declares_flag(text, &flag);
                !stdlib::engine_texts().any(declares) && !self.modules.texts().any(declares)
            }
            _ => false,
        }
    }
}

/// The first of two tracks for one engine, and the engine that one of them should be for.
struct Doubled {
    track: Span,
    engine: Arc<Engine>,
}

impl Doubled {
    /// Whether what was refused stands in that track and would not be with the other engine.
    fn accounts_for(&self, refused: &Refused) -> bool {
        let flag = refused.flag.split('.').next().unwrap_or(&refused.flag);
        let (version, used) = (self.engine.version.as_deref(), refused.used);
        used.file == self.track.file
            && self.track.range().contains(&(used.start as usize))
            && matches!(self.engine.schema.find(flag, version), Found::Known(..))
    }
}

impl Refused {
    /// The flag, where the engine has it in another release.
    fn flag_of_release(&self) -> Option<String> {
        if let About::Release { flag, .. } = &self.diagnostic.about { Some(flag.clone()) } else { None }
    }

    /// Whether two flags are refused at one place for one reason: the axis is another engine's.
    fn goes_with(&self, other: &Self) -> bool {
        let unknown = |r: &Self| r.diagnostic.code == Code::UnknownFlag;
        let same = (self.used, &self.axis, &self.engine) == (other.used, &other.axis, &other.engine);
        same && (unknown(self) && unknown(other) || self.change == other.change)
    }

    /// One diagnostic for all flags of an axis that an engine lacks.
    fn at_use(mut self, others: &[Self]) -> Diagnostic {
        let mut flags: Vec<&str> = std::iter::once(&self).chain(others).map(|r| r.flag.as_str()).collect();
        flags.dedup();
        if flags.len() > 1 {
            self.diagnostic.message = format!("{} has no {}", self.engine, flags.join(", "));
        }
        let change = self.change;
        let others = others.iter().filter(|other| other.change != change);
        others.fold(self.alone(), |d, other| d.related(other.change, "and this"))
    }

    fn alone(self) -> Diagnostic {
        let d = self.diagnostic;
        let spelled = match &d.about {
            About::Elsewhere { here, nearest: false } => format!(" ({} calls it {here})", self.engine),
            About::Elsewhere { here, nearest: true } => {
                format!(" (the nearest of {} is {here})", self.engine)
            }
            _ => String::new(),
        };
        let help = format!(
            "vary an axis of {}{spelled}, or start the step from an engine that takes `{}`",
            self.engine, self.axis
        );
        let message = format!("{}, which `{}` sets", d.message, self.axis);
        Diagnostic::new(d.code, self.used, message)
            .about(About::SetBy { axis: self.axis })
            .label(format!("over {} here", self.engine))
            .related(self.change, "what it sets")
            .help(help)
    }
}

fn named(axes: &Axes, out: &mut Vec<(String, Span)>) {
    for factor in axes.sum.iter().flatten() {
        match factor {
            Factor::Axis { name, span, .. } => out.push((name.value.clone(), *span)),
            Factor::Group(inner) => named(inner, out),
        }
    }
}
