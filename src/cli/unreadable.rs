//! A file that cannot be read, as the diagnostic of a check: E111, at the byte that is no text where there is one.

use std::path::Path;

use super::files::{Disk, bytes_of};
use crate::lang::codes::Code;
use crate::lang::source::{FileId, Span};
use crate::lang::{Analysis, Diagnostic, analyze};
use crate::secrets;

/// The analysis of a file of which there is no text; `why` says what keeps it from being read.
pub fn analysis(path: &Path, why: &str) -> Analysis {
    let name = path.to_string_lossy();
    let place = first_wrong(path);
    let mut analysis = analyze(&Disk, &name, place.as_ref().map_or("", |(shown, _)| shown));
    let at = place.as_ref().map_or(0..0, |(_, at)| *at..*at + char::REPLACEMENT_CHARACTER.len_utf8());
    let message = format!("{name} cannot be read: {why}");
    let d = Diagnostic::new(Code::NotText, Span::new(FileId::default(), at), message);
    let help = match place {
        Some(_) => "save the file as UTF-8",
        None => "give the path of a .plab file",
    };
    analysis.diagnostics = vec![d.label("not UTF-8").help(help)];
    analysis
}

/// The text, with a sign for each byte that is none, and where the first of them stands; `None` where the file is no text at all.
fn first_wrong(path: &Path) -> Option<(String, usize)> {
    const MOST_BYTES: usize = 1 << 20;
    let bytes = bytes_of(path).ok().filter(|b| b.len() <= MOST_BYTES)?;
    let at = std::str::from_utf8(&bytes).err()?.valid_up_to();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    secrets::learn_source(&text);
    let binary = text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'));
    (!binary).then_some((text, at))
}
