//! Sends the turns of conversations: the first at its time, each further one when the answer before it has ended and was thought about.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;

use super::drive::{REST, permit, unless_ending};
use super::metronome::Metronome;
use super::record::{RequestRecord, TurnPlace};
use super::request::{Job, Lab, perform_and_keep};
use super::talks::{Spoken, Talks};
use super::worker::Due;

/// One person after the other, each talking until the conversation ends.
pub(super) async fn closed(lab: Arc<Lab>, talks: Arc<Talks>, out: UnboundedSender<RequestRecord>) {
    loop {
        let free = lab.began.elapsed();
        let Some(number) = talks.begin(free) else { return };
        let talk =
            Talk { lab: Arc::clone(&lab), talks: Arc::clone(&talks), number, cap: None, out: out.clone() };
        match talk.go(free).await {
            Said::All => {}
            Said::Failed if unless_ending(&lab, tokio::time::sleep(REST)).await.is_some() => {}
            Said::Failed | Said::Enough => return,
        }
    }
}

/// People who come at their times, however long those before them still talk.
pub(super) async fn open(
    lab: Arc<Lab>,
    talks: Arc<Talks>,
    (times, mut metronome): (Vec<Duration>, Metronome),
    cap: Option<Arc<Semaphore>>,
    out: UnboundedSender<RequestRecord>,
) {
    let mut under_way = JoinSet::new();
    for time in times {
        let Some(Some(number)) = unless_ending(&lab, metronome.tick()).await else { break };
        let (lab, talks, cap, out) = (Arc::clone(&lab), Arc::clone(&talks), cap.clone(), out.clone());
        under_way.spawn(Talk { lab, talks, number: number as u64, cap, out }.go(time));
        while under_way.try_join_next().is_some() {}
    }
    drop((out, metronome));
    while under_way.join_next().await.is_some() {}
}

/// How a conversation ended.
enum Said {
    All,
    /// A request failed: there is no answer to go on from.
    Failed,
    /// Nothing more is to be sent, or can be.
    Enough,
}

struct Talk {
    lab: Arc<Lab>,
    talks: Arc<Talks>,
    number: u64,
    cap: Option<Arc<Semaphore>>,
    out: UnboundedSender<RequestRecord>,
}

impl Talk {
    async fn go(self, mut scheduled: Duration) -> Said {
        let Some(mut spoken) = self.talks.first(self.number) else { return Said::Enough };
        let mut turn = 0;
        loop {
            let Some((ended, body, tokens)) = self.turn(turn, scheduled, &spoken).await else {
                return Said::Enough;
            };
            let Some(ended) = ended else { return Said::Failed };
            turn += 1;
            if !self.talks.has(self.number, turn) {
                return Said::All;
            }
            scheduled = ended + self.talks.think(self.number, turn);
            let Some(next) = self.next(turn, spoken, body, tokens).await else { return Said::Enough };
            spoken = next;
            if unless_ending(&self.lab, self.until(scheduled)).await.is_none() {
                return Said::Enough;
            }
        }
    }

    /// Sends a turn; when its answer had ended, unless it failed, and what it was. Nothing, where nothing more is to be sent.
    async fn turn(
        &self,
        turn: usize,
        scheduled: Duration,
        spoken: &Spoken,
    ) -> Option<(Option<Duration>, Vec<u8>, u32)> {
        let permit = unless_ending(&self.lab, permit(self.cap.as_ref())).await?;
        let scheduled_ns = u64::try_from(scheduled.as_nanos()).unwrap_or(u64::MAX);
        let released_ns = permit.since.map_or(scheduled_ns, |at| self.lab.ns(at).max(scheduled_ns));
        let index = self.talks.send(self.lab.began.elapsed())?;
        let place = TurnPlace { conversation: self.number, turn: turn as u32 + 1 };
        let rendered = spoken.rendered.clone();
        let job = Job { index, scheduled_ns, released_ns, rendered, turn: Some(place) };
        let (record, body) = perform_and_keep(Arc::clone(&self.lab), job).await;
        drop(permit);
        let ended = record.is_completed().then(|| Duration::from_nanos(record.end_ns));
        let tokens = record.output_tokens;
        self.out.send(record).ok()?;
        Some((ended, body, tokens))
    }

    /// The next turn's request: made while its person thinks, and not on the thread that reads the streams.
    async fn next(&self, turn: usize, before: Spoken, body: Vec<u8>, tokens: u32) -> Option<Spoken> {
        let (talks, number) = (Arc::clone(&self.talks), self.number);
        let made = tokio::task::spawn_blocking(move || talks.next(number, turn, before, &body, tokens));
        made.await.ok()?.ok()
    }

    /// Waits for a time, by a timer as fine as that of a schedule.
    async fn until(&self, time: Duration) {
        if self.lab.began.elapsed() >= time {
            return;
        }
        match Metronome::start(self.lab.began, vec![time], &Handle::current(), Due::never()) {
            Ok(mut metronome) => drop(metronome.tick().await),
            Err(_) => tokio::time::sleep_until((self.lab.began + time).into()).await,
        }
    }
}
