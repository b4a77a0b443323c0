//! Secrets in text that is not of the language: without quotes, in other quotes or in none that end, behind other signs or none, on the
//! next line. A diagnostic quotes the line that it is about, and that may be the one with the secret.
//!
//! Only read where a file has errors: what follows a name is taken more readily here than a file deserves that says what it means.

use std::sync::LazyLock;

use regex::Regex;

use super::names::{hides, is_secret, is_telling, words};

/// A name that sounds so, whatever stands around it.
static NAME: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(&format!(r"(?-u)[\w.-]*{}[\w.-]*", words())).ok());

/// Quotes that people type or paste, each with what ends it.
const QUOTES: [(char, char); 6] = [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('‘', '’'), ('«', '»')];
/// Words after which a name is declared, and no value stated.
const DECLARING: [&str; 10] =
    ["axis", "metric", "rule", "profile", "engine", "study", "step", "site", "track", "model"];

/// Whatever in a text that does not parse may be the value of a secret's name.
pub fn values(text: &str) -> Vec<String> {
    let Some(name) = NAME.as_ref() else { return Vec::new() };
    let mut found = Vec::new();
    for at in name.find_iter(text).filter(|m| is_secret(m.as_str())) {
        let before =
            text[..at.start()].trim_end_matches(|c: char| quote(c).is_some() || c == ' ' || c == '\t');
        let word = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        // `flag --api-key text`, `variables "OURS_" [OURS_API_KEY, OURS_LOG]`, `key --api-key env OURS_API_KEY`: names alone
        let line = before.rsplit('\n').next().unwrap_or_default().trim_start();
        let rest = text[at.end()..].lines().next().unwrap_or_default();
        let first = line.split_whitespace().next().unwrap_or_default();
        let names = ["flag", "variables", "key"].contains(&first);
        if names && !rest.contains(['=', ':']) && !rest.contains(" default ") {
            continue;
        }
        if !DECLARING.contains(&word) || before.ends_with(char::is_whitespace) && word.is_empty() {
            of_name(at.as_str(), word, &text[at.end()..], &mut found);
        }
    }
    found.retain(|value| is_telling(value));
    found
}

/// The values of a name, from what follows it.
fn of_name(name: &str, before: &str, rest: &str, found: &mut Vec<String>) {
    let after = rest.trim_start_matches(|c| quote(c).is_some());
    let signs = after.trim_start_matches(['=', ':', '>', ',', '-', ' ', '\t']);
    let sign = after[..after.len() - signs.len()].trim();
    // `--api-key --other` has no value
    if sign.is_empty() && after.trim_start().starts_with('-') || sign == "-" || sign == "--" {
        return;
    }
    let stated = sign.contains(['=', ':']) || before == "env";
    let value = match signs.trim_start_matches(['\r', '\n', ' ', '\t']) {
        next if next.len() == signs.len() || stated => next,
        _ => return,
    };
    let of_one = |value: &str| hides(name, value);
    let Some(first) = value.chars().next() else { return };
    if let Some(end) = quote(first) {
        let texts = quoted(&value[first.len_utf8()..], end).into_iter().filter(|v| of_one(v));
        // quotes that are none of the language's are read as a part of what they enclose
        found.extend(texts.flat_map(|text| [format!("{first}{text}"), text]).filter(|t| is_telling(t)));
    } else if matches!(first, '[' | '{' | '(') && (stated || is_plainly_one(name)) {
        let inner = value[1..].split(['\n', ']', '}', ')']).next().unwrap_or_default();
        found.extend(items(inner).filter(|v| of_one(v)));
    } else if !matches!(first, '[' | '{' | '(') && (stated || is_plainly_one(name)) {
        let bare =
            value.split(|c: char| c.is_whitespace() || ",;{}[]()\"'".contains(c)).next().unwrap_or_default();
        // a flag or an expression may follow the name of an axis or a metric
        found.extend(Some(bare.to_owned()).filter(|v| !v.starts_with('-') && of_one(v)));
    }
}

/// A name that is an identifier, and no word of a sentence.
fn is_plainly_one(name: &str) -> bool {
    name.contains(['_', '-']) || !name.chars().any(char::is_lowercase)
}

