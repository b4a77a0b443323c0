//! Trees to text, in no layout that anyone would like: spaces and line ends by chance, wherever the language lets them stand.

use perflab::lang::syntax::ast::{
    Axes, AxisBody, Budget, BudgetUnit, Change, ChangeKind, EngineLineKind, Expr, ExprKind, Factor, File,
    Flag, FlagDecl, FlagKind, Item, KeyDecl, KeySource, Literal, Name, Number, Prune, Range, Search, Single,
    SingleKind, SiteLineKind, Step, StepLineKind, StudyLineKind, Text, UsePath, Value, WordLine, WordValue,
};

use super::dice::Dice;

pub fn file(file: &File, d: &mut Dice) -> String {
    file.items.iter().map(|i| item(i, d) + "\n" + &"\n".repeat(d.below(4))).collect()
}

/// A gap that may hold a line end.
fn nl(d: &mut Dice) -> String {
    ["", " ", "\n", "\n\n  "][d.below(4)].to_owned()
}

/// Some spaces.
fn sp(d: &mut Dice) -> &'static str {
    [" ", "  ", "\t", "     "][d.below(4)]
}

fn joined(parts: &[String], sign: &str, d: &mut Dice) -> String {
    let mut out = String::new();
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            out += &format!("{sign}{}", nl(d));
        }
        out += part;
    }
    out
}

/// A block: one line may stand on the line of its braces.
fn block(lines: Vec<String>, d: &mut Dice) -> String {
    match lines.as_slice() {
        [] => ["{}", "{ }", "{\n}"][d.below(3)].to_owned(),
        [one] if d.chance(2) => format!("{{{}{one}{}}}", sp(d), sp(d)),
        all => {
            let mut out = String::from("{\n");
            for line in all {
                out += &format!("{}{line}\n{}", sp(d), "\n".repeat(d.below(3)));
            }
            out + sp(d) + "}"
        }
    }
}

fn text(t: &Text) -> String {
    quoted(&t.value)
}

fn quoted(value: &str) -> String {
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
    format!("\"{escaped}\"")
}

fn titled(word: &str, name: &Name, title: Option<&Text>, d: &mut Dice) -> String {
    let title = title.map(|t| format!("{}{}", sp(d), text(t))).unwrap_or_default();
    format!("{word}{}{}{title}", sp(d), name.value)
}

fn parent(name: Option<&Name>, d: &mut Dice) -> String {
    name.map(|n| format!("={}{}", nl(d), n.value)).unwrap_or_default()
}

fn number(n: &Number) -> String {
    format!("{}{}", n.value, n.unit)
}

fn range(r: &Range, d: &mut Dice) -> String {
    format!("{}{}..{}", number(&r.from), sp(d), r.to.as_ref().map(number).unwrap_or_default())
}

fn literal(l: &Literal) -> String {
    match l {
        Literal::Text(t) => text(t),
        Literal::Number(n) => number(n),
        Literal::Bool(b) => b.value.to_string(),
    }
}

fn names(all: &[Name], d: &mut Dice) -> String {
    joined(&all.iter().map(|n| n.value.clone()).collect::<Vec<_>>(), ",", d)
}

fn single(s: &Single) -> String {
    if s.kind == SingleKind::Text { quoted(&s.text) } else { s.text.clone() }
}

fn list(all: &[Single], d: &mut Dice) -> String {
    let comma = if d.chance(4) { "," } else { "" };
    let inner = joined(&all.iter().map(single).collect::<Vec<_>>(), ",", d);
    format!("[{}{inner}{}{comma}{}]", nl(d), nl(d), nl(d))
}

fn value(v: &Value, d: &mut Dice) -> String {
    match v {
        Value::Single(s) => single(s),
        Value::List(all, _) => list(all, d),
    }
}

fn flag(f: &Flag, d: &mut Dice) -> String {
    let value = f.value.as_ref().map(|v| format!("={}", value(v, d))).unwrap_or_default();
    format!("{}{value}", f.name.value)
}

fn change(c: &Change, d: &mut Dice) -> String {
    match &c.kind {
        ChangeKind::Flag(f) => flag(f, d),
        ChangeKind::Raw(f) => format!("raw{}{}", sp(d), flag(f, d)),
        ChangeKind::Env { name, value: v } => format!("env {}={}", name.value, value(v, d)),
        ChangeKind::Model(t) => format!("model{}{}", sp(d), text(t)),
        ChangeKind::UnsetFlag(n) => format!("unset{}{}", sp(d), n.value),
        ChangeKind::UnsetEnv(n) => format!("unset env{}{}", sp(d), n.value),
    }
}

