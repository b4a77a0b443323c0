//! What an engine's processes look for in the file system, there or not. No kernel writes down what was looked for and not found, but one
//! can be told to ask first: each such call of an engine waits until its guard has read the name, and goes on as it would have (seccomp's
//! user notification, Linux 5.5). What launches do without it is read off the texts of their scripts.

mod aside;
mod call;
mod filter;
mod listener;
mod naming;
mod scope;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde::{Deserialize, Serialize};

pub(super) use filter::Filter;
pub use listener::can_be_seen;
pub(super) use listener::{Found, Listener};
pub use scope::Scope;

/// What a name stood for as it was looked for; told again where that changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sight {
    /// Nothing was there.
    Absent,
    /// Somebody asked whether it is there, and it was.
    There,
    /// A file was opened to be read.
    Read,
    /// A directory was gone through.
    Listed,
    /// A directory was gone through by Python, which looks for modules so.
    Searched,
    /// The launch itself made, moved or removed it.
    Own,
}

/// A name that was looked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looked {
    pub path: PathBuf,
    pub sight: Sight,
}

/// Where it is kept what a launch looks for: filled while it lives.
#[derive(Debug, Clone, Default)]
pub struct Lookups(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    seen: Vec<(Instant, Looked)>,
    lacks: Lacks,
    is_seen: bool,
}

/// What of it is not seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lacks {
    /// more names than are kept
    pub many: bool,
    /// what is done where nobody looks: behind another root, by a queue of the kernel's, by a program with rights of its own
    pub hidden: bool,
    /// the engine wants to be asked of the calls of its own processes, and a kernel asks one alone
    pub refused: bool,
}

impl Lacks {
    fn and(self, other: Self) -> Self {
        Self {
            many: self.many || other.many,
            hidden: self.hidden || other.hidden,
            refused: self.refused || other.refused,
        }
    }
}

impl Lookups {
    pub(super) fn hear(&self, looked: Vec<Looked>, lacks: Lacks) {
        let (mut state, now) = (self.state(), Instant::now());
        state.is_seen = true;
        state.lacks = state.lacks.and(lacks);
        state.seen.extend(looked.into_iter().map(|looked| (now, looked)));
    }

    /// What was looked for until a moment, in order, and all that the launch itself made; `None`: its calls are not seen, and texts alone tell.
    pub fn until(&self, until: Option<Instant>) -> Option<Vec<Looked>> {
        let state = self.state();
        let counts = |at: &Instant| until.is_none_or(|until| *at <= until);
        let seen = state.seen.iter().filter(|(at, looked)| counts(at) || looked.sight == Sight::Own);
        state.is_seen.then(|| seen.map(|(_, looked)| looked.clone()).collect())
    }

    /// As before a launch.
    pub fn forget(&self) {
        *self.state() = State::default();
    }

    /// What is not among it.
    pub fn lacks(&self) -> Lacks {
        self.state().lacks
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
