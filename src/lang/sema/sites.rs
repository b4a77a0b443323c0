//! Sites: how engines are launched on one machine, where models and data lie, what it costs. Nothing in a site must be used by a
//! study, as one site serves many.

use foldhash::{HashMap, HashMapExt};

use super::check::Checker;
use super::images::is_image;
use super::program::{BoxRuntime, Boxed, EnvSetting, Site, SiteEngine, Via};
use super::scope::Kind;
use super::unexpanded::Of;
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, did_you_mean, one_of, same_digits};
use crate::lang::source::Span;
use crate::lang::stdlib;
use crate::lang::syntax::DATA;
use crate::lang::syntax::ast::{self, Name, SingleKind, SiteLineKind as Line, Text, Value};
use crate::lang::units::Dim;

const METHODS: [&str; 5] = ["path", "venv", "docker", "podman", "url"];

impl Checker<'_> {
    pub fn site(&mut self, module: usize, decl: &ast::Site) -> Site {
        let mut site = Site { name: decl.name.value.clone(), ..Site::default() };
        let mut seen: HashMap<String, Span> = HashMap::new();
        for line in &decl.lines {
            let what = said(&line.kind);
            if let Some(first) = seen.get(&what) {
                let message = format!("the site says twice {what}");
                let d = Diagnostic::new(Code::SettingTwice, line.span, message).label("the second one");
                self.sink.push(d.related(*first, "the first one").help("keep one of them"));
                continue;
            }
            seen.insert(what, line.span);
            self.site_line(module, &line.kind, &mut site);
        }
        site
    }

    fn site_line(&mut self, module: usize, line: &Line, site: &mut Site) {
        match line {
            Line::Engine { name, version, via, argument } => {
                self.nearly_an_engine(module, name);
                if let Some(version) = version {
                    self.site_version(module, &name.value, version);
                }
                let version = version.as_ref().map(|v| self.inserted(module, v, false));
                if let Some(via) = self.via(module, via, argument.as_ref()) {
                    site.engines.push(SiteEngine { name: name.value.clone(), version, via });
                }
            }
            Line::Model { model, at } => {
                let model = self.inserted(module, model, false);
                let at = self.placed_at(module, at);
                site.models.insert(model, at);
            }
            Line::Data { data, at } => {
                self.data_set(data);
                let at = self.placed_at(module, at);
                site.data.insert(data.value.clone(), at);
            }
            Line::Env { name, value } => self.site_variable(module, name, value, site),
            Line::Price(n) => {
                site.price_per_s = self.positive(n, Dim::MONEY_RATE, "the price of a GPU");
            }
            Line::Runner { name, .. } => {
                self.say_later(&format!("`runner {}`", name.value), name.span, false);
                site.runner = Some(name.value.clone());
            }
        }
    }

    /// Where a model or data lie on this machine.
    fn placed_at(&mut self, module: usize, at: &Text) -> String {
        let help = "write its directory or file on this machine, or leave the line out";
        self.unexpanded(module, at.span, Of::Site);
        self.said(module, at, Code::EngineSetting, "the path", help)
    }

    /// A site serves many studies, so an engine that nothing here declares is no mistake; one whose name is that of an engine
    /// of the standard library or of this file but for a slip surely is.
    fn nearly_an_engine(&mut self, module: usize, name: &Name) {
        let library: Vec<String> = stdlib::items("engines").into_iter().map(|i| i.name).collect();
        let m = self.module(module);
        // a number in a name tells two engines apart
        let own = m.names(Kind::Engine).into_iter().filter(|n| same_digits(n, &name.value));
        let known = library.iter().map(String::as_str).chain(own);
        let declared = m.find(Kind::Engine, &name.value).is_some() || m.is_lost(Kind::Engine, &name.value);
        if declared || known.clone().any(|k| k == name.value) {
            return;
        }
        // `vllm_2` is a name that somebody gave
        if let Some(near) = did_you_mean(&name.value, known).filter(|near| !name.value.starts_with(near)) {
            let message = format!("no engine here or in the standard library is called `{}`", name.value);
            let d = Diagnostic::new(Code::SiteEngine, name.span, message).suggest(near);
            self.sink.push(
                d.help(format!("write `{near}`; until then this line is for engines of other studies")),
            );
        }
    }

    /// A data set that profiles can name.
    fn data_set(&mut self, name: &Name) {
        if !DATA.contains(&name.value.as_str()) {
            let message = format!("no data set is called `{}`", name.value);
            let d = Diagnostic::new(Code::UnknownName, name.span, message);
            let d = d.meant(&name.value, DATA, "not known", str::to_owned);
            self.sink.push(d.help(format!("data sets are {}", DATA.join(", "))));
        }
    }

    fn site_variable(&mut self, module: usize, name: &Name, value: &Value, site: &mut Site) {
        match value {
            Value::List(_, span) => {
                let message = "a list of values stands for the points of an axis";
                let d = Diagnostic::new(Code::ListOutsideAxis, *span, message).label("a list here");
                self.sink.push(d.help("give the variable one value"));
            }
            Value::Single(single) => {
                self.settable(name, std::slice::from_ref(single), true);
                self.unexpanded(module, single.span, Of::Site);
                let text = match single.kind {
                    SingleKind::Text => self.inserted_text(module, &single.text, single.span, false).text,
                    SingleKind::Json | SingleKind::Word => single.text.clone(),
                };
                site.env.push(EnvSetting { name: name.value.clone(), value: text, template: false });
            }
        }
    }

    fn via(&mut self, module: usize, method: &Name, argument: Option<&Text>) -> Option<Via> {
        if let Some(argument) = argument {
            self.unexpanded(module, argument.span, Of::Site);
        }
        let given = argument.map(|a| (self.inserted(module, a, false), a.span));
        let mut wrong = |span: Span, message: String, help: &str| {
            self.sink.push(
                Diagnostic::new(Code::EngineSetting, span, message).label("how it is launched").help(help),
            );
            None
        };
        match (method.value.as_str(), given) {
            ("path", None) => Some(Via::Path),
            ("venv", Some((dir, _))) if !dir.is_empty() => Some(Via::Venv(dir)),
            ("url", Some((url, span))) => server(&url).map(Via::Url).or_else(|| {
                let message = format!("`{url}` is not the address of a server");
                wrong(span, message, "write scheme, host and port: `via url \"http://localhost:8000\"`")
            }),
            ("docker" | "podman", Some((image, span))) if !is_image(&image) => {
                let message = format!("`{image}` is not the name of an image");
                wrong(span, message, "write it as `docker run` takes it: `\"vllm/vllm-openai:v0.17.1\"`")
            }
            (name @ ("docker" | "podman"), image) => {
                let runtime = if name == "docker" { BoxRuntime::Docker } else { BoxRuntime::Podman };
                Some(Via::Container(Boxed { runtime, image: image.map(|(image, _)| image) }))
            }
            ("venv", _) => {
                let message = "`via venv` needs a directory".to_owned();
                wrong(method.span, message, "write it after: `via venv \"~/venvs/vllm\"`")
            }
            ("url", None) => {
                let message = "`via url` needs the address of a server".to_owned();
                wrong(method.span, message, "write it after: `via url \"http://localhost:8000\"`")
            }
            ("path", Some((_, span))) => {
                let message = "`via path` takes nothing more".to_owned();
                wrong(span, message, "remove it, or write `via venv \"DIR\"` or `via url \"URL\"`")
            }
            (unknown, _) => {
                let message = format!("no launch method is called `{unknown}`");
                let d = Diagnostic::new(Code::EngineSetting, method.span, message);
                let d = d.meant(unknown, METHODS, "how it is launched", str::to_owned);
                self.sink.push(d.help(format!("there is {}", one_of(&METHODS))));
                None
            }
        }
    }
}

