//! Every kind of change as the engine receives it: raw flags, what is taken away, keys of JSON flags, models, variables, `publish`.

use crate::support::{EXEC, Lab, binary};

/// An engine that writes down how it was started, and serves with the simulated one.
const RECORDED: &str = r#"
engine recorded "Recorded" {
    version "1.0"
    serve   "sh engine.sh {model} {host} {port}"
    ready   get "/health" within 30s
    stop    sigterm within 5s
    flag --spec -s   json
    flag --seqs      int 1..
    flag --texts     words
    flag --fast      switch negated --slow
}
engine first "First" = recorded {
    --seqs=8 --spec={"method": "mtp", "depth": 2} --fast
    raw --new_flag=1
    env A=1 env B=1
    publish --texts="for clients" because "clients ask for it"
    publish unset --fast because "nobody types it"
}
engine second "Second" = first {
    version "2.0"
    unset --fast
    unset env A
    -s.depth=3
    --seqs=4
}
profile quick "Quick" {
    data        random
    input       16
    output      8
    concurrency 4
    requests    8
    warmup      0
}
"#;

fn lab(lines: &str) -> Lab {
    let lab = Lab::new();
    let serve = format!("exec '{}' sim --model \"$1\" --host \"$2\" --port \"$3\"", binary());
    lab.write("engine.sh", format!("echo \"$A|$B|$1|$(shift 3; echo \"$@\")\" >> started\n{serve}\n"));
    let study = format!(
        "study s \"S\" {{\n model \"Qwen/Qwen3-0.6B\"\n baseline first\n maximize total_tps on quick\n repeat 1\n{lines}\n}}\n"
    );
    lab.write("study.plab", RECORDED.to_owned() + &study);
    lab
}

fn started(lab: &Lab) -> Vec<String> {
    lab.read("started").lines().map(str::to_owned).collect()
}

const FIRST: &str = r#"1|1|Qwen/Qwen3-0.6B|--seqs=8 --spec={"method":"mtp","depth":2} --fast --new_flag=1"#;

#[test]
fn engines_are_started_with_what_they_inherit_and_change() {
    let lab = lab("step engines { vary engine[second] }");
    lab.run(&EXEC).expect_code(0);
    let second = r#"|1|Qwen/Qwen3-0.6B|--seqs=4 -s={"method":"mtp","depth":3} --new_flag=1"#;
    assert_eq!(started(&lab), [FIRST, second]);
}

#[test]
fn points_take_away_and_pass_on_and_set_keys() {
    let lab = lab("step some { vary some }");
    let axis = "axis some = { less: unset --fast unset env B unset --new_flag, raw: raw --newer=\"a b\",
        key: --spec.depth=4 --spec.more.inner=[1], none: unset --texts, all: --slow -s={\"x\": 1} }\n";
    let axis = axis.replace("--spec.more.inner=[1]", "--spec.more.inner=\"[1]\"");
    lab.write("study.plab", lab.read("study.plab") + &axis);
    let report = lab.run(&EXEC).expect_code(0).report();
    let expected = [
        FIRST,
        r#"1||Qwen/Qwen3-0.6B|--seqs=8 --spec={"method":"mtp","depth":2}"#,
        r#"1|1|Qwen/Qwen3-0.6B|--seqs=8 --spec={"method":"mtp","depth":2} --fast --new_flag=1 --newer=a b"#,
        r#"1|1|Qwen/Qwen3-0.6B|--seqs=8 --spec={"method":"mtp","depth":4,"more":{"inner":[1]}} --fast --new_flag=1"#,
        r#"1|1|Qwen/Qwen3-0.6B|--seqs=8 -s={"x":1} --slow --new_flag=1"#,
    ];
    assert_eq!(started(&lab), expected);
    // what is not set cannot be taken away: the same configuration, and no launch of its own
    let none = report.row("some", "none");
    assert_eq!(none["trial"], report.0["baseline"], "{none}");
}

#[test]
fn a_model_of_a_point_stays_when_the_engine_changes() {
    let lab = lab(
        "step model { vary model\n pick model[other] because \"its answers\" }\n step engines { vary engine[second] }",
    );
    let axis = "axis model = { other: model \"Qwen/Qwen3-1.7B\" }\n";
    lab.write("study.plab", lab.read("study.plab") + axis);
    lab.run(&EXEC).expect_code(0);
    let models: Vec<String> =
        started(&lab).iter().map(|l| l.split('|').nth(2).unwrap_or_default().to_owned()).collect();
    assert_eq!(models, ["Qwen/Qwen3-0.6B", "Qwen/Qwen3-1.7B", "Qwen/Qwen3-1.7B"]);
}

#[test]
fn what_is_published_is_not_measured_and_says_so() {
    let lab = lab("step seqs { vary seqs }");
    lab.write("study.plab", lab.read("study.plab") + "axis seqs = --seqs=[8]\n");
    let report = lab.run(&EXEC).expect_code(0).report();
    assert_eq!(started(&lab), [FIRST]);
    let recommended = &report.0["recommended"];
    assert_eq!(
        recommended["published"]["added"],
        serde_json::json!(["--texts for clients"]),
        "{recommended}"
    );
    assert_eq!(recommended["published"]["hidden"], serde_json::json!(["--fast"]), "{recommended}");
    let argv = recommended["argv"].to_string();
    assert!(argv.contains("--texts") && !argv.contains("--fast"), "{argv}");
    let text = lab.run(&["report", "study.plab", "--dir", "state"]).expect_code(0).stdout;
    for words in ["clients ask for it", "nobody types it"] {
        assert!(text.contains(words), "`{words}` is not in:\n{text}");
    }
}
