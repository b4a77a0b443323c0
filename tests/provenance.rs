//! What a result was made of is written down with it, and it counts only while that holds.

use serde_json::Value;

use crate::support::{EXEC, Lab, binary, live_study, unsealed};

const ONE_STEP: &str = "step one { vary seqs[1, 2] }";

fn journal(lab: &Lab) -> Vec<Value> {
    lab.read("state/journal.jsonl").lines().map(|l| serde_json::from_str(l).expect("JSON")).collect()
}

fn kinds<'a>(journal: &'a [Value], kind: &str) -> Vec<&'a Value> {
    journal.iter().map(|e| &e["kind"][kind]).filter(|k| !k.is_null()).collect()
}

fn measured() -> Lab {
    let lab = Lab::with(&live_study(ONE_STEP));
    lab.run(&EXEC).expect_code(0);
    lab
}

fn to_measure(lab: &Lab) -> Vec<Value> {
    let plan = lab.run(&["plan", "study.plab", "--dir", "state", "--format", "json"]).expect_code(0).json();
    let candidates = plan["steps"][0]["candidates"].as_array().expect("candidates");
    candidates.iter().filter(|c| c["state"] == "to_measure").map(|c| c["reason"].clone()).collect()
}

#[test]
fn every_result_says_what_it_was_made_of() {
    let lab = measured();
    let journal = journal(&lab);
    let session = kinds(&journal, "session")[0];
    assert!(session["perflab"].is_string() && session["file_hash"].is_string(), "{session}");
    assert!(session["machine"]["kernel"].is_string() && session["machine"]["cpus"].is_u64(), "{session}");
    for launch in kinds(&journal, "launch") {
        assert_eq!(launch["command"][0], "perflab", "{launch}");
    }
    let ready = kinds(&journal, "ready");
    assert_eq!(ready.len(), 3);
    assert_eq!(ready[0]["says"]["version"], env!("CARGO_PKG_VERSION"));
    let runs = kinds(&journal, "run");
    assert_eq!(runs.len(), 3);
    for run in runs {
        let made = &run["made"];
        assert_eq!(made["build"], format!("perflab {}", env!("CARGO_PKG_VERSION")), "{made}");
        assert_eq!((&made["engine"], &made["model"]), (&"sim".into(), &"Qwen/Qwen3-0.6B".into()));
        assert!(made["load_generator"].is_u64() && run["seed"].is_u64(), "{run}");
    }
}

#[test]
fn a_result_counts_only_while_what_made_it_holds() {
    let lab = measured();
    assert_eq!(to_measure(&lab), [] as [Value; 0]);
    let text = lab.read("state/journal.jsonl");
    let build = format!("perflab {}", env!("CARGO_PKG_VERSION"));
    let edits = [
        (
            format!("\"build\":\"{build}\""),
            "\"build\":\"perflab 0.0.1\"",
            format!("measured with perflab 0.0.1, now {build}"),
        ),
        (
            "\"load_generator\":2".to_owned(),
            "\"load_generator\":2,\"gpus\":[\"H100\",\"H100\"]",
            "measured on 2 × H100, now no GPU".to_owned(),
        ),
        (
            "\"load_generator\":2".to_owned(),
            "\"load_generator\":2,\"driver\":\"550.54\"",
            "measured with driver 550.54, now none".to_owned(),
        ),
        (
            "\"load_generator\":2".to_owned(),
            "\"load_generator\":2,\"site_env\":{\"A\":\"1\"}",
            "measured with the site's A=1, now without A".to_owned(),
        ),
        (
            "\"load_generator\":2}".to_owned(),
            "\"load_generator\":7}",
            "measured with load generator 7, now 2".to_owned(),
        ),
    ];
    for (from, to, why) in edits {
        assert!(text.contains(&from), "{from}");
        lab.write("state/journal.jsonl", unsealed(&text).replace(&from, to));
        assert_eq!(to_measure(&lab), [why.as_str(), why.as_str()], "{why}");
        let tree = lab.run(&["plan", "study.plab", "--dir", "state"]).expect_code(0).stdout;
        let words: Vec<&str> = tree.split_whitespace().collect();
        assert!(words.join(" ").contains(&format!("• 2 to measure again: {why}")), "{tree}");
        assert!(words.join(" ").contains(&format!("baseline to measure again: {why}")), "{tree}");
    }
    // the last edit stands: everything is measured again, and then counts
    let out = lab.run(&EXEC).expect_code(0);
    assert_eq!(out.report().0["cost"]["launches"], 6);
    assert_eq!(to_measure(&lab), [] as [Value; 0]);
}

