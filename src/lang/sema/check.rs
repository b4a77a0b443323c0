//! The checker: walks all modules once and builds the program; each kind of item has its file.

use std::cell::OnceCell;
use std::sync::Arc;

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};

use super::asked::AskedFlag;
use super::modules::Modules;
use super::program::{Engine, Expr, NotYet, Point, Profile, Program, Space};
use super::refused::Refused;
use super::said::Said;
use super::scope::{ItemRef, Kind, Module};
use super::sound::Sound;
use super::template::{self, Inserted, Param, Written};
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, Sink};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{Item, Literal, Name, Text};
use crate::lang::units::Dim;

/// The state of one check.
pub struct Checker<'a> {
    pub modules: &'a Modules,
    pub sink: &'a mut Sink,
    pub engines: HashMap<ItemRef, Option<Arc<Engine>>>,
    /// an engine is named somewhere that is not known
    pub lost_engine: bool,
    /// a step varies `engine` and does not say which of those that are known
    pub(super) unpicked: bool,
    pub profiles: HashMap<ItemRef, Option<Arc<Profile>>>,
    /// what each profile states in some way, by where its name stands
    pub said_in: HashMap<Span, Said>,
    pub axes: HashMap<ItemRef, Option<Arc<Vec<Point>>>>,
    /// axes that are algebra over others
    pub groups: HashMap<ItemRef, Option<Space>>,
    /// declarations being resolved, to find circles
    pub trail: Vec<ItemRef>,
    /// what something refers to, for warnings about what nothing does
    pub used: HashSet<ItemRef>,
    /// where changes stand that a step could hold against its engines
    pub placed: Vec<Span>,
    /// axes that need not be held against an engine again
    pub sound: Sound,
    /// engines and versions of which it was said that another release's flags stand in
    pub stood_in: HashSet<(String, String)>,
    /// flags that a step's engines refuse, and where those stand that some step's take
    pub refused: Vec<Refused>,
    pub accepted: HashSet<Span>,
    /// where the step that is being looked at names its axes
    pub varied: Vec<(String, Span)>,
    pub not_yet: Vec<NotYet>,
    /// engines that points of imported axes name and this file cannot, by the name that such a point has for them
    pub away: indexmap::IndexMap<String, Arc<Engine>>,
    pub metrics: HashMap<ItemRef, Option<(Expr, Dim)>>,
    /// flags in conditions of the root file, and what the engines of some study know of them
    pub asked_flags: Vec<AskedFlag>,
    /// lines of loads that do not fit what some study does with them, and how that was said
    pub(super) loads_told: Vec<(Span, String)>,
    /// the names of all steps of the study that is being looked at
    pub steps_named: Vec<String>,
    /// how often a file with errors names each word, as far as that may be a use
    pub named: HashMap<String, usize>,
    /// what stands behind the names of axes in the root file, also of such as cannot be read
    pub texts_of_axes: OnceCell<HashMap<&'a str, Vec<&'a str>>>,
    /// what params without a unit are compared with
    pub(super) params_met: Vec<super::params_met::Met>,
    /// how deep the expression is that is being looked at, those of the metrics in it included
    pub depth: usize,
}

/// Levels of derivation: a handful in any real file, and each takes some of the stack.
pub(super) const MOST_LEVELS: usize = 32;

/// Checks all modules; the program is that of the root file.
pub fn check_program(modules: &Modules, sink: &mut Sink) -> Program {
    let mut checker = Checker {
        modules,
        sink,
        engines: HashMap::new(),
        lost_engine: false,
        unpicked: false,
        profiles: HashMap::new(),
        said_in: HashMap::new(),
        axes: HashMap::new(),
        groups: HashMap::new(),
        trail: Vec::new(),
        used: HashSet::new(),
        placed: Vec::new(),
        sound: Sound::default(),
        stood_in: HashSet::new(),
        refused: Vec::new(),
        accepted: HashSet::new(),
        varied: Vec::new(),
        not_yet: Vec::new(),
        away: indexmap::IndexMap::new(),
        metrics: HashMap::new(),
        asked_flags: Vec::new(),
        loads_told: Vec::new(),
        steps_named: Vec::new(),
        named: HashMap::default(),
        texts_of_axes: OnceCell::new(),
        params_met: Vec::new(),
        depth: 0,
    };
    checker.run()
}

