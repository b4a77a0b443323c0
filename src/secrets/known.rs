//! The secrets that this process knows, for everything that it writes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock};

use regex::{Captures, Regex};

use super::document;
use super::inside::inside;
use super::mask::{MASKED, Masker};
use super::names::{hides, is_secret, words};

static KNOWN: RwLock<Option<Arc<Masker>>> = RwLock::new(None);
static NUMBERS: RwLock<Option<HashMap<String, usize>>> = RwLock::new(None);
/// Held by who adds to what is known: two threads that learn at once must not forget what the other has learnt.
static LEARNING: Mutex<()> = Mutex::new(());

/// A value after a name: bare ones and lists of them touch their sign (`env HF_TOKEN=x`, `--api-key=[x, y]`), as what stands apart
/// from it is an axis, a metric or a point (`axis token_budget = --max-num-seqs=8`); quoted ones may stand apart (`"api_key": "x"`).
const ASSIGNED: &str = r#"(?<name>[\w.-]+)(?:=(?:\[(?<list>[^\]\n]*)\]|(?<bare>[^\s"'\[\]{},]+))|"?\s*[=:]\s*"(?<quoted>(?:[^"\\\n]|\\.)*)")"#;

/// The end of a name that may be a secret's: what is looked for first.
static NAMED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(&format!(r#"(?-u){}[\w.-]*"?\s*[=:]"#, words())).ok());
static QUOTED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#""(?<text>(?:[^"\\\n]|\\.)*)""#).ok());
static HINTS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(&format!("(?-u){}|(?i:authorization)|://", words())).ok());
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
    let _alone = LEARNING.lock().unwrap_or_else(PoisonError::into_inner);
    let all = known().into_iter().chain(new);
    let masker = Masker::numbering(all, &numbers());
    *KNOWN.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(masker));
}

/// Takes the secrets among which a study chooses: they bear numbers from now on, so that its candidates can be told apart.
pub fn learn_alternatives(values: &[String]) {
    let mut known = NUMBERS.write().unwrap_or_else(PoisonError::into_inner);
    let numbers = known.get_or_insert_default();
    for value in values {
        let next = numbers.len() + 1;
        numbers.entry(value.clone()).or_insert(next);
    }
    drop(known);
    learn(values.iter().cloned());
}

/// What stands in the place of a secret: `***`, with its number if it is one of several.
pub fn shown(value: &str) -> String {
    let number =
        NUMBERS.read().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(|n| n.get(value).copied());
    number.map_or_else(|| MASKED.to_owned(), |n| format!("{MASKED}{n}"))
}

fn numbers() -> HashMap<String, usize> {
    NUMBERS.read().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default()
}

/// The secrets of perflab's own environment, and the hub's token where its tools keep it.
pub fn learn_environment() {
    let own = std::env::vars_os().filter_map(|(n, v)| Some((n.into_string().ok()?, v.into_string().ok()?)));
    let own: Vec<(String, String)> = own.collect();
    let values = own.iter().filter(|(n, _)| is_secret(n)).map(|(_, v)| v.clone());
    let parts = own.iter().filter(|(n, _)| !is_secret(n)).flat_map(|(n, v)| inside(n, v));
    learn(values.chain(parts).chain(hub_token()));
}

/// What a study or site file states under a secret's name, however broken the file is.
pub fn learn_source(text: &str) {
    learn_quoted(text);
    let Some(named) = NAMED.as_ref().filter(|n| n.is_match(text)) else { return };
    let Some(assigned) = ASSIGNMENT.as_ref() else { return };
    let begins = named.find_iter(text).map(|m| text[..m.start()].trim_end_matches(in_name).len());
    // most of them only sound so, and what follows the name is the costly part
    let begins = begins.filter(|at| is_secret(text[*at..].split(|c| !in_name(c)).next().unwrap_or_default()));
    let mut values = Vec::new();
    for found in begins.filter_map(|at| assigned.captures_at(text, at)).filter(|f| is_secret(&f["name"])) {
        if let Some(list) = found.name("list") {
            let each = list.as_str().split(',').map(|v| v.trim().trim_matches('"').to_owned());
            values.extend(each);
        } else if let Some(one) = found.name("quoted").or(found.name("bare")) {
            // in the file it stands with its escapes, in an engine's log without
            let meant = unescaped(one.as_str());
            values.extend((meant != one.as_str()).then(|| one.as_str().to_owned()));
            values.push(meant);
        }
    }
    learn(values.into_iter().filter(|v| !v.contains('{')));
}

