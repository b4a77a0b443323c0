//! Replaces secrets in text: known values, and what is a secret by its form wherever it comes from.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use regex::bytes::{Captures, Regex, RegexBuilder};
use serde_json::Value as Json;

use super::names::{hides, is_secret, is_telling, words};
use super::spellings::patterns;
use super::{pem, under};

/// What stands in the place of a secret.
pub const MASKED: &str = "***";

/// By form: what stands before the host of a URL, tokens of the Hugging Face hub (of users, of sessions, of organizations), keys of APIs in
/// OpenAI's form, of NVIDIA and of AWS, signed tokens (JWT), tokens of GitHub and GitLab, of Google, Slack, npm, Vault and Docker's hub, signatures of AWS, what `curl` is given as a password, what stands in a header that authorizes or has cookies, and
/// what a URL says in a query under the name of a secret (signed addresses). What stands in the group `keep` stays. Bytes and no letters: of what Unicode calls a space or a word these forms have nothing, and the tables for it would be
/// most of the memory that a long report takes.
const FORMS: &str = r#"(?-u)(?<keep>://)[^\s/?#"'<>\\]+(?<after>@)|\b(?:hf|api_org)_[A-Za-z0-9]{16,}|\bhf_(?:oauth|jwt)_[A-Za-z0-9._-]{16,}|\b(?:nvapi|glpat)-[A-Za-z0-9_-]{16,}|\bsk-[A-Za-z0-9_-]{16,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\b(?:gh[opsu]|github_pat)_[A-Za-z0-9_]{20,}|\bdckr_pat_[A-Za-z0-9_-]{20,}|\bnpm_[A-Za-z0-9]{36}\b|\bAIza[A-Za-z0-9_-]{35}|\bxox[abeprs]-[A-Za-z0-9-]{10,}|\bhvs\.[A-Za-z0-9_-]{20,}|\b(?<signature>Signature=)[0-9a-f]{64}\b|(?<user>\bcurl [^\n|;&]{0,256}?(?:-u|--user)[ =]?["']?[^\s:"']{1,128}:)[^\s"']+|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}|(?<bearer>(?i:bearer) +)[A-Za-z0-9._~+/-]{8,}=*|(?<basic>(?i:authorization["'\\]{0,2} *[:=,] *b?["'\\]{0,2}(?:basic|token|apikey)) +)[^\s"'\\,;]+|(?<cookie>(?i:cookie)["'\\]{0,2} ?[:=] ?b?["'\\]{0,2})[A-Za-z0-9._-]+=[^\s"'\\;]+(?:; ?[A-Za-z0-9._-]+(?:=[^\s"'\\;]*)?)*|(?<query>[?&](?:key|sig|(?i:[a-z0-9_.-]{0,32}(?:token|signature|secret|password|api[_-]?key|credential)))=)[^\s&"'`#<>\\]+"#;
/// Of a value that long the lines count one by one: a key in a file has the same first line as every other.
const LONGEST: usize = 1024;

/// Replaces a set of values, and everything that is secret by its form.
#[derive(Debug, Clone)]
pub struct Masker {
    /// Without one, because there are too many values, everything is masked: rather no text than a secret.
    regex: Option<Regex>,
    values: Vec<String>,
    /// of values that are told apart, by what stands in a text, what stands there instead
    numbered: HashMap<Vec<u8>, String>,
}

impl Default for Masker {
    fn default() -> Self {
        Self::new([])
    }
}

