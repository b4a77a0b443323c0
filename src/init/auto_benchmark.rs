//! SGLang's `auto_benchmark`: its YAML file as a study. One scenario of its data set is one study, as it searches each apart.

use serde_json::{Map, Value};

use super::draft::{Axis, Block, Draft, Line, Step, Study};
use super::error::InitError;
use super::known::Engine;
use super::params::{self, Point, Reading};
use super::study::{self, Asked, Base, Command, Said, Written};
use super::{arguments, gpus, keys, notes, rates, value, yaml};

/// The study of a file.
pub fn study(file: &str, tree: &Value, asked: &Asked) -> Result<Written, InitError> {
    let wrong = |why: &str| InitError::File { file: file.to_owned(), why: why.to_owned() };
    let root = tree.as_object().ok_or_else(|| wrong("it has no settings"))?;
    let server =
        part(root, "server").ok_or_else(|| wrong("it has no `server:`, as auto_benchmark's files have"))?;
    let words = command(&server).ok_or_else(|| wrong("a flag in `server:` is more than words"))?;
    let base = study::base(Command::Words(&words), asked)?;
    let left_out = base.left_out.iter().cloned().chain(keys::unknown(root)).collect();
    let mut out = Reader { root, base: &base, left_out, told: Vec::new() };
    let space = out.space(&server);
    let (axes, vary) = out.axes(&space);
    let speculation = out.speculation();
    let mut draft = Draft { engine: base.draft.clone(), axes, ..Draft::default() };
    draft.engine.settings.extend(out.api());
    draft.header = vec![format!(
        "`{}` of SGLang's auto_benchmark as a study, written by `perflab init`.",
        study::shown(file)
    )];
    let step = out.step(vary);
    let mut steps: Vec<Step> = step.into_iter().collect();
    if let Some((axes, step)) = speculation {
        draft.axes.extend(axes);
        steps.push(step);
    }
    for (i, profile) in out.profiles().into_iter().enumerate() {
        let loads = rates::each(&profile, &rates::listed(root));
        let loads = rates::capped(loads, &rates::caps(root));
        draft.studies.push(out.study(&profile, &loads, steps.clone(), i));
        draft.profiles.extend(loads);
    }
    let left_out = out.left_out;
    let mut said = Said { left_out, ..base.said() };
    said.notes.extend(notes::of_flags(&base.known, params::flags(&out.told)));
    said.notes.extend(rates::told(root).into_iter().chain(rates::caps_told(root)));
    study::finish(draft, said)
}

fn part(map: &Map<String, Value>, name: &str) -> Option<Map<String, Value>> {
    map.get(name)?.as_object().cloned()
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_else(|| vec![value.clone()])
}

/// The names that auto_benchmark has short ones for.
fn canonical(key: &str) -> String {
    match key {
        "tp" | "pp" | "dp" | "ep" => format!("{key}_size"),
        other => other.replace('-', "_"),
    }
}

/// The command that the server's settings stand for; `None` where a value is more than words.
fn command(server: &Map<String, Value>) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    for (name, setting) in server.get("env").and_then(Value::as_object).into_iter().flatten() {
        words.push(format!("{name}={}", yaml::word(setting)?));
    }
    match server.get("command_prefix") {
        Some(Value::String(text)) => words.extend(shell_words::split(text).ok()?),
        Some(Value::Array(all)) => words.extend(all.iter().map(yaml::word).collect::<Option<Vec<_>>>()?),
        _ => words.extend(Engine::Sglang.launcher().iter().map(|w| (*w).to_owned())),
    }
    for (key, setting) in server.get("base_flags").and_then(Value::as_object).into_iter().flatten() {
        let flag = format!("--{}", canonical(key).replace('_', "-"));
        match setting {
            Value::Null | Value::Bool(false) => {}
            Value::Bool(true) => words.push(flag),
            Value::Object(_) => words.push(format!("{flag}={setting}")),
            other => {
                words.push(flag);
                words.extend(list(other).iter().map(yaml::word).collect::<Option<Vec<_>>>()?);
            }
        }
    }
    for extra in server.get("extra_args").map(list).unwrap_or_default() {
        words.push(yaml::word(&extra)?);
    }
    Some(words)
}

struct Reader<'a> {
    root: &'a Map<String, Value>,
    base: &'a Base,
    left_out: Vec<String>,
    /// what points set, as far as it has been read
    told: Vec<params::Said>,
}

