//! A whole load: prompts are made, the server is warmed, requests are sent and followed, and the records
//! summed up.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::alarm::Alarm;
use super::arrivals::Arrivals;
use super::body::BodyForm;
use super::client::{ClientFacts, ClientWatch};
use super::collect::{Collected, Watch, collect};
use super::compatible::columns;
use super::drive::{Drive, Source};
use super::error::LoadError;
use super::findings::{self, Finding};
use super::http::HttpClient;
use super::kitchen::{Counts, Kitchen, on_all_cores};
use super::late::LateTokens;
use super::observer::{Observer, Phase};
use super::outcome::{Ended, LoadOutcome, PromptFacts, Sending, WarmupFacts};
use super::pantry::Pantry;
use super::plan::{self, Plan};
use super::prompts::PromptMaker;
use super::record::RequestRecord;
use super::request::Lab;
use super::seeds::Purpose;
use super::sent;
use super::server::{Read, Scraper};
use super::spec::{LoadSpec, Stop, Warmup};
use super::stalls::{self, Stalled};
use super::summary::summarize;
use super::warmup::{SettleRule, Settling};
use super::worker::Worker;
use crate::data::{Content, DataSet, Made, Source as DataSource, TemplateTokens};
use crate::disk::Shelf;

/// Connections that are opened before the clock starts, at most.
const OPENED_AHEAD: usize = 4096;

/// Runs a load against a server that is ready, on a thread of its own.
///
/// `cancel` ends it at once: open connections are dropped, and the outcome holds what had ended. `dead` says
/// that the server's process is gone: nothing more is sent, and open requests fail by what they see within a
/// second. What goes wrong with requests stands in the outcome; an error means that there was no load.
pub async fn run(
    spec: &LoadSpec,
    observer: &mut dyn Observer,
    cancel: &CancellationToken,
    dead: &CancellationToken,
) -> Result<LoadOutcome, LoadError> {
    // those who run loads among much else would carry it all around
    Box::pin(run_with(spec, SettleRule::default(), observer, cancel, dead)).await
}

/// [`run`] with a settling of the warm-up's own.
pub(super) async fn run_with(
    spec: &LoadSpec,
    settle: SettleRule,
    observer: &mut dyn Observer,
    cancel: &CancellationToken,
    dead: &CancellationToken,
) -> Result<LoadOutcome, LoadError> {
    spec.check()?;
    observer.phase(Phase::Preparing);
    let prepared = tokio::select! {
        prepared = Prepared::of(spec, settle) => prepared?,
        () = cancel.cancelled() => return Ok(cancelled(spec, WarmupFacts::default())),
    };
    let worker = Worker::start(&spec.cpus)?;
    prepared.client.serve(worker.handle())?;
    let mut bench = Bench { spec, client: prepared.client, worker, observer, cancel, dead };
    let warmup = match prepared.warmup {
        Some(plan) => bench.warm_up(plan, settle).await?,
        None => WarmupFacts::default(),
    };
    let planned = prepared.load.planned;
    if cancel.is_cancelled() {
        return Ok(cancelled(spec, warmup));
    }
    let sent = bench.load(prepared.load, &warmup).await?;
    let ended = ended(&sent.collected, planned, cancel, dead);
    let asked = sent.collected.records.len() as u64;
    let again = match prepared.content.as_deref() {
        Some(Content::Talks(all)) => talked_again(&sent.collected.records, all.len() as u64),
        _ => 0,
    };
    let mut outcome = outcome(spec, sent, planned, ended, warmup);
    outcome.template_tokens = prepared.template.map(|template| template.added);
    outcome.prompts = Some(prompt_facts(spec, &prepared.kitchen, prepared.kept, asked));
    if let Some(content) = &prepared.content {
        outcome.findings.extend(of_content(spec, content, asked, again));
    }
    Ok(outcome)
}

