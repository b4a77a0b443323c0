//! Picks, `seqs[512, 1024]`: points of an axis or of a group of axes, by normal form.

use std::sync::Arc;

use foldhash::{HashSet, HashSetExt};

use super::axes::{listed, normal_pick};
use super::check::Checker;
use super::program::{Point, Space};
use super::scope::Kind;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic};
use crate::lang::syntax::ast::{Name, Single};

impl Checker<'_> {
    /// What a pick leaves of an axis or a group.
    pub(super) fn picked(&mut self, axis: &Name, space: &Space, picks: &[Single]) -> Option<Space> {
        let wanted: Vec<String> = picks.iter().map(|p| normal_pick(&p.text)).collect();
        let mut good = true;
        for (i, (pick, name)) in picks.iter().zip(&wanted).enumerate() {
            if wanted[..i].contains(name) {
                good = self.picked_twice(&axis.value, pick);
            } else if !space.points().into_iter().any(|p| is(p, name)) {
                good = self.no_point(axis, space, pick);
            } else if let Some(between) = ambiguous(space, name) {
                good = self.several_points(axis, &between, pick);
            }
        }
        if !good {
            return None;
        }
        let mut left = restricted(space, &wanted)?;
        named_here(&mut left, &wanted, picks);
        Some(left)
    }

    /// These say what is wrong with a pick; false, as it is a mistake.
    fn no_point(&mut self, axis: &Name, space: &Space, pick: &Single) -> bool {
        // of two axes of one name nobody knows which is meant
        let second = |d: &Diagnostic| d.about == About::Second(Kind::Axis);
        let modules = self.modules;
        if self.sink.found().any(|d| second(d) && modules.slice(d.span) == axis.value) {
            return false;
        }
        let mut seen = HashSet::new();
        let points = space.points().into_iter().map(|p| p.name.as_str());
        let known: Vec<&str> = points.filter(|name| seen.insert(*name)).collect();
        let message = format!("the axis `{}` has no point `{}`", axis.value, pick.text);
        let about = About::NoPoint { axis: axis.value.clone() };
        let d = Diagnostic::new(Code::UnknownPoint, pick.span, message).about(about);
        // a number is no misspelling of another one
        let d = if pick.text.starts_with(|c: char| c.is_ascii_digit()) {
            d.label("not there")
        } else {
            d.meant(&pick.text, known.iter().copied(), "not there", str::to_owned)
        };
        self.sink.push(d.help(format!("it has {}", listed(&known))));
        false
    }

    pub(super) fn picked_twice(&mut self, axis: &str, pick: &Single) -> bool {
        let message = format!("`{axis}` picks the point `{}` twice", pick.text);
        let d = Diagnostic::new(Code::DeclaredTwice, pick.span, message).label("picked already");
        let d = if axis == "engine" { d.about(About::Twice(Kind::Engine)) } else { d };
        self.sink.push(d.help("pick each point once"));
        false
    }

    fn several_points(&mut self, axis: &Name, between: &[String], pick: &Single) -> bool {
        let message = format!("`{}` is a point of several axes of the group `{}`", pick.text, axis.value);
        let d = Diagnostic::new(Code::UnknownPoint, pick.span, message).label("of which one?");
        let product: Vec<String> = between.iter().map(|a| format!("{a}[…]")).collect();
        self.sink.push(d.help(format!("pick from the axes themselves: `{}`", product.join(" * "))));
        false
    }
}

/// What is said of a point that another file declares is said where this one picks it.
fn named_here(space: &mut Space, wanted: &[String], picks: &[Single]) {
    match space {
        Space::Points(points) => {
            for point in Arc::make_mut(points) {
                let pick =
                    wanted.iter().zip(picks).find(|(name, _)| is(point, name)).map(|(_, pick)| pick.span);
                if let Some(at) = pick.filter(|at| at.file != point.span.file) {
                    point.span = at;
                }
            }
        }
        Space::Sum(parts) | Space::Product(parts) => {
            for part in parts {
                named_here(part, wanted, picks);
            }
        }
    }
}

fn is(point: &Point, name: &str) -> bool {
    normal_pick(&point.name) == name
}

/// The axes of one product that all have a point of that name.
fn ambiguous(space: &Space, name: &str) -> Option<Vec<String>> {
    let (Space::Product(parts) | Space::Sum(parts)) = space else { return None };
    if matches!(space, Space::Product(_)) {
        let axis = |f: &Space| f.points().into_iter().find(|p| is(p, name)).map(|p| p.axis.clone());
        let having: Vec<String> = parts.iter().filter_map(axis).collect();
        if having.len() > 1 {
            return Some(having);
        }
    }
    parts.iter().find_map(|part| ambiguous(part, name))
}

