//! `vllm bench sweep`: its JSON files of parameter sets, with the commands that they are applied to.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::bench::{self, Settings};
use super::draft::{Block, Draft, Line, Step, Study};
use super::error::InitError;
use super::params::{self, Reading};
use super::sets::{Set, Sets};
use super::shell::{self, Vars};
use super::study::{self, Asked, Base, Command, Said, Written};
use super::{arguments, files, gpus, json, notes, pasted, value};
use crate::lang::source::Files;

/// What `vllm bench sweep serve` is given.
#[derive(Debug, Clone, Default)]
pub struct Sweep {
    pub serve_command: Option<String>,
    pub bench: Settings,
    /// there is a command of the benchmark
    pub benched: bool,
    pub serve: Vec<Map<String, Value>>,
    pub loads: Vec<Map<String, Value>>,
    pub limits: Vec<Map<String, Value>>,
    pub runs: u64,
    pub left_out: Vec<String>,
}

/// Sets that one with lists stands for, at most.
const MOST_OF_A_SET: usize = 256;

/// Settings that only a load has: a set with one of them is of the benchmark, not of the server.
const OF_THE_LOAD: [&str; 14] = [
    "num_prompts",
    "max_concurrency",
    "request_rate",
    "dataset_name",
    "dataset_path",
    "random_input_len",
    "random_output_len",
    "random_range_ratio",
    "burstiness",
    "input_len",
    "output_len",
    "ignore_eos",
    "goodput",
    "sharegpt_output_len",
];

/// The sets of a JSON file: a list of objects, or an object of them by name.
pub fn sets(file: &str, json: Value) -> Result<Vec<Map<String, Value>>, InitError> {
    let wrong = |why: &str| InitError::File { file: file.to_owned(), why: why.to_owned() };
    let all: Vec<(Option<String>, Value)> = match json {
        Value::Array(all) => all.into_iter().map(|v| (None, v)).collect(),
        Value::Object(all) => all.into_iter().map(|(name, v)| (Some(name), v)).collect(),
        _ => return Err(wrong("a sweep is a list of parameter sets, or an object of them by name")),
    };
    let mut out = Vec::new();
    for (name, set) in all {
        let Value::Object(mut set) = set else { return Err(wrong("one of its sets is no object")) };
        if let Some(name) = name {
            set.insert("_benchmark_name".to_owned(), name.into());
        }
        out.push(set);
    }
    if out.is_empty() { Err(wrong("it has no parameter set")) } else { Ok(out) }
}

impl Sweep {
    /// Adds a file's sets: which of the three kinds they are, their keys say.
    pub fn add(&mut self, sets: Vec<Map<String, Value>>) {
        let keys = |set: &Map<String, Value>| set.keys().map(|k| bench::key(k)).collect::<Vec<_>>();
        let any = |test: &dyn Fn(&str) -> bool| sets.iter().flat_map(&keys).any(|k| test(&k));
        if any(&|k| k.ends_with("_ms") || k.ends_with("_throughput")) {
            self.limits.extend(sets);
        } else if any(&|k| OF_THE_LOAD.contains(&k)) {
            self.loads.extend(sets);
        } else {
            self.serve.extend(sets);
        }
    }

    /// `vllm bench sweep serve --serve-cmd …`, if that is what was pasted, with the files that it names.
    pub fn of_command(text: &str, vars: &mut Vars, files: &dyn Files) -> Result<Option<Self>, InitError> {
        let commands = shell::commands(&pasted::commands_only(text), vars)?;
        let found = commands.into_iter().find_map(|c| {
            let words: Vec<String> = c.words.into_iter().map(|w| w.text).collect();
            let at = words.windows(3).position(|w| w == ["vllm", "bench", "sweep"])?;
            Some(words[at + 3..].to_vec())
        });
        let Some(words) = found else { return Ok(None) };
        let mut sweep = Self { runs: 3, ..Self::default() };
        for (name, setting) in bench::of_words(&words) {
            let text = super::yaml::word(&setting).unwrap_or_default();
            sweep.option(&name, &text, vars, files)?;
        }
        Ok(Some(sweep))
    }

