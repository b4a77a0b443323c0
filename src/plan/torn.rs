//! What is certain of a file with errors. What its mistakes may have changed is left out of it (a flag of a line that was refused, an
//! axis that could not be read), and the doubts of all the rest are told, so that one mistake does not hide others.

use std::sync::Arc;

use foldhash::HashSet;

use super::limits::BATCH;
use super::reach::{Asked, flags_in};
use super::room::{limits, writes};
use super::undrafted::may_draft;
use crate::lang::codes::Code;
use crate::lang::diag::About;
use crate::lang::sema::bounds::{settled, simplified};
use crate::lang::sema::program::{Change, Engine, Expr, From, Prune, Step, Study};
use crate::lang::sema::schema::key;
use crate::lang::source::Span;
use crate::lang::syntax::{Block, ast};
use crate::lang::{Analysis, Diagnostic, Program};

mod concern;
mod extents;
mod search;

use concern::Concern;
use extents::holds;
use search::Search;

/// What the errors of a file make unsure.
#[expect(clippy::struct_excessive_bools, reason = "each answers what another check asks")]
pub(super) struct Torn {
    /// what a mistake may have lost or changed
    unsure: Asked,
    /// a flag that is not sure of an engine as it is declared, and by which that may draft
    drafts: Option<String>,
    /// flags that are not sure of an engine as it is declared
    declared: HashSet<String>,
    /// flags that are not sure, with the engine in whose declaration they are not
    by_engine: Vec<(Option<Span>, HashSet<String>)>,
    /// from which gain on a study adopts
    adopt: bool,
    /// there are two, and nobody knows which is meant
    objectives: bool,
    gpus: bool,
    /// some study says how many there are
    stated: bool,
    candidates: Candidates,
    /// the names of steps that start from what nothing is called
    adrift: Vec<Span>,
    /// profiles of which nobody knows how long their requests are
    loads: HashSet<String>,
    /// the names of profiles of which nobody knows how many requests there are
    profiles: Vec<Span>,
    /// of some profile nobody knows how many requests are in flight at once
    in_flight: bool,
    /// where nothing else is told: the items and lines that have errors
    places: Vec<Span>,
}

/// What is known of a study's candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Candidates {
    All,
    /// some steps are lost
    Some,
    /// some are, and nobody knows what they vary
    Unread,
    /// they may be those of any engine
    Any,
    /// the same, and nobody knows what some engine or axis is
    Vague,
}

/// Whether a line that could not be read may say how many GPUs there are.
fn lost_gpus(search: &Search<'_>) -> bool {
    let nobodys = About::NoSetting(Block::Study);
    let states = |s: &ast::Study| s.lines.iter().any(|l| matches!(l.kind, ast::StudyLineKind::Gpus { .. }));
    search.studies().any(|s| s.unread.contains(&"gpus"))
        || search.errors().any(|d| d.about == nobodys) && !search.studies().all(states)
}

/// Whether all engines of a file derive from one that declares their flags.
fn is_of_one_schema(program: &Program) -> bool {
    let mut engines = program.engines.values();
    let first = engines.next();
    first.is_some_and(|first| engines.all(|e| Arc::ptr_eq(&e.schema, &first.schema)))
}

/// Whether what is torn names an engine that a step may have varied: one that it starts from stays what it is.
fn names_an_engine(text: &str, program: &Program) -> bool {
    let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words: Vec<&str> = text.split(|c| !in_word(c)).filter(|w| !w.is_empty()).collect();
    let stays = |before: &str| matches!(before, "from" | "track" | "baseline" | "engine");
    words.windows(2).any(|w| !stays(w[0]) && program.engines.contains_key(w[1]))
}

/// Whether a step varies nothing but the very engine that it starts from.
fn names_its_engine(step: &Step, program: &Program) -> bool {
    let study = program.studies.iter().find(|s| s.steps.iter().any(|of| of.span == step.span));
    let start = match &step.from {
        From::Engine(name) => Some(name.as_str()),
        _ => step.track.as_deref().or(study.map(|s| s.baseline.as_str())),
    };
    let own = |c: &Change| matches!(c, Change::Engine(name) if Some(name.as_str()) == start);
    !step.space.any(&|p| !p.changes.iter().all(own))
}

