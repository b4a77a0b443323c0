//! Lines to text, with the comments behind them in columns.
//!
//! Comments that stand at one place already, with room before them, stay there; else they go two spaces behind the widest of their
//! neighbours.

use super::print::Line;

/// The least room before a comment.
const ROOM: usize = 2;
/// Wider lines do not push the comments of their neighbours away.
const WIDE: usize = 80;
/// Further to the right a comment is not left where it stands.
const FURTHEST: usize = 100;

/// The text of a file.
pub fn text(lines: &[Line]) -> String {
    let mut text = String::new();
    for group in lines.chunk_by(|a, b| a.whole && b.whole && a.indent == b.indent) {
        let column = column(group);
        for line in group {
            write(line, column, &mut text);
        }
    }
    text
}

fn is_code(line: &Line) -> bool {
    !line.code.is_empty()
}

fn end(line: &Line) -> usize {
    line.indent + line.code.chars().count()
}

/// Where the comments of neighbouring lines stand.
fn column(group: &[Line]) -> usize {
    let marked = || group.iter().filter_map(|l| Some((l, l.remark.as_ref()?.column)));
    let Some((_, first)) = marked().next() else { return 0 };
    if first <= FURTHEST && marked().all(|(l, column)| column == first && end(l) + ROOM <= column) {
        return first;
    }
    marked().map(|(l, _)| end(l)).filter(|e| *e <= WIDE).max().map_or(0, |e| e + ROOM)
}

fn write(line: &Line, column: usize, text: &mut String) {
    if !line.is_blank() {
        text.extend(std::iter::repeat_n(' ', line.indent));
        text.push_str(&line.code);
    }
    if let Some(remark) = &line.remark {
        if is_code(line) {
            let gap = column.saturating_sub(end(line)).max(ROOM);
            text.extend(std::iter::repeat_n(' ', gap));
        }
        text.push_str(&remark.text);
    }
    text.push('\n');
}