    fn option(
        &mut self,
        name: &str,
        text: &str,
        vars: &mut Vars,
        files: &dyn Files,
    ) -> Result<(), InitError> {
        match name {
            "serve_cmd" => self.serve_command = Some(text.to_owned()),
            "bench_cmd" => {
                let inside = shell::commands(text, vars)?;
                let words = inside.into_iter().flat_map(|c| c.words).map(|w| w.text).collect::<Vec<_>>();
                self.bench = bench::of_words(&words);
                self.benched = true;
            }
            "serve_params" | "bench_params" | "sla_params" | "workload_params" => {
                let wrong = |why: String| InitError::File { file: text.to_owned(), why };
                let json = json::strict(&files::text(text, files).map_err(wrong)?);
                let sets = sets(text, json.map_err(wrong)?)?;
                match name {
                    "serve_params" => self.serve.extend(sets),
                    "bench_params" => self.loads.extend(sets),
                    _ => self.limits.extend(sets),
                }
            }
            "num_runs" => self.runs = text.parse().unwrap_or(3),
            "output_dir" | "o" | "experiment_name" | "dry_run" | "resume" | "show_stdout" => {}
            _ => self.left_out.push(format!("--{}: a study has nothing for it", name.replace('_', "-"))),
        }
        Ok(())
    }

    /// The study, over the serve command.
    pub fn study(mut self, command: Command<'_>, asked: &Asked) -> Result<Written, InitError> {
        let own = self.serve_command.take();
        let mut base = study::base(own.as_deref().map_or(command, Command::Text), asked)?;
        let mut said = base.said();
        let mut left_out = std::mem::take(&mut said.left_out);
        left_out.append(&mut self.left_out);
        self.serve = self.one_by_one(&base, &mut left_out);
        let sets = self.sets(&base, &mut left_out, &mut said.notes);
        if sets.all.is_empty() && !self.serve.is_empty() {
            let why = format!("no parameter set fits the command: {}", left_out.join("; "));
            return Err(InitError::Inexpressible(why));
        }
        let profiles = self.profiles(&base.arguments.model, &mut left_out);
        let goodput = self.goodput(&mut left_out);
        let requires = self.requires(&mut left_out);
        let most = self.most_gpus(&base);
        base.draft.settings.extend(self.api(&mut left_out));
        let single = sets.all.len() == 1;
        let (points, over) = sets.over(&mut base);
        let mut draft = Draft { engine: base.draft.clone(), profiles, ..Draft::default() };
        draft.header =
            vec!["A sweep of `vllm bench sweep` as a study, written by `perflab init`.".to_owned()];
        let mut only = self.study_of(&base, &draft.profiles, (goodput, requires), most);
        if let Some(first) = &over {
            draft.engine.about.push(format!(
                "{first}, as the sweep never runs the command alone: every gain is a gain over this"
            ));
            only.steps[0].about = vec!["every other parameter set in its place".to_owned()];
        }
        if let Some(axis) = params::axis("sets", points) {
            draft.axes.push(axis);
        } else {
            // the flags that are usually tuned are tried in the place of sets
            let has = if single { "It has one parameter set" } else { "Its files have loads only" };
            draft.header.push(format!("{has}; what is varied here is a proposal."));
            (draft.axes, draft.rules, only.steps) = study::proposed(&base);
        }
        draft.studies = vec![only];
        study::finish(draft, Said { left_out, ..said })
    }

    fn sets(&self, base: &Base, left_out: &mut Vec<String>, notes: &mut Vec<String>) -> Sets {
        let reading = Reading { engine: base.launch.engine, known: &base.known, negates: true };
        let mut out = Sets::default();
        let mut seen = BTreeSet::new();
        for set in &self.serve {
            let title = set.get("_benchmark_name").and_then(super::yaml::word);
            let (mut said, mut values) = (Vec::new(), Vec::new());
            for (key, setting) in set.iter().filter(|(k, _)| *k != "_benchmark_name") {
                match reading.said(key, setting) {
                    Ok(Some(one)) => {
                        said.push(one);
                        values.push(setting);
                    }
                    Ok(None) => {}
                    Err(why) => left_out.push(why),
                }
            }
            if said.is_empty() {
                out.bare = true;
                left_out
                    .push("a parameter set without parameters: the baseline is measured anyway".to_owned());
                continue;
            }
            let name = title.as_deref().map_or_else(|| params::point_name(values.into_iter()), value::name);
            let mut normal: Vec<String> = said.iter().map(|s| reading.normal(s)).collect();
            normal.sort();
            if !seen.insert(normal) {
                let changes = params::texts(&said).join(" ");
                left_out.push(format!("{changes}: the same parameters as a set before it"));
                continue;
            }
            out.all.push(Set { name, title, said });
        }
        let told: Vec<_> = out.all.iter().flat_map(|s| s.said.clone()).collect();
        notes.extend(notes::of_flags(&base.known, params::flags(&told)));
        out
    }

