//! The four events that a journal has most of, read without what a history does not keep. Texts are borrowed from the line, and a run's
//! conditions stay text: most runs were made under the same. Every other line, and one that does not fit, is an [`Event`](super::Event).

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::Value as Json;
use serde_json::value::RawValue;

use super::event::{Contained, Installed, LaunchTimes, Opened, Slot, VERSION};
use crate::judge::Run;

#[derive(Debug, Deserialize)]
pub struct Line<'a> {
    pub v: u32,
    pub seq: u64,
    pub session: u32,
    pub session_s: f64,
    #[serde(borrow)]
    pub kind: Told<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told<'a> {
    #[serde(borrow)]
    Launch(Launched<'a>),
    /// what servers say of themselves is long, and decides nothing
    Ready(IgnoredAny),
    #[serde(borrow)]
    Run(Ran<'a>),
    #[serde(borrow)]
    Gone(Ended<'a>),
}

#[derive(Debug, Deserialize)]
pub struct Launched<'a> {
    #[serde(borrow)]
    pub launch: Cow<'a, str>,
    #[serde(borrow)]
    pub config_id: Cow<'a, str>,
    #[serde(borrow)]
    pub config: Written<'a>,
    #[serde(borrow)]
    pub nonce: Cow<'a, str>,
    #[serde(default)]
    pub container: Option<Contained>,
    #[serde(default)]
    pub slot: Option<Slot>,
    #[serde(default)]
    pub installed: Option<Installed>,
    #[serde(default)]
    pub found: BTreeMap<String, String>,
    #[serde(default)]
    pub check: bool,
}

#[derive(Debug, Deserialize)]
pub struct Ran<'a> {
    #[serde(borrow)]
    pub launch: Cow<'a, str>,
    #[serde(borrow)]
    pub config_id: Cow<'a, str>,
    #[serde(borrow)]
    pub profile_id: Cow<'a, str>,
    #[serde(borrow)]
    pub serve_id: Cow<'a, str>,
    #[serde(borrow)]
    pub host_id: Cow<'a, str>,
    #[serde(default)]
    pub infrastructure: bool,
    pub run: Run,
    #[serde(borrow, default)]
    pub made: Option<&'a RawValue>,
    #[serde(default)]
    pub seed: Option<u64>,
    #[serde(default)]
    pub opened: Option<Opened>,
}

#[derive(Debug, Deserialize)]
pub struct Ended<'a> {
    #[serde(borrow)]
    pub launch: Cow<'a, str>,
    pub times: LaunchTimes,
    pub gpus: u32,
    #[serde(default)]
    pub changed: Vec<String>,
    #[serde(default)]
    pub appeared: Vec<String>,
    #[serde(default)]
    pub came: Vec<String>,
    #[serde(default)]
    pub made: Vec<String>,
    #[serde(default)]
    pub left: BTreeMap<String, String>,
}

/// A configuration as a history keeps it: as the text that perflab writes of it, and its engine's root and version.
#[derive(Debug)]
pub struct Written<'a> {
    pub text: Cow<'a, str>,
    pub engine: String,
}

impl From<&Json> for Written<'_> {
    fn from(config: &Json) -> Self {
        let word = |key: &str| config[key].as_str().unwrap_or_default();
        let engine = format!("{} {}", word("engine"), word("version"));
        Self { text: config.to_string().into(), engine }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Written<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Words<'a> {
            #[serde(borrow, default)]
            engine: Option<Cow<'a, str>>,
            #[serde(borrow, default)]
            version: Option<Cow<'a, str>>,
        }
        let text = <&RawValue>::deserialize(from)?.get();
        // spaces and escapes can be written in more than one way, and perflab writes them in one
        if text.bytes().any(|b| b.is_ascii_whitespace() || b == b'\\') {
            let config: Json = serde_json::from_str(text).map_err(D::Error::custom)?;
            return Ok(Self::from(&config));
        }
        let words: Words<'_> = serde_json::from_str(text).map_err(D::Error::custom)?;
        let word = |word: &Option<Cow<'_, str>>| word.as_deref().unwrap_or_default().to_owned();
        Ok(Self { text: text.into(), engine: word(&words.engine) + " " + &word(&words.version) })
    }
}

