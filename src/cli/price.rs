//! What a GPU costs is a fact of the machine: whether a budget in money can be counted, the site says and no study.

use std::path::Path;

use super::console::Console;
use super::{files, site};
use crate::lang::Analysis;
use crate::lang::sema::budgets::unpriced;

/// Adds what is to be said of budgets in money, if no site that holds for the file has a price.
pub fn asked(analysis: &mut Analysis, named: Option<&Path>, file: &Path, console: Console) {
    let spans: Vec<_> = analysis.program.studies.iter().flat_map(|s| s.in_money.clone()).collect();
    if spans.is_empty() || priced(analysis, named, file, console) {
        return;
    }
    analysis.diagnostics.extend(spans.into_iter().map(unpriced));
    analysis.diagnostics.sort_by_key(|d| (d.span.file, d.span.start, d.severity(), d.code));
}

/// A site that cannot be read is spoken of where it is checked.
fn priced(analysis: &Analysis, named: Option<&Path>, file: &Path, console: Console) -> bool {
    let own = analysis.program.site.as_ref().filter(|_| named.is_none_or(|n| n == file));
    if let Some(own) = own {
        return own.price_per_s.is_some();
    }
    let Some(beside) = site::file_for(named, file) else { return false };
    let Some(read) = files::checked(&beside, &[], console) else { return true };
    read.has_errors() || read.program.site.is_some_and(|s| s.price_per_s.is_some())
}
