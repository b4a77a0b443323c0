//! Tests of what makes two configurations the same, sentence by sentence: spellings and order do not, anything else does.

use proptest::prelude::*;

use super::{Config, command};
use crate::lang::analyze;
use crate::lang::source::NoFiles;

const ENGINE: &str = r#"
engine own "Our own" {
    serve   "own serve {model} --host {host} --port {port}"
    ready   get "/health"
    version "1.0"
    flag --tensor-parallel-size -tp   int 1..     default 1 uses gpus
    flag --max-num-seqs               int 1..     default 256
    flag --seed                       int
    flag --memory                     float 0..1
    flag --spec-config -sc            json
    flag --graph-config -gc           json keys [size int 1.., share float, deep json keys [mb float, name text]]
    flag --prefix-caching -pc         switch   negated --no-prefix-caching -npc default true
    flag --name                       text
    flag --dir                        path
    flag --mode                       one_of [fast, slow]
    flag --stop                       words
    flag --prefill                    int 0..  default 1 adds gpus
    flag --decode                     int 0..  adds gpus unless --colocated
    flag --colocated                  switch
    flag --backend                    text known [FLASH_ATTN, FLASHINFER, xformers]
}
"#;

fn try_config(parent: &str, own: &str) -> Result<Config, String> {
    let text = format!(
        "{ENGINE}\nengine parent = own {{\n{parent}\n}}\nengine mine = parent {{\n{own}\n}}\n\
         profile p {{\n data random\n input 1\n output 1\n rate max\n}}\naxis a = --name=x\n\
         study s {{\n model \"org/m\"\n baseline mine\n maximize total_tps on p\n step a {{ vary a }}\n}}\n"
    );
    let analysis = analyze(&NoFiles, "test.plab", &text);
    if analysis.has_errors() {
        return Err(format!("{own}: {:?}", analysis.diagnostics));
    }
    let program = analysis.program;
    Ok(Config::declared(&program.engines["mine"], &program.studies[0]))
}

fn derived(parent: &str, own: &str) -> Config {
    try_config(parent, own).unwrap_or_else(|e| panic!("{e}"))
}

fn config(own: &str) -> Config {
    derived("", own)
}

#[track_caller]
fn same(a: &str, b: &str) {
    assert_eq!(config(a).id(), config(b).id(), "{a} and {b}: {} {}", config(a).normal(), config(b).normal());
}

#[track_caller]
fn different(a: &str, b: &str) {
    assert_ne!(config(a).id(), config(b).id(), "{a} and {b}");
}

#[test]
fn flags_go_by_the_first_spelling() {
    same("-tp=2", "--tensor-parallel-size=2");
    same("--tensor_parallel_size=2", "--tensor-parallel-size=2");
    same("--no-prefix-caching", "-npc");
    same("--prefix_caching", "-pc");
    different("--prefix-caching", "--no-prefix-caching");
    different("-tp=2", "-tp=3");
}

/// Whatever derives from an engine and is started like it is the same; with a serve line of its own it is not.
#[test]
fn how_an_engine_is_started_counts() {
    let serve = |words: &str| format!("serve \"{words}\"");
    let own = "own serve {model} --host {host} --port {port}";
    same(&serve(own), "");
    same(&serve("own  serve {model}   --host {host} --port {port}"), "");
    different(&serve(&format!("{own} --fast")), "");
    different(&serve(&format!("{own} --fast")), &serve(&format!("{own} --slow")));
    different(&serve(&format!("{own} 'a b'")), &serve(&format!("{own} 'a  b'")));
    different("api openai_completions", "");
    different("args spaced", "");
    different("reset post \"/reset\"", "");
    // how long it is waited for changes nothing of what runs
    same("ready get \"/health\" within 1min", "");
}

/// One engine as two schemas declare it: the words that its command has are others.
#[test]
fn a_switch_goes_by_the_word_that_turns_it_off() {
    let id = |negated: &str| {
        let text = format!(
            "engine own {{\n serve \"own {{model}} {{port}}\"\n ready get \"/health\"\n flag --caching switch negated {negated} default true\n}}\n\
             engine mine = own {{ {} }}\nprofile p {{\n data random\n input 1\n output 1\n rate max\n}}\naxis a = --caching\n\
             study s {{\n model \"org/m\"\n baseline mine\n maximize total_tps on p\n step a {{ vary a }}\n}}\n",
            negated.split(' ').next().unwrap_or_default()
        );
        let program = analyze(&NoFiles, "test.plab", &text).program;
        Config::declared(&program.engines["mine"], &program.studies[0]).id().to_owned()
    };
    assert_ne!(id("--no-caching"), id("--disable-caching"));
    assert_eq!(id("--disable-caching -dc"), id("--disable-caching"));
}

