//! From pest's pairs to the owned tree. Bad chunks met on the way are handed to the second look.

use std::collections::HashSet;

use pest::iterators::{Pair, Pairs};

use super::ast::*;
use super::grammar::Rule;
use super::recover::{self, Block};
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, Sink};
use crate::lang::source::{FileId, Span, Spanned};

/// Operators in one expression; more is a generated file, and a tree too deep to walk.
const MAX_OPERATORS: usize = 100;

/// Builds the tree of one file, or of one chunk of it that begins at `base`.
pub struct Builder<'a, 's> {
    id: FileId,
    text: &'a str,
    base: usize,
    sink: &'s mut Sink,
    broken: HashSet<String>,
    operators: usize,
}

type Kids<'a> = std::iter::Peekable<std::vec::IntoIter<Pair<'a, Rule>>>;

/// The children that carry meaning: comments are in their own table.
fn kids(pair: Pair<'_, Rule>) -> Kids<'_> {
    pair.into_inner().filter(|p| p.as_rule() != Rule::COMMENT).collect::<Vec<_>>().into_iter().peekable()
}

fn skip(kids: &mut Kids, rule: Rule) -> bool {
    kids.next_if(|p| p.as_rule() == rule).is_some()
}

impl<'a, 's> Builder<'a, 's> {
    pub fn new(id: FileId, text: &'a str, base: usize, sink: &'s mut Sink) -> Self {
        Self { id, text, base, sink, broken: HashSet::new(), operators: 0 }
    }

    pub fn into_broken(self) -> HashSet<String> {
        self.broken
    }

    pub fn file(&mut self, pairs: Pairs<'a, Rule>) -> File {
        let mut comments: Vec<_> =
            pairs.clone().flatten().filter(|p| p.as_rule() == Rule::COMMENT).map(|p| self.span(&p)).collect();
        comments.dedup();
        let mut file = File { items: Vec::new(), comments };
        let Some(root) = pairs.into_iter().next() else { return file };
        for pair in kids(root) {
            match pair.as_rule() {
                Rule::EOI => {}
                Rule::bad_item if self.sink.is_full() => self.sink.unexplained(self.span(&pair)),
                Rule::bad_item => {
                    let found = recover::item(self.id, self.text, self.span(&pair), self.sink);
                    self.broken.extend(found.broken);
                    file.items.extend(found.item);
                }
                _ => file.items.extend(self.item(pair)),
            }
        }
        file
    }

    /// The span without the spaces and comments that pest leaves at the end of a rule.
    fn span(&self, pair: &Pair<'_, Rule>) -> Span {
        let s = pair.as_span();
        let text = s.as_str();
        let mut end = text.trim_end().len();
        if let Some(last) = pair.clone().into_inner().flatten().filter(|p| p.as_rule() == Rule::COMMENT).last() {
            let comment = last.as_span();
            if comment.end() - s.start() >= end {
                end = text[..comment.start() - s.start()].trim_end().len();
            }
        }
        Span::new(self.id, self.base + s.start()..self.base + s.start() + end)
    }

    /// A line that no rule took. Returns the setting that it was probably meant to be.
    fn bad(&mut self, block: Block, pair: &Pair<'_, Rule>) -> Option<&'static str> {
        let text = pair.as_str().trim_end();
        let base = self.base + pair.as_span().start();
        self.broken.extend(recover::declared_name(text).filter(|_| block.declares(text)));
        if self.sink.is_full() {
            self.sink.unexplained(Span::new(self.id, base..base + text.len()));
            return None;
        }
        recover::line(self.id, block, text, base, self.sink)
    }

    // ---- leaves ----

    fn name(&self, pair: &Pair<'_, Rule>) -> Name {
        Spanned { value: pair.as_str().to_owned(), span: self.span(pair) }
    }

    fn text(&self, pair: &Pair<'_, Rule>) -> Text {
        Spanned { value: unescape(pair.as_str()), span: self.span(pair) }
    }

    fn number(&self, pair: &Pair<'_, Rule>) -> Number {
        let (digits, unit) = split_unit(pair.as_str());
        Number { value: digits.parse().unwrap_or(f64::NAN), unit: unit.to_owned(), span: self.span(pair) }
    }

    fn maybe_name(&self, kids: &mut Kids) -> Option<Name> {
        kids.next_if(|p| p.as_rule() == Rule::name).map(|p| self.name(&p))
    }

    fn maybe_text(&self, kids: &mut Kids) -> Option<Text> {
        kids.next_if(|p| p.as_rule() == Rule::string).map(|p| self.text(&p))
    }

    fn maybe_number(&self, kids: &mut Kids) -> Option<Number> {
        kids.next_if(|p| p.as_rule() == Rule::number).map(|p| self.number(&p))
    }

    fn names(&self, pair: Pair<'a, Rule>) -> Vec<Name> {
        kids(pair).filter(|p| p.as_rule() == Rule::name).map(|p| self.name(&p)).collect()
    }

    fn single(&self, pair: Pair<'a, Rule>) -> Option<Single> {
        let inner = kids(pair).next()?;
        let kind = match inner.as_rule() {
            Rule::json => SingleKind::Json,
            Rule::string => SingleKind::Text,
            _ => SingleKind::Word,
        };
        let text = match kind {
            SingleKind::Text => unescape(inner.as_str()),
            SingleKind::Json => without_comments(&inner),
            SingleKind::Word => inner.as_str().to_owned(),
        };
        Some(Single { kind, text, span: self.span(&inner) })
    }

    fn list(&self, pair: Pair<'a, Rule>) -> Vec<Single> {
        kids(pair).filter_map(|p| self.single(p)).collect()
    }

    fn range(&self, pair: Pair<'a, Rule>) -> Option<Range> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        Some(Range { from: self.maybe_number(&mut k)?, to: self.maybe_number(&mut k), span })
    }

    fn within(&self, kids: &mut Kids<'a>) -> Option<Number> {
        let pair = kids.next_if(|p| p.as_rule() == Rule::within)?;
        pair.into_inner().find(|p| p.as_rule() == Rule::number).map(|p| self.number(&p))
    }

    fn because(&self, kids: &mut Kids<'a>) -> Option<Text> {
        let pair = kids.find(|p| p.as_rule() == Rule::because)?;
        pair.into_inner().find(|p| p.as_rule() == Rule::string).map(|p| self.text(&p))
    }

    // ---- items ----

    pub fn item(&mut self, pair: Pair<'a, Rule>) -> Option<Item> {
        Some(match pair.as_rule() {
            Rule::use_item => Item::Use(self.use_item(pair)?),
            Rule::param => Item::Param(self.param(pair)?),
            Rule::engine => Item::Engine(self.engine(pair)?),
            Rule::axis => Item::Axis(self.axis(pair)?),
            Rule::profile => Item::Profile(self.profile(pair)?),
            Rule::metric => Item::Metric(self.metric(pair)?),
            Rule::prune => Item::Prune(self.prune(pair)?),
            Rule::study => Item::Study(self.study(pair)?),
            Rule::site => Item::Site(self.site(pair)?),
            _ => return None,
        })
    }

    fn use_item(&self, pair: Pair<'a, Rule>) -> Option<Use> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        skip(&mut k, Rule::k_use);
        let path = k.next()?;
        let from = match path.as_rule() {
            Rule::std_path => {
                let at = self.span(&path);
                let value = path.as_str().trim_start_matches("std/").to_owned();
                UsePath::Std(Spanned { value, span: at })
            }
            _ => UsePath::File(self.text(&path)),
        };
        Some(Use { from, names: self.names(k.next()?), span })
    }

    fn param(&self, pair: Pair<'a, Rule>) -> Option<Param> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        skip(&mut k, Rule::k_param);
        let name = self.maybe_name(&mut k)?;
        let value = self.literal(&k.next()?)?;
        Some(Param { name, value, span })
    }

    fn literal(&self, pair: &Pair<'a, Rule>) -> Option<Literal> {
        Some(match pair.as_rule() {
            Rule::string => Literal::Text(self.text(pair)),
            Rule::number => Literal::Number(self.number(pair)),
            Rule::bool => Literal::Bool(Spanned { value: pair.as_str() == "true", span: self.span(pair) }),
            _ => return None,
        })
    }

    fn engine(&mut self, pair: Pair<'a, Rule>) -> Option<Engine> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        skip(&mut k, Rule::k_engine);
        let name = self.maybe_name(&mut k)?;
        let title = self.maybe_text(&mut k);
        let parent = self.maybe_name(&mut k);
        let (mut lines, mut unread) = (Vec::new(), Vec::new());
        for line in k {
            if line.as_rule() == Rule::bad_line {
                unread.extend(self.bad(Block::Engine, &line));
            } else {
                lines.extend(self.engine_line(line));
            }
        }
        Some(Engine { name, title, parent, lines, unread, span })
    }

    fn engine_line(&mut self, pair: Pair<'a, Rule>) -> Option<EngineLine> {
        let span = self.span(&pair);
        let rule = pair.as_rule();
        let mut k = kids(pair);
        let kind = match rule {
            Rule::e_changes => EngineLineKind::Changes(self.changes(k)),
            Rule::e_text => {
                let keyword = k.next()?.as_rule();
                let text = self.maybe_text(&mut k)?;
                match keyword {
                    Rule::k_version => EngineLineKind::Version(text),
                    Rule::k_serve => EngineLineKind::Serve(text),
                    Rule::k_image => EngineLineKind::Image(text),
                    _ => EngineLineKind::Probe(text),
                }
            }
            Rule::e_flag => {
                k.next();
                EngineLineKind::Flag(self.flag_decl(k, span)?)
            }
            Rule::e_publish => {
                k.next();
                let mut changes = Vec::new();
                while let Some(c) = k.next_if(|p| p.as_rule() == Rule::change) {
                    changes.extend(self.change(c));
                }
                EngineLineKind::Publish { changes, because: self.because(&mut k)? }
            }
            _ => self.engine_setting(rule, k)?,
        };
        Some(EngineLine { kind, span })
    }

    fn engine_setting(&self, rule: Rule, mut k: Kids<'a>) -> Option<EngineLineKind> {
        k.next();
        Some(match rule {
            Rule::e_api => EngineLineKind::Api(self.maybe_name(&mut k)?),
            Rule::e_args => EngineLineKind::Args { joined: k.next()?.as_rule() == Rule::k_joined },
            Rule::e_ready => {
                k.next();
                EngineLineKind::Ready { path: self.maybe_text(&mut k)?, within: self.within(&mut k) }
            }
            Rule::e_metrics => {
                k.next();
                EngineLineKind::Metrics(self.maybe_text(&mut k)?)
            }
            Rule::e_reset => {
                let post = k.next()?.as_rule() == Rule::k_post;
                EngineLineKind::Reset { post, path: self.maybe_text(&mut k)? }
            }
            Rule::e_stop => {
                EngineLineKind::Stop { signal: self.maybe_name(&mut k)?, within: self.within(&mut k) }
            }
            Rule::e_failure => {
                let name = self.maybe_text(&mut k)?;
                let pattern = k.find(|p| p.as_rule() == Rule::string)?;
                // a pattern is text as it stands: only the quotes and their escapes are ours
                EngineLineKind::Failure { name, pattern: self.text(&pattern) }
            }
            _ => return None,
        })
    }

    fn flag_decl(&self, mut k: Kids<'a>, span: Span) -> Option<FlagDecl> {
        let mut names = Vec::new();
        while let Some(p) = k.next_if(|p| p.as_rule() == Rule::flag_name) {
            names.push(self.name(&p));
        }
        let kind = self.flag_kind(k.next()?)?;
        let mut decl = FlagDecl {
            names,
            kind,
            default: None,
            since: None,
            until: None,
            negated: Vec::new(),
            uses_gpus: None,
            span,
        };
        for pair in k {
            self.attribute(pair, &mut decl)?;
        }
        Some(decl)
    }

    fn flag_kind(&self, pair: Pair<'a, Rule>) -> Option<FlagKind> {
        let mut k = kids(pair);
        let keyword = k.next()?.as_rule();
        Some(match keyword {
            Rule::k_switch => FlagKind::Switch,
            Rule::k_path => FlagKind::Path,
            Rule::k_json => FlagKind::Json,
            Rule::k_words => FlagKind::Words,
            Rule::k_int => FlagKind::Int(k.next().and_then(|p| self.range(p))),
            Rule::k_float => FlagKind::Float(k.next().and_then(|p| self.range(p))),
            Rule::k_one_of => FlagKind::OneOf(self.list(k.next()?)),
            _ => FlagKind::Text,
        })
    }

    fn attribute(&self, pair: Pair<'a, Rule>, decl: &mut FlagDecl) -> Option<()> {
        let mut k = kids(pair);
        match k.next()?.as_rule() {
            Rule::k_default => decl.default = self.single(k.next()?),
            Rule::k_since => decl.since = self.maybe_text(&mut k),
            Rule::k_until => decl.until = self.maybe_text(&mut k),
            Rule::k_negated => decl.negated = k.map(|p| self.name(&p)).collect(),
            _ => {
                let unless = k.find(|p| p.as_rule() == Rule::flag_name).map(|p| self.name(&p));
                decl.uses_gpus = Some(UsesGpus { unless });
            }
        }
        Some(())
    }

    // ---- changes and axes ----

    fn changes(&self, k: Kids<'a>) -> Vec<Change> {
        k.filter(|p| p.as_rule() == Rule::change).filter_map(|p| self.change(p)).collect()
    }

    fn change(&self, pair: Pair<'a, Rule>) -> Option<Change> {
        let inner = kids(pair).next()?;
        self.bare_change(inner)
    }

    fn bare_change(&self, inner: Pair<'a, Rule>) -> Option<Change> {
        let span = self.span(&inner);
        let rule = inner.as_rule();
        let mut k = kids(inner);
        let kind = match rule {
            Rule::flag => ChangeKind::Flag(self.flag(k)?),
            Rule::raw => ChangeKind::Raw(self.flag(kids(k.find(|p| p.as_rule() == Rule::flag)?))?),
            Rule::env => {
                let name = self.name(&k.find(|p| p.as_rule() == Rule::env_name)?);
                ChangeKind::Env { name, value: self.value(k.next()?)? }
            }
            Rule::model => {
                k.next();
                ChangeKind::Model(self.maybe_text(&mut k)?)
            }
            Rule::unset => {
                let target = k.last()?;
                let name = self.name(&target);
                if target.as_rule() == Rule::flag_name { ChangeKind::UnsetFlag(name) } else { ChangeKind::UnsetEnv(name) }
            }
            _ => return None,
        };
        Some(Change { kind, span })
    }

    fn flag(&self, mut k: Kids<'a>) -> Option<Flag> {
        let name = self.name(&k.next()?);
        let value = match k.next() {
            Some(v) => Some(self.value(v)?),
            None => None,
        };
        Some(Flag { name, value })
    }

    fn value(&self, pair: Pair<'a, Rule>) -> Option<Value> {
        let inner = kids(pair).next()?;
        let span = self.span(&inner);
        match inner.as_rule() {
            Rule::list => Some(Value::List(self.list(inner), span)),
            _ => self.single(inner).map(Value::Single),
        }
    }

    fn axis(&mut self, pair: Pair<'a, Rule>) -> Option<Axis> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        skip(&mut k, Rule::k_axis);
        let name = self.maybe_name(&mut k)?;
        let title = self.maybe_text(&mut k);
        let body = k.next()?;
        let body = match body.as_rule() {
            Rule::points => AxisBody::Points(kids(body).filter_map(|p| self.point(p)).collect()),
            Rule::bundle => AxisBody::Bundle(self.changes(kids(body))),
            _ => AxisBody::Algebra(self.axes(body)?),
        };
        Some(Axis { name, title, body, span })
    }

    fn point(&self, pair: Pair<'a, Rule>) -> Option<Point> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        let name = self.maybe_name(&mut k)?;
        let title = self.maybe_text(&mut k);
        Some(Point { name, title, changes: self.changes(k), span })
    }

    fn axes(&self, pair: Pair<'a, Rule>) -> Option<Axes> {
        let span = self.span(&pair);
        let sum = kids(pair)
            .map(|product| kids(product).map(|f| self.factor(f)).collect::<Option<Vec<_>>>())
            .collect::<Option<Vec<_>>>()?;
        Some(Axes { sum, span })
    }

    fn factor(&self, pair: Pair<'a, Rule>) -> Option<Factor> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        let first = k.next()?;
        if first.as_rule() == Rule::axes {
            return self.axes(first).map(Factor::Group);
        }
        let picks = k.next().map(|l| self.list(l));
        Some(Factor::Axis { name: self.name(&first), picks, span })
    }

    // ---- profiles, metrics, rules ----

    fn profile(&mut self, pair: Pair<'a, Rule>) -> Option<Profile> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        skip(&mut k, Rule::k_profile);
        let name = self.maybe_name(&mut k)?;
        let title = self.maybe_text(&mut k);
        let parent = self.maybe_name(&mut k);
        let (mut lines, mut unread) = (Vec::new(), Vec::new());
        for line in k {
            if line.as_rule() == Rule::bad_line {
                unread.extend(self.bad(Block::Profile, &line));
            } else {
                lines.extend(self.word_line(line));
            }
        }
        Some(Profile { name, title, parent, lines, unread, span })
    }

    fn word_line(&self, pair: Pair<'a, Rule>) -> Option<WordLine> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        let word = self.maybe_name(&mut k)?;
        let first = k.next()?;
        let value = match first.as_rule() {
            Rule::range => WordValue::Range(self.range(first)?),
            Rule::number => {
                let mut all = vec![self.number(&first)];
                all.extend(k.map(|p| self.number(&p)));
                WordValue::Numbers(all)
            }
            Rule::bool => WordValue::Bool(Spanned { value: first.as_str() == "true", span: self.span(&first) }),
            Rule::string => WordValue::Text(self.text(&first)),
            _ => WordValue::Word { word: self.name(&first), argument: k.next().and_then(|p| self.literal(&p)) },
        };
        Some(WordLine { word, value, span })
    }

    fn metric(&mut self, pair: Pair<'a, Rule>) -> Option<Metric> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        skip(&mut k, Rule::k_metric);
        let name = self.maybe_name(&mut k)?;
        let title = self.maybe_text(&mut k);
        Some(Metric { name, title, expr: self.whole_expr(k.next()?)?, span })
    }

    fn prune(&mut self, pair: Pair<'a, Rule>) -> Option<Prune> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        skip(&mut k, Rule::k_prune);
        let name = self.maybe_name(&mut k)?;
        let reason = self.maybe_text(&mut k)?;
        skip(&mut k, Rule::k_when);
        let when = self.whole_expr(k.next()?)?;
        let after = k.next().and_then(|a| kids(a).find(|p| p.as_rule() == Rule::number)).map(|p| self.number(&p));
        Some(Prune { name, reason, when, after, span })
    }

    // ---- studies ----

    fn study(&mut self, pair: Pair<'a, Rule>) -> Option<Study> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        skip(&mut k, Rule::k_study);
        let name = self.maybe_name(&mut k)?;
        let title = self.maybe_text(&mut k);
        let (mut lines, mut unread) = (Vec::new(), Vec::new());
        for line in k {
            if line.as_rule() == Rule::bad_line {
                unread.extend(self.bad(Block::Study, &line));
                continue;
            }
            let span = self.span(&line);
            lines.extend(self.study_line(line).map(|kind| StudyLine { kind, span }));
        }
        Some(Study { name, title, lines, unread, span })
    }

    fn study_line(&mut self, pair: Pair<'a, Rule>) -> Option<StudyLineKind> {
        let rule = pair.as_rule();
        match rule {
            Rule::prune => return self.prune(pair).map(StudyLineKind::Prune),
            Rule::step => return self.step(pair).map(StudyLineKind::Step),
            Rule::track => return self.track(pair).map(StudyLineKind::Track),
            Rule::budget => return self.budget(pair).map(StudyLineKind::Budget),
            _ => {}
        }
        let mut k = kids(pair);
        let keyword = k.next()?.as_rule();
        Some(match rule {
            Rule::s_model => StudyLineKind::Model(self.maybe_text(&mut k)?),
            Rule::s_gpus => {
                let count = self.maybe_number(&mut k)?;
                skip(&mut k, Rule::k_of);
                StudyLineKind::Gpus { count, of: self.maybe_text(&mut k) }
            }
            Rule::s_baseline => StudyLineKind::Baseline(self.maybe_name(&mut k)?),
            Rule::objective => {
                let expr = self.whole_expr(k.next()?)?;
                skip(&mut k, Rule::k_on);
                StudyLineKind::Objective { maximize: keyword == Rule::k_maximize, expr, on: self.names(k.next()?) }
            }
            Rule::require => {
                let expr = self.whole_expr(k.next()?)?;
                skip(&mut k, Rule::k_on);
                StudyLineKind::Require { expr, on: self.maybe_name(&mut k) }
            }
            Rule::adopt => {
                skip(&mut k, Rule::k_gain);
                StudyLineKind::Adopt(self.maybe_number(&mut k)?)
            }
            Rule::repeat => StudyLineKind::Repeat(self.maybe_number(&mut k)),
            Rule::on_profiles => {
                skip(&mut k, Rule::k_on);
                let names = self.names(k.next()?);
                if keyword == Rule::k_confirm { StudyLineKind::Confirm(names) } else { StudyLineKind::Curve(names) }
            }
            Rule::note => StudyLineKind::Note(self.maybe_text(&mut k)?),
            _ => return None,
        })
    }

    fn budget(&self, pair: Pair<'a, Rule>) -> Option<Budget> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        k.next();
        let amount = self.maybe_number(&mut k)?;
        let unit = k.next().map(|p| match p.as_rule() {
            Rule::k_trials => BudgetUnit::Trials,
            _ => BudgetUnit::GpuHours,
        });
        Some(Budget { amount, unit, span })
    }

    fn track(&mut self, pair: Pair<'a, Rule>) -> Option<Track> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        k.next();
        let engine = self.maybe_name(&mut k)?;
        let title = self.maybe_text(&mut k);
        let mut track = Track { engine, title, steps: Vec::new(), budget: None, notes: Vec::new(), span };
        for line in k {
            match line.as_rule() {
                Rule::bad_line => drop(self.bad(Block::Track, &line)),
                Rule::step => track.steps.extend(self.step(line)),
                Rule::budget => track.budget = self.budget(line),
                _ => track.notes.extend(kids(line).find(|p| p.as_rule() == Rule::string).map(|p| self.text(&p))),
            }
        }
        Some(track)
    }

    fn step(&mut self, pair: Pair<'a, Rule>) -> Option<Step> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        k.next();
        let name = self.maybe_name(&mut k)?;
        let title = self.maybe_text(&mut k);
        let from = if skip(&mut k, Rule::k_from) { self.maybe_name(&mut k) } else { None };
        let when = if skip(&mut k, Rule::k_when) { self.whole_expr(k.next()?) } else { None };
        let (mut lines, mut unread) = (Vec::new(), Vec::new());
        for line in k {
            if line.as_rule() == Rule::bad_line {
                unread.extend(self.bad(Block::Step, &line));
                continue;
            }
            let span = self.span(&line);
            lines.extend(self.step_line(line).map(|kind| StepLine { kind, span }));
        }
        Some(Step { name, title, from, when, lines, unread, span })
    }

    fn step_line(&mut self, pair: Pair<'a, Rule>) -> Option<StepLineKind> {
        let rule = pair.as_rule();
        if rule == Rule::budget {
            return self.budget(pair).map(StepLineKind::Budget);
        }
        let mut k = kids(pair);
        k.next();
        Some(match rule {
            Rule::note => StepLineKind::Note(self.maybe_text(&mut k)?),
            Rule::vary => {
                let axes = self.axes(k.next()?)?;
                StepLineKind::Vary { axes, by: k.nth(1).map(|p| self.search(&p)) }
            }
            _ => StepLineKind::Pick { axes: self.axes(k.next()?)?, because: self.because(&mut k)? },
        })
    }

    fn search(&self, pair: &Pair<'a, Rule>) -> Spanned<Search> {
        let value = match pair.as_rule() {
            Rule::k_staged => Search::Staged,
            Rule::k_guided => Search::Guided,
            _ => Search::Grid,
        };
        Spanned { value, span: self.span(pair) }
    }

    fn site(&mut self, pair: Pair<'a, Rule>) -> Option<Site> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        k.next();
        let name = self.maybe_name(&mut k)?;
        for line in k.filter(|l| l.as_rule() == Rule::bad_line) {
            self.bad(Block::Site, &line);
        }
        Some(Site { name, span })
    }

    // ---- expressions ----

    fn whole_expr(&mut self, pair: Pair<'a, Rule>) -> Option<Expr> {
        self.operators = 0;
        let span = self.span(&pair);
        let expr = self.expr(pair);
        if self.operators > MAX_OPERATORS {
            let message = format!("an expression has more than {MAX_OPERATORS} operators");
            let help = "split it: name a part with `metric` and use the name";
            self.sink.push(Diagnostic::new(Code::TooDeep, span, message).help(help));
            return None;
        }
        expr
    }

    fn expr(&mut self, pair: Pair<'a, Rule>) -> Option<Expr> {
        self.chain(pair, Self::conjunct)
    }

    fn conjunct(&mut self, pair: Pair<'a, Rule>) -> Option<Expr> {
        self.chain(pair, Self::negation)
    }

    fn sum(&mut self, pair: Pair<'a, Rule>) -> Option<Expr> {
        self.chain(pair, Self::term)
    }

    fn term(&mut self, pair: Pair<'a, Rule>) -> Option<Expr> {
        self.chain(pair, Self::operand)
    }

    /// `a op b op c`, from the left.
    fn chain(&mut self, pair: Pair<'a, Rule>, next: fn(&mut Self, Pair<'a, Rule>) -> Option<Expr>) -> Option<Expr> {
        let mut k = kids(pair);
        let mut left = next(self, k.next()?)?;
        while let Some(op) = k.next() {
            let op = binary_op(op.as_str())?;
            let right = next(self, k.next()?)?;
            self.operators += 1;
            if self.operators <= MAX_OPERATORS {
                left = binary(op, left, right);
            }
        }
        Some(left)
    }

    fn negation(&mut self, pair: Pair<'a, Rule>) -> Option<Expr> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        let mut nots = 0usize;
        while skip(&mut k, Rule::k_not) {
            nots += 1;
        }
        let mut expr = self.sum(k.next()?)?;
        if let Some(op) = k.next() {
            let right = self.sum(k.next()?)?;
            expr = binary(binary_op(op.as_str())?, expr, right);
        }
        self.operators += nots;
        if nots % 2 == 1 {
            expr = Expr { kind: ExprKind::Not(Box::new(expr)), span };
        }
        Some(expr)
    }

    fn operand(&mut self, pair: Pair<'a, Rule>) -> Option<Expr> {
        let span = self.span(&pair);
        let inner = kids(pair).next()?;
        let kind = match inner.as_rule() {
            Rule::expr => return self.expr(inner).map(|e| Expr { span, ..e }),
            Rule::number => ExprKind::Number(self.number(&inner)),
            Rule::string => ExprKind::Text(self.text(&inner)),
            Rule::bool => ExprKind::Bool(inner.as_str() == "true"),
            Rule::flag_name => ExprKind::Flag(inner.as_str().to_owned()),
            _ => self.call(inner)?,
        };
        Some(Expr { kind, span })
    }

    fn call(&mut self, pair: Pair<'a, Rule>) -> Option<ExprKind> {
        let has_args = pair.as_str().trim_end().ends_with(')');
        let mut k = kids(pair);
        let first = self.maybe_name(&mut k)?;
        let second = self.maybe_name(&mut k);
        let args = k.map(|e| self.expr(e)).collect::<Option<Vec<_>>>()?;
        let (owner, name) = match second {
            Some(name) => (Some(first), name),
            None => (None, first),
        };
        Some(ExprKind::Call { owner, name, args: has_args.then_some(args) })
    }
}

/// JSON over several lines may hold comments, as any other lines may.
fn without_comments(json: &Pair<'_, Rule>) -> String {
    let start = json.as_span().start();
    let mut text = json.as_str().to_owned();
    let comments: Vec<_> = json.clone().into_inner().flatten().filter(|p| p.as_rule() == Rule::COMMENT).collect();
    for comment in comments.iter().rev() {
        let span = comment.as_span();
        text.replace_range(span.start() - start..span.end() - start, "");
    }
    text
}

/// Digits and the unit glued to them; an exponent belongs to the digits.
fn split_unit(raw: &str) -> (&str, &str) {
    let unit_at = |from: usize| raw[from..].find(|c: char| !(c.is_ascii_digit() || c == '.')).map(|n| from + n);
    let Some(at) = unit_at(usize::from(raw.starts_with('-'))) else { return (raw, "") };
    let exponent = raw[at..].trim_start_matches(['e', 'E']).trim_start_matches(['+', '-']);
    if raw[at..].starts_with(['e', 'E']) && exponent.starts_with(|c: char| c.is_ascii_digit()) {
        let from = raw.len() - exponent.len();
        return unit_at(from).map_or((raw, ""), |n| raw.split_at(n));
    }
    raw.split_at(at)
}

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    let span = left.span.to(right.span);
    Expr { kind: ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) }, span }
}

