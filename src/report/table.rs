//! A table that fits the terminal. Numbers are never cut: where room is short, text columns give way first, then the
//! columns that matter least are left out.

use tabled::builder::Builder;
use tabled::settings::formatting::AlignmentStrategy;
use tabled::settings::object::Cell as At;
use tabled::settings::object::Columns;
use tabled::settings::style::Style as Frame;
use tabled::settings::{Alignment, Modify};

use super::style::{Style, Tone};
use super::wrap::{longest_number, width_of, wrap};
use crate::secrets::mask;

/// Rows of a table that are drawn at once.
const AT_ONCE: usize = 500;
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

/// One entry.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    pub text: String,
    pub tone: Tone,
}

/// Rows of entries under columns, one entry for each.
#[derive(Debug, Clone)]
pub struct Table {
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Cell>>,
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

impl Cell {
    /// An entry in a tone. What is masked is masked here, and not after columns were measured.
    pub fn new(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: mask(&text.into()).into_owned(), tone }
    }
}

impl Table {
    /// The drawn table, without a final newline. No line is wider than the terminal, unless one number is.
    pub fn draw(&self, style: Style) -> String {
        self.draw_by(style, AT_ONCE)
    }

    /// So many rows at a time: the whole of a long table would be held several times over.
    fn draw_by(&self, style: Style, at_once: usize) -> String {
        let (kept, widths) = self.fit(style.width());
        if self.rows.len() <= at_once {
            return self.part(style, (&kept, &widths), &self.rows, false);
        }
        // each part is as wide as the whole
        let widths: Vec<usize> = kept.iter().zip(&widths).map(|(&c, &width)| self.used(c, width)).collect();
        let parts = self.rows.len().div_ceil(at_once);
        let mut out = String::new();
        for (i, rows) in self.rows.chunks(at_once).enumerate() {
            let part = self.part(style, (&kept, &widths), rows, true);
            let lines = part.lines().skip(if i == 0 { 0 } else { self.head_lines(&kept, &widths) });
            let last = if i + 1 < parts { part.lines().next_back() } else { None };
            for line in lines.filter(|line| Some(*line) != last) {
                if !out.is_empty() {
                    out.push('\n');
                }
                out.push_str(line);
            }
        }
        out
    }

    /// The lines of the frame and of the heading before the first row.
    fn head_lines(&self, kept: &[usize], widths: &[usize]) -> usize {
        let lines = |(&c, &width): (&usize, &usize)| lines_of(&self.columns[c].head.join("\n"), width).len();
        2 + kept.iter().zip(widths).map(lines).max().unwrap_or(1).max(1)
    }

    fn part(
        &self,
        style: Style,
        (kept, widths): (&[usize], &[usize]),
        rows: &[Vec<Cell>],
        whole_width: bool,
    ) -> String {
        let mut builder = Builder::default();
        let heads = kept.iter().zip(widths);
        builder.push_record(heads.map(|(&c, &width)| {
            let lines = lines_of(&self.columns[c].head.join("\n"), width);
            self.filled(lines, c, if whole_width { width } else { 0 }).join("\n")
        }));
        for row in rows {
            let lines = kept.iter().zip(widths).map(|(&c, &width)| lines_of(&row[c].text, width).join("\n"));
            builder.push_record(lines);
        }
        let mut table = builder.build();
        table.with(Frame::rounded()).with(AlignmentStrategy::PerLine);
        for (place, &column) in kept.iter().enumerate() {
            if self.columns[column].kind == Kind::Number {
                table.with(Modify::new(Columns::one(place)).with(Alignment::right()));
            }
            Self::colour(&mut table, style, rows, place, column);
        }
        table.to_string()
    }

    /// The heading's first line as wide as its column.
    fn filled(&self, mut lines: Vec<String>, column: usize, width: usize) -> Vec<String> {
        if lines.is_empty() {
            lines.push(String::new());
        }
        let spaces = " ".repeat(width.saturating_sub(width_of(&lines[0])));
        match self.columns[column].kind {
            Kind::Number => lines[0].insert_str(0, &spaces),
            Kind::Text => lines[0].push_str(&spaces),
        }
        lines
    }

    /// The most lines that an entry of a column takes at that width of the terminal; none if the column is left out.
    pub fn tallest(&self, column: usize, width: usize) -> usize {
        let (kept, widths) = self.fit(width);
        let Some(place) = kept.iter().position(|&c| c == column) else { return 0 };
        let lines = self.rows.iter().map(|row| lines_of(&row[column].text, widths[place]).len());
        lines.max().unwrap_or(0)
    }

    fn colour(table: &mut tabled::Table, style: Style, rows: &[Vec<Cell>], place: usize, column: usize) {
        let head = style.ansi(Tone::Strong).map(|color| (0, color));
        let body = rows.iter().enumerate();
        let body = body.filter_map(|(r, row)| Some((r + 1, style.ansi(row[column].tone)?)));
        for (row, color) in head.into_iter().chain(body) {
            table.with(Modify::new(At::new(row, place)).with(color));
        }
    }