impl<'a> Checker<'a> {
    fn run(&mut self) -> Program {
        let mut program = Program::default();
        let root = self.modules.root();
        for (index, item) in root.file.items.iter().enumerate() {
            let at = ItemRef { module: 0, item: index };
            match item {
                Item::Site(s) if program.site.is_some() => {
                    let message = "a second site stands in one file";
                    let d = Diagnostic::new(Code::SettingTwice, s.name.span, message).label("the second one");
                    self.sink
                        .push(d.help("a file describes one machine: keep each site in a file of its own"));
                }
                Item::Site(s) => program.site = Some(Arc::new(self.site(0, s))),
                Item::Param(p) => {
                    self.param_number(p);
                    self.param_declared(p);
                    program.params.insert(p.name.value.clone(), Self::literal_text(&p.value));
                }
                Item::Engine(_) => drop(self.engine(at)),
                Item::Profile(_) => drop(self.profile(at)),
                Item::Axis(_) => drop(self.axis_space(at)),
                Item::Metric(m) => drop(self.metric_of(at, &m.name)),
                Item::Use(_) | Item::Prune(_) | Item::Study(_) => {}
            }
        }
        for (index, item) in root.file.items.iter().enumerate() {
            if let Item::Study(s) = item {
                self.used.insert(ItemRef { module: 0, item: index });
                program.studies.push(self.study(s));
            }
        }
        self.say_refused();
        if program.studies.is_empty() {
            self.rules_without_study();
        }
        self.names_beyond_lost_ones();
        self.unplaced();
        self.unknown_asked_flags();
        self.axis_unsets();
        self.dashes();
        self.unquoted_params();
        self.forget_what_follows();
        self.unused();
        program.engines = self.by_name(Kind::Engine, Checker::engine);
        program.engines.extend(std::mem::take(&mut self.away));
        program.profiles = self.by_name(Kind::Profile, Checker::profile);
        program.not_yet = std::mem::take(&mut self.not_yet);
        program
    }

    /// Rules are checked with the studies that they hold for; a file without any may hold them too.
    fn rules_without_study(&mut self) {
        for item in &self.modules.root().file.items {
            if let Item::Prune(p) = item {
                self.prune_rule(0, p);
            }
        }
    }

    /// Everything of a kind that the root file can name.
    fn by_name<T>(
        &mut self,
        kind: Kind,
        get: fn(&mut Self, ItemRef) -> Option<Arc<T>>,
    ) -> indexmap::IndexMap<String, Arc<T>> {
        let root = self.modules.root();
        let names: Vec<String> = root.names(kind).into_iter().map(str::to_owned).collect();
        let resolved = names.into_iter().filter_map(|n| {
            let value = get(self, root.find(kind, &n)?)?;
            Some((n, value))
        });
        resolved.collect()
    }