fn changes(all: &[Change], d: &mut Dice) -> String {
    let all: Vec<String> = all.iter().map(|c| change(c, d)).collect();
    all.join(sp(d))
}

fn item(item: &Item, d: &mut Dice) -> String {
    match item {
        Item::Use(u) => {
            let from = match &u.from {
                UsePath::Std(n) => format!("std/{}", n.value),
                UsePath::File(t) => text(t),
            };
            let comma = if d.chance(3) { "," } else { "" };
            format!("use {from}{}{{{}{}{comma}{}}}", sp(d), nl(d), names(&u.names, d), nl(d))
        }
        Item::Param(p) => format!("param {}={}{}", p.name.value, nl(d), literal(&p.value)),
        Item::Engine(e) => {
            let lines = e.lines.iter().map(|l| engine_line(&l.kind, d)).collect();
            let head = titled("engine", &e.name, e.title.as_ref(), d);
            format!("{head}{}{}{}", parent(e.parent.as_ref(), d), sp(d), block(lines, d))
        }
        Item::Axis(a) => {
            let head = titled("axis", &a.name, a.title.as_ref(), d);
            format!("{head}{}={}{}", sp(d), nl(d), axis_body(&a.body, d))
        }
        Item::Profile(p) => {
            let lines = p.lines.iter().map(|l| word_line(l, d)).collect();
            let head = titled("profile", &p.name, p.title.as_ref(), d);
            format!("{head}{}{}{}", parent(p.parent.as_ref(), d), sp(d), block(lines, d))
        }
        Item::Metric(m) => {
            let head = titled("metric", &m.name, m.title.as_ref(), d);
            format!("{head}={}{}", nl(d), expr(&m.expr, d))
        }
        Item::Prune(p) => prune(p, d),
        Item::Study(s) => {
            let lines = s.lines.iter().map(|l| study_line(&l.kind, d)).collect();
            format!("{}{}", titled("study", &s.name, s.title.as_ref(), d), block(lines, d))
        }
        Item::Site(s) => {
            let lines = s.lines.iter().map(|l| site_line(&l.kind, d)).collect();
            format!("site {}{}{}", s.name.value, sp(d), block(lines, d))
        }
    }
}

fn within(n: Option<&Number>, d: &mut Dice) -> String {
    n.map(|n| format!("{}within {}", sp(d), number(n))).unwrap_or_default()
}

fn engine_line(line: &EngineLineKind, d: &mut Dice) -> String {
    let word = |word: &str, t: &Text, d: &mut Dice| format!("{word}{}{}", sp(d), text(t));
    match line {
        EngineLineKind::Version(t) => word("version", t, d),
        EngineLineKind::Versions(all) => {
            format!("versions {}", joined(&all.iter().map(text).collect::<Vec<_>>(), ",", d))
        }
        EngineLineKind::Variables { prefix, since, until, names } => {
            let mut out = word("variables", prefix, d);
            out += &since.as_ref().map(|t| format!(" since {}", text(t))).unwrap_or_default();
            out += &until.as_ref().map(|t| format!(" until {}", text(t))).unwrap_or_default();
            format!("{out} {}", list(names, d))
        }
        EngineLineKind::Refuses { reason, since, until, when } => {
            let mut out = word("refuses", reason, d);
            out += &since.as_ref().map(|t| format!(" since {}", text(t))).unwrap_or_default();
            out += &until.as_ref().map(|t| format!(" until {}", text(t))).unwrap_or_default();
            format!("{out}{}when {}{}", sp(d), nl(d), expr(when, d))
        }
        EngineLineKind::Serve(t) => word("serve", t, d),
        EngineLineKind::Image(t) => word("image", t, d),
        EngineLineKind::Probe(t) => word("probe", t, d),
        EngineLineKind::Api(n) => format!("api{}{}", sp(d), n.value),
        EngineLineKind::Args { joined } => format!("args {}", if *joined { "joined" } else { "spaced" }),
        EngineLineKind::Ready { path, within: t } => {
            format!("{}{}", word("ready get", path, d), within(t.as_ref(), d))
        }
        EngineLineKind::Metrics(t) => word("metrics get", t, d),
        EngineLineKind::Reset { post, path } => word(if *post { "reset post" } else { "reset get" }, path, d),
        EngineLineKind::Stop { signal, within: t } => {
            format!("stop {}{}", signal.value, within(t.as_ref(), d))
        }
        EngineLineKind::Key(sources) => {
            let each = |s: &KeySource| match s {
                KeySource::Flag(flag) => flag.value.clone(),
                KeySource::Env(variable) => format!("env {}", variable.value),
            };
            format!("key {}", sources.iter().map(each).collect::<Vec<_>>().join(" "))
        }
        EngineLineKind::Failure { name, pattern } => {
            format!("{}{}when log matches {}", word("failure", name, d), sp(d), text(pattern))
        }
        EngineLineKind::Flag(f) => flag_decl(f, d),
        EngineLineKind::Publish { changes: all, because } => {
            format!("publish {}{}because {}", changes(all, d), sp(d), text(because))
        }
        EngineLineKind::Changes(all) => changes(all, d),
    }
}

