//! Tracks: engines that are tuned apart, what may cross their border, and the contest between their winners.

use std::sync::Arc;

use super::check::Checker;
use super::program::{Budget, Change, Engine, From, Space, Step, Study, Track};
use super::scope::Kind;
use super::steps::{Reach, union};
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{self, Factor, Item, Name, Search, StudyLineKind as Line};

/// On which side of a border a step stands.
enum Home<'a> {
    Study,
    Track(&'a str),
}

impl<'a> Home<'a> {
    fn of(step: &'a Step) -> Self {
        step.track.as_deref().map_or(Self::Study, Self::Track)
    }

    fn is_in(&self, track: Option<&str>) -> bool {
        matches!(self, Self::Track(own) if Some(*own) == track)
    }
}

/// The tracks since the last step: when a step or the end of the study comes, their winners meet.
#[derive(Default)]
pub struct Row {
    tracks: Vec<String>,
    /// the engines that can win
    engines: Vec<Arc<Engine>>,
    span: Span,
}

impl Row {
    /// After a row of tracks comes one step that nobody writes: their winners against the incumbent from before them.
    pub fn close(&mut self, decl: &ast::Study, study: &mut Study, reach: &mut Reach) {
        let row = std::mem::take(self);
        if row.tracks.is_empty() {
            return;
        }
        let title = if row.tracks.len() == 1 { "Winner of the track" } else { "Winners of the tracks" };
        study.steps.push(Step {
            name: free_name(decl, study),
            title: title.to_owned(),
            track: None,
            contest: row.tracks,
            from: From::Best,
            when: None,
            space: Space::none(),
            search: Search::Grid,
            pick: None,
            notes: Vec::new(),
            budget: None,
            span: row.span,
        });
        reach.now = union(&reach.now, &row.engines);
        reach.after.push(reach.now.clone());
    }
}

/// `tracks`, or the first of `tracks_2`, `tracks_3`, … that no step has.
fn free_name(decl: &ast::Study, study: &Study) -> String {
    let written = |name: &str| {
        let is = |s: &ast::Step| s.name.value == name;
        decl.lines.iter().any(|l| match &l.kind {
            ast::StudyLineKind::Step(s) => is(s),
            ast::StudyLineKind::Track(t) => t.steps.iter().any(is),
            _ => false,
        })
    };
    let taken = |name: &str| written(name) || study.steps.iter().any(|s| s.name == name);
    let numbered = (2..).map(|n| format!("tracks_{n}"));
    let mut names = std::iter::once("tracks".to_owned()).chain(numbered);
    names.find(|n| !taken(n)).unwrap_or_default()
}

