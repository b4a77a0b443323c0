//! Points that are picked of an axis which cannot be read as a whole: that one is not there follows from what is wrong with the axis, and may
//! be the name that one of its points lost.

use foldhash::HashSet;

use super::check::{Checker, is_unreadable};
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, Edit};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{Axis, AxisBody, Item};

impl Checker<'_> {
    /// `seqs[512]` of an axis in whose list `512` was misspelt.
    pub(super) fn points_of_broken_axes(&mut self) {
        let axes = self.modules.root().file.items.iter();
        let axes = axes.filter_map(|i| if let Item::Axis(a) = i { Some(a) } else { None });
        // a flag that some engine lacks says nothing of the points
        let apart = [Code::UnknownPoint, Code::UnknownFlag, Code::FlagVersion];
        let of_value = [Code::BadFlagValue, Code::FlagNeedsValue];
        let torn = |a: &&Axis| {
            // points that have names keep them, whatever is wrong with their values
            let named = matches!(a.body, AxisBody::Points(_));
            // and an object is picked by no name that stands in it
            let in_object = |d: &Diagnostic| stands_in_an_object(self.modules.slice(a.span), d.span, a.span);
            let says = |d: &Diagnostic| {
                apart.contains(&d.code) || of_value.contains(&d.code) && (named || in_object(d))
            };
            self.sink.in_span(a.span).any(|d| !says(d)) || self.inserts_unreadable(a)
        };
        let torn: Vec<&Axis> = axes.clone().filter(torn).collect();
        for axis in &torn {
            self.named_as_picked(axis);
        }
        let torn: Vec<&str> = torn.iter().map(|a| a.name.value.as_str()).collect();
        let names: HashSet<String> = self.made_of(torn, axes).into_iter().map(str::to_owned).collect();
        self.sink.forget(|d| lacks_point(d).is_some_and(|axis| names.contains(axis)));
    }

    /// Whether a value of an axis is a param of the file that could not be read.
    fn inserts_unreadable(&self, axis: &Axis) -> bool {
        let names = self.modules.slice(axis.span).split('{').skip(1).filter_map(|rest| rest.split_once('}'));
        names.into_iter().any(|(name, _)| is_unreadable(self.modules.root(), self.modules, name))
    }

    /// A point that has a title and no name is called as what is picked of its axis and not there, if that is one; of several nobody knows.
    fn named_as_picked(&mut self, axis: &Axis) {
        let of_axis = |d: &&Diagnostic| lacks_point(d) == Some(axis.name.value.as_str());
        let mut picked: Vec<&str> =
            self.sink.found().filter(of_axis).map(|d| self.modules.slice(d.span)).collect();
        picked.sort_unstable();
        picked.dedup();
        let right = match picked.as_slice() {
            [] => return,
            [one] => Some((*one).to_owned()),
            _ => None,
        };
        let modules = self.modules;
        let within = |s: Span| s.file == axis.span.file && axis.span.range().contains(&(s.start as usize));
        // the edit that puts a name before the title
        let is_named = |d: &&mut Diagnostic| {
            let title = modules.slice(d.span);
            let named = |text: &str| text.strip_suffix(title).is_some_and(|name| name.ends_with(' '));
            // of a title before its name both are there
            let puts = |e: &Edit| named(&e.text) && e.span.end <= d.span.end;
            within(d.span) && title.starts_with('"') && matches!(d.edits.as_slice(), [e] if puts(e))
        };
        for d in self.sink.each_mut().filter(is_named) {
            let title = modules.slice(d.span);
            match &right {
                Some(name) => {
                    let named = format!("{name} {title}");
                    d.help = Some(format!("a point has a name: write `{named}: …`, as it is picked"));
                    d.edits[0].text = named;
                }
                None => d.edits.clear(),
            }
        }
    }
}

/// Whether a place in an axis is within an object that a flag is set to.
fn stands_in_an_object(axis: &str, at: Span, around: Span) -> bool {
    let before = (at.start as usize).checked_sub(around.start as usize).and_then(|at| axis.get(..at));
    let Some((before, open)) = before.and_then(|b| Some((b, b.rfind("={")?))) else { return false };
    let depth = before[open..].chars().fold(0_i32, |depth, c| match c {
        '{' => depth + 1,
        '}' => depth - 1,
        _ => depth,
    });
    depth > 0
}

/// The axis that lacks a point which was picked.
pub(super) fn lacks_point(d: &Diagnostic) -> Option<&str> {
    if let About::NoPoint { axis } = &d.about { Some(axis) } else { None }
}