fn flag_kind(kind: &FlagKind, d: &mut Dice) -> String {
    let typed = |word: &str, r: &Option<Range>, d: &mut Dice| match r {
        Some(r) => format!("{word} {}", range(r, d)),
        None => word.to_owned(),
    };
    match kind {
        FlagKind::Switch => "switch".to_owned(),
        FlagKind::Text => "text".to_owned(),
        FlagKind::Path => "path".to_owned(),
        FlagKind::Json => "json".to_owned(),
        FlagKind::JsonFile => "json_file".to_owned(),
        FlagKind::Words => "words".to_owned(),
        FlagKind::Repeated => "repeated".to_owned(),
        FlagKind::Int(r) => typed("int", r, d),
        FlagKind::Float(r) => typed("float", r, d),
        FlagKind::OneOf(all) => format!("one_of {}", list(all, d)),
    }
}

fn flag_decl(f: &FlagDecl, d: &mut Dice) -> String {
    let kind = flag_kind(&f.kind, d);
    let flags = |all: &[Name]| all.iter().map(|n| n.value.as_str()).collect::<Vec<_>>().join(" ");
    let mut out = format!("flag {}{}{kind}", flags(&f.names), sp(d));
    out += &f.default.as_ref().map(|s| format!(" default {}", single(s))).unwrap_or_default();
    out += &f.since.as_ref().map(|t| format!(" since {}", text(t))).unwrap_or_default();
    out += &f.until.as_ref().map(|t| format!("{}until {}", sp(d), text(t))).unwrap_or_default();
    if !f.negated.is_empty() {
        out += &format!(" negated {}", flags(&f.negated));
    }
    if let Some(uses) = &f.uses_gpus {
        out += if uses.adds { " adds gpus" } else { " uses gpus" };
        out += &uses.unless.as_ref().map(|n| format!(" unless {}", n.value)).unwrap_or_default();
    }
    if let Some(limits) = &f.limits_requests {
        out += " limits requests";
        out += &limits.per.as_ref().map(|n| format!(" per {}", n.value)).unwrap_or_default();
        out += &limits.unless.as_ref().map(|n| format!(" unless {}", n.value)).unwrap_or_default();
    }
    if !f.known.is_empty() {
        out += &format!(" known {}", list(&f.known, d));
    }
    if !f.keys.is_empty() {
        out += &format!(" keys {}", key_decls(&f.keys, d));
    }
    out
}

fn key_decls(keys: &[KeyDecl], d: &mut Dice) -> String {
    let mut all = Vec::new();
    for key in keys {
        let kind = key.kind.as_ref().map(|k| format!(" {}", flag_kind(k, d))).unwrap_or_default();
        let inner = if key.keys.is_empty() {
            String::new()
        } else {
            format!("{}keys {}", sp(d), key_decls(&key.keys, d))
        };
        all.push(format!("{}{kind}{inner}{}", key.name.value, nl(d)));
    }
    format!("[{}{}]", nl(d), all.join(&format!(",{}", nl(d))))
}

