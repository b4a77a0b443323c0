//! What is declared or imported and never used, in a file that has a study.
//!
//! In a file with errors a use may be what could not be read. There only what the text names nowhere else is unused for sure.

use std::ops::Range;

use foldhash::HashMap;

use super::check::Checker;
use super::program::Change;
use super::removal;
use super::scope::{ItemRef, Kind, Module, declared};
use super::settings;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, nearest};
use crate::lang::source::{FileId, Span};
use crate::lang::syntax::ast::{self, Item, Study, StudyLineKind as Line, Use};
use crate::lang::syntax::{Block, UNNAMED};

/// Kinds that matter only where something names them. Rules hold by being there.
const NAMED: [Kind; 5] = [Kind::Param, Kind::Engine, Kind::Axis, Kind::Profile, Kind::Metric];

/// Lines that name a profile.
const MEASURE: [&str; 6] = ["profile", "maximize", "minimize", "require", "confirm", "curve"];

impl Checker<'_> {
    /// Warns about what nothing uses.
    pub fn unused(&mut self) {
        let root = self.modules.root();
        if !root.file.items.iter().any(|i| matches!(i, Item::Study(_))) {
            self.unused_params();
            return;
        }
        if self.sink.has_errors() {
            self.named = self.words_beside_mistakes();
        }
        for (kind, name, span) in declared(root) {
            // a name that could not be declared had its diagnostic
            if NAMED.contains(&kind)
                && !name.starts_with(UNNAMED)
                && !self.sink.says(Code::BuiltIn, span)
                && !self.is_read_as_meant(span)
                && self.is_unused(root, kind, name)
            {
                let message = format!("the {} `{name}` is never used", kind.word());
                let d = Diagnostic::new(Code::Unused, span, message).about(About::Unused(kind));
                let d = d.label("declared here");
                let strange = self.flag_of_nobody(root, kind, name);
                let strange =
                    strange.map(|f| format!("; no engine of this file has {f}")).unwrap_or_default();
                let d = d.help(format!("use it in a study, or remove it{strange}"));
                self.sink.push(match self.spelled_as_a_text(kind, name) {
                    Some(at) => d
                        .related(at, "is it meant here?")
                        .help(format!("to insert it, write `\"{{{name}}}\"`")),
                    None => d,
                });
            }
        }
        for kind in [Kind::Axis, Kind::Profile] {
            self.more_than_were_meant(root, kind);
        }
        for item in &root.file.items {
            if let Item::Use(u) = item {
                self.unused_imports(root, u);
            }
        }
    }

    /// `model "who"`, `--flag=who`: where the name of a param stands as a whole value, which is that text and no more.
    fn spelled_as_a_text(&self, kind: Kind, name: &str) -> Option<Span> {
        if kind != Kind::Param {
            return None;
        }
        let text = self.modules.root_text();
        let value = |(at, _): &(usize, &str)| {
            let (before, behind) = (&text[..*at], &text[at + name.len()..]);
            let quoted = before.ends_with('"') && behind.starts_with('"');
            quoted
                || before.ends_with('=')
                    && behind.starts_with(|c: char| c.is_whitespace() || ",}]".contains(c))
        };
        let (at, _) = text.match_indices(name).find(value)?;
        Some(Span::new(FileId::default(), at..at + name.len()))
    }

    /// A flag of an axis that no engine here has: nothing varies it, so that nothing else would say so.
    fn flag_of_nobody(&mut self, root: &Module, kind: Kind, name: &str) -> Option<String> {
        let at = root.find(kind, name).filter(|_| kind == Kind::Axis)?;
        let places = root.names(Kind::Engine).into_iter().filter_map(|n| root.find(Kind::Engine, n));
        let engines: Vec<_> = places.filter_map(|at| self.engine(at)).collect();
        let has = |flag: &str| engines.iter().any(|e| settings::knows(&e.schema, e.version.as_deref(), flag));
        let points = self.axis_space(at)?.points().into_iter().cloned().collect::<Vec<_>>();
        let mut flags = points.iter().flat_map(|p| &p.changes).filter_map(|c| match c {
            // what was surely meant has been said
            Change::Flag { name, span, .. } if !self.sink.says(Code::UnknownFlag, *span) => {
                Some(name.as_str())
            }
            _ => None,
        });
        flags.find(|flag| !engines.is_empty() && !has(flag)).map(str::to_owned)
    }

    /// A param stays in its file: where there is no study either, what the text names nowhere else is used by nothing.
    fn unused_params(&mut self) {
        let root = self.modules.root();
        // a file of params alone has only been begun
        let begun = root.file.items.iter().all(|i| matches!(i, Item::Param(_) | Item::Use(_)));
        if self.sink.has_errors() || begun {
            return;
        }
        let named = self.modules.words(0, |_| true);
        let params = declared(root).filter(|(kind, ..)| *kind == Kind::Param);
        for (_, name, span) in params {
            if named.get(&name.to_ascii_lowercase()).is_none_or(|n| *n <= 1) {
                let message = format!("the param `{name}` is never used");
                let d = Diagnostic::new(Code::Unused, span, message).about(About::Unused(Kind::Param));
                let d = d.label("declared here");
                let help = format!(
                    "insert it into a text of this file, `\"{{{name}}}\"`, or remove it: a param stays in its file"
                );
                self.sink.push(d.help(help));
            }
        }
    }

    /// Whether what declares a name was only read as it was meant: `let x = 1`.
    fn is_read_as_meant(&self, name: Span) -> bool {
        let text = self.modules.text_of(name.file);
        let line = name.line_in(text);
        self.sink.in_span(line).any(|d| d.declares_by_guess() && d.span.line_in(text) == line)
    }

    fn unused_imports(&mut self, root: &Module, u: &Use) {
        for (i, name) in u.names.iter().enumerate() {
            let kinds = Kind::IMPORTABLE.into_iter().filter(|k| root.find(*k, &name.value).is_some());
            let kinds: Vec<Kind> = kinds.collect();
            let needed = |k: &Kind| *k == Kind::Prune || !self.is_unused(root, *k, &name.value);
            if kinds.is_empty() || kinds.iter().any(needed) {
                continue;
            }
            let message = format!("`{}` is imported and never used", name.value);
            let d = Diagnostic::new(Code::Unused, name.span, message).label("imported here");
            let d = d.about(About::Unused(kinds[0]));
            if let Some(list) = removal::list_without_end(self.modules.root_text()) {
                let help = "use it in a study, or take it out: a list ends with a comma, so that a name may be missing there";
                self.sink.push(d.help(help).related(list, "is it missing here?"));
                continue;
            }
            let d = d.help("use it in a study, or take it out");
            // beside an error its user may be what that error is about: taking it out would break what is right
            let gone = removal::of_import(self.modules.root_text(), u, i);
            self.sink.push(match gone.filter(|_| !self.sink.has_errors()) {
                Some(gone) => d.edit(gone, ""),
                None => d,
            });
        }
    }

    fn is_unused(&self, root: &Module, kind: Kind, name: &str) -> bool {
        let Some(at) = root.find(kind, name) else { return false };
        // in braces, or with the sign of a shell, of which it has been said that it inserts nothing
        let inserted = kind == Kind::Param
            && [format!("{{{name}}}"), format!("${name}")].iter().any(|w| self.modules.mentions(0, w) > 0);
        // what lost its name may be its user
        if self.used.contains(&at) || inserted || root.is_lost(kind, name) || self.study_lacks_its_user(kind)
        {
            return false;
        }
        !self.sink.has_errors() && !self.sink.suggests(name)
            || !self.may_be_misspelled(kind, at) && self.is_named_nowhere(kind, name)
    }

    /// How often the file names things, as far as those may be uses that could not be read.
    fn words_beside_mistakes(&self) -> HashMap<String, usize> {
        // a value that does not fit stands in a line that was read
        let unread = |d: &&Diagnostic| {
            d.is_error() && d.span.file == FileId::default() && d.code != Code::BadFlagValue
        };
        let errors = self.sink.found().filter(unread);
        let places: Vec<Range<usize>> = errors.map(|d| d.span.range()).collect();
        let mistaken = |line: Range<usize>| places.iter().any(|p| p.start < line.end && line.start <= p.end);
        self.modules.words(0, mistaken)
    }

    /// Whether a study measures nothing, which has been said: what it would measure is not yet named.
    fn study_lacks_its_user(&self, kind: Kind) -> bool {
        matches!(kind, Kind::Profile | Kind::Metric)
            && self.sink.found().any(|d| matches!(d.code, Code::MeasuresNothing | Code::NothingWins))
    }

    /// Whether something of the kind is named that there is not: it may be this.
    fn may_be_misspelled(&self, kind: Kind, at: ItemRef) -> bool {
        // a metric of those times, `ttft_p99`, may have been meant by `ttft`
        let reads = |times: Span| {
            self.modules.slice(self.modules.item(at).span()).contains(self.modules.slice(times))
        };
        self.sink.found().any(|d| match kind {
            // `{context}` in a text may be `{ctx}`
            Kind::Param if d.code == Code::UnknownParam => true,
            // `maximize goodput` may be the file's own metric of that kind
            Kind::Metric if d.code == Code::NotCondition => self.modules.slice(d.span) == "goodput",
            // a function is none of the file's
            Kind::Metric | Kind::Param if d.code == Code::UnknownMetric => {
                // what the library has under that very name was meant
                let imported =
                    matches!(d.about, About::Missing { library: Some(_), .. }) && !d.edits.is_empty();
                d.about != About::NoFunction && !imported
            }
            Kind::Metric => d.code == Code::NeedsStatistic && reads(d.span),
            // a step says nothing else, and what it was to vary may be this
            Kind::Axis if d.about == About::NoSetting(Block::Step) => true,
            // something of another kind stands in its place
            _ if d.about == About::Instead(kind) => true,
            // a profile that cannot be what it is named for stands in the place of another
            Kind::Profile if d.code == Code::WrongLoad => true,
            // what is picked is of the axes that its step varies
            Kind::Axis if self.is_picked(d.span) => false,
            // what was meant by a slip is known
            _ => d.code == Code::UnknownName && d.edits.is_empty() && d.about.missing_kind() == Some(kind),
        })
    }

    /// Whether a name stands behind `pick`.
    fn is_picked(&self, name: Span) -> bool {
        let text = self.modules.text_of(name.file);
        let before = text.get(name.line_in(text).range().start..name.start as usize).unwrap_or_default();
        before.split_whitespace().any(|word| word == "pick")
    }

    /// Whether a name that nothing declares is nearly this one, or the longer or shorter of the two: this may be what declares it, or what
    /// its declaration was to derive from, also where the library has something of that very name.
    pub(super) fn may_be_unknown(&self, kind: Kind, name: &str) -> bool {
        let meant = |d: &Diagnostic| {
            matches!(&d.about, About::Missing { kind: k, name: m, .. } if *k == kind
                && (m.starts_with(name) || name.starts_with(m.as_str()) || !nearest(m, [name]).is_empty()))
        };
        self.sink.found().any(|d| d.code == Code::UnknownName && meant(d))
    }

    /// Whether a study lacks the very line that would name one: that line is the mistake, and it has its diagnostic.
    pub(super) fn may_be_missed(&self, kind: Kind, name: &str) -> bool {
        let studies = self.modules.root().file.items.iter();
        let mut studies = studies.filter_map(|i| if let Item::Study(s) = i { Some(s) } else { None });
        let has = |s: &Study, is: fn(&Line) -> bool| s.lines.iter().any(|l| is(&l.kind));
        // what goes in a circle was meant to derive from something else of its kind
        let circles = self.sink.found().filter(|d| d.code == Code::Cycle && is_root(d.span));
        if circles.map(|d| self.line_begins(d.span.start)).any(|word| word == kind.word() || word == "use") {
            return true;
        }
        // what a step varies that is not there, and that another one was to start from
        let no_step = |d: &Diagnostic| match &d.about {
            // a step is mostly called as what it varies
            About::MissingBase { name: base } if kind == Kind::Axis => {
                let alike = name.contains(base.as_str()) || base.contains(name);
                d.edits.is_empty() && (alike || !nearest(base, [name]).is_empty())
            }
            About::MissingBase { .. } => kind == Kind::Engine && d.edits.is_empty(),
            _ => false,
        };
        if self.sink.found().any(no_step) {
            return true;
        }
        match kind {
            Kind::Param => self.operand_lost() || self.line_lost(&["model"], |_| true),
            Kind::Axis => {
                let is_unread = |l: &ast::StudyLine| match &l.kind {
                    Line::Step(step) => step.is_unread(),
                    Line::Track(track) => track.steps.iter().any(ast::Step::is_unread),
                    _ => false,
                };
                // a step that varies nothing was meant to vary something
                studies.any(|s| s.lines.iter().any(is_unread))
                    || self.sink.found().any(|d| d.code == Code::StepEmpty)
                    || self.name_lost(&["track", "step", "vary", "pick", "axis"])
                    || self.step_cut_off()
                    || self.line_lost(&["step"], |d| d.code == Code::UnclosedString)
            }
            Kind::Engine => {
                // an engine that cannot be started was meant to derive from one
                self.sink.found().any(|d| d.code == Code::EngineIncomplete)
                    || studies.any(|s| !has(s, |l| matches!(l, Line::Baseline(_))))
                    || self.name_lost(&["engine", "track"])
                    || self.step_cut_off()
                    || self.line_lost(&["step", "vary", "pick"], |d| {
                        self.lacks_picks(d) || d.about.expected().axis
                    })
                    || self.line_lost(&["engine"], |d| d.code == Code::UnclosedString)
            }
            Kind::Profile | Kind::Metric => {
                let unread = |s: &Study| {
                    let lost = !s.unread.is_empty() && !has(s, |l| matches!(l, Line::Objective { .. }));
                    lost && !(kind == Kind::Metric && self.says_what_it_aims_at(s))
                };
                studies.any(unread)
                    || kind == Kind::Profile && self.name_lost(&MEASURE)
                    || kind == Kind::Profile
                        && self.line_lost(&["profile"], |d| d.about == About::ParentExpected)
                    || kind == Kind::Metric && self.operand_lost()
            }
            _ => false,
        }
    }

    /// Whether a line with an expression lacks a part of it: any metric or param may have stood there.
    fn operand_lost(&self) -> bool {
        let lines = ["metric", "prune", "require", "step", "maximize", "minimize"];
        self.line_lost(&lines, |d| d.about.expected().operand)
    }

    /// `step a "A"`, whose block is not there: what it was to vary is not known.
    fn step_cut_off(&self) -> bool {
        let text = self.modules.root_text();
        self.line_lost(&["step", "track"], |d| !text[d.span.line_in(text).range()].contains('{'))
    }

    /// `vary engine[]`
    fn lacks_picks(&self, d: &Diagnostic) -> bool {
        d.span.before_in(self.modules.root_text()).trim_end().ends_with("engine[")
    }

    /// Whether a line that begins with one of these words lacks a name.
    fn name_lost(&self, begins: &[&str]) -> bool {
        self.line_lost(begins, |d| {
            let expected = d.about.expected();
            expected.name || expected.axis
        })
    }

    /// Whether a line that begins with one of these words could not be read, for such a reason: what it names is not known.
    fn line_lost(&self, begins: &[&str], reason: impl Fn(&Diagnostic) -> bool) -> bool {
        let unread = |d: &&Diagnostic| d.code.id().starts_with("E1") && is_root(d.span);
        let mut lost = self.sink.found().filter(unread).filter(|d| reason(d));
        lost.any(|d| begins.contains(&self.line_begins(d.span.start)))
    }

    /// The first word of the line of the checked file that holds a place.
    pub(super) fn line_begins(&self, at: u32) -> &str {
        let text = self.modules.root_text();
        let line = text[..text.floor_char_boundary(at as usize)].rfind('\n').map_or(0, |n| n + 1);
        text[line..].split_whitespace().next().unwrap_or_default()
    }
}

fn is_root(span: Span) -> bool {
    span.file == FileId::default()
}
