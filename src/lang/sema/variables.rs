//! Variables and flags that no study should set: what each launch is given by perflab, and secrets, as studies lie in git.

use super::check::Checker;
use super::keys::KeySource;
use super::program::Engine;
use super::schema::key;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic};
use crate::lang::of_launch::{OF_THE_LAUNCH, OF_THE_SITE};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{Flag, Item, Name, Single, Value};

impl Checker<'_> {
    /// A flag that is called like one that holds a secret, with a value beside it.
    pub(super) fn secret_flag(&mut self, flag: &Flag, of: Option<&Engine>) {
        let name = &flag.name.value;
        let Some(Value::Single(value)) = &flag.value else { return };
        let called = name.trim_start_matches('-').to_uppercase().replace('-', "_");
        if secret(&called) && !called.starts_with("NO_") && says_something(value) && !value.text.contains('{')
        {
            let message = format!("{name} holds a secret, and a study lies in git");
            let d = Diagnostic::new(Code::SecretInStudy, value.span, message).label("a secret");
            self.sink.push(d.help(instead(name, of)));
        }
    }

    /// A variable of an engine, an axis or a site.
    pub(super) fn settable(&mut self, name: &Name, values: &[Single], in_site: bool) {
        let mut of_site = OF_THE_SITE.iter().filter(|_| !in_site);
        let of_launch = OF_THE_LAUNCH.iter().find(|(n, ..)| *n == name.value);
        let label = if of_launch.is_some() { "set by every launch" } else { "a fact of the machine" };
        if let Some((_, why, help)) = of_launch.or_else(|| of_site.find(|(n, ..)| *n == name.value)) {
            if self.said_in_axis(Code::ReservedVariable, name) {
                return;
            }
            let message = format!("`{}` is not a study's to set: {why}", name.value);
            self.sink.push(
                Diagnostic::new(Code::ReservedVariable, name.span, message)
                    .about(About::Variable(name.value.clone()))
                    .label(label)
                    .help(*help),
            );
        } else if !in_site && secret(&name.value) && values.iter().any(says_something) {
            let message = format!("`{}` is a secret, and a study lies in git", name.value);
            // no `NAME=`: what is behind one is masked
            let help = "put this `env` line into a site file, which stays on the machine; a model that is fetched needs no token here";
            self.sink
                .push(Diagnostic::new(Code::SecretInStudy, name.span, message).label("a secret").help(help));
        } else {
            self.unread(name);
        }
    }

    /// Whether the same was said of a variable in another point of the same axis.
    pub(super) fn said_in_axis(&self, code: Code, name: &Name) -> bool {
        let items = self.modules.all.iter().flat_map(|m| &m.file.items);
        let mut axes = items.filter_map(|i| if let Item::Axis(a) = i { Some(a.span) } else { None });
        let holds = |s: &Span| s.file == name.span.file && s.range().contains(&(name.span.start as usize));
        let same = |d: &Diagnostic| {
            d.code == code && matches!(&d.about, About::Variable(said) if *said == name.value)
        };
        axes.find(holds).is_some_and(|axis| self.sink.in_span(axis).any(same))
    }
}

/// Whether a variable is called like one that holds a secret.
pub(super) fn secret(name: &str) -> bool {
    let last = name.rsplit('_').next().unwrap_or(name);
    matches!(
        last,
        "TOKEN" | "KEY" | "APIKEY" | "SECRET" | "PASSWORD" | "PASSWD" | "PASSPHRASE" | "CREDENTIALS"
    )
}

/// Not empty, and neither a number nor a switch: `VLLM_ONE_KEY=1` is none.
fn says_something(value: &Single) -> bool {
    let text = value.text.as_str();
    !text.is_empty() && text.parse::<f64>().is_err() && !matches!(text, "true" | "false" | "on" | "off")
}

/// Where a secret goes that a flag of this name holds.
fn instead(name: &str, of: Option<&Engine>) -> String {
    let keys = of.map(|e| e.key.as_slice()).unwrap_or_default();
    let variable =
        keys.iter().find_map(|k| if let KeySource::Env(name) = k { Some(name.as_str()) } else { None });
    let is_key = keys.iter().any(|k| matches!(k, KeySource::Flag { name: n, .. } if key(n) == key(name)));
    match (variable, of) {
        (Some(variable), _) if is_key => {
            format!("put the variable that the engine reads for it, {variable}, into a site file, which stays on the machine")
        }
        (None, Some(engine)) if is_key => {
            format!("leave it out: {} reads no variable for it, and perflab measures it as well without a key", engine.title)
        }
        _ if key(name) == "--hf-token" => {
            "put the variable HF_TOKEN into a site file, which stays on the machine".to_owned()
        }
        _ => "put the variable that the engine reads for it, if there is one, into a site file, which stays on the machine".to_owned(),
    }
}
