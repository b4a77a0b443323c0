//! JSON as servers and their other clients write and read it: with Python's modules, which take what serde_json does not.

use serde::de::{self, Deserialize, Deserializer};
use serde_json::Value;

/// Reads JSON as Python does, by which servers and their other clients write and read it: half of a pair of surrogates (`\ud83d`, of an
/// emoji whose other half comes with the next token) is a character there.
pub(super) fn read<T: de::DeserializeOwned>(data: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(data).or_else(|error| match without_halves(data) {
        Some(mended) => serde_json::from_slice(&mended),
        None => Err(error),
    })
}

/// The same with U+FFFD, which is as long, for each half of a pair that stands alone; `None` where none does.
fn without_halves(data: &[u8]) -> Option<Vec<u8>> {
    let escaped = |at: usize| -> Option<u32> {
        let digits = data.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let (mut out, mut at, mut halves) = (Vec::with_capacity(data.len()), 0, false);
    while at < data.len() {
        let length = match (data[at], escaped(at)) {
            (b'\\', Some(0xd800..=0xdbff)) if matches!(escaped(at + 6), Some(0xdc00..=0xdfff)) => 12,
            (b'\\', Some(0xd800..=0xdfff)) => {
                out.extend_from_slice(b"\\ufffd");
                (halves, at) = (true, at + 6);
                continue;
            }
            (b'\\', _) => 2,
            _ => 1,
        };
        out.extend_from_slice(&data[at..(at + length).min(data.len())]);
        at += length;
    }
    halves.then_some(out)
}

/// How many, as servers write it: `2.0` is 2, and what is no number of tokens says nothing.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let Value::Number(number) = Value::deserialize(deserializer)? else { return Ok(None) };
    let whole = number.as_f64().filter(|n| n.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(n));
    Ok(whole.map(|n| n as u32))
}
