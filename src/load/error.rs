//! What keeps a load from being run at all. What goes wrong with single requests is data, not an error: it
//! stands in their records.

use std::path::PathBuf;

use crate::data::DataError;

/// Why a load could not be prepared or carried out.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The spec contradicts itself or asks for something that cannot be sent.
    #[error("unusable load: {0}")]
    Spec(String),
    /// Nobody knows the server's name.
    #[error("the server's address `{url}`: {why}")]
    Host {
        /// The address.
        url: String,
        /// What the resolver said.
        why: String,
    },
    /// The questions of its data set cannot be made.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The tokenizer file is missing, unreadable or has no tokens to make prompts of.
    #[error("cannot use the tokenizer {}: {message}", path.display())]
    Tokenizer {
        /// The file that was looked for.
        path: PathBuf,
        /// What the tokenizer library or the file system said.
        message: String,
    },
    /// No text was found that has exactly the wanted number of tokens.
    #[error("no prompt of exactly {wanted} tokens could be made with this tokenizer (nearest: {nearest})")]
    Prompt {
        /// Tokens asked for.
        wanted: u32,
        /// Tokens of the last attempt.
        nearest: usize,
    },
    /// The operating system refused a thread that the load needs.
    #[error("cannot start a thread of the load generator: {0}")]
    Thread(#[source] std::io::Error),
    /// One of the load generator's own tasks ended abnormally.
    #[error("a task of the load generator ended abnormally: {0}")]
    Task(String),
}

impl LoadError {
    /// Whether the same load may be made a little later: what failed is this machine, and not what was asked for.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Host { .. } | Self::Tokenizer { .. } | Self::Thread(_) | Self::Task(_) => true,
            Self::Data(error) => matches!(error, DataError::File { .. } | DataError::Tokenizer { .. }),
            _ => false,
        }
    }

    /// Whether no other engine's load can be made either: of a data set, and not of a model's tokenizer.
    pub fn is_of_all(&self) -> bool {
        matches!(self, Self::Data(DataError::File { .. }))
    }
}
