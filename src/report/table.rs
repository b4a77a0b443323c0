//! A table that fits the terminal. Numbers are never cut: where room is short, text columns give way first, then the
//! columns that matter least are left out.

use std::ops::Range;

use tabled::builder::Builder;
use tabled::settings::formatting::AlignmentStrategy;
use tabled::settings::object::Cell as At;
use tabled::settings::object::Columns;
use tabled::settings::style::Style as Frame;
use tabled::settings::{Alignment, Modify};

use super::entries::Entries;
use super::style::{Style, Tone};
use super::wrap::{longest_number, width_of, wrap};

/// Rows of a table that are drawn at once.
const AT_ONCE: usize = 200;
/// Frame and padding of one column; one more closes the table.
const FRAME: usize = 3;
/// Text columns keep this much, or all of their text, while there is an extra to leave out.
const COMFORTABLE: usize = 24;
/// Nor below this at all, unless the text is shorter.
const TIGHT: usize = 8;
/// Below that only on a terminal that has no room for what decides; headings break too then.
const LEAST: usize = 4;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Kept whole, to the right.
    Number,
    /// Wrapped when it must be.
    Text,
}

/// A column: its heading, one entry a line, and how much it matters.
#[derive(Debug, Clone)]
pub struct Column {
    pub head: Vec<String>,
    pub kind: Kind,
    /// The highest go first when room is short: extras (above 1) so that text columns stay comfortable, 1 only when
    /// nothing else helps, 0 never.
    pub spare: u8,
}

/// Columns with their entries, and each row's tone.
#[derive(Debug, Clone, Default)]
pub struct Table {
    pub columns: Vec<(Column, Entries)>,
    pub tones: Vec<Tone>,
}

impl Column {
    /// A column of numbers.
    pub fn number(head: &[&str], spare: u8) -> Self {
        Self { head: head.iter().map(ToString::to_string).collect(), kind: Kind::Number, spare }
    }

    /// A column of text.
    pub fn text(head: &[&str], spare: u8) -> Self {
        Self { head: head.iter().map(ToString::to_string).collect(), kind: Kind::Text, spare }
    }
}

impl Table {
    /// Draws the table, a few rows at a time: a long one would be held several times over. Its lines go on as they are made. None is
    /// wider than the terminal, unless one number is.
    pub fn draw(&self, style: Style, mut line: impl FnMut(&str)) {
        self.draw_by(style, AT_ONCE, &mut line);
    }

    fn draw_by(&self, style: Style, at_once: usize, line: &mut dyn FnMut(&str)) {
        let (kept, widths) = self.fit(style.width());
        let rows = self.tones.len();
        if rows <= at_once {
            return self.part(style, (&kept, &widths), 0..rows, false).lines().for_each(line);
        }
        // each part is as wide as the whole
        let widths: Vec<usize> = kept.iter().zip(&widths).map(|(&c, &width)| self.used(c, width)).collect();
        for begin in (0..rows).step_by(at_once) {
            let end = rows.min(begin + at_once);
            let part = self.part(style, (&kept, &widths), begin..end, true);
            let lines = part.lines().skip(if begin == 0 { 0 } else { self.head_lines(&kept, &widths) });
            let last = if end < rows { part.lines().next_back() } else { None };
            lines.filter(|line| Some(*line) != last).for_each(&mut *line);
        }
    }

    /// The lines of the frame and of the heading before the first row.
    fn head_lines(&self, kept: &[usize], widths: &[usize]) -> usize {
        let lines = |(&c, &width): (&usize, &usize)| lines_of(&self.column(c).head.join("\n"), width).len();
        2 + kept.iter().zip(widths).map(lines).max().unwrap_or(1).max(1)
    }

