//! Which model answers say that they are of. A gateway may answer for another one than was asked for, and several servers behind one
//! address may not serve the same.

use std::collections::BTreeSet;

use super::findings::Finding;
use super::record::RequestRecord;

/// Names that are told.
const MOST: usize = 4;

/// Whether a name is not the one that was asked for. Servers also name a revision behind it (`org/model@main`), leave the organisation out,
/// or name the file or directory that the model lies in.
pub(super) fn is_another(name: &str, asked: &str) -> bool {
    let name = name.trim();
    !name.is_empty() && name != asked && short(name) != short(asked)
}

fn short(name: &str) -> String {
    let name = name.trim_end_matches('/');
    let last = name.rsplit('/').next().unwrap_or(name);
    let bare = last.split('@').next().unwrap_or(last);
    bare.strip_suffix(".gguf").unwrap_or(bare).to_lowercase()
}

/// What completed requests give reason to say.
pub(super) fn finding(records: &[RequestRecord], asked: &str) -> Option<Finding> {
    let completed = || records.iter().filter(|r| r.is_completed());
    let others = || completed().filter_map(|r| r.answered_as.as_deref());
    let names: BTreeSet<&str> = others().collect();
    let names: Vec<String> = names.into_iter().take(MOST).map(str::to_owned).collect();
    let (requests, of) = (others().count() as u64, completed().count() as u64);
    (requests > 0).then(|| Finding::OtherModel { requests, of, names, asked: asked.to_owned() })
}

/// Whether the answers of one load are not all of the same model.
pub fn is_mixed(finding: &Finding) -> bool {
    matches!(finding, Finding::OtherModel { requests, of, names, .. } if names.len() > 1 || requests < of)
}

pub(super) fn text(requests: u64, of: u64, names: &[String], asked: &str) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let names = names.join(", ");
    format!("{requests} of {of} answers name another model than `{asked}`, which was asked for: {names}")
}
