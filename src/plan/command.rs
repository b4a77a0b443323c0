//! The command of a configuration: as it is launched, and as people copy it (without host and port).

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::config::Config;
use super::shell::{self, quote};
use crate::lang::sema::problem::Problem;
use crate::lang::sema::program::{Change, EnvSetting};
use crate::lang::sema::schema::{Setting, Split, sorted};
use crate::lang::sema::worded;
use crate::secrets::{mask_value, mask_words};

/// What stands for an address that nobody knows yet: whoever runs the command has one of his own.
pub const HOST: &str = "<host>";
pub const PORT: &str = "<port>";

/// Words to run, and the environment that goes with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub argv: Vec<String>,
    pub env: Vec<(String, String)>,
}

/// What a launch inserts into a serve line.
#[derive(Debug, Clone, Copy)]
pub struct Address<'a> {
    pub host: &'a str,
    pub port: u16,
    /// what stands for the model in the serve line: its name, or where it lies on this machine
    pub model: &'a str,
    /// where the launch keeps the files that flags take their objects from
    pub files: &'a Path,
}

/// A file that a launch writes for a flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionFile {
    pub path: PathBuf,
    /// JSON, which is YAML too
    pub text: String,
}

/// What `publish` made of a measured command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    pub command: Command,
    pub added: Vec<String>,
    pub hidden: Vec<String>,
}

/// The command that people copy: the serve words that hold `{host}` or `{port}` are left out with the option before them. In a text for a
/// shell, and where they stand alone, so that their place is what they mean, they are for people to fill in.
pub fn to_copy(config: &Config) -> Command {
    let mut env = env(config, None);
    for (name, value) in &mut env {
        *value = mask_value(name, value).into_owned();
    }
    Command { argv: in_files(config, mask_words(words(config, None))), env }
}

/// All words as they are launched, also those that hold `{host}` or `{port}`, which stand as such: for who looks what they name, as a text
/// for a shell does.
pub fn to_read(config: &Config) -> Vec<String> {
    let words = shell_words::split(&config.engine.serve).unwrap_or_default();
    let serve = words.iter().map(|word| insert(word, config, None));
    mask_words(serve.chain(flag_words(config, None)).collect())
}

/// The files that the command of [`to_launch`] names.
pub fn files(config: &Config, address: Address<'_>) -> Vec<OptionFile> {
    let all = config.flags().filter(|setting| setting.file);
    let text = |s: &Setting| with_names(s, config, Some(address)).shown;
    all.filter_map(|s| Some(OptionFile { path: file_of(s, address), text: text(s)? })).collect()
}

/// What the files of [`files`] hold, wherever they lie, each with the name of its flag.
pub fn objects(config: &Config) -> Vec<(&str, String)> {
    let all = config.flags().filter(|setting| setting.file);
    all.filter_map(|s| Some((s.canonical.as_str(), with_names(s, config, None).shown?))).collect()
}

/// Where the object of a flag stands in a launch's directory.
fn file_of(setting: &Setting, address: Address<'_>) -> PathBuf {
    address.files.join(format!("{}.yaml", setting.canonical.trim_start_matches('-')))
}

/// The object of a flag as what makes its file, wherever the flag stands among the words.
pub(super) fn in_file(setting: &Setting, words: &mut [String]) {
    let joined = format!("{}=", setting.spelled);
    let Some(at) = words.iter().position(|w| *w == setting.spelled || w.starts_with(&joined)) else { return };
    if let Some(object) = words[at].strip_prefix(&joined) {
        words[at] = format!("{joined}{}", shell::file_of(object));
    } else if let Some(object) = words.get_mut(at + 1) {
        *object = shell::file_of(object);
    }
}

/// Words in which objects that belong into files stand as such, for a shell to make the files.
fn in_files(config: &Config, mut words: Vec<String>) -> Vec<String> {
    config.flags().filter(|setting| setting.file).for_each(|setting| in_file(setting, &mut words));
    words
}

/// The command that is launched.
pub fn to_launch(config: &Config, address: Address<'_>) -> Command {
    Command { argv: words(config, Some(address)), env: env(config, Some(address)) }
}

/// The recommended command: what the engine's `publish` adds or hides is applied.
pub fn published(config: &Config) -> Published {
    let mut shown = config.clone();
    let (mut added, mut hidden) = (Vec::new(), Vec::new());
    for p in &config.engine.publish {
        let before = shown.clone();
        // what cannot be published was reported when the file was checked
        let _: Result<(), Problem> = shown.set(&p.change);
        match &p.change {
            Change::UnsetFlag { .. } | Change::UnsetEnv(_) => {
                let gone = before.difference(&shown).into_iter().filter(|d| !d.starts_with("without "));
                hidden.extend(gone);
            }
            _ => added.extend(shown.difference(&before)),
        }
    }
    Published { command: to_copy(&shown), added, hidden }
}

/// The configuration that the recommended command is of: the measured one with its engine's `publish` applied.
pub fn published_config(config: &Config) -> Config {
    let mut shown = config.clone();
    for p in &config.engine.publish {
        // what cannot be published was reported when the file was checked
        let _: Result<(), Problem> = shown.set(&p.change);
    }
    shown
}

/// The variables; without an address `<host>` and `<port>` stand in its place.
pub fn env(config: &Config, address: Option<Address<'_>>) -> Vec<(String, String)> {
    let by_name = address.map(|a| Address { model: &config.model, ..a });
    let value = |e: &EnvSetting| if e.template { insert(&e.value, config, by_name) } else { e.value.clone() };
    config.env().iter().map(|e| (e.name.clone(), value(e))).collect()
}

