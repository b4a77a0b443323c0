//! `perflab explain`: what a diagnostic or a validity check means, why it matters, and how it looks wrong and right.
//!
//! The pages are markdown files, so that the documentation links to what the terminal prints.

use std::fmt::Write as _;

use super::args::ExplainArgs;
use super::console::Console;
use super::exit;
use crate::judge::checks::CHECKS;
use crate::judge::page;
use crate::lang::codes::Code;
use crate::lang::diag::nearest;
use crate::lang::render;
use crate::report::{Style, Tone};

/// Wider lines are hard to read.
const WIDEST: usize = 100;

pub fn run(args: &ExplainArgs, console: Console) -> u8 {
    let style = console.stdout_style();
    let Some(asked) = &args.code else {
        console.print(&list(style));
        return exit::DONE;
    };
    let name = asked.trim().to_ascii_uppercase();
    let found = Code::ALL.iter().find(|c| c.id() == name).map(|c| c.page()).or_else(|| page(&name));
    if let Some(text) = found {
        console.print(&shown(text, style));
        return exit::DONE;
    }
    let help = match nearest(&name, names()).as_slice() {
        [] => "`perflab explain` lists all codes and checks".to_owned(),
        near => format!("did you mean {}? `perflab explain` lists all", near.join(" or ")),
    };
    console.error(&format!("no diagnostic or check is called `{asked}`"), &help);
    exit::INPUT
}

fn names() -> impl Iterator<Item = &'static str> {
    Code::ALL.iter().map(|c| c.id()).chain(CHECKS.iter().map(|c| c.name))
}

/// Every code and check with its title.
fn list(style: Style) -> String {
    let heading = |text: &str| style.paint(Tone::Strong, text);
    let mut out = format!("{}\n", heading("Diagnostics (E error, W warning, N note)"));
    let mut codes = Code::ALL.to_vec();
    codes.sort_by_key(|c| (&c.id()[1..], c.id()));
    for code in codes {
        let _ = writeln!(out, "  {}  {}", code.id(), code.title());
    }
    let _ = writeln!(out, "\n{}", heading("Validity checks of results"));
    let width = CHECKS.iter().map(|c| c.name.len()).max().unwrap_or(0);
    for check in CHECKS {
        let _ = writeln!(out, "  {:width$}  {}", check.name, check.about);
    }
    out.push_str("\n`perflab explain E301` explains one of them, with a wrong and a right example.\n");
    out
}

/// A page of markdown for the terminal: paragraphs as wide as it is, examples indented.
fn shown(page: &str, style: Style) -> String {
    let width = style.width().min(WIDEST);
    let mut out = String::new();
    let (mut paragraph, mut example) = (String::new(), false);
    let flush = |paragraph: &mut String, out: &mut String| {
        if !paragraph.is_empty() {
            out.push_str(&render::wrap(paragraph, width));
            out.push('\n');
            paragraph.clear();
        }
    };
    for line in page.lines() {
        if line.starts_with("```") {
            example = !example;
        } else if example {
            out.push_str(format!("    {line}").trim_end());
            out.push('\n');
        } else if let Some(heading) = line.strip_prefix("# ").or_else(|| line.strip_prefix("## ")) {
            out.push_str(&render::wrap(&style.paint(Tone::Strong, heading), width));
            out.push('\n');
        } else if line.is_empty() {
            flush(&mut paragraph, &mut out);
            out.push('\n');
        } else {
            paragraph.push_str(if paragraph.is_empty() { "" } else { " " });
            paragraph.push_str(line);
        }
    }
    flush(&mut paragraph, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_begins_with_its_title() {
        for code in Code::ALL {
            let title = format!("# {}: {}\n", code.id(), code.title());
            assert!(code.page().starts_with(&title), "docs/codes/{}.md begins with {title}", code.id());
        }
    }

    #[test]
    fn paragraphs_are_wrapped_and_examples_are_not() {
        let page =
            "# E1: a title\n\nSome words\nof text.\n\n## Wrong\n\n```plab,wrong\naxis a = 1\n\nb\n```\n";
        let text = shown(page, Style::new(40, false));
        assert_eq!(text, "E1: a title\n\nSome words of text.\n\nWrong\n\n    axis a = 1\n\n    b\n");
    }
}
