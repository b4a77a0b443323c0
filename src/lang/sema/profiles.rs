//! Profiles: one load each. A derived one states what differs; stating one of `rate` and `concurrency`, or one of `requests` and
//! `duration`, drops the inherited other.

use std::sync::Arc;

use indexmap::IndexMap;

use super::check::Checker;
use super::loads;
use super::program::{Arrivals, Data, Load, Profile, Warmup};
use super::said::{self, Said, is_load};
use super::scope::{ItemRef, Kind};
use super::unexpanded::Of;
use super::unmeasured;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, one_of};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{self, Item, Literal, Name, WordLine, WordValue};
use crate::lang::syntax::{Block, DATA, load_setting};
use crate::lang::units::Dim;

const RECIPES: [&str; 3] = ["vllm", "vllm_0_11", "sglang"];

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
        let rated = |l: &WordLine| {
            l.word.value == "rate" || load_setting(&l.word.value).is_some_and(|s| s.0 == "rate")
        };
        let open = decl.lines.iter().any(rated);
        let lines: Vec<_> = decl.lines.iter().map(|line| self.as_called(line, open)).collect();
        for line in lines.iter().map(AsRef::as_ref) {
            let line: &WordLine = line;
            let word = line.word.value.as_str();
            if let Some((_, first)) = seen.iter().find(|(w, _)| *w == word) {
                if self.stands_for_another(line) {
                    self.stated_already(line, *first);
                    continue;
                }
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
        self.lengths(&seen, &profile);
        self.talked(&seen, &mut profile);
        self.either("rate", "concurrency", &seen);
        self.either("requests", "duration", &seen);
        // which of two loads is meant is not known
        let two = ["rate", "concurrency"].iter().all(|w| seen.iter().any(|s| s.0 == *w));
        let inherited = arrivals.is_none().then_some(inherited).flatten();
        let open = profile.load.as_ref().is_some_and(|l| !loads::closed(l) && *l != Load::Max);
        if open || !said.load_unsure {
            self.arrivals(arrivals.clone(), two, &mut profile);
        }
        if let (Some(how), Some(load)) = (inherited, &mut profile.load) {
            loads::come(load, how);
        }
        match seen.iter().find(|s| s.0 == "in_flight") {
            Some(_) if said.load_unsure || two => {}
            // that there is no rate was told of how its requests come
            Some(_) if arrivals.as_ref().is_some_and(|(_, at)| self.sink.says(Code::ProfileSetting, *at)) => {
            }
            Some((_, span)) => self.capped(*span, &profile),
            // a cap that is inherited goes with the rate that it capped
            None if profile.load.as_ref().is_some_and(loads::closed) => profile.in_flight = None,
            None => {}
        }
        if !two && !said.load_unsure {
            self.hopeless(&seen, &profile);
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
            "input" => {
                p.input = self.tokens(line, 1).or(p.input);
                p.input_at = Some(line.span);
            }
            "output" => {
                p.output = self.tokens(line, 1).or(p.output);
                p.output_at = Some(line.span);
            }
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

    fn data(&mut self, module: usize, line: &WordLine) -> Option<Data> {
        let WordValue::Word { word, argument } = &line.value else {
            if !self.file_of_no_kind(line) {
                self.wrong(line, &format!("one of {}", DATA.join(", ")));
            }
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
        // what it derives from is missing too, which was told
        if self.sink.in_span(decl.span).any(|d| d.about == About::ParentExpected) {
            return;
        }
        // a line that says it wrongly, or could not be read, has had its diagnostic
        let stated = |word: &str| said.words.contains(&word);
        let mut lacks: Vec<(&'static [&'static str], &str, &str)> = Vec::new();
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
            let help = "add `concurrency 64`, `rate 8/s` or `rate max`";
            lacks.push((&["rate", "concurrency"], "how much load there is", help));
        }
        match &p.data {
            None if !stated("data") => {
                lacks.push((&["data"], "what is sent", "add `data random` with `input` and `output`"));
            }
            Some(Data::Random) if p.input.is_none() && !stated("input") => {
                lacks.push((&["input"], "how long the prompts are", "add `input 1024`"));
            }
            Some(Data::Random) if p.output.is_none() && !stated("output") => {
                lacks.push((&["output"], "how much is generated", "add `output 128`"));
            }
            _ => {}
        }
        // what derives from this one lacks the same, and that was said
        said.words.extend(lacks.iter().map(|(words, ..)| words[0]));
        // lines that mean nobody knows what may be those that are missing
        let nobodys = About::NoSetting(Block::Profile);
        let nameless = self.sink.in_span(decl.span).filter(|d| d.about == nobodys);
        if lacks.len() <= nameless.count() {
            lacks.clear();
        }
        for (words, what, help) in lacks {
            let message = format!("the profile `{}` does not say {what}", decl.name.value);
            let d = Diagnostic::new(Code::ProfileIncomplete, decl.name.span, message).label("this profile");
            self.sink.push(d.about(About::Lacks(words)).help(help));
        }
        p.not_yet = unmeasured::of(p);
    }
}

fn empty(decl: &ast::Profile) -> Profile {
    Profile {
        name: decl.name.value.clone(),
        title: decl.name.value.clone(),
        data: None,
        input: None,
        output: None,
        input_at: None,
        output_at: None,
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
