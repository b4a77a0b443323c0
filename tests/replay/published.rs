//! Three published pages: what they printed, what their own result blocks say, and what a replay makes of the blocks.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::support::{Lab, Report, assert_close, project};

/// A published study, its recording, and what a reader of the page expects.
struct Page {
    report: Report,
    expected: Value,
    recording: Value,
}

fn json(path: &str) -> Value {
    let text = std::fs::read_to_string(project().join(path)).expect("a file of the project");
    serde_json::from_str(&text).expect("JSON")
}

impl Page {
    fn replay(name: &str) -> Self {
        let lab = Lab::new();
        let example = |path: &str| project().join("examples").join(path).to_string_lossy().into_owned();
        let (study, recording) =
            (example(&format!("{name}.plab")), example(&format!("recordings/{name}.json")));
        let args = [
            "exec", &study, "--replay", &recording, "--checks", "warn", "--format", "json", "--dir", "state",
        ];
        let out = lab.run(&args).expect_code(0);
        let page = Self {
            report: out.report(),
            expected: json(&format!("tests/fixtures/replay/{name}.expected.json")),
            recording: json(&format!("examples/recordings/{name}.json")),
        };
        assert!(page.report.0["complete"] == true && page.report.0["simulated"] == false);
        page
    }

    fn block(&self, index: &Value) -> &Value {
        &self.recording["runs"][index.as_u64().expect("an index") as usize]
    }

    /// The block of a trial on the tuned profile, by what it ran: the page's own names are not looked at.
    #[track_caller]
    fn assert_block(&self, trial: &Value, block: &Value) {
        let config = &self.report.trial(trial.as_str().expect("a trial"))["config"];
        assert_eq!(identity_of_trial(config), identity_of_block(self.block(block)));
    }

    fn tps(&self, block: usize) -> f64 {
        self.recording["runs"][block]["metrics"]["total_tps"].as_f64().expect("a throughput")
    }

    fn known_errors(&self) -> Vec<&str> {
        self.expected["known_page_errors"]
            .as_array()
            .expect("errors")
            .iter()
            .filter_map(Value::as_str)
            .collect()
    }

    /// A known error of the page that holds some words: what an assertion is about.
    #[track_caller]
    fn known(&self, words: &str) -> &str {
        let found = self.known_errors().into_iter().find(|e| e.contains(words));
        found.unwrap_or_else(|| panic!("no known page error says `{words}`"))
    }

    /// Whether the page printed some words anywhere.
    fn printed(&self, words: &str) -> bool {
        self.recording["published"].to_string().contains(words)
    }

    fn assert_decisions(&self) {
        let steps = self.report.0["steps"].as_array().expect("steps");
        let expected = self.expected["steps"].as_array().expect("steps");
        assert_eq!(steps.len(), expected.len());
        let baseline = &self.expected["baseline_block"];
        self.assert_block(&self.report.0["baseline"], baseline);
        let mut incumbent = baseline;
        for (step, expected) in steps.iter().zip(expected) {
            let title = expected["step"].as_str().expect("a title");
            assert_eq!(
                step["title"],
                title.trim_start_matches(|c: char| c.is_ascii_digit() || ". ".contains(c))
            );
            self.assert_step(step, expected, incumbent);
            incumbent = &expected["incumbent_after"];
        }
        self.assert_block(&self.report.0["recommended"]["trial"], &self.expected["final_block"]);
        assert_eq!(self.words("argv"), self.expected_words());
    }

    fn assert_step(&self, step: &Value, expected: &Value, incumbent: &Value) {
        let title = &step["title"];
        let candidates = step["candidates"].as_array().expect("candidates");
        let blocks = expected["candidates"].as_array().expect("candidates");
        // a step's candidates stand in the page's order; what no engine there can do has no block
        let measured = candidates
            .iter()
            .filter(|c| !self.report.trial(c.as_str().expect("an id"))["metrics"]["total_tps"].is_null());
        for (trial, block) in measured.zip(blocks) {
            self.assert_block(trial, block);
        }
        if expected["best"].is_null() {
            assert!(step["best"].is_null() && step["gain"].is_null(), "{title}: {step}");
        } else {
            self.assert_block(&step["best"], &expected["best"]);
            let gain = step["gain"]["value"].as_f64().expect("a gain") * 100.0;
            assert_close(gain, expected["vs_incumbent_pct"].as_f64().expect("a gain"), 0.006);
            assert_eq!(step["gain"]["by"], "single_run", "{title}");
        }
        // the page's word for a baseline that stays is "adopted" too
        let changed = expected["incumbent_after"] != *incumbent;
        assert_eq!(step["adopted"], changed, "{title}");
        assert!(
            expected["adopted"] == changed || expected["incumbent_after"] == self.expected["baseline_block"]
        );
        self.assert_block(&step["incumbent_before"], incumbent);
        self.assert_block(&step["incumbent_after"], &expected["incumbent_after"]);
    }

