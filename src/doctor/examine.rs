//! Looks at everything, once.

use serde::Serialize;

use super::finding::{Finding, Level};
use super::{capacity, containers, engines, gpus, limits, places};

/// What was found on a machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Examination {
    /// always `perflab.doctor/1`
    pub schema: &'static str,
    pub perflab: &'static str,
    pub host: String,
    pub kernel: String,
    /// the worst level of a line
    pub worst: Level,
    pub lines: Vec<Finding>,
    pub driver: Option<String>,
    pub cuda: Option<String>,
    pub gpus: Vec<gpus::GpuFacts>,
    /// groups of GPUs that NVLink joins
    pub islands: Vec<Vec<u32>>,
    pub engines: Vec<engines::Found>,
    /// what the load generator did, where it was tried
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<serde_json::Value>,
}

/// Examines this machine. Takes a second or two where programs must be asked for their versions.
pub fn examine() -> Examination {
    let (found, mut lines) = gpus::look();
    let installed = engines::find();
    lines.extend(engines::findings(&installed));
    lines.extend(containers::findings(!found.gpus.is_empty()));
    lines.extend(capacity::findings());
    lines.extend(places::findings());
    lines.extend(limits::findings());
    let names = nix::sys::utsname::uname().ok();
    let text = |s: &std::ffi::OsStr| s.to_string_lossy().into_owned();
    Examination {
        schema: "perflab.doctor/1",
        perflab: env!("CARGO_PKG_VERSION"),
        host: names.as_ref().map(|n| text(n.nodename())).unwrap_or_default(),
        kernel: names.as_ref().map(|n| text(n.release())).unwrap_or_default(),
        worst: lines.iter().map(|l| l.level).max().unwrap_or(Level::Ok),
        lines,
        driver: found.driver,
        cuda: found.cuda,
        gpus: found.gpus,
        islands: found.islands,
        engines: installed,
        client: None,
    }
}
