//! Conversations of several turns: what people said, in order, and what was answered to them.
//!
//! Formats: ShareGPT's (`conversations` of `from` and `value`), that of vLLM's benchmark of several turns and of chat requests
//! (`messages` of `role` and `content`), and `conversation` of either; a JSON list, or one object a line.

use std::io::{BufRead as _, BufReader};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, de};

use super::chance::Python;
use super::question::{DataError, Question, opened};
use super::recipe::on_all_cores;
use super::vocabulary::Vocabulary;

/// Conversations in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversations {
    /// The file.
    pub file: PathBuf,
    /// In which order they are asked.
    pub seed: u64,
    /// As many as are taken of that order; all, where it is `None`.
    pub count: Option<usize>,
    /// One length for all answers instead of those in the file.
    pub output: Option<u32>,
    /// How long people think after an answer, drawn uniformly.
    pub think: RangeInclusive<Duration>,
    /// The file's answers go into the history, and not the server's own.
    pub recorded: bool,
}

/// One conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// Its turns, of which there is one at least.
    pub turns: Vec<Turn>,
    /// What it begins with, as far as a prefix cache may keep it; `None` where that is too short.
    pub beginning: Option<u64>,
}

/// What is sent in one turn, and what was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// What is new in it: a system's word, a person's.
    pub messages: Vec<Message>,
    /// Tokens of these.
    pub tokens: u32,
    /// The answer in the file; the last turn may have none.
    pub answer: Option<String>,
    /// Its tokens.
    pub answer_tokens: u32,
    /// Tokens of the answer to ask for.
    pub output: u32,
}

/// Who says something. It has a name so that serde does not take it for a text to borrow.
pub type Role = &'static str;

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// `system` or `user`.
    #[serde(deserialize_with = "role")]
    pub role: Role,
    /// What it says.
    pub content: String,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(alias = "conversations", alias = "messages")]
    conversation: Vec<Said>,
}

#[derive(Deserialize)]
struct Said {
    #[serde(alias = "from")]
    role: String,
    #[serde(alias = "value")]
    content: String,
}

impl Conversations {
    /// The conversations, shuffled by the seed. Without a vocabulary words are counted for tokens.
    ///
    /// # Errors
    /// A file that cannot be read, or in which no conversation can be asked.
    pub fn read(&self, vocabulary: Option<&Vocabulary>) -> Result<Vec<Conversation>, DataError> {
        let refuse = |why: String| DataError::File { path: self.file.clone(), why };
        let mut entries = self.entries()?;
        entries
            .retain(|(_, entry)| entry.conversation.iter().any(|said| USERS.contains(&said.role.as_str())));
        if entries.is_empty() {
            return Err(refuse("in none of its conversations does anybody ask".to_owned()));
        }
        Python::seeded(self.seed).shuffle(&mut entries);
        entries.truncate(self.count.unwrap_or(usize::MAX));
        on_all_cores(&entries, |_, (place, entry)| {
            let turns = turns(entry).map_err(|why| refuse(format!("{place}: {why}")))?;
            let turns: Result<Vec<Turn>, DataError> =
                turns.into_iter().map(|turn| self.counted(place, turn, vocabulary)).collect();
            let turns = turns?;
            Ok(Conversation { beginning: turns.first().and_then(|turn| beginning(turn, vocabulary)), turns })
        })
    }

    /// The entries with their places.
    fn entries(&self) -> Result<Vec<(String, Entry)>, DataError> {
        let refuse = |why: String| DataError::File { path: self.file.clone(), why };
        let file = opened(&self.file)?;
        let mut reader = BufReader::with_capacity(1 << 20, file);
        let begins = reader.fill_buf().map_err(|e| refuse(e.to_string()))?;
        if begins.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'[') {
            let all: Vec<Entry> = serde_json::from_reader(reader).map_err(|e| refuse(e.to_string()))?;
            return Ok((1..).map(|n: u64| format!("conversation {n}")).zip(all).collect());
        }
        let mut all = Vec::new();
        for (number, line) in (1_u64..).zip(reader.lines()) {
            let line = line.map_err(|e| refuse(format!("line {number}: {e}")))?;
            if line.trim().is_empty() {
                continue;
            }
            let reason = |e: serde_json::Error| e.to_string().replace(" at line 1 column ", ", column ");
            let entry =
                serde_json::from_str(&line).map_err(|e| refuse(format!("line {number}: {}", reason(e))))?;
            all.push((format!("line {number}"), entry));
        }
        Ok(all)
    }

    fn counted(
        &self,
        place: &str,
        turn: Asked<'_>,
        vocabulary: Option<&Vocabulary>,
    ) -> Result<Turn, DataError> {
        let count = |text: &str| -> Result<u32, DataError> {
            let tokens = match vocabulary {
                Some(vocabulary) => vocabulary.encode(text, false)?.len(),
                None => text.split_whitespace().count(),
            };
            Ok(u32::try_from(tokens).unwrap_or(u32::MAX))
        };
        let mut tokens = 0_u32;
        for message in &turn.messages {
            tokens = tokens.saturating_add(count(&message.content)?);
        }
        let answer_tokens = turn.answer.map(count).transpose()?;
        let output = match (self.output, answer_tokens) {
            (Some(output), _) => output,
            (None, Some(tokens)) => tokens.max(1),
            (None, None) => {
                let why = format!("{place}: its last turn has no answer, and no length of answers is given");
                return Err(DataError::File { path: self.file.clone(), why });
            }
        };
        let (answer, answer_tokens) = (turn.answer.map(str::to_owned), answer_tokens.unwrap_or(0));
        Ok(Turn { messages: turn.messages, tokens, answer, answer_tokens, output })
    }
}

