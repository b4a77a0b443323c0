//! What stands under the name of a secret in text of any origin: behind its sign (`token=…`, `'api_key': '…'`, `X-Api-Key: …`) or behind
//! a flag. The text is a server's, so that a name alone proves little: tokens are counted there, and keys are of caches.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::bytes::{Captures, Match, Regex};

use super::mask::MASKED;
use super::names::{counts, hides, is_plain, is_secret, is_telling};

/// The end of a name, the sign behind it, and a value. Names are looked for by their ends, which few texts have.
static ASSIGNED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let name = r"(?-u)(?<name>(?i:token|key(?:[_-]data)?|secret|password|passwd|passphrase|credentials?|cookie|_pwd|auth))";
    let sign = r#"(?<sign>["']? ?=>? ?\[?b?["']?|["']? ?: ?\[?b?["']| ?: ?|[ \t]+["']?)"#;
    Regex::new(&format!(r#"{name}{sign}(?<value>[^\s"',;&(){{}}\[\]\\*?$]+)"#)).ok()
});
/// What stands behind a flag, as in a command or in a list of words.
static BEHIND: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let flag = r"(?-u)(?<flag>--[A-Za-z0-9_.-]*(?i:token|key|secret|password|passwd|passphrase|credential|cookie|auth)s?)";
    Regex::new(&format!(r#"{flag}(?<between>["']?,? +["']?)(?<value>[^\s"'`,;&(){{}}<>\[\]\\*?$-][^\s"'`,;&(){{}}<>\[\]\\*?$]*)"#))
        .ok()
});
/// Letters of a word of prose, as in "give --api-key instead".
const LONGEST_WORD: usize = 11;
/// Letters of a unit, as in `12.5tok/s`.
const LONGEST_UNIT: usize = 6;
/// The shortest value that cannot be told from a word by its length, and can by its digits.
const SHORTEST_MIXED: usize = 8;
/// Ends of names under which nothing else is written.
const CLEAR: [&str; 11] = [
    "KEY_DATA",
    "APIKEY",
    "API_KEY",
    "SECRET_KEY",
    "ACCESS_KEY",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "SECRET",
    "CREDENTIAL",
    "CREDENTIALS",
];
/// Whose tokens are no words of a vocabulary.
const OWNERS: [&str; 9] = ["HF", "HUB", "AUTH", "ACCESS", "REFRESH", "BEARER", "API", "SESSION", "SECRET"];
/// Headers whose value is a secret whatever it looks like.
const HEADERS: [&str; 3] = ["X_API_KEY", "X_AUTH_TOKEN", "PRIVATE_TOKEN"];

/// The text without what stands under names of secrets.
pub(super) fn masked(text: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    behind_flags(under_names(text))
}

/// Whether there is anything of that.
pub(super) fn has_any(text: &[u8]) -> bool {
    let under = |r: &Regex| r.captures_iter(text).any(|found| is_under_its_name(text, &found));
    let behind = |r: &Regex| r.captures_iter(text).any(|found| is_behind(&found));
    ASSIGNED.as_ref().is_none_or(under) || BEHIND.as_ref().is_none_or(behind)
}

fn under_names(text: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    let instead = |found: &Captures<'_>| {
        if is_under_its_name(&text, found) {
            [&found["name"], &found["sign"], MASKED.as_bytes()].concat()
        } else {
            found[0].to_vec()
        }
    };
    replaced(ASSIGNED.as_ref(), &text, instead).unwrap_or(text)
}

fn behind_flags(text: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    let instead = |found: &Captures<'_>| {
        if is_behind(found) {
            [&found["flag"], &found["between"], MASKED.as_bytes()].concat()
        } else {
            found[0].to_vec()
        }
    };
    replaced(BEHIND.as_ref(), &text, instead).unwrap_or(text)
}

/// `None` where nothing is replaced.
fn replaced<'b>(
    regex: Option<&Regex>,
    text: &[u8],
    instead: impl Fn(&Captures<'_>) -> Vec<u8>,
) -> Option<Cow<'b, [u8]>> {
    let out = regex.filter(|r| r.is_match(text))?.replace_all(text, instead);
    (*out != *text).then(|| Cow::Owned(out.into_owned()))
}

