//! What is one configuration and what is another, and how its command reads.

use super::*;
use crate::lang::analyze;
use crate::lang::source::NoFiles;
use crate::plan::command;
use std::path::Path;

const ENGINE: &str = r#"
    engine own "Our own" {
        serve "own serve {model} --host {host} --port={port} --url http://{host}:{port} -v --serve={model}"
        ready get "/health"
        version "1.0"
        flag --tensor-parallel-size -tp int 1..  default 1 uses gpus
        flag --max-num-seqs             int 1..  default 256
        flag --max-model-len            int 1..  default "auto"
        flag --memory                   float 0..1
        flag --config                   json
        flag --prefix-caching           switch   negated --no-prefix-caching default true
        flag --name                     text
        flag --words                    words
    }
"#;

/// The configuration of an engine with these lines, under a study.
fn config(lines: &str) -> Config {
    let text = format!(
        "{ENGINE}\nengine mine = own {{\n{lines}\n}}\nprofile p {{\n data random\n input 1\n output 1\n rate max\n}}\n\
         study s {{\n model \"org/m\"\n baseline mine\n maximize total_tps on p\n step a {{ vary a }}\n}}\naxis a = --name=x\n"
    );
    let analysis = analyze(&NoFiles, "test.plab", &text);
    assert!(!analysis.has_errors(), "{lines}: {:?}", analysis.diagnostics);
    let program = analysis.program;
    Config::declared(&program.engines["mine"], &program.studies[0])
}

fn same(a: &str, b: &str) {
    assert_eq!(config(a).id(), config(b).id(), "{a} and {b}");
}

fn different(a: &str, b: &str) {
    assert_ne!(config(a).id(), config(b).id(), "{a} and {b}");
}

