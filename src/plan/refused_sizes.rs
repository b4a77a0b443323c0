//! One size of an engine that the engine refuses, and for which there are too few GPUs: a value that is wrong twice is one mistake.

use crate::lang::codes::Code;
use crate::lang::source::Span;
use crate::lang::{Analysis, Diagnostic};

/// Takes back that there are too few GPUs for what is refused with any number of them, and names their number there.
pub(super) fn with_their_gpus(analysis: &mut Analysis, found: &mut [Diagnostic]) {
    analysis.diagnostics.retain(|d| {
        let Some((size, gpus)) = only_size(d) else { return true };
        let refused = found.iter_mut().find(|r| r.code == Code::Refused && r.span == size);
        let Some(refused) = refused else { return true };
        refused.related.push((gpus, "and there are only so many".to_owned()));
        false
    });
}

/// The one size for which there are too few GPUs, and where their number stands.
fn only_size(d: &Diagnostic) -> Option<(Span, Span)> {
    match d.related.as_slice() {
        [(gpus, _), (size, _)] if d.code == Code::TooManyGpus => Some((*size, *gpus)),
        _ => None,
    }
}