#[test]
fn another_serve_line_another_api_and_another_way_are_told_apart() {
    let lab = measured();
    let study = lab.read("study.plab");
    let serve = "serve \"perflab sim --model {model} --host {host} --port {port} --seed 7\"";
    for (line, why) in [
        ("api openai_completions", "measured through another `api`"),
        ("api sglang_generate", "measured through another `api`"),
        (serve, "measured with another serve line, `ready` or `reset`"),
        ("ready get \"/v1/models\" within 20s", "measured with another serve line, `ready` or `reset`"),
    ] {
        lab.write(
            "study.plab",
            study.replacen(
                "sim { --max-model-len=4Ki }",
                &format!("sim {{\n {line}\n --max-model-len=4Ki\n}}"),
                1,
            ),
        );
        assert_eq!(to_measure(&lab), [why, why]);
    }
    lab.write("study.plab", &study);
    lab.write("site.plab", "site lab { engine sim via url \"http://127.0.0.1:9\" }\n");
    let plan = lab.run(&["plan", "study.plab", "--dir", "state"]);
    let words: Vec<&str> = plan.stdout.split_whitespace().collect();
    let why = "measured on a server of its own, now on one that runs already";
    assert!(words.join(" ").contains(why), "{}{}", plan.stdout, plan.stderr);
}

#[test]
fn a_journal_from_before_conditions_were_written_still_counts() {
    let lab = measured();
    let mut old = String::new();
    let mut seq = 0;
    for mut event in journal(&lab) {
        if !event["kind"]["ready"].is_null() {
            continue;
        }
        seq += 1;
        (event["v"], event["seq"]) = (1.into(), seq.into());
        for (kind, fields) in
            [("run", &["made", "seed"][..]), ("launch", &["command", "env"]), ("session", &["machine"])]
        {
            if let Some(own) = event["kind"].get_mut(kind).and_then(Value::as_object_mut) {
                for field in fields {
                    own.remove(*field);
                }
            }
        }
        event.as_object_mut().and_then(|e| e.shift_remove("sum"));
        old += &(event.to_string() + "\n");
    }
    lab.write("state/journal.jsonl", &old);
    assert_eq!(to_measure(&lab), [] as [Value; 0]);
    lab.run(&EXEC).expect_code(0);
    assert_eq!(lab.read("state/journal.jsonl"), old, "nothing was left to measure");
    let report =
        lab.run(&["report", "study.plab", "--dir", "state", "--format", "json"]).expect_code(0).report();
    assert_eq!(report.0["complete"], true);
}

#[test]
fn a_server_of_another_version_is_not_measured() {
    let study = live_study(ONE_STEP).replace("sim { --max", "sim {\n version \"9.9\"\n --max");
    let lab = Lab::with(&study);
    let out = lab.run(&EXEC).expect_code(3);
    assert_eq!(out.report().0["recommended"], Value::Null);
    let said = format!("the server says that it is {}, the file says 9.9", env!("CARGO_PKG_VERSION"));
    assert!(out.stdout.contains(&said), "{}", out.stdout);
    assert!(out.stdout.contains("another version"), "{}", out.stdout);
}

/// What a server answers that somebody declared, and not the library.
const OF_MY_OWN: &str = "import sys
from http.server import *
class H(BaseHTTPRequestHandler):
    def log_message(self, *a): pass
    def do_GET(self):
        body = b'{\"version\": \"2.0\"}' if self.path == '/version' else b'{}'
        self.send_response(200); self.send_header('Content-Length', str(len(body))); self.end_headers(); self.wfile.write(body)
ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), H).serve_forever()
";

#[test]
fn an_engine_of_ones_own_that_says_another_version_is_not_measured() {
    let lab = Lab::with(
        "engine mine \"Mine\" {\n version \"1.0\"\n serve \"python3 server.py {port} {model}\"\n ready get \"/health\" within 20s\n \
         api openai\n args joined\n flag --mode text\n}\n\
         profile quick \"Quick\" {\n data random\n input 16\n output 8\n concurrency 4\n requests 8\n warmup 0\n}\n\
         axis mode = --mode=[a]\nstudy s \"S\" {\n model \"Qwen/Qwen3-0.6B\"\n baseline mine\n maximize total_tps on quick\n repeat 1\n \
         step one { vary mode }\n}\n",
    );
    lab.write("server.py", OF_MY_OWN);
    let out = lab.run(&EXEC).expect_code(3);
    assert!(out.stdout.contains("another version"), "{}", out.stdout);
    assert!(out.stdout.contains("the server says that it is 2.0, the file says 1.0"), "{}", out.stdout);
}