    /// The recommended words, sorted.
    fn words(&self, key: &str) -> Vec<String> {
        let words = self.report.0["recommended"][key].as_array().expect("words");
        let mut words: Vec<String> = words.iter().map(|w| w.as_str().expect("a word").to_owned()).collect();
        words.sort();
        words
    }

    /// The page's command as words, sorted: some of its tokens are an option and its value.
    fn expected_words(&self) -> Vec<String> {
        let tokens = self.expected["recommended_tokens"].as_array().expect("tokens");
        let words = tokens.iter().flat_map(|t| t.as_str().expect("a token").split(' '));
        let mut words: Vec<String> = words.map(str::to_owned).collect();
        words.sort();
        words
    }
}

type Identity = (String, String, BTreeSet<(String, String)>);

/// Engine, model and set of flags, in one spelling.
fn identity_of_trial(config: &Value) -> Identity {
    let text = |v: &Value| v.as_str().expect("a text").to_owned();
    let flags = config["flags"].as_array().expect("flags").iter();
    let flags = flags.map(|f| (text(&f["name"]).replace('_', "-"), plain(&f["value"])));
    (text(&config["engine"]), text(&config["model"]), flags.collect())
}

fn identity_of_block(run: &Value) -> Identity {
    let text = |v: &Value| v.as_str().expect("a text").to_owned();
    let flags = run["flags"].as_array().expect("flags").iter().map(|f| {
        let flag = f.as_str().expect("a flag");
        let (name, value) = flag.split_once('=').map_or((flag, "true"), |(n, v)| (n, v));
        (name.replace('_', "-"), plain(&serde_json::from_str(value).unwrap_or_else(|_| value.into())))
    });
    (text(&run["engine"]), text(&run["model"]), flags.collect())
}

