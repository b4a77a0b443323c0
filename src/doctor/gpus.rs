//! The GPUs of a machine: driver, cards and how they are set up, who uses them, and what hides them from here.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::finding::{Finding, Topic};
use crate::gpu::{self, Gpu, GpuError, Gpus, Settings, gib};

const GPUS: Topic = Topic::Gpus;
/// More memory than a driver holds for itself.
const IDLE_MEMORY: u64 = 500 << 20;
/// Where NVIDIA's exporter listens unless it is told otherwise.
const EXPORTER: u16 = 9400;

/// One GPU with its settings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GpuFacts {
    pub index: u32,
    pub uuid: String,
    pub name: String,
    /// in bytes
    pub memory_total: Option<u64>,
    pub memory_used: Option<u64>,
    /// whether `CUDA_VISIBLE_DEVICES` leaves it to us
    pub usable: bool,
    pub settings: Settings,
    /// as "4711 (python3, user alice) 3.0 GiB"
    pub processes: Vec<String>,
}

/// What there is.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Found {
    pub driver: Option<String>,
    pub cuda: Option<String>,
    pub gpus: Vec<GpuFacts>,
    /// groups that NVLink joins
    pub islands: Vec<Vec<u32>>,
}

/// Looks at the GPUs: the facts, and a line for each thing to know.
pub fn look() -> (Found, Vec<Finding>) {
    let source = match gpu::open() {
        Ok(source) => source,
        Err(error) => return (Found::default(), [vec![unopened(&error)], exporter()].concat()),
    };
    let mut out = Vec::new();
    if let Some(script) = source.script() {
        let text = format!("the GPUs are played by the script {}", script.display());
        out.push(Finding::warn(GPUS, text, format!("for tests only: `unset {}`", gpu::SCRIPT)));
    }
    let mut found = Found::default();
    match source.driver() {
        Ok(driver) => {
            let cuda = driver.cuda.as_ref().map_or_else(String::new, |c| format!(", CUDA up to {c}"));
            out.push(Finding::ok(GPUS, format!("driver {}{cuda}", driver.version)));
            (found.driver, found.cuda) = (Some(driver.version), driver.cuda);
        }
        Err(e) => {
            out.push(Finding::fail(GPUS, e.to_string(), "look at `nvidia-smi` and `dmesg | grep -i nvrm`"));
        }
    }
    let all = source.list().unwrap_or_default();
    let usable = visible(&all, &mut out);
    for gpu in &all {
        let facts = facts(&*source, gpu, usable.iter().any(|g| g.index == gpu.index));
        out.extend(about(&facts));
        found.gpus.push(facts);
    }
    for (index, why) in source.broken() {
        let fix = "reset it (`sudo nvidia-smi --gpu-reset`), or restart the machine";
        out.push(Finding::fail(GPUS, format!("GPU {index} does not answer: {why}"), fix));
    }
    found.islands = islands(&*source, &all, &mut out);
    out.extend(masked(&*source, &usable));
    out.extend(hidden(all.len()));
    out.extend(exporter());
    (found, out)
}

/// Why there are none: the driver is missing, or only its library.
fn unopened(error: &GpuError) -> Finding {
    match error {
        GpuError::NoDriver if Path::new("/proc/driver/nvidia/version").exists() => Finding::fail(
            GPUS,
            "the NVIDIA driver is loaded, and its library libnvidia-ml.so.1 is not here",
            "in a container: start it with `--gpus all`; else install the driver's libraries",
        ),
        GpuError::NoDriver if on_the_bus() => Finding::fail(
            GPUS,
            "there is an NVIDIA card, and no NVIDIA driver",
            "install the driver, then look at `nvidia-smi`",
        ),
        GpuError::NoDriver => Finding::warn(
            GPUS,
            "no NVIDIA driver: studies that ask for GPUs cannot run here",
            "leave `gpus` out of a study for engines on the processor; simulated engines and replays need none",
        ),
        other => {
            let fix = other.variable_help().unwrap_or("look at `nvidia-smi` and `dmesg | grep -i nvrm`");
            Finding::fail(GPUS, other.to_string(), fix)
        }
    }
}

/// Whether a display or compute device of NVIDIA is on the PCI bus.
fn on_the_bus() -> bool {
    let devices = fs::read_dir("/sys/bus/pci/devices").into_iter().flatten().flatten();
    let reads = |path: std::path::PathBuf| fs::read_to_string(path).unwrap_or_default();
    let mut nvidia = devices.map(|d| d.path()).filter(|d| reads(d.join("vendor")).trim() == "0x10de");
    nvidia.any(|d| reads(d.join("class")).starts_with("0x03"))
}

