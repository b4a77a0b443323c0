//! Syntax trees by chance: every kind of item, line, value and expression that a file can hold.

use perflab::lang::source::{Span, Spanned};
use perflab::lang::syntax::ast::{
    Axes, Axis, AxisBody, BinaryOp, Budget, BudgetUnit, Change, ChangeKind, Engine, EngineLine,
    EngineLineKind, Expr, ExprKind, Factor, File, Flag, FlagDecl, FlagKind, Item, KeyDecl, KeySource,
    LimitsRequests, Literal, Metric, Name, Number, Param, Point, Profile, Prune, Range, Search, Single,
    SingleKind, Site, SiteLine, SiteLineKind, Step, StepLine, StepLineKind, Study, StudyLine, StudyLineKind,
    Text, Track, Use, UsePath, UsesGpus, Value, WordLine, WordValue,
};

use super::dice::Dice;

/// Where nothing was written yet.
fn nowhere() -> Span {
    Span::default()
}

fn spanned<T>(value: T) -> Spanned<T> {
    Spanned { value, span: nowhere() }
}

pub fn file(d: &mut Dice) -> File {
    File { items: d.several(1, 6, item), comments: Vec::new() }
}

fn item(d: &mut Dice) -> Item {
    let span = nowhere();
    match d.below(9) {
        0 => Item::Param(Param { name: name(d), value: literal(d), span }),
        1 => Item::Use(Use {
            from: if d.chance(2) { UsePath::Std(name(d)) } else { UsePath::File(text(d)) },
            names: d.several(1, 9, name),
            span,
        }),
        2 => Item::Engine(Engine {
            name: name(d),
            title: d.maybe(text),
            parent: d.maybe(name),
            lines: d.several(0, 6, |d| EngineLine { kind: engine_line(d), span }),
            unread: Vec::new(),
            unread_flags: Vec::new(),
            span,
        }),
        3 => Item::Axis(Axis { name: name(d), title: d.maybe(text), body: axis_body(d), span }),
        4 => Item::Profile(Profile {
            name: name(d),
            title: d.maybe(text),
            parent: d.maybe(name),
            lines: d.several(0, 6, word_line),
            unread: Vec::new(),
            span,
        }),
        5 => Item::Metric(Metric { name: name(d), title: d.maybe(text), expr: expr(d, 3), span }),
        6 => Item::Prune(prune(d)),
        7 => Item::Study(Study {
            name: name(d),
            title: d.maybe(text),
            lines: d.several(0, 9, |d| StudyLine { kind: study_line(d), span }),
            unread: Vec::new(),
            span,
        }),
        _ => Item::Site(Site {
            name: name(d),
            lines: d.several(0, 6, |d| SiteLine { kind: site_line(d), span }),
            span,
        }),
    }
}

// ---- words ---------------------------------------------------------------------------------------------------------

fn name(d: &mut Dice) -> Name {
    const NAMES: &[&str] = &["a", "seqs", "x_2", "model", "a_name_that_is_rather_long", "engine", "b9"];
    spanned(d.pick(NAMES).to_owned())
}

fn text(d: &mut Dice) -> Text {
    const TEXTS: &[&str] = &[
        "x",
        "",
        "A title",
        "with \"quotes\"",
        "a # b",
        "{name} {{",
        "\\S+ \\d",
        "two\nlines\t",
        "größer 数",
    ];
    spanned(d.pick(TEXTS).to_owned())
}

fn number(d: &mut Dice) -> Number {
    let value = [1.0, 0.5, -2.0, 1024.0, 99.9][d.below(5)];
    Number { value, unit: d.pick(&["", "%", "Ki", "ms", "/s", "usd/h"]).to_owned(), span: nowhere() }
}

fn flag_name(d: &mut Dice) -> Name {
    const FLAGS: &[&str] =
        &["--x", "-tp", "--max-num-seqs", "--a_b", "--config.key", "--a-flag-with-a-rather-long-name"];
    spanned(d.pick(FLAGS).to_owned())
}

