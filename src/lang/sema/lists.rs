//! Lists in places where one value stands: of words for one flag, of an array, of models.

use super::check::Checker;
use super::program::Engine;
use super::schema::{Found, Kind};
use super::scope;
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::source::Span;
use crate::lang::syntax::ast::{self, ChangeKind, Name, Single};
use crate::lang::syntax::of_models;

impl Checker<'_> {
    /// `axis c = concurrency [1, 8]`: the load is a profile's, and no axis varies it.
    pub(super) fn load_as_axis(&mut self, module: usize, name: &Name) -> bool {
        let what = name.value.as_str();
        let declared = scope::Kind::IMPORTABLE.iter().any(|k| self.module(module).find(*k, what).is_some());
        if declared || !matches!(what, "concurrency" | "rate" | "input" | "output" | "requests" | "duration")
        {
            return false;
        }
        let message = format!("`{what}` is no axis: it belongs to a profile, and axes vary what is launched");
        let help = match what {
            "concurrency" => {
                "derive a profile: `profile busy = chat { concurrency 64 }`; several loads, `concurrency 1, 4, 16`, are a curve for `confirm on`"
            }
            "rate" => {
                "derive a profile: `profile busy = chat { rate 8/s }`; several loads, `rate 2/s, 4/s, 8/s`, are a curve for `confirm on`"
            }
            _ => "derive a profile that states it: `profile longer = chat { input 4Ki }`",
        };
        self.sink
            .push(Diagnostic::new(Code::UnknownName, name.span, message).label("not an axis").help(help));
        true
    }

    /// A list in an engine or a point: of a flag that takes several words or JSON it is one value, else the points of an axis.
    pub fn list_of_one(&mut self, change: &ast::Change, span: Span, engine: Option<&Engine>) {
        let message = "a list of values stands for the points of an axis";
        let d = Diagnostic::new(Code::ListOutsideAxis, span, message).label("a list here");
        let d = if let Some((what, right)) = self.one_text(change, span, engine) {
            d.help(format!("{what} are one value, in quotes: write `{right}`")).edit(span, right)
        } else {
            let axis = format!("`axis NAME = {}`", self.source_text(change.span));
            d.help(format!("declare {axis} and vary it in a step; an array that is one value is quoted"))
        };
        self.sink.push(d);
    }

    /// What the list was meant to be under the flag's type.
    fn one_text(
        &self,
        change: &ast::Change,
        span: Span,
        engine: Option<&Engine>,
    ) -> Option<(&'static str, String)> {
        let (ChangeKind::Flag(flag), Some(engine)) = (&change.kind, engine) else { return None };
        let ast::Value::List(singles, _) = flag.value.as_ref()? else { return None };
        let Found::Known(spec, _) = engine.schema.find(&flag.name.value, engine.version.as_deref()) else {
            return None;
        };
        let plain = singles.iter().all(|s| !s.text.contains(['"', '\\', '{', '}']));
        match spec.kind {
            Kind::Words if plain => {
                let words = singles.iter().map(|s| s.text.as_str()).collect::<Vec<_>>().join(" ");
                Some(("the words of a flag", format!("\"{words}\"")))
            }
            Kind::Json if plain => {
                let array = self.source_text(span);
                let is_json = serde_json::from_str::<Vec<serde_json::Value>>(&array).is_ok();
                is_json.then(|| ("the elements of an array", format!("\"{}\"", array.replace('"', "\\\""))))
            }
            _ => None,
        }
    }

    /// `axis size = model ["org/A", "org/B"]`: it reads as picks from an axis that is called so.
    pub fn listed_models(&mut self, name: &Name, models: &[Single]) {
        let (Some(first), Some(last)) = (models.first(), models.last()) else { return };
        let texts: Vec<&str> = models.iter().map(|m| m.text.as_str()).collect();
        let right = of_models(&texts);
        let d = Diagnostic::new(Code::UnknownName, name.span, "models are no list").label("one stands here");
        let (before, after) = self.around(name.span.to(last.span));
        let alone = before.trim_end().ends_with('=') && after.trim() == "]";
        let whole =
            Span { end: last.span.end + u32::try_from(after.trim_end().len()).unwrap_or(0), ..name.span };
        let quoted = self.source_text(first.span).starts_with('"');
        let d = d.help(format!("each model is a point: `axis NAME = {right}`"));
        self.sink.push(if alone && quoted { d.edit(whole, right) } else { d });
    }

    /// The rest of the line before and behind a span.
    fn around(&self, span: Span) -> (&str, &str) {
        let text = self.modules.text_of(span.file);
        let (start, end) = (span.start as usize, span.end as usize);
        let before = text.get(..start).and_then(|t| t.rsplit('\n').next()).unwrap_or_default();
        let after = text.get(end..).and_then(|t| t.split('\n').next()).unwrap_or_default();
        (before, after)
    }
}