/// The value of a flag as it stands in the command, by the flag's first spelling.
pub fn flag_value(config: &Config, canonical: &str) -> Option<String> {
    let setting = config.flags().find(|f| f.canonical == canonical)?;
    inserted(setting, config, None).shown
}

/// A variable as it will read, with `<host>` and `<port>` where only the launch knows them.
pub fn normal_variable<'c>(variable: &'c EnvSetting, config: &Config) -> Cow<'c, str> {
    if !variable.template {
        return Cow::Borrowed(&variable.value);
    }
    Cow::Owned(insert(&variable.value, config, None))
}

fn serve_words(config: &Config, address: Option<Address<'_>>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for word in shell_words::split(&config.engine.serve).unwrap_or_default() {
        let places = word.contains("{host}") || word.contains("{port}");
        // a text for a shell is more than that
        if places && address.is_none() && !word.contains(char::is_whitespace) {
            let is_option = |o: &String| o.starts_with('-') && !o.contains('=') && o != "--";
            let after_option = out.len() > 1 && out.last().is_some_and(is_option);
            if word.starts_with('-') {
                continue;
            } else if after_option {
                out.pop();
                continue;
            }
        }
        out.push(insert(&word, config, address));
    }
    out
}

fn words(config: &Config, address: Option<Address<'_>>) -> Vec<String> {
    let mut out = serve_words(config, address);
    out.extend(flag_words(config, address));
    out
}

fn flag_words(config: &Config, address: Option<Address<'_>>) -> Vec<String> {
    let of = |setting| setting_words(&inserted(setting, config, address), config.engine.joined);
    config.flags().flat_map(of).collect()
}

/// A setting as its command has it: with what a launch knows, and its object in a file.
fn inserted(setting: &Setting, config: &Config, address: Option<Address<'_>>) -> Setting {
    let mut setting = with_names(setting, config, address);
    if let Some(address) = address.filter(|_| setting.file) {
        setting.shown = Some(file_of(&setting, address).to_string_lossy().into_owned());
    }
    setting
}

/// A setting with what a launch knows.
fn with_names(setting: &Setting, config: &Config, address: Option<Address<'_>>) -> Setting {
    let mut setting = setting.clone();
    if setting.template {
        // in a flag the model is a name, also where it lies somewhere
        let by_name = address.map(|a| Address { model: &config.model, ..a });
        setting.shown = setting.shown.map(|s| insert(&s, config, by_name));
    }
    setting
}

/// The command that people copy as one line of shell: environment, serve words, flags.
pub fn line(config: &Config) -> String {
    let mut out = String::with_capacity(256);
    for (name, value) in env(config, None) {
        out.push_str(&name);
        out.push('=');
        out.push_str(&quote(&mask_value(&name, &value)));
        out.push(' ');
    }
    out.push_str(config.serve_line());
    for held in config.held() {
        out.push(' ');
        if held.setting.template {
            let words = setting_words(&inserted(&held.setting, config, None), config.engine.joined);
            let words = in_files(config, mask_words(words));
            out.push_str(&words.iter().map(|w| quote(w)).collect::<Vec<_>>().join(" "));
        } else {
            out.push_str(held.typed());
        }
    }
    out
}

/// The words of the serve line alone, as people copy them.
pub(super) fn serve_line(config: &Config) -> String {
    mask_words(serve_words(config, None)).iter().map(|w| quote(w)).collect::<Vec<_>>().join(" ")
}

/// One flag as the words of a command.
pub fn setting_words(setting: &Setting, joined: bool) -> Vec<String> {
    let flag = setting.spelled.clone();
    match &setting.shown {
        None => vec![flag],
        Some(value) => match setting.split {
            Split::Whole => with_value(flag, value, joined),
            Split::Words => std::iter::once(flag).chain(worded::split(value).map(str::to_owned)).collect(),
            Split::Repeated => {
                worded::split(value).flat_map(|word| with_value(flag.clone(), word, joined)).collect()
            }
        },
    }
}

fn with_value(flag: String, value: &str, joined: bool) -> Vec<String> {
    if joined { vec![format!("{flag}={value}")] } else { vec![flag, value.to_owned()] }
}

/// A template as it will read; where it holds an address that only the launch knows, as a form that no text has.
pub fn normal_template(text: &str, config: &Config) -> serde_json::Value {
    let read = insert(text, config, None);
    if text.contains("{host}") || text.contains("{port}") {
        serde_json::json!({"template": read})
    } else {
        read.into()
    }
}

/// JSON as it will read. Where it holds an address that only the launch knows, or a name breaks it, it goes by its text.
pub fn normal_json(text: &str, config: &Config) -> serde_json::Value {
    let read = normal_template(text, config);
    let json = read.as_str().and_then(|t| serde_json::from_str(t).ok());
    json.map_or(read, |json| sorted(&json))
}

/// Inserts what a launch knows; `{{` and `}}` are braces.
fn insert(text: &str, config: &Config, address: Option<Address<'_>>) -> String {
    let port = address.map_or_else(|| PORT.to_owned(), |a| a.port.to_string());
    let version = config.engine.version.clone().unwrap_or_default();
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let tail = &rest[at..];
        let (piece, len) = match tail {
            t if t.starts_with("{{") => ("{", 2),
            t if t.starts_with("}}") => ("}", 2),
            t if t.starts_with("{model}") => (address.map_or(config.model.as_str(), |a| a.model), 7),
            t if t.starts_with("{host}") => (address.map_or(HOST, |a| a.host), 6),
            t if t.starts_with("{port}") => (port.as_str(), 6),
            t if t.starts_with("{version}") => (version.as_str(), 9),
            t => (&t[..1], 1),
        };
        out.push_str(piece);
        rest = &tail[len..];
    }
    out.push_str(rest);
    out
}
