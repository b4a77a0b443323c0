//! A draft as text, set as a person would: settings, axes and steps in columns, comments behind what they explain.

use std::ops::Range;

use super::draft::{Axis, Block, Change, Draft, Engine, Line, Rule, Step, Study};
use super::value;

/// Comments are wrapped, and stand behind a line, up to this column.
const WIDTH: usize = 110;

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
    if !draft.rules.is_empty() {
        out.line("");
        for (i, rule) in draft.rules.iter().enumerate() {
            self::rule(&mut out, rule, i);
        }
    }
    for one in &draft.studies {
        out.line("");
        study(&mut out, one);
    }
    out
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
    let mut texts: Vec<(String, Option<&str>)> = engine
        .settings
        .iter()
        .map(|l| (format!("    {:widest$} {}", l.word, l.rest), l.comment.as_deref()))
        .collect();
    texts
        .extend(changes.iter().zip(&engine.changes).map(|(t, c)| (format!("    {t}"), c.comment.as_deref())));
    for (i, line) in with_comments(&texts).iter().enumerate() {
        match i.checked_sub(engine.settings.len()) {
            Some(at) => out.part(line, Part::Change(at)),
            None if engine.settings[i].word == "version" => out.part(line, Part::Version),
            None => out.line(line),
        }
    }
    out.line("}");
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
    out.line(&format!("profile {} {} {{", block.name, value::text(&block.title)));
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

fn rule(out: &mut Text, rule: &Rule, index: usize) {
    if let Some(about) = &rule.about {
        out.about("", std::slice::from_ref(about));
    }
    let line = format!("prune {} {} when {}", rule.name, value::text(&rule.reason), rule.when);
    out.part(&line, Part::Rule(index));
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
    if !study.steps.is_empty() {
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
