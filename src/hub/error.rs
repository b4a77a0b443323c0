//! Why a model cannot be had, and what to do about it.

use std::path::PathBuf;

use thiserror::Error;

/// What went wrong with a model of the hub.
#[derive(Debug, Error)]
pub enum HubError {
    #[error("the model {name} is gated: {endpoint} gives it only to those who accepted its terms")]
    Gated { name: String, endpoint: String },
    #[error("{endpoint} does not let this token read the model {name}")]
    Refused { name: String, endpoint: String },
    #[error("there is no model {name} at {endpoint}")]
    Missing { name: String, endpoint: String },
    #[error("the model {name} is not on this machine, and the hub may not be asked (HF_HUB_OFFLINE)")]
    Offline { name: String },
    #[error("{endpoint} cannot be reached, and the model {name} is not on this machine: {why}")]
    Unreachable { name: String, endpoint: String, why: String },
    #[error("{endpoint} answers {what} for the model {name}")]
    Strange { name: String, endpoint: String, what: String },
    /// It has too much to do now, or has had enough of this address for a while.
    #[error("{endpoint} answers {what} for the model {name}, which is not on this machine")]
    Overloaded { name: String, endpoint: String, what: String },
    #[error("{file} of the model {name} broke off at {got} of {of} bytes: {why}")]
    Cut { name: String, file: String, got: u64, of: u64, why: String },
    #[error("{file} of the model {name} is not what the hub says it is: its hash differs")]
    WrongHash { name: String, file: String },
    #[error("the model {name} needs {needed} more in {}, which has {free}", dir.display())]
    DiskFull { name: String, dir: PathBuf, needed: String, free: String },
    #[error(
        "of the model {name} {files} files ({bytes}) are not on this machine, and `--no-download` is said"
    )]
    NotWanted { name: String, files: usize, bytes: String },
    #[error(
        "{endpoint} cannot be reached ({why}), the model {name} is not on this machine, and `--no-download` is said"
    )]
    NotHere { name: String, endpoint: String, why: String },
    #[error("HF_ENDPOINT is `{endpoint}`, which is no address of a hub: {why}")]
    NoAddress { endpoint: String, why: String },
    #[error("another process is fetching {file} of the model {name}")]
    Busy { name: String, file: String },
    #[error("there is no place for models: neither HF_HUB_CACHE nor HF_HOME nor HOME is set")]
    NoPlace,
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
}

impl HubError {
    /// How to go on.
    pub fn help(&self) -> String {
        match self {
            Self::Gated { name, endpoint } => format!(
                "accept them at {endpoint}/{name}, then set HF_TOKEN to a token of that account (or `hf auth login`)"
            ),
            Self::Refused { .. } => "set HF_TOKEN to a token that may read it, or unset a wrong one".to_owned(),
            Self::Missing { .. } => {
                "check the spelling; a private model needs HF_TOKEN, and one that lies here a line of the site: \
                 `model \"NAME\" at \"DIR\"`"
                    .to_owned()
            }
            Self::Offline { .. } => {
                "unset HF_HUB_OFFLINE to fetch it, or say in the site where it lies: `model \"NAME\" at \"DIR\"`"
                    .to_owned()
            }
            Self::Unreachable { .. } => {
                "see that the network is there (HF_ENDPOINT names another hub), or say in the site where the \
                 model lies: `model \"NAME\" at \"DIR\"`"
                    .to_owned()
            }
            Self::NotHere { .. } => {
                "leave out `--no-download`, or say in the site where the model lies: `model \"NAME\" at \"DIR\"`".to_owned()
            }
            Self::NoAddress { .. } => "write it as `https://HOST`, or unset it for the public hub".to_owned(),
            Self::NotWanted { .. } => "leave out `--no-download` to fetch them".to_owned(),
            Self::Strange { .. } | Self::Overloaded { .. } | Self::Cut { .. } | Self::Busy { .. } => {
                "run the same command again: what has arrived is kept".to_owned()
            }
            Self::WrongHash { .. } => {
                "what had arrived was thrown away; run the same command again, and if it stays so, ask the hub".to_owned()
            }
            Self::DiskFull { .. } => {
                "make room, or name another place with HF_HUB_CACHE; what has arrived is kept".to_owned()
            }
            Self::NoPlace => "set HF_HUB_CACHE to a directory".to_owned(),
            Self::Io { .. } => "see that the directory may be written, or name another with HF_HUB_CACHE".to_owned(),
        }
    }

    /// The study is right, and the same command may succeed later.
    pub fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. }
                | Self::Strange { .. }
                | Self::Overloaded { .. }
                | Self::Cut { .. }
                | Self::DiskFull { .. }
                | Self::Busy { .. }
                | Self::WrongHash { .. }
                | Self::Io { .. }
        )
    }
}