/// The first prompts that a load without a data set sends, made as it makes them.
///
/// # Errors
/// A tokenizer that cannot be used, or has no prompt of such a length.
pub async fn prompts(spec: &LoadSpec, count: u64) -> Result<Vec<String>, LoadError> {
    let (maker, _) = maker(spec).await?;
    let made = tokio::task::spawn_blocking(move || {
        on_all_cores(0..count, |index| maker.make(Purpose::Load, index).map(|prompt| prompt.text))
    });
    made.await.map_err(|e| LoadError::Task(e.to_string()))?
}

/// Everything that can be made before the clock starts.
struct Prepared {
    client: HttpClient,
    warmup: Option<Plan>,
    load: Plan,
    content: Option<Arc<Content>>,
    template: Option<TemplateTokens>,
    kitchen: Arc<Kitchen>,
    /// Its data set was known from before.
    kept: bool,
}

impl Prepared {
    async fn of(spec: &LoadSpec, settle: SettleRule) -> Result<Self, LoadError> {
        let client = HttpClient::new(spec).await?;
        let (maker, pantry) = maker(spec).await?;
        let made = content(spec).await?;
        let (of_data, kept) = made.as_ref().map_or((None, false), |made| (made.template, made.kept));
        let content = made.map(|made| Arc::new(made.content));
        let (form, counts) = (BodyForm::of(spec), Counts::default());
        let kitchen = Arc::new(Kitchen { maker, given: content.clone(), form, pantry, counts });
        let load = plan::of_load(spec, &kitchen).await?;
        let warmup = plan::of_warmup(spec, &kitchen, settle).await?;
        let template = kitchen.template().or(of_data);
        Ok(Self { client, warmup, load, content, template, kitchen, kept })
    }
}

/// The load's data set, made off the runtime's threads.
async fn content(spec: &LoadSpec) -> Result<Option<Made>, LoadError> {
    let Some(data) = spec.data.clone() else { return Ok(None) };
    let body = spec.api.has_template().then(|| spec.extra_body.clone());
    let shelf = spec.prompt_cache.clone().map(Shelf::new);
    let made = tokio::task::spawn_blocking(move || data.content(body.as_ref(), shelf.as_ref())).await;
    Ok(Some(made.map_err(|e| LoadError::Task(e.to_string()))??))
}

/// Where the load's prompts came from. A data set's are known or made all together.
fn prompt_facts(spec: &LoadSpec, kitchen: &Kitchen, kept: bool, asked: u64) -> PromptFacts {
    match spec.data.as_deref() {
        // its texts are made here
        None | Some(DataSet { source: DataSource::Trace(_), .. }) => kitchen.facts(asked),
        Some(_) if kept => PromptFacts { from_cache: asked, made: 0, tokenizer_read: false },
        Some(data) => PromptFacts { from_cache: 0, made: asked, tokenizer_read: data.tokenizer.is_some() },
    }
}

/// What is to be known of a load's data set.
fn of_content(spec: &LoadSpec, content: &Content, requests: u64, talked_again: u64) -> Vec<Finding> {
    let mut found = Vec::new();
    let (beginnings, again): (Vec<Option<u64>>, u64) = match content {
        Content::Questions(questions) => {
            (questions.iter().map(|q| q.beginning).collect(), sent::asked_again(questions, requests))
        }
        Content::Talks(all) => (all.iter().map(|talk| talk.beginning).collect(), talked_again),
        Content::Traced(trace) => return of_trace(spec, trace.len() as u64, requests),
    };
    let alike = spec.sent.begin_alike(&beginnings);
    if alike > 0 {
        found.push(Finding::BeginAlike { requests: alike, of: beginnings.len() as u64 });
    }
    if again > 0 {
        found.push(Finding::AskedAgain { requests: again, different: requests - again });
    }
    found
}

/// Requests of conversations that were begun again, because there were too few.
fn talked_again(records: &[RequestRecord], conversations: u64) -> u64 {
    let again = |r: &&RequestRecord| r.turn.is_some_and(|place| place.conversation >= conversations);
    records.iter().filter(again).count() as u64
}

