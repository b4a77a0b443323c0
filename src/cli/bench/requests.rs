//! The records of single requests, one JSON object a line, for people who want to look themselves.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::load::RequestRecord;
use crate::secrets;

/// Writes them in the order in which they were sent; compressed where the file is called `.gz`.
pub(super) fn write(file: &Path, records: &[RequestRecord]) -> Result<(), String> {
    let write = || -> io::Result<()> {
        let into = BufWriter::new(File::create(file)?);
        if file.extension().is_some_and(|ending| ending == "gz") {
            let mut packed = GzEncoder::new(into, Compression::default());
            lines(&mut packed, records)?;
            return packed.finish()?.flush();
        }
        let mut plain = into;
        lines(&mut plain, records)?;
        plain.flush()
    };
    write().map_err(|e| format!("{}: {e}", file.display()))
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