/// A text of the language without its escapes.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        out.push(match c {
            '\\' => match rest.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some(other) => other,
                None => '\\',
            },
            c => c,
        });
    }
    out
}

/// What stands inside of the quoted texts of a source: options, headers, URLs. They end with their line, and most lines hint at nothing.
fn learn_quoted(text: &str) {
    let Some((hints, quoted)) = HINTS.as_ref().zip(QUOTED.as_ref()) else { return };
    let mut lines = Vec::new();
    let mut end = 0;
    while let Some(hint) = hints.find_at(text, end) {
        let start = text[..hint.start()].rfind('\n').map_or(0, |at| at + 1);
        end = memchr::memchr(b'\n', &text.as_bytes()[hint.end()..]).map_or(text.len(), |n| hint.end() + n);
        lines.push(&text[start..end]);
    }
    let texts = lines
        .into_iter()
        .flat_map(|line| quoted.captures_iter(line))
        .map(|c| c["text"].replace("\\\"", "\""));
    learn(
        texts
            .filter(|t| hints.is_match(t))
            .flat_map(|t| inside("", &t.replace("{{", "{").replace("}}", "}")))
            .filter(|v| !v.contains('{')),
    );
}

/// A study's text, or a piece of it: also what is too short to be masked elsewhere goes under the name of a secret.
pub fn mask_source(text: &str) -> String {
    let masked = mask(text);
    let Some(assigned) = ASSIGNMENT.as_ref() else { return masked.into_owned() };
    let hidden = |found: &Captures<'_>| {
        let whole = &found[0];
        let Some(value) = ["list", "quoted", "bare"].iter().find_map(|g| found.name(g)) else {
            return whole.to_owned();
        };
        let at = value.start() - found.get(0).map_or(0, |m| m.start());
        let one = |v: &str| {
            let bare = v.trim().trim_matches('"');
            if hides(&found["name"], bare) && !bare.starts_with(MASKED) {
                v.replace(bare, &shown(bare))
            } else {
                v.to_owned()
            }
        };
        let all: Vec<String> = match found.name("list") {
            Some(list) => list.as_str().split(',').map(one).collect(),
            None => vec![one(value.as_str())],
        };
        format!("{}{}{}", &whole[..at], all.join(","), &whole[at + value.len()..])
    };
    assigned.replace_all(&masked, hidden).into_owned()
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
    document::masked(&masker(), text).map_or(Cow::Borrowed(text), Cow::Owned)
}

pub(super) fn masker() -> Arc<Masker> {
    if let Some(known) = &*KNOWN.read().unwrap_or_else(PoisonError::into_inner) {
        return known.clone();
    }
    let none = Arc::new(Masker::default());
    KNOWN.write().unwrap_or_else(PoisonError::into_inner).get_or_insert(none).clone()
}

/// The hub's token where its own tools keep it.
pub fn hub_token() -> Option<String> {
    let variable = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
    let place = variable("HF_TOKEN_PATH").map(PathBuf::from);
    let hub = variable("HF_HOME").map(|home| PathBuf::from(home).join("token"));
    let cache = variable("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache")));
    let token = place
        .or(hub)
        .or(cache.map(|c| c.join("huggingface/token")))
        .and_then(|p| std::fs::read_to_string(p).ok())?;
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
        learn_source(r#"env PEM_KEY="-----BEGIN it\nsecond+line/of=it""#);
        assert_eq!(
            mask("a\nsecond+line/of=it, second%2Bline%2fof%3dit second%2Bline%2Fof%3Dit"),
            "a\n***, *** ***"
        );
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
    fn threads_that_learn_at_once_forget_nothing() {
        let secret = |thread: usize, n: usize| format!("secret-of-{thread}-and-{n}");
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || (0..20).for_each(|n| learn([secret(thread, n)])));
            }
        });
        let all: Vec<String> = (0..80).map(|n| secret(n / 20, n % 20)).collect();
        assert_eq!(mask(&all.join(" ")), vec!["***"; 80].join(" "));
    }

    #[test]
    fn documents_stay_documents() {
        learn(["document-secret".to_owned()]);
        assert_eq!(mask_document("{\"a\":\"document-secret\"}\n"), "{\"a\":\"***\"}\n");
        assert_eq!(mask_json(b"{\"a\":1}".to_vec()), b"{\"a\":1}");
        assert_eq!(mask("plain document-secret"), "plain ***");
    }
}