impl Masker {
    /// Values that could be ordinary words are left out.
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        Self::numbering(values, &HashMap::new())
    }

    /// The same where some values are alternatives of each other, and bear numbers.
    pub fn numbering(values: impl IntoIterator<Item = String>, numbers: &HashMap<String, usize>) -> Self {
        let mut values: Vec<String> = values.into_iter().flat_map(|v| pieces(&v)).collect();
        // the longer first: one may begin with another
        values.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
        values.dedup();
        let mut forms: Vec<String> = values.iter().flat_map(|v| patterns(v)).collect();
        forms.push(FORMS.to_owned());
        let build = |pattern: &str| RegexBuilder::new(pattern).size_limit(64 << 20).build();
        let numbered = numbers.iter().flat_map(|(value, n)| {
            raw_spellings(value).into_iter().map(move |s| (s.into_bytes(), format!("{MASKED}{n}")))
        });
        Self { regex: build(&forms.join("|")).ok(), values, numbered: numbered.collect() }
    }

    /// The values, the longest first.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    pub fn bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let Some(regex) = &self.regex else { return Cow::Borrowed(MASKED.as_bytes()) };
        // what is known only by its name is looked for last: it may hold the beginning of a known value
        match pem::masked(bytes) {
            Cow::Borrowed(_) => under::masked(self.known(regex, bytes)),
            Cow::Owned(masked) => Cow::Owned(under::masked(self.known(regex, &masked)).into_owned()),
        }
    }

    fn known<'a>(&self, regex: &Regex, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        regex.replace_all(bytes, |found: &Captures<'_>| self.replacement(found))
    }

    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.bytes(text.as_bytes()) {
            Cow::Borrowed(same) if same.len() == text.len() => Cow::Borrowed(text),
            Cow::Borrowed(_) => Cow::Borrowed(MASKED),
            Cow::Owned(masked) => Cow::Owned(String::from_utf8_lossy(&masked).into_owned()),
        }
    }

    /// One JSON document: texts are masked, names and structure stay. `None` if there is nothing to mask.
    pub fn json(&self, document: &[u8]) -> Option<Json> {
        if !self.may_hold(document) {
            return None;
        }
        let mut value: Json = serde_json::from_slice(document).ok()?;
        self.tree(&mut value).then_some(value)
    }

    /// Whether a document has to be looked at piece by piece.
    pub(super) fn may_hold(&self, document: &[u8]) -> bool {
        self.regex.as_ref().is_none_or(|r| r.is_match(document))
            || under::has_any(document)
            || pem::may_hold(document)
            || names_a_secret(document)
    }

    /// A document that has been read; whether anything was masked.
    pub(super) fn tree(&self, value: &mut Json) -> bool {
        self.leaves(value, false)
    }

    /// Whether anything was masked.
    fn leaves(&self, value: &mut Json, secret: bool) -> bool {
        match value {
            Json::String(text) if secret && !text.is_empty() => {
                *text = self.in_place_of(text);
                true
            }
            Json::Number(_) if secret => {
                *value = MASKED.into();
                true
            }
            Json::String(text) => match self.text(text) {
                Cow::Borrowed(_) => false,
                Cow::Owned(masked) => {
                    *text = masked;
                    true
                }
            },
            // each of them, also after the first that was masked
            Json::Array(all) => {
                all.iter_mut().filter_map(|v| self.leaves(v, secret).then_some(())).count() > 0
            }
            Json::Object(map) => {
                // a flag as documents have it
                let flag =
                    map.get("name").and_then(Json::as_str).filter(|_| map.len() == 2).map(str::to_owned);
                let hidden = |name: &str, v: &Json| match (name, &flag) {
                    ("value", Some(flag)) => hides(flag, &plain(v)),
                    _ => {
                        is_variable(name)
                            && !v.is_number()
                            && (v.is_object() || v.is_array() || hides(name, &plain(v)))
                    }
                };
                let masked = map.iter_mut().filter_map(|(name, v)| {
                    let secret = hidden(name, v);
                    self.leaves(v, secret).then_some(())
                });
                masked.count() > 0
            }
            _ => false,
        }
    }

    fn replacement(&self, found: &Captures<'_>) -> Vec<u8> {
        let group = |name| found.name(name).map_or(&b""[..], |m| m.as_bytes());
        let instead = self.numbered.get(&found[0]).map_or(MASKED, String::as_str);
        let before = ["keep", "bearer", "basic", "cookie", "query", "signature", "user"].map(group).concat();
        [&before, instead.as_bytes(), group("after")].concat()
    }

    fn in_place_of(&self, text: &str) -> String {
        self.numbered.get(text.as_bytes()).map_or_else(|| MASKED.to_owned(), Clone::clone)
    }
}

/// A leaf as text; none for what is no leaf.
fn plain(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Number(n) => n.to_string(),
        _ => String::new(),
    }
}

/// Names of fields are perflab's own; only variables and settings of engines are secret by their names.
pub(super) fn is_variable(name: &str) -> bool {
    is_secret(name) && (name.contains('_') || name.contains('-') || name == name.to_uppercase())
}