/// Those that `CUDA_VISIBLE_DEVICES` leaves.
fn visible(all: &[Gpu], out: &mut Vec<Finding>) -> Vec<Gpu> {
    let set = std::env::var("CUDA_VISIBLE_DEVICES").ok();
    match gpu::usable(all, set.as_deref()) {
        Ok(usable) => {
            if let Some(set) = set {
                let which: Vec<String> = usable.iter().map(|g| g.index.to_string()).collect();
                let which =
                    if which.is_empty() { "no GPU".to_owned() } else { format!("GPU {}", which.join(", ")) };
                out.push(Finding::ok(GPUS, format!("CUDA_VISIBLE_DEVICES={set}: studies may use {which}")));
            }
            usable
        }
        Err(e) => {
            let fix = e.variable_help().unwrap_or(gpu::VISIBLE_HELP);
            out.push(Finding::fail(GPUS, e.to_string(), fix));
            Vec::new()
        }
    }
}

fn facts(source: &dyn Gpus, gpu: &Gpu, usable: bool) -> GpuFacts {
    let processes = source.processes(&gpu.uuid).unwrap_or_default();
    GpuFacts {
        index: gpu.index,
        uuid: gpu.uuid.clone(),
        name: gpu.name.clone(),
        memory_total: gpu.memory_total,
        memory_used: gpu.memory_used,
        usable,
        settings: source.settings(&gpu.uuid).unwrap_or_default(),
        processes: processes.iter().map(ToString::to_string).collect(),
    }
}

/// What is to be known of one GPU.
fn about(g: &GpuFacts) -> Vec<Finding> {
    let (i, s) = (g.index, &g.settings);
    let memory = g.memory_total.map_or_else(|| "the machine's memory".to_owned(), gib);
    let power = s.power_limit_w.map_or_else(String::new, |w| format!(", {w:.0} W"));
    let clock = s.sm_clock_max_mhz.map_or_else(String::new, |c| format!(", up to {c} MHz"));
    let ecc = s.ecc.map_or("", |on| if on { ", ECC" } else { ", no ECC" });
    let mut out =
        vec![Finding::ok(GPUS, format!("GPU {i}: {}, {memory}{power}{clock}{ecc}, {}", g.name, g.uuid))];
    let mut warn = |text: String, fix: String| out.push(Finding::warn(GPUS, text, fix));
    if !g.processes.is_empty() {
        warn(
            format!("GPU {i} is used by {}", g.processes.join(" and ")),
            "end it, or keep studies off it with CUDA_VISIBLE_DEVICES: nothing starts beside others"
                .to_owned(),
        );
    } else if let Some(used) = g.memory_used.filter(|used| *used > IDLE_MEMORY) {
        warn(
            format!("GPU {i} holds {}, by no process that can be seen from here", gib(used)),
            "look with `nvidia-smi` outside of containers".to_owned(),
        );
    }
    if s.mig == Some(true) {
        warn(
            format!("GPU {i} is split (MIG); only whole GPUs can be measured"),
            format!("sudo nvidia-smi -i {i} -mig 0"),
        );
    }
    if s.persistence == Some(false) {
        warn(
            format!("GPU {i} is not in persistence mode: each launch may load its driver anew"),
            format!("sudo nvidia-smi -i {i} -pm 1"),
        );
    }
    if let (Some(limit), Some(default)) = (s.power_limit_w, s.power_limit_default_w)
        && limit < default - 0.5
    {
        warn(
            format!("GPU {i} is limited to {limit:.0} W; its default is {default:.0} W"),
            format!("sudo nvidia-smi -i {i} -pl {default:.0}, unless it is meant so"),
        );
    }
    if let (Some(set), Some(max)) = (s.sm_clock_application_mhz, s.sm_clock_max_mhz)
        && set < max
    {
        out.push(Finding::ok(GPUS, format!("GPU {i}: application clock {set} MHz of {max} MHz")));
    }
    let mut warn = |text: String, fix: String| out.push(Finding::warn(GPUS, text, fix));
    if s.exclusive == Some(true) {
        warn(
            format!("GPU {i} takes one process at a time, and engines have several"),
            format!("sudo nvidia-smi -i {i} -c DEFAULT"),
        );
    }
    if let Some(errors) = s.ecc_errors.filter(|n| *n > 0) {
        warn(
            format!("GPU {i} had {errors} memory errors that could not be corrected"),
            "reset it, and have it replaced if they come again".to_owned(),
        );
    }
    out
}

