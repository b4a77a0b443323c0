//! Requests that an engine has no room for: prompt and output of a profile together are more tokens than a flag that the schema marks
//! `limits requests` lets one request have. Every engine refuses such requests or cuts them short, so nothing that is measured is what
//! the profile says.

use std::sync::Arc;

use foldhash::HashSet;
use indexmap::{IndexMap, IndexSet};

use super::reach::flag_key;
use super::review::place;
use crate::lang::codes::Code;
use crate::lang::sema::program::{Change, Engine, Point, Profile, Study};
use crate::lang::sema::schema::{FlagSpec, Found, Setting, Value, key};
use crate::lang::sema::typed::typed;
use crate::lang::source::Span;
use crate::lang::{Diagnostic, Program};

/// What is said of a study whose engines or points leave too little room; `engines` are all that it names.
pub(super) fn too_long(program: &Program, study: &Study, engines: &[Arc<Engine>]) -> Vec<Diagnostic> {
    let Some((profile, tokens)) = longest(program, study) else { return Vec::new() };
    let limits: HashSet<String> = engines.iter().flat_map(|e| limits(e)).collect();
    if limits.is_empty() {
        return Vec::new();
    }
    let asks = Asks { study, profile, tokens, limits };
    let alone = asks.alone();
    let declared = engines.iter().filter(|e| alone.contains(e.name.as_str()));
    let mut out: Vec<Diagnostic> = Vec::new();
    let (stated, by_default): (Vec<_>, Vec<_>) =
        declared.filter_map(|e| asks.of_engine(e)).partition(|(_, is_stated)| *is_stated);
    for (d, is_stated) in stated.into_iter().chain(by_default) {
        // one value that several engines have, by one param; or a profile that is too long for what nobody stated
        match out.iter_mut().find(|first| !is_stated || first.message == d.message) {
            // an engine that inherits it has it there too
            Some(first) if first.span == d.span => {}
            Some(first) => first.related.push((d.span, "nor here".to_owned())),
            None => out.push(d),
        }
    }
    let is_declared = !out.is_empty();
    for step in &study.steps {
        // the points of one axis are told of together
        let mut axes: IndexMap<&str, Diagnostic> = IndexMap::new();
        for point in step.space.points().into_iter().filter(|p| asks.limited(p)) {
            let Some((flag, limit)) = engines.iter().find_map(|e| asks.of_point(point, e)) else { continue };
            // a share of what was told to be too little is too little
            if is_declared && !point.changes.iter().filter_map(flag_of).any(|name| key(name) == key(&flag)) {
                continue;
            }
            let at = place(point, step);
            let d = match axes.swap_remove(point.axis.as_str()) {
                Some(d) => d.related(at, "nor here"),
                None => asks.told(at, &flag, limit),
            };
            axes.insert(&point.axis, d);
        }
        out.extend(axes.into_values());
    }
    out
}

/// The keys of the flags that decide how long an engine's requests can be.
pub(super) fn limits(engine: &Engine) -> HashSet<String> {
    let shared = limiting(engine).filter_map(|s| Some(key(s.limits_requests.as_ref()?.per.as_ref()?)));
    limiting(engine).flat_map(names).chain(shared).collect()
}

/// Whether an engine's own lines write a value there.
pub(super) fn writes(engine: &Engine, value: Span) -> bool {
    engine.written.iter().filter_map(value_span).any(|at| at == value)
}

/// The flags of an engine that limit requests.
fn limiting(engine: &Engine) -> impl Iterator<Item = &FlagSpec> {
    let marked = engine.schema.marked().filter(|s| s.limits_requests.is_some());
    marked.filter(|s| {
        let found = engine.schema.find(&s.names[0], engine.version.as_deref());
        matches!(found, Found::Known(known, _) if std::ptr::eq(known, *s))
    })
}

/// What an engine says of a flag, else the flag's default.
fn set_or_default(engine: &Engine, flag: &str) -> Option<Value> {
    let set = engine.flags.iter().find(|s| key(&s.canonical) == key(flag)).map(|s| s.value.clone());
    set.or_else(|| engine.schema.default(flag, engine.version.as_deref()))
}

fn names(spec: &FlagSpec) -> impl Iterator<Item = String> {
    spec.names.iter().map(|n| key(n))
}

/// The profile with the longest requests, and how long they can be.
fn longest<'a>(program: &'a Program, study: &Study) -> Option<(&'a Profile, u32)> {
    let names: IndexSet<&String> = study
        .aimed_at
        .iter()
        .chain(&study.confirm)
        .chain(study.require.iter().filter_map(|r| r.on.as_ref()))
        .collect();
    let length = |p: &Profile| Some(p.prompt_tokens()?.1.saturating_add(p.output?.1));
    let all = names.into_iter().filter_map(|n| program.profiles.get(n));
    all.filter_map(|p| Some((&**p, length(p)?))).reduce(|most, p| if p.1 > most.1 { p } else { most })
}

struct Asks<'a> {
    study: &'a Study,
    profile: &'a Profile,
    tokens: u32,
    /// keys of the flags that limit requests in some engine
    limits: HashSet<String>,
}

