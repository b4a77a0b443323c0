//! Servers that somebody else runs (`via url`): what answers at their addresses now. A result counts only for the server that it was
//! measured on, so each is asked before what was measured there is used again, before a launch and after it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::execution::Execution;
use super::launch::Crew;
use super::replaced::Sockets;
use super::served::Tell;
use super::target::Target;
use super::unmet::Unmet;
use super::{key, provenance};
use crate::journal::{History, Running};
use crate::lang::Program;
use crate::lang::sema::program::{Site, Study, Via};
use crate::load::{FailureKind, Finding, LoadOutcome, RequestRecord, is_mixed};
use crate::plan::{Config, named_engines};
use crate::trust;

/// One that answers does so at once; a study is not held up for one that nobody may need.
const GLANCE: Duration = Duration::from_secs(3);

/// What is known of them, by address.
#[derive(Debug, Default)]
pub struct Servers(Mutex<BTreeMap<String, Running>>);

impl Servers {
    /// As they are known now.
    pub fn known(&self) -> BTreeMap<String, Running> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn learn(&self, found: Running) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(found.url.clone(), found);
    }

    /// Asks those of a study on which something was measured. What comes back is why some do not answer, a sentence each.
    pub async fn ask(
        &self,
        of: &Elsewhere<'_>,
        measured: &Measured,
        cancel: &CancellationToken,
        tell: &mut Tell<'_>,
    ) -> Vec<String> {
        let mut silent = Vec::new();
        for (config, url) in of.configs() {
            if !measured.0.contains(&url) || cancel.is_cancelled() {
                continue;
            }
            match of.look(&url, &config, GLANCE, cancel, tell).await {
                Ok((found, _)) => self.learn(found),
                Err(Unmet { why, .. }) => {
                    silent.push(format!("{why}: what was measured at {url} does not count until it does"));
                }
            }
        }
        silent
    }
}

/// The addresses of the servers on which something was measured.
pub struct Measured(BTreeSet<String>);

impl Measured {
    pub fn of(history: &History) -> Self {
        let made = history.runs().iter().filter_map(|r| r.made.as_ref()?.running.as_ref());
        Self(made.map(|r| r.url.clone()).collect())
    }
}

/// Where a study's running servers are named.
pub struct Elsewhere<'a> {
    pub program: &'a Program,
    pub study: &'a Study,
    pub site: &'a Site,
    pub study_dir: &'a Path,
}

impl<'a> Elsewhere<'a> {
    pub(super) fn of(x: &'a Execution<'_>) -> Self {
        Self { program: x.program, study: x.whole(), site: &x.site, study_dir: &x.study_dir }
    }

    /// The configurations that run already, each with the address of its server.
    fn configs(&self) -> Vec<(Config, String)> {
        let engines = named_engines(self.program, self.study);
        let running = engines.into_iter().filter_map(|engine| match &engine.via {
            Via::Url(url) => Some((Config::declared(&engine, self.study), url.clone())),
            _ => None,
        });
        running.collect()
    }

    /// The addresses by the configurations' ids.
    pub fn addresses(&self) -> BTreeMap<String, String> {
        self.configs().into_iter().map(|(config, url)| (config.id().to_owned(), url)).collect()
    }

    /// Asks one what it is, and why it may not be measured, if so. The error says why that is not to be known.
    async fn look(
        &self,
        url: &str,
        config: &Config,
        patience: Duration,
        cancel: &CancellationToken,
        tell: &mut Tell<'_>,
    ) -> Result<(Running, Option<String>), Unmet> {
        let key = key::of(config, self.site, self.study_dir);
        let target = Target::elsewhere(url, config, key, patience, cancel, tell).await?;
        let root = config.engine.root();
        // its log is its owner's
        let says = provenance::ask(url, target.key.as_ref(), root, Path::new("")).await;
        let model = target.model.unwrap_or_else(|| config.model.clone());
        // the same arguments make the same server
        let page = config.engine.metrics.as_deref().filter(|_| says.arguments.is_empty());
        let started = match page {
            Some(page) => provenance::started(url, page, target.key.as_ref()).await,
            None => None,
        };
        let silent = says.arguments.is_empty() && started.is_none();
        let sockets = target.sockets.as_ref().filter(|_| silent).map(Sockets::names).unwrap_or_default();
        let mut told = says.arguments;
        told.extend(provenance::facts_of(url, target.key.as_ref(), &model).await);
        let arguments = provenance::hash_of(&told);
        Ok((
            Running { url: url.to_owned(), version: says.version, model, arguments, started, sockets },
            target.another,
        ))
    }
}

