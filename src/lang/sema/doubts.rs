//! Doubts that follow from a slip which was told already, and are no second finding: flags of a release that was cut short, an axis that is
//! unused because another stands in its place, the version of an engine from which the right one derives.

use super::modules::Modules;
use super::scope::Kind;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, Edit};
use crate::lang::source::Span;
use crate::lang::syntax::ast::Item;

/// Takes them back, and says with the slip what they would have said.
pub fn doubts_that_follow(found: &mut Vec<Diagnostic>, modules: &Modules) {
    flags_of_a_release_cut_short(found);
    signs_that_were_mended(found);
    in_place_of_another(found, modules);
    axis_of_another_engine(found, modules);
    version_of_a_parent(found);
    values_of_guessed_settings(found, modules);
    releases_of_points(found, modules);
    releases_beside_one_twice(found, modules);
    lines_twice(found, modules);
}

/// A line with several flags that stands twice is one mistake.
fn lines_twice(found: &mut Vec<Diagnostic>, modules: &Modules) {
    let line = |at: Span| at.line_in(modules.text_of(at.file));
    let lines = |d: &Diagnostic| {
        let (first, own) = (line(d.related.first()?.0), line(d.span));
        let same = first != own && modules.slice(first).trim() == modules.slice(own).trim();
        (d.code == Code::FlagTwice && same).then_some((first, own))
    };
    let all: Vec<(Span, Span)> = found.iter().filter_map(lines).collect();
    let is_whole = |pair: &(Span, Span)| all.iter().filter(|other| *other == pair).count() > 1;
    let mut told: Vec<Span> = Vec::new();
    found.retain_mut(|d| {
        let Some((first, own)) = lines(d).filter(is_whole) else { return true };
        if told.contains(&own) {
            return false;
        }
        told.push(own);
        let code = modules.slice(own).trim();
        let start = own.start + (modules.slice(own).find(code).unwrap_or_default() as u32);
        d.span = Span { start, end: start + code.len() as u32, ..own };
        "this line stands twice".clone_into(&mut d.message);
        d.related = vec![(first, "the first one".to_owned())];
        // with the end of the line before it
        d.edits =
            vec![Edit { span: Span { start: own.start.saturating_sub(1), ..own }, text: String::new() }];
        true
    });
}

/// `versions "2.1", "2.1"`: the second one may be the release that an engine of the schema states.
fn releases_beside_one_twice(found: &mut Vec<Diagnostic>, modules: &Modules) {
    let items = &modules.root().file.items;
    let twice = |d: &&Diagnostic| {
        let line = modules.slice(d.span.line_in(modules.text_of(d.span.file)));
        d.code == Code::SettingTwice && line.trim_start().starts_with("versions ")
    };
    let schemas = found.iter().filter(twice).filter_map(|d| match Item::at(items, d.span) {
        Some(Item::Engine(e)) => Some(About::Engine(e.name.value.clone())),
        _ => None,
    });
    let schemas: Vec<About> = schemas.collect();
    found.retain(|d| d.code != Code::VersionUnknown || !schemas.contains(&d.about));
}

/// `speed 1.5` in a profile: what no setting that is called nearly so can have makes it none of those.
fn values_of_guessed_settings(found: &mut Vec<Diagnostic>, modules: &Modules) {
    let line = |d: &Diagnostic| d.span.line_in(modules.text_of(d.span.file));
    let is_slip = |d: &Diagnostic| {
        let near = |s: &String| strsim::damerau_levenshtein(s, modules.slice(d.span)) <= 2;
        d.code == Code::UnknownSetting && d.suggested.iter().any(near)
    };
    let of_values = |d: &Diagnostic| matches!(d.code, Code::OutOfRange | Code::Dimension | Code::MissingUnit);
    let values: Vec<(Span, Span)> =
        found.iter().filter(|d| of_values(d)).map(|d| (line(d), d.span)).collect();
    if values.is_empty() {
        return;
    }
    let mut gone = Vec::new();
    for d in found.iter_mut().filter(|d| is_slip(d)) {
        let own = line(d);
        let behind = values.iter().filter(|(line, at)| *line == own && at.start >= d.span.end);
        let before = gone.len();
        gone.extend(behind.map(|(_, at)| *at));
        if gone.len() > before {
            "unknown".clone_into(&mut d.label);
            d.suggested.clear();
            d.edits.clear();
        }
    }
    found.retain(|d| !(of_values(d) && gone.contains(&d.span)));
}