impl Checker<'_> {
    /// A track's steps, each over its engine alone.
    pub fn track(&mut self, decl: &ast::Track, study: &mut Study, reach: &mut Reach, row: &mut Row) {
        let title = self.titled(0, decl.title.as_ref(), &decl.engine.value);
        let notes = decl.notes.iter().map(|t| self.inserted(0, t, false)).collect();
        let engine = self.engine_named(0, &decl.engine);
        let budget = self.track_budget(decl);
        if let Some(engine) = &engine {
            self.needs_version(engine, decl.engine.span);
        }
        let name = decl.engine.value.clone();
        if let Some(first) = study.tracks.iter().find(|t| t.engine == name) {
            let message = format!("a second track tunes `{name}`");
            let d = Diagnostic::new(Code::DeclaredTwice, decl.engine.span, message).label("already tuned");
            let d = d.related(first.span, "the first one").about(About::Twice(Kind::Engine));
            self.sink.push(match self.untracked(&name) {
                Some(other) => {
                    d.suggest(&other).help(format!("put the steps into one track, or write `track {other}`"))
                }
                None => d.help(format!(
                    "put the steps into one track, or derive an engine: `engine {name}_2 = {name} {{ … }}`"
                )),
            });
            return;
        }
        study.tracks.push(Track { engine: name.clone(), title, notes, budget, span: decl.engine.span });
        // without its engine, the steps are checked as far as they go
        let own: Vec<_> = engine.into_iter().collect();
        let outside = std::mem::replace(&mut reach.now, own);
        let broken = std::mem::take(&mut reach.broken);
        for step in &decl.steps {
            self.add_step(step, Some(&name), study, reach);
        }
        reach.broken = broken;
        let winners = std::mem::replace(&mut reach.now, outside);
        if row.tracks.is_empty() {
            row.span = decl.engine.span;
        }
        row.engines = union(&row.engines, &winners);
        row.tracks.push(name);
    }

    fn track_budget(&mut self, decl: &ast::Track) -> Option<Budget> {
        let [first, others @ ..] = decl.budgets.as_slice() else { return None };
        let budget = self.budget(first);
        for other in others {
            let message = "`budget` stands twice in one track";
            let d = Diagnostic::new(Code::SettingTwice, other.span, message).label("the second one");
            self.sink.push(d.related(first.span, "the first one").help("keep one of them"));
        }
        budget
    }

    /// A track tunes one engine.
    pub fn no_engine(&mut self, axes: &ast::Axes, track: &str) {
        let Some(span) = self.varied_engine(axes) else { return };
        let message = format!("the track `{track}` varies its engine");
        let d = Diagnostic::new(Code::TrackEngine, span, message).label("another engine");
        let help = "a track tunes one engine: give the other one a track of its own, or put the step before the tracks";
        self.sink.push(d.help(help));
    }

    /// The first factor that sets an engine, itself or through the axes that it names.
    fn varied_engine(&mut self, axes: &ast::Axes) -> Option<Span> {
        let factors: Vec<&Factor> = axes.sum.iter().flatten().collect();
        factors.into_iter().find_map(|factor| match factor {
            Factor::Group(inner) => self.varied_engine(inner),
            Factor::Axis { name, span, .. } if name.value == "engine" => Some(*span),
            Factor::Axis { name, span, .. } => {
                let at = self.modules.root().find(Kind::Axis, &name.value)?;
                let space = self.axis_space(at)?;
                let changes = space.points().into_iter().flat_map(|p| &p.changes);
                changes.into_iter().any(|c| matches!(c, Change::Engine(_))).then_some(*span)
            }
        })
    }

    /// Inside a track `from` knows its own steps and its engine; outside, a track's steps cannot be named. True if the
    /// name stands on the other side.
    pub fn across_the_border(&mut self, name: &Name, track: Option<&str>, earlier: &[Step]) -> bool {
        if track.is_some_and(|track| self.is_torn_step(track, &name.value)) {
            return true;
        }
        let elsewhere = earlier.iter().find(|s| s.name == name.value).map(Home::of);
        let elsewhere = elsewhere.or_else(|| self.home_above(name).filter(|home| !home.is_in(track)));
        let is_engine = self.modules.root().find(Kind::Engine, &name.value).is_some();
        let own_engine = track.is_none_or(|t| t == name.value);
        let (message, help) = match (elsewhere, track) {
            _ if is_engine && own_engine => return false,
            (Some(Home::Track(other)), _) => (
                format!("the step `{}` belongs to the track `{other}`", name.value),
                match track {
                    Some(_) => "a track starts from its engine, or from one of its own steps",
                    None => "outside a track its steps cannot be named; `from best` goes on from what won",
                },
            ),
            (Some(_), Some(track)) => (
                format!("the step `{}` stands outside the track `{track}`", name.value),
                "a track starts from its engine as declared, or from one of its own steps",
            ),
            // which engine the track tunes is not known, which has been said
            (None, Some(track)) if is_engine && self.modules.root().find(Kind::Engine, track).is_none() => {
                return false;
            }
            (None, Some(track)) if is_engine && self.derives(&name.value, track) => {
                self.track_of_a_parent(name, track);
                return true;
            }
            (None, Some(track)) if is_engine => (
                format!("the track `{track}` tunes another engine than `{}`", name.value),
                "a track starts from its engine as declared, or from one of its own steps",
            ),
            _ => return false,
        };
        let d = Diagnostic::new(Code::TrackBorder, name.span, message).label("not on this side");
        self.sink.push(d.help(help));
        true
    }

    /// Where a step above in the study stands that has a mistake of its own, so that it is none to go on from: in which track, if in one.
    fn home_above(&self, name: &Name) -> Option<Home<'_>> {
        let is_it = |s: &ast::Step| s.name.value == name.value && s.name.span.start < name.span.start;
        let items = self.modules.root().file.items.iter();
        let around =
            |span: Span| span.file == name.span.file && span.range().contains(&(name.span.start as usize));
        let study = items
            .filter_map(|i| if let Item::Study(s) = i { Some(s) } else { None })
            .find(|s| around(s.span))?;
        study.lines.iter().find_map(|l| match &l.kind {
            Line::Step(step) if is_it(step) => Some(Home::Study),
            Line::Track(t) if t.steps.iter().any(is_it) => Some(Home::Track(&t.engine.value)),
            _ => None,
        })
    }

    /// Whether a step of a track could not be read that is called so, or that lacks its name: it is on this side of the border.
    fn is_torn_step(&self, track: &str, name: &str) -> bool {
        let text = self.modules.root_text();
        let lines = self.modules.root().file.items.iter().filter_map(|i| match i {
            Item::Study(study) => Some(&study.lines),
            _ => None,
        });
        let of_track = lines.flatten().filter_map(|l| match &l.kind {
            Line::Track(t) if t.engine.value == track => Some(l.span),
            _ => None,
        });
        let is_named = |at: Span| {
            let line = text[at.line_in(text).range()].trim_start();
            let Some(head) = line.strip_prefix("step").filter(|h| h.starts_with([' ', '\t'])) else {
                return false;
            };
            let word = head.trim_start().split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next();
            word.is_some_and(|word| word == name || word.is_empty())
        };
        of_track
            .flat_map(|track| self.sink.in_span(track))
            .any(|d| d.code.id().starts_with("E1") && is_named(d.span))
    }

    /// The one engine of the file besides that nothing uses yet.
    fn untracked(&self, name: &str) -> Option<String> {
        let root = self.modules.root();
        let own = |n: &&str| {
            root.find(Kind::Engine, n).is_some_and(|at| at.module == 0 && !self.used.contains(&at))
        };
        let mut others = root.names(Kind::Engine).into_iter().filter(|n| *n != name).filter(own);
        others.next().filter(|_| others.next().is_none()).map(str::to_owned)
    }

    /// Whether an engine derives from another one.
    fn derives(&self, name: &str, from: &str) -> bool {
        let mut engines = self.engines.values().flatten();
        engines.any(|e| e.name == name && e.name != from && e.ancestry.iter().any(|a| a == from))
    }

    /// `track llama_cpp { step a from light { … } }`, where `light` derives from `llama_cpp`.
    fn track_of_a_parent(&mut self, name: &Name, track: &str) {
        let right = &name.value;
        let message = format!("the track `{track}` tunes the engine that `{right}` derives from");
        let d =
            Diagnostic::new(Code::TrackBorder, name.span, message).label("derived from the track's engine");
        let d = d.help(format!("write `track {right}`, or start from `{track}`"));
        let named = self.modules.root().file.items.iter().filter_map(|i| match i {
            Item::Study(s) => Some(&s.lines),
            _ => None,
        });
        let place = named.flatten().find_map(|l| match &l.kind {
            Line::Track(t) if t.engine.value == track => Some(t.engine.span),
            _ => None,
        });
        let d = d.about(About::Track(place));
        self.sink.push(place.into_iter().fold(d, |d, at| d.related(at, "this track")));
    }
}