impl<'a> Asks<'a> {
    /// The engines that are measured with the room that they declare: no point beside theirs sets it.
    fn alone(&self) -> HashSet<&'a str> {
        // a track starts from its engine, also where none of its steps could be read
        let mut names: HashSet<&str> = self.study.tracks.iter().map(|t| t.engine.as_str()).collect();
        names.insert(&self.study.baseline);
        for step in &self.study.steps {
            names.extend(step.track.as_deref());
            let points = step.space.points();
            let engines: Vec<&str> = points.iter().flat_map(|p| &p.changes).filter_map(engine_of).collect();
            if !engines.is_empty() && !points.iter().any(|p| self.limited(p)) {
                names.extend(engines);
            }
        }
        names
    }

    fn limited(&self, point: &Point) -> bool {
        let set = point.changes.iter().filter_map(flag_of);
        set.into_iter().any(|name| self.limits.contains(&*flag_key(name)))
    }

    /// An engine whose flag, or its default, is below what is asked, and whether the engine states it.
    fn of_engine(&self, engine: &Engine) -> Option<(Diagnostic, bool)> {
        let (spec, limit) = limiting(engine).find_map(|spec| {
            let own = |flag: &str| set_or_default(engine, flag);
            Some((spec, self.below(spec, &own)?))
        })?;
        let names: Vec<String> = names(spec).collect();
        let written = engine.written.iter().rev();
        let span =
            written.filter(|c| flag_of(c).is_some_and(|n| names.contains(&key(n)))).find_map(value_span);
        let (span, is_stated) = (span.unwrap_or(engine.span), span.is_some());
        let span = if span.file == self.study.span.file { span } else { self.study.span };
        Some((self.told(span, &spec.names[0], limit), is_stated))
    }

    /// The flag of a point that leaves too little room, and how much it leaves.
    fn of_point(&self, point: &Point, engine: &Engine) -> Option<(String, i64)> {
        let (schema, version) = (&engine.schema, engine.version.as_deref());
        let changes = point.changes.iter().filter_map(|change| match change {
            Change::Flag { name, value, .. } => typed(schema, version, name, value.as_ref()).ok(),
            _ => None,
        });
        let set: Vec<Setting> = changes.collect();
        let over = |flag: &str| {
            let own = set.iter().find(|s| key(&s.canonical) == key(flag)).map(|s| s.value.clone());
            own.or_else(|| set_or_default(engine, flag))
        };
        let touched = |spec: &&FlagSpec| {
            let flags = spec.limits_requests.iter().flat_map(|l| [&l.per, &l.unless]).flatten();
            let mut flags = flags.chain(&spec.names[..1]);
            flags.any(|f| set.iter().any(|s| key(&s.canonical) == key(f)))
        };
        let found = limiting(engine).filter(touched).find_map(|s| Some((s, self.below(s, &over)?)));
        found.map(|(spec, limit)| (spec.names[0].clone(), limit))
    }

    /// What a flag leaves one request, if that is below what is asked. None and less leave it to the engine.
    fn below(&self, spec: &FlagSpec, value: &dyn Fn(&str) -> Option<Value>) -> Option<i64> {
        let Some(Value::Int(all)) = value(&spec.names[0]) else { return None };
        let limits = spec.limits_requests.as_ref()?;
        let whole =
            limits.unless.as_ref().is_some_and(|f| value(f).is_some_and(|v| v == Value::Switch(true)));
        let among = match limits.per.as_ref().filter(|_| !whole).and_then(|f| value(f)) {
            Some(Value::Int(n)) => n.max(1),
            _ => 1,
        };
        let limit = all / among;
        (limit > 0 && limit < i64::from(self.tokens)).then_some(limit)
    }

    fn told(&self, span: Span, flag: &str, limit: i64) -> Diagnostic {
        let Self { profile, tokens, .. } = self;
        let message = format!(
            "requests of `{}` have up to {tokens} tokens, and {flag} lets one have {limit}",
            profile.name
        );
        let d = Diagnostic::new(Code::TooLong, span, message).label("not enough");
        let (prompt, output) =
            (profile.prompt_tokens().unwrap_or_default().1, profile.output.unwrap_or_default().1);
        // which of the two is wrong nobody knows: the flag, or what is longest of a request
        let input = prompt - profile.prefix.unwrap_or(0).min(prompt);
        let (asked, label) = if output > prompt {
            (profile.output_at, "so long is an answer")
        } else {
            (profile.input_at.filter(|_| input >= prompt - input), "so long is a prompt")
        };
        let d = match asked.filter(|at| at.file == span.file) {
            Some(at) => d.related(at, label),
            None => d,
        };
        d.help(format!(
            "{prompt} of the prompt and {output} of the output count together: an engine refuses what is longer, or cuts it short; \
             give it {tokens} or more, with some to spare for the chat template, or shorten the profile"
        ))
    }
}

fn engine_of(change: &Change) -> Option<&str> {
    if let Change::Engine(name) = change { Some(name) } else { None }
}

/// The flag that a change sets or takes away.
fn flag_of(change: &Change) -> Option<&str> {
    match change {
        Change::Flag { name, .. } | Change::Raw { name, .. } | Change::UnsetFlag { name, .. } => Some(name),
        _ => None,
    }
}

fn value_span(change: &Change) -> Option<Span> {
    match change {
        Change::Flag { value, .. } | Change::Raw { value, .. } => value.as_ref().map(|v| v.span),
        _ => None,
    }
}
