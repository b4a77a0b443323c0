//! Engines that a file means and that cannot be made out, which has been said: a flag that no other engine has may be one of theirs.
//! So long as one is lost, a flag is called unknown only where no engine could have it, and nothing is mended by a machine.

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};

use super::check::Checker;
use super::program::Engine;
use super::schema::key;
use super::scope::Kind;
use super::settings::flag_target;
use super::unsets::overlaps;
use crate::lang::diag::{About, Diagnostic};
use crate::lang::source::Span;
use crate::lang::stdlib;
use crate::lang::syntax::ast::{self, ChangeKind, EngineLineKind, Item, Name, StudyLineKind as Line};
use crate::lang::syntax::{Block, ENGINE_SETTINGS, first_word};

/// Lines of a study and its steps that may name an engine.
const NAMES_ENGINES: [&str; 5] = ["baseline", "track", "step", "vary", "from"];

impl Checker<'_> {
    /// Whether some engine of this file, or where its studies name one, could not be read.
    pub(super) fn engine_lost(&self) -> bool {
        self.unpicked || self.unknown_engine_lost()
    }

    /// The same where it need not be one of those that are known.
    fn unknown_engine_lost(&self) -> bool {
        self.lost_engine
            || self.engines.iter().any(|(at, e)| at.module == 0 && e.is_none())
            || self.engine_twice()
            || self.lines_lost()
    }

    /// Whether two engines of this file have one name: another name stands for one of them elsewhere.
    pub(super) fn engine_twice(&self) -> bool {
        let root = self.modules.root();
        // pasted twice it is one engine
        let twice = |d: &Diagnostic| {
            d.about == About::Second(Kind::Engine) && !super::copied::is_pasted(self.modules, d.span)
        };
        root.names(Kind::Engine).into_iter().any(|n| root.is_broken(n)) && self.sink.found().any(twice)
    }

    /// Whether an error in an engine, or in one that it derives from, may hide what these flags or variables are set to: one of another
    /// flag does not, unless that may have been meant to be one of these.
    pub(super) fn is_torn(&self, engine: &Engine, targets: &[String]) -> bool {
        let under = Some((&*engine.schema, engine.version.as_deref()));
        let elsewhere = |name: &str| {
            let own = flag_target(name, under);
            !targets.iter().any(|t| overlaps(t, &own))
        };
        let meant = |d: &Diagnostic| {
            d.about.expected().by_example || d.words_said().filter(|w| w.starts_with('-')).all(elsewhere)
        };
        // `env NAME`, whose value is lost
        let variables: Vec<&str> = targets.iter().filter_map(|t| t.strip_prefix("env ")).collect();
        let sets_variable = |d: &Diagnostic| {
            let rest = self.line_of(d.span).strip_prefix("env").unwrap_or_default();
            rest.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).any(|w| variables.contains(&w))
        };
        self.has_error_beside(engine, |e, d| match &d.about {
            _ if sets_variable(d) => false,
            About::Release { flag, .. } | About::Inherited { flag } => elsewhere(flag),
            _ => {
                // a setting that is like none: if anything, the flag of that name
                let of_none = d.about == About::NoSetting(Block::Engine)
                    && elsewhere(&format!("--{}", self.modules.slice(d.span).replace('_', "-")));
                let spared = || {
                    of_none
                        || sets_no_flag(e, d.span, &elsewhere)
                        || self.unread_sets_no_flag(d.span, &elsewhere)
                };
                meant(d) && (spared() || only_takes_away(e, d))
            }
        })
    }

    /// Whether an error in an engine, or in one that it derives from, may hide its version: one in a line of flags does not.
    pub(super) fn may_state_version(&self, engine: &Engine) -> bool {
        self.has_error_beside(engine, |e, d| {
            let at = d.span;
            let mut lines = e.lines.iter().filter(|l| matches!(l.kind, EngineLineKind::Changes(_)));
            let flag = lines.any(|l| l.span.start <= at.start && at.start < l.span.end);
            flag && !self.modules.slice(at).trim_start_matches('-').starts_with("version")
                || self.line_of(at).starts_with(['-', '"']) && !self.line_of(at).contains("version")
                || self.first_word(at).is_some_and(|word| word != "version")
        })
    }

    /// The line of a place, which stands in an engine.
    fn line_of(&self, place: Span) -> &str {
        self.modules.slice(place.line_of_engine_in(self.modules.text_of(place.file))).trim_start()
    }

    /// The setting that the line of a place begins with, if it is one of an engine.
    fn first_word(&self, place: Span) -> Option<&str> {
        // `args: []`, as other languages write it
        Some(first_word(self.line_of(place))).filter(|word| ENGINE_SETTINGS.contains(word))
    }

    /// Whether a line that could not be read sets none of the flags in question: it begins with what says how the server is started, or
    /// with what another flag is.
    fn unread_sets_no_flag(&self, place: Span, elsewhere: &dyn Fn(&str) -> bool) -> bool {
        let line = self.line_of(place);
        let flags = || {
            let words = line.split(|c: char| c.is_whitespace() || ",=[]{}\"".contains(c));
            words.filter(|w| w.starts_with('-'))
        };
        // a flag with something behind it, or a text that stands alone
        if line.starts_with(['-', '"']) {
            return flags().all(elsewhere);
        }
        let Some(word) = self.first_word(place) else { return false };
        match word {
            "version" | "versions" | "model" => false,
            "env" | "raw" => flags().all(elsewhere),
            // another flag, or another name of one, may stand in what could not be read
            "unset" | "flag" => flags().next().is_some() && flags().all(elsewhere),
            _ => true,
        }
    }

    /// Whether an engine, or one that it derives from, has an error beside those in places that do not matter.
    fn has_error_beside(&self, engine: &Engine, spared: impl Fn(&ast::Engine, &Diagnostic) -> bool) -> bool {
        let declared = self.modules.all.iter().flat_map(|m| &m.file.items);
        let mut declared = declared.filter_map(|i| if let Item::Engine(e) = i { Some(e) } else { None });
        self.sink.has_errors()
            && declared.any(|e| {
                engine.ancestry.contains(&e.name.value) && self.sink.in_span(e.span).any(|d| !spared(e, d))
            })
    }

    fn lines_lost(&self) -> bool {
        let names = |unread: &[&str]| unread.iter().any(|u| NAMES_ENGINES.contains(u));
        let mut studies = self
            .modules
            .root()
            .file
            .items
            .iter()
            .filter_map(|i| if let Item::Study(s) = i { Some(s) } else { None });
        // axes of which none varies an engine name none
        let of_axes =
            |step: &ast::Step| step.unread.iter().all(|u| *u == "vary") && !self.may_vary_engine(step.span);
        let lost = |step: &ast::Step| names(&step.unread) && !of_axes(step);
        let is_lost = |s: &ast::Study, u: &str| u != "baseline" || self.unread_baseline(s).is_none();
        studies.any(|s| {
            s.unread.iter().any(|u| NAMES_ENGINES.contains(u) && is_lost(s, u))
                || s.lines.iter().any(|l| match &l.kind {
                    Line::Step(step) => lost(step),
                    Line::Track(track) => track.steps.iter().any(lost),
                    _ => false,
                })
        })
    }

    /// The engine of a `baseline` line that could not be read, where that is what stands behind its word: `baseline (here`.
    pub(super) fn unread_baseline(&self, study: &ast::Study) -> Option<Name> {
        if !study.unread.contains(&"baseline") {
            return None;
        }
        let text = self.modules.slice(study.span);
        let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut lines = text.lines().filter_map(|l| l.trim_start().strip_prefix("baseline"));
        let rest = lines.next().filter(|rest| !rest.starts_with(in_name) && lines.next().is_none())?;
        let value = rest.split(|c| !in_name(c)).find(|w| !w.is_empty() && *w != "engine")?;
        self.modules.root().find(Kind::Engine, value)?;
        let start = study.span.start as usize + (value.as_ptr() as usize - text.as_ptr() as usize);
        Some(Name { value: value.to_owned(), span: Span::new(study.span.file, start..start + value.len()) })
    }

    /// Whether a name stands in a step that could not be read where it is declared.
    pub(super) fn names_what_is_lost(&self, step: Span) -> bool {
        let mut names = self.modules.slice(step).split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        names.any(|name| self.modules.root().is_broken(name))
    }

    /// Whether a step that could not be made out may leave another engine than it found: something in it, or in an axis that it names,
    /// speaks of `engine`.
    pub(super) fn may_vary_engine(&self, step: Span) -> bool {
        let modules = self.modules;
        let axes = self.texts_of_axes.get_or_init(|| texts_of_axes(modules.root_text()));
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (mut said, mut open) = (HashSet::new(), vec![self.modules.slice(step)]);
        while let Some(text) = open.pop() {
            for name in text.split(|c| !word(c)).filter(|w| !w.is_empty()) {
                if name == "engine" {
                    return true;
                }
                if said.insert(name) {
                    open.extend(axes.get(name).into_iter().flatten());
                }
            }
        }
        false
    }

    /// Whether no engine can have a flag: the library has it nowhere, and this file declares none of its name.
    pub(super) fn of_no_engine(&self, flag: &str) -> bool {
        let flag = key(flag.split('.').next().unwrap_or(flag));
        let declares = |text: &str| declares_flag(text, &flag);
        !stdlib::engine_texts().any(declares) && !self.modules.texts().any(declares)
    }

    /// An unknown flag's diagnostic, so far as it holds whatever a lost engine has.
    pub(super) fn unless_lost(&self, flag: &str, d: Diagnostic) -> Option<Diagnostic> {
        if !self.engine_lost() || !self.unknown_engine_lost() && self.of_no_engine(flag) {
            return Some(d);
        }
        // nearly a flag of another engine: most likely nearly one of the lost engine's too
        let misspelt = !d.edits.is_empty() && self.of_no_engine(flag);
        misspelt.then(|| Diagnostic { edits: Vec::new(), ..d })
    }
}

