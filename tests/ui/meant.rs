//! What `check --fix` writes is what was meant, and each place of it: a quantity stays what it is, words that are no names stay as they
//! are, and a name that is spelled anew is spelled so wherever it is used.

use perflab::lang::{Diagnostic, fix};

use super::analysis;

const PROFILE: &str =
    "profile p {\n    data random\n    input 8\n    output 8\n    concurrency 2\n    requests 4\n}\n";

fn mended(text: &str) -> String {
    fix::mend(text, &analysis).text
}

/// What is wrong with a text, as code and the text that it is about.
fn told(text: &str) -> Vec<(&'static str, String)> {
    let mut found = analysis(text);
    fix::complete(text, &mut found, &analysis);
    let about = |d: &Diagnostic| (d.code.id(), text[d.span.range()].to_owned());
    found.diagnostics.iter().map(about).collect()
}

#[test]
fn no_quantity_is_changed() {
    let rule = |limit: &str| format!("{PROFILE}prune r \"x\" when p99(ttft) > {limit}\n");
    for unsure in ["1,000ms", "10,500ms", "1,000,000ms"] {
        assert_eq!(mended(&rule(unsure)), rule(unsure), "decimals, or thousands?");
    }
    for (wrong, right) in [("99,5ms", "99.5ms"), ("1,25s", "1.25s"), ("0,125s", "0.125s")] {
        assert_eq!(mended(&rule(wrong)), rule(right));
    }
    let load = |rate: &str| PROFILE.replace("concurrency 2", &format!("rate {rate}"));
    for unsure in ["1,5/s", "1,500/s", "2,5/s, 5/s"] {
        assert_eq!(mended(&load(unsure)), load(unsure), "a decimal, or two rates?");
    }
    for unsure in ["5", "30"] {
        assert_eq!(mended(&load(unsure)), load(unsure), "a second, or a minute?");
    }
    for unsure in ["120", "500", "0.5", "2"] {
        assert_eq!(mended(&rule(unsure)), rule(unsure), "seconds, or milliseconds?");
    }
    for unsure in ["32K", "4K"] {
        let load = PROFILE.replace("input 8", &format!("input {unsure}"));
        assert_eq!(mended(&load), load, "1000, or 1024?");
    }
    for (wrong, right) in [("1, 5/s", "1/s, 5/s"), ("1/s,5", "1/s,5/s")] {
        assert_eq!(mended(&load(wrong)), load(right));
    }
}

#[test]
fn words_that_are_no_names_stay_as_they_are() {
    let schema = |axis: &str| {
        format!(
            "engine e \"E\" {{\n    serve \"x --model {{model}} --host {{host}} --port {{port}}\"\n    probe \"x --version\"\n    \
             ready get \"/health\" within 30s\n    api openai\n    stop sigterm within 10s\n    args joined\n    \
             flag --q one_of [FP8, AWQ] default FP8\n    flag --w words known [\n        FP8,\n        AWQ\n    ]\n    \
             flag --k json keys [FP8 int, b keys [FP8]]\n    env FP8=1\n}}\n\
             axis {axis} = --q=AWQ\naxis o = {{ one: --w=FP8 }}\naxis b = {axis} * o[FP8]\n"
        )
    };
    assert_eq!(mended(&schema("FP8")), schema("fp8"));
    let engines = |name: &str| {
        format!(
            "use std/engines {{ sim }}\nengine {name} = sim {{ }}\nengine w = {name} {{ }}\naxis m = engine[{name}, w]\n"
        )
    };
    assert_eq!(mended(&engines("V")), engines("v"));
}

#[test]
fn a_param_is_spelled_anew_where_it_is_inserted() {
    let file = |name: &str| {
        format!(
            "use std/engines {{ sim }}\nparam {name} = 32\nengine a = sim {{\n    env A=\"{{{name}}}\"\n    \
             env B=\"{{{{Ctx}}}} Ctx {{{name}}}x\"\n}}\n"
        )
    };
    assert_eq!(told(&file("Ctx")), [("E103", "Ctx".to_owned())]);
    assert_eq!(mended(&file("Ctx")), file("ctx"));
}

