//! Names and functions in expressions: metrics, statistics, params, derived metrics.

use foldhash::{HashMap, HashMapExt};

use super::check::Checker;
use super::exprs::{Place, Type, Typed, node};
use super::metrics::{self, MetricKind, Stat};
use super::program::{Expr, Owner};
use super::schema::{Found, Kind as Takes};
use super::scope::{ItemRef, Kind};
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, nearest, one_of};
use crate::lang::source::Span;
use crate::lang::stdlib;
use crate::lang::syntax::ast::{self, ExprKind, Item, Literal, Name};
use crate::lang::units::Dim;

/// How many parts an expression may have, with the metrics in it: far beyond any that a person writes.
const MOST_NODES: usize = 2000;

impl Checker<'_> {
    pub(super) fn call(
        &mut self,
        module: usize,
        e: &ast::Expr,
        owner: Option<&Name>,
        name: &Name,
        args: Option<&[ast::Expr]>,
        place: Place,
    ) -> Option<Typed> {
        let of = match owner {
            None => Owner::Own,
            Some(o) if o.value == "best" || o.value == "baseline" => {
                if matches!(place, Place::Metric | Place::Objective | Place::Guard | Place::Request) {
                    self.wrong_place(o.span, &format!("`{}.…`", o.value), "in a prune rule or a requirement");
                    return None;
                }
                if o.value == "best" { Owner::Best } else { Owner::Baseline }
            }
            Some(o) => {
                let message = format!("`{}` owns no metrics", o.value);
                let d = Diagnostic::new(Code::UnknownMetric, o.span, message).label("not known");
                if Stat::parse(&name.value).is_some() && metrics::kind_of(&o.value).is_some() {
                    let right = format!("{}({})", name.value, o.value);
                    self.sink.push(d.help(format!("write `{right}`")).edit(o.span.to(name.span), right));
                    return None;
                }
                // `p50.latency`
                if Stat::parse(&o.value).is_some() && metrics::kind_of(&name.value).is_some() {
                    let right = format!("{}({})", o.value, name.value);
                    self.sink.push(d.help(format!("write `{right}`")).edit(o.span.to(name.span), right));
                    return None;
                }
                let owners = ["best", "baseline"].into_iter();
                let d = d.meant(&o.value, owners, "not known", str::to_owned);
                self.sink.push(d.help("write `best.…` for the incumbent or `baseline.…` for the baseline"));
                return None;
            }
        };
        match args {
            Some(args) if place == Place::Request => {
                self.function_of_a_request(e, name, args);
                None
            }
            Some(args) => self.function(module, e, of, name, args),
            None => self.named(module, of, name, place),
        }
    }

    pub(super) fn function(
        &mut self,
        module: usize,
        e: &ast::Expr,
        of: Owner,
        name: &Name,
        args: &[ast::Expr],
    ) -> Option<Typed> {
        if name.value == "goodput" {
            return self.goodput(module, e, of, args);
        }
        let Some(stat) = Stat::parse(&name.value) else {
            if let Some(right) = inside_out(name, args) {
                let message = format!("`{}` is no function, but what a statistic is of", name.value);
                let d = Diagnostic::new(Code::UnknownMetric, e.span, message).label("the wrong way round");
                let d = d.about(About::NoFunction).help(format!("write `{right}`"));
                self.sink.push(d.edit(e.span, right));
                return None;
            }
            let known = Stat::ALL.iter().map(|s| s.name()).chain(["goodput"]);
            let message = format!("no function is called `{}`", name.value);
            let d = Diagnostic::new(Code::UnknownMetric, name.span, message).about(About::NoFunction);
            if let (whose @ ("baseline" | "best" | "given"), [inner]) = (name.value.as_str(), args) {
                let sign = if whose == "given" { ' ' } else { '.' };
                let right = format!("{whose}{sign}{}", self.source_text(inner.span));
                self.sink.push(d.label("no function").help(format!("write `{right}`")).edit(e.span, right));
                return None;
            }
            let d = match metrics::statistic_elsewhere(&name.value) {
                Some(right) => d.suggest(right).edit(name.span, right),
                // of a share of requests there is no slip that a machine could mend
                None if metrics::is_percentile(&name.value) => d.label("not one of those that are kept"),
                None => d.meant(&name.value, known.clone(), "unknown", str::to_owned),
            };
            self.sink.push(d.help(format!("functions are {}", known.collect::<Vec<_>>().join(", "))));
            return None;
        };
        let [ast::Expr { kind: ExprKind::Call { owner: None, name: inner, args: None }, .. }] = args else {
            if let [ast::Expr { kind: ExprKind::Call { owner: Some(owner), name, args: None }, .. }] = args {
                let right = format!("{}.{}({})", owner.value, stat.name(), name.value);
                let message =
                    format!("the owner of a metric stands before its statistic: `{}.`", owner.value);
                let d = Diagnostic::new(Code::UnknownMetric, e.span, message).label("the wrong way round");
                self.sink.push(d.help(format!("write `{right}`")).edit(e.span, right));
                return None;
            }
            let message = format!("`{}` takes one distribution", stat.name());
            let d = Diagnostic::new(Code::UnknownMetric, e.span, message).label("not one distribution");
            // `p50(tpot > 10ms)`
            if let [ast::Expr { kind: ExprKind::Binary { op, left, right }, .. }] = args
                && op.is_comparison()
                && let ExprKind::Call { owner: None, name: inner, args: None } = &left.kind
                && matches!(metrics::kind_of(&inner.value), Some(MetricKind::Distribution(_)))
            {
                let number = self.source_text(right.span);
                let right = format!("{}({}) {} {number}", stat.name(), inner.value, op.symbol());
                self.sink.push(
                    d.help(format!("the comparison stands behind the bracket: write `{right}`"))
                        .edit(e.span, right),
                );
                return None;
            }
            self.sink.push(d.help(format!("write `{}(ttft)`, with ttft, tpot, itl or latency", stat.name())));
            return None;
        };
        match metrics::kind_of(&inner.value) {
            Some(MetricKind::Distribution(dim)) => {
                self.measured(inner);
                Some((Expr::Metric { of, name: inner.value.clone(), stat: Some(stat) }, Type::Number(dim)))
            }
            Some(MetricKind::Number(_)) => {
                let message = format!("`{}` is one number already", inner.value);
                let d = Diagnostic::new(Code::UnknownMetric, inner.span, message).label("no distribution");
                self.sink.push(d.help(format!("write `{}` alone", inner.value)));
                None
            }
            None => {
                match metrics::distribution_elsewhere(&inner.value) {
                    Some(right) if !self.is_metric(module, inner) => {
                        let message = format!("no metric or param is called `{}`", inner.value);
                        let d = Diagnostic::new(Code::UnknownMetric, inner.span, message);
                        let d = d.suggest(right).edit(inner.span, right);
                        self.sink.push(d.help(format!("write `{}({right})`", stat.name())));
                    }
                    _ => self.unknown_metric(module, inner),
                }
                None
            }
        }
    }

    pub(super) fn named(&mut self, module: usize, of: Owner, name: &Name, place: Place) -> Option<Typed> {
        if place == Place::Request && self.is_metric(module, name) {
            return self.of_a_request(name);
        }
        if of != Owner::Own && self.owns_no(module, name) {
            return None;
        }
        let fixed = match name.value.as_str() {
            "gpus" => Some((Expr::Gpus { of }, Type::Number(Dim::PLAIN))),
            "goodput" => {
                self.goodput_alone(name.span);
                return None;
            }
            "model" => Some((Expr::Model, Type::Text)),
            "engine" => Some((Expr::Engine, Type::Engine)),
            "gain" => {
                if place != Place::Prune {
                    self.wrong_place(name.span, "`gain`", "in a prune rule or after `adopt`");
                    return None;
                }
                Some((Expr::Gain, Type::Number(Dim::PLAIN)))
            }
            "rate" | "concurrency" if !matches!(place, Place::Objective | Place::Metric) => {
                let what = format!("`{}`", name.value);
                self.wrong_place(
                    name.span,
                    &what,
                    "as the objective of a study, with a profile that gives it as a range",
                );
                return None;
            }
            "rate" | "concurrency" => {
                self.later(format!("`{}` as an objective", name.value), name.span, false);
                let dim = if name.value == "rate" { Dim::RATE } else { Dim::PLAIN };
                Some((Expr::Metric { of, name: name.value.clone(), stat: None }, Type::Number(dim)))
            }
            _ => None,
        };
        if fixed.is_some() {
            return fixed;
        }
        match metrics::kind_of(&name.value) {
            Some(MetricKind::Number(dim)) => {
                self.measured(name);
                return Some((Expr::Metric { of, name: name.value.clone(), stat: None }, Type::Number(dim)));
            }
            Some(MetricKind::Distribution(_)) => {
                return Some((Expr::Metric { of, name: name.value.clone(), stat: None }, Type::Distribution));
            }
            None => {}
        }
        let m = self.module(module);
        let declared = [Kind::Param, Kind::Metric].into_iter().find_map(|k| m.find(k, &name.value));
        if let Some(at) = declared.filter(|_| m.is_broken(&name.value)) {
            // declared twice, so that nobody knows what it stands for
            self.used.insert(at);
            return None;
        }
        if let Some(at) = m.find(Kind::Param, &name.value) {
            self.used.insert(at);
            return self.param(at);
        }
        if let Some(at) = m.find(Kind::Metric, &name.value) {
            self.used.insert(at);
            let (expr, dim) = self.metric_of(at, name)?;
            return Some((owned_by(expr, of), Type::Number(dim)));
        }
        self.unknown_metric(module, name);
        None
    }

    /// Whether a name after `best.` or `baseline.` is none of theirs, and says so.
    fn owns_no(&mut self, module: usize, name: &Name) -> bool {
        let fixed = ["model", "engine", "gain", "rate", "concurrency"].contains(&name.value.as_str());
        if fixed || self.module(module).find(Kind::Param, &name.value).is_some() {
            let what = format!("`{}` of another configuration", name.value);
            self.wrong_place(
                name.span,
                &what,
                "without `best.` or `baseline.`: they have metrics and `gpus` only",
            );
            return true;
        }
        false
    }

    pub(super) fn param(&mut self, at: ItemRef) -> Option<Typed> {
        let Item::Param(p) = self.modules.item(at) else { return None };
        Some(match &p.value {
            Literal::Number(n) => {
                let (value, dim) = self.quantity(n)?;
                (Expr::Number(value), Type::Number(dim))
            }
            Literal::Text(t) => (Expr::Text(t.value.clone()), Type::Text),
            Literal::Bool(b) => (Expr::Bool(b.value), Type::Bool),
        })
    }

    /// A derived metric: its expression and dimension.
    pub fn metric_of(&mut self, at: ItemRef, name: &Name) -> Option<(Expr, Dim)> {
        if let Some(known) = self.metrics.get(&at) {
            return known.clone();
        }
        let Item::Metric(m) = self.modules.item(at) else { return None };
        let span = if at.module == 0 { m.name.span } else { name.span };
        let mut found = self.guarded(at, span, |c| c.numeric(at.module, &m.expr, Place::Metric));
        // each use inserts the whole expression: metrics of metrics could double it forever
        if found.as_ref().is_some_and(|(expr, _)| expr.size() > MOST_NODES) {
            self.too_deep(span);
            found = None;
        }
        self.metrics.insert(at, found.clone());
        found
    }

    /// Notes a metric that live runs of this version do not yield.
    pub(super) fn measured(&mut self, name: &Name) {
        if !metrics::is_measured(&name.value) {
            self.later(format!("the metric `{}`", name.value), name.span, true);
        }
    }

    pub(super) fn unknown_metric(&mut self, module: usize, name: &Name) {
        let m = self.module(module);
        if m.is_broken(&name.value) {
            return;
        }
        if !m.is_lost(Kind::Metric, &name.value) {
            return self.say_unknown_metric(module, name);
        }
        let mut supposed = std::mem::take(self.sink.supposed());
        std::mem::swap(self.sink, &mut supposed);
        self.say_unknown_metric(module, name);
        std::mem::swap(self.sink, &mut supposed);
        *self.sink.supposed() = supposed;
    }

    fn say_unknown_metric(&mut self, module: usize, name: &Name) {
        let m = self.module(module);
        let own: Vec<&str> =
            m.names_written(Kind::Metric).into_iter().chain(m.names_written(Kind::Param)).collect();
        let known: Vec<String> =
            metrics::names().map(str::to_owned).chain(own.iter().map(|n| (*n).to_owned())).collect();
        let message = format!("no metric or param is called `{}`", name.value);
        let d = Diagnostic::new(Code::UnknownMetric, name.span, message);
        let d = d.about(About::missing(Kind::Metric, &name.value));
        if let Some(flag) = self.flag_meant(&name.value) {
            let d = d.suggest(&flag).edit(name.span, flag.as_str());
            self.sink.push(d.help(format!("a flag is written with its dashes: `{flag}`")));
            return;
        }
        if self.axis_as_metric(module, name, &d) || self.engine_as_condition(module, name, &d) {
            return;
        }
        if let Some(library) = stdlib::home(Kind::Metric.word(), &name.value) {
            // one that is called otherwise altogether is a mistake of its own
            let alike = |own: &&str| {
                let shares = own.split('_').any(|part| name.value.split('_').any(|p| p == part));
                shares || !nearest(&name.value, [*own]).is_empty()
            };
            let unused = self.unused_metric(module).filter(alike).map(str::to_owned);
            super::unimported::say(self.module(module), d, library, &name.value, self.sink);
            let told = self.sink.each_mut().last().filter(|d| d.span == name.span);
            if let (Some(own), Some(d)) = (unused, told) {
                // which of the two was meant, people know
                d.edits.clear();
                d.help =
                    d.help.take().map(|h| format!("{h}; or was your own `{own}` meant, which nothing uses?"));
            }
            return;
        }
        if let Some(several) = metrics::one_of_several(&name.value) {
            let shown: Vec<String> = several.iter().map(|m| format!("`{m}`")).collect();
            self.sink.push(d.label("which one?").help(format!("write {}", one_of(&shown))));
            return;
        }
        if let Some(near) = metrics::elsewhere(&name.value) {
            // which statistic was meant, a machine cannot know
            let certain = !metrics::lacks_statistic(&name.value);
            let eg = if certain { "write" } else { "a statistic of it is a number: write for example" };
            let d = d.suggest(&near).help(format!("{eg} `{near}`"));
            self.sink.push(if certain { d.edit(name.span, near) } else { d });
            return;
        }
        if let Some(owned) = owned(&name.value, &known) {
            let help = format!("whose metric it is stands before a point: write `{owned}`");
            self.sink.push(d.suggest(&owned).help(help).edit(name.span, owned));
            return;
        }
        let taken = self.not_meant(name.span);
        let others = known.iter().map(String::as_str).filter(|k| !taken.contains(k));
        let d = d.meant(&name.value, others, "not known", str::to_owned);
        let help = match name.value.as_str() {
            whose @ ("best" | "baseline") => format!("name a metric of it: `{whose}.total_tps`"),
            _ => format!("metrics are {}", known.join(", ")),
        };
        self.sink.push(d.help(help));
    }

    /// The flag that a name without dashes stands for, `kv_cache_dtype` for `--kv-cache-dtype`, where an engine here has it.
    pub(super) fn flag_meant(&self, name: &str) -> Option<String> {
        // TensorRT-LLM's flags have underscores
        let spellings = [format!("--{}", name.replace('_', "-")), format!("--{name}")];
        spellings.into_iter().find(|flag| name.contains('_') && self.is_flag(flag))
    }

    /// Whether an engine here has a flag of this name.
    pub(super) fn is_flag(&self, flag: &str) -> bool {
        let mut engines = self.engines.values().flatten();
        engines.any(|e| {
            matches!(e.schema.find(flag, e.version.as_deref()), Found::Known(spec, _) if spec.names.iter().any(|n| n == flag))
        })
    }

    /// `--max-num-seqs > batch`
    pub(super) fn no_number(&mut self, name: &Name, flag: &ast::Expr) {
        let message = format!("no metric or param is called `{}`", name.value);
        let d = Diagnostic::new(Code::UnknownMetric, name.span, message);
        let d = d.about(About::missing(Kind::Metric, &name.value)).label("not known");
        let flag = self.source_text(flag.span);
        let help = format!("{flag} is a number: compare it with one, or declare `param {} = …`", name.value);
        self.sink.push(d.help(help));
    }

    /// The one metric of a file that nothing in it names. Among very many, which a machine wrote, it is not looked for: each metric that is
    /// not known would have all of the file read.
    fn unused_metric(&self, module: usize) -> Option<&str> {
        const MOST: usize = 64;
        let m = self.module(module);
        if m.names(Kind::Metric).len() > MOST {
            return None;
        }
        let text = self.modules.text_of(m.id);
        let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut times: HashMap<&str, usize> = HashMap::new();
        text.split(|c| !in_name(c)).for_each(|word| *times.entry(word).or_default() += 1);
        let mut unused = m.names(Kind::Metric).into_iter().filter(|name| times.get(name) == Some(&1));
        unused.next().filter(|_| unused.next().is_none())
    }

    /// Whether it is a flag that takes a number in each engine here which has it: nothing that is compared with it is a text.
    pub(super) fn counts(&self, e: &ast::Expr) -> bool {
        let ExprKind::Flag(flag) = &e.kind else { return false };
        let engines = self.engines.values().flatten();
        let mut kinds = engines.filter_map(|e| match e.schema.find(flag, e.version.as_deref()) {
            Found::Known(spec, _) => Some(matches!(spec.kind, Takes::Int { .. } | Takes::Float { .. })),
            _ => None,
        });
        kinds.next() == Some(true) && kinds.all(|number| number)
    }

    pub(super) fn wrong_place(&mut self, span: Span, what: &str, place: &str) {
        let message = format!("{what} cannot be read here");
        let d = Diagnostic::new(Code::WrongPlace, span, message).label("not known here");
        let text = self.modules.text_of(span.file);
        let line = span.line_in(text);
        let (before, written) = (&text[line.range().start..span.range().start], self.modules.slice(span));
        // `metric async = --flag`
        let own = before.strip_prefix("metric ").and_then(|b| b.trim_end().strip_suffix('='));
        let d = match own.filter(|_| written.starts_with('-')) {
            Some(name) => {
                d.help(format!("what is varied is an axis: write `axis {} = {written}`", name.trim_end()))
            }
            None => d.help(format!("it can be read {place}")),
        };
        self.sink.push(d);
    }
}

