//! What goes with data that say more than a question: the times of a trace, and the turns of conversations.

use super::check::Checker;
use super::program::{Answers, Data, Profile};
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, one_of};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{Number, WordLine, WordValue};
use crate::lang::units::Dim;

const ANSWERS: [&str; 2] = ["own", "recorded"];

impl Checker<'_> {
    /// Reads such a setting.
    pub(super) fn played(&mut self, line: &WordLine, p: &mut Profile) {
        match line.word.value.as_str() {
            "slowdown" => {
                let n = self.one(line);
                p.slowdown = n.and_then(|n| self.positive(&n, Dim::PLAIN, "`slowdown`"));
            }
            "think" => p.think_s = self.think(line).or(p.think_s),
            _ => p.answers = self.answers(line).or(p.answers),
        }
    }

    /// A time, or a range that it is drawn from.
    fn think(&mut self, line: &WordLine) -> Option<(f64, f64)> {
        let mut seconds = |n: &Number| self.positive(n, Dim::TIME, "`think`");
        match &line.value {
            WordValue::Numbers(all) if all.len() == 1 => seconds(&all[0]).map(|s| (s, s)),
            WordValue::Range(range) if range.to.is_some() => {
                let from = seconds(&range.from)?;
                let to = seconds(range.to.as_ref()?)?;
                self.rises(line, from, Some(to));
                (to > from).then_some((from, to))
            }
            _ => {
                self.wrong(line, "a time, or a range with two ends");
                None
            }
        }
    }

    fn answers(&mut self, line: &WordLine) -> Option<Answers> {
        let WordValue::Word { word, argument: None } = &line.value else {
            self.wrong(line, &one_of(&ANSWERS));
            return None;
        };
        match word.value.as_str() {
            "own" => Some(Answers::Own),
            "recorded" => Some(Answers::Recorded),
            _ => {
                self.no_such("kind of answers", word, &ANSWERS);
                None
            }
        }
    }

    /// `think` and `answers` are about conversations; what is inherited goes with them.
    pub(super) fn talked(&mut self, seen: &[(&str, Span)], p: &mut Profile) {
        if matches!(p.data, Some(Data::Conversations(_))) {
            return;
        }
        for (word, span) in seen.iter().filter(|(w, _)| matches!(*w, "think" | "answers")) {
            if p.data.is_some() {
                let message = format!("`{word}` is about the turns of conversations, and this data has none");
                let d = Diagnostic::new(Code::ProfileSetting, *span, message).label("without conversations");
                self.sink.push(d.help("it goes with `data conversations`"));
            }
        }
        (p.think_s, p.answers) = (None, None);
    }

    /// `slowdown` stretches the times of a trace; what is inherited goes with them.
    pub(super) fn traced(&mut self, seen: &[(&str, Span)], p: &mut Profile) {
        let times = matches!(p.data, Some(Data::Trace(_))) && p.load.is_none();
        if p.slowdown.is_none() || times {
            return;
        }
        if let (Some((_, span)), Some(data)) = (seen.iter().find(|(w, _)| *w == "slowdown"), &p.data) {
            let (message, help) = if matches!(data, Data::Trace(_)) {
                (
                    "`slowdown` stretches the times of a trace, and this load has a rate or clients of its own",
                    "remove this line, or the rate or concurrency",
                )
            } else {
                (
                    "`slowdown` stretches the times of a trace, and this data has none",
                    "it goes with `data trace`",
                )
            };
            let d = Diagnostic::new(Code::ProfileSetting, *span, message).label("nothing to stretch");
            self.sink.push(d.help(help));
        }
        p.slowdown = None;
    }

    /// Prompts that a file brings are as long as they are.
    pub(super) fn lengths(&mut self, seen: &[(&str, Span)], p: &Profile) {
        let Some((_, span)) = seen.iter().find(|(w, _)| *w == "input") else { return };
        // a line with a mistake of its own, or of data that is only guessed
        let torn = seen.iter().filter(|(w, _)| matches!(*w, "input" | "data"));
        if torn.into_iter().any(|(_, at)| self.sink.in_span(*at).any(Diagnostic::is_error)) {
            return;
        }
        let brought = match &p.data {
            Some(Data::ShareGpt) => "sharegpt",
            Some(Data::Jsonl(_)) => "jsonl",
            Some(Data::Trace(_)) => "trace",
            Some(Data::Conversations(_)) => "conversations",
            _ => return,
        };
        let message = format!("`input` draws the lengths of prompts, and `{brought}` brings its own");
        let d = Diagnostic::new(Code::ProfileSetting, *span, message).label("nothing to draw");
        self.sink.push(d.help("remove this line; it goes with `data random` and `prefix_repetition`"));
    }
}
