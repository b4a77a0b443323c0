//! The event stream as JSON lines, for `--events`: what happens, as it happens, under a version of its own.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use serde_json::{Map, Value as Json};

use crate::run::Event;
use crate::secrets;

/// The version of a line. Fields and events may be added within it; none changes its meaning.
const VERSION: u32 = 1;

/// The events file. Its writing is never a reason for a study to stop.
pub struct EventsFile {
    file: File,
    began: Instant,
    seq: u64,
}

impl EventsFile {
    /// Begins a file; what it held is gone. The error is a sentence.
    pub fn create(path: &Path) -> Result<Self, String> {
        let file = File::create(path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Self { file, began: Instant::now(), seq: 0 })
    }

    /// Appends one event as one line, written at once.
    pub fn write(&mut self, event: &Event) -> io::Result<()> {
        self.seq += 1;
        let mut line = Map::new();
        line.insert("v".to_owned(), VERSION.into());
        line.insert("seq".to_owned(), self.seq.into());
        line.insert("at".to_owned(), jiff::Timestamp::now().to_string().into());
        line.insert("t_s".to_owned(), self.began.elapsed().as_secs_f64().into());
        if let Json::Object(own) = serde_json::to_value(event)? {
            line.extend(own);
        }
        let mut text = secrets::mask_json(serde_json::to_vec(&line)?);
        text.push(b'\n');
        self.file.write_all(&text)
    }
}
