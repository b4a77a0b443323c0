//! Settings of a load that are misspelt or called as in other tools: told of, and read as they were meant.

use std::borrow::Cow;

use super::check::Checker;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, begun};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{Literal, Name, WordLine, WordValue};
use crate::lang::syntax::{Block, PROFILE_SETTINGS as SETTINGS, load_setting, one_word, setting_elsewhere};

impl Checker<'_> {
    /// A line under the setting that it surely is; one of no setting is told of, and stays what it is. What other tools call the most
    /// requests at once caps an `open` load, and is a load of its own elsewhere.
    pub(super) fn as_called<'l>(&mut self, line: &'l WordLine, open: bool) -> Cow<'l, WordLine> {
        let word = &line.word;
        if SETTINGS.contains(&word.value.as_str()) {
            return Cow::Borrowed(line);
        }
        if let Some((whole, second)) = in_two(line) {
            let span = word.span.to(second);
            self.sink.push(one_word(span, self.modules.slice(span), &whole.word.value));
            return Cow::Owned(whole);
        }
        let message = format!("a profile has no setting `{}`", word.value);
        let d = Diagnostic::new(Code::UnknownSetting, word.span, message);
        if let Some((setting, example)) = load_setting(&word.value) {
            let caps = open && setting == "concurrency";
            let (setting, example) = if caps { ("in_flight", "in_flight 64") } else { (setting, example) };
            return self.of_another_tool(line, d, setting, example);
        }
        if let Some(help) = setting_elsewhere(Block::Profile, &word.value) {
            self.sink.push(d.label("not here").about(About::NotHere).help(help));
            return Cow::Borrowed(line);
        }
        let mut d = d.meant(&word.value, SETTINGS.iter().copied(), "unknown", str::to_owned);
        if let Some(whole) = begun(&word.value, SETTINGS.iter().copied()).filter(|_| d.suggested.is_empty()) {
            d = d.suggest(whole).edit(word.span, whole);
        }
        if d.suggested.is_empty() {
            d = d.about(About::NoSetting(Block::Profile));
        }
        let meant = d.edits.first().map(|e| e.text.clone());
        self.sink.push(d.help(format!("a profile has the settings {}", SETTINGS.join(", "))));
        meant.map_or(Cow::Borrowed(line), |setting| Cow::Owned(renamed(line, &setting)))
    }

    /// Whether a line is read in the place of a flag, `--num-prompts=1000`, of which it is a part.
    pub(super) fn stands_for_another(&self, line: &WordLine) -> bool {
        let before = line.span.before_in(self.modules.text_of(line.span.file));
        before.ends_with(|c: char| !c.is_whitespace() && c != '{')
    }

    /// What such a flag sets is a setting that the profile has: which of the two is meant, nobody knows.
    pub(super) fn stated_already(&mut self, line: &WordLine, first: Span) {
        let place = line.span.line_in(self.modules.text_of(line.span.file));
        let setting = &line.word.value;
        let of_line = |d: &&mut Diagnostic| {
            d.code == Code::UnknownSetting
                && d.span.file == place.file
                && place.range().contains(&(d.span.start as usize))
        };
        for d in self.sink.each_mut().filter(of_line) {
            d.edits.clear();
            d.help = Some(format!(
                "it is called `{setting}` here, which the profile states already: keep one of them"
            ));
            d.related.push((first, "stated here".to_owned()));
        }
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

/// `concurr ency 512`, with one space in the word: the line that it was meant to be, and where the second part stands.
fn in_two(line: &WordLine) -> Option<(WordLine, Span)> {
    let WordValue::Word { word: second, argument: Some(argument) } = &line.value else { return None };
    let setting = format!("{}{}", line.word.value, second.value);
    let side_by_side = second.span.start == line.word.span.end + 1;
    let value = match argument {
        Literal::Number(number) => WordValue::Numbers(vec![number.clone()]),
        Literal::Text(text) => WordValue::Text(text.clone()),
        Literal::Bool(_) => return None,
    };
    (side_by_side && SETTINGS.contains(&setting.as_str()))
        .then(|| (WordLine { value, ..renamed(line, &setting) }, second.span))
}

fn renamed(line: &WordLine, setting: &str) -> WordLine {
    let word = Name { value: setting.to_owned(), span: line.word.span };
    WordLine { word, ..line.clone() }
}