fn is_behind(found: &Captures<'_>) -> bool {
    let text = |name: &str| String::from_utf8_lossy(&found[name]).into_owned();
    let (flag, value) = (text("flag"), text("value"));
    let bare = value.trim_end_matches(['.', ':', '|']);
    // a usage says `--api-key API_KEY`
    let place = flag.trim_start_matches('-').replace('-', "_").to_uppercase();
    let prose = bare.len() <= LONGEST_WORD && bare.bytes().all(|b| b.is_ascii_lowercase());
    // a heading in a line of dashes: `----Inter-token Latency----`
    let ruled = flag.starts_with("---");
    !prose && !ruled && !place.ends_with(bare) && hides(&flag, bare)
}

fn is_under_its_name(text: &[u8], found: &Captures<'_>) -> bool {
    let Some(end) = found.name("name") else { return false };
    let name = whole_name(text, &end);
    let value = String::from_utf8_lossy(&found["value"]);
    let sign = match &found["sign"] {
        sign if sign.contains(&b'=') => Sign::Equals,
        sign if !sign.contains(&b':') => Sign::Blank,
        sign if sign.ends_with(b"\"") || sign.ends_with(b"'") => Sign::Quoted,
        _ => Sign::Colon,
    };
    !is_plain(&value) && tells(&name, sign, &value)
}

/// The whole of a name that ends there.
fn whole_name(text: &[u8], end: &Match<'_>) -> String {
    let in_name = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
    let before = text[..end.start()].iter().rev().take_while(|b| in_name(b)).count();
    String::from_utf8_lossy(&text[end.start() - before..end.end()]).trim_start_matches('-').to_owned()
}

/// What stands between a name and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// `name=`, `name = "`, `'name' => '`
    Equals,
    /// `'name': '`, `name: "`
    Quoted,
    /// `name `, as in a `.netrc` and in most prose
    Blank,
    /// `name: `, as in a header and in prose
    Colon,
}

fn tells(name: &str, sign: Sign, value: &str) -> bool {
    let upper = name.to_uppercase().replace(['-', '.'], "_");
    if HEADERS.iter().any(|header| upper.ends_with(header)) && sign == Sign::Colon {
        return true;
    }
    if matches!(sign, Sign::Colon | Sign::Blank) && !is_mixed(value) {
        return false;
    }
    if sign == Sign::Blank {
        return CLEAR.iter().any(|end| upper.ends_with(end));
    }
    let owner = upper.strip_suffix("_TOKEN").map(|rest| rest.rsplit('_').next().unwrap_or_default());
    if CLEAR.iter().any(|end| upper.ends_with(end)) || owner.is_some_and(|owner| OWNERS.contains(&owner)) {
        return true;
    }
    // a word of a vocabulary, a measurement
    if !is_secret(name) || counts(name) || value.starts_with(['<', '|']) || is_measured(value) {
        return false;
    }
    let is_variable = sign == Sign::Equals && upper == name.replace(['-', '.'], "_");
    match upper.as_str() {
        "TOKEN" | "COOKIE" if sign == Sign::Equals => is_telling(value),
        _ if is_variable => is_telling(value),
        _ => {
            owner.is_some_and(|_| is_mixed(value))
                || ["TOKEN", "COOKIE", "AUTH"].contains(&&*upper) && is_mixed(value)
        }
    }
}

/// Whether a value has letters and digits, as words have not.
fn is_mixed(value: &str) -> bool {
    let has = |of: fn(&u8) -> bool| value.bytes().any(|b| of(&b));
    value.len() >= SHORTEST_MIXED
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && !is_measured(value)
}

