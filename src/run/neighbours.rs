//! What is known of neighbours on this machine: whether launches of a size may run side by side. A verdict is the machine's, not the
//! study's: it lies beside the caches, and every study that uses it writes it into its own journal.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::cores;
use super::execution::Execution;
use super::host::Host;
use super::provenance;
use super::yard::Yard;
use crate::disk;
use crate::engine::caches;
use crate::journal::{History, JournalError, Kind, Neighbourhood};
use crate::judge::neighbours::Verdict;
use crate::plan::config::short_hash;

const SCHEMA: &str = "perflab.neighbours/1";

/// The file of a verdict.
#[derive(Serialize, Deserialize)]
struct Stored {
    schema: String,
    of: Neighbourhood,
    verdict: Verdict,
    /// wall-clock time, for people
    settled: String,
}

/// What an A/A check here would be about: so many launches of so many GPUs each, on this machine as it is.
pub fn here(host: &Host, yard: &Yard, size: u32) -> Neighbourhood {
    let machine = provenance::machine();
    let gpus = host.gpus(u32::MAX).map(|(_, gpus)| gpus).unwrap_or_default();
    let uuids: Vec<&str> = gpus.iter().map(|g| g.uuid.as_str()).collect();
    let cpus: Vec<usize> = cores::here().iter().map(|c| c.id).collect();
    let facts = serde_json::json!({
        "name": machine.name,
        "cpu": machine.cpu,
        "cpus": machine.cpus.max(cpus.len()),
        "gpus": uuids,
        "names": host.gpu_names(),
        "driver": host.driver(),
    });
    Neighbourhood { machine: short_hash(&facts.to_string()), size, launches: yard.room(size) }
}

/// The verdict that holds: the journal's, else the machine's.
pub fn known(history: &History, of: &Neighbourhood) -> Option<Verdict> {
    history.neighbours(of).cloned().or_else(|| path(of).and_then(|path| read(&path, of)))
}

/// The same, for an execution: what another study found out is written into this one's journal.
pub fn taken_over(x: &Execution<'_>, of: &Neighbourhood) -> Result<Option<Verdict>, JournalError> {
    let found = known(&x.journal.history(), of);
    let own = x.journal.history().neighbours(of).is_some();
    if let Some(verdict) = found.clone().filter(|_| !own) {
        x.journal.append(Kind::Neighbours { of: of.clone(), verdict })?;
    }
    Ok(found)
}

/// A verdict that holds from now on. What cannot be stored for other studies holds for this one.
pub fn settle(x: &Execution<'_>, of: &Neighbourhood, verdict: &Verdict) -> Result<(), JournalError> {
    x.journal.append(Kind::Neighbours { of: of.clone(), verdict: verdict.clone() })?;
    // a launch that failed says nothing of the machine
    if verdict.low.is_some() {
        let _ = store(of, verdict);
    }
    Ok(())
}

fn path(of: &Neighbourhood) -> Option<PathBuf> {
    let name = format!("{}-{}x{}.json", of.machine, of.launches, of.size);
    Some(caches::base()?.parent()?.join("neighbours").join(name))
}

fn read(path: &Path, of: &Neighbourhood) -> Option<Verdict> {
    let stored: Stored = serde_json::from_str(&fs::read_to_string(path).ok()?).ok()?;
    (stored.schema == SCHEMA && stored.of == *of).then_some(stored.verdict)
}

fn store(of: &Neighbourhood, verdict: &Verdict) -> std::io::Result<()> {
    let Some(path) = path(of) else { return Ok(()) };
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    let settled = jiff::Timestamp::now().to_string();
    let stored = Stored { schema: SCHEMA.to_owned(), of: of.clone(), verdict: verdict.clone(), settled };
    disk::place(&path, format!("{:#}\n", serde_json::json!(stored)).as_bytes(), 0o644)
}
