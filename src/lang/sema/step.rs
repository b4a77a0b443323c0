//! One step: its base, guard, space and pick.

use foldhash::HashSet;

use super::check::Checker;
use super::exprs::Place;
use super::program::{Budget, Change, Choice, From, Guard, Pick, Space, Step};
use super::scope::{Kind, named_again};
use super::study::is_budget;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, one_of};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{self, BudgetUnit, Name, Search, StepLineKind};
use crate::lang::syntax::{A_STEP, UNNAMED};

/// Between two words of a line, aligned as people do it.
const MOST_SPACES: u32 = 16;

/// What a step's lines say.
pub struct StepParts<'a> {
    pub vary: Option<(&'a ast::Axes, Search)>,
    pub pick: Option<(&'a ast::Axes, &'a ast::Text)>,
    pub budget: Option<Budget>,
}

impl Checker<'_> {
    /// One step: its base, space, guard and pick.
    pub fn one_step(
        &mut self,
        step: &ast::Step,
        track: Option<&str>,
        earlier: &[Step],
        broken: &HashSet<String>,
    ) -> Option<Step> {
        let parts = self.step_parts(step);
        let space = parts.as_ref().and_then(|p| p.vary).and_then(|(axes, _)| self.space(0, axes));
        if let (Some(track), Some((axes, _))) = (track, parts.as_ref().and_then(|p| p.vary)) {
            self.no_engine(axes, track);
        }
        let when = match &step.when {
            Some(e) => {
                let text = self.source_text(e.span);
                let by_params = self.is_by_params(e);
                let guard = |expr| Guard { expr, by_params, text, span: e.span };
                let checked = self.condition(0, e, Place::Guard);
                if let Some(checked) = &checked {
                    self.plausible(e, checked);
                }
                checked.map(guard)
            }
            None => None,
        };
        let from = self.from(step, track, earlier, broken);
        if space.is_none() {
            // what it picks is there or not, whatever the step varies
            let picks = step.lines.iter().filter_map(|l| match &l.kind {
                StepLineKind::Pick { axes, .. } if !is_base(axes) && !self.baseline_as_pick(axes) => {
                    Some(axes)
                }
                _ => None,
            });
            for axes in picks.collect::<Vec<_>>() {
                if !self.nearly_base(axes) {
                    self.space(0, axes);
                }
            }
        }
        let (parts, space, from) = (parts?, space?, from?);
        let pick = match parts.pick {
            Some((axes, because)) => self.pick(axes, because, &space),
            None => None,
        };
        let budget = parts.budget;
        let search = parts.vary.map_or(Search::Grid, |(_, search)| search);
        let title = self.titled(0, step.title.as_ref(), &step.name.value);
        let notes = step
            .lines
            .iter()
            .filter_map(|l| if let StepLineKind::Note(t) = &l.kind { Some(t) } else { None });
        let notes: Vec<_> = notes.collect();
        let notes = notes.into_iter().map(|t| self.inserted(0, t, false)).collect();
        Some(Step {
            name: step.name.value.clone(),
            title,
            track: track.map(str::to_owned),
            contest: Vec::new(),
            from,
            when,
            space,
            search,
            pick,
            notes,
            budget,
            span: step.name.span,
        })
    }

    fn step_parts<'s>(&mut self, step: &'s ast::Step) -> Option<StepParts<'s>> {
        let mut parts = StepParts { vary: None, pick: None, budget: None };
        let (mut twice, mut first_vary, mut again) = (None, None, false);
        let mut seen = Vec::new();
        for line in &step.lines {
            match &line.kind {
                StepLineKind::Vary { axes, by } => {
                    if let Some(first) = first_vary {
                        twice = Some(line.span);
                        again = self.modules.slice(line.span) == self.modules.slice(first);
                    }
                    first_vary = Some(line.span);
                    let search = by.as_ref().map_or(Search::Grid, |b| b.value);
                    if search != Search::Grid {
                        let how = if search == Search::Staged { "staged" } else { "guided" };
                        self.later(format!("`by {how}`"), by.as_ref().map_or(line.span, |b| b.span), false);
                    }
                    parts.vary = Some((axes, search));
                }
                StepLineKind::Pick { axes, because } => {
                    self.once_in_step("pick", line.span, &mut seen);
                    parts.pick = Some((axes, because));
                }
                StepLineKind::Budget(b) => {
                    self.once_in_step("budget", line.span, &mut seen);
                    parts.budget = self.budget(b);
                }
                StepLineKind::Note(_) => {}
            }
        }
        if let Some(span) = twice {
            let message = format!("the step `{}` varies twice", step.name.value);
            let d = Diagnostic::new(Code::StepEmpty, span, message).label("the second `vary`");
            self.sink.push(if again {
                d.help("remove it: it says the same again").edit(span, "")
            } else {
                d.help("write one product, `vary a * b`, or two steps")
            });
            return None;
        }
        self.guided_budget(step);
        if parts.vary.is_none() {
            // a `vary` that could not be read has had its diagnostic, and so has the only line of a step, whatever it was to say
            if !step.unread.contains(&"vary") && !step.is_unread() {
                let message = format!("the step `{}` varies nothing", step.name.value);
                let d = Diagnostic::new(Code::StepEmpty, step.name.span, message).label("this step");
                self.sink.push(d.about(About::Lacks(&["vary", "pick"])).help("add `vary AXIS`"));
            }
            return None;
        }
        Some(parts)
    }

    fn once_in_step(&mut self, word: &'static str, span: Span, seen: &mut Vec<(&'static str, Span)>) {
        if let Some((_, first)) = seen.iter().find(|(w, _)| *w == word) {
            let message = format!("`{word}` stands twice in one step");
            let d = Diagnostic::new(Code::SettingTwice, span, message).label("the second one");
            self.sink.push(d.related(*first, "the first one").help("keep one of them"));
        } else {
            seen.push((word, span));
        }
    }

    /// A guided search ends when its budget is spent, which counts configurations.
    fn guided_budget(&mut self, step: &ast::Step) {
        let guided = step.lines.iter().find_map(|l| match &l.kind {
            StepLineKind::Vary { by: Some(by), .. } if by.value == Search::Guided => Some(by.span),
            _ => None,
        });
        // one that says nothing has had its diagnostic
        let trials = |l: &ast::StepLine| match &l.kind {
            StepLineKind::Budget(b) => b.unit == Some(BudgetUnit::Trials) || !is_budget(b),
            _ => false,
        };
        let Some(span) = guided else { return };
        if !step.lines.iter().any(trials) && !step.unread.contains(&"budget") {
            let message = format!("the guided search of `{}` has no budget in trials", step.name.value);
            let d = Diagnostic::new(Code::BudgetNeeded, span, message).label("when does it end?");
            self.sink.push(d.help("add `budget 48 trials` to the step"));
        }
    }

    fn from(
        &mut self,
        step: &ast::Step,
        track: Option<&str>,
        earlier: &[Step],
        broken: &HashSet<String>,
    ) -> Option<From> {
        let Some(name) = &step.from else { return Some(From::Best) };
        if name.value == "best" {
            return Some(From::Best);
        }
        if let Some(i) = earlier.iter().position(|s| s.name == name.value && s.track.as_deref() == track) {
            return Some(From::Step(i));
        }
        if broken.contains(&name.value) {
            // there is an error already; the step's own mistakes are looked for all the same
            return Some(From::Best);
        }
        if self.across_the_border(name, track, earlier) {
            return Some(From::Best);
        }
        let m = self.modules.root();
        if m.find(Kind::Engine, &name.value).is_some() {
            let engine = self.engine_named(0, name)?;
            self.needs_version(&engine, name.span);
            return Some(From::Engine(name.value.clone()));
        }
        let steps = earlier.iter().filter(|s| s.track.as_deref() == track).map(|s| s.name.as_str());
        // one that has a mistake of its own is there all the same
        let steps = steps.chain(broken.iter().map(String::as_str)).filter(|name| !name.starts_with(UNNAMED));
        let mut steps: Vec<&str> = steps.collect();
        steps.sort_by_key(|step| self.steps_named.iter().position(|named| named == step));
        steps.dedup();
        let engines = match track {
            Some(own) => vec![own],
            None => m.names(Kind::Engine),
        };
        let known: Vec<&str> = steps.into_iter().chain(["best"]).chain(engines).collect();
        self.unknown_base(&step.name.value, name, track.is_some(), &known);
        Some(From::Best)
    }

    fn unknown_base(&mut self, step: &str, name: &Name, in_track: bool, known: &[&str]) {
        if self.steps_named.contains(&name.value) {
            let (message, label, help) = if name.value == step {
                (format!("the step `{step}` cannot start from itself"), "this step", "start")
            } else if in_track {
                // where it stands is known of steps above alone: a track goes on from none outside
                let message = format!("the step `{}` is none of those above in this track", name.value);
                (message, "not here", "a track starts from its engine or from its own steps: start")
            } else {
                let message =
                    format!("the step `{}` is not there yet: a step starts from an earlier one", name.value);
                (message, "comes later", "move it further up, or start")
            };
            let d = Diagnostic::new(Code::UnknownName, name.span, message).label(label);
            self.sink.push(d.help(format!("{help} from {}", one_of(known))));
            return;
        }
        let root = self.modules.root();
        if root.is_broken(&name.value) || root.broken.contains(A_STEP) {
            return;
        }
        // `from step both` was told of as such
        let behind = Span { end: name.span.end + MOST_SPACES, ..name.span };
        if self.baseline_as_base(name) || name.value == "step" && self.sink.says(Code::Unexpected, behind) {
            return;
        }
        let missing = About::MissingBase { name: name.value.clone() };
        let lost = root.is_lost(Kind::Engine, &name.value);
        let sink = if lost { self.sink.supposed() } else { &mut *self.sink };
        // an engine may be meant, of which the same was said
        if named_again(&|about| *about == missing, name.span, &[], sink)
            || named_again(&|about| about.misses(Kind::Engine, &name.value), name.span, &[], sink)
        {
            return;
        }
        let message = format!("no earlier step and no engine is called `{}`", name.value);
        let d = Diagnostic::new(Code::UnknownName, name.span, message).about(missing);
        let d = d.meant(&name.value, known.iter().copied(), "not declared", str::to_owned);
        // an engine and a step may have one name
        let mut names = known.to_vec();
        names.sort_unstable_by_key(|name| known.iter().position(|k| k == name));
        names.dedup();
        sink.push(d.help(format!("a step starts from {}", one_of(&names))));
    }

    fn pick(&mut self, axes: &ast::Axes, because: &ast::Text, space: &Space) -> Option<Pick> {
        let because = self.said(
            0,
            because,
            Code::MissingInStudy,
            "the reason of a pick",
            "say why it is not measured: `because \"the model was trained for it\"`",
        );
        if is_base(axes) || self.baseline_as_pick(axes) {
            return Some(Pick { choice: Choice::Base, because });
        }
        if self.nearly_base(axes) {
            return None;
        }
        let picked = self.space(0, axes)?;
        if picked.len() != 1 {
            let message = format!("`pick` chooses one candidate, and this is {}", picked.len());
            let d = Diagnostic::new(Code::PickMany, axes.span, message).label("not one candidate");
            self.sink.push(d.help("pick one point of each axis: `pick quant[fp8] because \"…\"`"));
            return None;
        }
        let points: Vec<_> = picked.candidate(0).into_iter().cloned().collect();
        let wanted: Vec<&Vec<Change>> = points.iter().map(|p| &p.changes).collect();
        let offered = (0..space.len().min(MAX_LOOKED_AT)).any(|i| same_changes(&space.candidate(i), &wanted));
        if !offered && space.len() <= MAX_LOOKED_AT {
            let message = "`pick` chooses a candidate that the step does not vary";
            let d = Diagnostic::new(Code::PickMany, axes.span, message).label("not a candidate of this step");
            self.sink.push(d.help("pick among the points of `vary`, or `pick base`"));
            return None;
        }
        Some(Pick { choice: Choice::Points(points), because })
    }
}

