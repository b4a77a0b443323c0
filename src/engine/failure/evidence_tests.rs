//! Logs and ends, and the reasons that they give.

use std::fs;

use super::*;

fn pattern(name: &str, regex: &str) -> FailurePattern {
    FailurePattern::new(name, regex).unwrap()
}

fn examine(log: &str, exit: Option<Exit>, moment: Moment) -> Evidence {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("server.log");
    fs::write(&path, log).unwrap();
    let (family, originals) = (BTreeMap::new(), Originals::default());
    let (started, log) = (Uptime::now(), &path);
    Witness { log, from: 0, originals: &originals, patterns: &[], exit, moment, started, family: &family }
        .examine()
}

#[test]
fn the_first_pattern_wins_wherever_it_stands() {
    let patterns = [pattern("cause", "no such card"), pattern("consequence", "^engine left")];
    let found = classify("engine left\n(Worker pid=3) ERROR: no such card\n", &patterns).unwrap();
    assert_eq!(found, Failure::new("cause", "no such card"));
    assert_eq!(classify("engine left", &patterns).unwrap().class, "consequence");
    assert_eq!(classify("the engine left", &patterns), None);
}

#[test]
fn general_causes_come_before_an_engine_s_consequences() {
    let patterns = [pattern("did not start", "Engine core initialization failed")];
    let log = "torch.OutOfMemoryError: CUDA out of memory. Tried\nRuntimeError: Engine core initialization failed. See root cause above.";
    assert_eq!(classify(log, &patterns).unwrap().class, "out of GPU memory");
}

#[test]
fn a_consequence_is_told_by_the_exception_before_it() {
    let log = "(EngineCore pid=1) ERROR 11-21 04:49:05 [core.py:1] ValueError: heads are odd\nRuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}";
    let found = classify(log, &[]).unwrap();
    assert_eq!((found.class.as_str(), found.line.as_str()), ("did not start", "ValueError: heads are odd"));
}

#[test]
fn a_kill_is_told_by_the_shell_that_saw_it() {
    let class = |log: &str, exit| examine(log, Some(exit), Moment::Start).failure.class;
    assert_eq!(class("engine.sh: line 3:  12 Killed  vllm\nKilled\n", Exit::Code(1)), "killed (exit code 1)");
    assert_eq!(class("loading\n", Exit::Code(137)), "killed (exit code 137)");
    assert_eq!(class("loading\n", Exit::Signal(9)), "crash (SIGKILL)");
    assert_eq!(class("loading\n", Exit::Code(1)), "unknown (exit code 1)");
}

#[test]
fn a_program_that_a_script_misses_last_is_the_engine() {
    let found = |log: &str, code| examine(log, Some(Exit::Code(code)), Moment::Start).failure;
    let missed = "start.sh: line 3: jq: command not found\nstart.sh: line 12: vllm-bin: command not found\n";
    let failure = found(missed, 127);
    assert_eq!(failure.class, "engine not found");
    assert_eq!(failure.line, "start.sh: line 12: vllm-bin: command not found");
    // its script did without it, or what came before it is the cause
    let tool = found("start.sh: line 3: jq: command not found\nbye\n", 127);
    assert_eq!(tool.class, "missing file");
    let after = found(
        "torch.OutOfMemoryError: CUDA out of memory. Tried\ns.sh: line 9: nvidia-smi: command not found\n",
        127,
    );
    assert_eq!(after.class, "out of GPU memory");
    for why in ["cannot execute binary file: Exec format error", "Permission denied"] {
        let failure = found(&format!("start.sh: line 3: /opt/vllm: {why}\n"), 126);
        assert_eq!(failure.class, "engine cannot be run", "{failure:?}");
    }
}

#[test]
fn a_file_that_a_start_script_ends_without_is_missing() {
    let found = |log: &str, exit| examine(log, Some(exit), Moment::Start).failure;
    let missed = "cat: x.json: No such file or directory\n";
    let failure = found(&format!("loading\n{missed}"), Exit::Code(1));
    assert_eq!((failure.class.as_str(), failure.line.as_str()), ("missing file", missed.trim_end()));
    // it went on, or ended of something else
    for (log, exit, class) in [
        (format!("{missed}bye\n"), Exit::Code(1), "unknown (exit code 1)"),
        (format!("ValueError: no\n{missed}"), Exit::Code(1), "unknown (exit code 1)"),
        (format!("{missed}CUDA out of memory\n"), Exit::Code(1), "out of GPU memory"),
        (missed.to_owned(), Exit::Signal(11), "crash (SIGSEGV)"),
    ] {
        assert_eq!(found(&log, exit).class, class, "{log}");
    }
}

