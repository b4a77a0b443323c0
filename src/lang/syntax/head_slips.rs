//! Slips in the first line of a block that have one remedy: a sign before its `{`, what it derives from behind another sign or word, a title
//! of several words without its quotes.

use std::ops::Range;

use super::at::mend;
use super::blocks::first_word;
use super::conditions;
use super::hints::Hint;

/// The remedy for a token (of the chunk, a place in it) in the first line of a block.
pub fn slip(chunk: &str, token: &Range<usize>, word: &str) -> Option<Hint> {
    let keyword = first_word(chunk);
    let first = chunk.split('\n').next()?;
    let known = matches!(keyword, "engine" | "profile" | "study" | "site" | "step" | "track");
    if !known || token.end > first.len() {
        return None;
    }
    let before = chunk[..token.start].trim_end();
    let s = Slip { keyword, first, token, word, before };
    s.before_brace()
        .or_else(|| s.in_brackets())
        .or_else(|| s.derived())
        .or_else(|| s.emptied())
        .or_else(|| s.of_library())
        .or_else(|| s.braced_title())
        .or_else(|| s.sign_in_step())
        .or_else(|| s.word_in_step())
        .or_else(|| s.start_behind_condition())
        .or_else(|| s.title_behind_condition())
        .or_else(|| s.compared())
        .or_else(|| s.title())
}

struct Slip<'a> {
    keyword: &'a str,
    /// the line
    first: &'a str,
    token: &'a Range<usize>,
    word: &'a str,
    /// what stands before the token, without spaces at its end
    before: &'a str,
}

fn is_name(word: &str) -> bool {
    let snake = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(snake)
}

/// Words of which none stands in a title that somebody left without its quotes.
const OTHERS: [&str; 9] = ["from", "when", "extends", "after", "if", "vary", "is", "with", "on"];

