//! What requests ask: prompts drawn as other tools draw them, byte for byte, and those that lie in files. Nothing here knows a server
//! or a clock.

mod beginnings;
mod chance;
mod chat;
mod conversations;
mod custom;
mod jinja;
mod kept;
mod parallel;
mod prefix_repetition;
mod question;
mod recipe;
mod set;
mod sharegpt;
mod trace;
mod vocabulary;

#[cfg(test)]
mod recipe_tests;

pub use beginnings::Beginnings;
pub use chat::{Around, ChatTemplate, TemplateTokens};
pub use conversations::{Conversation, Conversations, Message, Turn};
pub use custom::Custom;
pub use kept::begins_key;
pub use parallel::on_all_cores;
pub use prefix_repetition::PrefixRepetition;
pub use question::{DataError, DrawnAgain, Question};
pub use recipe::{Lengths, Random, Recipe};
pub use set::{Content, DataSet, Made, Source};
pub use sharegpt::{ShareGpt, ShareGptFilter};
pub use trace::{BLOCK_TOKENS, Trace, TraceFormat, Traced};
pub use vocabulary::{Vocabulary, unreadable};
