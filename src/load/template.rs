//! Events that differ from an earlier one in their text alone are read without parsing them. Servers repeat everything around the
//! text (identity, time, model) in every chunk of a stream.

use super::event::Event;

/// Fields that hold text, as they stand before it.
const KEYS: [&[u8]; 4] =
    [b"\"content\":\"", b"\"text\":\"", b"\"reasoning_content\":\"", b"\"reasoning\":\""];

/// What stands around the text of an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Template {
    before: Vec<u8>,
    after: Vec<u8>,
    empty_is_token: bool,
    /// Its text is the answer itself.
    pub has_content: bool,
}

impl Template {
    /// The template of an event that says nothing beside its text. Whether its text lies where it seems to is tried: with another
    /// text in that place the event has to have that one.
    pub(super) fn of(data: &[u8], event: &Event) -> Option<Self> {
        let Event { text_bytes, has_content, .. } = *event;
        let plain = Event { has_choices: true, is_token: true, text_bytes, has_content, ..Event::default() };
        if *event != plain || event.text_bytes == 0 {
            return None;
        }
        let places =
            KEYS.iter().flat_map(|key| memchr::memmem::find_iter(data, key).map(|at| at + key.len()));
        places.into_iter().find_map(|from| {
            let length = data[from..].iter().position(|b| *b == b'"')?;
            let (before, after) = (data[..from].to_vec(), data[from + length..].to_vec());
            let with = |text: &[u8]| Event::parse(&[&before, text, &after[..]].concat()).ok();
            let one = with(b"x").is_some_and(|one| one == Event { text_bytes: 1, ..plain.clone() });
            let empty = with(b"")?;
            let Event { is_token, is_blank, .. } = empty;
            let none = Event { text_bytes: 0, has_content: false, is_token, is_blank, ..plain.clone() };
            (one && empty == none).then_some(Self { before, after, empty_is_token: is_token, has_content })
        })
    }

    /// The bytes of text of an event, if it is a token like the template's; `None`: it has to be parsed.
    pub(super) fn text_bytes(&self, data: &[u8]) -> Option<u32> {
        let text = data.strip_prefix(self.before.as_slice())?.strip_suffix(self.after.as_slice())?;
        let plain = |b: &u8| *b >= b' ' && *b != b'"' && *b != b'\\';
        if !text.iter().all(plain) || !(text.is_ascii() || std::str::from_utf8(text).is_ok()) {
            return None;
        }
        (self.empty_is_token || !text.is_empty()).then(|| u32::try_from(text.len()).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn template(data: &str) -> Option<Template> {
        Template::of(data.as_bytes(), &Event::parse(data.as_bytes()).expect("json"))
    }

    const CHAT: &str = r#"{"id":"c-1","model":"\"content\":\"","choices":[{"index":0,"delta":{"content":"HERE"},"finish_reason":null}]}"#;
    const OLD: &str =
        r#"{"id":"c-1","choices":[{"index":0,"text":"HERE","logprobs":null,"finish_reason":null}]}"#;
    const ROLE: &str =
        r#"{"choices":[{"delta":{"role":"assistant","content":"HERE"},"finish_reason":null}]}"#;

    #[test]
    fn only_events_that_say_nothing_else_become_templates() {
        for data in [CHAT, OLD, ROLE] {
            assert!(template(data).is_some(), "{data}");
        }
        for data in [
            r#"{"choices":[{"delta":{"content":"a","reasoning":"b"},"finish_reason":null}]}"#,
            r#"{"choices":[{"delta":{"content":"a\"b"},"finish_reason":null}]}"#,
            r#"{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}"#,
            r#"{"choices":[{"delta":{"content":"a"},"finish_reason":null}],"usage":{"completion_tokens":3}}"#,
            r#"{"choices":[{"delta":{"content":""},"finish_reason":null}]}"#,
            r#"{"choices":[{"delta":{"thinking":"a"},"finish_reason":null}]}"#,
            r#"{"choices":[{"delta":{"content":"a"}},{"delta":{"content":"b"}}]}"#,
            r#"{"error":"content"}"#,
        ] {
            assert_eq!(template(data), None, "{data}");
        }
    }

    proptest! {
        #[test]
        fn it_says_what_parsing_says(text in "[a-z\u{e9}\u{1f600}\"\\\\\n\u{0}n, :{}]{0,9}", which in 0..3_usize, cut in 0..3_usize) {
            let data = [CHAT, OLD, ROLE][which];
            let template = template(data).expect("a template");
            let other = [
                data.replace("HERE", &text),
                data.replace("HERE", &text).replace("null", "\"length\""),
                data.replace("HERE", &text).replace("c-1", "c-2"),
            ];
            if let Some(bytes) = template.text_bytes(other[cut].as_bytes()) {
                let parsed = Event::parse(other[cut].as_bytes()).expect("json");
                let plain = Event { has_choices: true, is_token: true, text_bytes: bytes, ..Event::default() };
                prop_assert_eq!(parsed, Event { has_content: bytes > 0, is_blank: bytes == 0, ..plain });
            }
        }

        #[test]
        fn broken_text_is_left_to_the_parser(text in proptest::collection::vec(any::<u8>(), 0..5)) {
            let template = template(CHAT).expect("a template");
            let (before, after) = CHAT.split_once("HERE").expect("a place");
            let data = [before.as_bytes(), &text, after.as_bytes()].concat();
            if template.text_bytes(&data).is_some() {
                prop_assert!(Event::parse(&data).is_ok());
            }
        }
    }
}