    fn part(
        &self,
        style: Style,
        (kept, widths): (&[usize], &[usize]),
        rows: Range<usize>,
        whole_width: bool,
    ) -> String {
        let mut builder = Builder::default();
        let heads = kept.iter().zip(widths);
        builder.push_record(heads.map(|(&c, &width)| {
            let lines = lines_of(&self.column(c).head.join("\n"), width);
            self.filled(lines, c, if whole_width { width } else { 0 }).join("\n")
        }));
        for row in rows.clone() {
            let entry = |c: usize| self.columns[c].1.get(row);
            let lines = kept.iter().zip(widths).map(|(&c, &width)| lines_of(entry(c), width).join("\n"));
            builder.push_record(lines);
        }
        let mut table = builder.build();
        table.with(Frame::rounded()).with(AlignmentStrategy::PerLine);
        for (place, &column) in kept.iter().enumerate() {
            if self.column(column).kind == Kind::Number {
                table.with(Modify::new(Columns::one(place)).with(Alignment::right()));
            }
            colour(&mut table, style, &self.tones[rows.clone()], place);
        }
        table.to_string()
    }

    /// The heading's first line as wide as its column.
    fn filled(&self, mut lines: Vec<String>, column: usize, width: usize) -> Vec<String> {
        if lines.is_empty() {
            lines.push(String::new());
        }
        let spaces = " ".repeat(width.saturating_sub(width_of(&lines[0])));
        match self.column(column).kind {
            Kind::Number => lines[0].insert_str(0, &spaces),
            Kind::Text => lines[0].push_str(&spaces),
        }
        lines
    }

    /// The most lines that an entry of a column takes at that width of the terminal; none if the column is left out.
    pub fn tallest(&self, column: usize, width: usize) -> usize {
        let (kept, widths) = self.fit(width);
        let Some(place) = kept.iter().position(|&c| c == column) else { return 0 };
        let lines = self.columns[column].1.iter().map(|entry| lines_of(entry, widths[place]).len());
        lines.max().unwrap_or(0)
    }

    /// Whether all columns under such a heading have room at that width of the terminal.
    pub fn keeps(&self, head: &str, width: usize) -> bool {
        let (kept, _) = self.fit(width);
        let such = |&c: &usize| self.column(c).head.first().is_some_and(|line| line == head);
        (0..self.columns.len()).filter(such).all(|column| kept.contains(&column))
    }

    fn column(&self, column: usize) -> &Column {
        &self.columns[column].0
    }

    /// The columns that stay, and the width of each.
    fn fit(&self, width: usize) -> (Vec<usize>, Vec<usize>) {
        let mut kept: Vec<usize> = (0..self.columns.len()).collect();
        loop {
            let room = width.saturating_sub(FRAME * kept.len() + 1);
            let has_extras = kept.iter().any(|&c| self.column(c).spare > 1);
            let widths = self.squeeze(&kept, room, if has_extras { Self::comfortable } else { Self::tight });
            let most_spare = (0..kept.len()).max_by_key(|&i| self.column(kept[i]).spare);
            match most_spare.filter(|&i| self.column(kept[i]).spare > 0) {
                Some(place) if widths.iter().sum::<usize>() > room => kept.remove(place),
                // what decides stays: then its text breaks within words
                _ if widths.iter().sum::<usize>() > room => {
                    return (kept.clone(), self.squeeze(&kept, room, Self::least));
                }
                _ => {
                    let widths = self.grow(&kept, widths, room);
                    return (kept, widths);
                }
            };
        }
    }

    /// Widths in which the widest text column gives way first, none below its floor.
    fn squeeze(&self, kept: &[usize], room: usize, floor: fn(&Self, usize) -> usize) -> Vec<usize> {
        let mut widths: Vec<usize> = kept.iter().map(|&c| self.natural(c)).collect();
        let floors: Vec<usize> = kept.iter().map(|&c| floor(self, c)).collect();
        while widths.iter().sum::<usize>() > room {
            let yielding = (0..widths.len()).filter(|&i| widths[i] > floors[i]).max_by_key(|&i| widths[i]);
            let Some(widest) = yielding else { break };
            widths[widest] -= 1;
        }
        widths
    }

