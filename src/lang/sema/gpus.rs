//! How many GPUs the engines of a study need as declared, against how many the study says there are.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::check::Checker;
use super::counted;
use super::metrics;
use super::program::{Engine, Expr, NotYet, Study};
use super::schema::{FlagSpec, Found, Setting};
use super::scope::Kind;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{
    self, Axes, Change, ChangeKind, EngineLineKind, Factor, Item, Name, StepLineKind, StudyLineKind as Line,
};

impl Checker<'_> {
    /// An engine that can never start is an error where the study first names it.
    pub fn enough_gpus(&mut self, decl: &ast::Study, study: &Study) {
        let line = decl.lines.iter().find(|l| matches!(l.kind, Line::Gpus { .. }));
        if let (Some(gpus), Some(line)) = (&study.gpus, line) {
            let named = self.engines_named(decl);
            self.too_many(gpus.count, line.span, &named);
        }
    }

    /// Engines that need more GPUs than there are. It is one number that they are too many for, and said once.
    fn too_many(&mut self, there: u32, line: Span, named: &[(Arc<Engine>, Span)]) {
        let all = named.iter().map(|(engine, span)| (needed(engine), engine, *span));
        let over = all.filter(|(n, engine, _)| *n > there && !self.sets_a_size_twice(engine));
        let mut over = over.collect::<Vec<_>>().into_iter();
        let Some((first, engine, span)) = over.next() else { return };
        // an engine that is too large for several studies is one mistake
        let about = About::Engine(engine.name.clone());
        let told = self.sink.each_mut().find(|d| d.code == Code::TooManyGpus && d.about == about);
        if let Some(d) = told {
            d.related.extend([(span, "and here".to_owned()), (line, format!("{there} here"))]);
            return;
        }
        let many = format!("{first} GPU{}", if first == 1 { "" } else { "s" });
        let message = format!("the engine `{}` needs {many}, and the study has {there}", engine.name);
        let d = Diagnostic::new(Code::TooManyGpus, span, message).label("can never start");
        let mut d = d.about(about).related(line, "so many there are");
        for size in self.sizes_of(engine) {
            d = d.related(size, "a size");
        }
        let (mut most, mut whose) = (first, "its");
        for (needed, engine, span) in over {
            d = d.related(span, format!("`{}` needs {needed}", engine.name));
            (most, whose) = (most.max(needed), "their");
        }
        d.suggested = vec![most.to_string()];
        self.sink.push(d.help(format!("write `gpus {most}`, or make {whose} parallel sizes smaller")));
    }

    /// Which of two sizes an engine is to have is not known.
    fn sets_a_size_twice(&self, engine: &Engine) -> bool {
        self.sizes_of(engine).into_iter().any(|at| self.sink.says(Code::FlagTwice, at))
    }

    /// Where an engine sets its sizes itself.
    fn sizes_of(&self, engine: &Engine) -> Vec<Span> {
        let items = self.modules.root().file.items.iter();
        let engines = items.filter_map(|i| if let Item::Engine(e) = i { Some(e) } else { None });
        let own = engines.filter(|e| e.name.value == engine.name);
        let lines = own.flat_map(|e| &e.lines);
        let changes =
            lines.filter_map(|l| if let EngineLineKind::Changes(all) = &l.kind { Some(all) } else { None });
        changes.flatten().filter(|c| is_size(c, engine)).map(|c| c.span).collect()
    }

    /// Metrics of GPUs in a study that takes none: a recording may hold them, a live run never will.
    pub fn metrics_without_gpus(&mut self, decl: &ast::Study, study: &mut Study) {
        if study.gpus.is_some() || decl.unread.contains(&"gpus") {
            return;
        }
        let read = study.objective.iter().map(|o| &o.expr).chain(study.require.iter().map(|r| &r.expr));
        let read = read.chain(study.prune.iter().map(|r| &r.when));
        let read = read.chain(study.steps.iter().filter_map(|s| Some(&s.when.as_ref()?.expr)));
        let mut names: BTreeSet<&str> = BTreeSet::new();
        for expr in read {
            expr.walk(&mut |e| {
                if let Expr::Metric { name, .. } = e {
                    names.extend(metrics::names().find(|n| n == name && metrics::is_of_gpus(n)));
                }
            });
        }
        if names.is_empty() {
            return;
        }
        let names: Vec<String> = names.into_iter().map(|n| format!("`{n}`")).collect();
        let what = format!("{} in a study without `gpus`", names.join(", "));
        let message = format!("{what}: only a recording can have this");
        let d = Diagnostic::new(Code::NotYetLive, study.span, message).label("takes no GPUs");
        let d = d.about(About::WithoutGpus);
        self.sink.push(d.help("add `gpus 1 of \"H100\"`, with a text that the device's name holds; without it `exec` refuses the study"));
        study.not_yet.push(NotYet { what, span: study.span, live_only: true });
    }

    /// The engines that a study names, each where it does so first.
    pub(super) fn engines_named(&mut self, decl: &ast::Study) -> Vec<(Arc<Engine>, Span)> {
        let mut names: Vec<Name> = Vec::new();
        for line in &decl.lines {
            match &line.kind {
                Line::Baseline(name) => names.push(name.clone()),
                Line::Step(step) => in_step(step, &mut names),
                Line::Track(track) => {
                    names.push(track.engine.clone());
                    track.steps.iter().for_each(|s| in_step(s, &mut names));
                }
                _ => {}
            }
        }
        let mut out: Vec<(Arc<Engine>, Span)> = Vec::new();
        for name in names {
            let at = self.modules.root().find(Kind::Engine, &name.value);
            let Some(engine) = at.and_then(|at| self.engine(at)) else { continue };
            if !out.iter().any(|(e, _)| Arc::ptr_eq(e, &engine)) {
                out.push((engine, name.span));
            }
        }
        out
    }
}

