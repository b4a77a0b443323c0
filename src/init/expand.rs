//! What a shell inserts for `$`: variables, elements of arrays, defaults, and marks for what only a running shell knows.

use super::arithmetic;
use super::error::InitError;
use super::programs::base_name;
use super::shell::Reader;
use super::vars::Word;

/// Every place of a value is tried against a pattern.
const LONGEST_CUT: usize = 4096;

/// `${NAME…}` in its parts.
struct Parameter<'a> {
    name: &'a str,
    /// what stands in `[ ]`
    index: Option<&'a str>,
    /// what is done to the value: `:-2`, `##*/`
    operation: &'a str,
}

impl Reader<'_, '_> {
    pub(super) fn dollar(&mut self, in_quotes: bool) -> Result<(), InitError> {
        match self.chars.peek().copied() {
            Some('(') => {
                self.chars.next();
                self.substitution()
            }
            Some('{') => {
                self.chars.next();
                let Some(inside) = self.until_closed('{', '}') else {
                    return Err(InitError::Shell("a ${ is never closed".to_owned()));
                };
                self.parameter(&inside, in_quotes)
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let more = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
                let name: String = std::iter::from_fn(|| self.chars.next_if(more)).collect();
                let value = self.value(&name);
                self.insert(&name, value, in_quotes)
            }
            // what a script was given
            Some(c) if c.is_ascii_digit() || matches!(c, '@' | '*' | '#') => {
                self.chars.next();
                let name = c.to_string();
                let value = self.value(&name);
                self.insert(&name, value, in_quotes)
            }
            // `$'…'` and `$"…"` are quotes of their own kind
            Some('\'' | '"') if !in_quotes => Ok(()),
            _ => {
                self.push('$');
                Ok(())
            }
        }
    }

    /// A variable's value, or a mark that nothing sets it.
    fn value(&self, name: &str) -> Word {
        let open = || Word { text: String::new(), missing: Some(name.to_owned()) };
        self.vars.get(name).cloned().unwrap_or_else(open)
    }

    /// `${ }`
    fn parameter(&mut self, inside: &str, in_quotes: bool) -> Result<(), InitError> {
        let Some(Parameter { name, index, operation }) = taken_apart(inside) else {
            self.unread(inside);
            return Ok(());
        };
        if let Some(name) = name.strip_prefix('#') {
            self.count(name, index, inside);
            return Ok(());
        }
        if let Some(index @ ("@" | "*")) = index {
            return self.whole_array(name, index, operation, inside, in_quotes);
        }
        let known = match index.map(str::parse::<usize>) {
            None => self.vars.get(name).cloned(),
            Some(Ok(at)) => self.vars.elements(name).map(|all| all.get(at).cloned().unwrap_or_default()),
            Some(Err(_)) => {
                self.unread(inside);
                return Ok(());
            }
        };
        self.vars.inserted.push(name.to_owned());
        let operator = operation.strip_prefix(':').unwrap_or(operation);
        let filled = known.clone().filter(|v| !v.text.is_empty() || v.missing.is_some());
        let value = match operator.chars().next() {
            None if operation.is_empty() => known.unwrap_or_else(|| open_variable(name, index)),
            Some(sign @ ('-' | '=')) => match filled {
                Some(value) => value,
                None => self.otherwise(name, &operator[1..], sign == '=')?,
            },
            Some('+') if known.is_some() => self.inner(&operator[1..])?,
            Some('+') => {
                self.vars.assumed.push((name.to_owned(), String::new()));
                Word::default()
            }
            Some('?') => known.unwrap_or_else(|| open_variable(name, index)),
            Some('#' | '%') => match known.as_ref().map(|v| (v, cut(&v.text, operation))) {
                Some((v, Some(text))) => Word { text, missing: v.missing.clone() },
                None => open_variable(name, index),
                Some((_, None)) => {
                    self.unread(inside);
                    return Ok(());
                }
            },
            _ => {
                self.unread(inside);
                return Ok(());
            }
        };
        self.insert(name, value, in_quotes)
    }

    /// The value that the text gives for where the variable is unset.
    fn otherwise(&mut self, name: &str, text: &str, keeps: bool) -> Result<Word, InitError> {
        let value = self.inner(text)?;
        if value.missing.is_none() {
            self.vars.assumed.push((name.to_owned(), value.text.clone()));
        }
        if keeps {
            self.vars.set(name, value.clone());
        }
        Ok(value)
    }