fn variable(d: &mut Dice) -> Name {
    spanned(d.pick(&["X", "HF_HOME", "_A1"]).to_owned())
}

fn literal(d: &mut Dice) -> Literal {
    match d.below(3) {
        0 => Literal::Number(number(d)),
        1 => Literal::Text(text(d)),
        _ => Literal::Bool(spanned(d.chance(2))),
    }
}

const JSON: [&str; 4] = ["{}", "{\"a\": 1}", "{\"a\":[1,  2],\"b\":{\"c\":null}}", "{ \"#\": \"}\\\"\" }"];

fn single(d: &mut Dice) -> Single {
    let (kind, text) = match d.below(3) {
        0 => {
            (SingleKind::Word, d.pick(&["1", "32Ki", "fast", "a#b", "a=b:c", "-1", "/a/b.c", "ü"]).to_owned())
        }
        1 => (SingleKind::Text, text(d).value),
        _ => (SingleKind::Json, d.pick(&JSON).to_owned()),
    };
    Single { kind, text, span: nowhere() }
}

fn value(d: &mut Dice) -> Value {
    if d.chance(3) { Value::List(d.several(1, 12, single), nowhere()) } else { Value::Single(single(d)) }
}

fn range(d: &mut Dice) -> Range {
    Range { from: number(d), to: d.maybe(number), span: nowhere() }
}

fn word_line(d: &mut Dice) -> WordLine {
    let value = match d.below(6) {
        5 => WordValue::Json(spanned(d.pick(&JSON).to_owned())),
        0 => WordValue::Numbers(d.several(1, 4, number)),
        1 => WordValue::Range(range(d)),
        2 => WordValue::Bool(spanned(d.chance(2))),
        3 => WordValue::Text(text(d)),
        _ => {
            let argument = match d.below(3) {
                0 => None,
                1 => Some(Literal::Number(number(d))),
                _ => Some(Literal::Text(text(d))),
            };
            WordValue::Word { word: name(d), argument }
        }
    };
    WordLine { word: name(d), value, span: nowhere() }
}

// ---- engines, axes, sites ------------------------------------------------------------------------------------------

fn change(d: &mut Dice) -> Change {
    let flag = |d: &mut Dice| Flag { name: flag_name(d), value: d.maybe(value) };
    let kind = match d.below(6) {
        0 => ChangeKind::Flag(flag(d)),
        1 => ChangeKind::Raw(flag(d)),
        2 => ChangeKind::Env { name: variable(d), value: value(d) },
        3 => ChangeKind::Model(text(d)),
        4 => ChangeKind::UnsetFlag(flag_name(d)),
        _ => ChangeKind::UnsetEnv(variable(d)),
    };
    Change { kind, span: nowhere() }
}

fn engine_line(d: &mut Dice) -> EngineLineKind {
    match d.below(18) {
        16 => EngineLineKind::Refuses {
            reason: text(d),
            since: d.maybe(text),
            until: d.maybe(text),
            when: expr(d, 3),
        },
        15 => EngineLineKind::Variables {
            prefix: text(d),
            since: d.maybe(text),
            until: d.maybe(text),
            names: d.several(1, 6, single),
        },
        0 => EngineLineKind::Changes(d.several(1, 3, change)),
        1 => EngineLineKind::Version(text(d)),
        2 => EngineLineKind::Serve(text(d)),
        3 => EngineLineKind::Image(text(d)),
        4 => EngineLineKind::Probe(text(d)),
        5 => EngineLineKind::Api(name(d)),
        6 => EngineLineKind::Args { joined: d.chance(2) },
        7 => EngineLineKind::Ready { path: text(d), within: d.maybe(number) },
        8 => EngineLineKind::Metrics(text(d)),
        9 => EngineLineKind::Reset { post: d.chance(2), path: text(d) },
        10 => EngineLineKind::Stop { signal: name(d), within: d.maybe(number) },
        11 => EngineLineKind::Failure { name: text(d), pattern: text(d) },
        12 => EngineLineKind::Flag(Box::new(flag_decl(d))),
        13 => EngineLineKind::Versions(d.several(1, 12, text)),
        14 => EngineLineKind::Key(d.several(1, 3, key_source)),
        _ => EngineLineKind::Publish { changes: d.several(1, 3, change), because: text(d) },
    }
}

