//! Python's own spelling of values, as engines log their arguments: `{'max_num_seqs': 256, 'dtype': None}`, `ServerArgs(tp_size=1)`.
//! What is no literal (`<ConfigFormat.AUTO: 'auto'>`, `PosixPath('x')`) is kept as its text.

use indexmap::IndexMap;
use serde_json::Value as Json;

/// Nothing that an engine logs is nested deeper.
const DEEPEST: usize = 32;

/// The entries of a dictionary or of a call's arguments that the text begins with.
pub fn entries(text: &str) -> Option<IndexMap<String, Json>> {
    let open = text.find(['{', '('])?;
    let mut reader = Reader { rest: &text[open + 1..] };
    let (end, colon) = if text.as_bytes()[open] == b'{' { ('}', ':') } else { (')', '=') };
    reader.entries(end, colon, 0)
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn entries(&mut self, end: char, colon: char, depth: usize) -> Option<IndexMap<String, Json>> {
        let mut out = IndexMap::new();
        loop {
            self.skip_space();
            if self.take(end) {
                return Some(out);
            }
            let name = if self.rest.starts_with(['\'', '"']) { self.text()? } else { self.until(colon)? };
            self.skip_space();
            if !self.take(colon) {
                return None;
            }
            out.insert(name, self.value(depth + 1)?);
            self.skip_space();
            self.take(',');
        }
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        if depth > DEEPEST {
            return None;
        }
        self.skip_space();
        match self.rest.chars().next()? {
            '\'' | '"' => self.text().map(Json::from),
            '{' => {
                self.take('{');
                self.entries('}', ':', depth).map(|m| Json::Object(m.into_iter().collect()))
            }
            '[' => self.list(']', depth),
            '(' => self.list(')', depth),
            _ => Some(word(self.other()?)),
        }
    }

    fn list(&mut self, end: char, depth: usize) -> Option<Json> {
        self.rest = &self.rest[1..];
        let mut out = Vec::new();
        loop {
            self.skip_space();
            if self.take(end) {
                return Some(Json::Array(out));
            }
            out.push(self.value(depth + 1)?);
            self.skip_space();
            self.take(',');
        }
    }

    /// A quoted text.
    fn text(&mut self) -> Option<String> {
        let mut chars = self.rest.char_indices();
        let quote = chars.next()?.1;
        let mut out = String::new();
        while let Some((i, c)) = chars.next() {
            match c {
                '\\' => match chars.next()?.1 {
                    'n' => out.push('\n'),
                    't' => out.push('\t'),
                    c => out.push(c),
                },
                c if c == quote => {
                    self.rest = &self.rest[i + c.len_utf8()..];
                    return Some(out);
                }
                c => out.push(c),
            }
        }
        None
    }

    /// Anything else, up to the comma or bracket that ends it; brackets and quotes inside belong to it.
    fn other(&mut self) -> Option<&str> {
        let (mut open, mut quote) = (0_usize, None);
        for (i, c) in self.rest.char_indices() {
            match (quote, c) {
                (Some(q), c) if c == q => quote = None,
                (None, '\'' | '"') => quote = Some(c),
                (None, '(' | '[' | '{' | '<') => open += 1,
                (None, ',' | ')' | ']' | '}') if open == 0 => {
                    let (value, rest) = self.rest.split_at(i);
                    self.rest = rest;
                    return Some(value.trim()).filter(|v| !v.is_empty());
                }
                (None, ')' | ']' | '}' | '>') => open = open.saturating_sub(1),
                _ => {}
            }
        }
        None
    }

    fn until(&mut self, end: char) -> Option<String> {
        let at = self.rest.find(end)?;
        let (name, rest) = self.rest.split_at(at);
        self.rest = rest;
        Some(name.trim().to_owned()).filter(|n| !n.is_empty())
    }

    fn take(&mut self, c: char) -> bool {
        let rest = self.rest.strip_prefix(c);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }
}

fn word(text: &str) -> Json {
    match text {
        "True" => true.into(),
        "False" => false.into(),
        "None" => Json::Null,
        _ => match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(n), _) => n.into(),
            (_, Ok(x)) if x.is_finite() => x.into(),
            _ => text.into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_engines_log_is_read() {
        let vllm = "{'model_tag': 'm', 'port': 8000, 'x': None, 'on': True, 'share': 0.9, 'a': ['b', (1, 2)], \
                    'config': {'k': \"it's\"}, 'format': <Format.AUTO: 'auto, x'>} and more";
        let read = entries(vllm).expect("reads");
        let expected = serde_json::json!({"model_tag": "m", "port": 8000, "x": null, "on": true, "share": 0.9,
            "a": ["b", [1, 2]], "config": {"k": "it's"}, "format": "<Format.AUTO: 'auto, x'>"});
        assert_eq!(serde_json::to_value(read).expect("JSON"), expected);
        let sglang =
            "ServerArgs(model_path='m', tp_size=1, path=PosixPath('x'), none=None, inf=float('inf'))";
        let read = entries(sglang).expect("reads");
        assert_eq!(read.keys().collect::<Vec<_>>(), ["model_path", "tp_size", "path", "none", "inf"]);
        assert_eq!((read["tp_size"].clone(), read["path"].clone()), (1.into(), "PosixPath('x')".into()));
        for torn in ["", "{", "{'a': 1", "{'a' 1}", "S(a=", "{'a': '", "S(a=[1, 2)"] {
            assert_eq!(entries(torn), None, "{torn}");
        }
        assert_eq!(entries(&"[".repeat(500).replacen('[', "{'a': ", 1)), None);
    }
}