impl Slip<'_> {
    /// From the token to the end of the line.
    fn rest(&self) -> &str {
        &self.first[self.token.start..]
    }

    fn derives(&self) -> bool {
        matches!(self.keyword, "engine" | "profile") && !self.before.contains('=')
    }

    /// `engine v = vllm: {`, `step a "A" => {`, `study s, {`, `step a "A" = {`
    fn before_brace(&self) -> Option<Hint> {
        let sign = self.rest().split(['{', '"']).next()?.trim_end();
        let other = matches!(sign, ":" | "," | ";" | "=>" | "->" | ":=" | "do" | "then" | "begin")
            || matches!(sign, "with" | "where" | "as" | "is" | "has" | "having" | "using");
        // an engine may lack what stands behind it
        let equals = sign == "=" && matches!(self.keyword, "study" | "site" | "step" | "track");
        let behind = self.rest()[sign.len()..].trim_start();
        let named = self.before.len() > self.keyword.len();
        (named && (other || equals) && behind.starts_with(['{', '"'])).then(|| {
            let at = self.before.len()..self.token.start + sign.len();
            let what = if behind.starts_with('{') { "the `{`" } else { "the title" };
            mend(format!("nothing stands before {what}: remove the `{sign}`"), at, "")
        })
    }

    /// `engine v(vllm) {`, `study(lab) {`
    fn in_brackets(&self) -> Option<Hint> {
        let (inner, behind) = self.rest().strip_prefix('(')?.split_once(')')?;
        let inner = inner.trim();
        let ends = behind.trim_start().starts_with(['{', '"']);
        let glued = self.before.len()..self.token.start + self.rest().len() - behind.len();
        if self.before == self.keyword && is_name(inner) && ends {
            return Some(mend(
                format!("a name stands without brackets: write `{} {inner}`", self.keyword),
                glued,
                format!(" {inner}"),
            ));
        }
        if inner.is_empty() && ends {
            return Some(mend("nothing is called here: remove the `()`", glued, ""));
        }
        (self.derives() && is_name(inner) && ends && self.before.len() > self.keyword.len()).then(|| {
            let right = format!(" = {inner}");
            mend(
                format!("what it derives from stands behind `=`: write `{}{right}`", self.before),
                glued,
                right,
            )
        })
    }

    /// `engine v "V" := vllm {`, `engine v -> vllm {`
    fn derived(&self) -> Option<Hint> {
        let sign = ["->", "=>", ":=", "<-", "::", "<:", "<", "~"]
            .into_iter()
            .find(|s| self.rest().starts_with(s))?;
        let base = self.rest()[sign.len()..].trim_start();
        let name = first_word(base);
        let fits = self.derives() && is_name(name) && base[name.len()..].trim_start().starts_with('{');
        fits.then(|| {
            let at = self.before.len()..self.token.start + self.rest().len() - base.len();
            mend("what it derives from stands behind `=`", at, " = ")
        })
    }

    /// `engine v = vllm = {`
    fn emptied(&self) -> Option<Hint> {
        let behind = self.rest().strip_prefix('=')?.trim_start();
        let again = matches!(self.keyword, "engine" | "profile") && self.before.contains('=');
        let named = !self.before.ends_with('=');
        (again && named && behind.starts_with('{'))
            .then(|| mend("write one `=`", self.before.len()..self.token.end, ""))
    }

    /// `engine v = std/engines/vllm {`
    fn of_library(&self) -> Option<Hint> {
        let start = self.before.rfind([' ', '=']).map_or(0, |n| n + 1);
        let path = self.first.get(start..)?.split([' ', '{']).next()?;
        let name = path.rsplit(['/', '.']).next().filter(|n| is_name(n))?;
        let library = path.starts_with("std/") || path.starts_with("std.");
        (library && matches!(self.keyword, "engine" | "profile")).then(|| {
            let help = format!("a file names what it takes in a `use`, and calls it `{name}`");
            mend(help, start..start + path.len(), name)
        })
    }

    /// `step b from: a {`, `step b from = a {`, `step b when: x > 1 {`
    fn sign_in_step(&self) -> Option<Hint> {
        let behind = self.before.ends_with(" from") || self.before.ends_with(" when");
        (self.keyword == "step" && behind && matches!(self.word, ":" | "=")).then(|| {
            mend(
                format!("no sign stands here: remove the `{}`", self.word),
                self.before.len()..self.token.end,
                "",
            )
        })
    }

    /// `study s {name} {`
    fn braced_title(&self) -> Option<Hint> {
        let start = self.before.rfind('{').filter(|_| self.word == "{" && self.before.ends_with('}'))?;
        let plain = self.before[..start].split_whitespace().count() == 2;
        plain.then(|| {
            let right = format!("\"{}\"", &self.before[start..]);
            mend(format!("a title is a text: write {right}"), start..self.before.len(), right)
        })
    }

    /// `step b "B" = a {`, `step b "B" a {`, `step b "B" p50(tpot) > 15ms {`
    fn word_in_step(&self) -> Option<Hint> {
        if self.keyword != "step" {
            return None;
        }
        let head = self.rest().split('{').next()?.trim_end();
        if let Some(hint) = self.word_for_when(head) {
            return Some(hint);
        }
        if !self.before.ends_with('"') {
            return None;
        }
        let from = "a step starts from what stands behind `from`";
        if self.stands_for_from(head) {
            return Some(mend(from, self.token.clone(), "from"));
        }
        if let Some(base) = head.strip_prefix('=').map(str::trim) {
            return is_name(base).then(|| mend(from, self.token.clone(), "from"));
        }
        let at = self.token.start..self.token.start;
        // `fromone`
        if let Some(base) = head.strip_prefix("from").filter(|b| b.len() > 1 && is_name(b)) {
            let behind = self.token.start + "from".len();
            let help = format!("a space stands behind `from`: write `from {base}`");
            return Some(mend(help, behind..behind, " "));
        }
        if is_name(head) && self.rest().len() > head.len() {
            return Some(mend(format!("{from}: write `from {head}`"), at, "from "));
        }
        let compares = head.contains([' ', ')']) && head.contains(['<', '>']) && is_name(first_word(head));
        let word =
            matches!(first_word(head), "if" | "unless" | "where" | "only_if" | "while" | "from" | "when");
        (compares && !word).then(|| mend("a condition stands behind `when`", at, "when "))
    }

    /// `step b "B" once p50(tpot) > 15ms {`
    fn word_for_when(&self, head: &str) -> Option<Hint> {
        let titled = self.before.ends_with('"');
        let named = self.before.split_whitespace().count() == 2;
        let len = conditions::words_before(head);
        let other = matches!(first_word(head), "if" | "unless" | "where" | "only_if" | "while" | "from");
        let compares = head.contains(['<', '>']) || head.contains("==") || head.contains("!=");
        // one word before another may be a step's name behind another word for `from`
        let started = head.contains(" when ") || head.contains(" from ");
        (len > 0 && (titled || named) && compares && !other && !started).then(|| {
            let at = self.token.start..self.token.start + len;
            mend("a condition stands behind `when`", at, "when")
        })
    }

    /// `step b "B" after a when p50(tpot) > 15ms {`
    fn stands_for_from(&self, head: &str) -> bool {
        let word = first_word(head);
        let rest = head[word.len()..].trim_start();
        let name = first_word(rest);
        let behind = rest[name.len()..].trim_start();
        let other = matches!(word, "from" | "when" | "if" | "unless" | "where" | "only_if" | "while" | "not");
        let ends = behind.is_empty() && self.rest().len() > head.len() || behind.starts_with("when ");
        is_name(word) && is_name(name) && !matches!(name, "when" | "from") && !other && ends
    }

    /// `step b when p50(tpot) > 15ms from a {`
    fn start_behind_condition(&self) -> Option<Hint> {
        let when = self.before.rfind(" when ")? + 1;
        let base =
            first_word(self.rest().strip_prefix("from ").filter(|_| self.keyword == "step")?.trim_start());
        let end = self.rest().find(base)? + base.len();
        let ends = self.rest()[end..].trim_start().starts_with(['{']);
        let right = format!("from {base} {}", &self.before[when..]);
        let help = format!("`from` stands before `when`: write `{}{right} {{`", &self.before[..when]);
        let known = !self.before.contains(" from ");
        (is_name(base) && ends && known).then(|| mend(help, when..self.token.start + end, right))
    }

    /// `step b when p50(tpot) > 15ms "B" {`, `step b from a "B" {`
    fn title_behind_condition(&self) -> Option<Hint> {
        let ends = self.first.get(self.token.end..)?.trim_start().starts_with('{');
        let step = self.keyword == "step" && self.word.starts_with('"') && ends;
        let start = [" from ", " when "].iter().filter_map(|w| self.before.find(w)).min().filter(|_| step)?;
        let own = self.before[..start].split_whitespace().count() == 2;
        // what is compared with the text lacks its sign only
        let last = self.before[start..].rsplit(" and ").next()?.rsplit(" or ").next()?;
        let whole = !self.before[start..].contains(" when ")
            || ["<", ">", "==", "!=", " given ", " divides "].iter().any(|sign| last.contains(sign));
        let behind = self.before[start + 1..].to_owned();
        let help = format!(
            "a title stands behind the name: write `{} {} {behind} {{`",
            &self.before[..start],
            self.word
        );
        (own && whole).then(|| mend(help, start + 1..self.token.end, format!("{} {behind}", self.word)))
    }

    /// `step a when p50(tpot) 15ms {`
    fn compared(&self) -> Option<Hint> {
        let number = self.word.starts_with(|c: char| c.is_ascii_digit());
        let condition = self.keyword == "step" && self.before.contains(" when ");
        let operand = self.before.ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, ')' | '_'));
        (condition && number && operand && !self.before.ends_with(" when")).then(|| Hint {
            help: format!("how the two compare is not said: write `> {0}` or `< {0}`", self.word),
            edit: None,
        })
    }

    /// `profile p Prompts from a file {`: of a title that begins with a capital letter only a step goes on behind such a word, and what else
    /// derives from something does so behind its last one.
    fn reads_on(&self, title: &str) -> bool {
        let derives = matches!(self.keyword, "engine" | "profile");
        let last = title.split_whitespace().rev().nth(1).is_some_and(|w| OTHERS.contains(&w));
        self.keyword != "step" && title.starts_with(|c: char| c.is_uppercase()) && !(derives && last)
    }

    /// `engine v My vLLM = vllm {`, `study lab Which {n} {`
    fn title(&self) -> Option<Hint> {
        let named = self.before.split_whitespace().count() == 2;
        let brace = self.first.rfind('{').filter(|b| *b > self.token.start)?;
        let mut title = self.first[self.token.start..brace].trim_end();
        if matches!(self.keyword, "engine" | "profile")
            && let Some((text, base)) = title.rsplit_once(" = ")
        {
            if !is_name(base.trim()) {
                return None;
            }
            title = text.trim_end();
        }
        let words = title.split_whitespace().count();
        let plain = |c: char| c.is_alphanumeric() || " _-.,!?'/&+{}".contains(c);
        let apart = title.split_whitespace().any(|w| OTHERS.contains(&w)) && !self.reads_on(title);
        let begins =
            title.starts_with(|c: char| c.is_uppercase() || c == '{') || words > 1 && self.keyword != "step";
        let several = words > 1 || title.contains(['{', '?', '!']);
        if !named || !several || !begins || apart || !title.chars().all(plain) || title.contains("vary ") {
            return None;
        }
        let right = format!("\"{title}\"");
        let at = self.token.start..self.token.start + title.len();
        Some(mend(format!("a title is a text: write {right}"), at, right))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(chunk: &str, word: &str) -> Option<String> {
        let at = chunk.rfind(word).expect("in the chunk");
        let word = word.split(' ').next().unwrap_or(word);
        let (range, text) = slip(chunk, &(at..at + word.len()), word)?.edit?;
        Some(format!("{}{text}{}", &chunk[..range.start], &chunk[range.end..]))
    }

    #[test]
    fn first_lines_are_mended() {
        for (chunk, word, right) in [
            ("engine v \"V\" = vllm: {", ":", "engine v \"V\" = vllm {"),
            ("profile p: {", ":", "profile p {"),
            ("step a \"A\" => { vary x }", "=>", "step a \"A\" { vary x }"),
            ("step a \"A\" = { vary x }", "=", "step a \"A\" { vary x }"),
            ("study s, \"S\" {", ",", "study s \"S\" {"),
            ("engine v(vllm) {", "(", "engine v = vllm {"),
            ("engine v = vllm() {", "(", "engine v = vllm {"),
            ("study(lab) {", "(", "study lab {"),
            ("engine v \"V\" := vllm {", ":", "engine v \"V\" = vllm {"),
            ("engine v -> vllm {", "-", "engine v = vllm {"),
            ("engine v = vllm = {", "= {", "engine v = vllm {"),
            ("engine v = std/engines/vllm {", "/engines/vllm", "engine v = vllm {"),
            ("step b from: a { vary x }", ":", "step b from a { vary x }"),
            ("study lab {n} {", "{", "study lab \"{n}\" {"),
            ("step b \"B\" = a { vary x }", "=", "step b \"B\" from a { vary x }"),
            (
                "step b when p50(tpot) > 5ms from a { vary x }",
                "from",
                "step b from a when p50(tpot) > 5ms { vary x }",
            ),
            (
                "step b when p50(tpot) > 5ms \"B\" { vary x }",
                "\"B\"",
                "step b \"B\" when p50(tpot) > 5ms { vary x }",
            ),
            ("step b from a \"B\" { vary x }", "\"B\"", "step b \"B\" from a { vary x }"),
            ("step b \"B\" a { vary x }", "a {", "step b \"B\" from a { vary x }"),
            ("step b \"B\" p50(tpot) > 5ms {", "p50", "step b \"B\" when p50(tpot) > 5ms {"),
            ("engine v My vLLM = vllm {", "My", "engine v \"My vLLM\" = vllm {"),
            ("study lab Which {n} {", "Which", "study lab \"Which {n}\" {"),
            ("track v Tuning vLLM {", "Tuning", "track v \"Tuning vLLM\" {"),
            ("profile p Prompts from a file {", "Prompts", "profile p \"Prompts from a file\" {"),
        ] {
            let found = mended(chunk, word);
            assert_eq!(found.as_deref(), Some(right), "{chunk}");
        }
        for (chunk, word) in [
            ("engine v Mine from vllm {", "Mine"),
            ("engine v = {", "="),
            ("step two Two from one {", "Two"),
            ("step b after a {", "after"),
        ] {
            assert_eq!(mended(chunk, word), None, "{chunk}");
        }
    }
}
