//! What a mistake in a study tears: a step, a part of one that decides on no candidate, or a line that none is made of.

use super::super::extents::{ends, in_step};
use super::{Search, holds};
use crate::lang::sema::program::Study;
use crate::lang::source::Span;
use crate::lang::syntax::ast::{self, StudyLineKind};

impl Search<'_> {
    pub(super) fn in_study(&mut self, study: &ast::Study, at: Span) {
        // what it lacks is said of its name, and its first line says nothing of candidates
        let text = self.analysis.modules.root_text().get(study.span.range()).unwrap_or_default();
        let head = text.split(['{', '\n']).next().map_or(0, str::len) as u32;
        if at == study.name.span || at.start < study.span.start + head && study.span.start <= at.start {
            self.places.push(at);
            return;
        }
        let read = study.lines.iter().find(|l| holds(l.span, at));
        let place = match read.map(|l| (&l.kind, l.span)) {
            Some((StudyLineKind::Step(step), span)) => self.in_step(step, at).unwrap_or(span),
            Some((StudyLineKind::Track(track), span)) => {
                let step = track.steps.iter().find(|s| holds(s.span, at));
                let head = at.start < track.steps.first().map_or(span.end, |s| s.span.start);
                match step {
                    Some(step) => self.in_step(step, at).unwrap_or(step.span),
                    None if head && self.line(span) == self.line(at) => span,
                    None => self.line(at),
                }
            }
            Some((_, span)) => span,
            None => self.block(self.line(at)),
        };
        let text = self.analysis.modules.root_text().get(place.range()).unwrap_or_default();
        // what candidates are made of, and held against
        let word = text.split_whitespace().next().unwrap_or_default();
        // what nothing stands on may be picked wrongly
        let last =
            word == "pick" && study.lines.last().is_some_and(|l| holds(l.span, at) && ends(&l.kind, at));
        let steps = !last && ["step", "track", "vary", "pick", "adopt", "gpus"].contains(&word);
        // `step a "A"` has lost its block
        let step = matches!(word, "step" | "track") && !text.contains('{');
        self.unread |= read.is_none() && (step || text.contains("vary "));
        if steps || text.contains("vary ") {
            self.tear(place);
        } else {
            self.places.push(place);
        }
    }

    /// The part of a step that decides on no candidate, if a mistake stands there: also a line that is none of a step's, beside its `vary`.
    pub(super) fn in_step(&self, step: &ast::Step, at: Span) -> Option<Span> {
        let line = self.line(at);
        let varies = |l: &ast::StepLine| matches!(l.kind, ast::StepLineKind::Vary { .. });
        let apart = || {
            let text = self.analysis.modules.root_text().get(line.range()).unwrap_or_default();
            let own = step.lines.iter().all(|l| !holds(line, l.span)) && !holds(line, step.name.span);
            own && step.lines.iter().any(varies) && !text.contains(['{', '}', '-'])
        };
        in_step(step, at).or_else(|| apart().then_some(line))
    }

    /// A line that could not be read, with the block that it begins.
    pub(super) fn block(&self, line: Span) -> Span {
        let text = self.analysis.modules.root_text();
        let begins = text.get(line.range()).unwrap_or_default().trim_end().ends_with('{');
        let rest = &text[(line.end as usize).min(text.len())..];
        let indent = |l: &str| l.len() - l.trim_start().len();
        let column = text.get(line.range()).map_or(0, indent);
        let within = |l: &&str| l.trim().is_empty() || indent(l) > column;
        let len: usize = rest.split_inclusive('\n').skip(1).take_while(within).map(str::len).sum();
        if begins { Span { end: line.end + 1 + len as u32, ..line } } else { line }
    }

    /// Tears the steps that the program lacks, as something in them is not known. Whether there are any.
    pub(super) fn lost_steps(&mut self) -> bool {
        let mut any = false;
        for study in self.studies() {
            let mut kept = self.analysis.program.studies.iter().find(|s| s.span == study.name.span);
            // among many studies one without a baseline is not looked at
            kept = kept.filter(|s| self.concern.is_some() || !s.baseline.is_empty());
            for line in &study.lines {
                let lost = |s: &ast::Step| {
                    !kept.is_some_and(|k: &Study| k.steps.iter().any(|o| o.span == s.name.span))
                };
                let concern = self.concern;
                let apart = |s: &&ast::Step| concern.is_some_and(|c| c.is_apart(s.span));
                for step in steps_of(&line.kind).iter().filter(|s| lost(s) && !apart(s)) {
                    self.tear(step.span);
                    self.unread |= step.is_unread() || self.varies_nothing(step);
                    any = true;
                }
            }
        }
        any
    }

    /// The names of steps that start from what no engine and no step is called.
    pub(in crate::plan) fn adrift(&self) -> Vec<Span> {
        let mut found = Vec::new();
        for study in self.studies() {
            let steps: Vec<&ast::Step> = study.lines.iter().flat_map(|l| steps_of(&l.kind)).collect();
            let is_known = |name: &str| {
                name == "best"
                    || self.analysis.program.engines.contains_key(name)
                    || steps.iter().any(|s| s.name.value == name)
            };
            let adrift = steps.iter().filter(|s| s.from.as_ref().is_some_and(|from| !is_known(&from.value)));
            found.extend(adrift.map(|s| s.name.span));
        }
        found
    }

    /// `vary`, and nothing behind it.
    pub(super) fn varies_nothing(&self, step: &ast::Step) -> bool {
        let text = self.analysis.modules.root_text().get(step.span.range()).unwrap_or_default();
        let behind = text
            .match_indices("vary")
            .map(|(at, word)| text[at + word.len()..].trim_start_matches([' ', '\t']));
        behind.into_iter().any(|rest| rest.is_empty() || rest.starts_with(['}', '#', '\n', '\r']))
    }
}

/// The steps that a line of a study holds.
fn steps_of(line: &StudyLineKind) -> &[ast::Step] {
    match line {
        StudyLineKind::Step(step) => std::slice::from_ref(&**step),
        StudyLineKind::Track(track) => track.steps.as_slice(),
        _ => &[],
    }
}
