//! Releases: those that an engine's schema names, each once, each one that there can be, and flags only of those that it was read
//! from; and the one that an engine says it is of.

use std::cmp::Ordering;

use super::check::Checker;
use super::declares::never_there;
use super::program::Engine as Program;
use super::versions::compare_versions;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{Engine, EngineLineKind as Line, FlagDecl, Text};

/// The number in what is a range of releases, `>=0.17.1` or `0.17.x`, or has spaces around it.
fn one_release(version: &str) -> Option<&str> {
    let one = version.trim_matches(|c: char| c.is_whitespace() || "<>=~^!*".contains(c));
    let one = one.strip_suffix(".x").unwrap_or(one).trim_end_matches('.');
    let one = one.split([',', '|', ' ']).next().unwrap_or(one);
    (one != version && !one.is_empty()).then_some(one)
}

/// The newest release that a number is, or is the beginning of.
fn known_release<'a>(one: &str, versions: &'a [String]) -> Option<&'a str> {
    let within = |v: &&String| **v == one || v.strip_prefix(one).is_some_and(|rest| rest.starts_with('.'));
    versions.iter().rev().find(within).map(String::as_str)
}

/// A version where it is stated.
struct Said<'a> {
    text: &'a str,
    span: Span,
    /// nothing is inserted into it
    plain: bool,
    /// of what
    title: &'a str,
    /// what stands before it
    line: &'a str,
}