fn names_a_secret(document: &[u8]) -> bool {
    static NAMES: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let pattern = format!(r#"(?-u)"[\w-]*{}[\w-]*" *(?:: *["\[{{]|[,}}])"#, words());
        Regex::new(&pattern).ok()
    });
    NAMES
        .as_ref()
        .is_none_or(|r| r.find_iter(document).any(|name| tells(name.as_bytes(), &document[name.end()..])))
}

/// Whether a name, with the sign that ends it, and what follows may tell a secret. What is masked already does not, as most of what perflab
/// writes was when it was read: a document of ten thousand trials is not parsed for that.
fn tells(name: &[u8], rest: &[u8]) -> bool {
    match name.last() {
        Some(b'"') => !is_masked(rest),
        // a flag's name, or any other text
        Some(b',') => rest.trim_ascii_start().strip_prefix(b"\"value\":").is_some_and(|value| {
            let value = value.trim_ascii_start();
            !value.strip_prefix(b"\"").is_some_and(is_masked)
        }),
        _ => true,
    }
}

/// A text in JSON that is masked as a whole, with its number where it is one of several.
fn is_masked(text: &[u8]) -> bool {
    let rest = text.strip_prefix(MASKED.as_bytes());
    rest.is_some_and(|r| r.iter().find(|b| !b.is_ascii_digit()) == Some(&b'"'))
}

fn pieces(value: &str) -> Vec<String> {
    let value = value.trim();
    let whole = value.len() <= LONGEST && !value.contains('\n');
    let parts: Vec<&str> = if whole { vec![value] } else { value.lines().map(str::trim).collect() };
    parts.into_iter().filter(|p| is_telling(p)).map(str::to_owned).collect()
}

/// As it is, as it stands in JSON and in a URL: alternatives keep their numbers in these.
fn raw_spellings(value: &str) -> Vec<String> {
    let quoted = serde_json::to_string(value).unwrap_or_default();
    let inner = quoted.trim_start_matches('"').trim_end_matches('"').to_owned();
    let mut out = vec![value.to_owned()];
    // as it stands in a URL; what escapes nothing is the value itself
    for upper in [true, false] {
        let escaped = percent_encoded(value, upper);
        if !out.contains(&escaped) {
            out.push(escaped);
        }
    }
    if inner != value && !inner.is_empty() {
        out.insert(0, inner);
    }
    out
}

