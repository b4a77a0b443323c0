//! The script: a JSON file, read again when it changes, so that a test can act while a study runs.

use serde::Deserialize;

use crate::gpu::Throttle;

/// Everything that a script says. Times are in seconds since the source was opened, or since the newest engine's start.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    #[serde(default = "driver")]
    pub driver: String,
    pub cuda: Option<String>,
    pub gpus: Vec<Card>,
    /// pairs that NVLink joins
    #[serde(default)]
    pub links: Vec<(u32, u32)>,
    /// the wait for clean GPUs, sooner than in earnest
    #[serde(default)]
    pub pace: ShortPace,
    /// what launched engines do to the GPUs that they were given
    #[serde(default)]
    pub engines: Vec<EngineMemory>,
    /// processes of others
    #[serde(default)]
    pub foreign: Vec<Foreign>,
    #[serde(default)]
    pub throttle: Vec<Throttled>,
    /// GPUs that fall off the bus
    #[serde(default)]
    pub lost: Vec<Lost>,
    /// how much neighbours may change results, as a fraction
    pub tolerated: Option<f64>,
}

/// One GPU.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a word of the script")]
pub struct Card {
    pub name: String,
    /// `GPU-script-N` without it
    pub uuid: Option<String>,
    #[serde(default = "gib_80")]
    pub memory_gib: f64,
    /// held by nobody, all the time
    #[serde(default)]
    pub idle_mib: f64,
    #[serde(default)]
    pub mig: bool,
    /// it has no device file here
    #[serde(default)]
    pub masked: bool,
    #[serde(default = "yes")]
    pub persistence: bool,
    #[serde(default = "watts_700")]
    pub power_limit_w: f64,
    /// clocks and counters as a card that tells none of them
    #[serde(default)]
    pub silent: bool,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShortPace {
    pub every_ms: Option<u64>,
    pub patience_ms: Option<u64>,
}

/// While a launched process lives whose command holds `command`, its GPUs hold so much more; afterwards it drains away.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineMemory {
    pub command: String,
    /// only launches whose mark begins so: of several studies that run at one time
    #[serde(default)]
    pub mark: String,
    pub memory_mib: f64,
    /// the number that the driver gives its process, as where a container hides the machine's own
    pub pid: Option<u32>,
    /// at once without it
    pub drain_mib_per_s: Option<f64>,
    /// stays for ever, held by no process that can be seen
    #[serde(default)]
    pub leak_mib: f64,
}

/// A process of somebody else.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Foreign {
    pub gpu: u32,
    pub memory_mib: f64,
    #[serde(default = "pid")]
    pub pid: u32,
    pub name: Option<String>,
    pub user: Option<String>,
    #[serde(default)]
    pub when: Window,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Throttled {
    pub gpu: u32,
    pub reason: Throttle,
    #[serde(default)]
    pub when: Window,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lost {
    pub gpu: u32,
    #[serde(default)]
    pub when: Window,
}

/// A stretch of time; all of it if nothing is said.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    #[serde(default)]
    pub from_s: f64,
    pub to_s: Option<f64>,
    /// times count from the newest engine's start, and hold only while one lives
    #[serde(default)]
    pub of_engine: bool,
}

impl Window {
    /// Whether it is now, `now_s` after the opening and `engine_s` after an engine's start.
    pub fn holds(self, now_s: f64, engine_s: Option<f64>) -> bool {
        let at = if self.of_engine { engine_s } else { Some(now_s) };
        at.is_some_and(|at| at >= self.from_s && self.to_s.is_none_or(|to| at < to))
    }
}

fn driver() -> String {
    "550.54.15".to_owned()
}

fn gib_80() -> f64 {
    80.0
}

fn watts_700() -> f64 {
    700.0
}

fn yes() -> bool {
    true
}

/// Above what kernels give out.
fn pid() -> u32 {
    (1 << 22) + 4711
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_of_the_study_or_of_an_engine() {
        let all = Window::default();
        assert!(all.holds(0.0, None) && all.holds(1e6, None));
        let some = Window { from_s: 1.0, to_s: Some(2.0), of_engine: false };
        assert!(!some.holds(0.5, None) && some.holds(1.0, None) && !some.holds(2.0, None));
        let engine = Window { of_engine: true, ..some };
        assert!(!engine.holds(1.5, None) && engine.holds(9.0, Some(1.5)) && !engine.holds(1.5, Some(0.5)));
    }

    #[test]
    fn a_misspelt_key_is_an_error() {
        assert!(serde_json::from_str::<Script>(r#"{"gpus": [], "forein": []}"#).is_err());
    }
}
