//! The ways in which a known secret may stand in a text: programs quote what they print. Each character that any of them escapes may
//! stand in any of its spellings, so that mixtures are found too: in URLs, JSON, Python's `repr`, words of a shell and HTML. Base64
//! hides the characters themselves, and has forms of its own.

/// In base64 shorter pieces than this could be anything.
const SHORTEST_CODED: usize = 8;

/// What matches a secret in each of its forms. A number is only itself as a whole.
pub(super) fn patterns(value: &str) -> Vec<String> {
    let is_number = value.bytes().all(|b| b.is_ascii_digit());
    let edge = if is_number { r"\b" } else { "" };
    let spelled: String = value.chars().map(spelled).collect();
    let mut all = vec![format!("{edge}{spelled}{edge}")];
    for url_safe in [false, true] {
        all.extend((0..3).filter_map(|before| coded(value.as_bytes(), before, url_safe)));
    }
    all.sort();
    all.dedup();
    all
}

/// One character, as it is or escaped.
fn spelled(c: char) -> String {
    if c.is_ascii_alphanumeric() || matches!(c, '_') {
        return c.to_string();
    }
    let n = u32::from(c);
    let mut utf8 = [0; 4];
    let bytes = c.encode_utf8(&mut utf8).as_bytes();
    let mut units = [0; 2];
    let units = c.encode_utf16(&mut units);
    let mut ways = Vec::new();
    match c {
        // a quoted word of a shell is left and entered again
        '\'' => ways.push(r#"'(?:\\'|"'")'"#.to_owned()),
        ' ' => ways.push(r"\+".to_owned()),
        '\t' => ways.push(r"\\+t".to_owned()),
        '"' => ways.push("&quot;".to_owned()),
        '&' => ways.push("&amp;".to_owned()),
        '<' => ways.push("&lt;".to_owned()),
        '>' => ways.push("&gt;".to_owned()),
        _ => {}
    }
    let coded: Vec<String> = bytes.iter().map(|b| hex(u32::from(*b), 2)).collect();
    ways.push(after_each("%(?:25)*", &coded));
    ways.push(after_each(r"\\+x", &coded));
    let coded: Vec<String> = units.iter().map(|u| hex(u32::from(*u), 4)).collect();
    ways.push(after_each(r"\\+u", &coded));
    ways.push(format!(r"\\+U{}", hex(n, 8)));
    if (0x80..0x100).contains(&n) {
        ways.push(format!(r"\\+x{}", hex(n, 2)));
    }
    ways.push(format!("&#0*(?:{n}|[xX]0*{});", hex(n, 1)));
    if c == '\\' {
        // once more for each time that it was quoted
        ways.push(r"\\+".to_owned());
    } else {
        ways.push(format!(r"\\*{}", regex::escape(&c.to_string())));
    }
    format!("(?:{})", ways.join("|"))
}

fn after_each(prefix: &str, all: &[String]) -> String {
    all.iter().flat_map(|one| [prefix, one]).collect()
}

/// Digits in either case.
fn hex(n: u32, width: usize) -> String {
    let mut out = String::new();
    for c in format!("{n:0width$x}").chars() {
        if c.is_ascii_digit() {
            out.push(c);
        } else {
            out.extend(['[', c, c.to_ascii_uppercase(), ']']);
        }
    }
    out
}

/// What base64 makes of a value behind so many other bytes, where it depends on nothing else. `Basic` logins have a name before it.
fn coded(value: &[u8], before: usize, url_safe: bool) -> Option<String> {
    let padded: Vec<u8> = std::iter::repeat_n(0, before).chain(value.iter().copied()).collect();
    let bits = padded.len() * 8;
    // sextets that hold bits of others are left out, but for what ends a text
    let (first, end) = ((before * 8).div_ceil(6), bits / 6);
    let sextet = |i: usize| {
        let bit = |k: usize| (padded[(6 * i + k) / 8] >> (7 - (6 * i + k) % 8)) & 1;
        (0..6).fold(0, |n, k| n << 1 | bit(k))
    };
    let core: String = (first..end).map(|i| letter(sextet(i), url_safe)).collect();
    let rest = if bits.is_multiple_of(6) { "" } else { "(?:[A-Za-z0-9+/_-]={0,2})?" };
    (core.len() >= SHORTEST_CODED).then(|| regex::escape(&core) + rest)
}

fn letter(sextet: u8, url_safe: bool) -> char {
    char::from(match sextet {
        0..26 => b'A' + sextet,
        26..52 => b'a' + sextet - 26,
        52..62 => b'0' + sextet - 52,
        62 => {
            if url_safe {
                b'-'
            } else {
                b'+'
            }
        }
        _ => {
            if url_safe {
                b'_'
            } else {
                b'/'
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::mask::Masker;

    #[track_caller]
    fn hidden(value: &str, forms: &[&str]) {
        let masker = Masker::new([value.to_owned()]);
        for form in forms {
            assert_eq!(masker.text(&format!("<{form}>")), "<***>", "{value} as {form}");
        }
    }

    #[test]
    fn urls_escape_as_much_as_they_like() {
        let forms = [
            "aws/EE+secret/abc=",
            "aws/EE%2Bsecret/abc%3D",
            "aws%2FEE%2Bsecret%2fabc%3d",
            "aws%252FEE%252Bsecret%252Fabc%253D",
            r"aws\/EE+secret\/abc=",
        ];
        hidden("aws/EE+secret/abc=", &forms);
        hidden("sp ace secret", &["sp+ace+secret", "sp%20ace%20secret", r"sp\ ace\ secret"]);
    }

    #[test]
    fn json_and_python_escape_what_is_no_ascii() {
        hidden(
            "naïve-secret",
            &[
                r"na\u00efve-secret",
                r"na\u00EFve-secret",
                r"na\xefve-secret",
                r"na\xc3\xafve-secret",
                "na&#239;ve-secret",
                "na%C3%AFve-secret",
            ],
        );
        hidden(
            "emoji😀secret",
            &[r"emoji\ud83d\ude00secret", r"emoji\U0001f600secret", "emoji&#128512;secret"],
        );
        hidden(
            r"back\slash-secret",
            &[r"back\slash-secret", r"back\\slash-secret", r"back\\\\slash-secret", "back%5Cslash-secret"],
        );
    }

    #[test]
    fn quotes_are_written_in_many_ways() {
        hidden(
            "both'\"secret",
            &[
                r#"both\'"secret"#,
                r#"both'\"secret"#,
                r#"both'\\\"secret"#,
                r#"both'"'"'"secret"#,
                r#"both'\''"secret"#,
                "both&#39;&quot;secret",
                "both&#x27;&#34;secret",
                r"both\u0027\u0022secret",
            ],
        );
        hidden("amp&<secret>", &["amp&amp;&lt;secret&gt;", r"amp\u0026\u003csecret\u003e"]);
    }

    #[test]
    fn base64_hides_nothing() {
        let masker = Masker::new(["s3cret-value-of-mine".to_owned()]);
        for (coded, shown) in [
            ("czNjcmV0LXZhbHVlLW9mLW1pbmU=", "***"),
            // u:…, us:…, use:…
            ("dTpzM2NyZXQtdmFsdWUtb2YtbWluZQ==", "dTp***"),
            ("dXM6czNjcmV0LXZhbHVlLW9mLW1pbmU=", "dXM6***"),
            ("dXNlOnMzY3JldC12YWx1ZS1vZi1taW5l", "dXNlOn***"),
        ] {
            assert_eq!(masker.text(&format!("Authorization {coded}.")), format!("Authorization {shown}."));
        }
    }

    #[test]
    fn a_number_is_only_itself() {
        let masker = Masker::new(["12345678901".to_owned()]);
        assert_eq!(masker.text("12345678901 123456789012"), "*** 123456789012");
    }
}
