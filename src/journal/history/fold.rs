//! How events are folded into a history: those that are just written whole, those of a file mostly as [lean](super::super::lean) lines.

use std::sync::Arc;

use foldhash::HashSet;

use super::super::event::{Event, Kind};
use super::super::lean::{Ended, Launched, Line, Ran, Told, Written};
use super::super::made::Conditions;
use super::super::records::{Aside, LaunchRecord, RunRecord, SessionRecord, Traces};
use super::History;

/// The texts of conditions that were read last, and what they say: the next run was mostly made under one of them.
#[derive(Debug, Default)]
pub struct Recent(Vec<(Box<str>, Arc<Conditions>)>);

impl Recent {
    /// More engines than these rarely take turns.
    const KEPT: usize = 4;

    fn find(&self, text: &str) -> Option<&Arc<Conditions>> {
        self.0.iter().find(|(known, _)| **known == *text).map(|(_, made)| made)
    }

    fn add(&mut self, text: &str, made: Arc<Conditions>) {
        if self.0.len() == Self::KEPT {
            self.0.remove(0);
        }
        self.0.push((text.into(), made));
    }
}

impl History {
    /// Gives back memory that nothing is in, but for what a study may soon add; and texts that one record has alone are known no more: of
    /// ten thousand configurations each has two.
    pub(in super::super) fn shrink(&mut self) {
        const MORE: usize = 256;
        self.texts.retain(|text| Arc::strong_count(text) > 2);
        self.texts.shrink_to_fit();
        self.launches.shrink_to(self.launches.len() + MORE);
        self.runs.shrink_to(self.runs.len() + MORE);
    }

    /// Why an event cannot follow on what is here: a run is of the configuration that its launch started, and is told once.
    pub(in super::super) fn contradiction(&self, event: &Event) -> Option<String> {
        let Kind::Run { launch, config_id, profile_id, run, .. } = &event.kind else { return None };
        self.contradicted(launch, config_id, (profile_id, run.n))
    }

    fn contradicted(&self, launch: &str, config_id: &str, (profile_id, n): (&str, u32)) -> Option<String> {
        if self.by_id.get(launch).is_some_and(|at| self.told.contains(&(*at, n, profile_id.into()))) {
            return Some(format!("run {n} of launch {launch} stands here a second time"));
        }
        let started = &*self.launch_of(launch)?.config_id;
        (*started != *config_id).then(|| {
            format!("it is a run of configuration {config_id}, and its launch {launch} started {started}")
        })
    }

    /// Takes the next event in.
    pub fn push(&mut self, event: Event) {
        self.reach(event.seq, event.session, event.session_s);
        match event.kind {
            Kind::Session {
                perflab,
                file,
                file_hash,
                set,
                site,
                price_per_s,
                simulated,
                machine,
                gpu_levels,
                client,
                again,
                ..
            } => {
                for (uuid, level) in gpu_levels {
                    let known = self.gpu_levels.entry(uuid).or_insert(level);
                    *known = (*known).min(level);
                }
                let session = SessionRecord {
                    perflab,
                    file,
                    file_hash,
                    set,
                    site,
                    machine,
                    client,
                    again,
                    price_per_s,
                    simulated,
                };
                self.sessions.push(session);
            }
            Kind::Launch {
                launch,
                config_id,
                config,
                nonce,
                container,
                slot,
                installed,
                found,
                check,
                ..
            } => {
                let (launch, config_id, nonce) = (launch.into(), config_id.into(), nonce.into());
                let config = Written::from(&config);
                self.launched(Launched {
                    launch,
                    config_id,
                    config,
                    nonce,
                    container,
                    slot,
                    installed,
                    found,
                    check,
                });
            }
            Kind::Run {
                launch,
                config_id,
                profile_id,
                serve_id,
                host_id,
                run,
                made,
                seed,
                opened,
                infrastructure,
                ..
            } => {
                let ran = Ran {
                    launch: launch.into(),
                    config_id: config_id.into(),
                    profile_id: profile_id.into(),
                    serve_id: serve_id.into(),
                    host_id: host_id.into(),
                    infrastructure,
                    run,
                    made: None,
                    seed,
                    opened,
                };
                let made = made.map(|made| self.shared(*made));
                self.ran(ran, made);
            }
            Kind::Gone { launch, times, gpus, changed, appeared, came, made, left, stuck: _ } => {
                self.gone(Ended { launch: launch.into(), times, gpus, changed, appeared, came, made, left });
            }
            Kind::Lost { launch, after_s, gpus } => self.lost(&launch, after_s, gpus),
            Kind::Checked { of, sample, .. } => self.checked.push((of, sample)),
            Kind::Neighbours { of, verdict } => self.neighbours.push((of, verdict)),
            Kind::Again { configs, asked } => self.put_aside(&configs, &asked),
            // what servers say of themselves is long, stands in the journal for people, and decides nothing
            Kind::Ready { .. } | Kind::Setback { .. } | Kind::End { .. } => {}
        }
    }

    /// What was measured of configurations until now is no result any more.
    pub fn put_aside(&mut self, configs: &[String], asked: &[String]) {
        let configs: HashSet<&str> = configs.iter().map(String::as_str).collect();
        let runs = self.runs.iter_mut().filter(|r| configs.contains(&*r.config_id));
        runs.for_each(|r| r.put_aside = Some(Aside::of(asked)));
    }