    /// How `vllm bench serve` asks, where its command is there: completions, unless it says otherwise.
    fn api(&self, left_out: &mut Vec<String>) -> Option<Line> {
        if !self.benched {
            return None;
        }
        let of = |names: [&str; 2]| names.iter().find_map(|n| self.bench.get(*n)).and_then(super::yaml::word);
        let (backend, endpoint) = (of(["backend", "endpoint_type"]), of(["endpoint", "endpoint"]));
        let backend = backend.unwrap_or_else(|| "openai".to_owned());
        let chat = backend == "openai-chat";
        let usual = if chat { "/v1/chat/completions" } else { "/v1/completions" };
        let endpoint = endpoint.unwrap_or_else(|| usual.to_owned());
        match (backend.as_str(), endpoint.as_str()) {
            ("openai" | "vllm", "/v1/completions") => Some(Line::new("api", "openai_completions")),
            ("openai-chat", "/v1/chat/completions") => None,
            _ => {
                let (backend, endpoint) = (value::plain(&backend), value::plain(&endpoint));
                left_out.push(format!(
                    "--backend {backend} --endpoint {endpoint}: perflab asks for chat completions instead"
                ));
                None
            }
        }
    }

    /// GPUs that the largest of the parameter sets takes.
    fn most_gpus(&self, base: &Base) -> u64 {
        let reading = Reading { engine: base.launch.engine, known: &base.known, negates: true };
        let of = |set: &Map<String, Value>| {
            let mut flags = base.arguments.flags.clone();
            for argument in set.iter().filter_map(|(key, setting)| reading.argument(key, setting).ok()?) {
                flags.retain(|f| f.canonical != argument.canonical);
                flags.push(argument);
            }
            gpus::gpus_used(&base.known, &flags)
        };
        self.serve.iter().map(of).max().unwrap_or(1)
    }

    /// A list of values for a flag that takes one: a set for each of them.
    fn one_by_one(&self, base: &Base, left_out: &mut Vec<String>) -> Vec<Map<String, Value>> {
        let reading = Reading { engine: base.launch.engine, known: &base.known, negates: true };
        let mut out = Vec::new();
        for set in &self.serve {
            let mut sets = vec![set.clone()];
            for (key, setting) in set.iter().filter(|(key, _)| !reading.takes_list(key)) {
                let Value::Array(values) = setting else { continue };
                if values.is_empty() || sets.len() * values.len() > MOST_OF_A_SET {
                    for set in &mut sets {
                        set.remove(key);
                    }
                    left_out.push(format!(
                        "{key} {setting}: a list of no values, or of too many to try them all"
                    ));
                    continue;
                }
                let each = sets.iter().flat_map(|s| values.iter().map(move |v| with(s, key, v)));
                sets = each.collect();
            }
            out.extend(sets);
        }
        out
    }

    fn profiles(&self, model: &str, left_out: &mut Vec<String>) -> Vec<Block> {
        if self.loads.is_empty() {
            return vec![bench::profile("load", "Load", &self.bench, left_out)];
        }
        let mut out = Vec::new();
        for (i, set) in self.loads.iter().enumerate() {
            let mut settings = self.bench.clone();
            let mut title = format!("Load {}", i + 1);
            let mut name = format!("load_{}", i + 1);
            for (key, setting) in set {
                if key == "_benchmark_name" {
                    title = super::yaml::word(setting).unwrap_or(title);
                    name = format!("{}_{}", value::name(&title), i + 1);
                } else {
                    if let ("model", Some(name)) = (key.as_str(), super::yaml::word(setting))
                        && name != model
                    {
                        left_out.push(format!(
                            "model {}: loads are of the model that is served",
                            value::plain(&name)
                        ));
                    }
                    if matches!(bench::key(key).as_str(), "backend" | "endpoint" | "endpoint_type") {
                        let word = super::yaml::word(setting).unwrap_or_default();
                        left_out
                            .push(format!("{key} {}: a study asks all its loads alike", value::plain(&word)));
                    }
                    settings.insert(bench::key(key), setting.clone());
                }
            }
            out.push(bench::profile(&name, &title, &settings, left_out));
        }
        out
    }

