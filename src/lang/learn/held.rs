//! A checked file, held against what the installed engines say of themselves.

use std::collections::{BTreeSet, HashSet};

use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::sema::problem::Problem;
use crate::lang::sema::program::{Change, Engine, Program};
use crate::lang::sema::schema::Schema;
use crate::lang::sema::typed::typed;
use crate::lang::sema::versions::compare_versions;
use crate::lang::source::Span;

/// What asking for the engine that a file names came to.
#[derive(Debug)]
pub enum Installed {
    /// its version, and its flags
    Found { version: String, schema: Schema },
    /// why it could not be asked, as a fragment
    Missing { why: String, help: &'static str },
}

/// What the installed engines came to.
#[derive(Debug, Default)]
pub struct Held {
    /// what the file says and they do not
    pub found: Vec<Diagnostic>,
    /// flags that they know or do not, whatever was doubted of them before
    settled: HashSet<Span>,
}

impl Held {
    /// Whether an installed engine has answered a doubt.
    pub fn answers(&self, doubt: &Diagnostic) -> bool {
        let within =
            |s: &Span| s.file == doubt.span.file && s.start <= doubt.span.start && doubt.span.end <= s.end;
        doubt.code == Code::FlagDoubt && self.settled.iter().any(within)
    }
}

/// Holds the file against the installed engines: `ask` is called once for an engine of the file.
pub fn held(program: &Program, ask: &mut dyn FnMut(&Engine) -> Option<Installed>) -> Held {
    let mut out = Held::default();
    for engine in program.engines.values() {
        let Some(installed) = ask(engine) else { continue };
        let found = match installed {
            Installed::Missing { why, help } => vec![missing(engine, &why, help)],
            Installed::Found { version, schema } => {
                against(program, engine, (&version, &schema), &mut out.settled)
            }
        };
        for d in found {
            if !out.found.iter().any(|o| o.span == d.span && o.code == d.code) {
                out.found.push(d);
            }
        }
    }
    out
}

fn missing(engine: &Engine, why: &str, help: &str) -> Diagnostic {
    let message = format!("the installed {} could not be asked: {why}", engine.title);
    Diagnostic::new(Code::InstalledMissing, engine.span, message)
        .label("not held against an installed engine")
        .help(help)
}

fn against(
    program: &Program,
    engine: &Engine,
    (version, schema): (&str, &Schema),
    settled: &mut HashSet<Span>,
) -> Vec<Diagnostic> {
    if let Some(stated) = engine.version.as_deref().filter(|v| compare_versions(v, version).is_ne()) {
        let message = format!("{} {version} is installed, and this says {stated}", engine.title);
        let d = Diagnostic::new(Code::InstalledVersion, engine.version_span.unwrap_or(engine.span), message)
            .label("another version");
        return vec![d.help(format!("write `version \"{version}\"`, or install {stated}"))];
    }
    let mut seen = BTreeSet::new();
    let changes = engine.written.iter().chain(points_for(program, engine));
    let found = changes.filter_map(|change| {
        let Change::Flag { name, value, span } = change else { return None };
        // what the file's own schema does not take has been said, or belongs to another engine
        typed(&engine.schema, engine.version.as_deref(), name, value.as_ref()).ok()?;
        settled.insert(*span);
        let problem = typed(schema, Some(version), name, value.as_ref()).err()?;
        seen.insert((span.file, span.start)).then(|| {
            let d = problem.diagnostic(name, *span, value.as_ref(), engine);
            let code = if problem == Problem::Unknown { Code::InstalledFlag } else { Code::InstalledValue };
            let message = format!("the installed {} {version} says: {}", engine.title, d.message);
            let d = Diagnostic { code, message, edits: Vec::new(), ..d };
            match code {
                Code::InstalledFlag => d
                    .label("unknown to it")
                    .help(format!("leave it out, or write `raw {name}` if you know better")),
                _ => d,
            }
        })
    });
    found.collect()
}

/// The changes of all points of studies that the engine can stand in.
fn points_for<'p>(program: &'p Program, engine: &'p Engine) -> impl Iterator<Item = &'p Change> {
    let stands = move |s: &&crate::lang::sema::program::Study| {
        let named = |c: &Change| matches!(c, Change::Engine(n) if *n == engine.name);
        s.baseline == engine.name
            || s.steps.iter().any(|step| {
                step.track.as_deref() == Some(&engine.name)
                    || step.from == crate::lang::sema::program::From::Engine(engine.name.clone())
                    || step.space.points().iter().flat_map(|p| &p.changes).any(named)
            })
    };
    let points = program.studies.iter().filter(stands).flat_map(|s| &s.steps).flat_map(|s| s.space.points());
    points.flat_map(|p| &p.changes)
}
