//! Settings of a load that are misspelt or called as in other tools: told of, and read as they were meant.

use std::borrow::Cow;

use super::check::Checker;
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, begun};
use crate::lang::syntax::ast::{Name, WordLine, WordValue};
use crate::lang::syntax::{PROFILE_SETTINGS as SETTINGS, load_setting};

impl Checker<'_> {
    /// A line under the setting that it surely is; one of no setting is told of, and stays what it is. What other tools call the most
    /// requests at once caps an `open` load, and is a load of its own elsewhere.
    pub(super) fn as_called<'l>(&mut self, line: &'l WordLine, open: bool) -> Cow<'l, WordLine> {
        let word = &line.word;
        if SETTINGS.contains(&word.value.as_str()) {
            return Cow::Borrowed(line);
        }
        let message = format!("a profile has no setting `{}`", word.value);
        let d = Diagnostic::new(Code::UnknownSetting, word.span, message);
        if let Some((setting, example)) = load_setting(&word.value) {
            let caps = open && setting == "concurrency";
            let (setting, example) = if caps { ("in_flight", "in_flight 64") } else { (setting, example) };
            return self.of_another_tool(line, d, setting, example);
        }
        let mut d = d.meant(&word.value, SETTINGS.iter().copied(), "unknown", str::to_owned);
        if let Some(whole) = begun(&word.value, SETTINGS.iter().copied()).filter(|_| d.suggested.is_empty()) {
            d = d.suggest(whole).edit(word.span, whole);
        }
        let meant = d.edits.first().map(|e| e.text.clone());
        self.sink.push(d.help(format!("a profile has the settings {}", SETTINGS.join(", "))));
        meant.map_or(Cow::Borrowed(line), |setting| Cow::Owned(renamed(line, &setting)))
    }

    /// `request_rate 8` is a rate a second, as the tool counts it that calls it so.
    fn of_another_tool<'l>(
        &mut self,
        line: &'l WordLine,
        d: Diagnostic,
        setting: &str,
        example: &str,
    ) -> Cow<'l, WordLine> {
        let d = d.suggest(setting);
        let mut meant = renamed(line, setting);
        let unit = match setting {
            "rate" => "/s",
            "duration" => "s",
            _ => "",
        };
        let numbers = match &mut meant.value {
            WordValue::Numbers(all) => all.as_mut_slice(),
            _ => &mut [],
        };
        if setting == "arrivals" {
            // how they come is a word, and its number another
            let right = if numbers.len() == 1 { "arrivals gamma" } else { setting };
            self.sink.push(d.help(format!("it is called `{example}` here")).edit(line.word.span, right));
            return Cow::Borrowed(line);
        }
        if numbers.is_empty() {
            self.sink.push(d.help(format!("it is called `{example}` here")).edit(line.word.span, setting));
            return Cow::Owned(meant);
        }
        let mut shown = Vec::new();
        for n in numbers {
            if n.unit.is_empty() {
                unit.clone_into(&mut n.unit);
            }
            shown.push(format!("{}{}", n.value, n.unit));
        }
        let right = format!("{setting} {}", shown.join(", "));
        self.sink.push(d.help(format!("it is called `{right}` here")).edit(line.span, right));
        Cow::Owned(meant)
    }
}

fn renamed(line: &WordLine, setting: &str) -> WordLine {
    let word = Name { value: setting.to_owned(), span: line.word.span };
    WordLine { word, ..line.clone() }
}