/// A number with a unit behind it, or none.
fn is_measured(value: &str) -> bool {
    let unit = value.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let of_unit = |c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '%');
    unit.len() < value.len() && unit.len() <= LONGEST_UNIT && !unit.is_empty() && unit.chars().all(of_unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(text: &str) -> String {
        String::from_utf8_lossy(&masked(Cow::Borrowed(text.as_bytes()))).into_owned()
    }

    #[test]
    fn what_stands_behind_the_flag_of_a_secret_is_one() {
        for (said, shown) in [
            ("--ssl-keyfile-password KeyFilePw99 --n 3", "--ssl-keyfile-password *** --n 3"),
            ("['--api-key', 'abc1', '--hf-token', \"x-Y\"]", "['--api-key', '***', '--hf-token', \"***\"]"),
            ("--client-secret 123456", "--client-secret ***"),
            ("vllm serve m --hf-token hf_x", "vllm serve m --hf-token ***"),
            ("--auth aBcd1234 --auth basic", "--auth *** --auth basic"),
        ] {
            assert_eq!(mask(said), shown);
        }
        for plain in [
            "--ssl-keyfile /etc/key.pem --tokenizer Org/Name",
            "--api-key --port 1",
            "usage: x [--api-key API_KEY] [--admin-api-key KEY]",
            "give --api-key instead, or --hf-token.",
            "---------------Inter-token Latency----------------",
            "---Token Throughput---\n------ Secret Key Handling",
            "tokens: 12, token latency, total tokens 127698, max tokens 512, --max-tokens 512, 8 key value heads",
            "--api-key \"$KEY\" --hf-token EMPTY --eos-token 2 --num-key 3",
        ] {
            assert_eq!(mask(plain), plain);
        }
    }

    #[test]
    fn what_stands_behind_a_name_and_its_sign_is_masked() {
        for (text, shown) in [
            ("token=hunter2hunter2 n=1", "token=*** n=1"),
            ("GET /v1?a=1 token=supersecret", "GET /v1?a=1 token=***"),
            ("--token=aB3dE", "--token=***"),
            ("api_key=x1 password=ab, passwd='q'", "api_key=*** password=***, passwd='***'"),
            ("my.api-key=\"x1\" secret=zz", "my.api-key=\"***\" secret=***"),
            ("{'token': 'abcd1234'}", "{'token': '***'}"),
            ("{\"session_token\": \"abc\"}", "{\"session_token\": \"***\"}"),
            ("AWS_SECRET_ACCESS_KEY=abc/def+1", "AWS_SECRET_ACCESS_KEY=***"),
            ("MY_TOKEN=abcdef SIGNING_KEY=abcdef", "MY_TOKEN=*** SIGNING_KEY=***"),
            ("github_token=abcd1234efgh", "github_token=***"),
            ("COOKIE=abcdef session_cookie=abcd1234", "COOKIE=*** session_cookie=abcd1234"),
            ("password: aBcd1234", "password: ***"),
            ("X-Api-Key: abc", "X-Api-Key: ***"),
            ("aws_secret_access_key = abc/def+1", "aws_secret_access_key = ***"),
            ("access_token: \"xYzw\"  password : 'x'", "access_token: \"***\"  password : '***'"),
            ("api_key = 'x1' \"api_key\" => \"x1\"", "api_key = '***' \"api_key\" => \"***\""),
            ("auth: aBcd1234 \"auth\":\"aBcd1234\"", "auth: *** \"auth\":\"***\""),
            ("machine h login me password aBcd1234", "machine h login me password ***"),
            ("client-key-data: LS0tLS1CRUdJTiBF", "client-key-data: ***"),
        ] {
            assert_eq!(mask(text), shown);
            assert!(has_any(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn what_only_sounds_so_stays() {
        for text in [
            "max_tokens=512 num_tokens=8 tokenizer=Org/Name-7B tokenizer_mode=auto token=12 tokens=abcdef12",
            "eos_token=<|im_end|> pad_token='<pad>' mask_token=MASKED_1 token=None token=</s>",
            "time_to_first_token=123.45ms per_token=0.0123s token=12.5tok/s",
            "cache_key=ab12cd34ef sort_key=abcdef key=abcdef12 monkey=abcdef12 no_auth=abcdef12",
            "#new-token: 512, #cached-token: 0, token usage: 0.5, Inter-token Latency: 3 ms",
            "{\"token\": \"Hello\", \"logprob\": -0.1}",
            "password: incorrect; secret: none; api_key=None",
            "token: generated, key: value",
            "token = <pad> key = value auth = basic, auth: none, no_auth = abcdef12, cache_key = \"ab12cd34\"",
            "the api_key given is wrong; a password is wanted; secret santa; key data: ab12cd34",
        ] {
            assert_eq!(mask(text), text);
            assert!(!has_any(text.as_bytes()), "{text}");
        }
    }
}