    /// The columns that stay, and the width of each.
    fn fit(&self, width: usize) -> (Vec<usize>, Vec<usize>) {
        let mut kept: Vec<usize> = (0..self.columns.len()).collect();
        loop {
            let room = width.saturating_sub(FRAME * kept.len() + 1);
            let has_extras = kept.iter().any(|&c| self.columns[c].spare > 1);
            let widths = self.squeeze(&kept, room, if has_extras { Self::comfortable } else { Self::tight });
            let most_spare = (0..kept.len()).max_by_key(|&i| self.columns[kept[i]].spare);
            match most_spare.filter(|&i| self.columns[kept[i]].spare > 0) {
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
        let entries = self.rows.iter().flat_map(|row| lines_of(&row[column].text, width));
        entries.map(|line| width_of(&line)).max().unwrap_or(0).max(self.head_width(column))
    }

    fn natural(&self, column: usize) -> usize {
        self.widest(column, width_of)
    }

    fn comfortable(&self, column: usize) -> usize {
        match self.columns[column].kind {
            Kind::Number => self.natural(column),
            Kind::Text => self.tight(column).max(self.natural(column).min(COMFORTABLE)),
        }
    }

    fn tight(&self, column: usize) -> usize {
        match self.columns[column].kind {
            Kind::Number => self.natural(column),
            Kind::Text => self
                .head_width(column)
                .max(TIGHT.min(self.natural(column)))
                .max(self.widest(column, longest_number)),
        }
    }

    fn least(&self, column: usize) -> usize {
        match self.columns[column].kind {
            Kind::Number => self.natural(column),
            Kind::Text => LEAST.min(self.natural(column)).max(self.widest_entry(column, longest_number)),
        }
    }

    fn head_width(&self, column: usize) -> usize {
        self.columns[column].head.iter().map(|line| width_of(line)).max().unwrap_or(0)
    }

    /// The most that any entry of the column measures, the heading's lines at least.
    fn widest(&self, column: usize, measure: fn(&str) -> usize) -> usize {
        self.widest_entry(column, measure).max(self.head_width(column))
    }

    fn widest_entry(&self, column: usize, measure: fn(&str) -> usize) -> usize {
        let entries = self.rows.iter().flat_map(|row| row[column].text.lines()).map(measure);
        entries.max().unwrap_or(0)
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

    fn cell(text: &str) -> Cell {
        Cell::new(text, Tone::Plain)
    }

    fn sample(label: &str, changes: &str, value: &str, outcome: &str) -> Table {
        Table {
            columns: vec![
                Column::text(&["candidate"], 0),
                Column::text(&["changes"], 1),
                Column::number(&["total_tps", "tok/s"], 0),
                Column::number(&["TTFT", "ms"], 2),
                Column::text(&["outcome"], 0),
            ],
            rows: vec![vec![cell(label), cell(changes), cell(value), cell("1,604.2"), cell(outcome)]],
        }
    }

    #[test]
    fn leaves_out_what_matters_least() {
        let table = sample("Seqs 512", "--max-num-seqs=512", "11,464.5", "ok");
        let wide = table.draw(Style::new(100, false));
        assert!(wide.contains("TTFT") && wide.contains("changes"), "{wide}");
        let narrower = table.draw(Style::new(60, false));
        assert!(!narrower.contains("TTFT") && narrower.contains("changes"), "{narrower}");
        let narrow = table.draw(Style::new(44, false));
        assert!(!narrow.contains("TTFT") && !narrow.contains("changes"), "{narrow}");
        assert!(narrow.contains("11,464.5"), "{narrow}");
        let table = sample("Seqs 512", "--max-num-seqs=512", "123,111,464,464.5", "refused");
        let narrowest = table.draw(Style::new(40, false));
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
        let mut table = sample("Seqs 512", "--max-num-seqs=512 --and-some-more=1", "11,464.5", "ok");
        for i in 0..7 {
            let label = "Seqs ".to_owned() + &"x".repeat(i * 3);
            let outcome = "it was refused because of something ".repeat(i % 3);
            table.rows.push(sample(&label, "", &format!("{i}.5"), &outcome).rows.remove(0));
        }
        for style in
            [Style::new(100, false), Style::new(60, false), Style::new(44, false), Style::new(80, true)]
        {
            // strong spaces look like any others
            let shown = |drawn: &str| drawn.replace("\x1b[1m", "").replace("\x1b[22m", "");
            let whole = shown(&table.draw(style));
            for at_once in 1..8 {
                assert_eq!(shown(&table.draw_by(style, at_once)), whole, "{at_once} at once");
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
            let drawn = sample(&label, &changes, &super::super::format::number(value), &reason).draw(Style::new(width, false));
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
