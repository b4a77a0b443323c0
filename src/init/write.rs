//! A draft as text, set as a person would: settings, axes and steps in columns, comments behind what they explain.

use std::collections::BTreeSet;
use std::ops::Range;

use super::draft::{Axis, Block, Change, Draft, Engine, Line, Step, Study};
use super::value;

/// Comments are wrapped, and stand behind a line, up to this column.
const WIDTH: usize = 110;
/// Flags share a line up to this column, as in a shell.
const FLAGS: usize = 100;

/// A part of a draft that a diagnostic can stand in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Version,
    Change(usize),
    Axis(usize),
    Rule(usize),
}

/// The text, and where in it each part stands.
#[derive(Debug, Clone, Default)]
pub struct Text {
    pub text: String,
    pub parts: Vec<(Range<usize>, Part)>,
}

impl Text {
    /// The part that a byte belongs to.
    pub fn part_at(&self, byte: usize) -> Option<Part> {
        self.parts.iter().find(|(range, _)| range.contains(&byte)).map(|(_, part)| *part)
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn part(&mut self, line: &str, part: Part) {
        let start = self.text.len();
        self.line(line);
        self.parts.push((start..self.text.len(), part));
    }

    /// A line with several parts, each where it stands in the line.
    fn line_of(&mut self, line: &str, parts: &[(Range<usize>, Part)]) {
        let start = self.text.len();
        self.line(line);
        self.parts.extend(parts.iter().map(|(r, part)| (start + r.start..start + r.end, *part)));
    }

    /// Comment lines, wrapped.
    fn about(&mut self, indent: &str, comments: &[String]) {
        for comment in comments {
            // an entry of a list hangs
            let entry = comment.starts_with(' ');
            let mut line = if entry { format!("{indent}# ") } else { format!("{indent}#") };
            let next = if entry { format!("{indent}#   ") } else { format!("{indent}#") };
            for word in comment.split_whitespace() {
                if line.chars().count() + 1 + word.chars().count() > WIDTH && line.len() > next.len() {
                    self.line(&line);
                    line.clone_from(&next);
                }
                line.push(' ');
                line.push_str(word);
            }
            self.line(&line);
        }
    }
}

/// The draft as a file.
pub fn file(draft: &Draft) -> Text {
    let mut out = Text::default();
    out.about("", &draft.header);
    out.line(&format!("use std/engines {{ {} }}", draft.engine.root));
    imports(&mut out, draft);
    out.line("");
    engine(&mut out, &draft.engine);
    for profile in &draft.profiles {
        out.line("");
        block(&mut out, profile);
    }
    if !draft.axes.is_empty() {
        out.line("");
        axes(&mut out, &draft.axes);
    }
    for one in &draft.studies {
        out.line("");
        study(&mut out, one);
    }
    out
}

/// The profiles and rules of the library that the draft names.
fn imports(out: &mut Text, draft: &Draft) {
    let parents: BTreeSet<&str> = draft.profiles.iter().filter_map(|p| p.parent).collect();
    if !parents.is_empty() {
        let names: Vec<&str> = parents.into_iter().collect();
        out.line(&format!("use std/profiles {{ {} }}", names.join(", ")));
    }
    if draft.rules.is_empty() {
        return;
    }
    let mut line = "use std/rules {".to_owned();
    let mut parts = Vec::new();
    for (i, rule) in draft.rules.iter().enumerate() {
        line.push_str(if i == 0 { " " } else { ", " });
        parts.push((line.len()..line.len() + rule.len(), Part::Rule(i)));
        line.push_str(rule);
    }
    line.push_str(" }");
    out.line_of(&line, &parts);
}

fn engine(out: &mut Text, engine: &Engine) {
    out.about("", &engine.about);
    let head = format!("engine {} {} = {}", engine.name, value::text(&engine.title), engine.root);
    let changes: Vec<String> = engine.changes.iter().map(change).collect();
    if engine.settings.is_empty() && changes.is_empty() {
        out.line(&format!("{head} {{ }}"));
        return;
    }
    out.line(&format!("{head} {{"));
    let widest = engine.settings.iter().map(|l| l.word.len()).max().unwrap_or(0);
    let mut lines: Vec<Packed> = engine.settings.iter().map(|l| Packed::setting(l, widest)).collect();
    for (i, (text, change)) in changes.iter().zip(&engine.changes).enumerate() {
        let alone = change.comment.is_some() || change.published.is_some();
        match lines.last_mut().filter(|l| !alone && l.takes(text)) {
            Some(line) => line.add(text, i),
            None => lines.push(Packed::change(text, change.comment.as_deref(), alone, i)),
        }
    }
    let texts: Vec<_> = lines.iter().map(|l| (l.text.clone(), l.comment)).collect();
    for (line, packed) in with_comments(&texts).iter().zip(&lines) {
        out.line_of(line, &packed.parts);
    }
    out.line("}");
}

/// A line of an engine's block.
struct Packed<'a> {
    text: String,
    comment: Option<&'a str>,
    parts: Vec<(Range<usize>, Part)>,
    /// what more may join it: flags or variables; `None` where nothing may
    open: Option<bool>,
}

