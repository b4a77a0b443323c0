//! Changes to a configuration: from the tree, and against a schema. What they do to a list of settings is in `settings`.

use foldhash::{HashMap, HashMapExt};

use super::check::Checker;
use super::doubled;
use super::problem::Problem;
use super::program::{Change, Engine, EnvSetting, WrittenValue};
use super::schema::{Found, key};
use super::scope::Kind as ItemKind;
use super::settings;
use super::typed::{doubt, typed};
use super::unexpanded::Of;
use super::unlisted::unlisted;
use super::{template, variables};
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::source::Span;
use crate::lang::syntax::ast::{self, ChangeKind, Single, SingleKind};
use crate::lang::syntax::second_sign;

impl Checker<'_> {
    /// The changes that one written change stands for: a list stands for one each, the index of the point.
    pub fn one_change(&mut self, module: usize, change: &ast::Change, of: Option<&Engine>) -> Vec<Change> {
        if let Some(span) = list_span(change) {
            self.list_of_one(change, span, of);
            return Vec::new();
        }
        self.spread(module, change, of)
    }

    /// One change for each value of a list, or the one.
    pub fn spread(&mut self, module: usize, change: &ast::Change, of: Option<&Engine>) -> Vec<Change> {
        let (span, launch) = (change.span, of.is_some());
        match &change.kind {
            ChangeKind::Flag(f) => {
                let changes =
                    self.flag_values(module, f, of, |name, value| Change::Flag { name, value, span });
                if let Some(engine) = of.filter(|_| changes.is_empty()) {
                    self.name_alone(&f.name, engine);
                }
                changes
            }
            ChangeKind::Raw(f) => {
                self.flag_values(module, f, of, |name, value| Change::Raw { name, value, span })
            }
            ChangeKind::Env { name, value } => {
                let values = singles(value);
                self.settable(name, &values, false);
                let all = values.iter().filter_map(|s| self.written(module, s, launch)).collect::<Vec<_>>();
                // of a secret it has been said that it belongs into a site
                if !variables::secret(&name.value) {
                    for value in &all {
                        self.unexpanded(module, value.span, Of::Variable(&name.value));
                    }
                }
                let variable = |v: WrittenValue| EnvSetting {
                    name: name.value.clone(),
                    value: v.text,
                    template: v.template,
                };
                all.into_iter().map(|v| Change::Env(variable(v))).collect()
            }
            ChangeKind::Model(text) => vec![Change::Model(self.model_name(module, text))],
            ChangeKind::UnsetFlag(name) => {
                vec![Change::UnsetFlag { name: name.value.clone(), span: name.span }]
            }
            ChangeKind::UnsetEnv(name) => {
                vec![Change::UnsetEnv(name.value.clone())]
            }
        }
    }

    /// The name of a model, which is not empty.
    pub fn model_name(&mut self, module: usize, text: &ast::Text) -> String {
        let name = self.inserted_text(module, &text.value, text.span, false);
        if name.whole && name.text.trim().is_empty() {
            let d = Diagnostic::new(Code::MissingInStudy, text.span, "the model is empty").label("no model");
            self.sink.push(d.help("name a model or a path: `model \"Qwen/Qwen3-8B\"`"));
        }
        if let Some(path) =
            name.text.split_once("://").map(|(_, rest)| rest.split_once('/').map_or("", |(_, p)| p))
        {
            let own: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).take(2).collect();
            let message = "a model is named as on its hub, or by a path, not by an address";
            let d = Diagnostic::new(Code::MissingInStudy, text.span, message).label("an address");
            let right = format!("\"{}\"", own.join("/"));
            let hub = name.text.contains("huggingface.co/") && own.len() == 2;
            self.sink.push(if hub {
                d.help(format!("write `model {right}`")).edit(text.span, right)
            } else {
                d.help("write for example `model \"Qwen/Qwen3-8B\"`, or the path of a directory")
            });
        }
        // of `""org/M"` the second quote is what is wrong
        let doubled = self.modules.slice(text.span).starts_with("\"\"");
        if name.whole && !doubled && !name.text.trim().is_empty() && name.text.trim() != name.text {
            let message = "the model's name begins or ends with a space";
            let d = Diagnostic::new(Code::MissingInStudy, text.span, message).label("no such model");
            let right = format!("\"{}\"", name.text.trim());
            self.sink.push(d.help(format!("write {right}")).edit(text.span, right));
        }
        self.unexpanded(module, text.span, Of::Model);
        name.text
    }

    fn flag_values(
        &mut self,
        module: usize,
        flag: &ast::Flag,
        of: Option<&Engine>,
        make: impl Fn(String, Option<WrittenValue>) -> Change,
    ) -> Vec<Change> {
        let (name, launch) = (flag.name.value.clone(), of.is_some());
        self.secret_flag(flag, of);
        match &flag.value {
            None => vec![make(name, None)],
            Some(value) => {
                let written: Vec<_> =
                    singles(value).iter().filter_map(|s| self.written(module, s, launch)).collect();
                written.into_iter().map(|v| make(name.clone(), Some(v))).collect()
            }
        }
    }

    /// Whether an engine has a flag does not hang on a value that cannot be made out.
    fn name_alone(&mut self, name: &ast::Name, engine: &Engine) {
        if !matches!(engine.schema.find(&name.value, engine.version.as_deref()), Found::Known(..)) {
            let change = Change::Flag { name: name.value.clone(), value: None, span: name.span };
            self.check_change(&change, engine);
        }
    }

    /// A value with its params inserted; `None` where one cannot be, which has been said.
    pub(super) fn written(&mut self, module: usize, single: &Single, launch: bool) -> Option<WrittenValue> {
        let text = match single.kind {
            SingleKind::Text if self.quoted_json(single) => return None,
            SingleKind::Text => {
                let inserted = self.inserted_text(module, &single.text, single.span, launch);
                inserted.whole.then_some(inserted.text)?
            }
            SingleKind::Json => {
                self.doubled_keys(single.span);
                single.text.clone()
            }
            SingleKind::Word if self.second_sign(single) => return None,
            SingleKind::Word => single.text.clone(),
        };
        let text_of_launch = launch && single.kind == SingleKind::Text;
        let template = text_of_launch && template::waits_for_launch(&text);
        // what waits for nothing is the text that it stands for, here as in an axis
        let text = if text_of_launch && !template { template::single_braces(&text) } else { text };
        Some(WrittenValue { text, json: single.kind == SingleKind::Json, template, span: single.span })
    }

    /// `--flag==value`: the value would begin with the second sign.
    fn second_sign(&mut self, single: &Single) -> bool {
        let signs = single.text.len() - single.text.trim_start_matches('=').len();
        if signs == 0 {
            return false;
        }
        let span = Span { end: single.span.start + signs as u32, ..single.span };
        self.sink.push(second_sign(span));
        true
    }

    /// A key that stands twice in one object: which of the two was meant, nobody knows.
    fn doubled_keys(&mut self, json: Span) {
        let at = |r: std::ops::Range<usize>| {
            let start = json.start as usize;
            Span::new(json.file, start + r.start..start + r.end)
        };
        for doubled in doubled::keys(self.modules.slice(json)) {
            let d = Diagnostic::new(Code::FlagTwice, at(doubled.again), "the JSON object has this key twice");
            let d = d.label("the second one").related(at(doubled.first), "the first one");
            self.sink.push(d.help("keep one of them"));
        }
    }

    /// A JSON object in quotes, its braces read as inserting something: it stands without them.
    fn quoted_json(&mut self, single: &Single) -> bool {
        if !single.text.starts_with('{') || single.text.starts_with("{{") {
            return false;
        }
        let object = crate::lang::syntax::as_json(&single.text).filter(|(_, len)| *len == single.text.len());
        let Some((json, _)) = object else { return false };
        let message = "in a text, the braces of JSON insert params";
        let d = Diagnostic::new(Code::UnknownParam, single.span, message).label("a JSON object in quotes");
        let help = format!("write {json}, without quotes; in a text, braces are `{{{{` and `}}}}`");
        self.sink.push(d.help(help).edit(single.span, json));
        true
    }

    /// Whether a change is possible for an engine; what is not is reported at the change.
    pub fn check_change(&mut self, change: &Change, engine: &Engine) -> bool {
        let Change::Flag { name, value, span } = change else {
            if let Change::Raw { name, value: Some(value), .. } = change {
                self.unexpanded(0, value.span, Of::Flag(name));
            }
            return match change {
                Change::UnsetFlag { name, span } => {
                    self.check_unset(name, *span, std::slice::from_ref(&engine))
                }
                Change::Raw { name, span, .. } => self.check_raw(name, *span, engine),
                _ => true,
            };
        };
        match typed(&engine.schema, engine.version.as_deref(), name, value.as_ref()) {
            Ok(_) => {
                let problem = doubt(&engine.schema, engine.version.as_deref(), name, value.as_ref());
                if let Some(problem) = problem {
                    self.key_doubts(&problem, change, engine);
                } else if let Some(d) = unlisted(engine, name, value.as_ref()) {
                    self.sink.push(self.unexpanded_help(d, value.as_ref().map(|v| v.span)));
                } else if let Some(value) = value {
                    self.unexpanded(0, value.span, Of::Flag(name));
                }
                self.unchecked_keys(change, engine);
                true
            }
            // what would not be listed is not explained either: of each unknown name all others are candidates
            Err(_) if self.sink.is_full() => {
                self.sink.unexplained();
                false
            }
            Err(problem) => {
                let d = problem.diagnostic(name, *span, value.as_ref(), engine);
                let d = self.at_key(d, &problem, value.as_ref());
                let d = self.param_meant(d, value.as_ref());
                self.sink.push(self.unexpanded_help(d, value.as_ref().map(|v| v.span)));
                self.other_keys(&problem, change, engine);
                false
            }
        }
    }

    /// `--max-model-len=ctx`, where a param is called so: a bare word is itself.
    pub(super) fn param_meant(&self, d: Diagnostic, value: Option<&WrittenValue>) -> Diagnostic {
        let text = value.map_or("", |v| v.text.as_str());
        if d.code != Code::BadFlagValue || self.modules.home(d.span).find(ItemKind::Param, text).is_none() {
            return d;
        }
        let right = format!("\"{{{text}}}\"");
        let span = d.span;
        Diagnostic { edits: Vec::new(), ..d }
            .label("the name of a param")
            .help(format!("a param is inserted into a text: write `{right}`"))
            .edit(span, right)
    }

    /// What no base has and none can have cannot be unset: a schema knows it, or someone set it `raw`.
    pub fn check_unset(&mut self, name: &str, span: Span, engines: &[&Engine]) -> bool {
        let problem = Self::unset_problem(name, span, engines);
        let known = problem.is_none();
        if let Some(problem) = problem {
            // what no engine here can have is not set either
            self.sink.forget(|d| d.code == Code::UnsetNothing && d.span == span);
            self.sink.push(problem);
        }
        known
    }

    /// What is wrong with it, if none of the engines can have the flag.
    pub(super) fn unset_problem(name: &str, span: Span, engines: &[&Engine]) -> Option<Diagnostic> {
        let can_have = |e: &&Engine| {
            let schema = (&*e.schema, e.version.as_deref());
            let wanted = settings::flag_target(name, Some(schema));
            settings::knows(schema.0, schema.1, name) || e.flags.iter().any(|s| key(&s.canonical) == wanted)
        };
        let engine = engines.first()?;
        if engines.iter().any(can_have) {
            return None;
        }
        let problem = match engine.schema.find(name, engine.version.as_deref()) {
            Found::Elsewhere(elsewhere) => elsewhere.into(),
            _ => Problem::Unknown,
        };
        let d = problem.diagnostic(name, span, None, engine);
        Some(match problem {
            Problem::Unknown => {
                d.help("nothing that stands here can set it: mend the name, or remove the line")
            }
            // what it is called now is another thing to take away
            _ => {
                Diagnostic { edits: Vec::new(), ..d }.help("no engine here can have it set: remove the line")
            }
        })
    }

    fn check_raw(&mut self, name: &str, span: Span, engine: &Engine) -> bool {
        if !is_reserved(name) {
            return true;
        }
        self.sink.push(Problem::Reserved.diagnostic(name, span, None, engine));
        false
    }

    /// The same flag set twice in one engine or point, or set and unset; without an engine, under one spelling. A JSON flag and a
    /// key that it does not hold go together.
    pub fn twice(&mut self, changes: &[Change], engine: Option<&Engine>) {
        if changes.len() < 2 {
            return;
        }
        let mut seen = settings::Taken::default();
        for change in changes {
            let Some((d, first, span)) = taken_twice(&mut seen, change, engine) else { continue };
            // word for word the same: the second one says nothing
            let same = self.modules.text(span) == self.modules.text(first);
            self.sink.push(if same { d.edit(span, "") } else { d });
        }
    }

    /// The same for what is published; a line of it cannot lose its only change.
    pub fn published_twice(&mut self, published: &[(Change, String)], engine: &Engine) {
        let mut seen = settings::Taken::default();
        for (change, _) in published {
            if let Some((d, ..)) = taken_twice(&mut seen, change, Some(engine)) {
                self.sink.push(d);
            }
        }
    }

    /// The same for variables and the model, which are the same under every engine.
    pub fn variables_twice<'c>(&mut self, changes: impl IntoIterator<Item = &'c ast::Change>) {
        let mut seen: HashMap<&str, Span> = HashMap::new();
        for change in changes {
            let (what, name) = match &change.kind {
                ChangeKind::Env { name, .. } | ChangeKind::UnsetEnv(name) => {
                    ("variable", name.value.as_str())
                }
                ChangeKind::Model(_) => ("model", ""),
                _ => continue,
            };
            if let Some(first) = seen.get(name) {
                let message = format!("this sets the same {what} twice");
                let d = Diagnostic::new(Code::FlagTwice, change.span, message).label("the second one");
                self.sink.push(d.related(*first, "the first one").help("keep one of them"));
            } else {
                seen.insert(name, change.span);
            }
        }
    }
}