#[test]
fn spellings_of_one_configuration_are_one() {
    same("--max-num-seqs=512", "--max_num_seqs=512");
    same("-tp=2", "--tensor-parallel-size=2");
    same("--max-model-len=32Ki", "--max-model-len=32768");
    same("--memory=0.90", "--memory=0.9");
    same("--memory=1", "--memory=1.0");
    same("--max-num-seqs=512 -tp=2", "-tp=2\n--max-num-seqs=512");
    same("--no-prefix-caching", "--no_prefix_caching");
    same(r#"--config={"a": 1, "b": {"d": 2.0, "c": [1]}}"#, r#"--config={"b":{"c":[1.0],"d":2},"a":1.0}"#);
    same("env A=1 env B=2", "env B=2 env A=1");
    same(r#"--name="x""#, "--name=x");
    same(r#"--name="{model}""#, r#"--name="{model}""#);
}

#[test]
fn what_differs_is_another_configuration() {
    different("--max-num-seqs=512", "--max-num-seqs=513");
    different("", "--max-num-seqs=512");
    // a flag set to its default is not the flag left out
    different("", "--max-num-seqs=256");
    different("", "--max-model-len=auto");
    different("--prefix-caching", "--no-prefix-caching");
    different("", "--prefix-caching");
    different("--name=x", "--name=X");
    different("--name=0.90", "--name=0.9");
    different(r#"--config={"a": [1, 2]}"#, r#"--config={"a": [2, 1]}"#);
    different("env A=1", "env A=01");
    different("", r#"model "org/other""#);
    different("env A=1", "env B=1");
}

#[test]
fn the_version_and_the_root_engine_count_and_names_do_not() {
    let (a, mut b, mut c) = (config("-tp=2"), config("-tp=2"), config("-tp=2"));
    let mut engine = (*b.engine).clone();
    "another".clone_into(&mut engine.name);
    "Another title".clone_into(&mut engine.title);
    engine.ancestry.insert(0, "another".to_owned());
    b.engine = Arc::new(engine.clone());
    assert_eq!(a.id(), b.id());
    engine.version = Some("1.1".to_owned());
    c.engine = Arc::new(engine);
    assert_ne!(a.id(), c.id());
}

#[test]
fn flags_keep_the_order_of_their_first_appearance_and_their_last_spelling() {
    let mut config = config("--max-num-seqs=512 -tp=2 --name=a");
    for (name, value) in [("--tensor_parallel_size", "4"), ("--max_num_seqs", "1Ki")] {
        let value = crate::lang::sema::program::WrittenValue {
            text: value.to_owned(),
            json: false,
            template: false,
            span: crate::lang::source::Span::default(),
        };
        let change = Change::Flag {
            name: name.to_owned(),
            value: Some(value),
            span: crate::lang::source::Span::default(),
        };
        assert_eq!(config.set(&change), Ok(()));
    }
    let argv = command::to_copy(&config).argv;
    let flags = &argv[argv.len() - 3..];
    assert_eq!(flags, ["--max-num-seqs=1024", "--tensor-parallel-size=4", "--name=a"]);
    assert_eq!(config.gpus(), 4);
}

#[test]
fn variables_say_what_a_launch_inserts() {
    let variable = |value: &str| EnvSetting { name: "A".to_owned(), value: value.to_owned(), template: true };
    let with = |value: &str| {
        let mut config = config("");
        assert_eq!(config.set(&Change::Env(variable(value))), Ok(()));
        config
    };
    let launched = |config: &Config| {
        let address = command::Address {
            host: "127.0.0.1",
            port: 8000,
            model: "/models/m",
            files: Path::new("launch"),
        };
        command::to_launch(config, address).env[0].1.clone()
    };
    let (model, address) = (with("{model} of {{}}"), with("http://{host}:{port}"));
    assert_eq!(launched(&model), "org/m of {}");
    assert_eq!(command::to_copy(&model).env[0].1, "org/m of {}");
    assert_eq!(launched(&address), "http://127.0.0.1:8000");
    assert_eq!(command::to_copy(&address).env[0].1, "http://<host>:<port>");
    let typed = |value: &str| {
        let mut config = config("");
        let plain = EnvSetting { template: false, ..variable(value) };
        assert_eq!(config.set(&Change::Env(plain)), Ok(()));
        config
    };
    assert_eq!(model.id(), typed("org/m of {}").id());
    assert_ne!(address.id(), typed("http://{host}:0").id());
}

#[test]
fn a_text_for_a_shell_is_copied_with_room_for_the_address() {
    let mut config = config("--name=x");
    "bash -c 'exec own --port {port} \"$@\"' x".clone_into(&mut Arc::make_mut(&mut config.engine).serve);
    let argv = ["bash", "-c", "exec own --port <port> \"$@\"", "x", "--name=x"];
    assert_eq!(command::to_copy(&config).argv, argv);
}

#[test]
fn words_that_are_the_address_by_their_place_are_copied_as_such() {
    let mut config = config("--name=x");
    "./start.sh {model} {host} {port}".clone_into(&mut Arc::make_mut(&mut config.engine).serve);
    assert_eq!(command::to_copy(&config).argv, ["./start.sh", "org/m", "<host>", "<port>", "--name=x"]);
}

#[test]
fn words_that_hold_the_address_are_not_for_copying() {
    let config = config("--name=x");
    assert_eq!(command::to_copy(&config).argv, ["own", "serve", "org/m", "-v", "--serve=org/m", "--name=x"]);
    let launched = command::to_launch(
        &config,
        command::Address { host: "127.0.0.1", port: 8000, model: "org/m", files: Path::new("launch") },
    )
    .argv;
    assert_eq!(
        launched,
        [
            "own",
            "serve",
            "org/m",
            "--host",
            "127.0.0.1",
            "--port=8000",
            "--url",
            "http://127.0.0.1:8000",
            "-v",
            "--serve=org/m",
            "--name=x"
        ]
    );
}

#[test]
fn publish_adds_and_hides() {
    let config = config(
        "--max-num-seqs=512 -tp=2\npublish --name=shown env A=1 because \"asked\"\npublish unset --max_num_seqs because \"noise\"",
    );
    let published = command::published(&config);
    assert_eq!(published.added, ["--name=shown", "A=1"]);
    assert_eq!(published.hidden, ["--max-num-seqs=512"]);
    let argv = published.command.argv;
    assert_eq!(&argv[argv.len() - 2..], ["-tp=2", "--name=shown"]);
    assert_eq!(published.command.env, [("A".to_owned(), "1".to_owned())]);
    // what is published was not measured: the configuration is the same
    assert_eq!(config.id(), self::config("--max-num-seqs=512 -tp=2").id());
}

#[test]
fn a_flag_reads_as_its_value_else_its_default() {
    let config = config("-tp=2");
    assert_eq!(config.flag("--tensor_parallel_size"), Some(Value::Int(2)));
    assert_eq!(config.flag("--max-num-seqs"), Some(Value::Int(256)));
    assert_eq!(config.flag("--max-model-len"), None);
    assert_eq!(config.flag("--prefix-caching"), Some(Value::Switch(true)));
    assert_eq!(config.flag("--no-prefix-caching"), Some(Value::Switch(false)));
    assert_eq!(self::config("--no-prefix-caching").flag("--no_prefix_caching"), Some(Value::Switch(true)));
    assert_eq!(self::config("--max-model-len=auto").flag("--max-model-len"), None);
}