    /// What a line says of the conditions of its run, if it is one's.
    pub(in super::super) fn made(
        &mut self,
        line: &Line<'_>,
        recent: &mut Recent,
    ) -> serde_json::Result<Option<Arc<Conditions>>> {
        let Told::Run(Ran { made: Some(text), .. }) = &line.kind else { return Ok(None) };
        if let Some(known) = recent.find(text.get()) {
            return Ok(Some(known.clone()));
        }
        let made = self.shared(serde_json::from_str(text.get())?);
        recent.add(text.get(), made.clone());
        Ok(Some(made))
    }

    /// Takes in the next line of a file, with its run's conditions; an error where it contradicts what is here.
    pub(in super::super) fn take(
        &mut self,
        line: Line<'_>,
        made: Option<Arc<Conditions>>,
    ) -> Result<(), String> {
        if let Told::Run(ran) = &line.kind
            && let Some(why) = self.contradicted(&ran.launch, &ran.config_id, (&ran.profile_id, ran.run.n))
        {
            return Err(why);
        }
        self.reach(line.seq, line.session, line.session_s);
        match line.kind {
            Told::Launch(launched) => self.launched(launched),
            Told::Run(ran) => self.ran(ran, made),
            Told::Gone(ended) => self.gone(ended),
            Told::Ready(_) => {}
        }
        Ok(())
    }

    fn reach(&mut self, seq: u64, session: u32, session_s: f64) {
        if session != self.session {
            self.earlier_s += self.session_s;
            self.before = (self.session, self.session_s);
        }
        (self.seq, self.session, self.session_s) = (seq, session, session_s);
    }

    fn launched(&mut self, l: Launched<'_>) {
        self.installed.extend(l.installed.map(|i| (i.id, i.libraries)));
        let id: Arc<str> = l.launch.into();
        self.by_id.insert(id.clone(), self.launches.len());
        self.open.push(self.launches.len());
        let record = LaunchRecord {
            id,
            config_id: self.text(&l.config_id),
            engine: self.text(&l.config.engine),
            config: self.text(&l.config.text),
            times: None,
            lost_s: None,
            gpus: 0,
            price_per_s: self.sessions.last().and_then(|s| s.price_per_s),
            simulated: self.sessions.last().is_some_and(|s| s.simulated),
            container: l.container.map(Box::new),
            check: l.check,
            traces: Traces { found: l.found.into_iter().collect(), ..Traces::default() }.kept(),
            slot: l.slot.map(|s| s.number),
            nonce: l.nonce.into(),
            begun: (self.session, self.session_s),
            span: (self.seq, 0),
        };
        self.launches.push(record);
    }

    fn ran(&mut self, ran: Ran<'_>, made: Option<Arc<Conditions>>) {
        let mut run = ran.run;
        self.opened.extend(ran.opened.map(|o| (o.id.clone(), o)));
        run.metrics.shrink();
        let launch = self.by_id.get_key_value(&run.launch).map(|(id, at)| (id.clone(), *at));
        let profile_id = self.text(&ran.profile_id);
        if let Some((id, at)) = launch {
            run.launch = id;
            self.told.insert((at, run.n, profile_id.clone()));
        }
        let record = RunRecord {
            config_id: self.text(&ran.config_id),
            profile_id,
            serve_id: self.text(&ran.serve_id),
            host_id: self.text(&ran.host_id),
            made,
            seed: ran.seed,
            infrastructure: ran.infrastructure,
            session: self.session,
            put_aside: None,
            run: Arc::new(run),
        };
        self.runs.push(record);
    }

    fn gone(&mut self, ended: Ended<'_>) {
        let seq = self.seq;
        if let Some(l) = self.launch(&ended.launch) {
            l.span.1 = seq;
            (l.times, l.gpus) = (Some(ended.times), ended.gpus);
            let found = l.traces.take().map(|traces| traces.found).unwrap_or_default();
            let (changed, appeared, came, made) = (ended.changed, ended.appeared, ended.came, ended.made);
            let left = ended.left.into_iter().collect();
            l.traces = Traces { changed, appeared, came, made, found, left }.kept();
        }
        self.close(&ended.launch);
    }

    fn lost(&mut self, launch: &str, after_s: f64, gpus: u32) {
        let (last, last_s) = self.before;
        let seq = self.seq;
        let mut unseen_s = 0.0;
        if let Some(l) = self.launch(launch) {
            (l.lost_s, l.gpus, l.span.1) = (Some(after_s), gpus, seq);
            let (session, begun_s) = l.begun;
            unseen_s = if session == last { after_s - (last_s - begun_s) } else { 0.0 };
        }
        // of launches side by side each says so
        let known = self.lived_on.entry(last).or_default();
        *known = known.max(unseen_s);
        self.close(launch);
    }

    fn launch(&mut self, id: &str) -> Option<&mut LaunchRecord> {
        self.by_id.get(id).and_then(|i| self.launches.get_mut(*i))
    }

    fn close(&mut self, id: &str) {
        let Some(i) = self.by_id.get(id) else { return };
        self.open.retain(|o| o != i);
        if let Some(l) = self.launches.get_mut(*i) {
            l.nonce = Box::default();
        }
    }

    fn text(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return known.clone();
        }
        let text: Arc<str> = text.into();
        self.texts.insert(text.clone());
        text
    }

    fn shared(&mut self, made: Conditions) -> Arc<Conditions> {
        if let Some(known) = self.conditions.iter().rev().find(|c| ***c == made) {
            return known.clone();
        }
        let made = Arc::new(made);
        self.conditions.push(made.clone());
        made
    }
}