fn binary_op(text: &str) -> Option<BinaryOp> {
    Some(match text {
        "or" => BinaryOp::Or,
        "and" => BinaryOp::And,
        "<=" => BinaryOp::Le,
        ">=" => BinaryOp::Ge,
        "==" => BinaryOp::Eq,
        "!=" => BinaryOp::Ne,
        "<" => BinaryOp::Lt,
        ">" => BinaryOp::Gt,
        "+" => BinaryOp::Add,
        "-" => BinaryOp::Sub,
        "*" => BinaryOp::Mul,
        "/" => BinaryOp::Div,
        _ => return None,
    })
}

/// A literal's text: `\"`, `\\`, `\n` and `\t` are escapes, any other backslash is itself.
fn unescape(literal: &str) -> String {
    let inner = literal.strip_prefix('"').unwrap_or(literal);
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars().peekable();
    while let Some(c) = chars.next() {
        let escaped = (c == '\\').then(|| chars.peek().copied()).flatten();
        match escaped {
            Some('"') => out.push('"'),
            Some('\\') => out.push('\\'),
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            _ => {
                out.push(c);
                continue;
            }
        }
        chars.next();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{split_unit, unescape};

    #[test]
    fn units_are_split_from_digits() {
        assert_eq!(split_unit("32Ki"), ("32", "Ki"));
        assert_eq!(split_unit("-0.5%"), ("-0.5", "%"));
        assert_eq!(split_unit("2.99usd/h"), ("2.99", "usd/h"));
        assert_eq!(split_unit("1e-3"), ("1e-3", ""));
        assert_eq!(split_unit("8/s"), ("8", "/s"));
    }

    #[test]
    fn only_four_escapes_are_escapes() {
        assert_eq!(unescape(r#""a\"b\\c\d\n""#), "a\"b\\c\\d\n");
    }
}