    pub fn module(&self, index: usize) -> &'a Module {
        &self.modules.all[index]
    }

    /// Notes that something is understood and not carried out by this version.
    pub fn later(&mut self, what: String, span: Span, live_only: bool) {
        self.say_later(&what, span, live_only);
        self.not_yet.push(NotYet { what, span, live_only });
    }

    /// The note alone, where it depends on more than the file whether it matters.
    pub fn say_later(&mut self, what: &str, span: Span, live_only: bool) {
        let (code, how, help) = if live_only {
            let help = "`perflab exec --replay RECORDING` takes the file; without a recording it is refused";
            (Code::NotYetLive, "this version can check and replay it, but cannot measure it yet", help)
        } else {
            let help = "`perflab exec` refuses the file until then";
            (Code::NotYet, "this version can check it, but cannot carry it out yet", help)
        };
        self.sink.push(Diagnostic::new(code, span, format!("{what}: {how}")).label("later").help(help));
    }

    /// Inserts the params of a module into a text.
    /// What an unknown name surely stands for, as the diagnostic about it says: it is read as that, so that what else is wrong is found.
    pub fn meant(&mut self, module: usize, kind: Kind, name: &Name) -> Option<ItemRef> {
        let mut edits = self.sink.found().filter(|d| d.code == Code::UnknownName).flat_map(|d| &d.edits);
        let right = edits.find(|e| e.span == name.span)?;
        let at = self.module(module).find(kind, &right.text)?;
        self.used.insert(at);
        Some(at)
    }

    pub fn inserted(&mut self, module: usize, text: &Text, launch: bool) -> String {
        self.inserted_text(module, &text.value, text.span, launch).text
    }

    pub fn inserted_text(&mut self, module: usize, text: &str, span: Span, launch: bool) -> Inserted {
        let (m, modules) = (self.module(module), self.modules);
        let param = |name: &str| match m.find(Kind::Param, name).map(|at| modules.item(at)) {
            _ if is_unreadable(m, modules, name) => Param::Unreadable,
            Some(Item::Param(p)) => Param::Value(Self::literal_text(&p.value)),
            _ => Param::Unknown,
        };
        let written = Written { span, source: modules.slice(span) };
        template::insert(text, &written, launch, &param, &|| m.names(Kind::Param), self.sink)
    }

    /// A param's value as it is inserted: a count as a plain number, all else as written.
    fn literal_text(literal: &Literal) -> String {
        match literal {
            Literal::Text(t) => t.value.clone(),
            Literal::Bool(b) => b.value.to_string(),
            Literal::Number(n) => match crate::lang::units::unit(&n.unit) {
                Some((scale, dim)) if dim == crate::lang::units::Dim::PLAIN => {
                    format!("{}", scale.apply(n.value))
                }
                _ => format!("{}{}", n.value, n.unit),
            },
        }
    }

    pub(super) fn too_far(&mut self, span: Span) {
        let message = format!("this derives from something that derives … more than {MOST_LEVELS} times");
        let help = "derive it from something nearer to the root";
        self.sink.push(Diagnostic::new(Code::TooDeep, span, message).label("too far").help(help));
    }

    /// Runs `f` unless the item is already being resolved: then its declaration goes in a circle.
    pub fn guarded<T>(
        &mut self,
        at: ItemRef,
        span: Span,
        f: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<T> {
        if self.trail.contains(&at) {
            let name = super::scope::name_of(self.modules.item(at));
            if name.is_some_and(|(_, n)| self.module(at.module).is_broken(&n.value)) {
                return None;
            }
            let help = "derive it from something that does not derive from it";
            let message = "this derives from itself";
            let d = Diagnostic::new(Code::Cycle, span, message).label("a circle");
            let from = self.trail.iter().position(|t| *t == at).unwrap_or_default();
            let named = |t: &ItemRef| super::scope::name_of(self.modules.item(*t)).map(|(_, n)| n);
            let round: Vec<_> = self.trail[from..].iter().filter_map(named).collect();
            let d = match round.as_slice() {
                [first, others @ ..] if !others.is_empty() => {
                    let path: Vec<&str> = round.iter().map(|n| n.value.as_str()).collect();
                    let path = format!("{} -> {}", path.join(" -> "), first.value);
                    let d = d.help(format!("the circle is {path}: {help}"));
                    others.iter().fold(d, |d, n| d.related(n.span, "on the way"))
                }
                _ => d.help(help),
            };
            self.sink.push(d);
            return None;
        }
        if self.trail.len() >= MOST_LEVELS {
            self.too_far(span);
            return None;
        }
        self.trail.push(at);
        let out = f(self);
        self.trail.pop();
        out
    }
}

/// Whether a param is declared in what could not be read, which has been said.
pub(super) fn is_unreadable(m: &Module, modules: &Modules, param: &str) -> bool {
    match m.find(Kind::Param, param).map(|at| modules.item(at)) {
        Some(Item::Param(p)) => !is_readable(&p.value),
        _ => m.is_lost(Kind::Param, param),
    }
}

/// Whether a param's value means something: a unit that there is not has been reported.
fn is_readable(literal: &Literal) -> bool {
    !matches!(literal, Literal::Number(n) if crate::lang::units::unit(&n.unit).is_none())
}
