//! What an engine sets over what it inherits: flags, variables, model, publish; and whether what it inherits still holds under a
//! version of its own.

use super::check::Checker;
use super::flags;
use super::problem::Problem;
use super::program::{Change, Engine, EnvSetting, Publish};
use super::schema::{Setting, key};
use super::settings;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{self, ChangeKind, EngineLineKind as Line};

impl Checker<'_> {
    /// Flags, variables, model and publish, over what is inherited; checked once the version is known.
    pub fn own_changes(
        &mut self,
        module: usize,
        decl: &ast::Engine,
        parent: Option<&Engine>,
        engine: &mut Engine,
    ) {
        let mut all = Vec::new();
        let mut published = Vec::new();
        for line in &decl.lines {
            match &line.kind {
                Line::Changes(changes) => {
                    all.extend(changes.iter().flat_map(|c| self.one_change(module, c, Some(engine))));
                }
                Line::Publish { changes, because } => {
                    let because = self.said(
                        module,
                        because,
                        Code::EngineSetting,
                        "the reason of `publish`",
                        "say why the recommended command needs it: `because \"clients ask for it\"`",
                    );
                    for change in changes {
                        self.same_model(change);
                    }
                    let changes: Vec<_> =
                        changes.iter().flat_map(|c| self.one_change(module, c, Some(engine))).collect();
                    published.extend(changes.into_iter().map(|change| (change, because.clone())));
                }
                _ => {}
            }
        }
        self.twice(&all, Some(engine));
        self.published_twice(&published, engine);
        self.variables_twice(decl.lines.iter().flat_map(|l| match &l.kind {
            Line::Changes(changes) => changes.as_slice(),
            _ => &[],
        }));
        self.variables_twice(decl.lines.iter().flat_map(|l| match &l.kind {
            Line::Publish { changes, .. } => changes.as_slice(),
            _ => &[],
        }));
        if let Some(parent) = parent {
            self.inherited(decl, parent, &all, engine);
        }
        self.engine_unsets(decl, parent);
        // a key joins its JSON flag wherever it is written
        let (keys, others): (Vec<_>, Vec<_>) = all.iter().partition(|c| settings::is_key(c));
        for change in others {
            self.own_change(change, engine);
        }
        self.own_keys(keys, engine);
        for (change, because) in published {
            if matches!(change, Change::Model(_)) {
                continue;
            }
            if self.check_change(&change, engine) {
                engine.publish.push(Publish { change, because });
            }
        }
    }

    /// What is recommended serves the model that was measured.
    fn same_model(&mut self, published: &ast::Change) {
        if let ChangeKind::Model(_) = published.kind {
            let message = "`publish` cannot change the model: nothing was measured with another one";
            let d = Diagnostic::new(Code::EngineSetting, published.span, message).label("another model");
            self.sink.push(d.help(
                "set `model` in the study or the engine; for the name that clients ask for, publish `--served-model-name`",
            ));
        }
    }

    fn own_change(&mut self, change: &Change, engine: &mut Engine) {
        if !self.check_change(change, engine) {
            return;
        }
        self.served_name(change, engine);
        engine.written.push(change.clone());
        if let (Err(problem), Change::Flag { name, value, span }) = (set_in_engine(engine, change), change) {
            self.sink.push(problem.diagnostic(name, *span, value.as_ref(), engine));
        }
    }

    /// Keys of JSON flags, all at once: an object of thousands is written once.
    fn own_keys(&mut self, mut keys: Vec<&Change>, engine: &mut Engine) {
        keys.retain(|change| self.check_change(change, engine));
        for change in &keys {
            self.served_name(change, engine);
            engine.written.push((*change).clone());
        }
        let (schema, version) = (engine.schema.clone(), engine.version.clone());
        let problems = settings::set_keys(&mut engine.flags, keys, &schema, version.as_deref());
        for (change, problem) in problems {
            if let Change::Flag { name, value, span } = change {
                self.sink.push(problem.diagnostic(name, *span, value.as_ref(), engine));
            }
        }
    }

    /// Inherited flags under a version that the parent does not have; those that are set anew or unset are not looked at.
    fn inherited(&mut self, decl: &ast::Engine, parent: &Engine, own: &[Change], engine: &mut Engine) {
        if engine.version == parent.version {
            return;
        }
        let at =
            decl.lines.iter().find(|l| matches!(l.kind, Line::Version(_))).map_or(decl.name.span, |l| l.span);
        let under = (&*engine.schema, engine.version.as_deref());
        let mine: Vec<String> = own.iter().map(|c| settings::target(c, Some(under))).collect();
        let mut kept = Vec::new();
        let mut problems: Vec<(Setting, Problem)> = Vec::new();
        for setting in std::mem::take(&mut engine.flags) {
            let before = (&*parent.schema, parent.version.as_deref());
            let is_mine = mine.iter().any(|m| {
                *m == key(&setting.canonical) || *m == settings::flag_target(&setting.spelled, Some(under))
            });
            match settings::under_version(&setting, before, under.0, under.1) {
                Ok(now) => kept.push(now),
                Err(_) if is_mine => kept.push(setting),
                Err(problem) => problems.push((setting, problem)),
            }
        }
        engine.flags = kept;
        for (setting, problem) in problems {
            self.no_longer(&setting, &problem, at, parent, engine);
        }
    }

    fn no_longer(
        &mut self,
        setting: &Setting,
        problem: &Problem,
        at: Span,
        parent: &Engine,
        engine: &Engine,
    ) {
        let name = &setting.spelled;
        let code = problem.diagnostic(name, at, None, engine).code;
        let code = if code == Code::UnknownFlag { Code::FlagVersion } else { code };
        let message = format!("{}; it is inherited from `{}`", problem.reason(name, engine), parent.name);
        let about = About::Inherited { flag: name.clone() };
        let d = Diagnostic::new(code, at, message).about(about).label("under this version");
        self.sink.push(
            d.related(parent.span, "inherited from here")
                .help(format!("set it anew, or write `unset {name}` here")),
        );
    }
}

/// A checked change over an engine's own configuration.
fn set_in_engine(engine: &mut Engine, change: &Change) -> Result<(), Problem> {
    match change {
        Change::Model(m) => engine.model = Some(m.clone()),
        Change::Env(variable) => flags::set_env(&mut engine.env, variable),
        Change::UnsetEnv(name) => engine.env.retain(|e: &EnvSetting| e.name != *name),
        Change::Flag { .. } | Change::Raw { .. } | Change::UnsetFlag { .. } => {
            let schema = engine.schema.clone();
            let version = engine.version.clone();
            settings::set(&mut engine.flags, change, &schema, version.as_deref())?;
        }
        Change::Engine(_) => {}
    }
    Ok(())
}