/// Points of one axis that set a flag which the engine does not have in its release: it is one mistake, of the flag or of the release.
fn releases_of_points(found: &mut Vec<Diagnostic>, modules: &Modules) {
    let items = &modules.root().file.items;
    let of_flag = |d: &Diagnostic| d.code == Code::FlagVersion && matches!(d.about, About::Release { .. });
    if found.iter().filter(|d| of_flag(d)).count() < 2 {
        return;
    }
    let mut kept: Vec<Diagnostic> = Vec::with_capacity(found.len());
    let mut firsts: Vec<(Span, usize)> = Vec::new();
    for d in found.drain(..) {
        let item = if of_flag(&d) { Item::at(items, d.span) } else { None };
        let axis = item.filter(|i| matches!(i, Item::Axis(_))).map(Item::span);
        let same = |(of, at): &&(Span, usize)| axis == Some(*of) && kept[*at].message == d.message;
        match (axis, firsts.iter().find(same).map(|(_, at)| *at)) {
            (Some(_), Some(first)) => {
                kept[first].related.push((d.span, "and here".to_owned()));
                kept[first].edits.clear();
            }
            (axis, _) => {
                firsts.extend(axis.map(|axis| (axis, kept.len())));
                kept.push(d);
            }
        }
    }
    *found = kept;
}

/// `env CUDA_VISIBLE_DEVICES=0,1`: how its value is written is of no matter.
pub fn values_of_what_is_not_to_set(found: &mut Vec<Diagnostic>, modules: &Modules) {
    let line = |d: &Diagnostic| d.span.line_in(modules.text_of(d.span.file));
    let lines: Vec<Span> = found.iter().filter(|d| d.code == Code::ReservedVariable).map(line).collect();
    found.retain(|d| d.code != Code::Unexpected || !lines.contains(&line(d)));
}

/// `version "0.17"` for `0.17.1`, and a flag that 0.17.1 has.
fn flags_of_a_release_cut_short(found: &mut Vec<Diagnostic>) {
    let cut = found.iter().filter(|d| d.code == Code::VersionUnknown);
    let meant: Vec<String> = cut.flat_map(|d| &d.suggested).cloned().collect();
    found.retain(|d| match &d.about {
        About::Release { since: Some(since), .. } => d.code != Code::FlagDoubt || !meant.contains(since),
        _ => true,
    });
}

/// `p90(ttft) => 2s`: what a comparison asks for is doubtful so long as its sign is.
fn signs_that_were_mended(found: &mut Vec<Diagnostic>) {
    let errors: Vec<Span> = found.iter().filter(|d| d.is_error()).map(|d| d.span).collect();
    let within =
        |d: &Diagnostic, s: &Span| s.file == d.span.file && d.span.start <= s.start && s.end <= d.span.end;
    found.retain(|d| d.code != Code::WrongWay || !errors.iter().any(|s| within(d, s)));
}

