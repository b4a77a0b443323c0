//! Events as servers write them, reduced to what counts as they are read: of a text its length alone.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::event::{error_text, reason_text};
use super::json::count;
use super::meter::Usage;

#[derive(Deserialize)]
pub(super) struct RawEvent {
    #[serde(default)]
    pub choices: Option<Vec<RawChoice>>,
    #[serde(default)]
    pub usage: Option<RawUsage>,
    #[serde(default)]
    pub error: Option<Value>,
    #[serde(default)]
    pub object: Option<Value>,
    #[serde(default)]
    pub message: Option<Value>,
    #[serde(default)]
    pub text: Option<TextBytes>,
    #[serde(default)]
    pub meta_info: Option<RawMeta>,
}

/// What SGLang's `/generate` says beside the text.
#[derive(Deserialize)]
pub(super) struct RawMeta {
    #[serde(default, deserialize_with = "count")]
    pub prompt_tokens: Option<u32>,
    #[serde(default, deserialize_with = "count")]
    pub completion_tokens: Option<u32>,
    #[serde(default, deserialize_with = "count")]
    pub cached_tokens: Option<u32>,
    #[serde(default)]
    pub finish_reason: Option<Value>,
}

impl RawEvent {
    pub fn error_message(&self) -> Option<String> {
        if let Some(error) = &self.error {
            return Some(error_text(error));
        }
        let is_error = self.object.as_ref().is_some_and(|object| object == "error");
        is_error.then(|| {
            self.message.as_ref().map_or_else(|| "an error without a message".to_owned(), reason_text)
        })
    }
}

#[derive(Deserialize)]
pub(super) struct RawChoice {
    #[serde(default)]
    pub text: Option<TextBytes>,
    #[serde(default)]
    pub delta: Option<Delta>,
    #[serde(default)]
    pub message: Option<Delta>,
    #[serde(default)]
    pub finish_reason: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct RawUsage {
    #[serde(default, deserialize_with = "count")]
    pub prompt_tokens: Option<u32>,
    #[serde(default, deserialize_with = "count")]
    pub completion_tokens: Option<u32>,
    #[serde(default)]
    pub prompt_tokens_details: Option<RawDetails>,
}

#[derive(Deserialize)]
pub(super) struct RawDetails {
    #[serde(default, deserialize_with = "count")]
    pub cached_tokens: Option<u32>,
}

impl From<RawUsage> for Usage {
    fn from(raw: RawUsage) -> Self {
        Self {
            prompt_tokens: raw.prompt_tokens,
            completion_tokens: raw.completion_tokens,
            cached_tokens: raw.prompt_tokens_details.and_then(|details| details.cached_tokens),
        }
    }
}

/// A message delta, reduced to what counts.
#[derive(Default)]
pub(super) struct Delta {
    pub text_bytes: u32,
    pub has_role: bool,
    pub has_content: bool,
    pub empty_content: bool,
    pub unknown: Vec<String>,
}

impl<'de> Deserialize<'de> for Delta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(DeltaVisitor)
    }
}

struct DeltaVisitor;

impl<'de> Visitor<'de> for DeltaVisitor {
    type Value = Delta;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message delta")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Delta, A::Error> {
        let mut delta = Delta::default();
        while let Some(field) = map.next_key::<Field>()? {
            if let Field::Role = field {
                delta.has_role |= map.next_value::<Option<IgnoredAny>>()?.is_some();
                continue;
            }
            let Some(TextBytes(bytes)) = map.next_value::<Option<TextBytes>>()? else { continue };
            delta.text_bytes = delta.text_bytes.saturating_add(bytes);
            match field {
                Field::Content if bytes == 0 => delta.empty_content = true,
                Field::Content => delta.has_content = true,
                Field::Other(name) if bytes > 0 => delta.unknown.push(name),
                _ => {}
            }
        }
        Ok(delta)
    }
}

enum Field {
    Role,
    Content,
    /// Generated text under another name: thoughts, tool calls, a refusal.
    OtherText,
    Other(String),
}

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldVisitor;
        impl Visitor<'_> for FieldVisitor {
            type Value = Field;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a field name")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Field, E> {
                Ok(match name {
                    "role" => Field::Role,
                    "content" => Field::Content,
                    "reasoning" | "reasoning_content" | "tool_calls" | "function_call" | "refusal" => {
                        Field::OtherText
                    }
                    other => Field::Other(other.to_owned()),
                })
            }
        }
        deserializer.deserialize_identifier(FieldVisitor)
    }
}

/// The bytes of all strings in a value, however deep.
pub(super) struct TextBytes(pub u32);

impl<'de> Deserialize<'de> for TextBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextBytesVisitor).map(TextBytes)
    }
}

struct TextBytesVisitor;

impl<'de> Visitor<'de> for TextBytesVisitor {
    type Value = u32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<u32, E> {
        Ok(u32::try_from(text.len()).unwrap_or(u32::MAX))
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<u32, E> {
        Ok(0)
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<u32, E> {
        Ok(0)
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<u32, E> {
        Ok(0)
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<u32, E> {
        Ok(0)
    }

    fn visit_unit<E: de::Error>(self) -> Result<u32, E> {
        Ok(0)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<u32, A::Error> {
        let mut sum = 0_u32;
        while let Some(TextBytes(bytes)) = seq.next_element()? {
            sum = sum.saturating_add(bytes);
        }
        Ok(sum)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<u32, A::Error> {
        let mut sum = 0_u32;
        while let Some((IgnoredAny, TextBytes(bytes))) = map.next_entry()? {
            sum = sum.saturating_add(bytes);
        }
        Ok(sum)
    }
}
