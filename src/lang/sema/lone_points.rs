//! `pick fp8` for `pick quant[fp8]`: a point without its axis, where one axis of the file has such a one.

use super::check::Checker;
use super::scope::Kind;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic};
use crate::lang::syntax::ast::{AxisBody, Item, Name};

impl Checker<'_> {
    /// Tells of it, and counts the axis as used.
    pub(super) fn point_as_axis(&mut self, module: usize, name: &Name) -> bool {
        let m = self.module(module);
        let has = |item: &&Item| match item {
            Item::Axis(a) => {
                matches!(&a.body, AxisBody::Points(points) if points.iter().any(|p| p.name.value == name.value))
            }
            _ => false,
        };
        let mut having = m.file.items.iter().filter(has);
        let (Some(Item::Axis(axis)), None) = (having.next(), having.next()) else { return false };
        let Some(at) = m.find(Kind::Axis, &axis.name.value) else { return false };
        if Kind::IMPORTABLE.iter().any(|k| m.find(*k, &name.value).is_some()) {
            return false;
        }
        let right = format!("{}[{}]", axis.name.value, name.value);
        let help = format!("it is a point of `{}`: write `{right}`", axis.name.value);
        self.used.insert(at);
        // `pick "fp8"` was told of its quotes, and is one mistake
        let quoted = |d: &&mut Diagnostic| {
            let within =
                d.span.file == name.span.file && d.span.start < name.span.start && name.span.end < d.span.end;
            within && matches!(d.edits.as_slice(), [e] if e.text == name.value)
        };
        if let Some(told) = self.sink.each_mut().find(quoted) {
            told.edits.iter_mut().for_each(|e| e.text.clone_from(&right));
            told.help = Some(help);
            return true;
        }
        let message = format!("no axis is called `{}`", name.value);
        let d = Diagnostic::new(Code::UnknownName, name.span, message)
            .about(About::missing(Kind::Axis, &name.value))
            .label("a point without its axis")
            .help(help);
        self.sink.push(d.edit(name.span, right));
        true
    }
}
