//! Doubts that errors leave open: what a rule over the number of GPUs comes to while that number is wrong, whether a point changes anything
//! while a line that could not be read may set what it takes away.

use foldhash::HashSet;

use super::reach::flags_in;
use crate::lang::codes::Code;
use crate::lang::diag::About;
use crate::lang::sema::program::{Point, Step};
use crate::lang::sema::schema::{Found, key};
use crate::lang::source::Span;
use crate::lang::syntax::ast::Item;
use crate::lang::{Analysis, Diagnostic};

/// Takes such doubts back.
pub(super) fn without_what_errors_leave_open(analysis: &mut Analysis, found: &mut Vec<Diagnostic>) {
    rules_over_gpus(analysis, found);
    bases_of_unread_lines(analysis, found);
    metrics_of_gpus(analysis, found);
    values_with_signs(analysis, found);
}

/// `-ngl=18;`: what a condition over this flag comes to is open.
fn values_with_signs(analysis: &Analysis, found: &mut Vec<Diagnostic>) {
    let modules = &analysis.modules;
    let doubtful = analysis.diagnostics.iter().filter(|d| d.code == Code::Unexpanded);
    let lines: HashSet<String> = doubtful
        .flat_map(|d| flags_in(modules.slice(d.span.line_in(modules.text_of(d.span.file)))))
        .collect();
    if lines.is_empty() {
        return;
    }
    let alike = |flag: &String| {
        analysis.program.engines.values().any(|e| match e.schema.find(flag, e.version.as_deref()) {
            Found::Known(spec, _) => spec.names.iter().any(|n| lines.contains(&key(n))),
            _ => lines.contains(flag),
        })
    };
    let of_values = |d: &Diagnostic| is_of_rules(d) || d.code == Code::SettledGuard;
    found.retain(|d| !(of_values(d) && flags_in(modules.slice(d.span)).iter().any(alike)));
}

/// An engine that is too large is mended by more GPUs, or by fewer of its own.
fn rules_over_gpus(analysis: &Analysis, found: &mut Vec<Diagnostic>) {
    if !analysis.diagnostics.iter().any(|d| d.code == Code::TooManyGpus) {
        return;
    }
    let reads = |span: Span| words(analysis.modules.slice(span)).contains("gpus");
    found.retain(|d| !is_of_rules(d) || !meets(d, reads));
}

/// `environment X=1` in an engine, and a step that takes X away from it.
fn bases_of_unread_lines(analysis: &Analysis, found: &mut Vec<Diagnostic>) {
    let modules = &analysis.modules;
    let (root, items) = (modules.root_text(), &modules.root().file.items);
    let in_engine = |d: &&Diagnostic| {
        let unread = matches!(d.code, Code::UnknownSetting | Code::Unexpected);
        unread && matches!(Item::at(items, d.span), Some(Item::Engine(_)))
    };
    let behind = |d: &Diagnostic| Span { start: d.span.start, ..d.span.line_in(root) };
    let lines = analysis.diagnostics.iter().filter(in_engine).map(behind);
    let unread: HashSet<&str> = lines.flat_map(|line| words(modules.slice(line))).collect();
    if unread.is_empty() {
        return;
    }
    let says =
        |p: &Point| words(modules.slice(p.span)).into_iter().any(|w| w.len() > 3 && unread.contains(w));
    let open = |step: &Step| step.space.any(&says);
    let steps = || analysis.program.studies.iter().flat_map(|s| &s.steps);
    found.retain(|d| d.code != Code::OnlyBase || !steps().any(|s| s.span == d.span && open(s)));
}

/// A study that is to say how many GPUs there are has what reads their power and counts their hours, once it says so.
fn metrics_of_gpus(analysis: &mut Analysis, found: &[Diagnostic]) {
    let items = &analysis.modules.root().file.items;
    let study = |at: Span| Item::at(items, at).map(Item::span);
    let is_unstated = |d: &&Diagnostic| d.code == Code::GpusUnstated;
    let unstated: Vec<Span> = found.iter().filter(is_unstated).filter_map(|d| study(d.span)).collect();
    analysis
        .diagnostics
        .retain(|d| d.about != About::WithoutGpus || !study(d.span).is_some_and(|at| unstated.contains(&at)));
}

/// Whether it says what a rule over candidates comes to.
fn is_of_rules(d: &Diagnostic) -> bool {
    matches!(d.code, Code::NeverFires | Code::AlwaysFires | Code::Unreachable)
}

/// Whether one of its places is of such a kind.
fn meets(d: &Diagnostic, is: impl Fn(Span) -> bool) -> bool {
    is(d.span) || d.related.iter().any(|(at, _)| is(*at))
}

fn words(text: &str) -> HashSet<&str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|w| !w.is_empty()).collect()
}