#[test]
fn a_name_misspelt_over_and_over_is_mended_everywhere() {
    for uses in [3_usize, 9, 40] {
        let file = |parent: &str| {
            let mut out = "use std/engines { sim }\n".to_owned();
            for n in 0..uses {
                out.extend(["engine e", &n.to_string(), " = ", parent, " { --max-num-seqs="]);
                out.extend([&(n + 1).to_string(), " }\n"]);
            }
            out
        };
        assert_eq!(mended(&file("smi")), file("sim"), "{uses} uses");
        let found = analysis(&file("smi")).diagnostics;
        let most = found.iter().map(|d| d.related.len()).max();
        assert!(most <= Some(4), "{uses} uses are listed at {most:?} places");
    }
}

/// A study over two axes, with a line of steps.
fn study(steps: &str) -> String {
    format!(
        "use std/engines {{ sim }}\nengine a = sim {{ }}\naxis seqs = --max-num-seqs=[32, 64]\n\
         axis pts = --max-model-len=[4096, 8192]\n{PROFILE}\
         study s \"S\" {{\n    model \"a/b\"\n    baseline a\n    maximize total_tps on p\n    repeat 1\n    \
         step one {{ vary seqs }}\n    {steps}\n}}\n"
    )
}

#[test]
fn a_title_without_its_quotes_hides_nothing_behind_it() {
    let title = ("E103", "Two".to_owned());
    assert_eq!(
        told(&study("step two Two from one { vary ptz }")),
        [title.clone(), ("E201", "ptz".to_owned())]
    );
    assert_eq!(
        told(&study("step two Two from oen { vary pts }")),
        [title.clone(), ("E201", "oen".to_owned())]
    );
    assert_eq!(mended(&study("step two Two { vary pts }")), study("step two \"Two\" { vary pts }"));
    assert_eq!(
        mended(&study("step two b from one { vary pts }")),
        study("step two \"b\" from one { vary pts }")
    );
    // what a step starts from, or a title?
    let unsure = study("step two one { vary pts }");
    assert_eq!(mended(&unsure), unsure);
    let engine =
        |title: &str| study("step two { vary pts }").replace("engine a =", &format!("engine a {title} ="));
    assert_eq!(mended(&engine("Small")), engine("\"Small\""));
}

#[test]
fn each_brace_that_ends_a_study_early_is_taken_away() {
    let early = |name: &str, brace: &str| {
        study("step two { vary pts }")
            .split_once("study s")
            .map(|(_, rest)| {
                format!("study {name}{}", rest.replace("    repeat 1", &format!("{brace}    repeat 1")))
            })
            .unwrap_or_default()
    };
    let head = study("").split_once("study s").map(|(head, _)| head.to_owned()).unwrap_or_default();
    let file = |brace: &str| ["s", "t", "u"].map(|name| early(name, brace)).concat();
    let (wrong, right) = (format!("{head}{}", file("}\n")), format!("{head}{}", file("\n")));
    assert_eq!(told(&wrong), vec![("E108", "}".to_owned()); 3]);
    assert_eq!(mended(&wrong), right);
}

/// A study that names one thing of each kind more than once.
const STUDY: &str = r#"use std/engines { sim }
param limit = 2s
engine start = sim { --max-model-len=8Ki }
engine more = start { --max-num-seqs=32 }
profile quick {
    data random
    input 8
    output 8
    concurrency 2
    requests 4
}
axis seqs = --max-num-seqs=[64, 128]
axis batched = --max-num-batched-tokens=[2Ki, 4Ki]
axis both = seqs * batched
metric per_card = total_tps / gpus
prune slow "users wait" when p99(ttft) > limit or p99(tpot) > limit
prune less "less than before" when per_card < 0.5 * baseline.per_card
study s {
    model "Qwen/Qwen3-8B"
    gpus 1
    baseline start
    maximize per_card on quick
    require p50(ttft) <= 2s on quick
    repeat 1
    step more { vary engine[start, more] }
    step batched { vary batched }
    step both { vary both + seqs }
}
"#;

/// What each is declared as, and called elsewhere.
const DECLARED: [(&str, &str); 5] = [
    ("engine start =", "start"),
    ("profile quick {", "quick"),
    ("axis seqs =", "seqs"),
    ("metric per_card =", "per_card"),
    ("param limit =", "limit"),
];