    /// Widths without what wrapping left unused, handed on to the columns that still wrap, the first ones first.
    fn grow(&self, kept: &[usize], mut widths: Vec<usize>, room: usize) -> Vec<usize> {
        for (place, &column) in kept.iter().enumerate() {
            let used = kept.iter().zip(&widths).map(|(&c, &width)| self.used(c, width)).sum::<usize>();
            let free = room.saturating_sub(used);
            widths[place] =
                (self.used(column, widths[place]) + free).min(self.natural(column)).max(widths[place]);
        }
        widths
    }

    /// What the wrapped column takes of that width.
    fn used(&self, column: usize, width: usize) -> usize {
        let entries = self.columns[column].1.iter().flat_map(|entry| lines_of(entry, width));
        entries.map(|line| width_of(&line)).max().unwrap_or(0).max(self.head_width(column))
    }

    fn natural(&self, column: usize) -> usize {
        self.widest(column, width_of)
    }

    fn comfortable(&self, column: usize) -> usize {
        match self.column(column).kind {
            Kind::Number => self.natural(column),
            Kind::Text => self.tight(column).max(self.natural(column).min(COMFORTABLE)),
        }
    }

    fn tight(&self, column: usize) -> usize {
        match self.column(column).kind {
            Kind::Number => self.natural(column),
            Kind::Text => self
                .head_width(column)
                .max(TIGHT.min(self.natural(column)))
                .max(self.widest(column, longest_number)),
        }
    }

    fn least(&self, column: usize) -> usize {
        match self.column(column).kind {
            Kind::Number => self.natural(column),
            Kind::Text => LEAST.min(self.natural(column)).max(self.widest_entry(column, longest_number)),
        }
    }

    fn head_width(&self, column: usize) -> usize {
        self.column(column).head.iter().map(|line| width_of(line)).max().unwrap_or(0)
    }

    /// The most that any entry of the column measures, the heading's lines at least.
    fn widest(&self, column: usize, measure: fn(&str) -> usize) -> usize {
        self.widest_entry(column, measure).max(self.head_width(column))
    }

    fn widest_entry(&self, column: usize, measure: fn(&str) -> usize) -> usize {
        let entries = self.columns[column].1.iter().flat_map(str::lines).map(measure);
        entries.max().unwrap_or(0)
    }
}

fn colour(table: &mut tabled::Table, style: Style, tones: &[Tone], place: usize) {
    let head = style.ansi(Tone::Strong).map(|color| (0, color));
    let body = tones.iter().enumerate().filter_map(|(r, tone)| Some((r + 1, style.ansi(*tone)?)));
    for (row, color) in head.into_iter().chain(body) {
        table.with(Modify::new(At::new(row, place)).with(color));
    }
}

