//! Traces of real services: when requests came and how long they were, without their texts.
//!
//! Formats: the traces of Mooncake (JSON lines; equal `hash_ids` are equal blocks of 512 tokens behind equal beginnings) and Azure's
//! traces of LLM inference (CSV of 2023 and 2024).

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use super::question::{DataError, opened};

/// Tokens of a block that a `hash_id` stands for.
pub const BLOCK_TOKENS: u32 = 512;

/// How a trace is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceFormat {
    /// Lines `{"timestamp": MS, "input_length": N, "output_length": N, "hash_ids": […]}`.
    Mooncake,
    /// `TIMESTAMP,ContextTokens,GeneratedTokens`.
    Azure,
}

/// A trace in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The file.
    pub file: PathBuf,
    /// How it has to be written; as its first line shows, where it is `None`.
    pub format: Option<TraceFormat>,
    /// As many of its first requests as are taken; all, where it is `None`.
    pub count: Option<usize>,
    /// Requests that came later after the first are not taken.
    pub span: Option<Duration>,
}

/// A request of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traced {
    /// When it came, after the first one.
    pub at: Duration,
    /// Tokens of its prompt.
    pub input: u32,
    /// Tokens of its answer.
    pub output: u32,
    /// What its prompt is made of, block by block of [`BLOCK_TOKENS`]; the last may be cut short. Nothing: a prompt like no other.
    pub blocks: Vec<u64>,
}

impl Trace {
    /// The requests in the order of their times.
    ///
    /// # Errors
    /// A file that cannot be read, is no trace of the format, or is empty.
    pub fn requests(&self) -> Result<Vec<Traced>, DataError> {
        let refuse = |why: String| DataError::File { path: self.file.clone(), why };
        let file = opened(&self.file)?;
        let most = self.count.unwrap_or(usize::MAX);
        let (mut all, mut format, mut first) = (Vec::new(), None, None);
        for (number, line) in (1..).zip(BufReader::with_capacity(1 << 20, file).lines()) {
            let line = line.map_err(|e| refuse(format!("line {number}: {e}")))?;
            let line = line.trim_start_matches('\u{feff}').trim();
            if line.is_empty() {
                continue;
            }
            let at_line = |why: String| refuse(format!("line {number}: {why}"));
            let Some(format) = format else {
                let found = self.begins(line).map_err(at_line)?;
                format = Some(found);
                if let Written::Mooncake = found {
                    take(&mut all, mooncake(line).map_err(at_line)?, &mut first);
                }
                continue;
            };
            let read = match format {
                Written::Mooncake => mooncake(line),
                Written::Azure(columns) => azure(line, columns),
            };
            let read = read.map_err(at_line)?;
            if all.len() >= most || self.is_beyond(read.0, first) {
                break;
            }
            take(&mut all, read, &mut first);
        }
        all.truncate(most);
        if all.is_empty() {
            return Err(refuse("it holds no request".to_owned()));
        }
        Ok(from_the_first(all))
    }

    /// What a file is by its first line.
    fn begins(&self, line: &str) -> Result<Written, String> {
        let found = if line.starts_with('{') {
            Written::Mooncake
        } else {
            Written::Azure(columns(line).ok_or(
                "this is no trace: lines of Mooncake's are objects with `timestamp`, `input_length` and `output_length`, and Azure's \
                 begins with `TIMESTAMP,ContextTokens,GeneratedTokens`",
            )?)
        };
        match (self.format, found) {
            (Some(TraceFormat::Mooncake), Written::Azure(_)) => {
                Err("this is a trace of Azure's, not of Mooncake's".to_owned())
            }
            (Some(TraceFormat::Azure), Written::Mooncake) => {
                Err("this is a trace of Mooncake's, not of Azure's".to_owned())
            }
            _ => Ok(found),
        }
    }

    fn is_beyond(&self, at: i128, first: Option<i128>) -> bool {
        let so_far = first.and_then(|first| u64::try_from(at - first).ok());
        self.span.zip(so_far).is_some_and(|(span, so_far)| Duration::from_nanos(so_far) > span)
    }
}

/// How a file is written, and where its columns are.
#[derive(Debug, Clone, Copy)]
enum Written {
    Mooncake,
    Azure([usize; 3]),
}

/// A request with its time in nanoseconds since whatever the trace counts from.
type Read = (i128, Traced);

fn take(all: &mut Vec<Read>, read: Read, first: &mut Option<i128>) {
    first.get_or_insert(read.0);
    all.push(read);
}

/// Times count from the earliest; what came at one time stays in the order of the file.
fn from_the_first(mut all: Vec<Read>) -> Vec<Traced> {
    all.sort_by_key(|(at, _)| *at);
    let first = all.first().map_or(0, |(at, _)| *at);
    let after = |at: i128| Duration::from_nanos(u64::try_from(at - first).unwrap_or(u64::MAX));
    all.into_iter().map(|(at, request)| Traced { at: after(at), ..request }).collect()
}

#[derive(Deserialize)]
struct Line {
    timestamp: f64,
    input_length: u32,
    output_length: u32,
    #[serde(default)]
    hash_ids: Vec<u64>,
}

fn mooncake(line: &str) -> Result<Read, String> {
    let read: Line =
        serde_json::from_str(line).map_err(|e| e.to_string().replace(" at line 1 column ", ", column "))?;
    let Line { timestamp, input_length: input, output_length: output, hash_ids: blocks } = read;
    if !timestamp.is_finite() || timestamp.abs() > 1e15 {
        return Err(format!("{timestamp} is no time in milliseconds"));
    }
    let whole_before = u64::from(BLOCK_TOKENS) * (blocks.len() as u64).saturating_sub(1);
    if whole_before >= u64::from(input.max(1)) {
        return Err(format!(
            "{} `hash_ids` stand for more than {whole_before} tokens, and `input_length` is {input}",
            blocks.len()
        ));
    }
    Ok(((timestamp * 1e6).round() as i128, traced(input, output, blocks)))
}