/// A trace is played once where its own times are kept; other arrivals begin it again.
fn of_trace(spec: &LoadSpec, traced: u64, requests: u64) -> Vec<Finding> {
    match (spec.arrivals, spec.stop) {
        (Arrivals::Trace { .. }, Stop::Requests(asked)) if asked > traced => {
            vec![Finding::TraceEnded { requests: traced, asked }]
        }
        _ if requests > traced => {
            vec![Finding::AskedAgain { requests: requests - traced, different: traced }]
        }
        _ => Vec::new(),
    }
}

/// Who makes prompts, and those that were made before. A large tokenizer takes a while even to be told from others, so it is not done on
/// the runtime's threads.
async fn maker(spec: &LoadSpec) -> Result<(PromptMaker, Option<Pantry>), LoadError> {
    let spec = spec.clone();
    let made = tokio::task::spawn_blocking(move || {
        let prompts = &spec.prompts;
        let maker = PromptMaker {
            input: prompts.input.clone(),
            output: prompts.output.clone(),
            tokenizer: LateTokens::of(&spec)?,
            shared: prompts.shared,
            seed: spec.seed,
        };
        let pantry = Pantry::of(&spec, &maker);
        Ok((maker, pantry))
    });
    made.await.map_err(|e| LoadError::Task(e.to_string()))?
}

/// What a load sent, and how its client fared.
#[derive(Default)]
struct Sent {
    collected: Collected,
    client: ClientFacts,
    stalled: Option<Stalled>,
    server: Option<Read>,
    made_late: u64,
}

/// What warm-up and load have in common.
struct Bench<'a> {
    spec: &'a LoadSpec,
    client: HttpClient,
    worker: Worker,
    observer: &'a mut dyn Observer,
    cancel: &'a CancellationToken,
    dead: &'a CancellationToken,
}

impl Bench<'_> {
    fn lab(&self) -> Arc<Lab> {
        let (dead, death) = (self.dead.clone(), Alarm::default());
        let bell = death.clone();
        self.worker.handle().spawn(async move {
            dead.cancelled().await;
            bell.ring();
        });
        Arc::new(Lab {
            client: self.client.clone(),
            timeouts: self.spec.timeouts,
            ignores_eos: self.spec.ignores_eos(),
            model: self.spec.model.clone(),
            keeps: self.spec.keeps_answers(),
            streams: self.spec.stream,
            began: Instant::now(),
            enough: CancellationToken::new(),
            halt: self.cancel.child_token(),
            dead: self.dead.clone(),
            death,
            begun: AtomicU64::new(0),
            chunks: AtomicU64::new(0),
        })
    }

    async fn warm_up(&mut self, plan: Plan, settle: SettleRule) -> Result<WarmupFacts, LoadError> {
        self.observer.phase(Phase::WarmupBegun);
        let looks = self.spec.warmup == Warmup::Auto;
        let slots = plan::slots(self.spec);
        let watch = if looks { Watch::Settling(Settling::new(settle), slots) } else { Watch::Nothing };
        let lab = self.lab();
        let drive = Drive::start(&lab, plan.source, &self.worker)?;
        let got = collect(drive, &lab, self.observer, plan.planned, slots, watch).await?;
        let took = lab.began.elapsed();
        let settled = looks.then_some(got.settled);
        self.observer.phase(Phase::WarmupDone { took, settled });
        Ok(WarmupFacts {
            seconds: took.as_secs_f64(),
            requests: got.records.len() as u64,
            failed: got.records.iter().filter(|r| !r.is_completed()).count() as u64,
            settled,
        })
    }

    async fn load(&mut self, plan: Plan, warmup: &WarmupFacts) -> Result<Sent, LoadError> {
        let feed = match &plan.source {
            Source::Closed { feed, .. } => Some(Arc::clone(feed)),
            Source::Open { .. } | Source::Talking { .. } | Source::Arriving { .. } => None,
        };
        if let (Some(feed), None) = (&feed, plan.planned) {
            tokio::select! {
                made = feed.expect_rate(warmup.request_rate()) => made?,
                () = self.cancel.cancelled() => {}
            }
        }
        let slots = plan::slots(self.spec);
        let (client, ahead) =
            (self.client.clone(), plan::first_connections(self.spec, &plan.source).min(OPENED_AHEAD));
        self.client.let_go();
        let scraper = self.cancel.run_until_cancelled(Scraper::start(self.spec)).await.flatten();
        let opened = self.worker.run(async move { client.open_ahead(ahead).await });
        self.cancel.run_until_cancelled(opened).await.transpose()?;
        self.observer.phase(Phase::LoadBegun { planned: plan.planned });
        let watch = ClientWatch::start(self.worker.handle());
        let lab = self.lab();
        let drive = Drive::start(&lab, plan.source, &self.worker)?;
        let checkpoints = Watch::Checkpoints(&self.spec.checkpoints);
        let collected = collect(drive, &lab, self.observer, plan.planned, slots, checkpoints).await?;
        let (client, stalls) = watch.stop().await;
        let stalled = stalls::of(&stalls, lab.began, &collected.records);
        self.client.let_go();
        let server = match scraper {
            Some(scraper) => Some(scraper.stop().await),
            None => None,
        };
        if let Some(error) = feed.as_ref().and_then(|feed| feed.take_error()) {
            return Err(error);
        }
        Ok(Sent { collected, client, stalled, server, made_late: feed.map_or(0, |feed| feed.made_late()) })
    }
}

