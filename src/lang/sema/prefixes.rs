//! Prompts that begin alike: how long the shared prefixes are and how many different ones there are, and data that can have them.

use super::check::Checker;
use super::program::{Data, Profile};
use super::said::Said;
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::source::Span;

const SETTINGS: [&str; 2] = ["prefix", "prefixes"];

impl Checker<'_> {
    /// Holds `prefix` and `prefixes` against the data; what is inherited goes with the data that had it.
    pub(super) fn shared_prefixes(&mut self, seen: &[(&str, Span)], said: &Said, p: &mut Profile) {
        let stated: Vec<&(&str, Span)> = seen.iter().filter(|(w, _)| SETTINGS.contains(w)).collect();
        if let Some(data) = p.data.as_ref().filter(|d| !has_prefixes(d)) {
            for (word, span) in &stated {
                let message =
                    format!("`data {}` brings its own prompts, and takes no `{word}`", word_of(data));
                let d =
                    Diagnostic::new(Code::ProfileSetting, *span, message).label("a prefix of drawn prompts");
                self.sink.push(d.help("it goes with `data random` and `data prefix_repetition`"));
            }
            (p.prefix, p.prefixes) = (None, None);
            return;
        }
        if p.prefixes.is_some() && p.prefix.is_none() && !said.words.contains(&"prefix") {
            let Some((_, span)) = stated.iter().find(|(w, _)| *w == "prefixes") else { return };
            let message = "`prefixes` says how many different ones there are, and none has a length";
            let d = Diagnostic::new(Code::ProfileSetting, *span, message).label("without a prefix");
            self.sink.push(d.help("state the length as well, such as `prefix 512`"));
        }
    }
}

fn has_prefixes(data: &Data) -> bool {
    matches!(data, Data::Random | Data::PrefixRepetition)
}

fn word_of(data: &Data) -> &'static str {
    match data {
        Data::Random => "random",
        Data::ShareGpt => "sharegpt",
        Data::PrefixRepetition => "prefix_repetition",
        Data::Jsonl(_) => "jsonl",
        Data::Trace(_) => "trace",
        Data::Conversations(_) => "conversations",
    }
}
