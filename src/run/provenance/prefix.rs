//! Commands that only run what stands behind them (`env A=1 python …`, `taskset -c 0,1 python …`): the program is the one behind.

use super::shell::{RUNNERS, assigned};
use super::starts::base;

/// Their options that have a value in a word of its own, and how many words stand before the program that are no options.
fn grammar(runner: &str) -> (&'static [&'static str], usize) {
    match runner {
        "env" => (&["-u", "--unset", "-C", "--chdir"], 0),
        "nice" => (&["-n", "--adjustment"], 0),
        "ionice" => (&["-c", "--class", "-n", "--classdata"], 0),
        "taskset" => (&[], 1),
        "chrt" => (&["-T", "-P", "-D"], 1),
        "timeout" => (&["-k", "--kill-after", "-s", "--signal"], 1),
        "stdbuf" => (&["-i", "-o", "-e", "--input", "--output", "--error"], 0),
        "time" => (&["-f", "--format", "-o", "--output"], 0),
        "sudo" => (&["-u", "--user", "-g", "--group", "-h", "-p", "-C", "-D", "-r", "-t"], 0),
        "numactl" => (
            &[
                "-N",
                "-m",
                "-C",
                "-p",
                "-i",
                "-P",
                "--cpunodebind",
                "--membind",
                "--physcpubind",
                "--preferred",
            ],
            0,
        ),
        "exec" => (&["-a"], 0),
        _ => (&[], 0),
    }
}

/// The words of a command from its program on, past all that only runs it.
pub fn behind(words: &[String]) -> &[String] {
    let mut rest = words;
    while let Some(runner) = rest.first().map(|w| base(w)).filter(|w| RUNNERS.contains(w)) {
        let after = past(runner, &rest[1..]);
        // one that runs nothing is the program itself
        if after.is_empty() {
            break;
        }
        rest = after;
    }
    rest
}

/// What the words before the program set a variable to: `env PATH=tools:/usr/bin python …`.
pub fn stated<'w>(words: &'w [String], name: &str) -> Option<&'w str> {
    let before = &words[..words.len() - behind(words).len()];
    let of_word = |word: &'w String| word.split_once('=').filter(|(n, _)| *n == name);
    before.iter().rev().find_map(of_word).map(|(_, value)| value)
}

fn past<'w>(runner: &str, mut rest: &'w [String]) -> &'w [String] {
    let (valued, mut positions) = grammar(runner);
    while let Some((word, after)) = rest.split_first() {
        let is_variable = ["env", "sudo"].contains(&runner) && assigned(word).0.is_some();
        if word == "--" {
            rest = after;
        } else if word.starts_with('-') && word.len() > 1 {
            let skipped = usize::from(valued.contains(&word.as_str()));
            rest = after.get(skipped..).unwrap_or_default();
        } else if is_variable {
            rest = after;
        } else if positions > 0 {
            positions -= 1;
            rest = after;
        } else {
            break;
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_stands_behind_what_only_runs_it() {
        for command in [
            "python s.py",
            "env A=1 python s.py",
            "env -u B -i C=2 nice python s.py",
            "/usr/bin/nice -n 1 python s.py",
            "nice -5 python s.py",
            "taskset -c 0,1 python s.py",
            "taskset 0x3 python s.py",
            "numactl --membind=0 -N 0 python s.py",
            "numactl --membind 0 --localalloc python s.py",
            "ionice -c 2 -n0 chrt -f 10 python s.py",
            "timeout -k 5 --foreground 900s stdbuf -oL python s.py",
            "sudo -E -u me X=1 setsid -w python s.py",
        ] {
            let words = shell_words::split(command).expect("words");
            assert_eq!(behind(&words), ["python", "s.py"], "{command}");
        }
        assert_eq!(behind(&["env".to_owned()]), ["env"]);
        let words = shell_words::split("env PATH=a:b X=1 nice python PATH=c").expect("words");
        assert_eq!((stated(&words, "PATH"), stated(&words, "Y")), (Some("a:b"), None));
    }
}