/// What a quoted text says, as a whole and, where it does not end on its line, line by line.
fn quoted(text: &str, end: char) -> Vec<String> {
    let escaped = |at: usize| text[..at].ends_with('\\');
    let close = text.match_indices(end).map(|(at, _)| at).find(|at| !escaped(*at));
    let whole = &text[..close.unwrap_or(text.len())];
    let mut lines = whole.lines();
    let first = lines.next().unwrap_or_default();
    let Some(second) = lines.next() else {
        return if close.is_some() { vec![whole.to_owned()] } else { unended(first) };
    };
    // most likely it ends on its first line, or on the second
    let mut all = unended(first);
    if whole.lines().count() == 2 {
        // and is then read word by word
        all.extend(std::iter::once(second.trim()).chain(second.split_whitespace()).map(str::to_owned));
    }
    all
}

/// A line that lacks its closing quote: to its end, and without the brackets that belong to what is around.
fn unended(line: &str) -> Vec<String> {
    let all = line.trim_end();
    let bare = all.trim_end_matches(['}', ']', ')', ' ', '\t', ';', ',']);
    let first = bare.split_whitespace().next().unwrap_or_default();
    [all, bare, first].into_iter().map(str::to_owned).collect()
}

/// The parts of a list, whatever separates them.
fn items(list: &str) -> impl Iterator<Item = String> {
    let parts = list.split(|c: char| c == ',' || c.is_whitespace());
    let bare = parts.map(|part| part.trim_matches(|c: char| quote(c).is_some() || c == ':').to_owned());
    bare.filter(|part| !part.starts_with('-'))
}

fn quote(c: char) -> Option<char> {
    let ends = QUOTES.iter().any(|(_, end)| *end == c);
    QUOTES.iter().find(|(begin, _)| *begin == c).map(|(_, end)| *end).or(ends.then_some(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_however_it_is_written() {
        for text in [
            "env HF_TOKEN = hunter2a }",
            "env HF_TOKEN hunter2a }",
            "env HF_TOKEN=\"hunter2a }",
            "env HF_TOKEN='hunter2a'",
            "--api-key hunter2a --x",
            "--api-key: hunter2a",
            "api_key hunter2a",
            "api_key -> hunter2a",
            "{\"api_key\": hunter2a}",
            "param token = hunter2a",
            "param hf_token \"hunter2a\"",
            "--api-key=[\"hunter2a\" \"hunter2b\"]",
            "--api-key = [hunter2a, hunter2b",
            "env PASSWORD == hunter2a",
            "env PASSWORD:=hunter2a",
            "env PASSWORD=“hunter2a”",
            "env HF_TOKEN, hunter2a",
            "env HF_TOKEN\n  hunter2a",
            "env A_KEY=\"more\nhunter2a\" }",
            "--api-key={\"hunter2a\"}",
            "serve \"vllm serve {model} --api-key hunter2a",
        ] {
            assert!(values(text).iter().any(|v| v == "hunter2a"), "{text}: {:?}", values(text));
        }
        assert_eq!(values("--hf-token 'hunter2 hunter3'"), ["'hunter2 hunter3", "hunter2 hunter3"]);
    }

    #[test]
    fn what_only_sounds_like_a_secret_is_none() {
        for text in [
            "axis token_budget = --max-num-seqs=[8, 16]",
            "flag --draft json keys [method one_of [ngram, medusa], tokens int]",
            "flag --api-key string",
            "variables \"OURS_\" [OURS_API_KEY, OURS_LOG]",
            "key --api-key env OURS_API_KEY\nargs joined",
            "axis key_axis = --kv-cache-dtype=[auto, fp8",
            "metric token_cost = gpu_power / total_tps",
            "// the token that counts, a secret sauce",
            "--max-num-batched-tokens=8192 tokens",
            "--api-key --other-flag=8",
            "env HF_TOKEN_PATH=/somewhere/else",
            "study s \"Tokens and keys, a title\" {",
            "step batched \"Max Batched Token\" { vary batched }",
        ] {
            assert_eq!(values(text), Vec::<String>::new(), "{text}");
        }
    }
}