    /// `${#NAME}`, `${#ARGS[@]}`
    fn count(&mut self, name: &str, index: Option<&str>, inside: &str) {
        let count = match index {
            Some("@" | "*") => self.vars.elements(name).map(|all| all.len()),
            None => self.vars.get(name).filter(|v| v.missing.is_none()).map(|v| v.text.chars().count()),
            Some(_) => None,
        };
        match count {
            Some(count) => self.word.get_or_insert_default().text.push_str(&count.to_string()),
            None => self.unread(inside),
        }
    }

    /// `"${ARGS[@]}"`: a word for each element; `"${ARGS[*]}"` one for all.
    fn whole_array(
        &mut self,
        name: &str,
        index: &str,
        operation: &str,
        inside: &str,
        in_quotes: bool,
    ) -> Result<(), InitError> {
        self.vars.inserted.push(name.to_owned());
        let rest = operation.strip_prefix(':').unwrap_or(operation);
        let same = format!("${{{name}[{index}]}}");
        let elements = match (self.vars.elements(name), rest.chars().next()) {
            (Some(all), None) => all,
            // `${ARGS[@]+"${ARGS[@]}"}` is how old shells are kept from taking an empty array for an unset one
            (Some(all), Some('+')) if rest[1..].trim_matches('"') == same => all,
            (Some(all), Some('-')) if !all.is_empty() => all,
            (None, Some('+')) => {
                self.vars.assumed.push((name.to_owned(), String::new()));
                return Ok(());
            }
            (_, Some('-')) => {
                let value = self.otherwise(name, &rest[1..], false)?;
                return self.insert(name, value, in_quotes);
            }
            (None, None) => {
                let word = open_variable(name, Some(index));
                return self.insert(name, word, in_quotes);
            }
            _ => {
                self.unread(inside);
                return Ok(());
            }
        };
        if elements.is_empty() {
            self.vanishes = in_quotes;
        }
        let joined = in_quotes && index == "*";
        for (i, element) in elements.into_iter().enumerate() {
            if i > 0 && joined {
                self.push(' ');
            } else if i > 0 {
                let quoted = self.quoted;
                self.end_word();
                self.quoted = quoted;
            }
            if in_quotes {
                self.word.get_or_insert_default();
            }
            self.insert(name, element, in_quotes)?;
        }
        Ok(())
    }

    /// What stands in `${ }` behind an operator, as it is between double quotes.
    fn inner(&mut self, text: &str) -> Result<Word, InitError> {
        let mut reader = Reader::new(text, self.vars);
        while let Some(c) = reader.chars.next() {
            match c {
                '$' => reader.dollar(true)?,
                '"' | '\'' => {}
                '\\' => {
                    let next = reader.chars.next().unwrap_or('\\');
                    reader.push(next);
                }
                c => reader.push(c),
            }
        }
        Ok(reader.word.unwrap_or_default())
    }

    /// An insertion that is not read here: it matters where the word does.
    fn unread(&mut self, inside: &str) {
        let word = self.word.get_or_insert_default();
        word.missing.get_or_insert_with(|| format!("{{{inside}}}"));
    }

    /// A value in the word; outside of quotes its spaces separate words.
    fn insert(&mut self, name: &str, value: Word, in_quotes: bool) -> Result<(), InitError> {
        self.vars.insert(name, &value)?;
        if value.missing.is_some() || in_quotes {
            let word = self.word.get_or_insert_default();
            word.text.push_str(&value.text);
            word.missing = word.missing.take().or(value.missing);
            return Ok(());
        }
        for c in value.text.chars() {
            if c.is_whitespace() { self.end_word() } else { self.push(c) }
        }
        Ok(())
    }

    pub(super) fn old_substitution(&mut self) -> Result<(), InitError> {
        let inside: String = std::iter::from_fn(|| self.chars.next_if(|c| *c != '`')).collect();
        if self.chars.next().is_none() {
            return Err(InitError::Shell("a ` is never closed".to_owned()));
        }
        // a comment between the words of a continued command: it prints nothing
        if inside.trim_start().starts_with('#') {
            return Ok(());
        }
        self.printed(&inside);
        Ok(())
    }

    /// What a command prints, where no shell is needed to know it: `basename $MODEL`.
    fn printed(&mut self, command: &str) {
        let words = shell_words::split(command).unwrap_or_default();
        let text = match words.as_slice() {
            [program, path] if program == "basename" => self.plain_value(path),
            _ => None,
        };
        match text.as_deref().map(|t| t.trim_end_matches('/')).filter(|t| !t.is_empty()) {
            Some(path) => self.word.get_or_insert_default().text.push_str(base_name(path)),
            None => self.mark(command),
        }
    }