/// The second setting of a flag, with where the two stand.
fn taken_twice(
    seen: &mut settings::Taken,
    change: &Change,
    engine: Option<&Engine>,
) -> Option<(Diagnostic, Span, Span)> {
    let (first, message, span) = seen.take(change, engine)?;
    let d = Diagnostic::new(Code::FlagTwice, span, message).label("the second one");
    let help = match repeated(change, engine) {
        Some(name) => format!("one text holds all that it is given with: `{name}=\"one two\"`"),
        None => "keep one of them".to_owned(),
    };
    Some((d.related(first, "the first one").help(help), first, span))
}

/// The flag that a change sets, if its engine takes it more than once.
fn repeated<'c>(change: &'c Change, engine: Option<&Engine>) -> Option<&'c str> {
    let (Change::Flag { name, .. }, Some(engine)) = (change, engine) else { return None };
    let found = engine.schema.find(name, engine.version.as_deref());
    matches!(found, Found::Known(spec, _) if spec.repeated).then_some(name.as_str())
}

/// Where the list of a change stands, if it has one.
fn list_span(change: &ast::Change) -> Option<Span> {
    match super::axes::value_of(change) {
        Some(ast::Value::List(_, span)) => Some(*span),
        _ => None,
    }
}

pub(super) fn singles(value: &ast::Value) -> Vec<Single> {
    match value {
        ast::Value::Single(s) => vec![s.clone()],
        ast::Value::List(all, _) => all.clone(),
    }
}

/// What the serve line says is no flag of a configuration.
pub fn is_reserved(name: &str) -> bool {
    matches!(key(name).as_str(), "--host" | "--port" | "--uds" | "--model" | "--model-path")
}

pub fn set_env(env: &mut Vec<EnvSetting>, variable: &EnvSetting) {
    match env.iter_mut().find(|e| e.name == variable.name) {
        Some(old) => variable.clone_into(old),
        None => env.push(variable.clone()),
    }
}