/// `seqs * seqs`, a step that varies `seqs + seqs`, `engine[a, a]`, `on chat, chat`, beside one of that kind that nothing uses.
pub fn in_place_of_another(found: &mut Vec<Diagnostic>, modules: &Modules) {
    for kind in [Kind::Axis, Kind::Engine, Kind::Profile] {
        let twice = |d: &Diagnostic| match d.code {
            Code::FlagClash if kind == Kind::Axis => stands_twice(modules.slice(d.span)),
            Code::SameTwice if kind == Kind::Axis => stands_twice(varied(modules, d.span)),
            _ => d.about == About::Twice(kind),
        };
        let unused = |d: &Diagnostic| d.about == About::Unused(kind);
        let places: Vec<Span> = found.iter().filter(|d| unused(d)).map(|d| d.span).collect();
        if found.iter().filter(|d| twice(d)).count() != 1 {
            continue;
        }
        if let [first, second] = places[..] {
            one_of_two_unused(found, modules, (first, second), kind);
            continue;
        }
        let ([unused_at], Some(d)) = (&places[..], found.iter_mut().find(|d| twice(d))) else { continue };
        let unused_at = *unused_at;
        let name = modules.slice(unused_at);
        d.help =
            Some(format!("one {} stands here twice, and `{name}` is never used: was it meant?", kind.word()));
        d.related.push((unused_at, "never used".to_owned()));
        d.edits.clear();
        found.retain(|d| !(unused(d) && d.span == unused_at));
    }
}

/// Two that nothing uses, of which one was meant where another stands twice: the other one is the mistake, and which that is nobody knows.
fn one_of_two_unused(
    found: &mut Vec<Diagnostic>,
    modules: &Modules,
    (first, second): (Span, Span),
    kind: Kind,
) {
    let word = kind.word();
    let names = (modules.slice(first), modules.slice(second));
    found.retain(|d| !(d.about == About::Unused(kind) && d.span == second));
    if let Some(d) = found.iter_mut().find(|d| d.about == About::Unused(kind) && d.span == first) {
        d.message =
            format!("neither `{}` nor `{}` is used, and another {word} stands twice", names.0, names.1);
        d.help = Some(format!(
            "one of them was meant where the same {word} stands twice: use the other one too, or remove it"
        ));
        d.related.push((second, "nor this one".to_owned()));
        d.edits.clear();
    }
}

/// Whether something stands more than once between signs.
fn stands_twice(text: &str) -> bool {
    let parts =
        text.split(['*', '+']).map(|part| part.trim_matches(|c: char| c.is_whitespace() || "()".contains(c)));
    let mut parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    let count = parts.len();
    parts.sort_unstable();
    parts.dedup();
    parts.len() < count
}

/// What the step varies that is named at a place.
fn varied(modules: &Modules, step: Span) -> &str {
    let block = modules.text_of(step.file)[step.range().end..].split('}').next().unwrap_or_default();
    let line = block.split_once("vary ").map_or("", |(_, line)| line).lines().next().unwrap_or_default();
    line.split(['#', '(']).next().unwrap_or_default()
}

/// `vary sg_chunk` over vLLM, beside an axis that nothing uses: each use that an engine cannot take may stand in the place of one.
fn axis_of_another_engine(found: &mut Vec<Diagnostic>, modules: &Modules) {
    let unused = |d: &Diagnostic| d.about == About::Unused(Kind::Axis);
    let axes: Vec<Span> = found.iter().filter(|d| unused(d)).map(|d| d.span).collect();
    let mut uses: Vec<_> =
        found.iter_mut().filter(|d| matches!(d.about, About::SetBy { .. }) && d.is_error()).collect();
    if axes.is_empty() || axes.len() > uses.len() {
        return;
    }
    if let ([axis], [d]) = (axes.as_slice(), uses.as_mut_slice()) {
        let help = d.help.take().unwrap_or_default();
        d.help = Some(format!("{help}; `{}` is never used: was it meant?", modules.slice(*axis)));
        d.related.push((*axis, "never used".to_owned()));
    }
    found.retain(|d| !unused(d));
}

/// `track llama_cpp` with steps that start from an engine which derives from it.
fn version_of_a_parent(found: &mut Vec<Diagnostic>) {
    let track = |d: &Diagnostic| if let About::Track(at) = d.about { at } else { None };
    let parents: Vec<Span> = found.iter().filter_map(track).collect();
    found.retain(|d| d.code != Code::VersionMissing || !parents.contains(&d.span));
}