fn key_source(d: &mut Dice) -> KeySource {
    if d.chance(2) { KeySource::Flag(flag_name(d)) } else { KeySource::Env(variable(d)) }
}

fn flag_kind(d: &mut Dice) -> FlagKind {
    match d.below(10) {
        0 => FlagKind::Switch,
        1 => FlagKind::Text,
        2 => FlagKind::Path,
        3 => FlagKind::Json,
        4 => FlagKind::Words,
        5 => FlagKind::Int(d.maybe(range)),
        6 => FlagKind::Float(d.maybe(range)),
        7 => FlagKind::JsonFile,
        8 => FlagKind::Repeated,
        _ => FlagKind::OneOf(d.several(1, 12, single)),
    }
}

fn flag_decl(d: &mut Dice) -> FlagDecl {
    let kind = flag_kind(d);
    FlagDecl {
        names: d.several(1, 2, flag_name),
        kind,
        default: d.maybe(single),
        since: d.maybe(text),
        until: d.maybe(text),
        negated: d.several(0, 2, flag_name),
        uses_gpus: d.maybe(|d| UsesGpus { adds: d.below(3) == 0, unless: d.maybe(flag_name) }),
        limits_requests: d.maybe(|d| {
            let per = d.maybe(flag_name);
            let unless = per.is_some().then(|| d.maybe(flag_name)).flatten();
            LimitsRequests { per, unless }
        }),
        known: d.several(0, 12, single),
        keys: d.several(0, 12, |d| key_decl(d, 2)),
        twice: None,
        span: nowhere(),
    }
}

fn key_decl(d: &mut Dice, depth: usize) -> KeyDecl {
    let kind = d.maybe(flag_kind);
    let inner = if kind.is_some() && depth > 0 { 3 } else { 0 };
    KeyDecl { name: name(d), kind, keys: d.several(0, inner, |d| key_decl(d, depth - 1)) }
}

fn axis_body(d: &mut Dice) -> AxisBody {
    match d.below(3) {
        0 => AxisBody::Bundle(d.several(1, 3, change)),
        1 => AxisBody::Points(d.several(1, 4, |d| Point {
            name: name(d),
            title: d.maybe(text),
            changes: d.several(1, 3, change),
            span: nowhere(),
        })),
        _ => AxisBody::Algebra(axes(d, 3)),
    }
}

fn axes(d: &mut Dice, depth: usize) -> Axes {
    let factor = |d: &mut Dice| {
        if depth > 0 && d.chance(4) {
            return Factor::Group(axes(d, depth - 1));
        }
        Factor::Axis { name: name(d), picks: d.maybe(|d| d.several(1, 4, single)), span: nowhere() }
    };
    Axes { sum: d.several(1, 2, |d| d.several(1, 2, factor)), span: nowhere() }
}

fn site_line(d: &mut Dice) -> SiteLineKind {
    match d.below(6) {
        0 => SiteLineKind::Price(number(d)),
        1 => SiteLineKind::Model { model: text(d), at: text(d) },
        2 => SiteLineKind::Data { data: name(d), at: text(d) },
        3 => SiteLineKind::Env { name: variable(d), value: Value::Single(single(d)) },
        4 => SiteLineKind::Engine {
            name: name(d),
            version: d.maybe(text),
            via: name(d),
            argument: d.maybe(text),
        },
        _ => SiteLineKind::Runner { name: name(d), lines: d.several(0, 3, word_line) },
    }
}

// ---- studies -------------------------------------------------------------------------------------------------------

fn prune(d: &mut Dice) -> Prune {
    Prune { name: name(d), reason: text(d), when: expr(d, 4), after: d.maybe(number), span: nowhere() }
}