/// Whether a change may decide how many GPUs an engine takes.
fn is_size(change: &Change, engine: &Engine) -> bool {
    let name = match &change.kind {
        ChangeKind::Flag(flag) | ChangeKind::Raw(flag) => &flag.name.value,
        ChangeKind::UnsetFlag(name) => &name.value,
        ChangeKind::Env { .. } | ChangeKind::UnsetEnv(_) | ChangeKind::Model(_) => return false,
    };
    let Found::Known(spec, _) = engine.schema.find(name, engine.version.as_deref()) else { return false };
    let decides = |unless: &String| spec.names.contains(unless);
    let mut marked = engine.schema.marked().filter_map(|s| s.uses_gpus.as_ref());
    spec.uses_gpus.is_some() || marked.any(|u| u.unless.iter().any(decides))
}

fn in_step(step: &ast::Step, names: &mut Vec<Name>) {
    names.extend(step.from.clone());
    for line in &step.lines {
        if let StepLineKind::Vary { axes, .. } = &line.kind {
            in_axes(axes, names);
        }
    }
}

fn in_axes(axes: &Axes, names: &mut Vec<Name>) {
    for factor in axes.sum.iter().flatten() {
        match factor {
            Factor::Group(inner) => in_axes(inner, names),
            Factor::Axis { name, picks: Some(picks), .. } if name.value == "engine" => {
                names.extend(picks.iter().map(|p| Name { value: p.text.clone(), span: p.span }));
            }
            Factor::Axis { .. } => {}
        }
    }
}

/// GPUs that an engine as declared needs: the product of its flags that the schema marks so, and of what adds up.
fn needed(engine: &Engine) -> u32 {
    let on = |flag: &str| {
        let set = match engine.schema.find(flag, engine.version.as_deref()) {
            Found::Known(spec, _) => engine.flags.iter().find(|s| s.canonical == spec.names[0]),
            _ => None,
        };
        set.is_some_and(|s| s.value.stands())
    };
    let sizes = engine.flags.iter().filter_map(|s| size(s, engine, &on));
    let set =
        |spec: &FlagSpec| Some(engine.flags.iter().find(|s| s.canonical == spec.names[0])?.value.clone());
    sizes.fold(counted::added(engine, set, on), u32::saturating_mul)
}

/// What a setting multiplies the GPUs by, if it does.
fn size(setting: &Setting, engine: &Engine, on: &dyn Fn(&str) -> bool) -> Option<u32> {
    let Found::Known(spec, _) = engine.schema.find(&setting.canonical, engine.version.as_deref()) else {
        return None;
    };
    let uses = spec.uses_gpus.as_ref().filter(|u| !u.adds)?;
    if uses.unless.as_deref().is_some_and(on) {
        return None;
    }
    setting.value.gpus()
}