/// Where an Azure trace has its columns; files of other years have more of them.
fn columns(header: &str) -> Option<[usize; 3]> {
    let names: Vec<&str> = header.split(',').map(str::trim).collect();
    let at = |name: &str| names.iter().position(|n| n.eq_ignore_ascii_case(name));
    Some([at("TIMESTAMP")?, at("ContextTokens")?, at("GeneratedTokens")?])
}

fn azure(line: &str, columns: [usize; 3]) -> Result<Read, String> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let [time, input, output] = columns.map(|at| fields.get(at).copied().unwrap_or_default());
    let number = |text: &str| text.parse().map_err(|_| format!("`{text}` is no number of tokens"));
    Ok((nanoseconds(time)?, traced(number(input)?, number(output)?, Vec::new())))
}

/// A request whose time is not settled yet. Nothing shorter than a token can be sent or asked for.
fn traced(input: u32, output: u32, blocks: Vec<u64>) -> Traced {
    Traced { at: Duration::ZERO, input: input.max(1), output: output.max(1), blocks }
}

/// `2023-11-16 18:15:46.6805900`, or with an offset: `2024-05-10 00:00:00.009930+00:00`.
fn nanoseconds(text: &str) -> Result<i128, String> {
    let zoned = text.parse::<jiff::Timestamp>();
    let plain = || text.parse::<jiff::civil::DateTime>()?.to_zoned(jiff::tz::TimeZone::UTC);
    let at = zoned.or_else(|_| plain().map(|zoned| zoned.timestamp()));
    at.map(jiff::Timestamp::as_nanosecond).map_err(|_| format!("`{text}` is no time"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, change: impl FnOnce(&mut Trace)) -> Result<Vec<Traced>, String> {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("trace");
        std::fs::write(&file, text).expect("written");
        let mut trace = Trace { file, format: None, count: None, span: None };
        change(&mut trace);
        trace.requests().map_err(|e| e.to_string())
    }

    const MOONCAKE: &str = r#"{"timestamp": 3052, "input_length": 1100, "output_length": 7, "hash_ids": [0, 1, 2]}
        {"timestamp": 52.5, "input_length": 512, "output_length": 500, "hash_ids": [0]}

        {"timestamp": 3052, "input_length": 9, "output_length": 3}"#;

    #[test]
    fn mooncake_s_times_count_from_the_earliest() {
        let all = read(MOONCAKE, |_| {}).expect("a trace");
        let seen: Vec<_> =
            all.iter().map(|r| (r.at.as_micros(), r.input, r.output, r.blocks.len())).collect();
        assert_eq!(seen, [(0, 512, 500, 1), (2_999_500, 1100, 7, 3), (2_999_500, 9, 3, 0)]);
    }

    const AZURE_2023: &str = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:46.6805900,374,44\r\n2023-11-16 18:15:50.9951690,396,109\r\n";
    const AZURE_2024: &str = "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,2162,5\n2024-05-10 00:00:00.017335+00:00,2399,6\n";

    #[test]
    fn azure_s_times_are_read_with_and_without_an_offset() {
        let seen = |text| -> Vec<(u128, u32, u32)> {
            let all = read(text, |_| {}).expect("a trace");
            all.iter().map(|r| (r.at.as_nanos(), r.input, r.output)).collect()
        };
        assert_eq!(seen(AZURE_2023), [(0, 374, 44), (4_314_579_000, 396, 109)]);
        assert_eq!(seen(AZURE_2024), [(0, 2162, 5), (7_405_000, 2399, 6)]);
    }

    #[test]
    fn no_more_is_taken_than_is_wanted() {
        assert_eq!(read(AZURE_2023, |t| t.count = Some(1)).expect("a trace").len(), 1);
        let span = Some(Duration::from_secs(4));
        assert_eq!(read(AZURE_2023, |t| t.span = span).expect("a trace").len(), 1);
        assert_eq!(read(AZURE_2023, |t| t.span = span.map(|s| 2 * s)).expect("a trace").len(), 2);
    }

    #[test]
    fn nothing_is_shorter_than_a_token() {
        let none = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,0,0\n";
        let all = read(none, |_| {}).expect("a trace");
        assert_eq!((all[0].input, all[0].output), (1, 1));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let told = |text: &str| read(text, |_| {}).expect_err("wrong");
        assert!(told("").contains("holds no request"));
        assert!(told("[1]\n").contains("line 1: this is no trace"));
        assert!(told("{\"timestamp\": 1, \"output_length\": 2}").contains("missing field `input_length`"));
        let many = r#"{"timestamp": 1, "input_length": 512, "output_length": 2, "hash_ids": [4, 5]}"#;
        assert!(told(many).contains("2 `hash_ids` stand for more than 512 tokens"), "{}", told(many));
        let header = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
        assert!(told(&format!("{header}yesterday,3,4\n")).contains("line 2: `yesterday` is no time"));
        assert!(told(&format!("{header}2023-11-16 18:15:46,3\n")).contains("`` is no number of tokens"));
        let other = read(MOONCAKE, |t| t.format = Some(TraceFormat::Azure)).expect_err("another");
        assert!(other.contains("a trace of Mooncake's, not of Azure's"), "{other}");
    }
}
