//! Flags that conditions read: one that no engine of any study here has is a mistake, as nothing ever compares with it.

use std::sync::Arc;

use super::check::Checker;
use super::exprs::Place;
use super::kinds::number;
use super::problem::Problem;
use super::program::{Change, Engine, Study};
use super::schema::{FlagSpec, Found, Kind as Takes, Schema, key};
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, did_you_mean};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{self, BinaryOp, Item, StudyLineKind};

/// A flag in a condition.
#[derive(Debug)]
pub struct AskedFlag {
    name: String,
    span: Span,
    /// some engine of some study has it
    known: bool,
    /// engines that were looked at
    engines: Vec<Arc<Engine>>,
    /// what it is compared with, where that stands there as it is
    against: Option<(Literal, Span)>,
    /// it is compared by `==` or `!=`
    equal: bool,
    /// it stands there alone, as a switch does
    alone: bool,
    /// whether an engine's flag can have that value, or be true alone; `None` where no engine was sure
    can_be: Option<bool>,
    /// what a flag takes that cannot
    takes: Option<Takes>,
}

/// What stands on the other side of a comparison.
#[derive(Debug, Clone)]
enum Literal {
    Number(String),
    Text(String),
    Bool,
}

impl Literal {
    fn of(e: &ast::Expr) -> Option<Self> {
        match &e.kind {
            ast::ExprKind::Number(n) => Some(Self::Number(format!("{}{}", n.value, n.unit))),
            ast::ExprKind::Text(t) => Some(Self::Text(t.value.clone())),
            ast::ExprKind::Bool(_) => Some(Self::Bool),
            _ => None,
        }
    }

    /// Whether a flag of this type can have such a value, or one beyond it where it is not compared as `equal`. A text that inserts
    /// something is any text.
    fn fits(&self, takes: &Takes, equal: bool) -> bool {
        match (self, takes) {
            (Self::Number(n), Takes::Int { min, max } | Takes::Float { min, max }) => {
                let above = |n: f64| max.is_some_and(|max| n > max);
                // `> 0` of what begins at 1 asks whether it is there at all
                let below = |n: f64| equal && min.is_some_and(|min| n < min);
                number(n).map_or(true, |n| !above(n) && !below(n))
            }
            (Self::Number(n), Takes::OneOf(choices)) => choices.contains(n),
            (Self::Text(t), Takes::OneOf(choices)) => choices.contains(t) || t.contains('{') || t == "auto",
            (Self::Text(t), Takes::Int { .. } | Takes::Float { .. }) => t == "auto",
            (Self::Number(_) | Self::Text(_), Takes::Switch) => false,
            (Self::Bool, other) => *other == Takes::Switch,
            _ => true,
        }
    }

    /// The same of a flag as it was declared: where a wrong default leaves open which texts it takes, a slip of one of its choices is still
    /// one.
    fn fits_flag(&self, spec: &FlagSpec, equal: bool) -> bool {
        let slip = match (self, &spec.narrow) {
            (Self::Text(t), Some(Takes::OneOf(choices))) => {
                let known = choices.contains(t) || spec.default.as_ref() == Some(t);
                !known && did_you_mean(t, choices.iter().map(String::as_str)).is_some()
            }
            _ => false,
        };
        !slip && self.fits(&spec.kind, equal)
    }
}

/// What a flag takes, to be told where something is none of it.
fn told_of(spec: &FlagSpec) -> Takes {
    let choices = spec.narrow.as_ref().filter(|narrow| matches!(narrow, Takes::OneOf(_)));
    choices.unwrap_or(&spec.kind).clone()
}