/// The space with the picked points alone: of an axis these, in the order in which they are picked; of a sum the terms that
/// have some; of a product every factor, those without a picked point whole. `None` if it has none of them.
fn restricted(space: &Space, wanted: &[String]) -> Option<Space> {
    let some = |parts: Vec<Space>, whole: fn(Vec<Space>) -> Space| (!parts.is_empty()).then(|| whole(parts));
    match space {
        Space::Points(points) => {
            let picked: Vec<Point> =
                wanted.iter().filter_map(|w| points.iter().find(|p| is(p, w))).cloned().collect();
            (!picked.is_empty()).then(|| Space::Points(Arc::new(picked)))
        }
        Space::Sum(terms) => some(terms.iter().filter_map(|t| restricted(t, wanted)).collect(), Space::Sum),
        Space::Product(factors) => {
            let picked: Vec<Option<Space>> = factors.iter().map(|f| restricted(f, wanted)).collect();
            if picked.iter().all(Option::is_none) {
                return None;
            }
            let whole = picked.into_iter().zip(factors).map(|(p, f)| p.unwrap_or_else(|| f.clone()));
            Some(Space::Product(whole.collect()))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Spaces whose points all differ.
    fn spaces() -> impl Strategy<Value = Space> {
        let leaf = (1usize..4).prop_map(|n| Space::Points(Arc::new((0..n).map(|_| point(0)).collect())));
        let tree = leaf.prop_recursive(4, 12, 3, |inner| {
            let parts = proptest::collection::vec(inner, 1..4);
            (parts, any::<bool>()).prop_map(|(p, sum)| if sum { Space::Sum(p) } else { Space::Product(p) })
        });
        tree.prop_map(|mut space| {
            name(&mut space, &mut 0);
            space
        })
    }

    fn point(n: usize) -> Point {
        let text = format!("p{n}");
        let span = crate::lang::source::Span::default();
        Point { axis: "a".to_owned(), name: text.clone(), label: text, changes: Vec::new(), span }
    }

    fn name(space: &mut Space, next: &mut usize) {
        match space {
            Space::Points(points) => {
                let count = points.len();
                *points = Arc::new((*next..*next + count).map(point).collect());
                *next += count;
            }
            Space::Sum(parts) | Space::Product(parts) => parts.iter_mut().for_each(|p| name(p, next)),
        }
    }

    fn candidates(space: &Space) -> Vec<Vec<String>> {
        let names = |i| space.candidate(i).iter().map(|p| p.name.clone()).collect();
        (0..space.len()).map(names).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_index_is_another_candidate(space in spaces()) {
            prop_assume!(space.len() < 2000);
            let all = candidates(&space);
            let different: HashSet<&Vec<String>> = all.iter().collect();
            prop_assert_eq!(different.len(), space.len());
            prop_assert!(all.iter().all(|c| !c.is_empty()));
            prop_assert!(space.candidate(space.len()).len() < 2 || matches!(space, Space::Product(_)));
        }

        #[test]
        fn sums_and_products_are_associative_and_the_left_factor_distributes(a in spaces(), b in spaces(), c in spaces()) {
            prop_assume!(a.len().saturating_mul(b.len()).saturating_mul(c.len()) < 2000);
            let three = || (a.clone(), b.clone(), c.clone());
            for join in [Space::Sum as fn(Vec<Space>) -> Space, Space::Product] {
                let ((x, y, z), (p, q, r), (u, v, w)) = (three(), three(), three());
                let flat = candidates(&join(vec![x, y, z]));
                prop_assert_eq!(&flat, &candidates(&join(vec![join(vec![p, q]), r])));
                prop_assert_eq!(&flat, &candidates(&join(vec![u, join(vec![v, w])])));
            }
            let ((x, y, z), (p, q, r)) = (three(), three());
            let factored = Space::Product(vec![Space::Sum(vec![x, y]), z]);
            let terms = Space::Sum(vec![Space::Product(vec![p, r.clone()]), Space::Product(vec![q, r])]);
            prop_assert_eq!(candidates(&factored), candidates(&terms));
        }

        #[test]
        fn a_pick_leaves_the_candidates_that_hold_it(space in spaces(), which in 0usize..40) {
            prop_assume!(space.len() < 2000);
            let points = space.points();
            let name = points[which % points.len()].name.clone();
            let left = restricted(&space, std::slice::from_ref(&name)).map(|s| candidates(&s)).unwrap_or_default();
            let held: Vec<Vec<String>> = candidates(&space).into_iter().filter(|c| c.contains(&name)).collect();
            prop_assert_eq!(left, held);
        }
    }
}
