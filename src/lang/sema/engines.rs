//! Engines: root declarations and their settings. What a derived one inherits and sets anew is in `derived`.

use std::sync::Arc;

use super::check::{Checker, MOST_LEVELS};
use super::flags::singles;
use super::program::{Api, Engine, Failure, Ready, Reset, Stop, Via};
use super::scope::{ItemRef, Kind};
use super::template;
use super::unexpanded::Of;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, one_of};
use crate::lang::source::Span;
use crate::lang::syntax::Block;
use crate::lang::syntax::ast::{self, ChangeKind, EngineLineKind as Line, Item, Name};
use crate::lang::units::Dim;

const APIS: &str = "write `api openai` for chat, `api openai_completions` or `api sglang_generate`";
const SIGNALS: [&str; 3] = ["sigterm", "sigint", "sigkill"];
const DEFAULT_READY_S: f64 = 20.0 * 60.0;
const DEFAULT_STOP_S: f64 = 30.0;

impl Checker<'_> {
    /// The engine with everything that it inherits; `None` if it cannot be known, which has been said.
    pub fn engine(&mut self, at: ItemRef) -> Option<Arc<Engine>> {
        if let Some(known) = self.engines.get(&at) {
            return known.clone();
        }
        let Item::Engine(decl) = self.modules.item(at) else { return None };
        let built = self.guarded(at, decl.name.span, |c| c.build_engine(at.module, decl)).map(Arc::new);
        self.engines.insert(at, built.clone());
        built
    }

    /// The engine that a name stands for in a module.
    pub fn engine_named(&mut self, module: usize, name: &Name) -> Option<Arc<Engine>> {
        self.engine_beside(module, None, name)
    }

    /// The same where the declaration of another engine names it.
    fn engine_beside(&mut self, module: usize, own: Option<&str>, name: &Name) -> Option<Arc<Engine>> {
        let m = self.module(module);
        let Some(at) = m.find(Kind::Engine, &name.value) else {
            let mut taken = self.not_meant(name.span);
            taken.extend(own);
            m.unknown((Kind::Engine, name), &[], &taken, own.is_some(), self.sink);
            let meant = self.meant(module, Kind::Engine, name).and_then(|at| self.engine(at));
            self.lost_engine |= meant.is_none();
            return meant;
        };
        self.used.insert(at);
        let engine = self.engine(at);
        self.lost_engine |= engine.is_none();
        engine
    }

    fn build_engine(&mut self, module: usize, decl: &ast::Engine) -> Option<Engine> {
        let parent = match &decl.parent {
            Some(name) => {
                let Some(named) = self.engine_beside(module, Some(&decl.name.value), name) else {
                    self.texts_of_a_lost_engine(module, decl);
                    return None;
                };
                Some(self.parent_meant(module, decl, name, &named).unwrap_or(named))
            }
            None if self.parent_forgotten(module, decl) => {
                self.texts_of_a_lost_engine(module, decl);
                return None;
            }
            None => None,
        };
        // each holds all that it inherits, and those before this one were resolved already, however many they are
        if parent.as_ref().is_some_and(|p| p.ancestry.len() > MOST_LEVELS) {
            self.too_far(decl.name.span);
            return None;
        }
        let mut engine = match &parent {
            Some(p) => (**p).clone(),
            None => root_engine(decl),
        };
        engine.name.clone_from(&decl.name.value);
        engine.span = decl.name.span;
        if let Some(title) = &decl.title {
            engine.title = self.titled(module, Some(title), &decl.name.value);
        }
        if parent.is_some() {
            engine.ancestry.insert(0, decl.name.value.clone());
        }
        self.once_each(decl);
        self.own_flags(module, decl, &mut engine);
        for line in &decl.lines {
            self.engine_line(module, line, &mut engine);
        }
        // of two one is to go, and which is not known
        let mut versions = decl
            .lines
            .iter()
            .filter_map(|l| if let Line::Version(t) = &l.kind { Some(&t.value) } else { None });
        let first = versions.next();
        if versions.any(|v| Some(v) != first) {
            engine.version = None;
        }
        self.failures(decl, &mut engine);
        self.refusals(module, decl, &mut engine);
        self.known_version(decl, &engine);
        self.own_changes(module, decl, parent.as_deref(), &mut engine);
        self.complete(decl, &engine);
        let started: Arc<str> = engine.started().into();
        if parent.is_none() {
            engine.declared = (started.clone(), module != 0 && !self.module(module).library);
        }
        let (root, elsewhere) = &engine.declared;
        engine.apart = (*elsewhere || started != *root).then_some(started);
        Some(engine)
    }

    /// What is sure of an engine whose parent is not known: what stands in it twice, and what its texts insert.
    fn texts_of_a_lost_engine(&mut self, module: usize, decl: &ast::Engine) {
        self.once_each(decl);
        let changes = decl.lines.iter().filter_map(|l| match &l.kind {
            Line::Changes(all) => Some(all),
            _ => None,
        });
        let values = changes.flatten().filter_map(|change| match &change.kind {
            ChangeKind::Flag(flag) | ChangeKind::Raw(flag) => {
                Some((flag.value.as_ref()?, Of::Flag(&flag.name.value)))
            }
            ChangeKind::Env { name, value } => Some((value, Of::Variable(&name.value))),
            _ => None,
        });
        for (value, of) in values {
            for single in singles(value) {
                if self.written(module, &single, true).is_some() {
                    self.unexpanded(module, single.span, of);
                }
            }
        }
    }

    /// Settings that say one thing stand once.
    fn once_each(&mut self, decl: &ast::Engine) {
        let mut seen: Vec<(&str, Span)> = Vec::new();
        for line in &decl.lines {
            let Some(word) = single_setting(&line.kind) else { continue };
            self.stands_once(&mut seen, (word, line.span), || format!("`{word}` stands twice in one engine"));
        }
    }

    fn api(&mut self, name: &Name, engine: &mut Engine) {
        let Some(api) = Api::ALL.into_iter().find(|api| api.name() == name.value) else {
            let message = format!("no api is called `{}`", name.value);
            let d = Diagnostic::new(Code::EngineSetting, name.span, message);
            let d = d.meant(&name.value, Api::ALL.map(Api::name), "unknown", str::to_owned);
            return self.sink.push(d.help(APIS));
        };
        engine.api = api;
    }

    fn engine_line(&mut self, module: usize, line: &ast::EngineLine, engine: &mut Engine) {
        match &line.kind {
            Line::Version(t) => {
                engine.version = self.version(module, t, engine);
                engine.version_span = Some(t.span);
            }
            Line::Serve(t) => self.serve(module, t, engine),
            Line::Image(t) => engine.image = self.image(module, t),
            // where a probe comes in is a later version's provenance
            Line::Probe(t) => drop(self.inserted(module, t, true)),
            Line::Api(name) => self.api(name, engine),
            Line::Args { joined } => engine.joined = *joined,
            Line::Ready { path, within } => {
                let within_s = self.seconds(within.as_ref(), DEFAULT_READY_S);
                engine.ready = Ready { path: self.url_path(module, path), within_s };
            }
            Line::Metrics(path) => engine.metrics = Some(self.url_path(module, path)),
            Line::Reset { post, path } => {
                engine.reset = Some(Reset { post: *post, path: self.url_path(module, path) });
            }
            Line::Stop { signal, within } => {
                if !SIGNALS.contains(&signal.value.as_str()) {
                    let message = format!("no signal is called `{}`", signal.value);
                    let d = Diagnostic::new(Code::EngineSetting, signal.span, message);
                    let d = d.meant(&signal.value, SIGNALS, "unknown", str::to_owned);
                    self.sink.push(d.help(format!("write {}", one_of(&SIGNALS))));
                }
                let within_s = self.seconds(within.as_ref(), DEFAULT_STOP_S);
                engine.stop = Stop { signal: signal.value.clone(), within_s };
            }
            Line::Key(sources) => engine.key = self.key_sources(sources, engine),
            Line::Variables { prefix, names, .. } => self.of_no_family(prefix, names),
            Line::Failure { .. }
            | Line::Refuses { .. }
            | Line::Versions(_)
            | Line::Flag(_)
            | Line::Changes(_)
            | Line::Publish { .. } => {}
        }
    }

    fn serve(&mut self, module: usize, text: &ast::Text, engine: &mut Engine) {
        engine.serve = self.inserted(module, text, true);
        self.inserted_behind_a_sign(text);
        engine.own_serve = !self.module(module).library;
        if engine.own_serve {
            self.of_a_shell(text);
        }
        if engine.serve.trim().is_empty() {
            let d = Diagnostic::new(Code::EngineSetting, text.span, "the serve line is empty")
                .label("no command");
            self.sink.push(d.help("write the command: `serve \"COMMAND {model} --port {port}\"`"));
            return;
        }
        self.holds_its_port(text, &engine.serve);
        if shell_words::split(&engine.serve).map_or(true, |w| w.is_empty()) {
            let message = "the serve line cannot be split into words";
            let help = "write it as in a shell, with quotes closed; no pipes or variables";
            self.sink
                .push(Diagnostic::new(Code::EngineSetting, text.span, message).label("this line").help(help));
        }
    }

    /// A server that is not told its port takes one that perflab does not know. Doubled braces are braces, and insert nothing.
    fn holds_its_port(&mut self, text: &ast::Text, serve: &str) {
        if template::inserts(serve, "port") || self.sink.in_span(text.span).next().is_some() {
            return;
        }
        let message = "the serve line does not hold {port}";
        let d = Diagnostic::new(Code::EngineSetting, text.span, message);
        // `--port $port`: what a shell would have put in is where the port was to go
        if let Some(place) = self.port_of_a_shell(text.span) {
            let d = Diagnostic { span: place, ..d }.label("inserts nothing: no shell reads this");
            self.sink.push(d.help("write `{port}`").edit(place, "{port}"));
            return;
        }
        let doubled = self.modules.slice(text.span).find("{{port}}");
        self.sink.push(match doubled {
            Some(at) => {
                let start = text.span.start as usize + at;
                let place = Span::new(text.span.file, start..start + "{{port}}".len());
                let d = Diagnostic { span: place, ..d }.label("the text `{port}`");
                d.help("doubled braces stand for themselves: write `{port}`").edit(place, "{port}")
            }
            None => d.label("this line").help(
                "perflab chooses a free port for every launch; pass it on, for example `--port {port}`",
            ),
        });
    }

    fn url_path(&mut self, module: usize, text: &ast::Text) -> String {
        let path = self.inserted(module, text, false);
        if !path.starts_with('/') {
            let message = format!("`{path}` is not a path of the server");
            let help = match path.split_once("://") {
                Some((_, rest)) => {
                    let below = rest.split_once('/').map_or("", |(_, below)| below);
                    format!("write what stands behind the host: \"/{below}\"")
                }
                None => format!("begin it with a slash: \"/{path}\""),
            };
            self.sink.push(
                Diagnostic::new(Code::EngineSetting, text.span, message).label("no leading `/`").help(help),
            );
        }
        path
    }

    fn seconds(&mut self, within: Option<&ast::Number>, otherwise: f64) -> f64 {
        within.and_then(|n| self.positive(n, Dim::TIME, "`within`")).unwrap_or(otherwise)
    }

    /// The first pattern that matches names a failure: an engine's own come before those that it inherits.
    fn failures(&mut self, decl: &ast::Engine, engine: &mut Engine) {
        let mut seen: Vec<&ast::Text> = Vec::new();
        let mut own = Vec::new();
        for line in &decl.lines {
            let Line::Failure { name, pattern } = &line.kind else { continue };
            if let Some(first) = seen.iter().find(|p| p.value == pattern.value && !p.value.is_empty()) {
                let message = "this pattern stands twice in one engine, and the first gives the name";
                let d = Diagnostic::new(Code::SettingTwice, pattern.span, message).label("never comes to it");
                self.sink.push(d.related(first.span, "the first one").help("keep one of them"));
            } else {
                own.extend(self.failure(name, pattern));
            }
            seen.push(pattern);
        }
        own.append(&mut engine.failures);
        engine.failures = own;
    }

    fn failure(&mut self, name: &ast::Text, pattern: &ast::Text) -> Option<Failure> {
        if name.value.trim().is_empty() {
            let d = Diagnostic::new(Code::BadPattern, name.span, "the failure has no name")
                .label("what a report would call it");
            self.sink.push(d.help("say what it is, for example \"out of memory\""));
            return None;
        }
        if pattern.value.is_empty() {
            let d = Diagnostic::new(Code::BadPattern, pattern.span, "the pattern is empty")
                .label("matches every log");
            self.sink.push(d.help("write what the log says, for example \"CUDA out of memory\""));
            return None;
        }
        if let Err(e) = regex::Regex::new(&pattern.value) {
            let why = e.to_string();
            let why = why.lines().last().unwrap_or("").trim().trim_start_matches("error: ").to_owned();
            let message = format!("the pattern is not a regular expression: {why}");
            let help = "brackets and dots that are meant as such need a backslash, as in `\\[Errno 98\\]`";
            self.sink.push(
                Diagnostic::new(Code::BadPattern, pattern.span, message).label("this pattern").help(help),
            );
            return None;
        }
        Some(Failure { name: name.value.clone(), pattern: pattern.value.clone() })
    }

    fn complete(&mut self, decl: &ast::Engine, engine: &Engine) {
        if decl.parent.is_some() {
            return;
        }
        let unread = |word: &str| decl.unread.contains(&word);
        let states_serve = decl.lines.iter().any(|l| matches!(l.kind, Line::Serve(_)));
        let mut lacks = Vec::new();
        if !states_serve && !unread("serve") {
            let help =
                "add `serve \"COMMAND {model} --port {port}\"`, or derive it: `engine NAME = vllm { … }`";
            lacks.push(("has no serve line", help));
        }
        if engine.ready.path.is_empty() && !unread("ready") {
            lacks.push(("does not say when it is ready", "add `ready get \"/health\" within 20min`"));
        }
        // lines that mean nobody knows what may be those that are missing
        let nobodys = About::NoSetting(Block::Engine);
        let nameless = self.sink.in_span(decl.span).filter(|d| d.about == nobodys);
        if lacks.len() <= nameless.count() {
            lacks.clear();
        }
        for (what, help) in lacks {
            let message = format!("the engine `{}` {what}", decl.name.value);
            let d = Diagnostic::new(Code::EngineIncomplete, decl.name.span, message).label("a root engine");
            self.sink.push(d.help(help));
        }
    }
}

