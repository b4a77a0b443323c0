//! What an execution is: everything that it needs, and the ways in which it can end.

use std::collections::BTreeMap;
use std::path::PathBuf;

use thiserror::Error;

use super::elsewhere::{Elsewhere, Servers};
use super::host::Host;
use super::ledger::Ledger;
use super::opening::{self, told_last};
use super::order::OrderError;
use super::provenance::Standing;
use super::signals::Signals;
use super::unmet::Unmet;
use super::yard::Yard;
use crate::engine::Survivor;
use crate::hub::Resolved;
use crate::journal::{ClientTrial, JournalError, Lock};
use crate::judge::budget::LeftOut;
use crate::judge::forecast::Guess;
use crate::judge::{Checks, Results};
use crate::lang::Program;
use crate::lang::sema::program::{Budget, Site, Study};
use crate::plan::config::short_hash;

/// Why an execution could not go on. What was measured until then is in the journal.
#[derive(Debug, Error)]
pub enum RunError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Order(#[from] OrderError),
    /// no finding about the engine: this machine or its disk does not let a launch be made
    #[error("no launch can be made here: {0}")]
    Machine(String),
    /// this machine's too, and not to be mended by another command
    #[error("{0}; nothing that ran on it counts")]
    GpuLost(String),
    #[error("the GPUs cannot be looked at: {0}")]
    Gpus(#[from] crate::gpu::GpuError),
    /// what a launch is made of, which each of its launches changed
    #[error(
        "{0} changed in each of the last launches, so that no result of them counts: let the engine write to another file than those that its command names, and perflab its `--events` elsewhere"
    )]
    Unsettled(String),
    /// what results are made of, between one launch and the next
    #[error(
        "{0}, again and again while the study runs: what was measured before and after cannot be compared"
    )]
    Shifting(String),
    /// a server that the site says runs already
    #[error("a server that should run already cannot be measured: {0}")]
    Unmet(#[from] Unmet),
}

/// How an execution ended.
#[derive(Debug)]
pub enum Ended {
    /// the study is decided
    Decided,
    /// a signal ended it
    Interrupted,
    /// a launch left something behind
    Unclean(Vec<Survivor>),
    /// GPUs hold more than before the study or are reserved, by whomever: a sentence each
    Held(Vec<String>),
    /// a server that runs already was lost under a load: why nothing of that counts
    Left(String),
}

/// Everything that an execution needs.
pub struct Execution<'a> {
    pub program: &'a Program,
    pub study: &'a Study,
    /// the study that this one is the first part of, where only a part is carried out
    pub whole: Option<&'a Study>,
    pub checks: Checks,
    /// the study file, as given, and its text's hash
    pub file: &'a str,
    pub file_hash: String,
    /// where engines run: the study file's directory
    pub study_dir: PathBuf,
    /// where the state lies
    pub dir: PathBuf,
    pub host: Host,
    /// the facts of this machine, with absolute paths
    pub site: Site,
    /// the hub's models and local directories that engines load, by name
    pub models: BTreeMap<String, Resolved>,
    /// images of this machine by name, with their own ids
    pub images: BTreeMap<String, String>,
    /// what runs already at the addresses that the site names
    pub servers: Servers,
    pub lock: Lock,
    pub journal: Ledger,
    pub signals: Signals,
    /// how the load generator fared here just now, if it was tried
    pub client: Option<ClientTrial>,
    /// what launches may take, before any was made
    pub guess: Guess,
    /// how many launches may run side by side, and where
    pub yard: Yard,
    /// what the study may cost
    pub budget: Option<Budget>,
    /// what it had no room for, in this invocation
    pub left_out: LeftOut,
}

impl Execution<'_> {
    /// The results that the journal holds and that still count.
    pub fn results(&self) -> Results {
        self.standing().results(&self.journal.history(), self.checks)
    }

    /// The same once what was measured of these configurations is put aside.
    pub fn results_without(&self, configs: &[String], asked: &[String]) -> Results {
        let mut history = self.journal.history().clone();
        history.put_aside(configs, asked);
        self.standing().results(&history, self.checks)
    }

    /// All of the study that the file states.
    pub fn whole(&self) -> &Study {
        self.whole.unwrap_or(self.study)
    }

    /// What the last invocation that measured something said of results that count no more, as far as it is still so.
    pub fn measured_again(&self) -> Vec<String> {
        let history = self.journal.history();
        if told_last(&history).is_empty() {
            return Vec::new();
        }
        opening::measured_again_still(&history, &self.standing())
    }

    /// What everything is measured under now.
    pub(super) fn standing(&self) -> Standing<'_> {
        let standing = Standing::new(self.program, &self.host, &self.site, &self.study_dir, &self.images);
        standing.with_servers(&Elsewhere::of(self), self.servers.known())
    }

    /// Names this study's launches among all of this machine, so that leftovers of an earlier run are known as ours.
    pub(super) fn mark(&self) -> String {
        let dir = self.dir.canonicalize().unwrap_or_else(|_| self.dir.clone());
        format!("plab-{}-", short_hash(&dir.to_string_lossy()))
    }
}
