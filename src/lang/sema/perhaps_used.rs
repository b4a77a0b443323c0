//! What may be unused beside mistakes: a name that could not be read, or that nothing declares, may have been meant to use it, and it alone.

use foldhash::HashSet;

use super::check::Checker;
use super::scope::{Kind, Module, declared};
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic};
use crate::lang::source::Span;
use crate::lang::syntax::ast::Study;

impl Checker<'_> {
    /// `vary fp8`, of which nothing is called so, beside axes that nothing uses: one of them may have been meant, and no more.
    pub(super) fn more_than_were_meant(&mut self, root: &Module, kind: Kind) {
        let unknown = |d: &&Diagnostic| {
            d.code == Code::UnknownName && d.edits.is_empty() && d.about.missing_kind() == Some(kind)
        };
        let missing: HashSet<&str> =
            self.sink.found().filter(unknown).map(|d| self.modules.slice(d.span)).collect();
        let first = self.sink.found().find(unknown).map(|d| d.span);
        let (Some(first), 1) = (first, missing.len()) else { return };
        let open = |(of, name, _): &(Kind, &str, Span)| {
            let at = root.find(kind, name);
            *of == kind && at.is_some_and(|at| !self.used.contains(&at) && self.is_named_nowhere(kind, name))
        };
        let all: Vec<(Kind, &str, Span)> = declared(root).filter(open).collect();
        let names: Vec<String> = all.iter().map(|(_, name, _)| format!("`{name}`")).collect();
        match all.as_slice() {
            [] => {}
            [_] => {
                if let Some(d) = self.sink.each_mut().find(|d| d.code == Code::UnknownName && d.span == first)
                {
                    let help = d.help.take().unwrap_or_default();
                    d.help = Some(format!("{help}; or was {} meant, which nothing uses?", names[0]));
                }
            }
            [(_, _, at), others @ ..] => {
                let message =
                    format!("of {} no more than one can be meant by another name", names.join(", "));
                let d = Diagnostic::new(Code::Unused, *at, message)
                    .about(About::Unused(kind))
                    .label("never used");
                let d = others.iter().fold(d, |d, (_, _, at)| d.related(*at, "nor this one"));
                self.sink.push(d.help(format!("use each {} in a study, or remove it", kind.word())));
            }
        }
    }

    /// Whether no use of a name that could not be read is known of.
    pub(super) fn is_named_nowhere(&self, kind: Kind, name: &str) -> bool {
        let is_named_once = self.named.get(&name.to_ascii_lowercase()).is_none_or(|n| *n <= 1);
        (is_named_once || kind == Kind::Param && self.is_of_an_axis(name))
            && !self.sink.suggests(name)
            && !self.may_be_unknown(kind, name)
            && !self.may_be_missed(kind, name)
    }

    /// Whether an axis is called so, and some step varies it: what names it is about that one. A param stands in texts and expressions.
    fn is_of_an_axis(&self, name: &str) -> bool {
        let root = self.modules.root();
        let varied = root.find(Kind::Axis, name).is_some_and(|at| self.used.contains(&at));
        let plain =
            |line: &str| !line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).any(|w| w == name);
        let own = |line: &str| {
            let words = ["axis", "param", "step", "vary", "pick", "track"];
            line.split_whitespace().next().is_some_and(|word| words.contains(&word))
        };
        varied && self.modules.root_text().lines().all(|line| plain(line) || own(line.trim_start()))
    }

    /// `maximize total_tps`, without its load: what is measured is said.
    pub(super) fn says_what_it_aims_at(&self, study: &Study) -> bool {
        let aims = |line: &str| {
            let mut words = line.split_whitespace();
            matches!(words.next(), Some("maximize" | "minimize"))
                && words.next().is_some()
                && words.next().is_none()
        };
        self.modules.slice(study.span).lines().any(|line| aims(line.split('#').next().unwrap_or_default()))
    }
}