impl Checker<'_> {
    /// `pick bas`: one letter from what every step can pick, and no axis. Tells so.
    fn nearly_base(&mut self, axes: &ast::Axes) -> bool {
        let [product] = axes.sum.as_slice() else { return false };
        let [ast::Factor::Axis { name, picks: None, .. }] = product.as_slice() else { return false };
        let root = self.modules.root();
        let slip = |known: &str| strsim::damerau_levenshtein(known, &name.value) == 1;
        if !slip("base") || root.find(Kind::Axis, &name.value).is_some() {
            return false;
        }
        if root.names(Kind::Axis).into_iter().any(slip) || root.is_lost(Kind::Axis, &name.value) {
            return false;
        }
        let message = format!("no axis is called `{}`", name.value);
        let d = Diagnostic::new(Code::UnknownName, name.span, message)
            .about(About::missing(Kind::Axis, &name.value));
        let help = "what a step starts from is picked by `pick base`";
        self.sink.push(d.suggest("base").help(help).edit(name.span, "base"));
        true
    }
}

const MAX_LOOKED_AT: usize = 10_000;

fn is_base(axes: &ast::Axes) -> bool {
    matches!(axes.sum.as_slice(), [product] if matches!(product.as_slice(),
        [ast::Factor::Axis { name, picks: None, .. }] if name.value == "base"))
}

fn same_changes(candidate: &[&super::program::Point], wanted: &[&Vec<Change>]) -> bool {
    candidate.len() == wanted.len() && wanted.iter().all(|w| candidate.iter().any(|p| p.changes == **w))
}