fn percent_encoded(value: &str, upper: bool) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'~');
    let encoded = |b: u8| match plain(b) {
        true => char::from(b).to_string(),
        false if upper => format!("%{b:02X}"),
        false => format!("%{b:02x}"),
    };
    value.bytes().map(encoded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masker(values: &[&str]) -> Masker {
        Masker::new(values.iter().map(|v| (*v).to_owned()))
    }

    #[test]
    fn known_values_go_wherever_they_stand_the_longer_first() {
        let m = masker(&["s3cret", "s3cret-long"]);
        assert_eq!(m.text("a s3cret-long b=s3cret!"), "a *** b=***!");
        assert!(matches!(m.text("nothing here"), Cow::Borrowed(_)));
    }

    #[test]
    fn forms_are_secret_without_being_known() {
        let m = Masker::default();
        assert_eq!(m.text("get http://me:pw@host/x"), "get http://***@host/x");
        assert_eq!(m.text("http://host:80/a@b"), "http://host:80/a@b");
        assert_eq!(m.text("redis://u:correct@horse@battery@host/0"), "redis://***@host/0");
        assert_eq!(m.text("token hf_abcdefghijklmnopqrst."), "token ***.");
        assert_eq!(m.text("SK=sk-proj-0123456789abcdef, ASIA0123456789ABCDEF"), "SK=***, ***");
        assert_eq!(
            m.text("hf_oauth_eyJhbGciOi.JFUzI1-NiJ9_x hf_jwt_eyJhbGciOiJFUzI1NiJ9 api_org_abcdefghijklmnopqr nvapi-0123456789abcdef_-"),
            "*** *** *** ***"
        );
        let plain = "hf_xet-1.1.5-cp37-abi3-manylinux_2_17 hf_oauth_client api_org_name nvapi-short";
        assert_eq!(m.text(plain), plain);
        assert_eq!(
            m.text("ghp_0123456789abcdefghij ask-for-what-is-risk-free"),
            "*** ask-for-what-is-risk-free"
        );
        assert_eq!(
            m.text("AIzaSyA0123456789abcdefghijklmnopqrstuv xoxb-0123456789-abc hvs.CAESIJabcdefghijklmnop dckr_pat_0123456789abcdefghij"),
            "*** *** *** ***"
        );
        let signature = "0123456789abcdef".repeat(4);
        assert_eq!(
            m.text(&format!("AWS4-HMAC-SHA256 SignedHeaders=host, Signature={signature}")),
            "AWS4-HMAC-SHA256 SignedHeaders=host, Signature=***"
        );
        assert_eq!(
            m.text("curl -s -u me:pass1 http://h; docker run -u 1000:1000 x"),
            "curl -s -u me:*** http://h; docker run -u 1000:1000 x"
        );
        assert_eq!(m.text("Authorization: Bearer abcdefgh123"), "Authorization: Bearer ***");
        assert_eq!(m.text("the bearer of news"), "the bearer of news");
        assert_eq!(m.text("Authorization: Basic YTpi=, x"), "Authorization: Basic ***, x");
        assert_eq!(m.text("{'authorization': 'Basic YTpi'}"), "{'authorization': 'Basic ***'}");
        assert_eq!(m.text("Basic authentication of x"), "Basic authentication of x");
        let signed =
            "GET https://hub/x?X-Amz-Credential=AK%2F1&X-Amz-Date=2026&X-Amz-Signature=0af1 HTTP/1.1";
        let shown = "GET https://hub/x?X-Amz-Credential=***&X-Amz-Date=2026&X-Amz-Signature=*** HTTP/1.1";
        assert_eq!(m.text(signed), shown);
        assert_eq!(m.text("http://h/x?a=1&token=ab&key=c#d"), "http://h/x?a=1&token=***&key=***#d");
        assert_eq!(m.text("http://h/x?tokenizer=ab&monkey=c"), "http://h/x?tokenizer=ab&monkey=c");
    }

    #[test]
    fn json_keeps_its_structure() {
        let m = masker(&["launch", "we\"ird"]);
        let text =
            r#"{"launch":{"cmd":"x launch y","n":1.5},"HF_TOKEN":"ab","v":"we\"ird","max_tokens":"5"}"#;
        let masked = m.json(text.as_bytes()).expect("masked").to_string();
        assert_eq!(
            masked,
            r#"{"launch":{"cmd":"x *** y","n":1.5},"HF_TOKEN":"***","v":"***","max_tokens":"5"}"#
        );
        assert_eq!(m.json(br#"{"output_tokens":17,"key":"a"}"#), None);
    }

    #[test]
    fn what_servers_print_of_their_arguments_and_headers_is_masked_and_prose_is_not() {
        let mask = |text: &str| Masker::default().text(text).into_owned();
        for (text, masked) in [
            (
                "Namespace(api_key=['aBcd1zz'], hf_token='aBcd2zz', n=1)",
                "Namespace(api_key=['***'], hf_token='***', n=1)",
            ),
            ("X-Api-Key: aBcd3zz", "X-Api-Key: ***"),
            ("Cookie: sid=aBcd4zz; a=b", "Cookie: ***"),
            ("Set-Cookie: sid=aBcd4zz; Path=/; HttpOnly", "Set-Cookie: ***"),
            ("{'cookie': 'sid=aBcd4zz; a=b', 'n': 1}", "{'cookie': '***', 'n': 1}"),
            ("MY_COOKIE=sid=aBcd4zz; a=b", "MY_COOKIE=***"),
            (
                "a\n-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG\n-----END PRIVATE KEY-----\nb",
                "a\n-----BEGIN PRIVATE KEY-----\n***\n-----END PRIVATE KEY-----\nb",
            ),
            ("got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJTIn0.aBcdefghij_k now", "got *** now"),
        ] {
            assert_eq!(mask(text), masked);
        }
        for text in [
            "max_tokens=512 token=12 eos_token='</s>' hf_token=None api_key=[None] api_key=[]",
            "Inter-token Latency: 3 ms, cookie: none, x-api-key is missing",
        ] {
            assert_eq!(mask(text), text);
        }
    }

    #[test]
    fn a_key_of_several_lines_goes_line_by_line() {
        let m = masker(&["-----BEGIN-----\nMIIabcdef\nxyzxyz\n"]);
        assert_eq!(m.text("MIIabcdef and xyzxyz"), "*** and ***");
    }
}
