//! The secrets that this process knows, for everything that it writes.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use regex::Regex;

use super::mask::Masker;
use super::names::{is_secret, words};

static NAMES_ONE: AtomicBool = AtomicBool::new(false);
static KNOWN: RwLock<Option<Arc<Masker>>> = RwLock::new(None);

/// A value after a name: bare ones and lists of them touch their sign (`env HF_TOKEN=x`, `--api-key=[x, y]`), as what stands apart
/// from it is an axis, a metric or a point (`axis token_budget = --max-num-seqs=8`); quoted ones may stand apart (`"api_key": "x"`).
const ASSIGNED: &str = r#"(?<name>[\w.-]+)(?:=(?:\[(?<list>[^\]\n]*)\]|(?<bare>[^\s"'\[\]{},]+))|"?\s*[=:]\s*"(?<quoted>(?:[^"\\\n]|\\.)*)")"#;

/// The end of a name that may be a secret's: what is looked for first.
static NAMED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(&format!(r#"(?-u){}[\w.-]*"?\s*[=:]"#, words())).ok());
static ASSIGNMENT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(ASSIGNED).ok());

/// Everything that is known to be secret.
pub fn known() -> Vec<String> {
    masker().values().to_vec()
}

/// Takes values as secret from now on.
pub fn learn(values: impl IntoIterator<Item = String>) {
    let new: Vec<String> = values.into_iter().collect();
    if new.is_empty() {
        return;
    }
    let all = known().into_iter().chain(new);
    *KNOWN.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(Masker::new(all)));
}

/// The secrets of perflab's own environment, and the hub's token where its tools keep it.
pub fn learn_environment() {
    let own = std::env::vars_os().filter_map(|(n, v)| Some((n.into_string().ok()?, v.into_string().ok()?)));
    let own: Vec<(String, String)> = own.collect();
    let values = own.iter().filter(|(n, _)| is_secret(n)).map(|(_, v)| v.clone());
    let passwords = own.iter().filter_map(|(_, v)| password(v));
    learn(values.chain(passwords).chain(hub_token()));
}

/// What a study or site file states under a secret's name, however broken the file is.
pub fn learn_source(text: &str) {
    let Some(named) = NAMED.as_ref().filter(|n| n.is_match(text)) else { return };
    let Some(assigned) = ASSIGNMENT.as_ref() else { return };
    let begins = named.find_iter(text).map(|m| text[..m.start()].trim_end_matches(in_name).len());
    // most of them only sound so, and what follows the name is the costly part
    let begins = begins.filter(|at| is_secret(text[*at..].split(|c| !in_name(c)).next().unwrap_or_default()));
    let begins = begins.inspect(|_| NAMES_ONE.store(true, Ordering::Relaxed));
    let mut values = Vec::new();
    for found in begins.filter_map(|at| assigned.captures_at(text, at)).filter(|f| is_secret(&f["name"])) {
        if let Some(list) = found.name("list") {
            let each = list.as_str().split(',').map(|v| v.trim().trim_matches('"').to_owned());
            values.extend(each);
        } else if let Some(one) = found.name("quoted").or(found.name("bare")) {
            values.push(one.as_str().replace("\\\"", "\"").replace("\\\\", "\\"));
        }
    }
    learn(values.into_iter().filter(|v| !v.contains('{')));
}

/// Whether any source so far gives a secret's name a value, which may be a param's.
pub fn source_names_one() -> bool {
    NAMES_ONE.load(Ordering::Relaxed)
}

fn in_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '-')
}

/// A text for people.
pub fn mask(text: &str) -> Cow<'_, str> {
    match masker().text(text) {
        Cow::Borrowed(_) => Cow::Borrowed(text),
        Cow::Owned(masked) => Cow::Owned(masked),
    }
}

/// One line of JSON.
pub fn mask_json(line: Vec<u8>) -> Vec<u8> {
    let masked = masker().json(&line).and_then(|v| serde_json::to_vec(&v).ok());
    masked.unwrap_or(line)
}

/// A file or a stream: JSON as JSON, everything else as text.
pub fn mask_document(text: &str) -> Cow<'_, str> {
    if !text.starts_with('{') || serde_json::from_str::<serde::de::IgnoredAny>(text).is_err() {
        return mask(text);
    }
    match masker().json(text.as_bytes()).and_then(|v| serde_json::to_string_pretty(&v).ok()) {
        Some(masked) => Cow::Owned(if text.ends_with('\n') { masked + "\n" } else { masked }),
        None => Cow::Borrowed(text),
    }
}

fn masker() -> Arc<Masker> {
    if let Some(known) = &*KNOWN.read().unwrap_or_else(PoisonError::into_inner) {
        return known.clone();
    }
    let none = Arc::new(Masker::default());
    KNOWN.write().unwrap_or_else(PoisonError::into_inner).get_or_insert(none).clone()
}

/// The password of a URL, as proxies have one.
fn password(value: &str) -> Option<String> {
    let (_, rest) = value.split_once("://")?;
    let (user, _) = rest.split('/').next()?.rsplit_once('@')?;
    user.split_once(':').map(|(_, password)| password.to_owned())
}

/// The hub's token where its own tools keep it.
pub fn hub_token() -> Option<String> {
    let variable = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
    let place = variable("HF_TOKEN_PATH").map(PathBuf::from);
    let hub = variable("HF_HOME").map(|home| PathBuf::from(home).join("token"));
    let home = variable("HOME").map(|home| PathBuf::from(home).join(".cache/huggingface/token"));
    let token = place.or(hub).or(home).and_then(|p| std::fs::read_to_string(p).ok())?;
    Some(token.trim().to_owned()).filter(|t| !t.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_states_under_a_secrets_name_is_known() {
        learn_source(
            "engine e {\n env MY_TOKEN=\"first-one\"\n --api-key=second-one --x={\"api_key\": \"third-one\"}\n}\n\
             axis k = env A_KEY=[fourth-one, \"fifth, one\"]\nparam pass_key = \"sixth \\\"one\"\n--max-num-batched-tokens=81929",
        );
        let said = "first-one second-one third-one fourth-one sixth \"one 81929";
        assert_eq!(mask(said), "*** *** *** *** *** 81929");
    }

    #[test]
    fn what_only_sounds_like_a_secret_is_none() {
        learn_source(
            "axis token_budget = --plain-flag=8\naxis a = { key: --other-flag=8, token: --third }\n\
             metric token_cost = gpu_power / total_tps\n# the key: nothing",
        );
        let said = "--plain-flag=8 --other-flag=8 --third gpu_power nothing";
        assert_eq!(mask(said), said);
    }

    #[test]
    fn documents_stay_documents() {
        learn(["document-secret".to_owned()]);
        assert_eq!(mask_document("{\"a\":\"document-secret\"}\n"), "{\n  \"a\": \"***\"\n}\n");
        assert_eq!(mask_json(b"{\"a\":1}".to_vec()), b"{\"a\":1}");
        assert_eq!(mask("plain document-secret"), "plain ***");
    }

    #[test]
    fn a_proxys_password_is_one() {
        assert_eq!(password("http://me:pw1@proxy:80/x").as_deref(), Some("pw1"));
        assert_eq!(password("http://proxy:80/a@b"), None);
    }
}