/// What stands behind the names of axes, whether they can be read or not; one may go on over lines.
fn texts_of_axes(file: &str) -> HashMap<&str, Vec<&str>> {
    let mut found: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut at = 0;
    let lines = file.split_inclusive('\n').map(|line| {
        at += line.len();
        (at - line.len(), line)
    });
    let begins = lines.filter(|(_, line)| line.trim_start().starts_with(|c: char| c.is_ascii_alphabetic()));
    let mut begins = begins.peekable();
    while let Some((start, line)) = begins.next() {
        let indent = line.len() - line.trim_start().len();
        let Some(body) = line.trim_start().strip_prefix("axis").filter(|b| b.starts_with([' ', '\t'])) else {
            continue;
        };
        // the points of one stand further in
        let within = |l: &str| l.len() - l.trim_start().len() > indent;
        while begins.next_if(|(_, line)| within(line)).is_some() {}
        let end = begins.peek().map_or(file.len(), |(next, _)| *next);
        let body = body.trim_start();
        let name = body.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap_or_default();
        let from = start + line.len() - body.len() + name.len();
        found.entry(name).or_default().push(&file[from..end]);
    }
    found
}

/// Whether what stands in that place of an engine sets none of the flags in question.
fn sets_no_flag(engine: &ast::Engine, place: Span, elsewhere: &dyn Fn(&str) -> bool) -> bool {
    let mut lines = engine.lines.iter().filter(|l| l.span.start <= place.start && place.start < l.span.end);
    lines.any(|line| match &line.kind {
        EngineLineKind::Changes(changes) => changes.iter().any(|c| {
            let is_here = c.span.start <= place.start && place.end <= c.span.end;
            is_here
                && match &c.kind {
                    ChangeKind::Flag(f) => elsewhere(&f.name.value),
                    ChangeKind::Env { .. } | ChangeKind::UnsetEnv(_) | ChangeKind::Model(_) => true,
                    ChangeKind::Raw(_) | ChangeKind::UnsetFlag(_) => false,
                }
        }),
        EngineLineKind::Flag(flag) => flag.names.iter().all(|n| elsewhere(&n.value)),
        kind => kind.sets_nothing(),
    })
}

/// Whether what mends a line of flags only takes something away behind one of them: `--seed=1 \`.
fn only_takes_away(engine: &ast::Engine, d: &Diagnostic) -> bool {
    let in_line = |l: &ast::EngineLine| {
        matches!(&l.kind, EngineLineKind::Changes(c) if !c.is_empty())
            && l.span.start <= d.span.start
            && d.span.start <= l.span.end
    };
    !d.edits.is_empty() && d.edits.iter().all(|e| e.text.is_empty()) && engine.lines.iter().any(in_line)
}

/// Whether a line declares a flag of that key, in a text that need not be one of the language.
pub(super) fn declares_flag(text: &str, wanted: &str) -> bool {
    text.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.any(|w| w == "flag") && words.any(|w| key(w) == wanted)
    })
}