fn budget(d: &mut Dice) -> Budget {
    let unit = [None, Some(BudgetUnit::Trials), Some(BudgetUnit::GpuHours)][d.below(3)];
    Budget { amount: number(d), unit, span: nowhere() }
}

fn study_line(d: &mut Dice) -> StudyLineKind {
    match d.below(14) {
        0 => StudyLineKind::Model(text(d)),
        1 => StudyLineKind::Gpus { count: number(d), of: d.maybe(text) },
        2 => StudyLineKind::Baseline(name(d)),
        3 => StudyLineKind::Objective { maximize: d.chance(2), expr: expr(d, 3), on: d.several(1, 3, name) },
        4 => StudyLineKind::Require { expr: expr(d, 4), on: d.maybe(name) },
        5 => StudyLineKind::Adopt(number(d)),
        6 => StudyLineKind::Repeat(d.maybe(number)),
        7 => StudyLineKind::Confirm(d.several(1, 12, name)),
        8 => StudyLineKind::Curve(d.several(1, 3, name)),
        9 => StudyLineKind::Budget(budget(d)),
        10 => StudyLineKind::Note(text(d)),
        11 => StudyLineKind::Prune(prune(d)),
        12 => StudyLineKind::Step(Box::new(step(d))),
        _ => StudyLineKind::Track(Box::new(Track {
            engine: name(d),
            title: d.maybe(text),
            steps: d.several(0, 3, step),
            budgets: d.several(0, 1, budget),
            notes: d.several(0, 1, text),
            span: nowhere(),
        })),
    }
}

fn step(d: &mut Dice) -> Step {
    Step {
        name: name(d),
        title: d.maybe(text),
        from: d.maybe(name),
        when: d.maybe(|d| expr(d, 2)),
        lines: d.several(1, 2, |d| StepLine { kind: step_line(d), span: nowhere() }),
        unread: Vec::new(),
        span: nowhere(),
    }
}

fn step_line(d: &mut Dice) -> StepLineKind {
    match d.below(4) {
        0 => {
            let by = [None, Some(Search::Grid), Some(Search::Staged), Some(Search::Guided)][d.below(4)];
            StepLineKind::Vary { axes: axes(d, 2), by: by.map(spanned) }
        }
        1 => StepLineKind::Pick { axes: axes(d, 1), because: text(d) },
        2 => StepLineKind::Budget(budget(d)),
        _ => StepLineKind::Note(text(d)),
    }
}

fn expr(d: &mut Dice, depth: usize) -> Expr {
    use BinaryOp::{Add, And, Div, Divides, Eq, Ge, Gt, Le, Lt, Mul, Ne, Or, Sub};
    const OPERATORS: [BinaryOp; 13] = [Or, And, Le, Ge, Eq, Ne, Lt, Gt, Divides, Add, Sub, Mul, Div];
    let kind = match d.below(if depth > 0 { 11 } else { 7 }) {
        5 => ExprKind::Env(d.pick(&["X", "HF_HOME", "_A1"]).to_owned()),
        0 => ExprKind::Call { owner: d.maybe(name), name: name(d), args: None },
        1 => ExprKind::Number(number(d)),
        2 => ExprKind::Text(text(d)),
        3 => ExprKind::Bool(d.chance(2)),
        4 => ExprKind::Flag(flag_name(d).value),
        6 => ExprKind::Given(flag_name(d).value),
        7 => {
            let args = d.several(1, 2, |d| expr(d, depth - 1));
            ExprKind::Call { owner: d.maybe(name), name: name(d), args: Some(args) }
        }
        8 => ExprKind::Not(Box::new(expr(d, depth - 1))),
        _ => {
            let op = OPERATORS[d.below(13)];
            let (left, right) = (Box::new(expr(d, depth - 1)), Box::new(expr(d, depth - 1)));
            ExprKind::Binary { op, left, right }
        }
    };
    Expr { kind, span: nowhere() }
}
