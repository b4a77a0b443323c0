//! What was told of a flag's value by its signs alone, told anew where it is known what the flag takes: of `--devices=0,1` nobody knows without
//! whether it is a decimal number or a text, and of `--modules a=/b` whether it is a key of an object.

use super::check::Checker;
use super::schema::{Found, Kind as Takes};
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, Edit};
use crate::lang::source::Span;
use crate::lang::syntax::ast::Item;

/// A flag and the value behind it, where they stand.
struct Valued {
    flag: String,
    value: String,
    /// where the value stands
    at: Span,
}

impl Checker<'_> {
    pub(super) fn values_by_type(&mut self) {
        let (mut commas, mut apart) = (Vec::new(), Vec::new());
        for d in self.sink.found() {
            match d.code {
                Code::Unexpected => commas.extend(self.with_a_comma(d).map(|valued| (d.span, valued))),
                Code::SpacedFlag if d.edits.is_empty() => {
                    apart.extend(self.set_apart(d.span).map(|valued| (d.span, valued)));
                }
                _ => {}
            }
        }
        if !commas.is_empty() || !apart.is_empty() {
            // those of a file without any of its own are imported and not looked at until somebody asks
            drop(self.own_engines());
        }
        for (at, valued) in commas {
            let takes = self.takes_at(&valued);
            if let Some(d) = self.sink.each_mut().find(|d| d.code == Code::Unexpected && d.span == at) {
                valued.quoted_if_a_text(takes.as_ref(), d);
            }
        }
        for (at, valued) in apart {
            if !matches!(self.takes_at(&valued), Some(Takes::Words | Takes::Text | Takes::Path)) {
                continue;
            }
            if let Some(d) = self.sink.each_mut().find(|d| d.code == Code::SpacedFlag && d.span == at) {
                let right = format!("{}=\"{}\"", valued.flag, valued.value);
                d.help = Some(format!("write {right}"));
                d.edits = vec![Edit { span: at, text: right }];
            }
        }
    }

    /// `--devices=0,1`, of which the comma was told.
    fn with_a_comma(&self, d: &Diagnostic) -> Option<Valued> {
        if self.modules.slice(d.span).trim_end() != "," {
            return None;
        }
        let text = self.modules.text_of(d.span.file);
        let before = d.span.before_in(text);
        let ends = |c: char| c.is_whitespace() || "#{}[]()'\"".contains(c);
        let start = before.rfind(ends).map_or(0, |n| n + 1);
        let (flag, begun) = before[start..].split_once('=').filter(|(flag, _)| flag.starts_with("--"))?;
        let at = start + flag.len() + 1;
        let rest = &text[at + begun.len()..];
        let end = at + begun.len() + rest.find(ends).unwrap_or(rest.len());
        let value = text.get(at..end)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ',' | '.' | '_' | '-' | ':' | '/');
        let whole = value.split(',').all(|part| !part.is_empty()) && value.chars().all(plain);
        let here =
            || Valued { flag: flag.to_owned(), value: value.to_owned(), at: Span::new(d.span.file, at..end) };
        // what is set beside it is another flag or key
        (whole && !value.contains(",--")).then(here)
    }

    /// `--modules a=/b`, of which the space was told.
    fn set_apart(&self, span: Span) -> Option<Valued> {
        let (flag, value) = self.modules.slice(span).split_once([' ', '\t'])?;
        let value = value.trim_start();
        let plain = !value.is_empty() && !value.contains(['"', '\\', ' ', '\t', '\n']);
        plain.then(|| Valued { flag: flag.to_owned(), value: value.to_owned(), at: span })
    }

    /// What a flag takes in the engine in which it stands, or in all that know it; `None` where they differ.
    fn takes_at(&self, valued: &Valued) -> Option<Takes> {
        let at = valued.at;
        let holds = |span: Span| span.file == at.file && span.range().contains(&(at.start as usize));
        let own = self.modules.home(at).file.items.iter().find_map(|i| match i {
            Item::Engine(e) if holds(e.span) => Some(e.name.value.as_str()),
            _ => None,
        });
        let engines = self.engines.values().flatten().filter(|e| own.is_none_or(|own| e.name == own));
        let mut takes = engines.filter_map(|e| match e.schema.find(&valued.flag, e.version.as_deref()) {
            Found::Known(spec, _) => Some(spec.kind.clone()),
            _ => None,
        });
        let first = takes.next()?;
        let alike = |other: Takes| std::mem::discriminant(&other) == std::mem::discriminant(&first);
        takes.all(alike).then_some(first)
    }
}

impl Valued {
    /// A decimal number is one where the flag takes such; where it takes a text, the comma is part of that.
    fn quoted_if_a_text(&self, takes: Option<&Takes>, d: &mut Diagnostic) {
        let text = matches!(takes, Some(Takes::Text | Takes::Path));
        let whole = |e: &Edit| e.span == self.at;
        let as_decimal = |e: &Edit| e.text == self.value.replacen(',', ".", 1);
        // in an axis it may be a list of points as well, which was told
        let listed = d.edits.iter().any(|e| e.text.starts_with('['));
        if text && !listed {
            let right = format!("\"{}\"", self.value);
            d.help = Some(format!("a value that holds a comma is quoted: write `{right}`"));
            d.edits = vec![Edit { span: self.at, text: right }];
        } else if text && self.value.chars().all(|c| c.is_ascii_digit() || c == ',') {
            let list = self.value.replace(',', ", ");
            d.help = Some(format!(
                "a list stands in square brackets: `[{list}]`; one text is quoted: `\"{}\"`",
                self.value
            ));
            d.edits.clear();
        } else if let Some(decimal) = self.decimal_of(takes).filter(|_| listed) {
            d.help = Some(format!("decimals stand behind a point: write `{decimal}`"));
            d.edits = vec![Edit { span: self.at, text: decimal }];
        } else if !matches!(takes, Some(Takes::Float { .. }))
            && d.edits.iter().any(|e| whole(e) && as_decimal(e))
        {
            d.help = Some(format!(
                "decimals stand behind a point: `{}`; a text that holds a comma is quoted: `\"{}\"`",
                self.value.replacen(',', ".", 1),
                self.value
            ));
            d.edits.clear();
        }
    }

    /// `0,9` of a share: as two numbers one of them is none that the flag takes, and as one it is.
    fn decimal_of(&self, takes: Option<&Takes>) -> Option<String> {
        let Some(Takes::Float { min, max }) = takes else { return None };
        let takes = |text: &str| {
            let number: f64 = text.parse().ok()?;
            Some(min.is_none_or(|min| number >= min) && max.is_none_or(|max| number <= max))
        };
        let (whole, decimals) = self.value.split_once(',')?;
        let decimal = format!("{whole}.{decimals}");
        (!(takes(whole)? && takes(decimals)?) && takes(&decimal)?).then_some(decimal)
    }
}
