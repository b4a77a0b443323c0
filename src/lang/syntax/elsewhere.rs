//! Habits of other languages that read as two mistakes of this one, and are told as one: `f"…"`, `// why`, `--flag=1# why`, `unset --a, --b`.

use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, Edit};
use crate::lang::source::{FileId, Span};

/// Letters before a text: Python's, and Rust's.
const PREFIXES: [&str; 8] = ["f", "r", "b", "u", "F", "R", "rb", "fr"];

/// Tells one mistake in each place where such a habit was read as several.
pub fn told_once(text: &str, found: &mut Vec<Diagnostic>) {
    let unexpected = |d: &Diagnostic| d.code == Code::Unexpected && d.span.file == FileId::default();
    let mut at = 0;
    while let Some(d) = found.get(at) {
        // words behind a comparison that are no metrics are prose
        let is_prose = |o: &Diagnostic| {
            let behind = o.span.file == d.span.file && d.span.start < o.span.start;
            o.code == Code::UnknownMetric && behind && o.span.end <= d.span.line_in(text).end
        };
        let prose = || found.iter().any(is_prose);
        let habit = Some(d).filter(|d| unexpected(d)).and_then(|d| Habit::of(text, d.span, &prose));
        at += 1;
        let Some(habit) = habit else { continue };
        found[at - 1] = habit.told(found[at - 1].clone());
        let (gone, own) = (habit.explains, found[at - 1].span);
        found.retain(|d| {
            let follows = d.span.file == own.file && d.span.start > own.start && d.span.start < gone.end;
            let of_reading =
                d.code.id().starts_with("E1") || matches!(d.code, Code::FlagNeedsValue | Code::UnknownMetric);
            !(follows && of_reading && gone.start <= d.span.start)
        });
    }
}

struct Habit {
    /// the sign that is foreign
    place: Span,
    /// it as it is shown, where it is not what was found
    written: Option<&'static str>,
    label: &'static str,
    help: String,
    edit: Edit,
    /// where what was read follows from it
    explains: Span,
}

impl Habit {
    fn of(text: &str, at: Span, prose: &dyn Fn() -> bool) -> Option<Self> {
        let line = at.line_in(text);
        let (before, own) = (text.get(line.start as usize..at.start as usize)?, text.get(at.range())?);
        let behind = text.get(at.end as usize..line.end as usize)?;
        let to_end = Span { start: at.start, ..line };
        if PREFIXES.contains(&own) && behind.starts_with('"') {
            return Some(Self {
                place: at,
                written: None,
                label: "no text begins so",
                help: format!("remove `{own}`: every text takes `{{name}}` for the param of that name"),
                edit: Edit { span: at, text: String::new() },
                explains: Span { end: at.end + 1, ..at },
            });
        }
        if own == "/" && (before.ends_with('/') || behind.starts_with('/')) {
            let start = if before.ends_with('/') { at.start - 1 } else { at.start };
            let place = Span { start, end: start + 2, ..at };
            // `output_tps // gpus`: of two signs that divide one is too many
            let divides = ["metric ", "prune ", "refuses ", "require "];
            let divides = divides.iter().any(|w| before.trim_start().starts_with(w));
            let rest = text[place.end as usize..].lines().next().unwrap_or_default();
            if divides && is_operand(rest) && !(before.contains(['<', '>']) && prose()) {
                return Some(Self {
                    place: Span { start: start + 1, ..place },
                    written: None,
                    label: "the second one",
                    help: "one `/` divides: remove it; a comment begins with `#`".to_owned(),
                    edit: Edit { span: Span { start: start + 1, ..place }, text: String::new() },
                    explains: to_end,
                });
            }
            return Some(Self {
                place,
                written: Some("//"),
                label: "a comment?",
                help: "comments begin with `#`".to_owned(),
                edit: Edit { span: place, text: "#".to_owned() },
                explains: to_end,
            });
        }
        let glued =
            before.trim_end().strip_suffix('#').filter(|b| !b.ends_with([' ', '\t']) && !b.is_empty());
        if let Some(value) = glued.filter(|b| !b.contains('"')) {
            let start = line.start + value.len() as u32;
            return Some(Self {
                place: Span { start, end: start + 1, ..at },
                written: Some("#"),
                label: "part of the value",
                help: "a space stands before a comment".to_owned(),
                edit: Edit { span: Span { start, end: start, ..at }, text: " ".to_owned() },
                explains: to_end,
            });
        }
        let unset = before.trim_start().starts_with("unset ") || before.contains("= unset ");
        (own == "," && unset && behind.trim_start().starts_with('-')).then(|| Self {
            place: at,
            written: None,
            label: "expected `unset`",
            help: "each has an `unset` of its own: `unset --a unset --b`".to_owned(),
            edit: Edit { span: at, text: " unset".to_owned() },
            explains: to_end,
        })
    }

    fn told(&self, d: Diagnostic) -> Diagnostic {
        let shown = |sign: &str| format!("`{sign}` was not expected here");
        let message = self.written.map_or(d.message, shown);
        let d = Diagnostic::new(Code::Unexpected, self.place, message).label(self.label).help(&*self.help);
        d.edit(self.edit.span, &*self.edit.text)
    }
}

/// Whether a text is one operand and what goes on behind it: of several words a comment is made.
fn is_operand(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    let sign =
        |w: &str| matches!(w, "+" | "-" | "*" | "/" | "<" | "<=" | ">" | ">=" | "==" | "!=" | "and" | "or");
    first.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '(') && words.next().is_none_or(sign)
}