impl<'a> Packed<'a> {
    fn setting(line: &'a Line, widest: usize) -> Self {
        let text = format!("    {:widest$} {}", line.word, line.rest);
        let version = (line.word == "version").then_some((0..text.len(), Part::Version));
        Self { text, comment: line.comment.as_deref(), parts: version.into_iter().collect(), open: None }
    }

    fn change(text: &str, comment: Option<&'a str>, alone: bool, index: usize) -> Self {
        let flag = text.starts_with('-');
        let mut line = Self { text: "   ".to_owned(), comment, parts: Vec::new(), open: None };
        line.add(text, index);
        line.open = (!alone).then_some(flag);
        line
    }

    /// A flag joins flags, a variable variables; a long value keeps its line.
    fn takes(&self, text: &str) -> bool {
        let width = self.text.chars().count() + 1 + text.chars().count();
        self.open == Some(text.starts_with('-')) && width <= FLAGS
    }

    fn add(&mut self, text: &str, index: usize) {
        self.text.push(' ');
        let start = self.text.len();
        self.text.push_str(text);
        self.parts.push((start..self.text.len(), Part::Change(index)));
    }
}

fn change(change: &Change) -> String {
    let text = if change.raw { format!("raw {}", change.text) } else { change.text.clone() };
    match &change.published {
        Some(why) => format!("publish {text} because {}", value::text(why)),
        None => text,
    }
}

fn block(out: &mut Text, block: &Block) {
    out.about("", &block.about);
    let parent = block.parent.map(|p| format!(" = {p}")).unwrap_or_default();
    let head = format!("profile {} {}{parent} {{", block.name, value::text(&block.title));
    if let [one] = block.settings.as_slice() {
        let line = format!("{head} {} {} }}", one.word, one.rest);
        out.line(&with_comments(&[(line, one.comment.as_deref())]).concat());
        return;
    }
    out.line(&head);
    for line in settings(&block.settings) {
        out.line(&line);
    }
    out.line("}");
}

fn settings(lines: &[Line]) -> Vec<String> {
    let widest = lines.iter().map(|l| l.word.len()).max().unwrap_or(0);
    let texts: Vec<_> =
        lines.iter().map(|l| (format!("    {:widest$} {}", l.word, l.rest), l.comment.as_deref())).collect();
    with_comments(&texts)
}

fn axes(out: &mut Text, axes: &[Axis]) {
    let widest = axes.iter().map(|a| a.name.len()).max().unwrap_or(0);
    let texts: Vec<_> = axes
        .iter()
        .map(|a| (format!("axis {:widest$} = {}", a.name, a.text), a.comment.as_deref()))
        .collect();
    for (i, line) in with_comments(&texts).iter().enumerate() {
        out.part(line, Part::Axis(i));
    }
}

fn study(out: &mut Text, study: &Study) {
    out.about("", &study.about);
    out.line(&format!("study {} {} {{", study.name, value::text(&study.title)));
    let all: Vec<Line> = study.settings.iter().chain(&study.closing).cloned().collect();
    let lines = settings(&all);
    let (before, after) = lines.split_at(study.settings.len());
    for line in before {
        out.line(line);
    }
    if study.steps.iter().any(|s| !s.about.is_empty()) {
        out.line("");
    }
    steps(out, &study.steps);
    if !after.is_empty() {
        out.line("");
    }
    for line in after {
        out.line(line);
    }
    out.line("}");
}

fn steps(out: &mut Text, steps: &[Step]) {
    let titles: Vec<String> = steps.iter().map(|s| value::text(&s.title)).collect();
    let name = steps.iter().map(|s| s.name.len()).max().unwrap_or(0);
    let title = titles.iter().map(|t| t.chars().count()).max().unwrap_or(0);
    for (step, words) in steps.iter().zip(&titles) {
        out.about("    ", &step.about);
        let sum: Vec<String> = step.vary.iter().map(|p| p.join(" * ")).collect();
        out.line(&format!("    step {:name$} {words:title$} {{ vary {} }}", step.name, sum.join(" + ")));
    }
}

/// Lines with their comments in one column, as far as the lines are not long.
fn with_comments(lines: &[(String, Option<&str>)]) -> Vec<String> {
    const LONG: usize = 72;
    let width = |text: &str| text.chars().count();
    let commented = lines.iter().filter(|(t, c)| c.is_some() && width(t) <= LONG);
    let column = commented.map(|(t, _)| width(t)).max().unwrap_or(0) + 2;
    let one = |(text, comment): &(String, Option<&str>)| match comment {
        None => text.clone(),
        Some(comment) => {
            let gap = column.saturating_sub(width(text)).max(2);
            format!("{text}{}# {}", " ".repeat(gap), comment.split_whitespace().collect::<Vec<_>>().join(" "))
        }
    };
    lines.iter().map(one).collect()
}
