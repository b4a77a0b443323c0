//! Doubts that follow from a slip which was told already, and are no second finding: flags of a release that was cut short, an axis that is
//! unused because another stands in its place, the version of an engine from which the right one derives.

use super::modules::Modules;
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::source::Span;

/// Takes them back, and says with the slip what they would have said.
pub fn doubts_that_follow(found: &mut Vec<Diagnostic>, modules: &Modules) {
    flags_of_a_release_cut_short(found);
    factor_in_place_of_another(found, modules);
    version_of_a_parent(found);
}

/// `version "0.17"` for `0.17.1`, and a flag that 0.17.1 has.
fn flags_of_a_release_cut_short(found: &mut Vec<Diagnostic>) {
    let cut = found.iter().filter(|d| d.code == Code::VersionUnknown);
    let meant: Vec<String> = cut
        .filter_map(|d| d.label.strip_prefix("did you mean `")?.strip_suffix("`?"))
        .map(|version| format!("({version} has it)"))
        .collect();
    found.retain(|d| d.code != Code::FlagDoubt || !meant.iter().any(|m| d.message.ends_with(m)));
}

/// `seqs * seqs` beside an axis that nothing uses.
fn factor_in_place_of_another(found: &mut Vec<Diagnostic>, modules: &Modules) {
    let twice = |d: &Diagnostic| {
        let mut factors: Vec<&str> = modules.slice(d.span).split('*').map(str::trim).collect();
        let count = factors.len();
        factors.sort_unstable();
        factors.dedup();
        d.code == Code::FlagClash && factors.len() < count
    };
    let unused = |d: &Diagnostic| d.code == Code::Unused && d.message.starts_with("the axis ");
    let mut axes = found.iter().filter(|d| unused(d)).map(|d| d.span);
    let (Some(unused_at), None) = (axes.next(), axes.next()) else { return };
    let mut clashes = found.iter_mut().filter(|d| twice(d));
    let (Some(d), None) = (clashes.next(), clashes.next()) else { return };
    let name = modules.slice(unused_at);
    d.help = Some(format!("one factor stands here twice, and `{name}` is never used: was it meant?"));
    d.related.push((unused_at, "never used".to_owned()));
    found.retain(|d| !(unused(d) && d.span == unused_at));
}

/// `track llama_cpp` with steps that start from an engine which derives from it.
fn version_of_a_parent(found: &mut Vec<Diagnostic>) {
    let border = found.iter().filter(|d| d.code == Code::TrackBorder);
    let parents: Vec<Span> =
        border.flat_map(|d| d.related.iter().filter(|(_, said)| said == TRACK).map(|(at, _)| *at)).collect();
    found.retain(|d| d.code != Code::VersionMissing || !parents.contains(&d.span));
}

/// What is said of a track that names the parent of the engine that its steps start from.
pub(super) const TRACK: &str = "this track";