fn islands(source: &dyn Gpus, all: &[Gpu], out: &mut Vec<Finding>) -> Vec<Vec<u32>> {
    let indices: Vec<u32> = all.iter().map(|g| g.index).collect();
    let islands = gpu::islands(&indices, &source.links().unwrap_or_default());
    if all.len() > 1 {
        let joined = islands.iter().filter(|i| i.len() > 1).map(|i| {
            let numbers: Vec<String> = i.iter().map(ToString::to_string).collect();
            numbers.join("-")
        });
        let joined: Vec<String> = joined.collect();
        let text = if joined.is_empty() {
            "no NVLink between the GPUs".to_owned()
        } else {
            format!("NVLink joins {}", joined.join(" and "))
        };
        out.push(Finding::ok(GPUS, text));
    }
    islands
}

/// GPUs that studies may use, and whose device file cannot be opened here.
fn masked(source: &dyn Gpus, usable: &[Gpu]) -> Vec<Finding> {
    const FIX: &str = "in a container: hand it in with `--gpus`, or leave it out with CUDA_VISIBLE_DEVICES; else look at its rights";
    let masked = usable.iter().filter(|g| !source.reachable(&g.uuid));
    let text =
        |g: &Gpu| format!("GPU {} cannot be opened here: its device file is missing or not for you", g.index);
    masked.map(|g| Finding::fail(GPUS, text(g), FIX)).collect()
}

/// In a container the driver's process numbers are of another table.
fn hidden(gpus: usize) -> Option<Finding> {
    (gpus > 0 && gpu::hidden_here()).then(|| {
        let text = "process ids are hidden by a container: who else uses a GPU cannot be named from here";
        Finding::warn(GPUS, text, "start the container with `--pid=host`")
    })
}

/// NVIDIA's data-centre exporter reads performance counters, which profilers and some engines want for themselves.
fn exporter() -> Vec<Finding> {
    const NAMES: [&str; 3] = ["dcgm-exporter", "nv-hostengine", "dcgmi"];
    let comms = fs::read_dir("/proc").into_iter().flatten().flatten();
    let comm = |e: fs::DirEntry| fs::read_to_string(e.path().join("comm")).ok();
    let running = comms.filter_map(comm).find(|c| NAMES.contains(&c.trim()));
    let what = match running {
        Some(name) => format!("{} runs", name.trim()),
        None if listens() => format!("something exports GPU metrics on port {EXPORTER}"),
        None => return Vec::new(),
    };
    let text = format!("{what}: its counters cost a little time on every GPU");
    vec![Finding::warn(GPUS, text, "pause it for a study: `dcgmi profile --pause`, afterwards `--resume`")]
}

fn listens() -> bool {
    use std::io::{Read, Write};
    const SHORT: Duration = Duration::from_millis(300);
    let address = SocketAddr::from(([127, 0, 0, 1], EXPORTER));
    let Ok(mut stream) = TcpStream::connect_timeout(&address, SHORT) else { return false };
    let _ = stream.set_read_timeout(Some(SHORT));
    let _ = stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n");
    let mut text = Vec::new();
    let _ = stream.take(64 << 10).read_to_end(&mut text);
    String::from_utf8_lossy(&text).contains("DCGM_FI")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sound() -> GpuFacts {
        GpuFacts {
            index: 2,
            uuid: "GPU-a".into(),
            name: "NVIDIA H100".into(),
            memory_total: Some(80 << 30),
            memory_used: Some(1 << 20),
            usable: true,
            settings: Settings::default(),
            processes: Vec::new(),
        }
    }

    #[test]
    fn a_sound_gpu_has_one_line_and_a_silent_card_no_complaint() {
        let lines = about(&sound());
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].text, "GPU 2: NVIDIA H100, 80.0 GiB, GPU-a");
    }

    #[test]
    fn each_thing_that_is_wrong_has_its_own_line_with_a_fix() {
        let mut g = sound();
        g.processes = vec!["7 (python3, user alice) 3.0 GiB".into()];
        g.settings = Settings {
            mig: Some(true),
            persistence: Some(false),
            power_limit_w: Some(400.0),
            power_limit_default_w: Some(700.0),
            exclusive: Some(true),
            ecc_errors: Some(3),
            ..Settings::default()
        };
        let lines = about(&g);
        assert_eq!(lines.len(), 7);
        assert!(lines[1..].iter().all(|l| l.fix.as_ref().is_some_and(|f| !f.is_empty())));
    }
}