#[test]
fn a_crash_behind_a_shell_is_one_and_shows_what_it_said() {
    let threw = "terminate called after throwing an instance of 'std::out_of_range'\n  what():  vector::_M_range_check: no\n";
    for shell in
        ["core.sh: line 2: 11717 Aborted                 bash core.sh\n", "Aborted (core dumped)\n", ""]
    {
        let failure = examine(&format!("{threw}{shell}"), Some(Exit::Code(134)), Moment::Start).failure;
        assert_eq!(
            (failure.class.as_str(), failure.line.as_str()),
            ("crash (SIGABRT)", "what():  vector::_M_range_check: no")
        );
    }
    let asserted = "x.cpp:12: f: Assertion `a' failed.\ns.sh: line 2: 11 Aborted                 x\n";
    let failure = examine(asserted, Some(Exit::Code(134)), Moment::Load).failure;
    assert_eq!(failure.class, "crash under load (SIGABRT)");
    assert_eq!(failure.line, "x.cpp:12: f: Assertion `a' failed.");
}

#[test]
fn a_panic_of_rust_is_told_by_its_message() {
    let note = "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";
    let panic =
        "thread 'main' panicked at src/main.rs:4:5:\nindex out of bounds: the len is 3 but the index is 7\n";
    let line = |log: &str| examine(log, Some(Exit::Code(101)), Moment::Start).failure.line;
    assert_eq!(line(&format!("{panic}{note}")), "index out of bounds: the len is 3 but the index is 7");
    assert_eq!(
        line("thread 'main' panicked at src/main.rs:4:5:\n"),
        "thread 'main' panicked at src/main.rs:4:5:"
    );
    let older = "thread 'main' panicked at 'no', src/main.rs:4:5";
    assert_eq!(line(&format!("{older}\n{note}")), older);
}

#[test]
fn a_last_line_that_is_no_cause_is_told_as_what_it_is() {
    let line = |log: &str, exit| examine(log, Some(exit), Moment::Start).failure.line;
    let info = "INFO 03-11 10:12:01 [api_server.py:1772] vLLM API server version 0.17.1\n";
    let said = "its log does not say why; its last line: vLLM API server version 0.17.1";
    for exit in [Exit::Code(137), Exit::Signal(9), Exit::Signal(11), Exit::Code(139)] {
        assert_eq!(line(info, exit), said);
    }
    assert_eq!(line("the disk failed\n", Exit::Signal(9)), "the disk failed");
    assert_eq!(line("", Exit::Signal(9)), "");
}

#[test]
fn what_no_pattern_knows_is_called_by_its_end() {
    let class = |exit, moment| examine("bye", exit, moment).failure.class;
    assert_eq!(class(Some(Exit::Code(7)), Moment::Start), "unknown (exit code 7)");
    assert_eq!(class(Some(Exit::Signal(11)), Moment::Start), "crash (SIGSEGV)");
    assert_eq!(class(Some(Exit::Signal(9)), Moment::Load), "crash under load (SIGKILL)");
    assert_eq!(class(None, Moment::Start), "never ready");
    assert_eq!(class(Some(Exit::Code(0)), Moment::Start), "ended without an error (exit code 0)");
    let gone = examine("in the background\n", Some(Exit::Code(0)), Moment::Load).failure;
    assert!(gone.line.starts_with("an engine that perflab starts stays in the foreground"), "{gone:?}");
    assert!(gone.line.ends_with("its last line: in the background"), "{gone:?}");
    assert_eq!(class(None, Moment::Load), "no answer under load");
}

#[test]
fn the_line_that_matters_speaks_of_an_error_else_it_is_the_last() {
    let line = |log: &str| examine(log, None, Moment::Start).failure.line;
    assert_eq!(line("start\nRuntimeError: no\n\nbye\nfailed\n"), "RuntimeError: no");
    assert_eq!(line("start\nit failed\nbye\n"), "it failed");
    assert_eq!(line(" 10%|\r 50%|\r 99%|\r\n"), "99%|");
    assert_eq!(line(""), "");
    let tail = examine("start\n\nbye\n\n", None, Moment::Start).tail;
    assert_eq!(tail, ["start", "bye"]);
}

#[test]
fn long_lines_and_logs_are_shortened() {
    let long = "é".repeat(5000);
    assert_eq!(examine(&(long.clone() + &"\nline".repeat(50)), None, Moment::Start).tail.len(), TAIL_LINES);
    let line = examine(&long, None, Moment::Start).failure.line;
    assert_eq!(line.chars().count(), text::LONGEST_LINE + 1);
}
