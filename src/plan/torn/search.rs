//! What the errors of a file tear: each is looked up in the tree, and what stands in its place is noted as text, of which flags, variables and
//! axes are known by their words.

mod engines;
mod profiles;
mod studies;

use std::ops::Range;

use foldhash::{HashSet, HashSetExt};

use super::concern::Concern;
use super::extents::{asks, holds, was_read};
use crate::lang::codes::Code;
use crate::lang::comments::start_of_comment;
use crate::lang::diag::About;
use crate::lang::sema::scope::{Kind, name_of};
use crate::lang::source::{FileId, Span};
use crate::lang::syntax::Block;
use crate::lang::syntax::ast::{self, Item};
use crate::lang::{Analysis, Diagnostic};

/// What the errors of a file tear.
#[expect(clippy::struct_excessive_bools, reason = "each answers what another check asks")]
pub(super) struct Search<'a> {
    analysis: &'a Analysis,
    /// the study that is asked about, if it is one
    concern: Option<&'a Concern<'a>>,
    /// all that is torn, as it is written and as it was meant
    pub(super) text: String,
    /// that of it which stands in engines
    pub(super) of_engines: String,
    /// where that is in all of it, with the engine
    in_engines: Vec<(Span, Range<usize>)>,
    pub(super) places: Vec<Span>,
    /// whose text is in it
    torn: Vec<Span>,
    /// axes whose text is in it
    named: HashSet<String>,
    /// profiles of which nobody knows how long their requests are
    pub(super) loads: HashSet<String>,
    /// profiles of which nobody knows how many requests there are
    profiles: HashSet<String>,
    /// of some profile nobody knows how many requests are in flight at once
    pub(super) in_flight: bool,
    pub(super) vague: bool,
    /// a step, or a track with its steps, could not be read
    pub(super) unread: bool,
    /// steps are lost
    pub(super) lost: bool,
}

impl<'a> Search<'a> {
    /// `None` where nothing is certain.
    pub(super) fn of(analysis: &'a Analysis, concern: Option<&'a Concern<'a>>) -> Option<Self> {
        let mut search = Search {
            analysis,
            concern,
            text: String::new(),
            of_engines: String::new(),
            in_engines: Vec::new(),
            places: Vec::new(),
            torn: Vec::new(),
            named: HashSet::new(),
            loads: HashSet::new(),
            profiles: HashSet::new(),
            in_flight: false,
            vague: false,
            unread: false,
            lost: false,
        };
        // a module that cannot be read may lack anything
        if analysis.diagnostics.iter().any(|d| d.is_error() && d.span.file != FileId::default()) {
            return None;
        }
        for error in search.errors() {
            search.error(error);
        }
        // a step in an engine or a profile may be one of any study
        search.unread |= analysis.diagnostics.iter().any(|d| search.is_stray_step(d));
        let lost = search.lost_steps();
        // of an axis that was to be imported nobody knows what it varies
        search.unread |= lost && search.errors().any(|d| search.imports(d));
        search.lost = lost || search.unread;
        search.in_flight |= search.aims_at_lost();
        search.axes();
        search.derived_loads();
        Some(search)
    }

    /// The errors that concern the study.
    pub(super) fn errors(&self) -> impl Iterator<Item = &'a Diagnostic> + use<'a> {
        let concern = self.concern;
        let errors = self.analysis.diagnostics.iter().filter(|d| d.is_error());
        errors.filter(move |d| concern.is_none_or(|c| c.has(d)))
    }

    /// Whether it tells of what is varied in a block of another kind.
    fn is_stray_step(&self, d: &Diagnostic) -> bool {
        matches!(d.code, Code::NotADeclaration | Code::UnknownSetting)
            && matches!(self.analysis.modules.slice(d.span), "study" | "track" | "step" | "vary" | "pick")
    }

    /// The study that is asked about, or all of them.
    pub(super) fn studies(&self) -> impl Iterator<Item = &'a ast::Study> + use<'a> {
        let one = self.concern.map(|c| c.study.span);
        let studies = self.items().iter().filter_map(|i| if let Item::Study(s) = i { Some(s) } else { None });
        studies.filter(move |s| one.is_none_or(|span| span == s.span))
    }

