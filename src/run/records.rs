//! The raw records of a load and the samples of its GPUs, beside the log: for people; no decision reads them.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::devices::Sampled;
use super::event::{Event, Listener};
use super::launch::Crew;
use crate::journal::History;
use crate::load::RequestRecord;
use crate::{disk, secrets};

/// How their files' names end.
const ENDING: &str = "requests.jsonl.gz";

/// Writes the records of a load beside the log, compressed; the file's name says if they are simulated. What cannot be written is a
/// warning, and leaves no half of a file: no result needs it.
pub async fn keep(
    dir: &Path,
    profile: &str,
    simulated: bool,
    records: Vec<RequestRecord>,
    listener: &mut dyn Listener,
) {
    let simulated = if simulated { "simulated." } else { "" };
    let path = dir.join(format!("{profile}.{simulated}{ENDING}"));
    let file = path.clone();
    // a million chunks take a second, in which other launches go on
    let written = tokio::task::spawn_blocking(move || {
        disk::pass_by(&file, 0o644, |into| write(BufWriter::new(into), &records, true))
    });
    if let Err(e) = written.await.unwrap_or_else(|e| Err(io::Error::other(e))) {
        let text =
            format!("{}: the request records cannot be written ({e}); no result needs them", path.display());
        listener.hear(&Event::Warning { text });
    }
}

/// Removes the drafts of records of launches whose end nobody saw; `dir` is the study's state directory.
pub fn sweep(dir: &Path, history: &History) {
    for (launch, _) in history.unfinished() {
        let trials = fs::read_dir(dir.join("trials")).into_iter().flatten().flatten();
        trials
            .for_each(|trial| disk::sweep_drafts(&trial.path().join(&launch), |name| name.ends_with(ENDING)));
    }
}

/// Writes records with all their chunks as JSON lines, in the order in which the requests were sent; where they are to be packed, as gzip.
///
/// # Errors
/// What the writer says.
pub fn write(into: impl Write, records: &[RequestRecord], packed: bool) -> io::Result<()> {
    let mut plain = into;
    if !packed {
        lines(&mut plain, records)?;
        return plain.flush();
    }
    let mut packed = GzEncoder::new(plain, Compression::fast());
    lines(&mut packed, records)?;
    packed.finish()?.flush()
}

fn lines(into: &mut impl Write, records: &[RequestRecord]) -> io::Result<()> {
    let mut records: Vec<&RequestRecord> = records.iter().collect();
    records.sort_by_key(|record| record.index);
    for record in records {
        // a server's error may quote what it was sent
        into.write_all(&secrets::mask_json(serde_json::to_vec(record)?))?;
        into.write_all(b"\n")?;
    }
    Ok(())
}

/// The samples lie beside the request records, and their name says as much as theirs.
pub fn write_samples(
    crew: &Crew<'_>,
    (profile, simulated): (&str, bool),
    sampled: &Sampled,
    listener: &mut dyn Listener,
) {
    let simulated = if simulated { "simulated." } else { "" };
    let scripted = if sampled.devices.as_ref().is_some_and(|d| d.scripted) { "scripted." } else { "" };
    let path = crew.place.launch_dir.join(format!("{profile}.{simulated}{scripted}gpus.jsonl"));
    if let Err(e) = sampled.write(&path) {
        let text = format!("{}: the GPU samples cannot be written ({e})", path.display());
        listener.hear(&Event::Warning { text });
    }
}
