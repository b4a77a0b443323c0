//! The checker reads the draft until it has nothing left to say: what it objects to is passed on unchecked or taken out.

use super::draft::Draft;
use super::error::InitError;
use super::write::{self, Part, Text};
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, Severity};
use crate::lang::source::NoFiles;
use crate::lang::{Analysis, analyze};

/// A study that checks, and what had to change for it.
#[derive(Debug, Clone)]
pub struct Settled {
    pub text: String,
    pub remarks: Vec<String>,
}

/// The draft as a file without errors and without warnings, a doubt about its version and values at their defaults apart.
pub fn settle(mut draft: Draft) -> Result<Settled, InitError> {
    let mut remarks = Vec::new();
    let rounds = draft.engine.changes.len() * 2 + draft.axes.len() + draft.rules.len() + 2;
    for _ in 0..rounds {
        let text = write::file(&draft);
        let analysis = analyze(&NoFiles, "study.plab", &text.text);
        let Some((part, found)) = objection(&analysis, &text, &draft)? else {
            if draft.studies.iter().any(|s| s.steps.is_empty()) {
                let why = "none of the flags that are usually tuned fits this command";
                return Err(InitError::Inexpressible(why.to_owned()));
            }
            // as `perflab fmt` has it; what it refuses to touch stands as it was written
            let text = crate::lang::fmt::format(&text.text).unwrap_or(text.text);
            return Ok(Settled { text, remarks });
        };
        amend(&mut draft, part, &found, &mut remarks);
    }
    Err(InitError::Inexpressible("no study that checks could be made of this command".to_owned()))
}

/// The first error, else the first warning, and the part of the draft that it is about.
fn objection(
    analysis: &Analysis,
    text: &Text,
    draft: &Draft,
) -> Result<Option<(Part, Diagnostic)>, InitError> {
    // what a sweep offers at its default is still what it offers, and what a release may read is the user's to settle
    let offered = [Code::AaPair, Code::UnlistedValue, Code::UnknownVariable];
    let doubts = |d: &&Diagnostic| d.severity() == Severity::Warning && !offered.contains(&d.code);
    let at = |d: &Diagnostic| text.part_at(d.span.start as usize);
    // what no engine takes is the user's to mend
    let typed = |d: &Diagnostic| match at(d) {
        Some(Part::Change(i)) => draft.engine.changes[i].as_typed,
        Some(Part::Axis(i)) => draft.axes[i].as_typed && is_of_a_flag(d.code),
        _ => false,
    };
    let first = analysis.diagnostics.iter().find(|d| d.is_error() && !typed(d));
    let others = analysis.diagnostics.iter().filter(doubts).filter(|d| !typed(d));
    for d in first.into_iter().chain(others) {
        match at(d) {
            // an unknown version is read by the nearest lower schema: that doubt is the user's to settle
            Some(Part::Version) if !d.is_error() => {}
            Some(part) => return Ok(Some((part, d.clone()))),
            None if d.is_error() => return Err(InitError::Inexpressible(d.message.clone())),
            None => {}
        }
    }
    Ok(None)
}

/// What the checker says of a flag that it does not have, or not with such a value.
fn is_of_a_flag(code: Code) -> bool {
    matches!(
        code,
        Code::UnknownFlag
            | Code::BadFlagValue
            | Code::FlagNeedsValue
            | Code::FlagVersion
            | Code::FlagDoubt
            | Code::ReservedFlag
    )
}

fn amend(draft: &mut Draft, part: Part, found: &Diagnostic, remarks: &mut Vec<String>) {
    match part {
        Part::Change(at)
            if !draft.engine.changes[at].raw && draft.engine.changes[at].text.starts_with('-') =>
        {
            draft.engine.changes[at].raw = true;
            draft.engine.changes[at].comment.get_or_insert_with(|| "passed on unchecked".to_owned());
        }
        Part::Change(at) => {
            let gone = draft.engine.changes.remove(at);
            remarks.push(format!("{}: {}", gone.text, found.message));
        }
        Part::Axis(at) => {
            let axis = &draft.axes[at];
            if axis.given {
                remarks.push(format!("axis {}: {}", axis.name, found.message));
            }
            draft.drop_axis(at);
        }
        Part::Rule(at) => {
            draft.rules.remove(at);
        }
        Part::Version => {
            draft.engine.settings.retain(|l| l.word != "version");
            remarks.push(format!("version: {}", found.message));
        }
    }
}
