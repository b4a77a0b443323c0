//! Variables of a server in a condition, asked for as other languages do.

use super::at::{At, mend, only};
use super::hints::{Hint, is_condition};
use super::signs::upper;

/// The remedy for a token that is such a variable.
pub fn asked(at: &At<'_>) -> Option<Hint> {
    at.variable_behind_a_sign().or_else(|| at.variable_of_a_server())
}

impl At<'_> {
    /// `when VLLM_USE_V1 == "1"`
    fn variable_of_a_server(&self) -> Option<Hint> {
        let compared = self.after.trim_start();
        let compared = compared.strip_prefix("==").or_else(|| compared.strip_prefix("!="))?.trim_start();
        let named = upper(self.word) && self.word.contains('_') && self.is("an expression");
        if !named {
            return None;
        }
        let help = format!("a variable of the server is asked for by `env {}`", self.word);
        // a number may be what a param in lower case is compared with
        if compared.starts_with(|c: char| c.is_ascii_digit()) {
            return Some(only(format!("{help}, a param by its name in lower case")));
        }
        compared.starts_with('"').then(|| self.here(help, &format!("env {}", self.word)))
    }

    /// `env.NAME`, `env["NAME"]`, `env("NAME")`
    fn variable_behind_a_sign(&self) -> Option<Hint> {
        // the point was read as the one between an engine and a metric
        if let Some(start) = self.before.strip_suffix("env.").filter(|_| upper(self.word)) {
            let help = format!("a variable stands behind a space: write `env {}`", self.word);
            let place = self.before.len() - 1..self.token.start;
            return start.ends_with([' ', '(']).then(|| mend(help, place, " "));
        }
        let rest = &self.chunk[self.token.start..];
        let start = self.before.strip_suffix("env")?;
        let inner = rest.strip_prefix(['.', '[', '('])?.trim_start_matches('"');
        let end = inner.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(inner.len());
        let name = &inner[..end];
        let behind = &inner[name.len()..];
        let behind = if rest.starts_with('.') {
            behind
        } else {
            behind.trim_start_matches('"').trim_start_matches([']', ')'])
        };
        let glued = start.ends_with([' ', '(']) && self.before.len() == self.token.start;
        (glued && upper(name) && is_condition(self.chunk)).then(|| {
            let at = self.token.start..self.chunk.len() - behind.len();
            mend(format!("a variable stands behind a space: write `env {name}`"), at, format!(" {name}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(chunk: &str, word: &str) -> Option<String> {
        let at = chunk.rfind(word).expect("in the chunk");
        let token = at..at + word.len();
        let (range, text) = asked(&At::new(chunk, &token, word, &["an expression".to_owned()]))?.edit?;
        Some(format!("{}{text}{}", &chunk[..range.start], &chunk[range.end..]))
    }

    #[test]
    fn a_variable_is_asked_for_by_its_word() {
        for (chunk, word) in [
            ("require env.A_B == \"1\"", ".A_B"),
            ("require env[\"A_B\"] == \"1\"", "["),
            ("require env(A_B) == \"1\"", "("),
            ("require A_B == \"1\"", "A_B"),
        ] {
            assert_eq!(mended(chunk, word).as_deref(), Some("require env A_B == \"1\""), "{chunk}");
        }
        for (chunk, word) in
            [("require A_B == 1", "A_B"), ("require A_B > 1", "A_B"), ("require AB == \"1\"", "AB")]
        {
            assert_eq!(mended(chunk, word), None, "{chunk}");
        }
    }
}
