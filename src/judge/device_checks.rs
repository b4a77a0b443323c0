//! The validity checks on what the GPUs did during a load. They read the samples' summary; a run without one is not checked.

use super::checks::{Level, Said, Subject};
use super::devices::{Device, Devices};

/// More memory than a driver holds for itself.
const IDLE_MEMORY: u64 = 500 << 20;
/// Reasons for low clocks that say something is wrong with the machine.
const BROKEN: [(&str, &str); 4] = [
    ("sw_thermal", "too hot (by the driver's judgement)"),
    ("hw_thermal", "too hot (by the hardware's)"),
    ("hw_slowdown", "slowed down by its hardware"),
    ("power_brake", "braked by the power supply"),
];
/// The power limit is part of a card's normal life up to here.
const CAPPED: f64 = 0.2;
const SLOW: f64 = 0.95;
/// Warming by so many degrees, with a clock lower by this share, is a load that never had one speed.
const WARMER_C: f64 = 8.0;
const SLOWER: f64 = 0.01;

/// Another process on a GPU, or memory that was taken before the study began.
pub fn foreign(s: &Subject<'_>) -> Said {
    foreign_to(s.run.devices.as_deref())
}

/// Clocks that were held back.
pub fn clock(s: &Subject<'_>) -> Said {
    clocks_of(s.run.devices.as_deref())
}

/// What somebody else did on the GPUs.
pub(super) fn foreign_to(devices: Option<&Devices>) -> Said {
    over_gpus(devices, foreign_on)
}

/// What the machine did to the GPUs' clocks.
pub(super) fn clocks_of(devices: Option<&Devices>) -> Said {
    over_gpus(devices, clock_of)
}

/// A GPU that grew warm and slower under the load.
pub fn thermal(s: &Subject<'_>) -> Said {
    over_gpus(s.run.devices.as_deref(), thermal_of)
}

fn foreign_on(d: &Device) -> Said {
    if let Some(holder) = d.foreign.first() {
        let more = d.foreign.len() - 1;
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let text = format!("another process ran on GPU {}: {holder}{more}", d.index);
        return Said::Found(Level::Refuse, text);
    }
    match d.memory_idle {
        Some(held) if held > IDLE_MEMORY => {
            let gib = held as f64 / f64::from(1 << 30);
            let text = format!("{gib:.1} GiB of GPU {} were taken before the study began", d.index);
            Said::Found(Level::Refuse, text)
        }
        _ => Said::Fine,
    }
}

fn clock_of(d: &Device) -> Said {
    let Some(throttle) = &d.throttle else { return Said::Unchecked };
    let share = |reason: &str| throttle.get(reason).copied().unwrap_or(0.0);
    let percent = |share: f64| format!("{:.0} % of the samples", share * 100.0);
    if let Some((reason, text)) = BROKEN.iter().find(|(reason, _)| share(reason) > 0.0) {
        let text = format!("GPU {} was {text} in {}", d.index, percent(share(reason)));
        return Said::Found(Level::Refuse, text);
    }
    if share("power_cap") > CAPPED {
        let limit = d.power_limit_w.map_or_else(String::new, |w| format!(" of {w:.0} W"));
        let seen = percent(share("power_cap"));
        let text = format!("GPU {} was at its power limit{limit} in {seen}", d.index);
        return Said::Found(Level::Flag, text);
    }
    // clocks that somebody has set lower are a setting of the machine, not an accident
    match (d.sm_clock_mhz, d.sm_clock_max_mhz) {
        (Some(mean), Some(max)) if mean < SLOW * max && share("application_clocks") == 0.0 => {
            let text = format!("GPU {} ran at {mean:.0} MHz on average, of {max:.0} MHz", d.index);
            Said::Found(Level::Flag, text)
        }
        _ => Said::Fine,
    }
}

fn thermal_of(d: &Device) -> Said {
    let Some(q) = d.quarters else { return Said::Unchecked };
    let slower = 1.0 - q.last_mhz / q.first_mhz;
    if q.last_c - q.first_c <= WARMER_C || slower <= SLOWER {
        return Said::Fine;
    }
    let text = format!(
        "GPU {} went from {:.0} to {:.0} °C under the load and became {:.0} % slower",
        d.index,
        q.first_c,
        q.last_c,
        slower * 100.0
    );
    Said::Found(Level::Flag, text)
}

/// The heaviest finding over a run's GPUs, of equals the first; unchecked if any of them is.
fn over_gpus(devices: Option<&Devices>, check: impl Fn(&Device) -> Said) -> Said {
    let Some(devices) = devices.filter(|d| !d.gpus.is_empty()) else { return Said::Unchecked };
    let mut worst = Said::Fine;
    for device in &devices.gpus {
        let said = check(device);
        let heavier = match (&worst, &said) {
            (_, Said::Fine) | (Said::Found(..), Said::Unchecked) => false,
            (Said::Found(held, _), Said::Found(new, _)) => new > held,
            _ => true,
        };
        if heavier {
            worst = said;
        }
    }
    worst
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::devices::Quarters;
    use super::*;

    fn throttled(reasons: &[(&str, f64)]) -> Device {
        let throttle: BTreeMap<String, f64> = reasons.iter().map(|(r, s)| ((*r).to_owned(), *s)).collect();
        Device { throttle: Some(throttle), ..Device::default() }
    }

    fn level(said: &Said) -> Option<Level> {
        match said {
            Said::Found(level, _) => Some(*level),
            _ => None,
        }
    }

    #[test]
    fn trouble_refuses_and_a_limit_flags_from_a_fifth_on() {
        for reason in ["sw_thermal", "hw_thermal", "hw_slowdown", "power_brake"] {
            assert_eq!(level(&clock_of(&throttled(&[(reason, 0.01)]))), Some(Level::Refuse), "{reason}");
        }
        assert_eq!(level(&clock_of(&throttled(&[("power_cap", 0.21)]))), Some(Level::Flag));
        assert!(matches!(clock_of(&throttled(&[("power_cap", 0.2), ("idle", 1.0)])), Said::Fine));
        assert!(matches!(clock_of(&Device::default()), Said::Unchecked));
    }

    #[test]
    fn a_slow_clock_flags_unless_somebody_has_set_it() {
        let slow = |reasons: &[(&str, f64)]| Device {
            sm_clock_mhz: Some(1800.0),
            sm_clock_max_mhz: Some(1980.0),
            ..throttled(reasons)
        };
        assert_eq!(level(&clock_of(&slow(&[]))), Some(Level::Flag));
        assert!(matches!(clock_of(&slow(&[("application_clocks", 1.0)])), Said::Fine));
    }

    #[test]
    fn warm_and_slow_together_flag() {
        let with = |last_c: f64, last_mhz: f64| Device {
            quarters: Some(Quarters { first_c: 50.0, last_c, first_mhz: 2000.0, last_mhz }),
            ..Device::default()
        };
        assert_eq!(level(&thermal_of(&with(59.0, 1950.0))), Some(Level::Flag));
        assert!(matches!(thermal_of(&with(59.0, 1999.0)), Said::Fine));
        assert!(matches!(thermal_of(&with(57.0, 1950.0)), Said::Fine));
        assert!(matches!(thermal_of(&Device::default()), Said::Unchecked));
    }

    #[test]
    fn memory_of_nobody_before_the_study_refuses() {
        let idle = |bytes| Device { memory_idle: Some(bytes), ..Device::default() };
        assert_eq!(level(&foreign_on(&idle(5 << 30))), Some(Level::Refuse));
        assert!(matches!(foreign_on(&idle(500 << 20)), Said::Fine));
    }
}
