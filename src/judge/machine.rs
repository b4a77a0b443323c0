//! Which results the machine spoiled, and not the configuration: a check refuses them, and another try may find the machine well. They
//! stand in the report of the invocation that made them, and are no results for a later one.

use super::checks::{Level, Said, client_lag};
use super::device_checks::{clocks_of, foreign_to};
use super::devices::Devices;
use super::metrics::Metrics;
use super::results::{Run, RunOutcome};
use super::setup::Checks;

const FOREIGN: &str = "GPU_FOREIGN";
/// The check of a client that this machine kept from its work.
pub const CLIENT: &str = "CLIENT_SAT";

/// What was wrong with the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub check: &'static str,
    pub text: String,
    /// it was so before the study began: within one invocation no other try finds it otherwise
    pub lasting: bool,
}

/// The machine's fault that refuses a result; `None` where there is none, or where the load failed and so tells of itself.
pub fn fault(outcome: &RunOutcome, metrics: &Metrics, devices: Option<&Devices>) -> Option<Fault> {
    if !matches!(outcome, RunOutcome::Done | RunOutcome::Stopped { .. }) {
        return None;
    }
    let said = [(FOREIGN, foreign_to(devices)), ("CLOCK", clocks_of(devices)), (CLIENT, client_lag(metrics))];
    said.into_iter().find_map(|(check, said)| {
        let Said::Found(Level::Refuse, text) = said else { return None };
        let seen = devices.is_some_and(|d| d.gpus.iter().any(|gpu| !gpu.foreign.is_empty()));
        Some(Fault { check, text, lasting: check == FOREIGN && !seen })
    })
}

/// Whether a run is refused for what the machine did, where checks refuse.
pub fn spoiled(run: &Run, checks: Checks) -> bool {
    checks == Checks::Refuse && fault(&run.outcome, &run.metrics, run.devices.as_deref()).is_some()
}

#[cfg(test)]
mod tests {
    use super::super::devices::Device;
    use super::*;

    fn held_up(name: &str, ms: f64) -> Metrics {
        let mut metrics = Metrics::default();
        metrics.set(name, ms);
        metrics
    }

    fn lagging(ms: f64) -> Metrics {
        held_up("client_lag_p99_ms", ms)
    }

    fn on(device: Device) -> Devices {
        Devices { scripted: false, gpus: vec![device] }
    }

    #[test]
    fn somebody_else_heat_and_a_client_held_up_are_the_machine_s() {
        let of = |metrics: &Metrics, device: Option<Device>| {
            fault(&RunOutcome::Done, metrics, device.map(on).as_ref()).map(|f| (f.check, f.lasting))
        };
        let (well, hot) = (Metrics::default(), [("hw_thermal".to_owned(), 0.5)].into());
        assert_eq!(of(&well, Some(Device::default())), None);
        let foreign = Device { foreign: vec!["7 (train)".to_owned()], ..Device::default() };
        assert_eq!(of(&well, Some(foreign)), Some(("GPU_FOREIGN", false)));
        let taken = Device { memory_idle: Some(5 << 30), ..Device::default() };
        assert_eq!(of(&well, Some(taken)), Some(("GPU_FOREIGN", true)));
        let throttled = Device { throttle: Some(hot), ..Device::default() };
        assert_eq!(of(&well, Some(throttled)), Some(("CLOCK", false)));
        assert_eq!(of(&lagging(21.0), None), Some(("CLIENT_SAT", false)));
        assert_eq!(of(&held_up("client_stall_ms", 1500.0), None), Some(("CLIENT_SAT", false)));
        assert_eq!(of(&lagging(19.0), None), None, "a flag only");
    }

    #[test]
    fn a_load_that_failed_tells_of_itself() {
        let failed = RunOutcome::FailedLoad { class: "GPU error".to_owned(), line: String::new() };
        assert_eq!(fault(&failed, &lagging(50.0), None), None);
        let pruned = RunOutcome::Stopped { rule: "slow".to_owned(), when: String::new() };
        assert!(fault(&pruned, &lagging(50.0), None).is_some(), "a rule read spoiled figures");
    }
}