/// `ttft(p99)` as it should be.
fn inside_out(name: &Name, args: &[ast::Expr]) -> Option<String> {
    let [ast::Expr { kind: ExprKind::Call { owner: None, name: stat, args: None }, .. }] = args else {
        return None;
    };
    let known = matches!(metrics::kind_of(&name.value), Some(MetricKind::Distribution(_)));
    let of = known.then_some(name.value.as_str()).or_else(|| metrics::distribution_elsewhere(&name.value))?;
    Stat::parse(&stat.value).map(|stat| format!("{}({of})", stat.name()))
}

/// A derived metric read of another owner reads its parts of that owner.
fn owned_by(expr: Expr, of: Owner) -> Expr {
    match expr {
        Expr::Metric { name, stat, .. } => Expr::Metric { of, name, stat },
        Expr::Goodput { when, .. } => Expr::Goodput { of, when },
        Expr::Gpus { .. } => Expr::Gpus { of },
        Expr::Not(e) => Expr::Not(Box::new(owned_by(*e, of))),
        Expr::Binary { op, left, right } => node(op, owned_by(*left, of), owned_by(*right, of)),
        other => other,
    }
}

/// `best_good`: a metric of the best or of the baseline, in one word.
fn owned(name: &str, metrics: &[String]) -> Option<String> {
    let of = |owner: &str| {
        let metric = name.strip_prefix(owner)?.strip_prefix('_')?;
        metrics.iter().any(|known| known == metric).then(|| format!("{owner}.{metric}"))
    };
    ["best", "baseline"].into_iter().find_map(of)
}