/// Reads a line, if it is one of these.
pub fn line(bytes: &[u8]) -> Option<Line<'_>> {
    let text = std::str::from_utf8(bytes).ok()?;
    serde_json::from_str::<Line<'_>>(text).ok().filter(|line| line.v <= VERSION)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use serde_json::json;

    use super::super::event::{Event, Kind, Says, Spelled};
    use super::super::history::History;
    use super::super::made::Conditions;
    use super::super::reader::{Requests, read};
    use super::super::seal::seal;
    use super::*;
    use crate::judge::{Distribution, Metrics, RunOutcome};

    /// What a text of a journal may have in it.
    fn text() -> impl Strategy<Value = String> {
        prop_oneof![Just("L001".to_owned()), Just("L002".to_owned()), "[a-b]{0,2}", "[\"\\\\ é\n,:{}]{0,3}"]
    }

    fn config() -> impl Strategy<Value = Json> {
        let value =
            prop_oneof![Just(Json::Null), text().prop_map(Json::from), any::<f64>().prop_map(Json::from)];
        (prop_oneof![text().prop_map(Json::from), Just(Json::Null), Just(json!(1))], text(), value).prop_map(
            |(version, engine, value)| json!({"engine": engine, "version": version, "flags": [{"value": value}]}),
        )
    }

    fn launch() -> impl Strategy<Value = Kind> {
        let slot = Slot { number: 2, of: 3, gpus: vec!["GPU-1".to_owned()], cpus: None, beside: Vec::new() };
        let libraries = [("torch".to_owned(), "2.9".to_owned())].into();
        let installed = Installed { id: "1a2b".to_owned(), libraries };
        let contained = Contained { runtime: "podman".to_owned(), image: "i".to_owned(), id: None };
        (text(), text(), config(), text(), any::<[bool; 4]>()).prop_map(
            move |(launch, config_id, config, nonce, [a, b, c, check])| Kind::Launch {
                launch,
                config_id,
                config,
                profiles: vec!["chat".to_owned()],
                label: "a".to_owned(),
                nonce,
                container: a.then(|| contained.clone()),
                model_files: None,
                command: vec!["sh".to_owned()],
                env: indexmap::IndexMap::new(),
                slot: b.then(|| slot.clone()),
                installed: c.then(|| installed.clone()),
                found: if c { installed.libraries.clone() } else { BTreeMap::new() },
                check,
            },
        )
    }

    fn metrics(names: &[String], value: f64, absent: bool) -> Metrics {
        let mut metrics = Metrics::default();
        for (i, name) in names.iter().enumerate() {
            metrics.set(name, value + i as f64);
            let mean = Some(value).filter(|v| v.is_finite() && !absent);
            metrics.set_distribution(
                name,
                Distribution { mean, p99: Some(i as f64), ..Distribution::default() },
            );
        }
        metrics
    }

    fn run() -> impl Strategy<Value = Kind> {
        let ids = (text(), text(), text(), text());
        let names = prop::collection::vec(prop_oneof![Just("ttft_ms".to_owned()), text()], 0..6);
        let made = (any::<bool>(), text(), 0..3u32);
        (ids, names, -1e9..1e9f64, made, any::<[bool; 3]>(), any::<Option<u64>>()).prop_map(
            |((launch, config_id, profile_id, serve_id), names, value, made, flags, seed)| {
                let (conditions, model, load_generator) = made;
                let [failed, infrastructure, confirming] = flags;
                let line = model.clone();
                let outcome = RunOutcome::FailedLoad { class: "GPU lost".to_owned(), line };
                let run = Run {
                    n: 1,
                    launch: launch.as_str().into(),
                    outcome: if failed { outcome } else { RunOutcome::Done },
                    metrics: metrics(&names, value, failed),
                    notes: names,
                    devices: None,
                    confirming,
                    simulated: failed,
                    log_tail: Vec::new(),
                };
                let opened = failed.then(|| Opened {
                    id: "3c4d".to_owned(),
                    files: [(model.clone(), launch.clone())].into(),
                    there: [launch.clone()].into(),
                    absent: [model.clone()].into(),
                    spelled: Some(Spelled { texts: [launch.clone()].into(), ..Spelled::default() }),
                });
                let conditions = conditions
                    .then(|| Box::new(Conditions { model, load_generator, ..Conditions::default() }));
                Kind::Run {
                    launch,
                    config_id,
                    profile: "chat".to_owned(),
                    profile_id,
                    serve_id,
                    host_id: "h".to_owned(),
                    infrastructure,
                    run,
                    made: conditions,
                    seed,
                    opened,
                }
            },
        )
    }

    fn kind() -> impl Strategy<Value = Kind> {
        let gone =
            (text(), 0.0..9e9f64, prop::collection::vec(text(), 0..2)).prop_map(|(launch, s, names)| {
                let times = LaunchTimes { start_s: s, ..LaunchTimes::default() };
                Kind::Gone {
                    launch,
                    times,
                    gpus: 2,
                    changed: names.clone(),
                    appeared: names.clone(),
                    came: names.clone(),
                    made: names.clone(),
                    left: names.iter().map(|name| (name.clone(), name.clone())).collect(),
                    stuck: names,
                }
            });
        let ready = text().prop_map(|launch| Kind::Ready { launch, after_s: 1.5, says: Says::default() });
        let lost =
            (text(), 0.0..9.0f64).prop_map(|(launch, after_s)| Kind::Lost { launch, after_s, gpus: 1 });
        let again = text().prop_map(|id| Kind::Again { configs: vec![id], asked: Vec::new() });
        prop_oneof![3 => launch(), 3 => run(), 2 => gone, 1 => ready, 1 => lost, 1 => again]
    }

    /// Everything that a history keeps, in words.
    fn told(history: &History) -> String {
        let made: Vec<Option<Arc<Conditions>>> = history.runs().iter().map(|r| r.made.clone()).collect();
        let opened = Conditions { opened: Some("3c4d".to_owned()), ..Conditions::default() };
        format!(
            "{:?} {:?} {:?} {made:?} {:?} {:?} {} {}",
            history.launches(),
            history.runs(),
            history.unfinished(),
            history.libraries("1a2b"),
            history.opened(&opened),
            history.wall_s(),
            history.last_seq()
        )
    }

    fn is_lean(kind: &Kind) -> bool {
        match kind {
            Kind::Launch { config, .. } => !config["version"].is_number(),
            kind => matches!(kind, Kind::Ready { .. } | Kind::Run { .. } | Kind::Gone { .. }),
        }
    }

    proptest! {
        /// A file that is read tells what its events told when they were written.
        #[test]
        fn what_is_read_is_what_was_written(kinds in prop::collection::vec((kind(), 1..3u32), 1..8)) {
            let dir = tempfile::tempdir().expect("a folder");
            let path = dir.path().join("journal.jsonl");
            let (mut written, mut text) = (History::default(), Vec::new());
            for (i, (kind, session)) in kinds.into_iter().enumerate() {
                let seq = i as u64 + 1;
                let event = Event { v: VERSION, seq, at: String::new(), session, session_s: i as f64, kind };
                let mut sealed = serde_json::to_vec(&event).expect("memory");
                seal(&mut sealed);
                if written.contradiction(&event).is_some() {
                    text.extend(sealed);
                    text.push(b'\n');
                    std::fs::write(&path, &text).expect("written");
                    prop_assert!(read(&path, Requests::Kept).is_err());
                    return Ok(());
                }
                prop_assert!(line(&sealed).is_some() || !is_lean(&event.kind));
                text.extend(sealed);
                text.push(b'\n');
                written.push(event);
            }
            std::fs::write(&path, &text).expect("written");
            let read = read(&path, Requests::Kept).expect("reads");
            prop_assert_eq!(told(&read), told(&written));
        }
    }

    #[test]
    fn the_four_events_are_read_lean_and_others_are_not() {
        let of = |kind: &str| {
            line(format!(r#"{{"v":5,"seq":1,"session":1,"session_s":0.5,"kind":{kind}}}"#).as_bytes())
                .is_some()
        };
        assert!(of(r#"{"ready":{"launch":"L001","after_s":1.5,"says":{}}}"#));
        assert!(of(
            r#"{"launch":{"launch":"L001","config_id":"x","config":{"engine":"sim","version":null},"nonce":"n"}}"#
        ));
        assert!(of(
            r#"{"gone":{"launch":"L001","times":{"start_s":1,"warmup_s":0,"load_s":9,"stop_s":0,"own_s":0},"gpus":0}}"#
        ));
        assert!(!of(r#"{"end":{"complete":true}}"#));
        // a version that is no text is nobody's, and is looked at by whoever can say what is wrong
        assert!(!of(
            r#"{"launch":{"launch":"L001","config_id":"x","config":{"engine":"sim","version":1},"nonce":"n"}}"#
        ));
        let newer =
            format!(r#"{{"v":{},"seq":1,"session":1,"session_s":0.5,"kind":{{"ready":{{}}}}}}"#, VERSION + 1);
        assert!(line(newer.as_bytes()).is_none());
    }
}