/// An address without what follows host and port; only those can be asked.
fn server(url: &str) -> Option<String> {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"))?;
    let host = rest.trim_end_matches('/');
    let plain = !host.is_empty() && !host.contains(['/', '?', '#', ' ', '@']);
    // of `[::1]` the colons are the host's
    let port = host.rsplit_once(':').map(|(_, port)| port).filter(|port| !port.ends_with(']'));
    let has_port =
        port.is_none_or(|port| !port.starts_with('+') && port.parse::<u16>().is_ok_and(|port| port > 0));
    (plain && has_port).then(|| url.trim_end_matches('/').to_owned())
}

/// What a line is about, in words: a second line about it is a mistake.
fn said(line: &Line) -> String {
    match line {
        Line::Engine { name, version: None, .. } => format!("how `{}` is launched", name.value),
        Line::Engine { name, version: Some(v), .. } => {
            format!("how `{}` {} is launched", name.value, v.value)
        }
        Line::Model { model, .. } => format!("where the model `{}` is", model.value),
        Line::Data { data, .. } => format!("where the data `{}` are", data.value),
        Line::Env { name, .. } => format!("what `{}` is", name.value),
        Line::Price(_) => "what a GPU costs".to_owned(),
        Line::Runner { name, .. } => format!("what the runner `{}` is told", name.value),
    }
}