/// Takes away what engines refuse of flags that are not sure.
fn without_refusals(program: &mut Program, unsure: &HashSet<String>) {
    // `--dtypefp8`: what begins with a flag may be the flag and its value
    let is_glued = |word: &String, f: &String| {
        word.strip_prefix(f.as_str())
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    };
    let is_unsure = |flags: &[String]| {
        flags.iter().any(|f| unsure.contains(f) || unsure.iter().any(|word| is_glued(word, f)))
    };
    for engine in program.engines.values_mut() {
        if engine.refusals.iter().any(|r| is_unsure(&r.flags)) {
            let mut sure = (**engine).clone();
            sure.refusals =
                Arc::new(sure.refusals.iter().filter(|r| !is_unsure(&r.flags)).cloned().collect());
            *engine = Arc::new(sure);
        }
    }
}

impl Torn {
    /// For one study, for one of its tracks, or for all of a file. `None` where nothing is certain.
    pub(super) fn of(analysis: &Analysis, study: Option<&Study>, track: Option<&str>) -> Option<Self> {
        let concern = study.and_then(|study| Concern::of(analysis, study, track));
        let search = Search::of(analysis, concern.as_ref())?;
        let is_meant = |s: &&Study| study.is_none_or(|study| study.span == s.span);
        let studies = || analysis.program.studies.iter().filter(is_meant);
        let text = &search.text;
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let words = || text.split(|c| !word(c)).filter(|w| !w.is_empty());
        let upper = |w: &&str| w.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
        // a track stands on its own engine, and of many studies those are looked at that have a baseline
        let own = track.is_some_and(|name| analysis.program.engines.contains_key(name));
        let based = own || study.is_none() || studies().all(|s| !s.baseline.is_empty());
        let candidates = if search.vague || !based {
            Candidates::Vague
        } else if words().any(|w| w == "engine") || names_an_engine(text, &analysis.program) {
            Candidates::Any
        } else if search.unread {
            Candidates::Unread
        } else if search.lost {
            Candidates::Some
        } else {
            Candidates::All
        };
        Some(Self {
            unsure: Asked {
                flags: flags_in(text),
                env: words().filter(upper).map(str::to_owned).collect(),
                model: words().any(|w| w == "model") || studies().any(|s| s.model.is_empty()),
            },
            drafts: search.of_engines.split(|c| !word(c)).find(|w| may_draft(w)).map(str::to_owned),
            declared: flags_in(&search.of_engines),
            by_engine: search.by_engine().into_iter().map(|(at, text)| (at, flags_in(text))).collect(),
            adopt: words().any(|w| w == "adopt"),
            objectives: search.errors().any(|d| {
                let text = analysis.modules.slice(d.span);
                d.code == Code::SettingTwice && (text.starts_with("maximize") || text.starts_with("minimize"))
            }),
            // what all need is not to be told of each
            gpus: words().any(|w| w == "gpus")
                || lost_gpus(&search)
                || search.errors().any(|d| d.code == Code::TooManyGpus),
            stated: studies().any(|s| s.gpus.is_some()),
            candidates,
            adrift: search.adrift(),
            profiles: search.torn_profiles(),
            in_flight: search.in_flight,
            loads: search.loads,
            places: search.places,
        })
    }

    /// The program without what is unsure.
    pub(super) fn rest(&self, program: &Program) -> Program {
        let mut rest = program.clone();
        for (_, profile) in rest.profiles.iter_mut().filter(|(name, _)| self.loads.contains(*name)) {
            Arc::make_mut(profile).output = None;
        }
        without_refusals(&mut rest, &self.unsure.flags);
        let engines: Vec<Arc<Engine>> = rest.engines.values().cloned().collect();
        let unsure = |e: &Expr| engines.iter().any(|engine| self.tells(&Asked::of(&[e], false, engine)));
        let sure_gpus = !self.gpus && !engines.iter().any(|e| self.tells(&Asked::of(&[], true, e)));
        for study in &mut rest.studies {
            study.gpus = study.gpus.take().filter(|_| sure_gpus);
            study.prune.retain(|r| !self.holds(r.span) && !unsure(&r.when));
            study.require.retain(|r| !self.holds(r.span) && !unsure(&r.expr));
            for step in &mut study.steps {
                step.when = step.when.take().filter(|g| !unsure(&g.expr));
            }
        }
        rest
    }

