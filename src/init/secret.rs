//! What must not be written into a study, which lies in git: keys, tokens and passwords, told by name or by their form.

use std::sync::LazyLock;

use regex::Regex;

/// Keys as their issuers mark them, `user:password@` in a URL, and members of JSON that hold such things.
static FORM: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?:^|[^A-Za-z0-9])(?:hf_|sk-|ghp_|gho_|github_pat_|glpat-|nvapi-|AKIA)[A-Za-z0-9_-]{10,}",
        r"|://[^/@\s]*:[^/@\s]+@",
        r#"|"(?:(?:hf|access|auth|api)[_-]?)?(?:token|key|secret|password)"\s*:\s*"[^"]+"#,
    ))
    .ok()
});

/// Whether a variable of this name holds a secret, whatever its value.
pub fn variable(name: &str) -> bool {
    let ends = ["TOKEN", "KEY", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIALS"];
    let secret = |part: &str| matches!(part, "PAT" | "AUTH") || ends.iter().any(|e| part.ends_with(e));
    name.to_ascii_uppercase().split('_').any(secret)
}

/// Whether a flag holds a secret, by its name or its value. `--draft-tokens-per-token=4` ends in a token and holds none.
pub fn flag(name: &str, value: Option<&str>) -> bool {
    let name = name.trim_start_matches('-').replace('_', "-");
    let named = match name.rsplit('-').next() {
        Some("key" | "secret" | "password" | "passwd" | "passphrase") => true,
        Some("token") => value.is_none_or(|v| v.parse::<f64>().is_err()),
        _ => name == "api-key-file",
    };
    named || value.is_some_and(value_is)
}

/// Whether a value is, or has in it, what looks like a secret.
pub fn value_is(value: &str) -> bool {
    FORM.as_ref().is_some_and(|form| form.is_match(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_secrets() {
        for name in ["HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "MYAPIKEY", "PGPASSWORD", "GITHUB_PAT", "hf_token"]
        {
            assert!(variable(name), "{name}");
        }
        for name in ["TOKENIZERS_PARALLELISM", "VLLM_USE_V1", "HF_HOME", "PATH", "VLLM_KEYS_DIR"] {
            assert!(!variable(name), "{name}");
        }
        for name in ["--api-key", "--admin_api_key", "--hf-token", "--ssl-keyfile-password", "--api-key-file"]
        {
            assert!(flag(name, Some("x")), "{name}");
        }
        for (name, value) in
            [("--kt-max-deferred-experts-per-token", "2"), ("--tokenizer", "a/b"), ("--dtype", "auto")]
        {
            assert!(!flag(name, Some(value)), "{name}");
        }
    }

    #[test]
    fn values_tell_secrets() {
        for value in [
            "http://me:word@proxy:3128",
            "hf_abcdefghijklmnop",
            "Bearer sk-abcdefghijklmnop",
            r#"{"token": "abc"}"#,
            r#"{"x": {"api_key":"abc"}}"#,
        ] {
            assert!(value_is(value), "{value}");
        }
        for value in ["http://host:4317", "hf_xet", "org/task-model-hf_x", r#"{"pad_token": "x"}"#, "a:b@c"] {
            assert!(!value_is(value), "{value}");
        }
    }
}
