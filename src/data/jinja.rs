//! Jinja as `transformers` sets it up for chat templates: its functions and filters, its tags, Python's methods.

use std::fmt::Write as _;

use jiff::Zoned;
use jiff::fmt::strtime::{BrokenDownTime, Config};
use minijinja::value::{Kwargs, Value};
use minijinja::{Environment, Error, ErrorKind, State};
use serde::Serialize as _;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

/// An environment that holds this template under a name.
pub(super) fn environment(name: &'static str, source: &str) -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_unknown_method_callback(method);
    environment.add_function("raise_exception", |message: String| -> Result<String, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, message))
    });
    environment.add_function("strftime_now", now);
    environment.add_filter("tojson", tojson);
    environment.add_template_owned(name, without_generation(source))?;
    Ok(environment)
}

/// Python's methods, and those of a text that are missing among them.
fn method(state: &State<'_, '_>, value: &Value, name: &str, args: &[Value]) -> Result<Value, Error> {
    if let (Some(text), [Some(by)]) =
        (value.as_str(), args.iter().map(Value::as_str).collect::<Vec<_>>().as_slice())
    {
        let rest = match name {
            "removeprefix" => Some(text.strip_prefix(by)),
            "removesuffix" => Some(text.strip_suffix(by)),
            _ => None,
        };
        if let Some(rest) = rest {
            return Ok(Value::from(rest.unwrap_or(text)));
        }
    }
    if let (Some(text), "rsplit", [by, most]) = (value.as_str(), name, args)
        && let (Some(by), Some(most)) = (by.as_str().filter(|by| !by.is_empty()), most.as_usize())
    {
        let mut parts: Vec<Value> = text.rsplitn(most.saturating_add(1), by).map(Value::from).collect();
        parts.reverse();
        return Ok(parts.into());
    }
    minijinja_contrib::pycompat::unknown_method_callback(state, value, name, args)
}

/// What Python does not know it leaves as it stands, and so does this.
fn now(format: &str) -> Result<String, Error> {
    let wrong = |e: jiff::Error| Error::new(ErrorKind::InvalidOperation, format!("strftime_now: {e}"));
    let config = Config::new().lenient(true);
    BrokenDownTime::from(&Zoned::now()).to_string_with_config(&config, format).map_err(wrong)
}

/// `json.dumps(value, ensure_ascii=False, indent=…)`: a model reads it, no browser.
#[expect(clippy::needless_pass_by_value, reason = "minijinja hands it over")]
fn tojson(value: &Value, options: Kwargs) -> Result<String, Error> {
    let wrong = |e: serde_json::Error| Error::new(ErrorKind::InvalidOperation, format!("tojson: {e}"));
    let mut written = Vec::new();
    match options.get::<Option<usize>>("indent")? {
        Some(width) => {
            let indent = " ".repeat(width);
            let pretty = PrettyFormatter::with_indent(indent.as_bytes());
            value.serialize(&mut Serializer::with_formatter(&mut written, pretty)).map_err(wrong)?;
        }
        None => value.serialize(&mut Serializer::with_formatter(&mut written, OneLine)).map_err(wrong)?,
    }
    Ok(String::from_utf8_lossy(&written).into_owned())
}

/// Python's one line, with a space behind each comma and colon.
struct OneLine;

impl Formatter for OneLine {
    fn begin_array_value<W: ?Sized + std::io::Write>(
        &mut self,
        to: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        if first { Ok(()) } else { to.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + std::io::Write>(
        &mut self,
        to: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        if first { Ok(()) } else { to.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + std::io::Write>(&mut self, to: &mut W) -> std::io::Result<()> {
        to.write_all(b": ")
    }
}

/// `{% generation %}` marks for training what an assistant said, and puts nothing there; minijinja has no such tag.
fn without_generation(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut rest = source;
    while let Some((before, tag)) = rest.split_once("{%") {
        text.push_str(before);
        let Some((inner, behind)) = tag.split_once("%}") else {
            text.push_str("{%");
            rest = tag;
            continue;
        };
        let signs: &[char] = &['-', '+'];
        let word = match inner.trim_matches(signs).trim() {
            "generation" => "if true",
            "endgeneration" => "endif",
            other => other,
        };
        let [open, close] = [inner.get(..1), inner.get(inner.len().saturating_sub(1)..)]
            .map(|end| end.filter(|end| end.starts_with(signs)).unwrap_or_default());
        if word.len() == inner.trim_matches(signs).trim().len() {
            let _ = write!(text, "{{%{inner}%}}");
        } else {
            let _ = write!(text, "{{%{open} {word} {close}%}}");
        }
        rest = behind;
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use minijinja::context;

    use super::*;

    fn rendered(source: &str) -> String {
        let environment = environment("t", source).expect("sound");
        let value = serde_json::json!({"b": [1, 2.5, true, null], "a": {"x": "<é> & 'q'"}, "e": [], "o": {}});
        let given = context! { value => Value::from_serialize(&value) };
        environment.get_template("t").and_then(|t| t.render(given)).expect("rendered")
    }

    // python: json.dumps({"b": [1, 2.5, True, None], "a": {"x": "<é> & 'q'"}, "e": [], "o": {}}, ensure_ascii=False, indent=…)
    #[test]
    fn values_are_written_as_python_writes_them() {
        let line = r#"{"b": [1, 2.5, true, null], "a": {"x": "<é> & 'q'"}, "e": [], "o": {}}"#;
        assert_eq!(rendered("{{ value | tojson }}"), line);
        assert_eq!(rendered("{{ value.a | tojson(indent=4) }}"), "{\n    \"x\": \"<é> & 'q'\"\n}");
    }

    #[test]
    fn texts_have_python_s_methods() {
        let source = "{{ 'abc'.removeprefix('a') }} {{ 'abc'.removesuffix('x') }} {{ 'a-b-c'.rsplit('-', 1) | join('|') }} {{ 'Ab'.upper() }}";
        assert_eq!(rendered(source), "bc abc a-b|c AB");
    }

    #[test]
    fn marks_for_training_put_nothing_there() {
        assert_eq!(rendered("a {%- generation -%} b {% endgeneration %}c"), "ab c");
        assert_eq!(rendered("{% generation %}\nb\n{% endgeneration %}\nc{% if true %}d{% endif %}"), "b\ncd");
        assert_eq!(without_generation("x {% if a %} {% open"), "x {% if a %} {% open");
    }

    #[test]
    fn a_form_of_time_that_nobody_knows_is_left_as_it_stands() {
        assert_eq!(rendered("{{ strftime_now('%') }}"), "%");
        assert_eq!(rendered("{{ strftime_now('at %%') }}"), "at %");
        assert_eq!(rendered("{{ strftime_now('%d %b %Y') }}").split(' ').count(), 3);
    }
}