impl Reader<'_> {
    fn number(&self, block: &str, name: &str) -> Option<f64> {
        self.root.get(block)?.get(name)?.as_f64().filter(|n| n.is_finite())
    }

    fn tier(&self) -> u64 {
        self.number("search", "tier").map_or(2, |t| t as u64)
    }

    /// What is searched, in its order; layouts come last, as there.
    fn space(&mut self, server: &Map<String, Value>) -> Vec<(String, Vec<Point>)> {
        let mut out = Vec::new();
        for (key, values) in part(server, "search_space").unwrap_or_default() {
            let key = canonical(&key);
            let points = list(&values).iter().filter_map(|v| self.point(&key, v)).collect();
            out.push((key, points));
        }
        let layout = part(server, "parallel").map(|p| self.layouts(&p)).unwrap_or_default();
        if !layout.is_empty() {
            out.push(("layout".to_owned(), layout));
        }
        out
    }

    /// GPUs that the largest combination of what is searched takes: of each key the value that takes most.
    fn most_gpus(&self) -> u64 {
        let reading = Reading { engine: self.base.launch.engine, known: &self.base.known, negates: false };
        let space = self.root.get("server").and_then(|s| part(s.as_object()?, "search_space"));
        let mut flags = self.base.arguments.flags.clone();
        for (key, values) in space.unwrap_or_default() {
            let with = |value: &Value| {
                let argument = reading.argument(&canonical(&key), value).ok()??;
                let mut flags = flags.clone();
                flags.retain(|f| f.canonical != argument.canonical);
                flags.push(argument);
                Some(flags)
            };
            let all = list(&values).iter().filter_map(with).collect::<Vec<_>>();
            let most = all.into_iter().max_by_key(|flags| gpus::gpus_used(&self.base.known, flags));
            flags = most.unwrap_or(flags);
        }
        gpus::gpus_used(&self.base.known, &flags)
    }

    fn point(&mut self, key: &str, setting: &Value) -> Option<Point> {
        let reading = Reading { engine: self.base.launch.engine, known: &self.base.known, negates: false };
        let (name, changes) = match reading.said(key, setting) {
            Ok(Some(said)) => {
                self.told.push(said);
                let name = match setting {
                    Value::Bool(true) => "on".to_owned(),
                    _ => params::point_name(std::iter::once(setting)),
                };
                (name, self.told.last().map(std::slice::from_ref).unwrap_or_default())
            }
            // without the flag, also where the base has it
            Ok(None) => {
                let changes = vec![format!("unset --{}", key.replace('_', "-"))];
                return Some(Point { name: "off".to_owned(), changes, ..Point::default() });
            }
            Err(why) => {
                self.left_out.push(why);
                return None;
            }
        };
        let as_typed = params::as_typed(changes);
        Some(Point { name, title: None, changes: params::texts(changes), as_typed })
    }

    /// Where its client sends requests. `auto` is told by the data: texts go to completions, messages to chat.
    fn api(&mut self) -> Option<Line> {
        let of = |block: &str, name: &str| self.root.get(block)?.get(name).and_then(yaml::word);
        let backend = of("benchmark", "backend").unwrap_or_else(|| "auto".to_owned());
        let kind = of("dataset", "kind").or_else(|| self.root.get("dataset").and_then(yaml::word));
        let texts = ["random", "sharegpt", "generated-shared-prefix"];
        let api = match backend.as_str() {
            "sglang" | "sglang-native" => "sglang_generate",
            "sglang-oai" | "vllm" | "lmdeploy" => "openai_completions",
            "auto" if kind.is_some_and(|k| texts.contains(&k.as_str())) => "openai_completions",
            "sglang-oai-chat" | "vllm-chat" | "lmdeploy-chat" => return None,
            "auto" => {
                let file = of("dataset", "path").filter(|p| !p.is_empty());
                self.left_out.push(format!(
                    "benchmark.backend auto: what {} holds decides there whether chat is asked for; here it is",
                    value::plain(file.as_deref().unwrap_or("data.jsonl"))
                ));
                return None;
            }
            other => {
                let other = value::plain(other);
                self.left_out
                    .push(format!("benchmark.backend {other}: perflab asks for chat completions instead"));
                return None;
            }
        };
        Some(Line::new("api", api))
    }

    fn in_base(&self, key: &str) -> bool {
        let flag = format!("--{}", key.replace('_', "-"));
        self.base.arguments.flags.iter().any(|f| f.name == flag || f.canonical == flag)
    }

    /// Sizes of tensor and pipeline parallelism; the data-parallel size is what is left of the GPUs.
    fn layouts(&mut self, parallel: &Map<String, Value>) -> Vec<Point> {
        let sizes = |name: &str| {
            let found = parallel.iter().find(|(k, _)| canonical(k) == name).map(|(_, v)| list(v));
            found.unwrap_or_default().iter().filter_map(Value::as_u64).collect::<Vec<_>>()
        };
        let (tp, pp) = (sizes("tp_size"), sizes("pp_size"));
        let visible = self.base.devices.as_ref().map(|d| u64::from(d.count));
        let Some(gpus) = parallel.get("gpu_count").and_then(Value::as_u64).or(visible) else {
            self.left_out.push("parallel: the number of GPUs is not in the file".to_owned());
            return Vec::new();
        };
        let mut out = Vec::new();
        for tp in if tp.is_empty() { vec![1] } else { tp } {
            for pp in if pp.is_empty() { vec![1] } else { pp.clone() } {
                let needs = tp.saturating_mul(pp).max(1);
                if !gpus.is_multiple_of(needs) {
                    self.left_out
                        .push(format!("parallel tp {tp}, pp {pp}: {gpus} GPUs are no multiple of it"));
                    continue;
                }
                let sizes = [("tp_size", tp), ("pp_size", pp), ("dp_size", gpus / needs)];
                let stated = sizes.iter().filter(|(k, n)| *n > 1 || self.in_base(k)).collect::<Vec<_>>();
                let points: Vec<Point> =
                    stated.iter().filter_map(|(k, n)| self.point(k, &Value::from(*n))).collect();
                let as_typed = points.iter().any(|p| p.as_typed);
                let changes = points.into_iter().flat_map(|p| p.changes).collect();
                out.push(Point { name: format!("tp{tp}_pp{pp}"), title: None, changes, as_typed });
            }
        }
        out
    }

    /// The axes, and how the tier combines them: one at a time, the first three together and then one at a time, or all.
    fn axes(&mut self, space: &[(String, Vec<Point>)]) -> (Vec<Axis>, Vec<Vec<String>>) {
        let tier = self.tier();
        let (keys, values) = match tier {
            1 => (6, 2),
            2 => (8, 3),
            _ => (usize::MAX, usize::MAX),
        };
        let mut axes = Vec::new();
        for (key, points) in space.iter().take(keys) {
            let name = value::name(key);
            axes.extend(params::axis(&name, points.iter().take(values).cloned().collect()));
        }
        if space.len() > keys || space.iter().any(|(_, p)| p.len() > values) {
            self.left_out
                .push(format!("search space: tier {tier} takes {values} values of {keys} keys at most"));
        }
        let names: Vec<String> = axes.iter().map(|a| a.name.clone()).collect();
        let together = match tier {
            1 => 0,
            2 => names.len().min(3),
            _ => names.len(),
        };
        let (head, tail) = names.split_at(together);
        let mut vary: Vec<Vec<String>> = Vec::new();
        if !head.is_empty() {
            vary.push(head.to_vec());
        }
        vary.extend(tail.iter().map(|n| vec![n.clone()]));
        (axes, vary)
    }

    fn step(&mut self, vary: Vec<Vec<String>>) -> Option<Step> {
        let most = match self.root.get("search").and_then(|s| s.get("max_candidates")) {
            Some(Value::Null) => None,
            given => Some(given.and_then(Value::as_u64).unwrap_or(8)),
        };
        let mut about = vec![format!("tier {}: every candidate over the base", self.tier())];
        if let Some(most) = most {
            about.push(format!("auto_benchmark stops after {most} candidates, the base among them; `budget {most} trials` here would too"));
        }
        (!vary.is_empty()).then(|| Step {
            about,
            name: "search".to_owned(),
            title: "Search Space".to_owned(),
            vary,
        })
    }

    /// The second stage: speculation over the best base.
    fn speculation(&mut self) -> Option<(Vec<Axis>, Step)> {
        let block = part(self.root, "speculative")?;
        if block.get("enabled") != Some(&Value::Bool(true)) {
            if block.get("enabled") != Some(&Value::Bool(false)) {
                self.left_out.push("speculative: it has no `enabled: true`".to_owned());
            }
            return None;
        }
        let mut fixed = Point { name: "draft".to_owned(), ..Point::default() };
        for (key, theirs) in
            [("speculative_algorithm", "algorithm"), ("speculative_draft_model_path", "draft_model_path")]
        {
            let setting = block.get(theirs).filter(|v| yaml::word(v).is_some_and(|w| !w.is_empty()));
            let Some(point) = setting.and_then(|v| self.point(key, v)) else { continue };
            fixed.as_typed |= point.as_typed;
            fixed.changes.extend(point.changes);
        }
        let mut axes: Vec<Axis> = Vec::new();
        if !fixed.changes.is_empty() {
            axes.extend(params::axis("draft", vec![fixed]));
        }
        for (key, values) in part(&block, "search_space").unwrap_or_default() {
            let points = list(&values).iter().filter_map(|v| self.point(&canonical(&key), v)).collect();
            axes.extend(params::axis(&value::name(&key), points));
        }
        if axes.is_empty() {
            self.left_out
                .push("speculative: it names no algorithm, no draft model and nothing to search".to_owned());
        }
        let names: Vec<String> = axes.iter().map(|a| a.name.clone()).collect();
        let step = Step {
            about: vec!["the second stage goes on from the best of the first".to_owned()],
            name: "speculative".to_owned(),
            title: "Speculative Decoding".to_owned(),
            vary: vec![names],
        };
        (!axes.is_empty()).then_some((axes, step))
    }

    /// One profile for each scenario of the data set.
    fn profiles(&mut self) -> Vec<Block> {
        let data = match self.root.get("dataset") {
            Some(Value::Object(map)) => map.clone(),
            Some(Value::String(kind)) => Map::from_iter([("kind".to_owned(), Value::from(kind.as_str()))]),
            _ => Map::new(),
        };
        let text = |name: &str| data.get(name).and_then(yaml::word).unwrap_or_default();
        let lengths = |names: [&str; 2], usual: u64| {
            let found = names.iter().find_map(|n| data.get(*n)).map(list).unwrap_or_default();
            let all: Vec<u64> = found.iter().filter_map(Value::as_u64).collect();
            if all.is_empty() { vec![usual] } else { all }
        };
        let titles: Vec<String> =
            data.get("scenario_names").map(list).unwrap_or_default().iter().filter_map(yaml::word).collect();
        let mut scenarios: Vec<(String, Vec<Line>)> = Vec::new();
        match text("kind").as_str() {
            "random" => {
                let outputs = lengths(["output_len", "random_output_len"], 256);
                for (i, input) in lengths(["input_len", "random_input_len"], 1024).into_iter().enumerate() {
                    let output = outputs.get(i).or(outputs.last()).copied().unwrap_or(256);
                    let title =
                        titles.get(i).cloned().unwrap_or_else(|| format!("input{input}-output{output}"));
                    let numbers = [("input", input.max(1)), ("output", output.max(1))];
                    let lines = numbers.map(|(w, n)| Line::new(w, n.to_string()));
                    scenarios.push((title, [vec![Line::new("data", "random")], lines.to_vec()].concat()));
                }
            }
            "sharegpt" => {
                let path = text("path");
                if !path.is_empty() {
                    self.left_out.push(format!("dataset.path {path}: where data lies stands in a site file"));
                }
                scenarios.push(("ShareGPT".to_owned(), vec![Line::new("data", "sharegpt")]));
            }
            "generated-shared-prefix" => {
                let number =
                    |name: &str, usual: u64| data.get(name).and_then(Value::as_u64).unwrap_or(usual).max(1);
                let lines = [
                    ("prefix", number("gsp_system_prompt_len", 2048)),
                    ("prefixes", number("gsp_num_groups", 64)),
                    ("input", number("gsp_question_len", 128)),
                    ("output", number("gsp_output_len", 256)),
                ];
                let lines = lines.map(|(w, n)| Line::new(w, n.to_string()));
                let data = vec![Line::new("data", "prefix_repetition")];
                scenarios.push(("Shared Prefix".to_owned(), [data, lines.to_vec()].concat()));
            }
            _ => {
                let path =
                    Some(text("path")).filter(|p| !p.is_empty()).unwrap_or_else(|| "data.jsonl".to_owned());
                let line = Line::new("data", format!("jsonl {}", value::text(&path)));
                scenarios.push(("Custom".to_owned(), vec![line]));
            }
        }
        let number = |name: &str| data.get(name).and_then(Value::as_u64);
        let grouped = number("gsp_num_groups").zip(number("gsp_prompts_per_group"));
        let load = self.load(number("num_prompts").or(grouped.map(|(n, each)| n.saturating_mul(each))));
        let block = |(title, mut lines): (String, Vec<Line>)| {
            lines.extend(load.clone());
            Block { name: value::name(&title), title, settings: lines, ..Block::default() }
        };
        scenarios.into_iter().map(block).collect()
    }

    fn load(&mut self, prompts: Option<u64>) -> Vec<Line> {
        let benchmark = part(self.root, "benchmark").unwrap_or_default();
        let mut lines = Vec::new();
        if let Some((from, to)) = rates::range(self.root) {
            let rate = if to > from { format!("{from}/s .. {to}/s") } else { format!("{from}/s") };
            lines.push(Line::new("rate", rate));
        } else {
            lines.push(Line::new("rate", "max"));
        }
        if rates::range(self.root).is_some() {
            self.rates_left_out(&benchmark);
        }
        let requests = prompts.or(benchmark.get("num_prompts").and_then(Value::as_u64)).unwrap_or(1000);
        lines.push(Line::new("requests", requests.max(1).to_string()));
        for (name, setting) in
            benchmark.get("extra_request_body").and_then(Value::as_object).into_iter().flatten()
        {
            match setting.as_f64() {
                Some(t) if name == "temperature" => lines.push(Line::new("temperature", t.to_string())),
                _ => self.left_out.push(format!("extra_request_body.{name}: a profile has no such setting")),
            }
        }
        lines.extend(benchmark.get("seed").and_then(Value::as_u64).map(|s| Line::new("seed", s.to_string())));
        lines
    }

    /// What no profile of a rate stands for: `.inf`.
    fn rates_left_out(&mut self, benchmark: &Map<String, Value>) {
        let qps = benchmark.get("qps").or_else(|| benchmark.get("request_rate"));
        let all = qps.map(|q| list(q.get("values").unwrap_or(q))).unwrap_or_default();
        let odd: Vec<String> =
            all.iter().filter(|q| !q.is_object() && q.as_f64().is_none()).filter_map(yaml::word).collect();
        if !odd.is_empty() {
            let why = format!(
                "benchmark.qps {}: no rate a second; write a profile with `rate max` for it",
                odd.join(", ")
            );
            if !self.left_out.contains(&why) {
                self.left_out.push(why);
            }
        }
    }

    fn study(&self, profile: &Block, loads: &[Block], steps: Vec<Step>, index: usize) -> Study {
        let model = arguments::short_name(&self.base.arguments.model);
        let searched = rates::range(self.root).is_some_and(|(low, high)| high > low)
            && rates::listed(self.root).is_empty();
        let sla = self.root.get("benchmark").and_then(|b| b.get("sla"));
        let limits = [("max_ttft_ms", "ttft"), ("max_tpot_ms", "tpot")];
        let limits = limits.iter().filter_map(|(key, of)| Some((*of, sla?.get(*key)?.as_f64()?)));
        let limits: Vec<(&str, f64)> = limits.collect();
        let kept: Vec<String> = limits.iter().map(|(of, limit)| format!("{of} <= {limit}ms")).collect();
        let goal = match (searched, loads.len()) {
            (true, _) => "rate".to_owned(),
            // the highest rates may break the limits, which says how far a candidate goes and refuses none
            (false, 2..) if !kept.is_empty() => format!("goodput({})", kept.join(" and ")),
            _ => "output_tps".to_owned(),
        };
        let mut settings = study::opening(self.base, self.most_gpus());
        let names: Vec<&str> = loads.iter().map(|l| l.name.as_str()).collect();
        settings.push(Line::new("maximize", format!("{goal} on {}", names.join(", "))));
        if !goal.starts_with("goodput") {
            let means = limits.iter().map(|(of, limit)| format!("mean({of}) <= {limit}ms"));
            settings.extend(means.map(|condition| Line::new("require", condition)));
        }
        settings.push(
            Line::new("repeat", "1").why("auto_benchmark runs each once; 3 shows how much launches differ"),
        );
        let name = if index == 0 { model.to_owned() } else { format!("{model}_{}", profile.name) };
        Study {
            about: Vec::new(),
            name: value::name(&name),
            title: format!("{}, {}", study::shown(model), profile.title),
            settings,
            steps,
            closing: Vec::new(),
        }
    }
}