/// A server that says of itself what vLLM logs, and runs with fewer sequences than it is asked for.
#[test]
fn flags_that_a_server_changed_are_said_of_its_results() {
    let said = "(APIServer pid=1) INFO non-default args: {'max_num_seqs': 2, 'quick': True, 'level': None}";
    let engine = r#"engine stubborn "Stubborn" {
    version "1"
    serve   "sh engine.sh {model} {host} {port}"
    ready   get "/health" within 30s
    api     openai
    args    joined
    stop    sigterm within 5s
    flag --max-num-seqs int 1..
    flag --quick        switch
    flag --level        int 0..
}
engine asked = stubborn { --quick --level=3 }
"#;
    let study = live_study("step one { vary seqs[2, 3] }");
    let (before, rest) = study.split_once("engine small").expect("an engine");
    let (_, rest) = rest.split_once('\n').expect("a line");
    let rest = rest.replace("baseline small", "baseline asked");
    let lab = Lab::with(&format!("{before}{engine}{rest}"));
    let sim = format!("exec '{}' sim --model \"$1\" --host \"$2\" --port \"$3\"", binary());
    lab.write("engine.sh", format!("echo \"{said}\"\n{sim}\n"));
    let out = lab.run(&EXEC).expect_code(0);

    let why = "the server runs with --max-num-seqs 2, not 3 as asked";
    assert_eq!(out.report().0["warnings"], serde_json::json!([format!("3: {why}")]));
    assert!(out.stderr.contains(&format!("warning: L003: {why}")), "{}", out.stderr);
    assert_eq!(out.stderr.matches("as asked").count(), 1, "{}", out.stderr);
    assert!(lab.read("state/report.md").contains(why), "{}", lab.read("state/report.md"));
}

#[test]
fn secrets_of_a_site_are_written_down_nowhere() {
    let lab = Lab::with(&live_study("step one { vary seqs[1] }"));
    lab.write(
        "site.plab",
        "site here {\n env HF_TOKEN=\"hf_abcdefghijklmnopqrstuvwxyz\"\n env PLAIN=\"seen\"\n}\n",
    );
    lab.run(&EXEC).expect_code(0);
    let text = lab.read("state/journal.jsonl");
    assert!(!text.contains("hf_abcdef"), "{text}");
    let masked = format!("\"HF_TOKEN\":\"{}\"", perflab::secrets::MASKED);
    assert!(text.contains("\"PLAIN\":\"seen\"") && text.contains(&masked), "{text}");
}

/// An edit of the file is a reason like any other: what it changed is named, for the baseline and for what stands on it.
#[test]
fn a_plan_says_which_edit_has_a_result_made_again() {
    let lab = measured();
    let text = lab.read("study.plab");
    let load = text.replacen("requests    ", "seed 5\n    requests    ", 1);
    assert_ne!(load, text);
    lab.write("study.plab", &load);
    assert_eq!(to_measure(&lab), ["measured before profile quick was edited"; 2]);
    let engine = text.replacen("sim { --max", "sim {\n env CASE=\"2\"\n --seed=7 --max", 1);
    assert_ne!(engine, text);
    lab.write("study.plab", &engine);
    assert_eq!(to_measure(&lab), ["measured before --seed, env CASE were edited"; 2]);
    // a candidate that was never measured has no such reason
    lab.write("study.plab", text.replace("seqs[1, 2]", "seqs[1, 3]"));
    assert_eq!(to_measure(&lab), [Value::Null]);
}

/// A flag that is declared otherwise is another word of a command: what was measured with it is not the same, and the reason names the flag,
/// also where only candidates set it.
#[test]
fn a_plan_says_which_declaration_has_a_result_made_again() {
    let lab = Lab::with(&live_study("step one { vary own }"));
    let study = lab.read("study.plab");
    let typed = |engine: &str, flags: &str, axis: &str| {
        let serve = "perflab sim --model {model} --host {host} --port {port} --max-model-len 4096";
        let root = format!(
            "engine {engine} {{\n serve \"{serve}\"\n ready get \"/health\"\n reset post \"/reset_prefix_cache\"\n{flags}\n}}\n\
             axis own = {axis}\n"
        );
        let text = study.replacen("study ", &format!("{root}study "), 1);
        lab.write(
            "study.plab",
            text.replacen("= sim { --max-model-len=4Ki }", &format!("= {engine} {{ }}"), 1),
        );
    };
    let (seqs, delay) = ("flag --max-num-seqs int 1..", "flag --seed int");
    typed("own_sim", &format!("{seqs}\n{delay}"), "--max-num-seqs=2 --seed=3");
    lab.run(&EXEC).expect_code(0);
    assert_eq!(to_measure(&lab), [] as [Value; 0]);
    let cases = [
        (seqs, "flag --seed text", "--seed"),
        ("flag --max-num-seqs words", "flag --seed text", "--max-num-seqs, --seed"),
    ];
    for (seqs, seed, named) in cases {
        typed("own_sim", &format!("{seqs}\n{seed}"), "--max-num-seqs=2 --seed=3");
        let why = format!("measured before the declaration of {named} was edited");
        assert_eq!(to_measure(&lab), [why.as_str()]);
    }
    // another value is another candidate
    typed("own_sim", &format!("{seqs}\nflag --seed text"), "--max-num-seqs=2 --seed=4");
    assert_eq!(to_measure(&lab), [Value::Null]);
    typed("our_sim", &format!("{seqs}\n{delay}"), "--max-num-seqs=2 --seed=3");
    assert_eq!(to_measure(&lab), ["measured before the engine's name was edited"]);
}