impl Checker<'_> {
    /// `versions`, and the `since` and `until` of the flags beside it.
    pub fn versions_named(&mut self, decl: &Engine, flags: &[&FlagDecl]) {
        let lists =
            || decl.lines.iter().filter_map(|l| if let Line::Versions(v) = &l.kind { Some(v) } else { None });
        let versions: Vec<&Text> = lists().flatten().collect();
        // a second line of them is told as such
        let listed = lists().next().map(Vec::as_slice).unwrap_or_default();
        for (i, version) in listed.iter().enumerate() {
            let first = listed[..i].iter().find(|v| compare_versions(&v.value, &version.value).is_eq());
            if let Some(first) = first {
                let message = format!("the version {} stands twice", version.value);
                let d = Diagnostic::new(Code::SettingTwice, version.span, message).label("the second one");
                self.sink.push(d.related(first.span, "the first one").help("name each version once"));
            }
        }
        let bounds = flags.iter().flat_map(|f| f.since.iter().chain(&f.until));
        for text in versions.iter().copied().chain(bounds).filter(|t| !is_version(&t.value)) {
            let message = format!("`{}` is no version", text.value);
            let d = Diagnostic::new(Code::EngineSetting, text.span, message).label("not a version");
            self.sink.push(d.help("write it as the engine prints it: `\"0.17.1\"`"));
        }
        if !versions.is_empty() {
            flags.iter().filter(|f| !never_there(f)).for_each(|f| self.of_some_version(f, &versions));
        }
    }

    /// A flag that is gone with the first of `versions`, or comes after the last one, is of none of them.
    fn of_some_version(&mut self, flag: &FlagDecl, versions: &[&Text]) {
        let each = |text: &Text, is: fn(Ordering) -> bool| {
            is_version(&text.value) && versions.iter().all(|v| is(compare_versions(&v.value, &text.value)))
        };
        let since = flag.since.as_ref().filter(|since| each(since, Ordering::is_lt));
        let until = flag.until.as_ref().filter(|until| each(until, Ordering::is_ge));
        let since = since.map(|t| {
            let help = "name the version in `versions` too, or mend the `since`";
            (t, "after all of `versions`", About::BeyondVersions, help)
        });
        let until = until.map(|t| {
            let help = "`until` names the first release that lacks the flag: name an older version in `versions` too, or mend the `until`";
            (t, "not after any of `versions`", About::BeforeVersions, help)
        });
        for (text, label, about, help) in since.into_iter().chain(until) {
            let message = "no version of the schema has this flag";
            let d = Diagnostic::new(Code::EngineSetting, text.span, message);
            self.sink.push(d.label(label).about(about).help(help));
        }
    }

    /// `versions "0.17.1"` in an engine that declares no flags: it would have none, and `version` was meant. What it inherits stays.
    pub fn version_meant(&mut self, decl: &Engine, declared: &[&FlagDecl]) -> bool {
        let line =
            decl.lines.iter().find_map(|l| if let Line::Versions(v) = &l.kind { Some((l, v)) } else { None });
        let Some((line, versions)) = line.filter(|_| declared.is_empty() && decl.unread_flags.is_empty())
        else {
            return false;
        };
        let span = Span { end: line.span.start + "versions".len() as u32, ..line.span };
        let message = "`versions` names what flags were read from, and no flags are declared here";
        let d = Diagnostic::new(Code::EngineSetting, span, message).suggest("version");
        let help = "write `version \"…\"` for the release that is started";
        let states_one = decl.lines.iter().any(|l| matches!(l.kind, Line::Version(_)));
        self.sink.push(match versions.as_slice() {
            [_] if !states_one => d.help(help).edit(span, "version"),
            _ => d.help(help),
        });
        true
    }

    /// The version that an engine states, as the engine prints it.
    pub fn version(&mut self, module: usize, text: &Text, engine: &Program) -> Option<String> {
        let version = self.inserted_text(module, &text.value, text.span, false);
        if !version.whole {
            return None;
        }
        if version.text.trim().is_empty() {
            let d =
                Diagnostic::new(Code::EngineSetting, text.span, "the version is empty").label("no version");
            self.sink
                .push(d.help("write it as the engine prints it: `version \"0.17.1\"`, or remove the line"));
            return None;
        }
        let versions = engine.schema.versions();
        // where releases are numbered, `v0.17.1` is the tag of one
        let numbered = versions.iter().any(|v| v.starts_with(|c: char| c.is_ascii_digit()));
        let plain = text.value == version.text;
        let said =
            Said { text: &version.text, span: text.span, plain, title: &engine.title, line: "version" };
        if self.is_range(&said, versions) {
            return one_release(&version.text)
                .and_then(|one| known_release(one, versions))
                .map(str::to_owned);
        }
        if numbered {
            self.is_tag(&said);
        }
        // builds are tagged `b11434` and call themselves `11434`: one release is one version
        let digits = |v: &str| !v.is_empty() && v.chars().all(|c| c.is_ascii_digit());
        let build = version.text.strip_prefix('b').filter(|n| digits(n));
        if let Some(number) = build.filter(|_| engine.schema.versions().iter().any(|v| digits(v))) {
            return Some(number.to_owned());
        }
        Some(version.text)
    }

    /// The version that a site's line is about: one that no engine can state never matches, and another launch would be taken.
    pub fn site_version(&mut self, module: usize, engine: &str, text: &Text) {
        let version = self.inserted_text(module, &text.value, text.span, false);
        if !version.whole {
            return;
        }
        let (plain, line) = (text.value == version.text, format!("engine {engine}"));
        let said = Said { text: &version.text, span: text.span, plain, title: engine, line: &line };
        if !self.is_range(&said, &[]) {
            self.is_tag(&said);
        }
    }

    /// `>=0.17.1`, which names no release that can be started.
    fn is_range(&mut self, said: &Said<'_>, versions: &[String]) -> bool {
        let Some(one) = one_release(said.text) else { return false };
        let exactly = said.text.trim() == one || said.text.trim_start_matches('=') == one;
        let message = format!("`{}` is not one release", said.text);
        let d = Diagnostic::new(Code::EngineSetting, said.span, message).label("which one is started?");
        let help = "write the release that is started, as the engine prints it";
        let Some(right) = (if exactly { Some(one) } else { known_release(one, versions) }) else {
            self.sink.push(d.help(help));
            return true;
        };
        let right = format!("\"{right}\"");
        let d = d.help(format!("{help}: `{} {right}`", said.line));
        self.sink.push(if exactly && said.plain { d.edit(said.span, right) } else { d });
        true
    }

    /// `v0.17.1`, the tag of a release that calls itself a number.
    fn is_tag(&mut self, said: &Said<'_>) {
        let number = said.text.strip_prefix('v').filter(|n| n.starts_with(|c: char| c.is_ascii_digit()));
        let Some(number) = number else { return };
        let message = format!("`{}` is a tag, and the version of {} a number", said.text, said.title);
        let d = Diagnostic::new(Code::EngineSetting, said.span, message).label("with a `v`");
        let right = format!("\"{number}\"");
        let d = d.help(format!("write it as the engine prints it: `{} {right}`", said.line));
        self.sink.push(if said.plain { d.edit(said.span, right) } else { d });
    }

    /// Once for each engine and version: that its flags are those of another release.
    pub fn known_version(&mut self, decl: &Engine, engine: &Program) {
        let mut stated =
            decl.lines.iter().filter_map(|l| if let Line::Version(t) = &l.kind { Some(t) } else { None });
        // of two, one is to go first
        let (Some(stated), None, Some(version)) = (stated.next(), stated.next(), &engine.version) else {
            return;
        };
        let Some(taken) = engine.schema.stand_in(Some(version)) else {
            self.spelled_otherwise(stated, engine, version);
            return;
        };
        if !self.stood_in.insert((engine.root().to_owned(), version.clone())) {
            return;
        }
        let title = &engine.title;
        let label = format!("read as {taken}");
        if !is_version(version) {
            let message =
                format!("`{version}` is no release of {title}: its flags are checked as those of {taken}");
            let help = "name the release, as the engine prints it: results of what `latest` was on two days cannot be told apart";
            let d = of_release(engine, stated, message).label(label);
            self.sink.push(d.help(help));
            return;
        }
        let message =
            format!("{title} {version} has no schema of its own: its flags are checked as those of {taken}");
        if let Some(full) = engine.schema.full_release(version) {
            // below the lowest one there is none
            let lower = if taken == full { "" } else { ", the nearest lower release with a schema" };
            let message = format!("{title} {version} is read as {taken}{lower}");
            let d = of_release(engine, stated, message);
            let help = format!(
                "write `version \"{full}\"` if that is what runs: releases are named in full, as the engine prints them"
            );
            self.sink.push(d.suggest(full).help(help));
            return;
        }
        // llama.cpp is one program, and mostly in no virtual environment
        let from = match engine.root() {
            "llama_cpp" => Some("path"),
            "vllm" | "sglang" => Some("venv DIR"),
            _ => None,
        };
        let help = match from {
            Some(from) => format!(
                "`perflab std learn {} --from {from}` writes an exact schema from the installed engine; \
                 until then, what {taken} does not know is a warning",
                engine.root()
            ),
            None => format!(
                "what {taken} does not know is a warning; `raw --flag=value` passes on what {version} alone has, or declare it in \
                 an engine of your own: `flag --name TYPE`"
            ),
        };
        let d = of_release(engine, stated, message);
        self.sink.push(d.label(label).help(help));
    }

    /// `1.2.0-rc1` for 1.2.0rc1: the same release, and no image or answer of an engine is called so. What a build adds behind a `+` is its own.
    fn spelled_otherwise(&mut self, stated: &Text, engine: &Program, version: &str) {
        let releases = engine.schema.versions();
        let same = |v: &&String| compare_versions(v, version).is_eq();
        let Some(right) = releases.iter().find(same).filter(|right| *right != version) else { return };
        if version.contains('+') || !self.stood_in.insert((engine.root().to_owned(), version.to_owned())) {
            return;
        }
        let message = format!("{} calls this release {right}", engine.title);
        let d = of_release(engine, stated, message).suggest(right);
        self.sink.push(d.help(format!("write it as the engine prints it: `version \"{right}\"`")));
    }
}

/// A doubt about the release that an engine states.
fn of_release(engine: &Program, stated: &Text, message: String) -> Diagnostic {
    let about = About::Engine(engine.root().to_owned());
    Diagnostic::new(Code::VersionUnknown, stated.span, message).about(about)
}

/// Something with a digit and without spaces.
pub(super) fn is_version(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit()) && !text.contains(char::is_whitespace)
}
