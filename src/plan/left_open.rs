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
    values_twice(analysis, found);
}

/// `--max-num-seqs=[512, 512]`: what a rule over this flag comes to is open, as the second value was to be another.
fn values_twice(analysis: &Analysis, found: &mut Vec<Diagnostic>) {
    let modules = &analysis.modules;
    let items = &modules.root().file.items;
    let in_axis = |d: &&Diagnostic| {
        d.code == Code::DeclaredTwice
            && matches!(Item::at(items, d.span), Some(Item::Axis(a)) if a.name.span != d.span)
    };
    let axes = analysis.diagnostics.iter().filter(in_axis).filter_map(|d| Item::at(items, d.span));
    let flags: HashSet<String> = axes.flat_map(|axis| flags_in(modules.slice(axis.span()))).collect();
    let reads = |span: &Span| !flags_in(modules.slice(*span)).is_disjoint(&flags);
    found.retain(|d| {
        let of_rule = || reads(&d.span) || d.related.iter().any(|(at, _)| reads(at));
        !matches!(d.code, Code::NeverFires | Code::AlwaysFires | Code::Unreachable) || !of_rule()
    });
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
    let of_values = |d: &Diagnostic| {
        matches!(d.code, Code::NeverFires | Code::AlwaysFires | Code::SettledGuard | Code::Unreachable)
    };
    found.retain(|d| !(of_values(d) && flags_in(modules.slice(d.span)).iter().any(alike)));
}

/// An engine that is too large is mended by more GPUs, or by fewer of its own.
fn rules_over_gpus(analysis: &Analysis, found: &mut Vec<Diagnostic>) {
    if !analysis.diagnostics.iter().any(|d| d.code == Code::TooManyGpus) {
        return;
    }
    let reads = |span: Span| words(analysis.modules.slice(span)).contains("gpus");
    let of_rules =
        |d: &Diagnostic| matches!(d.code, Code::NeverFires | Code::AlwaysFires | Code::Unreachable);
    found.retain(|d| !of_rules(d) || !reads(d.span) && !d.related.iter().any(|(at, _)| reads(*at)));
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

/// A study that is to say how many GPUs there are has what reads their power, once it says so.
fn metrics_of_gpus(analysis: &mut Analysis, found: &[Diagnostic]) {
    let unstated = |at: Span| found.iter().any(|d| d.code == Code::GpusUnstated && d.span == at);
    analysis.diagnostics.retain(|d| d.about != About::WithoutGpus || !unstated(d.span));
}

fn words(text: &str) -> HashSet<&str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|w| !w.is_empty()).collect()
}