/// The numbers of a block, without those that it leaves open.
fn printed_metrics(run: &Value) -> BTreeMap<&str, f64> {
    let metrics = run["metrics"].as_object().expect("metrics").iter();
    metrics.filter_map(|(name, value)| Some((name.as_str(), value.as_f64()?))).collect()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn percent(of: f64, than: f64) -> f64 {
    (of / than - 1.0) * 100.0
}

/// A number with so many decimals: as a page prints it.
fn fixed(number: f64, decimals: usize) -> String {
    format!("{number:.decimals$}")
}

#[test]
fn qwen3_14b_ends_in_the_published_command() {
    let page = Page::replay("qwen3-14b-h100");
    page.assert_decisions();
    assert_eq!(page.known_errors().len(), 4);

    let error = page.known("Result line prints SGLang 8424.86");
    assert!(page.printed("SGLang (8424.86 tok/s)") && fixed(page.tps(1), 2) == "8403.97", "{error}");
    let error = page.known("Engine Selection printed +27.7%");
    assert_eq!(fixed(percent(page.tps(1), page.tps(0)), 1), "27.4", "{error}");
    assert_eq!(fixed(page.report.gain("engines") * 100.0, 1), "27.4", "{error}");
    let error = page.known("Quantization printed +23.8%");
    assert_eq!(fixed(page.report.gain("quant") * 100.0, 1), "24.1", "{error}");
    assert!(page.printed("+27.7%") && page.printed("+23.8%"));
    let error = page.known("fa3 10434.44 > FP8 10426.27");
    assert_eq!(fixed(page.report.gain("attention") * 100.0, 2), "0.08", "{error}");
    assert!(!page.report.adopted("attention"), "{error}");
    assert_eq!(page.report.row("attention", "fa3")["outcome"], "ok");
}

#[test]
fn qwen3_32b_ends_in_the_published_command() {
    let page = Page::replay("qwen3-32b-h100");
    page.assert_decisions();
    assert_eq!(page.known_errors().len(), 3);

    let error = page.known("Very Long Prompt printed +10.7%, computed +46.8%");
    let confirm = page.report.0["confirm"].as_array().expect("confirm");
    let row = confirm.iter().find(|c| c["profile"] == "very_long_prompt").expect("a row");
    assert!(page.printed("4068.16 (+10.7%)"), "{error}");
    assert_eq!(fixed(row["gain"]["value"].as_f64().expect("a gain") * 100.0, 1), "46.8", "{error}");
    let error = page.known("shows the SGLang command");
    assert_eq!(page.recording["runs"][3]["engine"], "trtllm", "{error}");
    let step = page.report.0["steps"][1].clone();
    assert!(page.report.config(&step["incumbent_after"]).starts_with("trtllm"), "{error}");
    let error = page.known("step 3 adds two flags at once");
    let rows = page.report.0["steps"][2]["rows"].as_array().expect("rows");
    assert_eq!(rows.last().expect("a row")["changes"].as_array().map(Vec::len), Some(2), "{error}");
}

#[test]
fn qwen3_5_9b_ends_in_the_published_command() {
    let page = Page::replay("qwen3.5-9b-h100");
    page.assert_decisions();
    assert_eq!(page.known_errors().len(), 5);
    let report = &page.report;

    let error = page.known("success rate printed 51.5%, block shows 514/1000 = 51.4%");
    let spec = report.step("spec");
    let trial = report.trial(spec["candidates"][0].as_str().expect("an id"));
    assert_eq!(
        fixed(trial["metrics"]["success_rate"].as_f64().expect("a rate") * 100.0, 1),
        "51.4",
        "{error}"
    );
    assert!(page.printed("Success rate: 51.5%"), "{error}");

    let error = page.known("block 12 == 13");
    let block = |index: usize| printed_metrics(&page.recording["runs"][index]);
    assert_eq!(block(12), block(13), "{error}");
    assert_eq!(report.step("pair")["candidates"][0], report.step("all")["candidates"][0], "{error}");
    assert!(report.step("all")["rows"][2]["same_as"].is_string(), "{error}");

    let error = page.known("\"Speculative Decodng\"");
    assert!(page.printed("Speculative Decodng") && spec["title"] == "Speculative Decoding", "{error}");

    let error = page.known("5027.72 / 749.05 / 294.57");
    let tpot =
        |block: usize| page.recording["runs"][block]["metrics"]["tpot_mean_ms"].as_f64().expect("a mean");
    let deltas = [(0, 1, "5027.73"), (11, 10, "749.04"), (15, 12, "294.58")];
    for (better, worse, delta) in deltas {
        assert_eq!(fixed(page.tps(better) - page.tps(worse), 2), delta, "{error}");
    }
    for printed in ["5027.72", "749.05", "294.57", "(0.25%)", "4.43% slower"] {
        assert!(page.printed(printed), "{error}");
    }
    assert_eq!(fixed(percent(tpot(7), tpot(6)), 2), "0.24", "{error}");
    assert_eq!(fixed(percent(tpot(9), tpot(8)), 2), "4.42", "{error}");

    let error = page.known("Generation Heavy +1.74% is -0.01% by tokens/duration");
    let real = |block: usize| {
        let m = &page.recording["runs"][block]["metrics"];
        let number = |key: &str| m[key].as_f64().expect("a number");
        (number("total_input_tokens") + number("total_generated_tokens")) / number("duration_s")
    };
    assert_eq!(fixed(percent(page.tps(23), page.tps(22)), 2), "1.74", "{error}");
    assert_eq!(fixed(percent(real(23), real(22)), 2), "-0.01", "{error}");
}

#[test]
fn a_run_that_lost_half_of_its_requests_is_refused_however_fast() {
    let page = Page::replay("qwen3.5-9b-h100");
    let step = page.report.step("spec");
    let row = &step["rows"][1];
    assert_eq!((&row["role"], &row["outcome"]), (&"candidate".into(), &"refused".into()));
    let reason = row["reason"].as_str().expect("a reason");
    assert!(reason.contains("success_rate") && reason.contains("514 of 1000"), "{reason}");
    // it is the fastest of all, by far
    let best = page.tps(3);
    assert!((0..16).all(|b| page.tps(b) <= best) && row["gain"].as_f64().expect("a gain") > 0.3);
    assert_eq!(step["adopted"], false);
    assert_eq!(step["incumbent_before"], step["incumbent_after"]);
}

#[test]
fn the_checks_refuse_the_page_unless_told_to_warn() {
    let lab = Lab::new();
    let example = |path: &str| project().join("examples").join(path).to_string_lossy().into_owned();
    let (study, recording) = (example("qwen3.5-9b-h100.plab"), example("recordings/qwen3.5-9b-h100.json"));
    let out = lab
        .run(&["exec", &study, "--replay", &recording, "--format", "json", "--dir", "state"])
        .expect_code(3);
    let report = out.report();
    assert_eq!(report.0["checks"], "refuse");
    assert!(report.0["recommended"].is_null());
    let baseline = report.trial(report.0["baseline"].as_str().expect("an id"));
    assert_eq!(baseline["outcome"], "refused");
    assert!(baseline["findings"].as_array().expect("findings").iter().any(|f| f["level"] == "refuse"));
    let why = report.0["no_recommendation"].as_str().expect("a reason");
    assert!(why.contains("baseline"), "{why}");
    assert!(!lab.path("state/recommended.sh").exists());
}

#[test]
fn a_replay_says_what_it_is_and_is_the_same_each_time() {
    let lab = Lab::new();
    for example in ["qwen3-14b-h100.plab", "recordings/qwen3-14b-h100.json"] {
        let name = example.rsplit('/').next().expect("a name");
        std::fs::copy(project().join("examples").join(example), lab.path(name)).expect("copied");
    }
    let args = ["exec", "qwen3-14b-h100.plab", "--replay", "qwen3-14b-h100.json", "--checks", "warn"];
    let first = lab.run(&args).expect_code(0);
    let second = lab.run(&args).expect_code(0);
    assert_eq!(first.stdout, second.stdout);
    assert!(first.stdout.contains("not measured by perflab"), "{}", first.stdout);
    // it has a state of its own beside the file, and no lock
    assert!(lab.path(".perflab/qwen3_14b_h100.replay/report.json").exists());
    assert!(!lab.path(".perflab/qwen3_14b_h100").exists());
    assert!(!lab.path("qwen3_14b_h100.lock.json").exists());
}
