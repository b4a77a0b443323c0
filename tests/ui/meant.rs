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
    for (wrong, right) in [("1, 5/s", "1/s, 5/s"), ("1/s,5", "1/s,5/s"), ("5", "5/s")] {
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