fn axis_body(body: &AxisBody, d: &mut Dice) -> String {
    match body {
        AxisBody::Bundle(all) => changes(all, d),
        AxisBody::Algebra(all) => axes(all, d),
        AxisBody::Points(points) => {
            let mut out = format!("{{{}", nl(d));
            for (at, point) in points.iter().enumerate() {
                if at > 0 {
                    out += &format!("{},{}", nl(d), nl(d));
                }
                let title = point.title.as_ref().map(|t| format!(" {}", text(t))).unwrap_or_default();
                out += &format!("{}{title}:{}", point.name.value, nl(d));
                for c in &point.changes {
                    out += &format!("{} {}", nl(d), change(c, d));
                }
            }
            out + &nl(d) + if d.chance(3) { "," } else { "" } + &nl(d) + "}"
        }
    }
}

fn axes(all: &Axes, d: &mut Dice) -> String {
    let sum: Vec<String> = all
        .sum
        .iter()
        .map(|product| {
            let factors: Vec<String> = product.iter().map(|f| factor(f, d)).collect();
            joined(&factors, " *", d)
        })
        .collect();
    joined(&sum, "+", d)
}

fn factor(f: &Factor, d: &mut Dice) -> String {
    match f {
        Factor::Group(inner) => format!("({}{}{})", nl(d), axes(inner, d), nl(d)),
        Factor::Axis { name, picks, .. } => {
            let picks = picks.as_ref().map(|all| format!("{}{}", ["", " "][d.below(2)], list(all, d)));
            format!("{}{}", name.value, picks.unwrap_or_default())
        }
    }
}

fn word_line(line: &WordLine, d: &mut Dice) -> String {
    let value = match &line.value {
        WordValue::Range(r) => range(r, d),
        WordValue::Numbers(all) => joined(&all.iter().map(number).collect::<Vec<_>>(), ",", d),
        WordValue::Bool(b) => b.value.to_string(),
        WordValue::Text(t) => text(t),
        WordValue::Json(j) => j.value.clone(),
        WordValue::Word { word, argument } => {
            let argument = argument.as_ref().map(|a| format!("{}{}", sp(d), literal(a)));
            format!("{}{}", word.value, argument.unwrap_or_default())
        }
    };
    format!("{}{}{value}", line.word.value, sp(d))
}

fn site_line(line: &SiteLineKind, d: &mut Dice) -> String {
    match line {
        SiteLineKind::Engine { name, version, via, argument } => {
            let version = version.as_ref().map(|t| format!(" {}", text(t))).unwrap_or_default();
            let argument = argument.as_ref().map(|t| format!(" {}", text(t))).unwrap_or_default();
            format!("engine {}{version}{}via {}{argument}", name.value, sp(d), via.value)
        }
        SiteLineKind::Model { model, at } => format!("model {}{}at {}", text(model), sp(d), text(at)),
        SiteLineKind::Data { data, at } => format!("data {}{}at {}", data.value, sp(d), text(at)),
        SiteLineKind::Env { name, value: v } => format!("env {}={}", name.value, value(v, d)),
        SiteLineKind::Price(n) => format!("price{}{}", sp(d), number(n)),
        SiteLineKind::Runner { name, lines } => {
            let lines = lines.iter().map(|l| word_line(l, d)).collect();
            format!("runner {}{}{}", name.value, sp(d), block(lines, d))
        }
    }
}

fn prune(p: &Prune, d: &mut Dice) -> String {
    let after = p.after.as_ref().map(|n| format!("{}after {} requests", sp(d), number(n)));
    let head = format!("prune {}{}{}", p.name.value, sp(d), text(&p.reason));
    format!("{head} when {}{}{}", nl(d), expr(&p.when, d), after.unwrap_or_default())
}

fn budget(b: &Budget, d: &mut Dice) -> String {
    let unit = match b.unit {
        None => "",
        Some(BudgetUnit::Trials) => " trials",
        Some(BudgetUnit::GpuHours) => " gpu_hours",
    };
    format!("budget{}{}{unit}", sp(d), number(&b.amount))
}

