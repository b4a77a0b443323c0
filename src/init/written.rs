//! What a command writes that does nothing else: `echo '{"a": 1}'`, `printf '%s' …`. All others would have to run.

use super::shell;
use super::vars::{Vars, Word};

/// The output of such a command, with variables as they are; `None` where it cannot be known here.
pub fn by(command: &str, vars: &Vars) -> Option<String> {
    let mut inside = Vars::with(vars);
    let all = shell::commands(command, &mut inside).ok()?;
    let [only] = all.as_slice() else { return None };
    let alone = only.set.is_empty() && only.text.is_none() && only.writes.is_none();
    let (program, rest) = only.words.split_first().filter(|_| alone)?;
    if only.words.iter().any(|w| w.missing.is_some()) {
        return None;
    }
    match program.text.as_str() {
        "echo" => echoed(rest),
        "printf" => printed(rest),
        _ => None,
    }
}

fn echoed(words: &[Word]) -> Option<String> {
    let words = words.strip_prefix(&[Word::plain("-n")]).unwrap_or(words);
    // `-e` gives backslashes a meaning
    let plain = words.first().is_none_or(|w| !w.text.starts_with('-'));
    plain.then(|| words.iter().map(|w| w.text.as_str()).collect::<Vec<_>>().join(" "))
}

fn printed(words: &[Word]) -> Option<String> {
    match words {
        [text] if !text.text.contains(['%', '\\']) => Some(text.text.clone()),
        [form, text] if form.text.trim_end_matches("\\n") == "%s" => Some(text.text.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_known_where_nothing_runs() {
        let mut vars = Vars::default();
        vars.set("N", Word::plain("3"));
        let cases = [
            ("echo '{\"a\": 1}'", Some("{\"a\": 1}")),
            ("echo -n a b", Some("a b")),
            ("echo \"n: $N\"", Some("n: 3")),
            ("printf '%s\\n' 'a: 1'", Some("a: 1")),
            ("printf 'a: 1'", Some("a: 1")),
            ("printf 'a\\nb'", None),
            ("echo -e 'a\\nb'", None),
            ("echo $UNSET", None),
            ("cat x", None),
            ("echo a | tr a b", None),
            ("echo a > x", None),
        ];
        for (command, expected) in cases {
            assert_eq!(by(command, &vars).as_deref(), expected, "{command}");
        }
    }
}