#[test]
fn a_declaration_that_nothing_uses_is_the_slip_where_its_uses_agree() {
    assert_eq!(told(STUDY), []);
    for (line, name) in DECLARED {
        let swapped: String = [&name[..1], &name[2..3], &name[1..2], &name[3..]].concat();
        for slip in [swapped, format!("{name}{}", &name[name.len() - 1..]), format!("{name}z")] {
            let wrong = STUDY.replace(line, &line.replace(name, &slip));
            let told = told(&wrong);
            assert_eq!(told.len(), 1, "{slip}: {told:?}");
            assert_eq!(told[0].1, slip);
            assert_eq!(mended(&wrong), STUDY, "{slip}");
        }
    }
}

#[test]
fn a_copy_is_called_what_is_missing() {
    for (line, of, name) in [
        ("engine more =", "start", "more"),
        ("axis batched =", "seqs", "batched"),
        ("metric per_seat = total_tps / 2", "per_card", "per_seat"),
    ] {
        let right = STUDY.replace(
            "prune slow",
            "metric per_seat = total_tps / 2\nprune few \"few\" when per_seat < 1tok/s\nprune slow",
        );
        let wrong = right.replace(line, &line.replace(name, of));
        let told = told(&wrong);
        assert_eq!(told, [("E202", of.to_owned())], "{name}");
        assert_eq!(mended(&wrong), right, "{name}");
    }
}

#[test]
fn a_copy_beside_another_slip_is_left_to_people() {
    // `bached` is a slip of what is declared, `other` may be either
    for missing in ["bached", "batched, seqz"] {
        let wrong = STUDY
            .replace("engine more = start", "engine start = sim")
            .replace("vary batched", &format!("vary {missing}"));
        let was = wrong.matches("engine start").count();
        assert_eq!(
            mended(&wrong).matches("engine start").count() + mended(&wrong).matches("engine more").count(),
            was
        );
    }
}

#[test]
fn no_entry_of_a_list_is_taken_out_by_a_guess() {
    for (right, wrong) in [
        ("on quick\n    require", "on quick, quik\n    require"),
        ("engine[start, more]", "engine[start, more, mode]"),
        ("engine[start, more]", "engine[starts, start, more]"),
    ] {
        let text = STUDY.replace(right, wrong);
        assert_eq!(mended(&text), text, "{wrong}");
    }
}

#[test]
fn a_param_stays_where_a_text_inserts_it() {
    for (param, line) in [
        ("param room = 90", "--gpu-memory-utilization=\"{room}\""),
        ("param room = \"bf16\"", "--dtype=\"{room}\""),
    ] {
        let text = STUDY
            .replace("{ sim }", "{ sim, vllm }")
            .replace("param limit", &format!("{param}\nparam limit"))
            .replace("engine more = start {", &format!("engine more = vllm {{ version \"0.17.1\" {line}"));
        assert!(mended(&text).contains(line), "{}", mended(&text));
    }
}

#[test]
fn a_statistic_is_one_wherever_it_stands_apart() {
    for (right, wrong) in [("p99(ttft) > limit", "p99 ttft > limit"), ("p50(ttft) <=", "p50 ttft <=")] {
        assert_eq!(mended(&STUDY.replace(right, wrong)), STUDY);
    }
    for stat in ["p99", "mean", "max"] {
        let metric = |of: &str| format!("metric tail = {stat}{of} / p50(ttft)\n");
        assert_eq!(mended(&metric(" ttft")), metric("(ttft)"));
    }
    assert_eq!(mended("metric twice = 2 total_tps\n"), "metric twice = 2 * total_tps\n");
}

#[test]
fn nothing_unused_is_taken_out_beside_a_list_that_lacks_a_name() {
    let import = "use std/profiles { chat }\n";
    for (right, wrong) in [
        (
            "    repeat 1",
            "    repeat 1\n    confirm on quick,\n    step a { vary seqs }\n}\nstudy t {\n    repeat 1",
        ),
        ("engine[start, more]", "engine[start, more, ]"),
    ] {
        let text = format!("{import}{}", STUDY.replace(right, wrong));
        assert!(mended(&text).contains("{ chat }"), "{}", mended(&text));
    }
    let end = format!("{import}{}", STUDY.replace("+ seqs }\n}", "+ seqs }\n    confirm on quick,\n}"));
    assert!(mended(&end).contains("{ chat }"), "{}", mended(&end));
    assert_eq!(mended(&format!("{import}{STUDY}")), STUDY);
}
