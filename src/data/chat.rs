//! What a server makes of messages before it counts their tokens: the model's chat template, rendered as `transformers` renders it.

use std::path::Path;

use minijinja::value::Value;
use minijinja::{Environment, Error, context};
use serde::{Deserialize, Serialize};
use serde_json::Map;

use super::jinja::environment;
use super::question::DataError;
use super::vocabulary::beside;

/// Fields of a request that a server hands to its template.
const KWARGS: &str = "chat_template_kwargs";
/// Other fields that it gets by their names.
const GIVEN: [&str; 2] = ["tools", "documents"];
/// A word that stands where a user's text does, to see what is put around it.
const PLACE: &str = "PERFLAB";

/// A model's chat template.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    given: Value,
    tokens: Value,
    kwargs: Value,
}

/// What a template puts around the one message of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Around {
    /// Text before it.
    pub before: String,
    /// Text behind it.
    pub after: String,
    /// Blanks at both ends of the message are left out.
    pub trims: bool,
}

impl Around {
    /// What a server makes of a message.
    pub fn whole(&self, text: &str) -> String {
        let text = if self.trims { text.trim() } else { text };
        format!("{}{text}{}", self.before, self.after)
    }
}

impl ChatTemplate {
    /// Reads the template that lies beside a `tokenizer.json`: `chat_template.jinja`, else that of `tokenizer_config.json`; `None` where
    /// there is none. `body` holds further fields of the requests.
    ///
    /// # Errors
    /// A template that cannot be read.
    pub fn load(tokenizer: &Path, body: &Map<String, serde_json::Value>) -> Result<Option<Self>, DataError> {
        let file =
            if tokenizer.is_dir() { tokenizer.join("tokenizer.json") } else { tokenizer.to_path_buf() };
        let refuse = |why: String| DataError::Tokenizer { path: file.clone(), why };
        let config = beside(&file, "tokenizer_config.json").map_err(refuse)?;
        let own = file.with_file_name("chat_template.jinja");
        let source = match std::fs::read_to_string(&own) {
            Ok(text) => Some(text),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => of_config(&config["chat_template"]),
            Err(e) => return Err(refuse(format!("chat_template.jinja beside it: {e}"))),
        };
        let Some(source) = source else { return Ok(None) };
        Self::new(&source, &config, body).map(Some).map_err(refuse)
    }

    fn new(
        source: &str,
        config: &serde_json::Value,
        body: &Map<String, serde_json::Value>,
    ) -> Result<Self, String> {
        let environment = environment("chat", source).map_err(|e| told(&e))?;
        let text = |value: &serde_json::Value| {
            value.as_str().or_else(|| value["content"].as_str()).map(str::to_owned)
        };
        let named = config.as_object().into_iter().flatten().filter(|(name, _)| name.ends_with("_token"));
        let tokens: Vec<(String, String)> =
            named.filter_map(|(name, value)| Some((name.clone(), text(value)?))).collect();
        let kwargs = body.get(KWARGS).cloned().unwrap_or_default();
        // where there is none, a template is told so: `tools is not none` is true of what it never heard of
        let given: Vec<(&str, Value)> =
            GIVEN.iter().map(|name| (*name, Value::from_serialize(body.get(*name)))).collect();
        Ok(Self {
            environment,
            given: given.into_iter().collect(),
            tokens: tokens.into_iter().collect(),
            kwargs: Value::from_serialize(&kwargs),
        })
    }

    /// The text that a server makes of a user's one message, up to where it answers.
    ///
    /// # Errors
    /// A template that fails, or that puts the message somewhere twice or not at all.
    pub fn around(&self) -> Result<Around, DataError> {
        let around = self.parted_by(&|text| Value::from(text));
        if around.is_ok() {
            return around;
        }
        // some know messages as lists of parts alone, and servers give them those
        let of_parts = |text: &str| Value::from(vec![context! { type => "text", text => text }]);
        self.parted_by(&of_parts).or(around)
    }

    /// The same of a message in one of its forms.
    fn parted_by(&self, content: &dyn Fn(&str) -> Value) -> Result<Around, DataError> {
        let around = Self::parted(&self.of_user(&content(PLACE))?)?;
        let padded = self.of_user(&content(&format!(" {PLACE} ")));
        let trims = padded.and_then(|text| Self::parted(&text)).is_ok_and(|padded| padded == around);
        Ok(Around { trims, ..around })
    }

    fn parted(text: &str) -> Result<Around, DataError> {
        let parts: Vec<&str> = text.split(PLACE).collect();
        match parts.as_slice() {
            [before, after] => {
                Ok(Around { before: (*before).to_owned(), after: (*after).to_owned(), trims: false })
            }
            _ => Err(DataError::Template(format!("a message stands in it {} times", parts.len() - 1))),
        }
    }

    fn of_user(&self, content: &Value) -> Result<String, DataError> {
        let message = context! { role => "user", content => content };
        let given = context! { messages => vec![message], add_generation_prompt => true };
        let all = context! { ..given, ..self.kwargs.clone(), ..self.given.clone(), ..self.tokens.clone() };
        let template = self.environment.get_template("chat");
        template.and_then(|t| t.render(all)).map_err(|e| DataError::Template(told(&e)))
    }
}

/// What a server counts beside the text of a user's message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TemplateTokens {
    /// Tokens before the text.
    pub before: u32,
    /// All that it adds.
    pub added: u32,
}