    /// A word that is one variable, or that inserts nothing.
    fn plain_value(&self, word: &str) -> Option<String> {
        let Some(name) = word.strip_prefix('$') else {
            return (!word.contains(['$', '`', '*', '?'])).then(|| word.to_owned());
        };
        let name = name.strip_prefix('{').and_then(|n| n.strip_suffix('}')).unwrap_or(name);
        self.vars.get(name).filter(|v| v.missing.is_none()).map(|v| v.text.clone())
    }

    /// `$(command)`, `$((8 / 2))`: the sum is known here, the command's output is not.
    fn substitution(&mut self) -> Result<(), InitError> {
        let Some(inside) = self.until_closed('(', ')') else {
            return Err(InitError::Shell("a $( is never closed".to_owned()));
        };
        let value = |name: &str| self.vars.get(name).filter(|v| v.missing.is_none()).map(|v| v.text.clone());
        let sum = inside.strip_prefix('(').and_then(|i| i.strip_suffix(')'));
        match sum.and_then(|sum| arithmetic::value(sum, &value)) {
            Some(number) => self.word.get_or_insert_default().text.push_str(&number.to_string()),
            None => self.printed(&inside),
        }
        Ok(())
    }

    /// The output of a command stands in the word, and nobody runs it here.
    pub(super) fn mark(&mut self, command: &str) {
        let word = self.word.get_or_insert_default();
        word.missing.get_or_insert_with(|| format!("({command})"));
    }

    /// What stands up to the bracket that closes one which is open.
    pub(super) fn until_closed(&mut self, opens: char, closes: char) -> Option<String> {
        let (mut depth, mut quote, mut out) = (1, None, String::new());
        for c in self.chars.by_ref() {
            match (c, quote) {
                (_, Some(open)) if c == open => quote = None,
                ('\'' | '"', None) => quote = Some(c),
                (_, None) if c == opens => depth += 1,
                (_, None) if c == closes => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(out);
            }
            out.push(c);
        }
        None
    }
}

fn open_variable(name: &str, index: Option<&str>) -> Word {
    let shown = index.map_or_else(|| name.to_owned(), |i| format!("{name}[{i}]"));
    Word { text: String::new(), missing: Some(shown) }
}

fn taken_apart(inside: &str) -> Option<Parameter<'_>> {
    let of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let counted = usize::from(inside.starts_with('#') && inside.len() > 1);
    let special = inside[counted..].starts_with(['@', '*', '#', '?', '$', '-']);
    let end = match inside[counted..].find(|c| !of_name(c)) {
        _ if special => 1,
        Some(at) => at,
        None => inside.len() - counted,
    };
    let (name, rest) = inside.split_at(counted + end);
    if end == 0 {
        return None;
    }
    let (index, operation) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map(|(i, o)| (Some(i), o))?,
        None => (None, rest),
    };
    Some(Parameter { name, index, operation })
}

/// A value without the beginning (`#`, `##`) or the end (`%`, `%%`) that a pattern describes; `None` for patterns of more than `*`.
fn cut(value: &str, operation: &str) -> Option<String> {
    let sign = operation.chars().next()?;
    let longest = operation[1..].starts_with(sign);
    let pattern = &operation[if longest { 2 } else { 1 }..];
    if value.len() > LONGEST_CUT || pattern.contains(['?', '[', '$', '\\', '"', '\'', '`']) {
        return None;
    }
    let ends: Vec<usize> = value.char_indices().map(|(at, _)| at).chain([value.len()]).collect();
    let matches = |at: &usize| {
        let part = if sign == '#' { &value[..*at] } else { &value[*at..] };
        fits(part, pattern)
    };
    // the shortest beginning ends first, the shortest end begins last
    let found = if (sign == '#') == longest {
        ends.iter().rev().find(|at| matches(at))
    } else {
        ends.iter().find(|at| matches(at))
    };
    let kept = match (found, sign) {
        (None, _) => value,
        (Some(at), '#') => &value[*at..],
        (Some(at), _) => &value[..*at],
    };
    Some(kept.to_owned())
}

/// Whether a text fits a pattern whose only sign is `*`.
fn fits(text: &str, pattern: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return text == pattern };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(last)
}