/// Asks those on which something was measured, before any of that is used again.
pub async fn ask(x: &Execution<'_>, tell: &mut Tell<'_>) -> Vec<String> {
    let measured = Measured::of(&x.journal.history());
    x.servers.ask(&Elsewhere::of(x), &measured, &x.signals.first, tell).await
}

/// Asks the server of a configuration before it is loaded, and waits for it; nothing to do for one of ours. The error says why it
/// cannot be measured.
pub async fn before(
    x: &Execution<'_>,
    config: &Config,
    cancel: &CancellationToken,
    tell: &mut Tell<'_>,
) -> Result<(), Unmet> {
    let Via::Url(url) = &config.engine.via else { return Ok(()) };
    let (found, another) = Elsewhere::of(x).look(url, config, super::target::PATIENCE, cancel, tell).await?;
    x.servers.learn(found);
    another.map_or(Ok(()), |why| Err(Unmet::wrong(why)))
}

/// Asks it again after its loads: one that was exchanged under them shows.
pub async fn after(x: &Execution<'_>, config: &Config, cancel: &CancellationToken, tell: &mut Tell<'_>) {
    let Via::Url(url) = &config.engine.via else { return };
    if let Ok((found, _)) = Elsewhere::of(x).look(url, config, GLANCE, cancel, tell).await {
        x.servers.learn(found);
    }
}

/// Why a load of a server that runs already is no result, whatever its requests met: nobody answers there after it, or nobody took
/// connections while it went on. Who keeps the server knows why it went; what the load asked of it is no proof.
pub async fn lost(outcome: &LoadOutcome, crew: &Crew<'_>, target: &Target<'_>) -> Option<String> {
    if target.is_ours() {
        return None;
    }
    let failures = || outcome.records.iter().filter_map(|r| r.outcome.failure());
    let met =
        || format!("a load in which {} of {} requests failed", failures().count(), outcome.records.len());
    if let Some(why) = target.left(crew).await {
        return Some(format!("{why} after {}", met()));
    }
    if let Some(sockets) = &target.sockets
        && sockets.replaced(failures().next().is_some()).await
    {
        let url = &target.base_url;
        return Some(format!(
            "the server at {url} was started again under {}: another socket listens there",
            met()
        ));
    }
    if let Some(why) = turned_down(&target.base_url, outcome) {
        return Some(why);
    }
    let again = |finding: &&Finding| matches!(finding, Finding::BegunAnew { again: true, .. });
    if let Some(finding) = outcome.findings.iter().find(again) {
        return Some(format!("{}: {finding}, in {}", target.base_url, met()));
    }
    if let Some(finding) = outcome.findings.iter().find(|f| is_mixed(f)) {
        return Some(format!("several models answer at {}: {finding}", target.base_url));
    }
    let away = |message: &str| message.contains("refused") || trust::tells_broken_off(message);
    let refused = failures().find(|f| f.kind == FailureKind::Connect && away(&f.message))?;
    let url = &target.base_url;
    Some(format!("no connection could be made to {url} for a while under {}: {}", met(), refused.message))
}

/// What stands before a server, or one that is busy or broken, can answer each request with a status that tells of itself: that it leads
/// elsewhere, is not there, has had enough or failed. A status that tells of the request (400, 413, 422) is about the configuration.
fn turned_down(url: &str, outcome: &LoadOutcome) -> Option<String> {
    let of_itself = |status: u16| matches!(status, 300..=399 | 404 | 405 | 408 | 410 | 429 | 500..=599);
    let told = |r: &RequestRecord| {
        let failure = r.outcome.failure()?;
        let status = failure.kind == FailureKind::HttpStatus && r.http_status.is_some_and(of_itself);
        status.then(|| failure.message.clone())
    };
    let first = told(outcome.records.first()?)?;
    let all = outcome.records.iter().all(|r| told(r).is_some());
    all.then(|| format!("{url} answered each of {} requests with a failure: {first}", outcome.records.len()))
}
