//! Profiles: one load each. A derived one states what differs; stating one of `rate` and `concurrency`, or one of `requests` and
//! `duration`, drops the inherited other.

use std::sync::Arc;

use indexmap::IndexMap;

use super::check::Checker;
use super::loads;
use super::program::{Arrivals, Data, Load, Profile, Warmup};
use super::said::{self, Said, is_load};
use super::sampling;
use super::scope::{ItemRef, Kind};
use super::unexpanded::Of;
use super::unmeasured;
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, one_of};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{self, Item, Literal, Name, Number, WordLine, WordValue};
use crate::lang::units::Dim;

/// What a profile may send.
pub(super) const DATA: [&str; 6] =
    ["random", "sharegpt", "prefix_repetition", "jsonl", "trace", "conversations"];
const RECIPES: [&str; 3] = ["vllm", "vllm_0_11", "sglang"];
const MAX_TOKENS: u64 = 100_000_000;

impl Checker<'_> {
    pub fn profile(&mut self, at: ItemRef) -> Option<Arc<Profile>> {
        if let Some(known) = self.profiles.get(&at) {
            return known.clone();
        }
        let Item::Profile(decl) = self.modules.item(at) else { return None };
        let built = self.guarded(at, decl.name.span, |c| c.build_profile(at.module, decl)).map(Arc::new);
        self.profiles.insert(at, built.clone());
        built
    }

    pub fn profile_named(&mut self, module: usize, name: &Name) -> Option<Arc<Profile>> {
        let m = self.module(module);
        let Some(at) = m.find(Kind::Profile, &name.value) else {
            let taken = self.not_meant(name.span);
            m.unknown((Kind::Profile, name), &[], &taken, false, self.sink);
            return self.meant(module, Kind::Profile, name).and_then(|at| self.profile(at));
        };
        self.used.insert(at);
        self.profile(at)
    }

    fn build_profile(&mut self, module: usize, decl: &ast::Profile) -> Option<Profile> {
        let parent = decl.parent.as_ref().map(|name| self.profile_named(module, name));
        let lost = matches!(parent, Some(None));
        let mut profile = parent.flatten().map_or_else(|| empty(decl), |p| (*p).clone());
        // what the parent's lines say wrongly, or could not say, is not missing here either
        let mut said = match &decl.parent {
            Some(_) if lost => Said::anything(),
            Some(_) => self.said_in.get(&profile.span).cloned().unwrap_or_default(),
            None => Said::default(),
        };
        profile.name.clone_from(&decl.name.value);
        profile.span = decl.name.span;
        said.lines(decl);
        // a title is its own alone: loads that inherit one would read as the same load
        profile.title = self.titled(module, decl.title.as_ref(), &decl.name.value);
        let inherited = profile.load.as_ref().and_then(loads::arrivals);
        let mut arrivals = None;
        let mut seen: Vec<(&str, Span)> = Vec::new();
        let lines: Vec<_> = decl.lines.iter().map(|line| self.as_called(line)).collect();
        for line in lines.iter().map(AsRef::as_ref) {
            let line: &WordLine = line;
            let word = line.word.value.as_str();
            if let Some((_, first)) = seen.iter().find(|(w, _)| *w == word) {
                let message = format!("`{word}` stands twice in one profile");
                let d = Diagnostic::new(Code::SettingTwice, line.span, message).label("the second one");
                self.sink.push(d.related(*first, "the first one").help("keep one of them"));
                continue;
            }
            seen.push((word, line.span));
            let errors = self.sink.count();
            self.setting(module, line, &mut profile, &mut arrivals);
            said.load_unsure |= is_load(word) && self.sink.count() > errors;
        }
        if lost && profile.data.is_none() {
            // what these go with may be the parent's
            (profile.prefixes, profile.think_s, profile.slowdown) = (None, None, None);
        }
        self.shared_prefixes(&seen, &said, &mut profile);
        self.traced(&seen, &mut profile);
        self.talked(&seen, &mut profile);
        self.either("rate", "concurrency", &seen);
        self.either("requests", "duration", &seen);
        // which of two loads is meant is not known
        let two = ["rate", "concurrency"].iter().all(|w| seen.iter().any(|s| s.0 == *w));
        let inherited = arrivals.is_none().then_some(inherited).flatten();
        let open = profile.load.as_ref().is_some_and(|l| !loads::closed(l) && *l != Load::Max);
        if open || !said.load_unsure {
            self.arrivals(arrivals, two, &mut profile);
        }
        if let (Some(how), Some(load)) = (inherited, &mut profile.load) {
            loads::come(load, how);
        }
        match seen.iter().find(|s| s.0 == "in_flight") {
            Some(_) if said.load_unsure || two => {}
            Some((_, span)) => self.capped(*span, &profile),
            // a cap that is inherited goes with the rate that it capped
            None if profile.load.as_ref().is_some_and(loads::closed) => profile.in_flight = None,
            None => {}
        }
        self.whole_profile(decl, &mut profile, &mut said);
        said.load_unsure |= two;
        if said.load_unsure {
            // what does not fit the load that is left is no further mistake
            profile.load = None;
        }
        self.said_in.insert(profile.span, said);
        (!lost).then_some(profile)
    }

    fn setting(
        &mut self,
        module: usize,
        line: &WordLine,
        p: &mut Profile,
        arrivals: &mut Option<(Arrivals, Span)>,
    ) {
        match line.word.value.as_str() {
            "data" => p.data = self.data(module, line).or(p.data.take()),
            "input" => p.input = self.tokens(line, 1).or(p.input),
            "output" => p.output = self.tokens(line, 1).or(p.output),
            "prefix" => p.prefix = self.prefix(line).or(p.prefix),
            "prefixes" => p.prefixes = self.count(line, 1, 1_000_000).map(|n| n as u32).or(p.prefixes),
            "rate" => p.load = self.rate(line).or(p.load.take()),
            "slowdown" | "think" | "answers" => self.played(line, p),
            "arrivals" => *arrivals = self.arrival(line).map(|a| (a, line.span)),
            "in_flight" => p.in_flight = self.count(line, 1, 1_000_000).map(|n| n as u32),
            "concurrency" => p.load = self.concurrency(line).or(p.load.take()),
            "requests" => {
                p.requests = self.count(line, 1, 100_000_000);
                p.duration_s = None;
            }
            "duration" => {
                p.duration_s = self.one(line).and_then(|n| self.positive(&n, Dim::TIME, "`duration`"));
                p.requests = None;
            }
            "seed" => {
                p.seed = self.count(line, 0, u64::from(u32::MAX)).unwrap_or(p.seed);
                p.seed_stated = true;
            }
            "warmup" => p.warmup = self.warmup(line),
            "timeout" => p.timeout_s = self.one(line).and_then(|n| self.positive(&n, Dim::TIME, "`timeout`")),
            "recipe" => p.recipe = self.recipe(line),
            "tokenizer" => {
                p.tokenizer = self.tokenizer(module, line).map(|t| self.modules.from_root(module, &t));
            }
            "temperature" => {
                p.temperature = self.one(line).and_then(|n| self.temperature(&n));
            }
            "body" => p.body = self.body(line),
            "ignore_eos" => match &line.value {
                WordValue::Bool(b) => p.ignore_eos = Some(b.value),
                _ => self.wrong(line, "`true` or `false`"),
            },
            "stream" => match &line.value {
                WordValue::Bool(b) => p.stream = b.value,
                _ => self.wrong(line, "`true` or `false`"),
            },
            // what is no setting at all was told of
            _ => drop(self.sampling(line, p)),
        }
    }

    pub(super) fn wrong(&mut self, line: &WordLine, expected: &str) {
        let message = format!("`{}` takes {expected}", line.word.value);
        let d = Diagnostic::new(Code::ProfileSetting, line.value.span(), message)
            .label("something else stands here");
        if let Some(right) = self.decimal_comma(&line.value) {
            let (span, help) = (line.value.span(), format!("decimals stand behind a point: write `{right}`"));
            self.sink.push(d.help(help).edit(span, right));
            return;
        }
        let meant = match &line.value {
            WordValue::Word { word, argument: None } if expected == "`true` or `false`" => truth(&word.value),
            _ => None,
        };
        let help = match (meant, self.groups_of_thousands(&line.value)) {
            (Some(meant), _) => format!("write `{} {meant}`", line.word.value),
            (None, Some(right)) => format!("write `{} {right}`: digits stand together", line.word.value),
            (None, None) => format!("write for example `{}`", example(&line.word.value)),
        };
        self.sink.push(d.help(help));
    }

    /// `0,2`, glued together: one number to most people, two to the grammar. Of `1,500` nobody knows.
    fn decimal_comma(&self, value: &WordValue) -> Option<String> {
        let WordValue::Numbers(all) = value else { return None };
        let written = self.source_text(value.span());
        let (whole, decimals) = written.split_once(',').filter(|_| all.len() == 2)?;
        let digits = decimals.bytes().take_while(u8::is_ascii_digit).count();
        let sure = digits > 0 && (digits != 3 || whole == "0") && whole.bytes().all(|b| b.is_ascii_digit());
        sure.then(|| format!("{whole}.{decimals}"))
    }

    /// `30,000`, glued together: thousands are set apart so elsewhere.
    fn groups_of_thousands(&self, value: &WordValue) -> Option<String> {
        let WordValue::Numbers(_) = value else { return None };
        let mut parts = self.source_text(value.span()).split(',').map(str::to_owned).collect::<Vec<_>>();
        let digits = |p: &String| p.bytes().all(|b| b.is_ascii_digit());
        let first = parts.first().is_some_and(|p| (1..=3).contains(&p.len()) && !p.starts_with('0'));
        let whole = first && parts.len() > 1 && parts.iter().all(digits);
        (whole && parts.iter().skip(1).all(|p| p.len() == 3)).then(|| parts.drain(..).collect())
    }

    /// A word that is none of those which a setting knows.
    pub(super) fn no_such(&mut self, what: &str, word: &Name, known: &[&str]) {
        let d =
            Diagnostic::new(Code::ProfileSetting, word.span, format!("no {what} is called `{}`", word.value));
        let d = d.meant(&word.value, known.iter().copied(), "unknown", str::to_owned);
        self.sink.push(d.help(format!("write {}", one_of(known))));
    }

    /// The line's one number.
    pub(super) fn one(&mut self, line: &WordLine) -> Option<Number> {
        if let WordValue::Numbers(all) = &line.value
            && let [one] = all.as_slice()
        {
            return Some(one.clone());
        }
        self.wrong(line, "one number");
        None
    }

    fn count(&mut self, line: &WordLine, min: u64, max: u64) -> Option<u64> {
        let n = self.one(line)?;
        self.whole(&n, min, max, &format!("`{}`", line.word.value))
    }

    fn text_of(&mut self, module: usize, line: &WordLine) -> Option<String> {
        if let WordValue::Text(t) = &line.value {
            return Some(self.inserted(module, t, false));
        }
        self.wrong(line, "a string in double quotes");
        None
    }

    fn tokenizer(&mut self, module: usize, line: &WordLine) -> Option<String> {
        let WordValue::Text(path) = &line.value else { return self.text_of(module, line) };
        let help = format!("write for example `{}`", example("tokenizer"));
        self.unexpanded(module, path.span, Of::Path);
        Some(self.said(module, path, Code::ProfileSetting, "the path of the tokenizer", &help))
    }

    /// Tokens: a number, or a range that is drawn from.
    fn tokens(&mut self, line: &WordLine, min: u64) -> Option<(u32, u32)> {
        let what = format!("`{}`", line.word.value);
        match &line.value {
            WordValue::Numbers(all) if all.len() == 1 => {
                let n = self.tokens_number(&all[0], min, &what)?;
                Some((n, n))
            }
            WordValue::Range(r) => {
                let from = self.tokens_number(&r.from, min, &what)?;
                let Some(to) = &r.to else {
                    self.wrong(line, "a number of tokens, or a range with two ends");
                    return None;
                };
                let to = self.tokens_number(to, min, &what)?;
                if to < from {
                    self.rises(line, f64::from(from), Some(f64::from(to)));
                }
                Some((from, to))
            }
            _ => {
                self.wrong(line, "a number of tokens, or a range");
                None
            }
        }
    }

    fn prefix(&mut self, line: &WordLine) -> Option<u32> {
        let n = self.one(line)?;
        self.tokens_number(&n, 1, "`prefix`")
    }

    /// Tokens may carry their unit or none.
    fn tokens_number(&mut self, n: &Number, min: u64, what: &str) -> Option<u32> {
        let plain = if n.unit == "tok" { Number { unit: String::new(), ..n.clone() } } else { n.clone() };
        self.whole(&plain, min, MAX_TOKENS, what).map(|v| v as u32)
    }

    fn data(&mut self, module: usize, line: &WordLine) -> Option<Data> {
        let WordValue::Word { word, argument } = &line.value else {
            self.wrong(line, &format!("one of {}", DATA.join(", ")));
            return None;
        };
        let file = match argument {
            Some(Literal::Text(t)) => {
                let file = self.inserted_text(module, &t.value, t.span, false);
                if file.whole && file.text.is_empty() {
                    let message = "the name of the file is empty";
                    self.filed(line, message, &format!("data {} \"FILE\"", word.value));
                    return None;
                }
                self.unexpanded(module, t.span, Of::Path);
                Some(self.modules.from_root(module, &file.text))
            }
            Some(_) => {
                self.wrong(line, "a file in double quotes");
                return None;
            }
            None => None,
        };
        Some(match (word.value.as_str(), file) {
            ("random", None) => Data::Random,
            ("sharegpt", None) => Data::ShareGpt,
            ("prefix_repetition", None) => Data::PrefixRepetition,
            ("jsonl", Some(f)) => Data::Jsonl(f),
            ("trace", Some(f)) => Data::Trace(f),
            ("conversations", Some(f)) => Data::Conversations(f),
            (known @ ("jsonl" | "trace" | "conversations"), None) => {
                self.filed(line, &format!("`data {known}` needs a file"), &format!("data {known} \"FILE\""));
                return None;
            }
            (known @ ("random" | "sharegpt" | "prefix_repetition"), Some(_)) => {
                self.filed(line, &format!("`data {known}` takes no file"), &format!("data {known}"));
                return None;
            }
            _ => {
                self.no_such("data set", word, &DATA);
                return None;
            }
        })
    }

    /// A set of data with a file that it does not take, or without one that it needs.
    fn filed(&mut self, line: &WordLine, message: &str, right: &str) {
        let d = Diagnostic::new(Code::ProfileSetting, line.value.span(), message).label("this data");
        self.sink.push(d.help(format!("write `{right}`")));
    }

    fn warmup(&mut self, line: &WordLine) -> Option<Warmup> {
        let n = self.one(line)?;
        let (value, dim) = self.quantity(&n)?;
        if dim == Dim::TIME {
            return self.positive(&n, Dim::TIME, "`warmup`").map(Warmup::Time);
        }
        if value == 0.0 {
            return Some(Warmup::None);
        }
        self.whole(&n, 0, 100_000_000, "`warmup`").map(Warmup::Requests)
    }

    fn recipe(&mut self, line: &WordLine) -> Option<String> {
        let WordValue::Word { word, argument: None } = &line.value else {
            self.wrong(line, &one_of(&RECIPES));
            return None;
        };
        if RECIPES.contains(&word.value.as_str()) {
            return Some(word.value.clone());
        }
        self.no_such("recipe", word, &RECIPES);
        None
    }

    fn whole_profile(&mut self, decl: &ast::Profile, p: &mut Profile, said: &mut Said) {
        let incomplete = |c: &mut Self, what: &str, help: &str| {
            let message = format!("the profile `{}` does not say {what}", decl.name.value);
            c.sink.push(
                Diagnostic::new(Code::ProfileIncomplete, decl.name.span, message)
                    .label("this profile")
                    .help(help),
            );
        };
        // a line that says it wrongly, or could not be read, has had its diagnostic
        let stated = |word: &str| said.words.contains(&word);
        let mut lacks = Vec::new();
        // a trace says itself when its requests come
        let nearly =
            |d: &Diagnostic| d.code == Code::ProfileSetting && d.suggested.iter().any(|s| s == "trace");
        // `data trace` without its file, `trace "t.jsonl"` without its word
        let named = decl.lines.iter().any(said::names_trace);
        // `data trace t.jsonl`, without quotes
        let unread = decl.unread.contains(&"data") && self.modules.slice(decl.span).contains("trace");
        let traced = unread
            || named
            || matches!(p.data, Some(Data::Trace(_)))
            || self.sink.in_span(decl.span).any(nearly);
        if p.load.is_none() && !traced && !stated("rate") && !stated("concurrency") {
            incomplete(self, "how much load there is", "add `concurrency 64`, `rate 8/s` or `rate max`");
            lacks.push("rate");
        }
        match &p.data {
            None if !stated("data") => {
                incomplete(self, "what is sent", "add `data random` with `input` and `output`");
                lacks.push("data");
            }
            Some(Data::Random) if p.input.is_none() && !stated("input") => {
                incomplete(self, "how long the prompts are", "add `input 1024`");
                lacks.push("input");
            }
            Some(Data::Random) if p.output.is_none() && !stated("output") => {
                incomplete(self, "how much is generated", "add `output 128`");
                lacks.push("output");
            }
            _ => {}
        }
        // what derives from this one lacks the same, and that was said
        said.words.extend(lacks);
        p.not_yet = unmeasured::of(p);
    }
}

