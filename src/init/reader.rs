//! A serve command's arguments, read as the engine itself would: which word is a value, which one the model.

use super::arguments::{Argument, Arguments, DEFAULT, WRONG};
use super::error::{InitError, variable};
use super::known::Engine;
use super::secret;
use super::shell::Word;
use super::value::plain;
use super::yaml;
use crate::lang::sema::problem::Problem;
use crate::lang::sema::program;
use crate::lang::sema::schema::{self, Elsewhere, Found, Kind, Schema};
use crate::lang::sema::typed::{doubt, typed};
use crate::lang::source::Span;

/// Reads the arguments under the engine's schema. Variables that are left open are named all at once.
pub fn read(engine: Engine, known: &program::Engine, words: &[Word]) -> Result<Arguments, InitError> {
    read_in_order(engine, known, words).map_err(|error| match error {
        InitError::Unset(first) => InitError::Unset(open(first, words)),
        other => other,
    })
}

/// The open variables of a command: the first that was met, then the others that are not the launch's own or secret.
fn open(first: String, words: &[Word]) -> String {
    let mut all = vec![first];
    for (i, word) in words.iter().enumerate() {
        let place = i
            .checked_sub(1)
            .is_some_and(|at| matches!(words[at].text.as_str(), "--host" | "--port" | "--uds"));
        let named = |n: &&String| !n.starts_with(['(', '{', '<']) && !place && !secret::variable(n);
        let Some(name) = word.missing.as_ref().filter(named) else { continue };
        let shown = variable(name);
        if !all.contains(&shown) {
            all.push(shown);
        }
    }
    all.join(", ")
}

/// A person's command has some dozens; each is looked up in every release.
const MOST_WORDS: usize = 2000;

fn read_in_order(engine: Engine, known: &program::Engine, all: &[Word]) -> Result<Arguments, InitError> {
    let mut reader = Reader {
        engine,
        known,
        schema: &known.schema,
        version: known.version.as_deref(),
        out: Arguments::default(),
        spare: None,
    };
    // what a script is given behind its own words
    let given = |w: &&Word| w.text.is_empty() && matches!(w.missing.as_deref(), Some("@" | "*"));
    let words: Vec<Word> = all.iter().filter(|w| !given(w)).cloned().collect();
    if words.len() > MOST_WORDS {
        let why = format!("it has {} words, more than any serve command", words.len());
        return Err(InitError::Inexpressible(why));
    }
    let mut at = 0;
    while at < words.len() {
        at += reader.one(&words, at)?;
    }
    if let Some(word) = all.iter().find(given) {
        if reader.out.model.is_empty() && reader.spare.is_none() {
            sound(Some(word))?;
        }
        let told = "`$@`: what the script itself is given, nothing here".to_owned();
        reader.out.left_out.push(told);
    }
    reader.finish()
}

struct Reader<'a> {
    engine: Engine,
    known: &'a program::Engine,
    schema: &'a Schema,
    version: Option<&'a str>,
    out: Arguments,
    /// an unknown flag whose value may have been the model
    spare: Option<usize>,
}

/// A flag's name under the schema.
struct Named {
    name: String,
    canonical: String,
    kind: Option<Kind>,
}