impl TemplateTokens {
    /// Counts them with a text in its place.
    ///
    /// # Errors
    /// A tokenizer that fails.
    pub fn of(
        around: &Around,
        text: &str,
        count: impl Fn(&str) -> Result<u32, DataError>,
    ) -> Result<Self, DataError> {
        let whole = count(&around.whole(text))?;
        Ok(Self { before: count(&around.before)?, added: whole.saturating_sub(count(text)?) })
    }
}

/// A configuration has one template, or several with names.
fn of_config(value: &serde_json::Value) -> Option<String> {
    let named = |entry: &&serde_json::Value| entry["name"] == "default";
    let of_list = value.as_array().and_then(|all| all.iter().find(named)?["template"].as_str());
    value.as_str().or(of_list).map(str::to_owned)
}

fn told(error: &Error) -> String {
    error.detail().map_or_else(|| error.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::super::vocabulary::small::vocabulary;
    use super::*;

    fn template(source: &str, body: &serde_json::Value) -> Result<ChatTemplate, String> {
        let config = serde_json::json!({"bos_token": {"content": "<s>"}, "eos_token": "</s>"});
        ChatTemplate::new(source, &config, body.as_object().expect("an object"))
    }

    fn around(source: &str, body: &serde_json::Value) -> Result<(String, String), String> {
        let around = template(source, body)?.around().map_err(|e| e.to_string())?;
        Ok((around.before, around.after))
    }

    /// The ways of several models' templates: blocks on lines of their own, Python's methods, slices and namespaces.
    const SOURCE: &str =
        "{%- if messages[0].role == 'system' %}\n    {{- messages[0].content }}\n{%- endif %}
{%- set ns = namespace(found=false) %}
{%- for message in messages[::-1] %}
    {%- if not ns.found and message.role == 'user' and not message.content.startswith('<tool>') %}
        {%- set ns.found = true %}
    {%- endif %}
{%- endfor %}
{{ bos_token }}
{% for message in messages %}
    {% if message['role'] not in ['user', 'assistant'] %}
        {{ raise_exception('Only users and assistants talk') }}
    {% endif %}
[{{ message.role.upper() }}] {{ message.content | trim }} {{ '/' + eos_token }}
{% endfor %}
{%- if add_generation_prompt %}
    {{- 'A:' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<none>' }}
    {%- endif %}
{%- endif %}";

    // python: transformers.utils.chat_template_utils.render_jinja_template of the same source
    #[test]
    fn it_is_rendered_as_transformers_does() {
        let plain = around(SOURCE, &serde_json::json!({})).expect("sound");
        assert_eq!(plain, ("<s>\n[USER] ".to_owned(), " /</s>\nA:".to_owned()));
        let trims = |source| {
            template(source, &serde_json::json!({})).and_then(|t| t.around().map_err(|e| e.to_string()))
        };
        assert!(trims(SOURCE).expect("sound").trims);
        assert!(!trims("{{ messages[0].content }}").expect("sound").trims);
        let body = serde_json::json!({"chat_template_kwargs": {"enable_thinking": false}});
        let (_, after) = around(SOURCE, &body).expect("sound");
        assert_eq!(after, " /</s>\nA:<none>");
    }

    #[test]
    fn what_is_not_there_is_none_and_what_is_stated_is_given() {
        let source = "{% if tools is not none %}{{ tools | tojson }}{% endif %}|{{ messages[0].content }}|{{ documents is none }}";
        let plain = around(source, &serde_json::json!({})).expect("sound");
        assert_eq!(plain, ("|".to_owned(), "|True".to_owned()));
        let body = serde_json::json!({"tools": [{"type": "function", "function": {"name": "f"}}]});
        let (before, _) = around(source, &body).expect("sound");
        assert_eq!(before, r#"[{"type": "function", "function": {"name": "f"}}]|"#);
    }

    #[test]
    fn messages_are_lists_of_parts_where_a_template_knows_no_others() {
        let source = "{% for m in messages %}{% for part in m.content %}{% if part.type == 'text' %}<{{ part.text }}>{% endif %}{% endfor %}{% endfor %}";
        assert_eq!(around(source, &serde_json::json!({})).expect("sound"), ("<".to_owned(), ">".to_owned()));
    }

    #[test]
    fn what_a_template_refuses_is_told() {
        let body = serde_json::json!({});
        let told = |source: &str| around(source, &body).expect_err("wrong");
        assert!(told("{{ raise_exception('no users here') }}").contains("no users here"));
        assert!(told("{{ messages[0].content }}{{ messages[0].content }}").contains("stands in it 2 times"));
        assert!(told("{% if %}").contains("unexpected"), "{}", told("{% if %}"));
    }

    #[test]
    fn the_tokens_around_a_text_are_counted() {
        let around = Around { before: "w1 w2 w3 ".to_owned(), after: " w4".to_owned(), trims: false };
        let vocabulary = vocabulary();
        let tokens = TemplateTokens::of(&around, "w7 w8", |text| vocabulary.count(text)).expect("counted");
        assert_eq!(tokens, TemplateTokens { before: 3, added: 4 });
    }

    #[test]
    fn a_template_lies_in_a_file_of_its_own_or_in_the_configuration() {
        let dir = tempfile::tempdir().expect("a folder");
        let load = || ChatTemplate::load(dir.path(), &Map::new()).expect("readable");
        assert!(load().is_none());
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).expect("written");
        let config = r#"{"chat_template": [{"name": "tools", "template": "x"}, {"name": "default", "template": "a{{ messages[0].content }}"}]}"#;
        write("tokenizer_config.json", config);
        assert_eq!(load().expect("one").around().expect("sound").before, "a");
        write("chat_template.jinja", "b{{ messages[0].content }}");
        assert_eq!(load().expect("one").around().expect("sound").before, "b");
    }
}