    fn items(&self) -> &'a [Item] {
        &self.analysis.modules.root().file.items
    }

    fn error(&mut self, error: &Diagnostic) {
        let at = error.span;
        if error.about == About::Conflict {
            return self.conflict(error);
        }
        let item = Item::at(self.items(), at);
        // a misspelt word of the language, read as it was meant
        let word = matches!(error.code, Code::NotADeclaration | Code::UnknownSetting);
        if word && error.edits.len() == 1 && item.is_some_and(|i| was_read(i, at)) {
            self.places.push(at);
            return;
        }
        // a step that is called as another, or an engine as what steps stand on, is there all the same
        let named = match error.code {
            Code::DeclaredTwice => matches!(item, Some(Item::Study(_))),
            Code::BuiltIn => matches!(item, Some(Item::Engine(_) | Item::Study(_))),
            _ => false,
        };
        if named {
            self.places.push(at);
            return;
        }
        // nobody knows what is varied by a name that is like none
        self.unread |= is_lost(error, item);
        let known = self.text.len();
        if matches!(item, Some(Item::Axis(_))) && error.code == Code::UnknownFlag {
            self.flags_alike(self.analysis.modules.slice(error.span));
        }
        // what a condition asks for is set by nothing there
        if !item.is_some_and(|item| asks(item, at)) {
            let meant = error.edits.iter().map(|e| e.text.as_str());
            self.text.extend(meant.flat_map(|t| [" ", t, " "]));
            // flags that may have been meant, and not those of an example
            let by_example = error.about.expected().by_example;
            let flags = error.words_said().filter(|w| w.starts_with('-') && !by_example);
            self.text.extend(flags.flat_map(|t| [" ", t, " "]));
        }
        match item {
            Some(Item::Engine(engine)) => {
                self.in_engine(engine, error);
                self.of_engines.push_str(&self.text[known..]);
                self.in_engines.push((engine.span, known..self.text.len()));
            }
            Some(Item::Param(param)) => {
                self.places.push(param.span);
                self.uses(&param.name.value);
            }
            // a setting that is like none says nothing of a load
            Some(Item::Profile(profile)) if error.about == About::NoSetting(Block::Profile) => {
                self.places.push(profile.span);
            }
            Some(item) => self.within(item, at),
            None => self.unread(at),
        }
        // which of two axes is meant is not known
        if let (About::Second(Kind::Axis), Some((first, _))) = (&error.about, error.related.first())
            && let Some(item) = Item::at(self.items(), *first)
        {
            self.within(item, *first);
        }
        // nobody knows what an axis varies that is made of something unknown
        self.vague |=
            error.code == Code::UnknownName && error.edits.is_empty() && matches!(item, Some(Item::Axis(_)));
    }

    /// Two sides of the file, of which one is read: what stands in either is not sure.
    fn conflict(&mut self, error: &Diagnostic) {
        let end = error.related.iter().map(|(at, _)| at.end).max().unwrap_or(error.span.end);
        let whole = Span { end, ..error.span };
        self.tear(whole);
        let text = self.analysis.modules.root_text().get(whole.range()).unwrap_or_default();
        let word = |l: &str| l.split_whitespace().next().unwrap_or_default().to_owned();
        self.unread |= text.lines().any(|l| matches!(word(l).as_str(), "step" | "track" | "vary" | "pick"));
        self.vague |= text.lines().any(|l| matches!(word(l).as_str(), "engine" | "baseline" | "version"));
    }

    /// Tears what a mistake in an item, which is no engine, makes unsure.
    fn within(&mut self, item: &Item, at: Span) {
        match item {
            Item::Axis(axis) => {
                let points = if let ast::AxisBody::Points(p) = &axis.body { p.as_slice() } else { &[] };
                let point = points.iter().find(|p| holds(p.span, at));
                self.tear(point.map_or(axis.span, |p| p.span));
            }
            Item::Study(study) => self.in_study(study, at),
            Item::Profile(profile) => self.in_profile(profile, at),
            item => self.places.push(item.span()),
        }
    }

    /// Tears whatever names a param.
    fn uses(&mut self, param: &str) {
        let text = self.analysis.modules.root_text();
        let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let items = self.items();
        for (at, _) in text.match_indices(param) {
            let alone = !text[..at].ends_with(in_word) && !text[at + param.len()..].starts_with(in_word);
            let here = Span::new(FileId::default(), at..at + param.len());
            // a place that was torn for the use before this one is not looked for again
            if !alone || self.places.last().is_some_and(|p| holds(*p, here)) {
                continue;
            }
            match Item::at(items, here) {
                Some(Item::Engine(_)) => self.tear(self.line(here)),
                Some(Item::Param(_)) | None => {}
                Some(item) => self.within(item, here),
            }
        }
    }

    /// Notes what stands in a place.
    fn tear(&mut self, span: Span) {
        // an engine is torn once, however many of its lines are
        if self.torn.iter().any(|t| t.start <= span.start && span.end <= t.end) {
            return;
        }
        self.torn.push(span);
        let text = self.analysis.modules.root_text().get(span.range()).unwrap_or_default();
        self.text.extend([" ", text, " "]);
        self.places.push(span);
    }

    /// In what could not be read as an item.
    fn unread(&mut self, at: Span) {
        let line = self.line(at);
        let text = self.analysis.modules.root_text();
        match text.get(line.range()).unwrap_or_default().split_whitespace().next().unwrap_or_default() {
            "use" | "profile" | "metric" | "prune" | "site" | "study" => self.places.push(line),
            "engine" if self.is_unnamed(line) => self.places.push(line),
            "param" => self.unread_param(line),
            _ => {
                let next = self.items().iter().map(|i| i.span().start).filter(|s| *s > at.start).min();
                // `axis seqs = =[16, 48]`, `axis seqs = -- seqs=[16, 48]`: of which flag nobody knows
                let body = text.get(line.range()).and_then(|l| l.strip_prefix("axis ")?.split_once('='));
                self.vague |=
                    body.is_some_and(|(_, b)| b.trim_start().starts_with(['=', '[']) || b.contains("-- "));
                self.tear(Span { end: next.unwrap_or(text.len() as u32), ..line });
            }
        }
    }

    /// `param small = sixty`: of what inserts or reads it nobody knows what it is.
    fn unread_param(&mut self, line: Span) {
        self.tear(line);
        let modules = &self.analysis.modules;
        let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let head = modules.slice(line).trim_start().strip_prefix("param").unwrap_or_default();
        let head = head.split('=').next().unwrap_or_default();
        let named = head.split(|c| !in_word(c)).find(|w| !w.is_empty());
        // without its name it may be any that is inserted and not there
        let root = modules.root();
        let inserted =
            modules.root_text().split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
        let lost = inserted.filter(|name| {
            let is_name = !name.is_empty() && name.chars().all(in_word);
            is_name && root.find(Kind::Param, name).is_none()
        });
        let mut all: Vec<&str> = named.map_or_else(|| lost.collect(), |name| vec![name]);
        all.sort_unstable();
        all.dedup();
        for name in all {
            self.uses(name);
        }
    }

    /// Whether nothing else names what a line declares, which opens no block.
    fn is_unnamed(&self, line: Span) -> bool {
        let text = self.analysis.modules.root_text();
        let head = text.get(line.range()).unwrap_or_default();
        let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = head.split_whitespace().nth(1).unwrap_or_default();
        let code = |line: &'a str| &line[..start_of_comment(line).unwrap_or(line.len())];
        let words = text.lines().flat_map(|l| code(l).split(|c| !in_word(c)));
        let others = || words.filter(|w| *w == name).count();
        !name.is_empty() && name.chars().all(in_word) && !head.contains(['{', '}']) && others() == 1
    }

    /// Whether a mistake stands in a line that imports names, as other languages spell that too.
    fn imports(&self, error: &Diagnostic) -> bool {
        let line = self.line(error.span);
        let text = self.analysis.modules.root_text().get(line.range()).unwrap_or_default();
        matches!(text.split_whitespace().next(), Some("use" | "from" | "import" | "include"))
    }

    fn line(&self, at: Span) -> Span {
        at.line_in(self.analysis.modules.root_text())
    }

    /// Adds what the axes say that are named in what is torn.
    fn axes(&mut self) {
        let module = self.analysis.modules.root();
        loop {
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            // no flag names an axis by a part of it
            let plain = self.text.split(char::is_whitespace).filter(|w| !w.starts_with("--"));
            let plain = plain.map(|w| w.split_once("--").map_or(w, |(before, _)| before));
            // behind `from` stands a step, which may be called as an axis is
            let all: Vec<&str> =
                plain.flat_map(|w| w.split(|c| !word(c))).filter(|w| !w.is_empty()).collect();
            let behind = all.windows(2).filter(|pair| pair[0] != "from").map(|pair| pair[1]);
            let words: HashSet<&str> = behind.chain(all.first().copied()).collect();
            let imported =
                module.imported.iter().filter_map(|(_, at)| name_of(self.analysis.modules.item(*at)));
            let mut far = imported.filter(|(kind, _)| *kind == Kind::Axis);
            if far.any(|(_, name)| words.contains(name.value.as_str())) {
                self.vague = true;
            }
            let axes = self.items().iter().filter_map(|i| if let Item::Axis(a) = i { Some(a) } else { None });
            let new: Vec<&ast::Axis> = axes
                .filter(|a| words.contains(a.name.value.as_str()) && !self.named.contains(&a.name.value))
                .collect();
            if new.is_empty() {
                return;
            }
            for axis in new {
                self.named.insert(axis.name.value.clone());
                let text = self.analysis.modules.root_text().get(axis.span.range()).unwrap_or_default();
                self.text.extend([" ", text, " "]);
            }
        }
    }
}

/// Whether an axis is named that there is not, or sets a flag that there is not, without a word of which was meant.
fn is_lost(error: &Diagnostic, item: Option<&Item>) -> bool {
    let open = error.edits.is_empty() && error.suggested.is_empty();
    match item {
        Some(Item::Study(_)) => {
            error.about == About::Instead(Kind::Axis)
                || error.code == Code::StepEmpty
                || open && error.code == Code::UnknownName && error.about.missing_kind() == Some(Kind::Axis)
        }
        _ => false,
    }
}
