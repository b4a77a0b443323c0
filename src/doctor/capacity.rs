//! The machine itself: processors and their governor, memory, and the clock that every measurement stands on.

use std::fs;

use super::finding::{Finding, Topic};

const MACHINE: Topic = Topic::Machine;
/// Clocks that are read without asking the kernel or a device.
const FAST_CLOCKS: [&str; 5] =
    ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "timebase"];

pub fn findings() -> Vec<Finding> {
    [processors(), governor(), memory(), clock()].into_iter().flatten().collect()
}

fn processors() -> Option<Finding> {
    let usable = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    let load: f64 = text.split_whitespace().next()?.parse().ok()?;
    let cores = if usable == 1 { "1 core".to_owned() } else { format!("{usable} cores") };
    let said = format!("{cores}, load {load:.1}");
    Some(if load > usable as f64 / 2.0 {
        let fix = "end what runs beside, else the load generator and the engine wait for a core";
        Finding::warn(MACHINE, format!("{said}: the machine is busy"), fix)
    } else if usable < 4 {
        let fix = "few streams only: an engine and its load generator share them, and CLIENT_SAT says when it is too much";
        Finding::warn(MACHINE, said, fix)
    } else {
        Finding::ok(MACHINE, said)
    })
}

fn governor() -> Option<Finding> {
    let path = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
    let governor = fs::read_to_string(path).ok()?.trim().to_owned();
    Some(match governor.as_str() {
        "performance" | "schedutil" => Finding::ok(MACHINE, format!("processor governor {governor}")),
        _ => Finding::warn(
            MACHINE,
            format!("the processors' governor is {governor}: they save power between requests"),
            "sudo cpupower frequency-set -g performance",
        ),
    })
}

fn memory() -> Option<Finding> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let kib = |name: &str| {
        let line = text.lines().find_map(|l| l.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let (total, available) = (kib("MemTotal:")?, kib("MemAvailable:")?);
    let gib = |kib: u64| kib as f64 / f64::from(1 << 20);
    let said = format!("{:.0} GiB of {:.0} GiB memory are available", gib(available), gib(total));
    Some(if gib(available) < 8.0 {
        Finding::warn(MACHINE, said, "weights pass through it: end what holds it, or use small models")
    } else {
        Finding::ok(MACHINE, said)
    })
}

fn clock() -> Option<Finding> {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = fs::read_to_string(path).ok()?.trim().to_owned();
    Some(if FAST_CLOCKS.contains(&source.as_str()) {
        Finding::ok(MACHINE, format!("clock source {source}"))
    } else {
        let fix = "boot with `clocksource=tsc` where the kernel trusts it (`dmesg | grep -i tsc`)";
        Finding::warn(MACHINE, format!("the clock source is {source}, which is slow to read"), fix)
    })
}
