//! Names that are taken for something of another kind: engines for axes, an axis for a metric, a title for a name, `baseline` for a base.

use super::check::Checker;
use super::scope::Kind;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, one_of};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{
    Axes, Axis, AxisBody, Change, ChangeKind, Factor, Item, Name, Single, StudyLineKind as Line,
};

impl Checker<'_> {
    /// `vary v + s`, of engines: they are the points of the built-in axis.
    pub(super) fn engines_as_axes(&mut self, module: usize, axes: &Axes) -> bool {
        let m = self.module(module);
        let engine = |f: &Factor| match f {
            Factor::Axis { name, picks: None, .. }
                if m.find(Kind::Axis, &name.value).is_none() && !m.is_lost(Kind::Axis, &name.value) =>
            {
                m.find(Kind::Engine, &name.value).map(|_| name.clone())
            }
            _ => None,
        };
        let named: Option<Vec<Name>> =
            axes.sum.iter().map(|p| if let [one] = p.as_slice() { engine(one) } else { None }).collect();
        let Some((first, rest)) = named.as_deref().and_then(<[Name]>::split_first) else { return false };
        let all: Vec<&str> = std::iter::once(first).chain(rest).map(|n| n.value.as_str()).collect();
        let right = format!("engine[{}]", all.join(", "));
        let message = match all.as_slice() {
            [one] => format!("`{one}` is an engine, not an axis"),
            _ => "these are engines, not axes".to_owned(),
        };
        let d = Diagnostic::new(Code::WrongKind, axes.span, message).about(About::Instead(Kind::Axis));
        let d = d.label("of another kind");
        let help = format!("engines are picked from the built-in axis: write `{right}`");
        self.sink.push(d.help(help).edit(axes.span, right));
        self.used.extend(all.iter().filter_map(|n| m.find(Kind::Engine, n)));
        true
    }

    /// `axis x = env [A=0, A=1]`: it reads as picks from an axis that is called so.
    pub(super) fn env_as_axis(&mut self, name: &Name, picks: Option<&[Single]>) -> bool {
        let Some(picks) = picks.filter(|_| name.value == "env") else { return false };
        let pairs: Option<Vec<_>> = picks.iter().map(|p| p.text.split_once('=')).collect();
        let Some((first, _)) = pairs.as_ref().and_then(|all| all.first()).copied() else { return false };
        let one = pairs.iter().flatten().all(|(name, _)| *name == first);
        let values: Vec<&str> = pairs.iter().flatten().map(|(_, value)| *value).collect();
        let d = Diagnostic::new(
            Code::UnknownName,
            name.span,
            "`env` sets one variable, to each of a list of values",
        );
        self.sink.push(d.label("no list of settings").help(if one {
            format!("write `env {first}=[{}]`", values.join(", "))
        } else {
            "write an axis for each variable, `env NAME=[0, 1]`, or named points, `{ a: env NAME=0, b: env OTHER=1 }`"
                .to_owned()
        }));
        true
    }

    /// `prune … when seqs > 256`, of an axis: a condition reads the flag that it sets.
    pub(super) fn axis_as_metric(&mut self, module: usize, name: &Name, d: &Diagnostic) -> bool {
        let m = self.module(module);
        let Some(at) = m.find(Kind::Axis, &name.value) else { return false };
        let Item::Axis(axis) = self.modules.item(at) else { return false };
        let d = Diagnostic {
            message: format!("`{}` is an axis, and a condition reads flags and metrics", name.value),
            ..d.clone()
        };
        let flags = flags_of(axis);
        self.sink.push(match flags.as_slice() {
            [flag] => d
                .suggest(flag)
                .help(format!("write `{flag}`: its value in the configuration"))
                .edit(name.span, flag.as_str()),
            [] => d.label("an axis").help("name a metric, or a flag with its dashes: `--max-num-seqs > 256`"),
            several => {
                let quoted: Vec<String> = several.iter().map(|f| format!("`{f}`")).collect();
                d.label("an axis").help(format!("name the flag that is meant: {}", one_of(&quoted)))
            }
        });
        true
    }

    /// `engine == v or w`: each of them is compared.
    pub(super) fn engine_as_condition(&mut self, module: usize, name: &Name, d: &Diagnostic) -> bool {
        if self.module(module).find(Kind::Engine, &name.value).is_none() {
            return false;
        }
        let right = format!("engine == {}", name.value);
        let message = format!("`{}` is an engine, and a condition compares it", name.value);
        let d = Diagnostic { message, ..d.clone() }.label("an engine").help(format!("write `{right}`"));
        let text = self.modules.text_of(name.span.file);
        let before = name.span.before_in(text).trim_end();
        let listed =
            before.ends_with(" or") && before.rsplit('\n').next().is_some_and(|l| l.contains("engine =="));
        self.sink.push(if listed { d.edit(name.span, right) } else { d });
        true
    }

    /// `from baseline`: a base is called by its engine's name.
    pub(super) fn baseline_as_base(&mut self, name: &Name) -> bool {
        if !matches!(name.value.as_str(), "baseline" | "base") {
            return false;
        }
        let Some(engine) = self.baseline_of_study_at(name.span) else { return false };
        let message = "a step starts from the baseline by the name of its engine";
        let d = Diagnostic::new(Code::UnknownName, name.span, message);
        let d = d.suggest(&engine).edit(name.span, engine.as_str());
        self.sink.push(d.help(format!("write `from {engine}`: that is the baseline as declared")));
        true
    }

    /// `pick baseline because …`: what a step starts from is kept by `base`.
    pub(super) fn baseline_as_pick(&mut self, axes: &Axes) -> bool {
        let [product] = axes.sum.as_slice() else { return false };
        let [Factor::Axis { name, picks: None, .. }] = product.as_slice() else { return false };
        if name.value != "baseline" || self.modules.root().find(Kind::Axis, &name.value).is_some() {
            return false;
        }
        let d =
            Diagnostic::new(Code::UnknownName, name.span, "a pick keeps what its step starts from by `base`");
        let d = d.suggest("base").edit(name.span, "base");
        self.sink.push(d.help("write `pick base`: the step changes nothing then"));
        true
    }

    /// The baseline of the study that a place of this file stands in.
    fn baseline_of_study_at(&self, at: Span) -> Option<String> {
        let items = self.modules.root().file.items.iter();
        let studies = items.filter_map(|i| if let Item::Study(s) = i { Some(s) } else { None });
        let study = studies.filter(|s| s.name.span.start < at.start).max_by_key(|s| s.name.span.start)?;
        study
            .lines
            .iter()
            .find_map(|l| if let Line::Baseline(n) = &l.kind { Some(n.value.clone()) } else { None })
    }
}

/// The flags that an axis sets, as written.
fn flags_of(axis: &Axis) -> Vec<String> {
    let changes: Vec<&Change> = match &axis.body {
        AxisBody::Bundle(changes) => changes.iter().collect(),
        AxisBody::Points(points) => points.iter().flat_map(|p| &p.changes).collect(),
        AxisBody::Algebra(_) => Vec::new(),
    };
    let mut flags: Vec<String> = Vec::new();
    for change in changes {
        if let ChangeKind::Flag(f) = &change.kind
            && !flags.contains(&f.name.value)
        {
            flags.push(f.name.value.clone());
        }
    }
    flags
}
