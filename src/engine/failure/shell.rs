//! What shells say last of the programs that they were to start, and of how those ended.

use std::sync::LazyLock;

use regex::Regex;

use super::super::protocol::Exit;
use super::class::{ENGINE_NOT_FOUND, ENGINE_NOT_RUN};

/// How shells leave that found no such program, or could not run the one that they found.
const NOT_FOUND: i32 = 127;
const NOT_RUN: i32 = 126;

/// Signals by which programs end themselves (SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV). The others are sent by somebody.
const OF_CRASHES: [i32; 6] = [4, 5, 6, 7, 8, 11];

/// `start.sh: line 12: vllm: command not found`, and `start.sh: 12: vllm: not found` of smaller shells. Of what is no engine, shells
/// say the same: it is for the exit code to tell which was the last.
static MISSES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r": (?:command )?not found$|: line \d+: \S+: (?:cannot execute: )?No such file or directory$")
        .ok()
});
static CANNOT_RUN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r": (?:line )?\d+: (?:exec: )?\S+: (?:cannot execute\b.*|Exec format error|Permission denied|Is a directory)$",
    )
    .ok()
});
/// `cat: x.json: No such file or directory`, `start.sh: 3: .: cannot open ./x.env: No such file`; what removes a file misses none.
static ASKS_FOR: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(?P<who>[\w./+-]+): (?:\S.*: |[Cc]annot .*)No such file(?: or directory)?$").ok()
});
/// `start.sh: line 2: 11717 Aborted    (core dumped) vllm serve`
static OBITUARY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"^(?:\S+: line \d+:\s+\d+ )?(?:Aborted|Segmentation fault|Killed|Bus error|Illegal instruction|Floating point exception|Trace/breakpoint trap)(?: +\(core dumped\))?(?:\s{2,}.*| \S.*\(core dumped\).*)?$",
    )
    .ok()
});

fn is(pattern: Option<&Regex>, line: &str) -> bool {
    pattern.is_some_and(|p| p.is_match(line))
}

/// The class of a start that ended because of what its shell said last: no such program, or one that cannot be run.
pub(super) fn refused(exit: Exit, last: &str) -> Option<&'static str> {
    match exit {
        Exit::Code(NOT_FOUND) if is(MISSES.as_ref(), last) => Some(ENGINE_NOT_FOUND),
        Exit::Code(NOT_RUN) if is(CANNOT_RUN.as_ref(), last) => Some(ENGINE_NOT_RUN),
        _ => None,
    }
}

/// Whether a line says of any program that it is not there or cannot be run.
pub(super) fn refuses(line: &str) -> bool {
    is(MISSES.as_ref(), line) || is(CANNOT_RUN.as_ref(), line)
}

/// Whether a start that ended with an error of its own did so because a tool or a shell misses a file, as it says last.
pub(super) fn misses_file(exit: Exit, last: &str) -> bool {
    let of_tool = matches!(exit, Exit::Code(1..NOT_RUN));
    let asked = ASKS_FOR.as_ref().and_then(|asks| asks.captures(last)).filter(|_| of_tool);
    asked.is_some_and(|found| !["rm", "rmdir", "unlink"].contains(&&found["who"]))
}

/// Whether a line says no more than by which signal a program ended.
pub(super) fn is_obituary(line: &str) -> bool {
    is(OBITUARY.as_ref(), line)
}

/// How a program ended whose shell left with the code of its crash.
pub(super) fn passed_on(exit: Exit) -> Exit {
    match exit {
        Exit::Code(code) if OF_CRASHES.contains(&(code - 128)) => Exit::Signal(code - 128),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_s_last_word_and_its_code_tell_of_the_engine() {
        for (code, last, class) in [
            (127, "/opt/start.sh: line 12: vllm-bin: command not found", Some(ENGINE_NOT_FOUND)),
            (127, "./start.sh: 3: vllm-bin: not found", Some(ENGINE_NOT_FOUND)),
            (127, "start.sh: line 3: /opt/vllm: No such file or directory", Some(ENGINE_NOT_FOUND)),
            (
                126,
                "start.sh: line 3: /opt/vllm: cannot execute binary file: Exec format error",
                Some(ENGINE_NOT_RUN),
            ),
            (126, "start.sh: line 3: /opt/vllm: Permission denied", Some(ENGINE_NOT_RUN)),
            (
                126,
                "start.sh: line 3: exec: /opt/vllm: cannot execute: Permission denied",
                Some(ENGINE_NOT_RUN),
            ),
            (126, "start.sh: line 3: /opt: Is a directory", Some(ENGINE_NOT_RUN)),
            (1, "start.sh: line 3: model.txt: No such file or directory", None),
            (1, "start.sh: line 12: jq: command not found", None),
            (127, "FileNotFoundError: [Errno 2] No such file or directory: 'x'", None),
            (126, "OSError: [Errno 13] Permission denied: '/x'", None),
        ] {
            assert_eq!(refused(Exit::Code(code), last), class, "{last}");
        }
    }

    #[test]
    fn a_file_that_a_tool_misses_is_missed_where_it_ends_with_that() {
        for last in [
            "cat: tokenizer.json: No such file or directory",
            "ls: cannot access 'x': No such file or directory",
            "/bin/sed: can't read x: No such file or directory",
            "start.sh: line 3: model.txt: No such file or directory",
            "./start.sh: 3: .: cannot open ./x.env: No such file",
        ] {
            assert!(misses_file(Exit::Code(1), last) && misses_file(Exit::Code(2), last), "{last}");
            let otherwise = [Exit::Code(0), Exit::Code(137), Exit::Code(127), Exit::Signal(11)];
            assert!(otherwise.into_iter().all(|exit| !misses_file(exit, last)), "{last}");
        }
        for last in ["rm: cannot remove 'x': No such file or directory", "No such file or directory: x"] {
            assert!(!misses_file(Exit::Code(1), last), "{last}");
        }
    }

    #[test]
    fn a_death_that_a_shell_tells_of_says_nothing_of_its_cause() {
        for line in [
            "Aborted",
            "Aborted (core dumped)",
            "start.sh: line 2: 11717 Aborted                 bash core.sh",
            "start.sh: line 2: 11717 Segmentation fault      (core dumped) vllm serve",
            "/opt/start.sh: line 3:  12 Killed  vllm",
        ] {
            assert!(is_obituary(line), "{line}");
        }
        for line in ["Aborted: no such model", "Killed by the scheduler", "Fatal Python error: Aborted"] {
            assert!(!is_obituary(line), "{line}");
        }
    }

    #[test]
    fn codes_of_crashes_are_their_signals() {
        assert_eq!(passed_on(Exit::Code(134)), Exit::Signal(6));
        assert_eq!(passed_on(Exit::Code(139)), Exit::Signal(11));
        for exit in [Exit::Code(1), Exit::Code(137), Exit::Code(143), Exit::Signal(9)] {
            assert_eq!(passed_on(exit), exit);
        }
    }
}
