//! What a mistake in an engine tears: the flags and variables of its line, or all of it where nobody knows what the line was.

use foldhash::HashSet;

use super::{Search, holds};
use crate::lang::Diagnostic;
use crate::lang::codes::Code;
use crate::lang::diag::{About, did_you_mean};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{self, EngineLineKind};
use crate::lang::syntax::first_word;

/// Lines of an engine that no candidate is made of.
const OF_A_SERVER: [&str; 14] = [
    "image",
    "serve",
    "probe",
    "api",
    "args",
    "key",
    "ready",
    "metrics",
    "reset",
    "stop",
    "failure",
    "publish",
    "variables",
    // what is refused beside that stays so
    "refuses",
];

impl Search<'_> {
    /// What is torn in an engine or in none, each with its engine.
    pub(in crate::plan) fn by_engine(&self) -> Vec<(Option<Span>, &str)> {
        let (mut from, mut all) = (0, Vec::new());
        for (engine, range) in &self.in_engines {
            all.push((None, &self.text[from..range.start]));
            all.push((Some(*engine), &self.text[range.clone()]));
            from = range.end;
        }
        all.push((None, &self.text[from..]));
        all
    }

    /// Makes unsure what a flag may have been meant to be that no engine has: those with which it has a word in common.
    pub(super) fn flags_alike(&mut self, flag: &str) {
        let engines = self.analysis.program.engines.values();
        let names = engines.flat_map(|e| e.schema.specs()).flat_map(|spec| &spec.names);
        let alike: HashSet<&String> = names.filter(|name| share_a_word(flag, name)).collect();
        self.text.extend(alike.into_iter().flat_map(|t| [" ", t.as_str(), " "]));
    }

    pub(super) fn in_engine(&mut self, engine: &ast::Engine, error: &Diagnostic) {
        let at = error.span;
        // one that it inherits and its version does not have
        if let About::Inherited { flag } = &error.about {
            self.text.extend([" ", flag, " "]);
            return self.places.push(at);
        }
        // how it is started, and when it is ready
        if at == engine.name.span && error.code == Code::EngineIncomplete && engine.parent.is_none() {
            return self.places.push(at);
        }
        let line = engine.lines.iter().find(|l| holds(l.span, at));
        match line.map(|l| (&l.kind, l.span)) {
            Some((EngineLineKind::Changes(changes), span)) => {
                let change = changes.iter().find(|c| holds(c.span, at));
                self.tear(change.map_or(span, |c| c.span));
            }
            Some((kind, span)) if kind.sets_nothing() => self.places.push(span),
            // what it declares is a flag of its own
            Some((EngineLineKind::Flag { .. }, span)) => self.tear(span),
            // a release that is none is read as one that is known
            Some((EngineLineKind::Version(_), span)) if error.code == Code::EngineSetting => {
                self.places.push(span);
            }
            // what is refused beside that stays so
            Some((EngineLineKind::Refuses { .. }, span)) => self.places.push(span),
            // one that stands twice is one all the same
            Some((EngineLineKind::Versions(_), span)) if error.code == Code::SettingTwice => {
                self.places.push(span);
            }
            Some(_) => self.lose(engine),
            None => {
                let line = at.line_of_engine_in(self.analysis.modules.root_text());
                let text =
                    self.analysis.modules.root_text().get(line.range()).unwrap_or_default().trim_start();
                let first = first_word(text);
                let flag = text.starts_with(['-', '"']) || matches!(first, "env" | "unset" | "raw");
                let parent = engine.parent.as_ref().is_some_and(|p| p.span == at);
                let declares = text.starts_with("flag -");
                let meant = || setting_meant(text).filter(|_| is_apart(text, error));
                if flag || declares {
                    self.tear(line);
                } else if OF_A_SERVER.contains(&first) {
                    self.places.push(line);
                } else if let Some(word) = meant() {
                    // `port 8000`: if anything of a candidate, the flag of that name
                    let flag = word.replace('_', "-");
                    self.text.extend([" --", &flag, " -", &flag, " "]);
                    self.tear(line);
                } else if parent && !error.edits.is_empty() {
                    self.places.push(at);
                } else {
                    self.lose(engine);
                }
            }
        }
    }

    /// Nothing is sure of an engine any more.
    pub(super) fn lose(&mut self, engine: &ast::Engine) {
        self.tear(engine.span);
        self.vague = true;
    }
}

/// Parts of flags that many share and that tell none apart.
const OF_MANY: [&str; 12] =
    ["max", "min", "num", "no", "enable", "disable", "use", "size", "set", "with", "is", "to"];

/// Whether two flags have a word in common, but for a slip in it.
fn share_a_word(a: &str, b: &str) -> bool {
    let words = |flag: &str| -> Vec<String> {
        let all = flag.split(['-', '_', '.', '=']).filter(|w| !w.is_empty() && !OF_MANY.contains(w));
        all.map(str::to_owned).collect()
    };
    let other = words(b);
    let other: Vec<&str> = other.iter().map(String::as_str).collect();
    words(a).iter().any(|w| did_you_mean(w, other.iter().copied()).is_some() || other.contains(&w.as_str()))
}

/// Whether a line that could not be read is wrong by itself: it opens and closes nothing of the lines around it.
fn is_apart(line: &str, error: &Diagnostic) -> bool {
    let (opened, closed) = (line.matches(['{', '[']).count(), line.matches(['}', ']']).count());
    error.code == Code::UnknownSetting || error.code == Code::Unexpected && opened == closed
}

/// The word of an engine's line that is no setting, where it states no version and no parent by another name.
fn setting_meant(line: &str) -> Option<&str> {
    const OF_VERSIONS: [&str; 6] = ["version", "release", "tag", "from", "parent", "extends"];
    let word = line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap_or_default();
    let near = did_you_mean(word, OF_VERSIONS).is_some();
    (word.len() > 1 && word.starts_with(|c: char| c.is_ascii_lowercase()) && !near).then_some(word)
}