/// What the first message begins with.
fn beginning(turn: &Turn, vocabulary: Option<&Vocabulary>) -> Option<u64> {
    let text = turn.messages.first()?.content.clone();
    let question = match vocabulary {
        Some(vocabulary) => vocabulary.question(text.clone(), &vocabulary.encode(&text, false).ok()?, 0),
        None => Question::of_words(text, 0),
    };
    question.beginning
}

fn role<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Role, D::Error> {
    let role = String::deserialize(deserializer)?;
    let known = ["system", "user"].into_iter().find(|known| role == *known);
    known.ok_or_else(|| de::Error::custom("a role that nothing is sent with"))
}

/// What people are called in files.
const USERS: [&str; 2] = ["user", "human"];

/// A turn as it stands in the file.
struct Asked<'a> {
    messages: Vec<Message>,
    answer: Option<&'a str>,
}

/// The turns of an entry: each ends with what was answered, or with the entry. What is said before anybody asks is left out, a system's
/// word apart.
fn turns(entry: &Entry) -> Result<Vec<Asked<'_>>, String> {
    let mut turns = Vec::new();
    let mut open: Vec<Message> = Vec::new();
    for said in &entry.conversation {
        let role = match said.role.as_str() {
            user if USERS.contains(&user) => "user",
            "system" => "system",
            "assistant" | "gpt" | "chatgpt" | "bing" | "bard" | "model" => {
                if open.iter().any(|m| m.role == "user") {
                    turns.push(Asked { messages: std::mem::take(&mut open), answer: Some(&said.content) });
                }
                continue;
            }
            other => {
                return Err(format!("`{other}` is nobody who talks: there are system, user and assistant"));
            }
        };
        open.push(Message { role, content: said.content.clone() });
    }
    if open.iter().any(|m| m.role == "user") {
        turns.push(Asked { messages: open, answer: None });
    }
    Ok(turns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, output: Option<u32>) -> Result<Vec<Conversation>, String> {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("talks");
        std::fs::write(&file, text).expect("written");
        let think = Duration::ZERO..=Duration::ZERO;
        let talks = Conversations { file, seed: 3, count: None, output, think, recorded: false };
        talks.read(None).map_err(|e| e.to_string())
    }

    const LINE: &str = r#"{"conversation": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "a b c"},
        {"role": "assistant", "content": "d e"}, {"role": "user", "content": "f"}, {"role": "assistant", "content": "g"}]}"#;

    #[test]
    fn all_forms_say_the_same() {
        let line = LINE.replace('\n', "");
        let sharegpt = line
            .replace("conversation", "conversations")
            .replace("role", "from")
            .replace("content", "value")
            .replace("\"user\"", "\"human\"")
            .replace("assistant", "gpt");
        let messages = line.replace("conversation", "messages");
        let of = |text: &str| read(text, None).expect("conversations");
        let one = of(&line);
        assert_eq!(of(&format!(" [{sharegpt}]\n")), one);
        assert_eq!(of(&format!("\n{messages}\n\n")), one);
        let [Conversation { turns, beginning: None }] = one.as_slice() else { panic!("{one:?}") };
        let seen: Vec<_> =
            turns.iter().map(|t| (t.messages.len(), t.tokens, t.answer.as_deref(), t.output)).collect();
        assert_eq!(seen, [(2, 5, Some("d e"), 2), (1, 1, Some("g"), 1)]);
    }

    #[test]
    fn conversations_are_shuffled_by_the_seed() {
        let line = |n: u32| format!(r#"{{"messages": [{{"role": "user", "content": "{n}"}}]}}"#);
        let text: Vec<String> = (0..20).map(line).collect();
        let all = read(&text.join("\n"), Some(4)).expect("conversations");
        let order: Vec<String> = all.iter().map(|c| c.turns[0].messages[0].content.clone()).collect();
        let mut wanted: Vec<String> = (0..20).map(|n| n.to_string()).collect();
        assert_ne!(order, wanted);
        Python::seeded(3).shuffle(&mut wanted);
        assert_eq!(order, wanted);
        assert!(all.iter().all(|c| c.turns[0].output == 4));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let told = |text: &str| read(text, None).expect_err("wrong");
        assert!(told("\n").contains("does anybody ask"));
        assert!(told("{}").contains("line 1: missing field"));
        assert!(
            told(r#"{"messages": [{"role": "user", "content": "x"}, {"role": "tool", "content": "x"}]}"#)
                .contains("line 1: `tool` is nobody")
        );
        let open = r#"[{"messages": [{"role": "user", "content": "x"}]}]"#;
        assert!(told(open).contains("conversation 1: its last turn has no answer"));
        let only = r#"{"conversations": [{"from": "gpt", "value": "x"}]}"#;
        assert!(told(only).contains("does anybody ask"));
    }
}