fn study_line(line: &StudyLineKind, d: &mut Dice) -> String {
    match line {
        StudyLineKind::Model(t) => format!("model{}{}", sp(d), text(t)),
        StudyLineKind::Gpus { count, of } => {
            let of = of.as_ref().map(|t| format!("{}of {}", sp(d), text(t))).unwrap_or_default();
            format!("gpus {}{of}", number(count))
        }
        StudyLineKind::Baseline(n) => format!("baseline{}{}", sp(d), n.value),
        StudyLineKind::Objective { maximize, expr: e, on } => {
            let word = if *maximize { "maximize" } else { "minimize" };
            format!("{word}{}{} on {}", sp(d), expr(e, d), names(on, d))
        }
        StudyLineKind::Require { expr: e, on } => {
            let on = on.as_ref().map(|n| format!(" on {}", n.value)).unwrap_or_default();
            format!("require{}{}{on}", sp(d), expr(e, d))
        }
        StudyLineKind::Adopt(n) => format!("adopt gain>={}{}", nl(d), number(n)),
        StudyLineKind::Repeat(n) => {
            format!("repeat{}{}", sp(d), n.as_ref().map_or_else(|| "auto".to_owned(), number))
        }
        StudyLineKind::Confirm(all) => format!("confirm on{}{}", sp(d), names(all, d)),
        StudyLineKind::Curve(all) => format!("curve on{}{}", sp(d), names(all, d)),
        StudyLineKind::Budget(b) => budget(b, d),
        StudyLineKind::Note(t) => format!("note{}{}", sp(d), text(t)),
        StudyLineKind::Prune(p) => prune(p, d),
        StudyLineKind::Step(s) => step(s, d),
        StudyLineKind::Track(t) => {
            let mut lines: Vec<String> = t.budgets.iter().map(|b| budget(b, d)).collect();
            lines.extend(t.notes.iter().map(|n| format!("note {}", text(n))));
            lines.extend(t.steps.iter().map(|s| step(s, d)));
            format!("{}{}{}", titled("track", &t.engine, t.title.as_ref(), d), sp(d), block(lines, d))
        }
    }
}

fn step(s: &Step, d: &mut Dice) -> String {
    let lines = s.lines.iter().map(|l| step_line(&l.kind, d)).collect();
    let from = s.from.as_ref().map(|n| format!("{}from {}", sp(d), n.value)).unwrap_or_default();
    let when = s.when.as_ref().map(|e| format!("{}when {}{} ", sp(d), nl(d), expr(e, d)));
    let head = titled("step", &s.name, s.title.as_ref(), d);
    format!("{head}{from}{}{}", when.unwrap_or_default(), block(lines, d))
}

fn step_line(line: &StepLineKind, d: &mut Dice) -> String {
    match line {
        StepLineKind::Vary { axes: all, by } => {
            let by = match by.as_ref().map(|b| b.value) {
                None => "",
                Some(Search::Grid) => " by grid",
                Some(Search::Staged) => " by staged",
                Some(Search::Guided) => " by guided",
            };
            format!("vary{}{}{by}", sp(d), axes(all, d))
        }
        StepLineKind::Pick { axes: all, because } => {
            format!("pick {}{}because {}", axes(all, d), sp(d), text(because))
        }
        StepLineKind::Budget(b) => budget(b, d),
        StepLineKind::Note(t) => format!("note{}{}", sp(d), text(t)),
    }
}

/// Operands of operators stand in parentheses where they are no single operand themselves.
fn expr(e: &Expr, d: &mut Dice) -> String {
    match &e.kind {
        ExprKind::Number(n) => number(n),
        ExprKind::Text(t) => text(t),
        ExprKind::Bool(b) => b.to_string(),
        ExprKind::Flag(f) => f.clone(),
        ExprKind::Given(f) => format!("given{}{f}", sp(d)),
        ExprKind::Env(name) => format!("env{}{name}", sp(d)),
        ExprKind::Call { owner, name, args } => {
            let owner = owner.as_ref().map(|n| format!("{}.", n.value)).unwrap_or_default();
            let args = args.as_ref().map(|all| {
                let all: Vec<String> = all.iter().map(|e| expr(e, d)).collect();
                format!("({}{}{})", nl(d), joined(&all, ",", d), nl(d))
            });
            format!("{owner}{}{}", name.value, args.unwrap_or_default())
        }
        ExprKind::Not(inner) => format!("not{}{}", sp(d), operand(inner, d)),
        ExprKind::Binary { op, left, right } => {
            let (left, right) = (operand(left, d), operand(right, d));
            format!("{left} {} {}{right}", op.symbol(), nl(d))
        }
    }
}

fn operand(e: &Expr, d: &mut Dice) -> String {
    if matches!(e.kind, ExprKind::Not(_) | ExprKind::Binary { .. }) {
        return format!("({}{}{})", nl(d), expr(e, d), nl(d));
    }
    expr(e, d)
}