fn ended(
    got: &Collected,
    planned: Option<u64>,
    cancel: &CancellationToken,
    dead: &CancellationToken,
) -> Ended {
    let all_ended = planned == Some(got.records.len() as u64);
    let all_well = all_ended && got.records.iter().all(RequestRecord::is_completed);
    if got.stopped && !all_ended {
        Ended::StoppedEarly
    } else if cancel.is_cancelled() && !all_ended {
        Ended::Cancelled
    } else if dead.is_cancelled() && !all_well {
        Ended::ServerDied
    } else if got.hopeless {
        Ended::NothingSucceeded
    } else {
        Ended::Whole
    }
}

/// The outcome of a load that was cancelled before its first request.
fn cancelled(spec: &LoadSpec, warmup: WarmupFacts) -> LoadOutcome {
    outcome(spec, Sent::default(), None, Ended::Cancelled, warmup)
}

fn outcome(
    spec: &LoadSpec,
    sent: Sent,
    planned: Option<u64>,
    ended: Ended,
    warmup: WarmupFacts,
) -> LoadOutcome {
    let Collected { records, begun, .. } = sent.collected;
    let done = records.len() as u64;
    let sending = Sending { planned, begun };
    // what was dropped on purpose was not the server's fault
    let planned = match ended {
        Ended::StoppedEarly | Ended::Cancelled => done,
        Ended::Whole | Ended::ServerDied | Ended::NothingSucceeded => planned.unwrap_or(done),
    };
    let mut found = findings::of_warmup(&warmup);
    found.extend(findings::of_end(ended, &sending, &records));
    if sent.made_late > 0 {
        found.push(Finding::PromptsMadeLate { requests: sent.made_late });
    }
    found.extend(findings::of_records(&records, spec));
    let (server, counting) = sent.server.map(|read| (read.facts, read.counting)).unzip();
    found.extend(findings::of_server(server.as_ref()));
    found.extend(counting.and_then(|counting| counting.finding(&records)));
    let load_ns = records.iter().map(|r| r.end_ns).max().unwrap_or(0);
    LoadOutcome {
        summary: summarize(&records, planned, sent.client),
        columns: columns(&records, spec),
        records,
        ended,
        sending,
        warmup,
        load_s: load_ns as f64 / 1e9,
        stalled: sent.stalled,
        server,
        template_tokens: None,
        prompts: None,
        findings: found,
    }
}
