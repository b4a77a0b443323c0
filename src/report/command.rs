//! Commands that survive copying: words quoted for a POSIX shell, and long ones broken at their flags.

use indexmap::IndexMap;

use super::asking;
pub use crate::plan::shell::quote;

/// The words as one command on lines of about that width: whole if it fits, else one flag a line with ` \` between.
/// A line is only longer when a single flag is.
pub fn wrapped(words: &[String], width: usize, indent: &str) -> String {
    broken(words, asking::quoted(words), width, indent)
}

/// The same of a command behind its variables.
pub fn wrapped_behind(
    env: &IndexMap<String, String>,
    words: &[String],
    width: usize,
    indent: &str,
) -> String {
    broken(words, asking::quoted_behind(env, words), width, indent)
}

fn broken(words: &[String], quoted: Vec<String>, width: usize, indent: &str) -> String {
    let whole = quoted.join(" ");
    if whole.chars().count() <= width {
        return whole;
    }
    let mut lines: Vec<String> = Vec::new();
    let mut in_flags = false;
    for (word, text) in words.iter().zip(quoted) {
        let is_flag = word.starts_with("--") || (in_flags && word.starts_with('-') && !is_number(word));
        in_flags |= is_flag;
        match lines.last_mut() {
            Some(line) if !is_flag => {
                line.push(' ');
                line.push_str(&text);
            }
            _ => lines.push(text),
        }
    }
    lines.join(&format!(" \\\n{indent}"))
}

/// The same for a command that is already text; one that is not shell words stays as it is.
pub fn wrapped_text(command: &str, width: usize, indent: &str) -> String {
    shell_words::split(command).map_or_else(|_| command.to_owned(), |words| wrapped(&words, width, indent))
}

fn is_number(word: &str) -> bool {
    word.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quotes_what_needs_it() {
        assert_eq!(quote("--max-num-seqs=512"), "--max-num-seqs=512");
        assert_eq!(quote(r#"--config={"a": 1}"#), r#"--config='{"a": 1}'"#);
        assert_eq!(quote("--sizes={1,2}"), "--sizes='{1,2}'");
        assert_eq!(quote("it's"), r"'it'\''s'");
        assert_eq!(quote(""), "''");
        assert_eq!(quote("--empty="), "--empty=");
    }

    #[test]
    fn breaks_at_flags() {
        let words = [
            "python3",
            "-m",
            "sglang.launch_server",
            "--model-path",
            "org/model",
            "-tp",
            "4",
            "--bias",
            "-1",
        ];
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        assert_eq!(
            wrapped(&words, 40, "    "),
            "python3 -m sglang.launch_server \\\n    --model-path org/model \\\n    -tp 4 \\\n    --bias -1"
        );
        assert_eq!(wrapped(&words, 100, "    ").lines().count(), 1);
        assert_eq!(wrapped_text("not 'shell words", 4, ""), "not 'shell words");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_shell_reads_the_words_back(words in prop::collection::vec(r"(--[a-z-]{1,8}=)?[ -~äß\n]{0,12}", 1..6)) {
            // which stands for a secret
            prop_assume!(!words.iter().any(|w| w.contains("***")));
            let command = wrapped(&words, 20, "    ");
            prop_assert_eq!(&shell_words::split(&command).expect("quoted"), &words);
            let script = format!(r"printf '%s\0' {command}");
            let output = Command::new("sh").arg("-c").arg(script).output().expect("sh runs");
            let read: Vec<String> = String::from_utf8(output.stdout).expect("text").split_terminator('\0').map(str::to_owned).collect();
            prop_assert_eq!(&read, &words);
        }
    }
}
