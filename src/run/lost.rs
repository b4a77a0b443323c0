//! How long a launch lived whose end nobody saw: it held its GPUs too, and a budget that forgot it would be overdrawn.
//!
//! The journal knows it until its last event. After that the study's live file was written again and again until perflab was killed:
//! what lies between the two is when both files were last changed. A clock that was set in between can make it too long or nothing.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use crate::journal::{History, Kind};

/// What a study is doing at this moment, in its state directory; rewritten at least once a second under load.
pub const LIVE_FILE: &str = "live.json";

/// A sign of life this long after the journal's last event is believed; a longer one is a clock that was set.
const MOST_S: f64 = 86_400.0;

/// Seconds that an earlier invocation lived on after its last word in the journal, which was written at `last_word`.
pub fn lived_on_s(dir: &Path, last_word: Option<SystemTime>) -> f64 {
    let alive = fs::metadata(dir.join(LIVE_FILE)).and_then(|m| m.modified()).ok();
    let after = alive.zip(last_word).and_then(|(alive, word)| alive.duration_since(word).ok());
    after.map(|d| d.as_secs_f64()).filter(|s| *s <= MOST_S).unwrap_or(0.0)
}

/// The end of each launch that nobody saw end, for the journal; `held` says how many GPUs a launch that needs so many holds.
pub fn ends(history: &History, lived_on_s: f64, held: impl Fn(u32) -> u32) -> Vec<Kind> {
    let end = |(launch, _): (String, String)| {
        let gpus = history.launch_of(&launch).map_or(0, |l| held(needed(&l.config)));
        let after_s = history.seen_for_s(&launch).map_or(0.0, |s| s + lived_on_s);
        Kind::Lost { launch, after_s, gpus }
    };
    history.unfinished().into_iter().map(end).collect()
}

/// GPUs that a configuration in normal form needs.
fn needed(config: &str) -> u32 {
    let config: serde_json::Value = serde_json::from_str(config).unwrap_or_default();
    config["gpus"].as_u64().map_or(1, |n| n as u32)
}