impl Checker<'_> {
    /// Notes a flag of a condition; those of imported rules are kept for other studies too.
    /// What an engine refuses is about the flags that it declares itself, which is looked at there.
    pub fn asks_flag(&mut self, name: &str, span: Span, module: usize, place: Place) {
        if module == 0 && place != Place::Refusal && !self.asked_flags.iter().any(|a| a.span == span) {
            let asked = AskedFlag {
                name: name.to_owned(),
                span,
                known: false,
                engines: Vec::new(),
                against: None,
                equal: false,
                alone: false,
                can_be: None,
                takes: None,
            };
            self.asked_flags.push(asked);
        }
    }

    /// Notes a flag that is a condition by itself.
    pub fn asked_alone(&mut self, flag: &ast::Expr) {
        if let Some(asked) = self.asked_flags.iter_mut().find(|a| a.span == flag.span) {
            asked.alone = true;
        }
    }

    /// Notes what a flag is compared with.
    pub fn compared(&mut self, op: BinaryOp, flag: &ast::Expr, other: &ast::Expr) {
        if let (ast::ExprKind::Flag(_), Some(literal)) = (&flag.kind, Literal::of(other))
            && let Some(asked) = self.asked_flags.iter_mut().find(|a| a.span == flag.span)
        {
            asked.against = Some((literal, other.span));
            asked.equal = is_equality(op);
        }
    }

    /// Holds the flags that were asked for against the engines of a study.
    pub fn rule_flags_of(&mut self, decl: &ast::Study, study: &Study) {
        let mut engines: Vec<Arc<Engine>> = self.engines_named(decl).into_iter().map(|(e, _)| e).collect();
        if self.sink.has_errors() && self.engine_lost() {
            // which of the file's engines the study was to name is not known
            let others =
                self.own_engines().into_iter().filter(|o| !engines.iter().any(|e| Arc::ptr_eq(e, o)));
            engines.extend(others.collect::<Vec<_>>());
        }
        let raw = study.steps.iter().flat_map(|s| s.space.points()).flat_map(|p| &p.changes);
        let raw: Vec<String> = raw
            .filter_map(|c| if let Change::Raw { name, .. } = c { Some(key(name)) } else { None })
            .collect();
        for asked in &mut self.asked_flags {
            let has = |e: &Arc<Engine>| {
                // a key of a JSON flag is there with its flag
                let flag = asked.name.split('.').next().unwrap_or(&asked.name);
                !matches!(e.schema.find(flag, e.version.as_deref()), Found::Unknown)
                    || e.flags.iter().any(|f| key(&f.canonical) == key(&asked.name))
                    || e.schema.is_unread(flag)
            };
            asked.known |= raw.contains(&key(&asked.name)) || engines.iter().any(has);
            asked.engines.extend(engines.iter().cloned());
            for engine in &engines {
                asked.hold_against(engine);
            }
        }
    }

    /// Holds what an engine refuses against the types of its own flags, whichever the release: `alone` where a condition stands, of which a
    /// flag may be the whole.
    pub(super) fn values_of_flags(&mut self, e: &ast::Expr, schema: &Schema, alone: bool) {
        match &e.kind {
            ast::ExprKind::Not(inner) => self.values_of_flags(inner, schema, true),
            ast::ExprKind::Binary { op: BinaryOp::And | BinaryOp::Or, left, right } => {
                self.values_of_flags(left, schema, true);
                self.values_of_flags(right, schema, true);
            }
            ast::ExprKind::Binary { op, left, right } if op.is_comparison() => {
                for (flag, other) in [(left, right), (right, left)] {
                    let against = Literal::of(other).map(|literal| (literal, other.span));
                    self.held_against(flag, schema, (against, is_equality(*op)), false);
                }
            }
            _ => self.held_against(e, schema, (None, false), alone),
        }
    }

    fn held_against(
        &mut self,
        flag: &ast::Expr,
        schema: &Schema,
        (against, equal): (Option<(Literal, Span)>, bool),
        alone: bool,
    ) {
        let ast::ExprKind::Flag(name) = &flag.kind else { return };
        let fits = |spec: &FlagSpec| match &against {
            Some((literal, _)) => literal.fits_flag(spec, equal),
            None => !alone || spec.kind == Takes::Switch,
        };
        let mut specs = schema.named(name).peekable();
        let takes = specs.peek().map(|spec| told_of(spec));
        if takes.is_none() || specs.any(fits) {
            return;
        }
        let asked = AskedFlag {
            name: name.clone(),
            span: flag.span,
            known: true,
            engines: Vec::new(),
            against,
            equal,
            alone,
            can_be: Some(false),
            takes,
        };
        self.never_equal(&asked);
        self.never_true(&asked);
    }

    /// `tokens --max-num-seqs`: the first dash was read as a sign that takes away, where another one is missing.
    fn behind_a_lost_sign(&self, asked: &AskedFlag) -> Option<Diagnostic> {
        let before = asked.span.before_in(self.modules.text_of(asked.span.file));
        let flag = format!("-{}", asked.name);
        let whole = Span { start: asked.span.start.saturating_sub(1), ..asked.span };
        let torn = before.ends_with('-') && !asked.name.starts_with("--") && self.is_flag(&flag);
        torn.then(|| {
            Diagnostic::new(Code::Unexpected, whole, format!("an operator is missing before `{flag}`"))
                .label("expected an operator before it")
                .help(format!("write for example `* {flag}`, or `- {flag}` with a space to take it away"))
        })
    }

    /// Whether a study of this file lacks its baseline, or the line of it could not be read.
    fn baseline_lost(&self) -> bool {
        let items = self.modules.root().file.items.iter();
        let mut studies = items.filter_map(|i| if let Item::Study(s) = i { Some(s) } else { None });
        studies.any(|s| !s.lines.iter().any(|l| matches!(l.kind, StudyLineKind::Baseline(_))))
    }

    /// Says which of them no engine has.
    pub fn unknown_asked_flags(&mut self) {
        let lost = self.baseline_lost();
        for asked in std::mem::take(&mut self.asked_flags) {
            self.never_equal(&asked);
            self.never_true(&asked);
            let Some(engine) = asked.engines.first().filter(|_| !asked.known) else { continue };
            // the engine that has it may be the one that a study was to start from
            if lost && self.is_flag(&asked.name) {
                continue;
            }
            if let Some(d) = self.behind_a_lost_sign(&asked) {
                self.sink.push(d);
                continue;
            }
            let many = asked.engines.iter().any(|e| e.name != engine.name);
            let message = if many {
                format!("no engine here has a flag {}", asked.name)
            } else {
                format!("{} has no flag {}", engine.title, asked.name)
            };
            let guess = |e: &Arc<Engine>| Problem::Unknown.diagnostic(&asked.name, asked.span, None, e);
            let guess = asked.engines.iter().map(guess).find(Problem::suggests);
            let d = Diagnostic::new(Code::UnknownFlag, asked.span, message).label("unknown");
            let (d, said) = match guess {
                Some(guess) => {
                    let Diagnostic { label, suggested, edits, help, .. } = guess;
                    (Diagnostic { label, suggested, edits, ..d }, help)
                }
                None => (d, None),
            };
            let help = match d.suggested.first().or(d.edits.first().map(|e| &e.text)) {
                Some(flag) => format!("write {flag}"),
                None if said.is_some() => said.unwrap_or_default(),
                None => "compare with a flag of an engine that the study names".to_owned(),
            };
            if let Some(d) = self.unless_lost(&asked.name, d.help(help)) {
                self.sink.push(d);
            }
        }
    }

    /// A flag is compared with a value that no engine's flag can have.
    fn never_equal(&mut self, asked: &AskedFlag) {
        let (Some((literal, span)), Some(false), Some(takes)) = (&asked.against, asked.can_be, &asked.takes)
        else {
            return;
        };
        let message = format!("{} never has this value", asked.name);
        let d = Diagnostic::new(Code::BadFlagValue, *span, message)
            .about(About::Compared { flag: asked.name.clone() });
        let d = match (literal, takes) {
            (Literal::Text(text), Takes::OneOf(choices)) => {
                d.meant(text, choices.iter().map(String::as_str), "none of the choices", |c| {
                    format!("\"{c}\"")
                })
            }
            (Literal::Number(n), Takes::Int { max, .. } | Takes::Float { max, .. }) => {
                let d = d.label("out of its range");
                let percent =
                    number(n).ok().filter(|n| max.is_some_and(|max| max <= 1.0 && *n > max && *n <= 100.0));
                match percent {
                    Some(n) => d.suggest(&format!("{n}%")).edit(*span, format!("{n}%")),
                    None => d,
                }
            }
            _ => d.label("of another type"),
        };
        self.sink.push(d.help(match takes {
            Takes::Switch => format!("a switch is there or not: write `{0}`, or `not {0}`", asked.name),
            takes => format!("it takes {}", takes.expected()),
        }));
    }
}

