//! What is said of points, products and steps that cannot be: each mistake once, where it stands.

use foldhash::HashSet;

use super::super::bases::Excluded;
use super::super::review::place;
use super::{Found, Place, named};
use crate::lang::Diagnostic;
use crate::lang::codes::Code;
use crate::lang::sema::program::{Point, Space, Step, Study};
use crate::lang::source::Span;

/// What is added to a message and a help where a step behind changes what excludes something.
const BY_ORDER: (&str, &str) = (" where it stands", "move the step behind the one that changes this");

/// What one rule excludes, or an engine refuses for one reason, is one mistake, in however many points and steps.
pub(super) fn once_for_each_reason(found: impl Iterator<Item = Told>) -> Vec<Diagnostic> {
    let mut out: Vec<Told> = Vec::new();
    for Told { by, diagnostic } in found {
        match out.iter_mut().find(|o| by.is_some() && o.by == by) {
            Some(Told { diagnostic: first, .. }) => {
                // of a step that the same rule excludes, the step
                let places =
                    std::iter::once(diagnostic.span).chain(diagnostic.related.iter().map(|(at, _)| *at));
                let is_new =
                    |at: &Span| *at != first.span && first.related.iter().all(|(known, _)| known != at);
                if let Some(at) = places.into_iter().find(is_new) {
                    first.related.push((at, "and this".to_owned()));
                }
            }
            None => out.push(Told { by, diagnostic }),
        }
    }
    out.into_iter().map(|told| told.diagnostic).collect()
}

/// A diagnostic, and the one thing that excludes what it is told of.
pub(super) struct Told {
    by: Option<String>,
    diagnostic: Diagnostic,
}

impl Found<'_> {
    pub(super) fn told(&self, study: &Study, step: &Step, alive: &HashSet<Place>) -> Vec<Told> {
        if self.nothing_of(&step.space) {
            let (place, or) =
                if self.nothing_anywhere(&step.space) { ("", "remove the step") } else { BY_ORDER };
            let message = format!("no candidate of the step `{}` can be measured{place}", step.name);
            return vec![self.all_excluded(message, &step.space, (study, step), or)];
        }
        let mut out = Vec::new();
        self.terms(&step.space, (study, step), alive, &mut out);
        out
    }

    /// Products that are dead as a whole are told of once, else each point.
    fn terms(
        &self,
        space: &Space,
        (study, step): (&Study, &Step),
        alive: &HashSet<Place>,
        out: &mut Vec<Told>,
    ) {
        match space {
            Space::Product(factors) if factors.len() > 1 && nothing(space, &|p| self.tells_of(study, p)) => {
                let mut axes: Vec<&str> = space.points().into_iter().map(|p| p.axis.as_str()).collect();
                axes.dedup();
                let product = axes.join(" * ");
                let take_out = format!("take `{product}` out");
                let (place, or) =
                    if self.nothing_anywhere(space) { ("", take_out.as_str()) } else { BY_ORDER };
                let message =
                    format!("no candidate of `{product}` can be measured in the step `{}`{place}", step.name);
                out.push(self.all_excluded(message, space, (study, step), or));
            }
            Space::Sum(parts) | Space::Product(parts) => {
                for part in parts {
                    self.terms(part, (study, step), alive, out);
                }
            }
            Space::Points(points) => {
                let told = |p: &&Point| !alive.contains(&named(p)) && self.tells_of(study, &named(p));
                let dead = points.iter().filter(told);
                out.extend(dead.filter_map(|p| Some((p, self.dead.get(&named(p))?))).map(
                    |(p, Excluded { by, why })| {
                        let (standing, or) = if self.anywhere.contains(&named(p)) {
                            ("", "mend what excludes it")
                        } else {
                            BY_ORDER
                        };
                        let message =
                            format!("the point `{}` of `{}` can never be measured{standing}", p.name, p.axis);
                        let d = Diagnostic::new(Code::Unreachable, place(p, step), message)
                            .label(if standing.is_empty() { "always excluded" } else { "excluded" });
                        let d = match excluding(study, by.as_deref()) {
                            Some(rule) => d.related(rule, "by this rule"),
                            None => d,
                        };
                        let d = d.help(format!("{why}; take the point out, or {or}"));
                        Told { by: by.clone(), diagnostic: d }
                    },
                ));
            }
        }
    }

    /// Whether it is worth a word that a point is excluded: a rule of the study that excludes it in this order of the steps alone does what
    /// it is there for.
    fn tells_of(&self, study: &Study, place: &Place) -> bool {
        let by_rule = |by: &String| study.prune.iter().any(|r| r.name == *by);
        let Some(why) = self.dead.get(place) else { return false };
        self.anywhere.contains(place) || !why.by.as_ref().is_some_and(by_rule)
    }

    /// Where what excludes them stands: a rule, else the first point of them.
    fn all_excluded(&self, message: String, space: &Space, (study, step): (&Study, &Step), or: &str) -> Told {
        let first = space.points().into_iter().find_map(|p| Some((p, self.dead.get(&named(p))?)));
        let why = first.map(|(_, e)| format!(" ({})", e.why)).unwrap_or_default();
        let by = first.and_then(|(_, e)| e.by.clone());
        let at = match excluding(study, by.as_deref()) {
            Some(rule) => (rule, "excludes all of them"),
            None => first
                .map_or((step.span, "all are excluded"), |(p, _)| (place(p, step), "excluded, as all are")),
        };
        let d = Diagnostic::new(Code::Unreachable, at.0, message).label(at.1);
        let d = if at.0 == step.span { d } else { d.related(step.span, "in this step") };
        Told { by, diagnostic: d.help(format!("mend what excludes them{why}, or {or}")) }
    }

    fn nothing_of(&self, space: &Space) -> bool {
        nothing(space, &|place| self.dead.contains_key(place))
    }

    fn nothing_anywhere(&self, space: &Space) -> bool {
        nothing(space, &|place| self.anywhere.contains(place))
    }
}

/// Whether a space has no candidate where some points are dead.
fn nothing(space: &Space, is_dead: &dyn Fn(&Place<'_>) -> bool) -> bool {
    match space {
        Space::Points(points) => points.iter().all(|p| is_dead(&named(p))),
        Space::Sum(parts) => parts.iter().all(|p| nothing(p, is_dead)),
        Space::Product(parts) => parts.iter().any(|p| nothing(p, is_dead)),
    }
}

/// The condition of the rule of this file that has such a name.
fn excluding(study: &Study, by: Option<&str>) -> Option<Span> {
    let rule = study.prune.iter().find(|r| Some(r.name.as_str()) == by)?;
    (rule.span.file == study.span.file).then_some(rule.span)
}
