//! What is secret by its name: variables, flags and settings that hold a token, key, secret or password.

use std::sync::LazyLock;

use regex::Regex;

const WORDS: [&str; 10] =
    ["TOKEN", "KEY", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "COOKIE", "_PWD", LAST];
/// Telling at the end of a name alone: `AUTHOR` is none.
const LAST: &str = "AUTH";
/// A first look at names, most of which have none of the words. `-` and `.` are as good as `_`.
static TELLING: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&words().replace('_', "[_.-]")).ok());
/// Parts of names of numbers and of words of a vocabulary: how many, and which.
const COUNTING: [&str; 14] = [
    "NUM", "MAX", "MIN", "PER", "EOS", "BOS", "PAD", "UNK", "SEP", "STOP", "MASK", "IMAGE", "FIRST", "INTER",
];
/// What says that there is none.
const PLAIN: [&str; 11] =
    ["EMPTY", "true", "True", "TRUE", "false", "False", "FALSE", "None", "null", "default", "auto"];
/// A number of so many digits is no other number.
const LONG_NUMBER: usize = 8;
/// The shortest value that is masked wherever it stands: what is shorter stands everywhere.
const SHORTEST: usize = 5;

/// Whether a variable, a flag (`--api-key`) or a setting (`api_key`) of this name holds a secret. Where one lies
/// (`HF_TOKEN_PATH`) is none, and neither is what only sounds like it (`TOKENIZERS_PARALLELISM`).
pub fn is_secret(name: &str) -> bool {
    if TELLING.as_ref().is_some_and(|words| !words.is_match(name)) {
        return false;
    }
    let name = name.trim_start_matches('-').to_uppercase().replace(['-', '.'], "_");
    // several tokens are counted: `TOKENS_IN`, `--max-num-batched-tokens`
    let name = name.replace("TOKENIZER", "").replace("TOKENS", "").replace("KEYFILE", "");
    let is_place = ["_PATH", "_FILE", "_DIR", "_MAP", "_ID", "_IDS"].iter().any(|end| name.ends_with(end));
    // ids of keys are as telling as the keys are secret, ids of tokens are numbers of a vocabulary
    let is_place = is_place && !name.ends_with("KEY_ID");
    let holds = |word: &str| if word == LAST { name.ends_with(LAST) } else { name.contains(word) };
    !is_place && WORDS.iter().any(|word| holds(word))
}

/// Whether a value under a name is to be hidden. A number is only where the name is that of the secret itself: `--token-budget=512`,
/// `--num-key-value-heads=8` and `EOS_TOKEN=2` are none.
pub fn hides(name: &str, value: &str) -> bool {
    let value = value.trim();
    is_secret(name)
        && !value.is_empty()
        && !PLAIN.contains(&value)
        // `"1 token": --max-num-seqs=16` is a point of an axis
        && !value.strip_prefix("--").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()))
        && (!is_of_numbers(value) || is_of_secret(name))
}

/// Whether a value is a number, with a unit or without one, or a list of them: `4096`, `1Ki`, `0.1 0.5`.
fn is_of_numbers(value: &str) -> bool {
    const UNITS: [&str; 12] = ["", "k", "K", "M", "G", "Ki", "Mi", "Gi", "ms", "s", "min", "%"];
    let number = |word: &str| {
        let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%');
        word.parse::<f64>().is_ok() || digits.parse::<f64>().is_ok() && UNITS.contains(&&word[digits.len()..])
    };
    let mut words = value.split([' ', ',']).filter(|w| !w.is_empty()).peekable();
    words.peek().is_some() && words.all(number)
}

/// Whether a name ends with the secret that it is of, and counts nothing.
fn is_of_secret(name: &str) -> bool {
    let upper = name.trim_start_matches('-').to_uppercase().replace(['-', '.'], "_");
    let one = upper.strip_suffix('S').unwrap_or(&upper);
    !counts(name) && WORDS.iter().any(|word| one.ends_with(word))
}

/// Whether a name is that of a number of tokens or keys, or of one of a vocabulary.
pub(super) fn counts(name: &str) -> bool {
    let upper = name.to_uppercase();
    upper.split(['_', '-', '.']).any(|part| COUNTING.contains(&part))
}

/// Whether a value says that there is no secret.
pub(super) fn is_plain(value: &str) -> bool {
    PLAIN.contains(&value)
}

/// A regular expression that finds the words of such names, in any case: a first look at long texts, which have few of them.
pub(super) fn words() -> String {
    format!("(?i:{})", WORDS.join("|"))
}

/// Whether a value can be told from ordinary text, so that it may be masked wherever it stands.
pub(super) fn is_telling(value: &str) -> bool {
    let value = value.trim();
    let long = value.len() >= LONG_NUMBER && value.bytes().all(|b| b.is_ascii_digit());
    value.len() >= SHORTEST && (long || value.parse::<f64>().is_err()) && !PLAIN.contains(&value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_token_is_secret_and_places_and_counts_are_not() {
        for name in [
            "HF_TOKEN",
            "HUGGING_FACE_HUB_TOKEN",
            "HUGGINGFACEHUB_API_TOKEN",
            "HF_HUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_ACCESS_KEY_ID",
            "MY_PASSWORD",
            "MYSQL_PWD",
            "--api-key",
            "--hf-token",
            "admin_api_key",
            "--ssl-keyfile-password",
            "PASSPHRASE",
            "--gpg-passphrase",
            "MYAUTH",
            "NPM_CONFIG__AUTH",
            "COOKIE",
            "SESSION_COOKIE",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "HF_TOKEN_PATH",
            "TOKENIZERS_PARALLELISM",
            "--tokenizer",
            "--ssl-keyfile",
            "HF_HOME",
            "--stop-token-ids",
            "--max-num-batched-tokens",
            "TOKENS_IN",
            "PATH",
            "PWD",
            "GIT_AUTHOR_NAME",
            "REGISTRY_AUTH_FILE",
            "--authorized",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn a_number_is_secret_under_the_name_of_one() {
        for name in ["--api-key", "NUMKEY", "HF_TOKEN", "pin_password", "API_KEYS"] {
            assert!(hides(name, "123456"), "{name}");
        }
        for name in [
            "--token-budget",
            "--num-key-value-heads",
            "EOS_TOKEN",
            "ms_per_token",
            "--stop-token-ids",
            "--n",
        ] {
            assert!(!hides(name, "123456"), "{name}");
        }
        assert!(
            !hides("--long-prefill-token-threshold", "1Ki") && hides("--long-prefill-token-threshold", "1Kx")
        );
        assert!(!hides("--bucket-time-to-first-token", "0.1 0.5") && hides("--api-key", "1Ki"));
        assert!(!hides("--speculative-token-map", "maps/llama.pt"));
        assert!(!hides("--api-key", "EMPTY") && !hides("--api-key", ""));
    }

    #[test]
    fn numbers_and_short_words_are_not_masked_everywhere() {
        assert!(is_telling("hf_abc") && is_telling("correct horse"));
        assert!(
            is_telling("123456789012")
                && !is_telling("8192")
                && !is_telling("1e9")
                && !is_telling("abc")
                && !is_telling("false")
        );
    }
}
