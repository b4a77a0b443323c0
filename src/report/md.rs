//! Markdown by hand: headings, tables, code, all escaped so that a flag or a log line stays what it is on GitHub, in
//! MkDocs and in a plain viewer.

use std::io;

use super::sink::Sink;
use super::wrap::clean;

/// A page that is being written. Blocks are set apart by one empty line.
#[derive(Default)]
pub struct Markdown<'w> {
    out: Sink<'w>,
    begun: bool,
}

impl<'w> Markdown<'w> {
    /// A page that goes on as it is made; [`Markdown::end`] says whether all of it did.
    pub fn to(to: &'w mut (dyn io::Write + 'w)) -> Self {
        Self { out: Sink::to(to), begun: false }
    }

    /// The finished page, of one that was held.
    pub fn finish(self) -> String {
        self.out.held()
    }

    /// Writes what is left of one that goes on.
    pub fn end(self) -> io::Result<()> {
        self.out.end()
    }

    /// A heading of that level; `tag` in brackets behind it.
    pub fn heading(&mut self, level: usize, text: &str, tag: Option<&str>) {
        let tag = tag.map_or_else(String::new, |tag| format!(" ({tag})"));
        self.block(&format!("{} {}{tag}", "#".repeat(level), escape(text)));
    }

    /// A paragraph that is Markdown already.
    pub fn block(&mut self, text: &str) {
        if self.begun {
            self.out.push_str("\n");
        }
        self.begun = true;
        self.out.line(text);
    }

    /// A list of texts, numbered or not; nothing for none.
    pub fn list(&mut self, items: &[String], numbered: bool) {
        if items.is_empty() {
            return;
        }
        let line = |(i, item): (usize, &String)| {
            let mark = if numbered { format!("{}.", i + 1) } else { "-".to_owned() };
            format!("{mark} {}", escape(item))
        };
        self.block(&items.iter().enumerate().map(line).collect::<Vec<_>>().join("\n"));
    }

    /// A fenced block in that language.
    pub fn fence(&mut self, language: &str, body: &str) {
        let block = fenced(language, body);
        self.block(&block);
    }

    /// A fenced block that is folded away under a title. GitHub folds it, MkDocs too (`md_in_html`).
    pub fn folded(&mut self, title: &str, body: &str) {
        self.block(&format!(
            "<details markdown=\"1\">\n<summary>{}</summary>\n\n{}\n\n</details>",
            html(title),
            fenced("", body)
        ));
    }

    /// A table of cells that are Markdown already; see [`cell`] and [`code`].
    pub fn table(&mut self, head: &[String], rows: impl IntoIterator<Item = Vec<String>>) {
        self.block(&format!("{}\n|{}", line(head), " --- |".repeat(head.len())));
        // that of a long study is megabytes long
        for row in rows {
            self.out.line(&line(&row));
        }
    }
}

fn line(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
}

/// Plain text as Markdown: nothing in it is a mark but `code` between single backticks, and it stays on one line.
pub fn escape(text: &str) -> String {
    let text = clean(text);
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) || parts.iter().skip(1).step_by(2).any(|part| part.is_empty()) {
        return escape_all(&text);
    }
    parts.iter().enumerate().map(|(i, part)| if i % 2 == 0 { escape_all(part) } else { code(part) }).collect()
}

fn escape_all(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::new();
    for (i, &c) in chars.iter().enumerate() {
        let between_words =
            i > 0 && chars[i - 1].is_alphanumeric() && chars.get(i + 1).is_some_and(|c| c.is_alphanumeric());
        match c {
            '<' => out.push_str("&lt;"),
            '&' if looks_like_entity(&chars[i..]) => out.push_str("&amp;"),
            '\\' | '`' | '*' | '|' | '[' | ']' => out.extend(['\\', c]),
            // snake_case is no emphasis
            '_' if !between_words => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out
}

/// Lines of plain text as one cell of a table.
pub fn cell(lines: &[String]) -> String {
    lines.iter().map(|line| escape(line)).collect::<Vec<_>>().join("<br>")
}

/// A code span that may stand in a table.
pub fn code(text: &str) -> String {
    let text = clean(text).replace('|', r"\|");
    let ticks = "`".repeat(longest_run(&text, '`') + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{pad}{text}{pad}{ticks}")
}

fn fenced(language: &str, body: &str) -> String {
    let ticks = "`".repeat(longest_run(body, '`').max(2) + 1);
    format!("{ticks}{language}\n{body}\n{ticks}")
}

fn html(text: &str) -> String {
    clean(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// `&lt;` in a text would be read as `<`.
fn looks_like_entity(chars: &[char]) -> bool {
    let name = chars[1..].iter().take_while(|c| c.is_alphanumeric() || **c == '#').count();
    name > 0 && chars.get(1 + name) == Some(&';')
}

fn longest_run(text: &str, of: char) -> usize {
    text.split(|c| c != of).map(|run| run.chars().count()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_no_mark() {
        assert_eq!(escape("a | b"), r"a \| b");
        assert_eq!(escape("max_num_seqs *and* _this_"), r"max_num_seqs \*and\* \_this\_");
        assert_eq!(escape("<b>Batched && Seqs &lt; `x`"), r"&lt;b>Batched && Seqs &amp;lt; `x`");
        assert_eq!(escape("one ` tick, `a|b` and"), r"one \` tick, \`a\|b\` and");
        assert_eq!(escape("one\ntwo"), "one two");
        assert_eq!(escape(r"[link](x) \"), r"\[link\](x) \\");
        assert_eq!(cell(&["a|b".to_owned(), "c".to_owned()]), r"a\|b<br>c");
    }

    #[test]
    fn code_is_code() {
        assert_eq!(code("--x=a|b"), r"`--x=a\|b`");
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("`"), "`` ` ``");
        let mut page = Markdown::default();
        page.fence("sh", "a ``` b");
        assert_eq!(page.finish(), "````sh\na ``` b\n````\n");
    }

    #[test]
    fn tables_keep_their_columns() {
        let mut page = Markdown::default();
        page.table(&["a".to_owned(), "b".to_owned()], [vec![cell(&["1|2".to_owned()]), code("3|4")]]);
        assert_eq!(page.finish(), "| a | b |\n| --- | --- |\n| 1\\|2 | `3\\|4` |\n");
    }
}