impl Checker<'_> {
    /// A flag that takes a value stands alone: that is never true, and under a `not` always.
    fn never_true(&mut self, asked: &AskedFlag) {
        let (true, Some(false), Some(takes)) = (asked.alone, asked.can_be, &asked.takes) else { return };
        let message = format!("{} is no switch: it has a value, and is not true or false", asked.name);
        let d = Diagnostic::new(Code::NotCondition, asked.span, message).label("compare it with something");
        let example = match takes {
            Takes::OneOf(choices) => choices.last().map_or("…".to_owned(), |c| format!("\"{c}\"")),
            Takes::Int { .. } | Takes::Float { .. } => "1".to_owned(),
            _ => "\"…\"".to_owned(),
        };
        // an object is compared with none
        self.sink.push(match takes {
            Takes::Json => d.help(format!("ask whether it is set: `given {0}`, or `not given {0}`", asked.name)),
            _ => d.help(format!(
                "compare its value: `{} == {example}`; where it is not set and has no default, that is not met",
                asked.name
            )),
        });
    }
}

fn is_equality(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Eq | BinaryOp::Ne)
}

impl AskedFlag {
    /// Whether an engine's flag can have the value that it is compared with; a schema that stands in for a version's own may be wrong.
    fn hold_against(&mut self, engine: &Engine) {
        let version = engine.version.as_deref();
        let Found::Known(spec, _) = engine.schema.find(&self.name, version) else { return };
        let fits = match &self.against {
            Some((literal, _)) => literal.fits_flag(spec, self.equal),
            None if self.alone => spec.kind == Takes::Switch,
            None => return,
        };
        // a release of its own may have choices of its own, as where they are set
        let listed = matches!(spec.kind, Takes::OneOf(_)) && self.against.is_some();
        let fits = fits || listed && engine.schema.stand_in(version).is_some();
        self.can_be = Some(fits || self.can_be == Some(true));
        if !fits {
            self.takes.get_or_insert_with(|| told_of(spec));
        }
    }
}