    /// The program without refusals that hang on what engines as declared may not set; what axes set does not matter to those.
    pub(super) fn as_declared(&self, program: &Program) -> Program {
        let mut rest = program.clone();
        without_refusals(&mut rest, &self.declared);
        rest
    }

    /// Whether a doubt about the rest holds for the whole file, and stands where no mistake is.
    pub(super) fn spares(&self, found: &Diagnostic, program: &Program) -> bool {
        let at = found.span;
        // what excludes all of a step is told elsewhere, and of it
        let of = |s: &&Step| {
            s.span == at || found.code == Code::Unreachable && found.related.iter().any(|(r, _)| *r == s.span)
        };
        let mut steps = program.studies.iter().flat_map(|s| &s.steps).filter(of);
        let of_candidates = matches!(
            found.code,
            Code::OnlyBase
                | Code::SameTwice
                | Code::Unreachable
                | Code::NeverFires
                | Code::AlwaysFires
                | Code::SettledGuard
        );
        let timeless =
            |s: &Step| s.when.as_ref().is_some_and(|g| g.span == at && !g.expr.reads_configuration());
        // `p90(ttft) > -4s` is so whatever was measured
        let measured = |r: &Prune| holds(r.span, at) && !r.when.reads_configuration();
        // `startup > 30min and startup < 10min`
        let contradictory = |r: &Prune| holds(r.span, at) && settled(&simplified(&r.when)) == Some(false);
        // which engines are varied decides nothing where all read their flags alike
        let by_its_points = found.code == Code::SameTwice
            && self.candidates != Candidates::Vague
            && is_of_one_schema(program);
        let known = match found.code {
            Code::SettledGuard if program.studies.iter().flat_map(|s| &s.steps).any(timeless) => true,
            Code::AlwaysFires if program.studies.iter().flat_map(|s| &s.prune).any(measured) => true,
            Code::NeverFires if program.studies.iter().flat_map(|s| &s.prune).any(contradictory) => true,
            // `vary engine[small]` over that engine as it is declared
            Code::OnlyBase
                if steps
                    .clone()
                    .all(|s| names_its_engine(s, program) && self.stands_on_an_engine(s, program)) =>
            {
                true
            }
            _ if of_candidates && self.may_be_any() && !by_its_points => false,
            // an engine that nobody knows may be what rules and guards are about, and what these steps stand on
            Code::NeverFires | Code::AlwaysFires | Code::SettledGuard if !self.adrift.is_empty() => false,
            Code::OnlyBase | Code::Unreachable if steps.clone().any(|s| self.is_adrift(s, program)) => false,
            Code::OnlyBase => !steps.any(|s| self.changes(s) || self.holds_points(s)),
            // a step of which nobody knows what it varies may set what these candidates need, unless they stand on an engine as it is declared
            Code::Unreachable
                if self.candidates == Candidates::Unread
                    && steps.clone().any(|s| !self.stands_on_an_engine(s, program)) =>
            {
                false
            }
            // nor is known which values a flag takes whose declaration is wrong
            Code::Unreachable => !steps.any(|s| self.holds_points(s) || self.sets_undeclared(s)),
            Code::SameTwice => !steps.any(|s| self.holds_points(s)),
            // a rule that meets nothing may be about candidates that are lost
            Code::NeverFires if self.candidates == Candidates::Unread => false,
            Code::NeverFires => program.studies.iter().all(|s| !s.steps.is_empty()),
            // what a step that is known would change is in none of those that are left
            Code::AlwaysFires | Code::SettledGuard => self.candidates != Candidates::Unread,
            Code::Undrafted => self.drafts.is_none() && !self.may_be_any(),
            Code::GpusUnstated => {
                // what an engine needs as declared is so whatever candidates are lost
                let flags =
                    if matches!(found.about, About::Engine(_)) { &self.declared } else { &self.unsure.flags };
                let sized = |e: &Arc<Engine>| !Asked::of(&[], true, e).flags.is_disjoint(flags);
                let stated = self.stated || self.gpus;
                !stated && !self.may_be_any() && !program.engines.values().any(sized)
            }
            // what steps measure is in a line that could not be read
            Code::FewRequests | Code::NeverBinds
                if self.objectives || program.studies.iter().any(|s| s.objective.is_none()) =>
            {
                false
            }
            Code::FewRequests => !found.related.iter().any(|(at, _)| self.profiles.contains(at)),
            Code::NeverBinds => {
                let is_sure = !self.unsure.flags.contains(BATCH) && !steps.any(|s| self.holds_points(s));
                !self.in_flight && !self.may_be_any() && is_sure
            }
            Code::Overruled => !self.adopt,
            Code::TooLong => !program.engines.values().any(|e| {
                let limits = limits(e);
                // what an engine sets itself is so whatever another one sets
                let own = program.engines.values().any(|e| writes(e, at));
                let concerns = |engine: &Option<Span>| !own || engine.is_none_or(|engine| holds(engine, at));
                self.by_engine.iter().any(|(engine, flags)| concerns(engine) && !flags.is_disjoint(&limits))
            }),
            _ => true,
        };
        known && !self.holds(at)
    }