impl Reader<'_> {
    /// Reads what begins at a word, and says how many words that were.
    fn one(&mut self, words: &[Word], at: usize) -> Result<usize, InitError> {
        let word = &words[at];
        if !is_flag(&word.text) {
            self.positional(word)?;
            return Ok(1);
        }
        if word.text == "--" {
            return Ok(1);
        }
        let (written, glued) = match word.text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word.text.as_str(), None),
        };
        let following = words.get(at + 1).filter(|w| !is_flag(&w.text));
        if self.serve_decides(written) {
            self.out.place.extend(glued.clone().or_else(|| following.map(|w| w.text.clone())));
            return Ok(if glued.is_none() && following.is_some() { 2 } else { 1 });
        }
        if self.engine.model_options().contains(&written) {
            let Some(value) = glued.or_else(|| following.map(|w| w.text.clone())) else { return Ok(1) };
            sound(if word.missing.is_some() { Some(word) } else { following })?;
            value.clone_into(&mut self.out.model);
            self.out.model_option = Some(written.to_owned());
            return Ok(if word.text.contains('=') { 1 } else { 2 });
        }
        let level = self.level(written);
        let (written, glued) = level.as_ref().map_or((written, glued), |(flag, n)| (flag, Some(n.clone())));
        let named = self.named(written);
        let (value, used) = match (&named.kind, glued) {
            (_, Some(value)) => (Some(value), 1),
            // a switch has no value, and people give it one all the same
            (Some(Kind::Switch), None) if following.is_some_and(|w| is_bool(&w.text)) => {
                (following.map(|w| w.text.clone()), 2)
            }
            (Some(Kind::Switch), None) => (None, 1),
            (Some(Kind::Words), None) => gathered(&words[at + 1..]),
            (_, None) => (following.map(|w| w.text.clone()), 1 + usize::from(following.is_some())),
        };
        if let Some(text) = self.written_in_place(&named, &words[at..at + used]) {
            self.flag(named, Some(text));
            return Ok(used);
        }
        // a secret is left out, whatever it is
        let secret = secret::flag(&named.canonical, value.as_deref());
        for word in words[at..at + used].iter().filter(|_| !secret) {
            sound(Some(word))?;
        }
        self.flag(named, value);
        Ok(used)
    }

    /// `--extra_llm_api_options=<(echo '{"a": 1}')`: what stands in the file that a shell makes of it, of a flag whose file
    /// perflab writes.
    fn written_in_place(&self, named: &Named, words: &[Word]) -> Option<String> {
        let Found::Known(spec, _) = self.schema.find(&named.name, self.version) else { return None };
        let last = words.last().filter(|_| spec.file)?;
        let output = last.missing.as_deref()?.strip_prefix('<')?;
        let nothing_else = last.text.is_empty() || last.text.strip_prefix(&*named.name) == Some("=");
        let tree = yaml::tree(output).ok().filter(|tree| nothing_else && tree.is_object())?;
        Some(tree.to_string())
    }

    /// `-O3` of vLLM: the flag that it is short for, and the level. Releases before that flag have `-O` itself.
    fn level(&self, written: &str) -> Option<(&'static str, String)> {
        let level = written.strip_prefix("-O").filter(|l| !l.is_empty())?;
        let known = |flag: &&str| matches!(self.schema.find(flag, self.version), Found::Known(..));
        let flag = ["--optimization-level", "-O"].into_iter().find(known)?;
        level.chars().all(|c| c.is_ascii_digit()).then(|| (flag, level.to_owned()))
    }

    /// Words that the launch decides, or that would end it.
    fn serve_decides(&mut self, name: &str) -> bool {
        let name = schema::key(name);
        let told = match name.as_str() {
            "--host" | "--port" => "--host, --port: perflab chooses them for every launch",
            "--uds" => "--uds: perflab asks every launch at a host and port that it chooses",
            _ => return false,
        };
        if !self.out.left_out.iter().any(|l| l == told) {
            self.out.left_out.push(told.to_owned());
        }
        true
    }

    fn positional(&mut self, word: &Word) -> Result<(), InitError> {
        if self.out.model.is_empty() {
            sound(Some(word))?;
            self.out.model.clone_from(&word.text);
            self.out.model_option = None;
        } else if word.missing.is_some() {
            sound(Some(word))?;
        } else if !word.text.is_empty() {
            self.out.left_out.push(format!("`{}`: it belongs to no flag", plain(&word.text)));
        }
        Ok(())
    }

    /// The flag under its full name: argparse takes `--tp` for `--tp-size`.
    fn named(&self, written: &str) -> Named {
        let found = |name: &str| match self.schema.find(name, self.version) {
            Found::Known(spec, _) => Some((spec.names[0].clone(), spec.kind.clone())),
            _ => None,
        };
        if let Some((canonical, kind)) = found(written) {
            return Named { name: written.to_owned(), canonical, kind: Some(kind) };
        }
        if self.engine.abbreviates()
            && let [name] = self.schema.longer(written, self.version).as_slice()
            && let Some((canonical, kind)) = found(name)
        {
            return Named { name: (*name).to_owned(), canonical, kind: Some(kind) };
        }
        // what another version says of it tells at least whether it takes a value
        let kind = match self.schema.find(written, self.version) {
            Found::Elsewhere(Elsewhere::Later(spec) | Elsewhere::Earlier(spec)) => Some(spec.kind.clone()),
            _ => None,
        };
        Named { name: written.to_owned(), canonical: schema::key(written), kind }
    }

    fn flag(&mut self, named: Named, value: Option<String>) {
        let Named { name, canonical, kind } = named;
        if secret::flag(&canonical, value.as_deref()) {
            let note = format!("{name}: a secret, and a study lies in git");
            self.out.left_out.push(note);
            return;
        }
        let object =
            |v: &String| serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(v).is_ok();
        let json = kind == Some(Kind::Json)
            || canonical.contains('.')
            || kind == Some(Kind::Words) && value.as_ref().is_some_and(object);
        let value = value.map(|v| if kind_is_number(kind.as_ref()) { self.counted(&v) } else { v });
        let mut argument = Argument { name, canonical, value, json, raw: None, meant: None };
        (argument.raw, argument.meant) = self.refusal(&argument);
        // what is tried beside it is chosen by what was meant
        if let Some(meant) = argument.meant.as_deref().and_then(|m| m.split('=').next())
            && let Found::Known(spec, _) = self.schema.find(meant, self.version)
        {
            spec.names[0].clone_into(&mut argument.canonical);
        }
        if !argument.expressible() {
            self.out.left_out.push(format!("{}: it cannot be written as a flag", plain(&argument.name)));
            return;
        }
        if let Some(why) = argument.in_the_way() {
            self.out.published.push((argument, why));
            return;
        }
        // as in argparse, the last one counts
        let same =
            |a: &Argument| a.canonical == argument.canonical && a.meant.is_some() == argument.meant.is_some();
        if let Some(at) = self.out.flags.iter().position(same) {
            let known = self.schema.find(&argument.name, self.version);
            if matches!(known, Found::Known(spec, _) if spec.repeated) {
                let both = [self.out.flags[at].value.take(), argument.value];
                self.out.flags[at].value = Some(both.into_iter().flatten().collect::<Vec<_>>().join(" "));
                return;
            }
            let note = format!("{}: given twice, and the last one is kept", self.out.flags[at].text());
            self.out.left_out.push(note);
            self.out.flags[at] = argument;
            return;
        }
        if kind.is_none() && argument.value.is_some() {
            self.spare = Some(self.out.flags.len());
        }
        self.out.flags.push(argument);
    }

    /// vLLM takes `32K` for 32 times 1024; the language has `32Ki` for that.
    fn counted(&self, value: &str) -> String {
        match value.strip_suffix(['K', 'M', 'G']) {
            Some(digits) if self.engine == Engine::Vllm && digits.parse::<f64>().is_ok() => {
                format!("{value}i")
            }
            _ => value.to_owned(),
        }
    }

    /// Why a flag cannot be checked by the schema, in a few words, and what was meant by it.
    fn refusal(&self, argument: &Argument) -> (Option<String>, Option<String>) {
        let written = argument.written();
        let name = &argument.name;
        let problem = match typed(self.schema, self.version, name, written.as_ref()) {
            Ok(setting) => {
                let Some(problem) = doubt(self.schema, self.version, name, written.as_ref()) else {
                    let default = self.schema.default(&setting.canonical, self.version);
                    let same = default.is_some_and(|d| d.normal() == setting.value.normal());
                    return (same.then(|| DEFAULT.to_owned()), None);
                };
                problem
            }
            Err(problem) => problem,
        };
        let why = match problem {
            Problem::NotYet(since) => format!("new in {since}, passed on unchecked"),
            Problem::NoLonger(until) => format!("gone in {until}, passed on unchecked"),
            // the library leaves out what names a model
            _ if self.engine == Engine::LlamaCpp && matches!(name.as_str(), "-hff" | "--hf-file") => {
                "a file of the model's repository, passed on unchecked".to_owned()
            }
            _ if matches!(self.schema.find(name, self.version), Found::Unknown) => {
                let said = problem.diagnostic(name, Span::default(), written.as_ref(), self.known);
                // a slip is the checker's to explain: passed on, it would stop every launch
                if Problem::suggests(&said) {
                    return (Some(WRONG.to_owned()), said.edits.into_iter().next().map(|e| e.text));
                }
                "unknown to the schema, passed on unchecked".to_owned()
            }
            _ => WRONG.to_owned(),
        };
        (Some(why), None)
    }

    fn finish(mut self) -> Result<Arguments, InitError> {
        if self.out.model.is_empty()
            && let Some(at) = self.spare
            && let Some(model) = self.out.flags[at].value.take()
        {
            self.out.model = model;
        }
        if self.out.model.trim().is_empty() {
            return Err(InitError::NoModel);
        }
        if self.out.model.contains(['\n', '\r']) {
            return Err(InitError::Inexpressible("the model's name has more than one line".to_owned()));
        }
        Ok(self.out)
    }
}

/// No variable in the word is left open, unless it is a secret, which is left out anyway.
fn sound(word: Option<&Word>) -> Result<(), InitError> {
    match word.and_then(|w| w.missing.clone()) {
        Some(name) if !secret::variable(&name) => Err(InitError::open(&name)),
        _ => Ok(()),
    }
}

fn is_bool(word: &str) -> bool {
    matches!(word, "true" | "false" | "True" | "False")
}

fn kind_is_number(kind: Option<&Kind>) -> bool {
    matches!(kind, Some(Kind::Int { .. } | Kind::Float { .. }))
}

/// All words up to the next flag, as one value.
fn gathered(words: &[Word]) -> (Option<String>, usize) {
    let all: Vec<&str> = words.iter().map(|w| w.text.as_str()).take_while(|w| !is_flag(w)).collect();
    ((!all.is_empty()).then(|| all.join(" ")), 1 + all.len())
}

/// A flag, and not a negative number.
fn is_flag(word: &str) -> bool {
    let rest = word.trim_start_matches('-');
    word.starts_with('-') && word != "-" && !rest.starts_with(|c: char| c.is_ascii_digit() || c == '.')
}

#[cfg(test)]
mod tests;