/// An entry's own lines, each wrapped.
fn lines_of(text: &str, width: usize) -> Vec<String> {
    text.lines().flat_map(|line| wrap(line, width.max(1))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(rows: &[[&str; 4]]) -> Table {
        let columns = [
            Column::text(&["candidate"], 0),
            Column::text(&["changes"], 1),
            Column::number(&["total_tps", "tok/s"], 0),
            Column::text(&["outcome"], 0),
        ];
        let entries = |i: usize| rows.iter().map(|row| row[i]).collect();
        let mut columns: Vec<_> = columns.into_iter().enumerate().map(|(i, c)| (c, entries(i))).collect();
        let ttft = rows.iter().map(|_| "1,604.2").collect();
        columns.insert(3, (Column::number(&["TTFT", "ms"], 2), ttft));
        Table { columns, tones: vec![Tone::Plain; rows.len()] }
    }

    fn sample(label: &str, changes: &str, value: &str, outcome: &str) -> Table {
        table(&[[label, changes, value, outcome]])
    }

    fn drawn(table: &Table, style: Style, at_once: usize) -> String {
        let mut lines = Vec::new();
        table.draw_by(style, at_once, &mut |line| lines.push(line.to_owned()));
        lines.join("\n")
    }

    #[test]
    fn leaves_out_what_matters_least() {
        let table = sample("Seqs 512", "--max-num-seqs=512", "11,464.5", "ok");
        let wide = drawn(&table, Style::new(100, false), AT_ONCE);
        assert!(wide.contains("TTFT") && wide.contains("changes"), "{wide}");
        let narrower = drawn(&table, Style::new(60, false), AT_ONCE);
        assert!(!narrower.contains("TTFT") && narrower.contains("changes"), "{narrower}");
        let narrow = drawn(&table, Style::new(44, false), AT_ONCE);
        assert!(!narrow.contains("TTFT") && !narrow.contains("changes"), "{narrow}");
        assert!(narrow.contains("11,464.5"), "{narrow}");
        let table = sample("Seqs 512", "--max-num-seqs=512", "123,111,464,464.5", "refused");
        let narrowest = drawn(&table, Style::new(40, false), AT_ONCE);
        assert!(narrowest.lines().all(|line| width_of(line) <= 40), "{narrowest}");
        assert!(narrowest.contains("123,111,464,464.5"), "{narrowest}");
    }

    /// Digits with their points and commas, as they stand in a text.
    fn numbers(text: &str) -> Vec<String> {
        let text: String =
            text.chars().map(|c| if c.is_ascii_digit() || c == '.' || c == ',' { c } else { ' ' }).collect();
        let numbers = text.split(' ').map(|n| n.trim_matches(['.', ',']).to_owned());
        numbers.filter(|n| n.bytes().any(|b| b.is_ascii_digit())).collect()
    }

    #[test]
    fn a_table_in_parts_is_the_table() {
        let texts: Vec<[String; 3]> = (0..7)
            .map(|i| {
                let label = "Seqs ".to_owned() + &"x".repeat(i * 3);
                [label, format!("{i}.5"), "it was refused because of something ".repeat(i % 3)]
            })
            .collect();
        let mut rows = vec![["Seqs 512", "--max-num-seqs=512 --and-some-more=1", "11,464.5", "ok"]];
        rows.extend(texts.iter().map(|[label, value, outcome]| [label, "", value, outcome.as_str()]));
        let table = table(&rows);
        for style in
            [Style::new(100, false), Style::new(60, false), Style::new(44, false), Style::new(80, true)]
        {
            // strong spaces look like any others
            let shown = |text: &str| text.replace("\x1b[1m", "").replace("\x1b[22m", "");
            let whole = shown(&drawn(&table, style, AT_ONCE));
            for at_once in 1..8 {
                assert_eq!(shown(&drawn(&table, style, at_once)), whole, "{at_once} at once");
            }
        }
    }

    proptest! {
        #[test]
        fn fits_and_keeps_numbers_whole(
            label in "[a-zA-Z0-9 ._-]{0,30}",
            changes in r#"(--[a-z-]{1,14}=[0-9]{1,6}(\.[0-9]{1,3})? ?|\{"[a-z_]{1,12}":[0-9]{1,4},){0,4}"#,
            value in 0.0f64..1e7,
            reason in r"([a-zA-Zäöü漢]{1,18}[ ,:/-]|[+-]?[0-9]{1,3}(,[0-9]{3}){0,2} ?%? ){0,12}",
            width in 60usize..200,
        ) {
            let table = sample(&label, &changes, &super::super::format::number(value), &reason);
            let drawn = drawn(&table, Style::new(width, false), AT_ONCE);
            for line in drawn.lines() {
                prop_assert!(width_of(line) <= width, "{} columns in {width}:\n{drawn}", width_of(line));
            }
            let found = numbers(&drawn);
            for number in numbers(&label).iter().chain(&numbers(&reason)) {
                prop_assert!(found.contains(number), "{number} is cut in\n{drawn}");
            }
            if drawn.contains("changes") {
                for number in numbers(&changes) {
                    prop_assert!(found.contains(&number), "{number} is cut in\n{drawn}");
                }
            }
        }
    }
}