#[test]
fn numbers_go_by_value() {
    same("--max-num-seqs=32Ki", "--max-num-seqs=32768");
    same("--max-num-seqs=1k", "--max-num-seqs=1000");
    same("--max-num-seqs=\"64\"", "--max-num-seqs=64");
    same("--memory=0.90", "--memory=0.9");
    same("--memory=9e-1", "--memory=.9");
    same("--memory=57%", "--memory=0.57");
    same("--memory=1", "--memory=1.0");
    different("--memory=0.9", "--memory=0.91");
    // the last digit of a big number counts
    different("--seed=9007199254740993", "--seed=9007199254740992");
    same("--seed=9223372036854775807", "--seed=\"9223372036854775807\"");
}

#[test]
fn json_goes_by_what_it_says() {
    same(r#"-sc={"a": 1, "b": [1, 2]}"#, r#"-sc={"b":[1,2],"a":1}"#);
    same(r#"-sc={"a": {"c": 1, "b": 2}}"#, r#"-sc={"a": {"b": 2, "c": 1.0}}"#);
    different(r#"-sc={"a": [1, 2]}"#, r#"-sc={"a": [2, 1]}"#);
    different(r#"-sc={"a": 1}"#, r#"-sc={"a": "1"}"#);
    different(r#"-sc={"a": 1}"#, r#"-sc={"a": true}"#);
    different(r#"-sc={"a": null}"#, "-sc={}");
    different(r#"-sc={"a_b": 1}"#, r#"-sc={"a-b": 1}"#);
    different(r#"-sc={"a": 9007199254740993}"#, r#"-sc={"a": 9007199254740992}"#);
}

#[test]
fn keys_are_merged_into_their_flag() {
    let whole = r#"-sc={"method": "mtp", "depth": 4}"#;
    same(whole, "-sc.method=mtp --spec-config.depth=4");
    same(whole, r#"--spec_config.depth=4 --spec-config={"method": "mtp"}"#);
    same(whole, r#"-sc={"method": "mtp"} -sc.depth=4"#);
    same(r#"-sc={"a": {"b": 1}}"#, "-sc.a.b=1");
    same(r#"-sc={"a": {"b": 1}}"#, r#"-sc.a={"b": 1}"#);
    // JSON if it parses, else text
    same(r#"-sc={"a": "32Ki"}"#, "-sc.a=32Ki");
    same(r#"-sc={"a": [1, 2]}"#, r#"-sc.a="[1, 2]""#);
    same(r#"-sc={"a": "4"}"#, r#"-sc.a="\"4\"""#);
    different("-sc.a_b=1", "-sc.a-b=1");
    // a key set anew replaces what was there, and leaves the others
    let base = r#"-sc={"a": {"x": 1}, "b": 2}"#;
    assert_eq!(derived(base, r#"-sc.a={"y": 1}"#).id(), config(r#"-sc={"a": {"y": 1}, "b": 2}"#).id());
    assert_eq!(derived(base, "unset -sc.a").id(), config(r#"-sc={"b": 2}"#).id());
}

#[test]
fn units_are_read_in_keys_that_hold_numbers() {
    same("-gc.size=1Ki", "-gc.size=1024");
    same("-gc.size=2k", r#"-gc={"size": 2000}"#);
    same("-gc.share=50%", "-gc.share=0.5");
    same("-gc.deep.mb=2k", r#"-gc={"deep": {"mb": 2000}}"#);
    same("-gc.deep.name=1Ki", r#"-gc={"deep": {"name": "1Ki"}}"#);
    // joined to what there is
    assert_eq!(derived(r#"-gc={"share": 1}"#, "-gc.size=1Ki").id(), config("-gc.share=1 -gc.size=1024").id());
    for wrong in ["-gc.size=1.5", "-gc.size=1K", "-gc.size=0", r#"-gc={"size": "1Ki"}"#] {
        assert!(try_config("", wrong).is_err(), "{wrong}");
    }
}

#[test]
fn text_goes_byte_by_byte() {
    different("--name=x", "--name=X");
    different("--name=0.90", "--name=0.9");
    different("--name=\"a b\"", "--name=\"a  b\"");
    different("--name=\"x \"", "--name=x");
    different("--name=é", "--name=e\u{301}");
    different("--dir=/a/b", "--dir=/a//b");
    different("--name=true", "--name=True");
    same("--name=\"x\"", "--name=x");
    different("env A=1", "env A=01");
    different("env A=1", "env B=1");
    same("env A=\"1\"", "env A=1");
}

#[test]
fn names_in_capitals_go_in_any_case() {
    same("--backend=flashinfer", "--backend=FLASHINFER");
    same("--backend=Flash_Attn", "raw --backend=FLASH_ATTN");
    different("--backend=XFORMERS", "--backend=xformers");
    different("--backend=own", "--backend=OWN");
    let flags = command::to_copy(&config("--backend=flashinfer")).argv.split_off(3);
    assert_eq!(flags, ["--backend=flashinfer"], "as written");
}

#[test]
fn words_go_word_by_word() {
    same("--stop=\"a  b\"", "--stop=\"a b\"");
    different("--stop=\"a b\"", "--stop=\"b a\"");
}

#[test]
fn json_is_one_of_the_words_and_goes_by_what_it_says() {
    let object = r#"--stop={"name": "s q", "path": "/l"}"#;
    same(object, r#"--stop={"path":"/l","name":"s q"}"#);
    same(object, r#"--stop="{{\"path\":  \"/l\", \"name\": \"s q\"}}""#);
    different(object, r#"--stop={"path": "/l", "name": "sq"}"#);
    let flags = command::to_copy(&config(object)).argv.split_off(3);
    assert_eq!(flags, ["--stop", r#"{"name": "s q", "path": "/l"}"#], "one word, as written");
    let two = config(r#"--stop="a=b {{\"name\": 1}} {{\"name\": 2}}""#);
    let flags = command::to_copy(&two).argv.split_off(3);
    assert_eq!(flags, ["--stop", "a=b", r#"{"name": 1}"#, r#"{"name": 2}"#]);
}

#[test]
fn gpus_of_flags_that_add_are_summed_and_those_that_multiply_stand_beside() {
    let gpus = |own: &str| config(own).gpus();
    assert_eq!([gpus(""), gpus("-tp=2"), gpus("--decode=3")], [1, 2, 4], "one is the default of --prefill");
    assert_eq!([gpus("--prefill=2 --decode=3"), gpus("--prefill=2 --decode=3 -tp=2")], [5, 10]);
    assert_eq!([gpus("--prefill=0 --decode=0"), gpus("--decode=3 --colocated")], [1, 1]);
}

#[test]
fn order_and_layout_do_not_count() {
    same("-tp=2 --memory=0.5\nenv B=1 env A=2", "env A=2\n--memory=0.5\nenv B=1\n-tp=2");
}

#[test]
fn a_flag_at_its_default_is_not_the_flag_left_out() {
    different("", "--max-num-seqs=256");
    different("", "--prefix-caching");
    different("", "-tp=1");
}

#[test]
fn what_is_passed_on_raw_is_what_it_is() {
    different("raw --new=1", "");
    different("raw --new=1", "raw --new=2");
    different("raw --new=1", "raw --new=01");
    same("raw --new_flag=1", "raw --new-flag=1");
    // one command is one configuration, whether the schema was asked or not
    same("raw -tp=2", "--tensor-parallel-size=2");
    same("raw --no-prefix-caching", "--no-prefix-caching");
    assert_eq!(derived("raw --new=1", "unset --new").id(), config("").id());
    // a value that the schema refuses is passed on
    different("raw --mode=new", "--mode=fast");
}

#[test]
fn model_and_version_count() {
    different("", "model \"org/other\"");
    same("", "model \"org/m\"");
    different("", "version \"1.0.1\"");
    same("", "version \"1.0\"");
}

#[test]
fn names_titles_and_what_is_published_do_not_count() {
    let titled = config("").engine.title.clone();
    assert_eq!(titled, "Our own");
    same("", "publish --name=shown because \"clients\"");
    same("-tp=2", "-tp=2\npublish unset -tp because \"noise\"");
}

#[test]
fn what_a_launch_inserts_counts_as_it_reads() {
    same("--name=\"{model}\"", "--name=org/m");
    same("--name=\"v{version}\"", "--name=v1.0");
    different("--name=\"{port}\"", "--name=\"{{port}}\"");
    same("--name=\"{{x}}\"", "raw --name=\"{{x}}\"");
}

#[test]
fn setting_anew_and_unsetting_leave_no_trace() {
    assert_eq!(derived("-tp=2 --memory=0.5", "-tp=4").id(), config("--memory=0.5 -tp=4").id());
    assert_eq!(derived("-tp=2", "unset --tensor_parallel_size").id(), config("").id());
    assert_eq!(derived("--prefix-caching", "-npc").id(), config("--no-prefix-caching").id());
    assert_eq!(derived("env A=1", "unset env A").id(), config("").id());
    assert_eq!(derived("env A=1", "env A=2").id(), config("env A=2").id());
    assert_eq!(derived("", "unset -tp\nunset env A").id(), config("").id());
}

#[test]
fn a_command_keeps_first_places_and_last_spellings() {
    let own = "--max_num_seqs=1Ki\n-sc.depth=2\n-npc";
    let config = derived("--prefix-caching --max-num-seqs=1 --spec-config={\"method\": \"mtp\"} -tp=2", own);
    let flags = command::to_copy(&config).argv.split_off(3);
    assert_eq!(
        flags,
        ["-npc", "--max-num-seqs=1024", r#"-sc={"method":"mtp","depth":2}"#, "-tp=2"],
        "the first place, the last spelling, the dashes of the schema"
    );
}

/// One setting: how it may be written, and how something else may be.
type Spellings = (&'static [&'static str], &'static str);

const SETTINGS: &[Spellings] = &[
    (&["-tp=2", "--tensor-parallel-size=2", "--tensor_parallel_size=\"2\"", "raw -tp=2"], "-tp=4"),
    (&["--max-num-seqs=64Ki", "--max_num_seqs=65536", "--max-num-seqs=\"64Ki\""], "--max-num-seqs=64k"),
    (&["--memory=0.90", "--memory=0.9", "--memory=90%", "--memory=9e-1"], "--memory=0.8"),
    (
        &[
            r#"-sc={"method": "mtp", "depth": 4}"#,
            r#"--spec-config={"depth":4.0,"method":"mtp"}"#,
            "-sc.depth=4 --spec_config.method=mtp",
            r#"--spec-config={"method": "mtp"} -sc.depth=4"#,
        ],
        r#"-sc={"method": "mtp", "depth": 4, "more": 1}"#,
    ),
    (&["-npc", "--no-prefix-caching", "--no_prefix_caching"], "--prefix-caching"),
    (&["--name=a-b", "--name=\"a-b\""], "--name=a_b"),
    (&["--mode=fast", "--mode=\"fast\"", "raw --mode=fast"], "--mode=slow"),
    (&["--stop=\"a b\"", "--stop=\" a  b \""], "--stop=\"b a\""),
    (&["raw --new-flag=1", "raw --new_flag=\"1\""], "raw --new-flag=1.0"),
    (&["env A=1", "env A=\"1\""], "env A=2"),
    (&["env B=x"], "env B=y"),
    (&["model \"org/n\""], "model \"org/o\""),
];

/// A choice of settings, each with a spelling, in some order.
fn written() -> impl Strategy<Value = (Vec<usize>, Vec<usize>, Vec<usize>)> {
    let all: Vec<usize> = (0..SETTINGS.len()).collect();
    proptest::sample::subsequence(all, 0..=SETTINGS.len()).prop_flat_map(|chosen| {
        let spellings = proptest::collection::vec(0usize..4, chosen.len());
        (Just(chosen.clone()), Just(chosen).prop_shuffle(), spellings)
    })
}

fn lines(chosen: &[usize], spellings: &[usize]) -> Vec<String> {
    let spelling = |i: usize| spellings.get(i).copied().unwrap_or(0);
    chosen
        .iter()
        .enumerate()
        .map(|(i, c)| SETTINGS[*c].0[spelling(i) % SETTINGS[*c].0.len()].to_owned())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn respelling_and_shuffling_keep_the_identity((chosen, shuffled, spellings) in written()) {
        let plain = config(&lines(&chosen, &[]).join("\n"));
        let respelled = config(&lines(&shuffled, &spellings).join("\n"));
        prop_assert_eq!(plain.id(), respelled.id());
        prop_assert_eq!(plain.normal(), respelled.normal());
    }

    #[test]
    fn any_other_change_alters_it((chosen, shuffled, spellings) in written(), at in 0usize..SETTINGS.len()) {
        let plain = config(&lines(&chosen, &[]).join("\n"));
        let mut other = lines(&shuffled, &spellings);
        match shuffled.iter().position(|s| *s == at) {
            Some(i) => SETTINGS[at].1.clone_into(&mut other[i]),
            None => other.push(SETTINGS[at].1.to_owned()),
        }
        let changed = config(&other.join("\n"));
        prop_assert_ne!(plain.id(), changed.id());
    }
}
