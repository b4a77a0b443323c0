//! The name under which a server answers: the load asks for the model by its own, and a server that knows it by another only may
//! refuse every request.

use super::check::Checker;
use super::program::{Change, Engine};
use super::schema::{Found, key};
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;

/// Flags that give the model another name.
const NAMES: [&str; 2] = ["--served-model-name", "--alias"];

/// Whether a flag by its own name is one of them.
pub fn renames(name: &str) -> bool {
    NAMES.contains(&key(name).as_str())
}

impl Checker<'_> {
    /// Warns of a change under which the server may not know the model by its name.
    pub fn served_name(&mut self, change: &Change, engine: &Engine) {
        let (Change::Flag { name, value: Some(value), span }
        | Change::Raw { name, value: Some(value), span }) = change
        else {
            return;
        };
        let canonical = match engine.schema.find(name, engine.version.as_deref()) {
            Found::Known(spec, _) => key(&spec.names[0]),
            _ => key(name),
        };
        let own = |w: &str| w == "{model}" || engine.model.as_deref() == Some(w);
        if !NAMES.contains(&canonical.as_str()) || value.text.split_whitespace().any(own) {
            return;
        }
        let message = format!("{name} gives the model another name, and the load asks for its own");
        let help = format!(
            "clients' names belong to the command that is recommended: `publish {name}=… because \"clients ask for it\"`; \
             or write {name}=\"{{model}}\""
        );
        let d = Diagnostic::new(Code::ServedName, *span, message).label("may answer no request");
        self.sink.push(d.help(help));
    }
}