    /// What the benchmark counts as good; one objective holds for all loads, so that all have to name the same limits.
    fn goodput(&self, left_out: &mut Vec<String>) -> Option<String> {
        let common = self.bench.get(bench::GOODPUT);
        let none = Map::new();
        let sets: Vec<&Map<String, Value>> =
            if self.loads.is_empty() { vec![&none] } else { self.loads.iter().collect() };
        let stated: Vec<Option<&Value>> = sets.iter().map(|set| set.get(bench::GOODPUT).or(common)).collect();
        let first = stated.first().copied().flatten();
        if let Some(goal) = first.and_then(bench::goodput).filter(|_| stated.iter().all(|s| *s == first)) {
            return Some(goal);
        }
        for limits in stated.iter().flatten() {
            let why = match bench::goodput(limits) {
                Some(_) => "not every load has these limits, and a study has one objective",
                None => "limits that perflab does not know",
            };
            let text = super::yaml::word(limits).unwrap_or_else(|| limits.to_string());
            left_out.push(format!("goodput {}: {why}", value::plain(&text)));
        }
        None
    }

    /// `{"p99_e2el_ms": "<=200"}` as `require p99(latency) <= 200ms`.
    fn requires(&self, left_out: &mut Vec<String>) -> Vec<Line> {
        let mut out = Vec::new();
        for (i, set) in self.limits.iter().enumerate() {
            for (key, limit) in set {
                let text = super::yaml::word(limit).unwrap_or_default();
                match (i, requirement(key, &text)) {
                    (0, Some(condition)) => out.push(Line::new("require", condition)),
                    _ => left_out.push(format!("{key} {text}: a study has one set of limits")),
                }
            }
        }
        out
    }

    fn study_of(
        &self,
        base: &Base,
        profiles: &[Block],
        (goodput, requires): (Option<String>, Vec<Line>),
        most: u64,
    ) -> Study {
        let names: Vec<&str> = profiles.iter().map(|p| p.name.as_str()).collect();
        let model = arguments::short_name(&base.arguments.model);
        let mut settings = study::opening(base, most);
        let (goal, why) = match &goodput {
            Some(goodput) => (goodput.as_str(), "as --goodput; over several loads, the geometric mean"),
            None => ("total_tps", "a sweep names none; over several loads, the geometric mean"),
        };
        settings.push(Line::new("maximize", format!("{goal} on {}", names.join(", "))).why(why));
        settings.extend(requires);
        settings.push(Line::new("repeat", self.runs.max(1).to_string()).why("as --num-runs"));
        let step = Step {
            about: vec!["every parameter set, over the command as it is".to_owned()],
            name: "sets".to_owned(),
            title: "Parameter Sets".to_owned(),
            vary: vec![vec!["sets".to_owned()]],
        };
        Study {
            about: Vec::new(),
            name: value::name(&format!("{model}_sweep")),
            title: format!("{} swept", study::shown(model)),
            settings,
            steps: vec![step],
            closing: Vec::new(),
        }
    }
}

/// A set with one of a list's values, which a name of its own tells.
fn with(set: &Map<String, Value>, key: &str, value: &Value) -> Map<String, Value> {
    let mut set = set.clone();
    set.insert(key.to_owned(), value.clone());
    if let (Some(Value::String(name)), Some(word)) =
        (set.get_mut("_benchmark_name"), super::yaml::word(value))
    {
        name.push(' ');
        name.push_str(&word);
    }
    set
}

fn requirement(key: &str, limit: &str) -> Option<String> {
    let (statistic, rest) = key.split_once('_')?;
    let metric = match rest.strip_suffix("_ms")? {
        "e2el" => "latency",
        known @ ("ttft" | "tpot" | "itl") => known,
        _ => return None,
    };
    let statistic = match statistic {
        "median" => "p50",
        "std" => "stddev",
        known => known,
    };
    let at = limit.find(|c: char| c.is_ascii_digit())?;
    let (operator, number) = limit.split_at(at);
    let operator = match operator.trim() {
        "<=" | "<" | ">=" | ">" => operator.trim(),
        _ => return None,
    };
    number.trim().parse::<f64>().ok().map(|n| format!("{statistic}({metric}) {operator} {n}ms"))
}