/// What another word for `true` or `false` says.
fn truth(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "yes" | "on" | "true" => Some(true),
        "no" | "off" | "false" => Some(false),
        _ => None,
    }
}

/// A setting as it may be written.
fn example(setting: &str) -> &'static str {
    match setting {
        "data" => "data random",
        "input" => "input 1024",
        "output" => "output 100 .. 200",
        "prefix" => "prefix 512",
        "prefixes" => "prefixes 10",
        "rate" => "rate 8/s",
        "arrivals" => "arrivals gamma 0.5",
        "slowdown" => "slowdown 2",
        "think" => "think 1s .. 5s",
        "answers" => "answers recorded",
        "in_flight" => "in_flight 256",
        "concurrency" => "concurrency 64",
        "requests" => "requests 1000",
        "duration" => "duration 5min",
        "seed" => "seed 42",
        "warmup" => "warmup 16",
        "timeout" => "timeout 60s",
        "recipe" => "recipe vllm",
        "tokenizer" => "tokenizer \"~/models/qwen3\"",
        "temperature" => "temperature 0",
        "body" => r#"body {"chat_template_kwargs": {"enable_thinking": false}}"#,
        "ignore_eos" => "ignore_eos true",
        "stream" => "stream false",
        other => sampling::example(other),
    }
}

fn empty(decl: &ast::Profile) -> Profile {
    Profile {
        name: decl.name.value.clone(),
        title: decl.name.value.clone(),
        data: None,
        input: None,
        output: None,
        prefix: None,
        prefixes: None,
        load: None,
        slowdown: None,
        think_s: None,
        answers: None,
        in_flight: None,
        requests: None,
        duration_s: None,
        seed: 42,
        seed_stated: false,
        warmup: None,
        timeout_s: None,
        recipe: None,
        tokenizer: None,
        temperature: None,
        sampling: IndexMap::new(),
        body: serde_json::Map::new(),
        ignore_eos: None,
        stream: true,
        not_yet: Vec::new(),
        span: decl.name.span,
    }
}
