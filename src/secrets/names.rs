//! What is secret by its name: variables, flags and settings that hold a token, key, secret or password.

const WORDS: [&str; 6] = ["TOKEN", "KEY", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];
/// The shortest value that is masked wherever it stands: what is shorter stands everywhere.
const SHORTEST: usize = 5;

/// Whether a variable, a flag (`--api-key`) or a setting (`api_key`) of this name holds a secret. Where one lies
/// (`HF_TOKEN_PATH`) is none, and neither is what only sounds like it (`TOKENIZERS_PARALLELISM`).
pub fn is_secret(name: &str) -> bool {
    let name = name.trim_start_matches('-').to_uppercase().replace(['-', '.'], "_");
    // several tokens are counted: `TOKENS_IN`, `--max-num-batched-tokens`
    let name = name.replace("TOKENIZER", "").replace("TOKENS", "").replace("KEYFILE", "");
    let is_place = ["_PATH", "_FILE", "_DIR", "_ID", "_IDS"].iter().any(|end| name.ends_with(end));
    // ids of keys are as telling as the keys are secret, ids of tokens are numbers of a vocabulary
    let is_place = is_place && !name.ends_with("KEY_ID");
    !is_place && WORDS.iter().any(|word| name.contains(word))
}

/// A regular expression that finds the words of such names, in any case: a first look at long texts, which have few of them.
pub(super) fn words() -> String {
    format!("(?i:{})", WORDS.join("|"))
}

/// Whether a value can be told from ordinary text, so that it may be masked wherever it stands.
pub(super) fn is_telling(value: &str) -> bool {
    let value = value.trim();
    let plain = ["EMPTY", "false", "False", "FALSE", "default"];
    value.len() >= SHORTEST && value.parse::<f64>().is_err() && !plain.contains(&value)
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
            "--api-key",
            "--hf-token",
            "admin_api_key",
            "--ssl-keyfile-password",
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
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn numbers_and_short_words_are_not_masked_everywhere() {
        assert!(is_telling("hf_abc") && is_telling("correct horse"));
        assert!(!is_telling("8192") && !is_telling("1e9") && !is_telling("abc") && !is_telling("false"));
    }
}
