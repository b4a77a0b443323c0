//! What the errors of a file tear: each is looked up in the tree, and what stands in its place is noted as text, of which flags, variables and
//! axes are known by their words.

use std::ops::Range;

use foldhash::{HashSet, HashSetExt};

use super::concern::Concern;
use super::extents::{asks, ends, holds, in_step, was_read};
use crate::lang::codes::Code;
use crate::lang::comments::start_of_comment;
use crate::lang::diag::{About, did_you_mean};
use crate::lang::sema::program::Study;
use crate::lang::sema::scope::{Kind, name_of};
use crate::lang::source::{FileId, Span};
use crate::lang::syntax::ast::{self, EngineLineKind, Item, StudyLineKind};
use crate::lang::syntax::{Block, PROFILE_SETTINGS};
use crate::lang::{Analysis, Diagnostic};

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

/// Settings of a profile that decide how long its requests are.
const OF_LENGTHS: [&str; 5] = ["data", "input", "output", "prefix", "prefixes"];

/// Settings of a profile that decide how many requests there are, and how many at once.
const OF_COUNTS: [&str; 6] = ["rate", "arrivals", "in_flight", "concurrency", "requests", "duration"];

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

    /// What is torn in an engine or in none, each with its engine.
    pub(super) fn by_engine(&self) -> Vec<(Option<Span>, &str)> {
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
    fn flags_alike(&mut self, flag: &str) {
        let engines = self.analysis.program.engines.values();
        let names = engines.flat_map(|e| e.schema.specs()).flat_map(|spec| &spec.names);
        let alike: HashSet<&String> = names.filter(|name| share_a_word(flag, name)).collect();
        self.text.extend(alike.into_iter().flat_map(|t| [" ", t.as_str(), " "]));
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
            Item::Profile(profile) => {
                let line = self.analysis.modules.root_text().get(self.line(at).range()).unwrap_or_default();
                let read = profile.lines.iter().find(|l| holds(l.span, at)).map(|l| l.word.value.as_str());
                let word = read.unwrap_or_else(|| first_word(line));
                let concerns = |words: &[&str]| !PROFILE_SETTINGS.contains(&word) || words.contains(&word);
                if concerns(&OF_LENGTHS) {
                    self.loads.insert(profile.name.value.clone());
                }
                // stated, they are as many however they come, and a cap bounds none of them
                let stated = profile.lines.iter().any(|l| l.word.value == "requests");
                let of_pace =
                    word == "in_flight" || stated && matches!(word, "rate" | "arrivals" | "concurrency");
                self.in_flight |= concerns(&OF_COUNTS);
                if concerns(&OF_COUNTS) && !of_pace {
                    self.profiles.insert(profile.name.value.clone());
                }
                self.places.push(item.span());
            }
            item => self.places.push(item.span()),
        }
    }

    /// Adds the profiles that take their lengths from one of which they are not known.
    fn derived_loads(&mut self) {
        let loads = std::mem::take(&mut self.loads);
        self.loads = self.with_derived(loads);
    }

    /// The names of profiles of which nobody knows how many requests there are, or that derive from one, where they are declared.
    pub(super) fn torn_profiles(&self) -> Vec<Span> {
        let names = self.with_derived(self.profiles.clone());
        self.profiles_there().filter(|p| names.contains(&p.name.value)).map(|p| p.name.span).collect()
    }

    /// Whether a study measures on a profile that could not be read, or that nothing declares.
    fn aims_at_lost(&self) -> bool {
        let known = &self.analysis.program.profiles;
        let lost = |line: &ast::StudyLine| match &line.kind {
            StudyLineKind::Objective { on, .. } => on.iter().any(|p| !known.contains_key(&p.value)),
            _ => false,
        };
        self.studies().any(|study| study.lines.iter().any(lost))
    }

    fn with_derived(&self, mut names: HashSet<String>) -> HashSet<String> {
        let parent = |p: &'a ast::Profile| Some((p.name.value.as_str(), p.parent.as_ref()?.value.as_str()));
        let derived: Vec<(&str, &str)> = self.profiles_there().filter_map(parent).collect();
        while let Some((name, _)) =
            derived.iter().find(|(name, parent)| names.contains(*parent) && !names.contains(*name))
        {
            names.insert((*name).to_owned());
        }
        names
    }

    fn profiles_there(&self) -> impl Iterator<Item = &'a ast::Profile> + use<'a> {
        self.items().iter().filter_map(|i| if let Item::Profile(p) = i { Some(p) } else { None })
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

    fn in_engine(&mut self, engine: &ast::Engine, error: &Diagnostic) {
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
    fn lose(&mut self, engine: &ast::Engine) {
        self.tear(engine.span);
        self.vague = true;
    }

    fn in_study(&mut self, study: &ast::Study, at: Span) {
        // what it lacks is said of its name, and its first line says nothing of candidates
        let text = self.analysis.modules.root_text().get(study.span.range()).unwrap_or_default();
        let head = text.split(['{', '\n']).next().map_or(0, str::len) as u32;
        if at == study.name.span || at.start < study.span.start + head && study.span.start <= at.start {
            self.places.push(at);
            return;
        }
        let read = study.lines.iter().find(|l| holds(l.span, at));
        let place = match read.map(|l| (&l.kind, l.span)) {
            Some((StudyLineKind::Step(step), span)) => self.in_step(step, at).unwrap_or(span),
            Some((StudyLineKind::Track(track), span)) => {
                let step = track.steps.iter().find(|s| holds(s.span, at));
                let head = at.start < track.steps.first().map_or(span.end, |s| s.span.start);
                match step {
                    Some(step) => self.in_step(step, at).unwrap_or(step.span),
                    None if head && self.line(span) == self.line(at) => span,
                    None => self.line(at),
                }
            }
            Some((_, span)) => span,
            None => self.block(self.line(at)),
        };
        let text = self.analysis.modules.root_text().get(place.range()).unwrap_or_default();
        // what candidates are made of, and held against
        let word = text.split_whitespace().next().unwrap_or_default();
        // what nothing stands on may be picked wrongly
        let last =
            word == "pick" && study.lines.last().is_some_and(|l| holds(l.span, at) && ends(&l.kind, at));
        let steps = !last && ["step", "track", "vary", "pick", "adopt", "gpus"].contains(&word);
        // `step a "A"` has lost its block
        let step = matches!(word, "step" | "track") && !text.contains('{');
        self.unread |= read.is_none() && (step || text.contains("vary "));
        if steps || text.contains("vary ") {
            self.tear(place);
        } else {
            self.places.push(place);
        }
    }

    /// The part of a step that decides on no candidate, if a mistake stands there: also a line that is none of a step's, beside its `vary`.
    fn in_step(&self, step: &ast::Step, at: Span) -> Option<Span> {
        let line = self.line(at);
        let varies = |l: &ast::StepLine| matches!(l.kind, ast::StepLineKind::Vary { .. });
        let apart = || {
            let text = self.analysis.modules.root_text().get(line.range()).unwrap_or_default();
            let own = step.lines.iter().all(|l| !holds(line, l.span)) && !holds(line, step.name.span);
            own && step.lines.iter().any(varies) && !text.contains(['{', '}', '-'])
        };
        in_step(step, at).or_else(|| apart().then_some(line))
    }

    /// A line that could not be read, with the block that it begins.
    fn block(&self, line: Span) -> Span {
        let text = self.analysis.modules.root_text();
        let begins = text.get(line.range()).unwrap_or_default().trim_end().ends_with('{');
        let rest = &text[(line.end as usize).min(text.len())..];
        let indent = |l: &str| l.len() - l.trim_start().len();
        let column = text.get(line.range()).map_or(0, indent);
        let within = |l: &&str| l.trim().is_empty() || indent(l) > column;
        let len: usize = rest.split_inclusive('\n').skip(1).take_while(within).map(str::len).sum();
        if begins { Span { end: line.end + 1 + len as u32, ..line } } else { line }
    }

    /// In what could not be read as an item.
    fn unread(&mut self, at: Span) {
        let line = self.line(at);
        let text = self.analysis.modules.root_text();
        match text.get(line.range()).unwrap_or_default().split_whitespace().next().unwrap_or_default() {
            "use" | "profile" | "metric" | "prune" | "site" | "study" => self.places.push(line),
            "engine" if self.is_unnamed(line) => self.places.push(line),
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

    /// Tears the steps that the program lacks, as something in them is not known. Whether there are any.
    fn lost_steps(&mut self) -> bool {
        let mut any = false;
        for study in self.studies() {
            let mut kept = self.analysis.program.studies.iter().find(|s| s.span == study.name.span);
            // among many studies one without a baseline is not looked at
            kept = kept.filter(|s| self.concern.is_some() || !s.baseline.is_empty());
            for line in &study.lines {
                let lost = |s: &ast::Step| {
                    !kept.is_some_and(|k: &Study| k.steps.iter().any(|o| o.span == s.name.span))
                };
                let concern = self.concern;
                let apart = |s: &&ast::Step| concern.is_some_and(|c| c.is_apart(s.span));
                for step in steps_of(&line.kind).iter().filter(|s| lost(s) && !apart(s)) {
                    self.tear(step.span);
                    self.unread |= step.is_unread() || self.varies_nothing(step);
                    any = true;
                }
            }
        }
        any
    }

    /// The names of steps that start from what no engine and no step is called.
    pub(super) fn adrift(&self) -> Vec<Span> {
        let mut found = Vec::new();
        for study in self.studies() {
            let steps: Vec<&ast::Step> = study.lines.iter().flat_map(|l| steps_of(&l.kind)).collect();
            let is_known = |name: &str| {
                name == "best"
                    || self.analysis.program.engines.contains_key(name)
                    || steps.iter().any(|s| s.name.value == name)
            };
            let adrift = steps.iter().filter(|s| s.from.as_ref().is_some_and(|from| !is_known(&from.value)));
            found.extend(adrift.map(|s| s.name.span));
        }
        found
    }

    /// `vary`, and nothing behind it.
    fn varies_nothing(&self, step: &ast::Step) -> bool {
        let text = self.analysis.modules.root_text().get(step.span.range()).unwrap_or_default();
        let behind = text
            .match_indices("vary")
            .map(|(at, word)| text[at + word.len()..].trim_start_matches([' ', '\t']));
        behind.into_iter().any(|rest| rest.is_empty() || rest.starts_with(['}', '#', '\n', '\r']))
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

/// The steps that a line of a study holds.
fn steps_of(line: &StudyLineKind) -> &[ast::Step] {
    match line {
        StudyLineKind::Step(step) => std::slice::from_ref(&**step),
        StudyLineKind::Track(track) => track.steps.as_slice(),
        _ => &[],
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

/// The word that a line begins with, as other languages write it too: `seed: 1`.
fn first_word(line: &str) -> &str {
    line.trim_start().split(|c: char| c.is_whitespace() || matches!(c, ':' | '=')).next().unwrap_or_default()
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