    fn holds(&self, place: Span) -> bool {
        self.places.iter().any(|p| holds(*p, place))
    }

    /// Whether a step starts from an engine as it is declared: it says so, or is the first one, and nothing before it is lost.
    fn stands_on_an_engine(&self, step: &Step, program: &Program) -> bool {
        let study = program.studies.iter().find(|s| s.steps.iter().any(|of| of.span == step.span));
        let Some(study) = study.filter(|_| step.from == From::Best) else {
            return matches!(step.from, From::Engine(_));
        };
        let mut before = study.steps.iter().take_while(|s| s.span != step.span);
        let is_first = !before.any(|s| s.track == step.track);
        let is_before =
            |p: &Span| p.file == study.span.file && (study.span.start..step.span.start).contains(&p.start);
        is_first && !self.places.iter().any(is_before)
    }

    /// Whether a step, or one before it in its study, starts from what nothing is called.
    fn is_adrift(&self, step: &Step, program: &Program) -> bool {
        let study = program.studies.iter().find(|s| s.steps.iter().any(|of| of.span == step.span));
        study.is_some_and(|study| {
            let upto = study.steps.iter().take_while(|s| s.span.start <= step.span.start);
            // none of a track starts from what another one makes
            let may_lead = |s: &Step| step.track.is_none() || s.track.is_none() || s.track == step.track;
            upto.into_iter().any(|s| may_lead(s) && self.adrift.contains(&s.span))
        })
    }

    fn may_be_any(&self) -> bool {
        matches!(self.candidates, Candidates::Any | Candidates::Vague)
    }

    fn holds_points(&self, step: &Step) -> bool {
        step.space.any(&|p| self.holds(p.span))
    }

    /// Whether a step sets a flag that is not sure of an engine.
    fn sets_undeclared(&self, step: &Step) -> bool {
        // a key of an object is declared with its flag
        let flag = |name: &str| key(name.split('.').next().unwrap_or(name));
        let is_unsure =
            |c: &Change| matches!(c, Change::Flag { name, .. } if self.declared.contains(&flag(name)));
        step.space.any(&|p| p.changes.iter().any(is_unsure))
    }

    fn tells(&self, asked: &Asked) -> bool {
        let own = &self.unsure;
        own.model && asked.model || !asked.flags.is_disjoint(&own.flags) || !asked.env.is_disjoint(&own.env)
    }

    /// Whether a step changes what is unsure.
    fn changes(&self, step: &Step) -> bool {
        let own = &self.unsure;
        let engines = !own.flags.is_empty() || !own.env.is_empty() || own.model;
        let torn = |c: &Change| own.touches(c) || engines && matches!(c, Change::Engine(_));
        step.space.any(&|p| p.changes.iter().any(torn))
    }
}
