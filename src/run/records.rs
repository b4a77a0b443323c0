//! The raw records of a load and the samples of its GPUs, beside the log: for people; no decision reads them.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use super::devices::Sampled;
use super::event::{Event, Listener};
use super::launch::Crew;
use crate::load::RequestRecord;
use crate::secrets;

/// Writes one line a request. The file's name says if they are simulated; what cannot be written is a warning.
pub fn write(
    dir: &Path,
    profile: &str,
    simulated: bool,
    records: &[RequestRecord],
    listener: &mut dyn Listener,
) {
    let simulated = if simulated { "simulated." } else { "" };
    let path = dir.join(format!("{profile}.{simulated}requests.jsonl"));
    let write = || -> std::io::Result<()> {
        let mut file = std::io::BufWriter::new(fs::File::create(&path)?);
        for record in records {
            // a server's error may quote what it was sent
            let line = secrets::mask_json(serde_json::to_vec(&record.without_chunks())?);
            file.write_all(&line)?;
            file.write_all(b"\n")?;
        }
        file.flush()
    };
    if let Err(e) = write() {
        let text = format!("{}: the request records cannot be written ({e})", path.display());
        listener.hear(&Event::Warning { text });
    }
}

/// The samples lie beside the request records, and their name says as much as theirs.
pub fn write_samples(crew: &Crew<'_>, profile: &str, sampled: &Sampled, listener: &mut dyn Listener) {
    let simulated = if crew.config.engine.simulated() { "simulated." } else { "" };
    let scripted = if sampled.devices.as_ref().is_some_and(|d| d.scripted) { "scripted." } else { "" };
    let path = crew.place.launch_dir.join(format!("{profile}.{simulated}{scripted}gpus.jsonl"));
    if let Err(e) = sampled.write(&path) {
        let text = format!("{}: the GPU samples cannot be written ({e})", path.display());
        listener.hear(&Event::Warning { text });
    }
}
