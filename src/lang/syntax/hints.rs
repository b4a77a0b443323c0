//! How to mend a line that no rule took: what newcomers write out of the habit of other languages, else an example of the line.

use std::ops::Range;

use crate::lang::diag::one_of;
use crate::lang::units;

/// The help for a token (of the chunk, a place in it) that stands where `expected` should.
pub fn help(chunk: &str, token: Range<usize>, word: &str, expected: &[String]) -> String {
    by_example(chunk, &token, word, expected, example)
}

/// The same in a site, whose lines share words with engines and profiles.
pub fn site_help(chunk: &str, token: Range<usize>, word: &str, expected: &[String]) -> String {
    by_example(chunk, &token, word, expected, site_example)
}

fn by_example(
    chunk: &str,
    token: &Range<usize>,
    word: &str,
    expected: &[String],
    example: fn(&str) -> Option<&'static str>,
) -> String {
    if let Some(habit) = habit(chunk, token, word) {
        return habit;
    }
    let example = chunk
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .find(|w| !w.is_empty())
        .and_then(example);
    match (expected, example) {
        ([only], None) if only == "the end of the line" => {
            "a setting ends with its line: write the rest on a line of its own".to_owned()
        }
        ([only], Some(example)) if only == "the end of the line" => {
            format!("a setting ends with its line: write the rest on a line of its own, after `{example}`")
        }
        ([_], None) => format!("write {} here", expected[0]),
        (_, Some(example)) => format!("write for example `{example}`"),
        ([], None) => "a setting or declaration ends with its line".to_owned(),
        _ => format!("write {}", one_of(expected)),
    }
}

/// Habits from elsewhere.
fn habit(chunk: &str, token: &Range<usize>, word: &str) -> Option<String> {
    let before = chunk[..token.start].trim_end();
    let number = before.rsplit(|c: char| !(c.is_ascii_digit() || c == '.')).next().unwrap_or_default();
    Some(match word {
        "&&" | "&" => "write `and`".to_owned(),
        "||" | "|" => "write `or`".to_owned(),
        "!" => "write `not`".to_owned(),
        ";" => "a setting ends with its line: remove the `;`".to_owned(),
        "=" if before.contains('=') => "write one `=`".to_owned(),
        "=" if chunk.starts_with("env ") => "no space stands at the `=`: write `env NAME=value`".to_owned(),
        "=" if is_condition(chunk) => "write `==` to compare".to_owned(),
        "=" => "a setting and its value are separated by a space: remove the `=`".to_owned(),
        "<" | "<=" | ">" | ">=" | "==" | "!=" if is_condition(chunk) => {
            "comparisons do not chain: write `a <= b and b <= c`".to_owned()
        }
        _ if !number.is_empty() && units::unit(word).is_some() => {
            format!("a unit is glued to its number: write `{number}{word}`")
        }
        _ if before.ends_with("vary") && word.starts_with('-') => {
            format!("declare `axis NAME = {word}=…`, and vary it by its name")
        }
        _ if chunk.starts_with('-') && chunk[..token.start].contains("={") => {
            "JSON takes double quotes around keys and texts: `--flag={\"key\": \"text\"}`".to_owned()
        }
        _ if chunk.starts_with('-') && !word.is_empty() => {
            "a value that holds a space is quoted: `--flag=\"a b\"`".to_owned()
        }
        _ if word.chars().next().is_some_and(|c| c.is_whitespace() || c.is_control()) => {
            "replace it by a plain space".to_owned()
        }
        _ => return None,
    })
}

/// Lines that hold an expression, in which a flag is compared and not set.
pub fn is_condition(chunk: &str) -> bool {
    let word = chunk.trim_start().split([' ', '\t']).next().unwrap_or_default();
    matches!(word, "prune" | "require" | "step" | "metric" | "maximize" | "minimize")
}

/// A line or declaration that begins with a word, as it may be written.
fn example(word: &str) -> Option<&'static str> {
    Some(match word {
        "use" => "use std/engines { vllm, sglang }",
        "param" => "param ctx = 32Ki",
        "engine" => "engine NAME \"Title\" = vllm { … }",
        "axis" => "axis seqs = --max-num-seqs=[256, 512]",
        "profile" => "profile NAME = sharegpt { … }",
        "metric" => "metric per_gpu = total_tps / gpus",
        "prune" => "prune slow \"users wait\" when p99(ttft) > 2s",
        "study" => "study NAME \"Title\" { … }",
        "site" => "site lab { … }",
        "version" => "version \"0.17.1\"",
        "serve" => "serve \"vllm serve {model} --host {host} --port {port}\"",
        "image" => "image \"vllm/vllm-openai:v{version}\"",
        "probe" => "probe \"vllm --version\"",
        "api" => "api openai",
        "args" => "args joined",
        "ready" => "ready get \"/health\" within 20min",
        "metrics" => "metrics get \"/metrics\"",
        "reset" => "reset post \"/reset_prefix_cache\"",
        "stop" => "stop sigterm within 30s",
        "failure" => "failure \"out of memory\" when log matches \"CUDA out of memory\"",
        "flag" => "flag --max-num-seqs int 1.. default 256",
        "publish" => "publish --tool-call-parser=hermes because \"clients send tools\"",
        "env" => "env NAME=value",
        "model" => "model \"Qwen/Qwen3-8B\"",
        "unset" => "unset --flag",
        "raw" => "raw --flag=value",
        "gpus" => "gpus 8 of \"H100\"",
        "baseline" => "baseline ENGINE",
        "maximize" => "maximize total_tps on chat",
        "minimize" => "minimize p99(ttft) on chat",
        "require" => "require p99(ttft) <= 500ms",
        "adopt" => "adopt gain >= 1%",
        "repeat" => "repeat 3",
        "confirm" => "confirm on chat, summarize",
        "curve" => "curve on chat_curve",
        "budget" => "budget 6 gpu_hours",
        "note" => "note \"text\"",
        "step" => "step seqs \"Title\" { vary seqs }",
        "track" => "track ENGINE \"Title\" { … }",
        "data" => "data random",
        "vary" => "vary seqs * batched",
        "pick" => "pick quant[fp8] because \"…\"",
        _ => return None,
    })
}

/// A site's line that begins with a word.
fn site_example(word: &str) -> Option<&'static str> {
    Some(match word {
        "engine" => "engine vllm \"0.17.1\" via venv \"~/venvs/vllm-0.17.1\"",
        "model" => "model \"Qwen/Qwen3-8B\" at \"~/models/qwen3-8b\"",
        "data" => "data sharegpt at \"~/data/sharegpt.json\"",
        "env" => "env HF_HOME=\"~/hf\"",
        "price" => "price 2.99usd/h",
        "runner" => "runner slurm { node \"h100\" }",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn help_at(chunk: &str, word: &str) -> String {
        let at = chunk.rfind(word).expect("in the chunk");
        help(chunk, at..at + word.len(), word, &[])
    }

    #[test]
    fn habits_of_other_languages_are_named() {
        assert_eq!(help_at("require a < 1 && b", "&&"), "write `and`");
        assert_eq!(
            help_at("require p99(ttft) <= 500 ms", "ms"),
            "a unit is glued to its number: write `500ms`"
        );
        assert_eq!(
            help_at("budget = 6h", "="),
            "a setting and its value are separated by a space: remove the `=`"
        );
        assert_eq!(help_at("prune a \"b\" when --x = 3", "="), "write `==` to compare");
    }
}