/// The word of a setting that stands at most once, unless it may be repeated.
fn single_setting(line: &Line) -> Option<&'static str> {
    Some(match line {
        Line::Version(_) => "version",
        Line::Versions(_) => "versions",
        Line::Serve(_) => "serve",
        Line::Image(_) => "image",
        Line::Probe(_) => "probe",
        Line::Api(_) => "api",
        Line::Args { .. } => "args",
        Line::Ready { .. } => "ready",
        Line::Metrics(_) => "metrics",
        Line::Reset { .. } => "reset",
        Line::Stop { .. } => "stop",
        Line::Key(_) => "key",
        Line::Failure { .. }
        | Line::Refuses { .. }
        | Line::Variables { .. }
        | Line::Flag(_)
        | Line::Publish { .. }
        | Line::Changes(_) => return None,
    })
}

fn root_engine(decl: &ast::Engine) -> Engine {
    Engine {
        name: decl.name.value.clone(),
        title: decl.name.value.clone(),
        ancestry: vec![decl.name.value.clone()],
        version: None,
        version_span: None,
        serve: String::new(),
        own_serve: false,
        declared: (Arc::from(""), false),
        apart: None,
        image: None,
        api: Api::OpenAi,
        joined: true,
        ready: Ready { path: String::new(), within_s: DEFAULT_READY_S },
        reset: None,
        metrics: None,
        stop: Stop { signal: "sigterm".to_owned(), within_s: DEFAULT_STOP_S },
        key: Vec::new(),
        failures: Vec::new(),
        refusals: Arc::default(),
        schema: Arc::default(),
        model: None,
        flags: Vec::new(),
        env: Vec::new(),
        written: Vec::new(),
        publish: Vec::new(),
        via: Via::Path,
        span: decl.name.span,
    }
}
