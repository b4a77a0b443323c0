//! Loads of which nothing can come: one that ends before its first request, and a patience that no server keeps.

use super::check::Checker;
use super::loads::least_rate;
use super::program::Profile;
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::source::Span;

/// Seconds within which no server answers a request as a whole.
const NO_PATIENCE_S: f64 = 0.01;

impl Checker<'_> {
    /// `own` are the settings that the profile states itself: what it inherits was told of its parent.
    pub(super) fn hopeless(&mut self, own: &[(&str, Span)], p: &Profile) {
        let at = |words: &[&str]| own.iter().find(|(word, _)| words.contains(word)).map(|(_, span)| *span);
        if let (Some(span), Some(s), Some(rate)) =
            (at(&["duration", "rate"]), p.duration_s, p.load.as_ref().and_then(least_rate))
            && rate * s < 1.0
        {
            let message = format!("the load of `{}` ends before its first request", p.name);
            let d = Diagnostic::new(Code::ProfileSetting, span, message);
            let come = format!("{:.2} requests come in it on average", rate * s);
            self.sink.push(d.label(come).help("state a longer `duration`, or a higher `rate`"));
        }
        if let (Some(span), Some(_)) = (at(&["timeout"]), p.timeout_s.filter(|s| *s < NO_PATIENCE_S)) {
            let text = self.modules.slice(span).split_whitespace().collect::<Vec<_>>().join(" ");
            let message = format!("no server answers a request within `{text}`");
            let d = Diagnostic::new(Code::Implausible, span, message).label("every request would fail");
            self.sink.push(d.help("state how long people wait for a whole answer, such as `timeout 10min`"));
        }
    }
}
