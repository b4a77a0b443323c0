//! Any bytes that a server sends, cut anywhere, give what they give in one piece: the same body, the same events, the same verdict.
//! The first two bytes say how the rest is cut.
#![no_main]

use libfuzzer_sys::fuzz_target;
use perflab_fuzz::load::http::decoder::Decoder;
use perflab_fuzz::load::meter::{StreamMeter, StreamReport};
use perflab_fuzz::load::sse::SseDecoder;

/// Cuts bytes into pieces of lengths that the number gives.
fn pieces(bytes: &[u8], mut number: u64) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let length = match number >> 60 {
            0..8 => 1 + (number >> 32) as usize % 8,
            _ => 1 + (number >> 32) as usize % 300,
        };
        let (piece, left) = rest.split_at(length.min(rest.len()));
        rest = left;
        Some(piece)
    })
}

/// Status and body, whether the connection may be used again, and what was wrong.
fn http<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<(u16, u8)>, bool, Option<String>) {
    let (mut decoder, mut body) = (Decoder::default(), Vec::new());
    for piece in pieces {
        let fed = decoder.feed(piece, &mut |status, run| body.extend(run.iter().map(|byte| (status, *byte))));
        if let Err(e) = fed {
            return (body, false, Some(e.to_string()));
        }
    }
    let kept = decoder.may_be_kept();
    (body, kept, decoder.closed().err().map(|e| e.to_string()))
}

/// Events by name and data, and whether one was too long.
fn events<'a>(pieces: impl Iterator<Item = &'a [u8]>, limit: usize) -> (Vec<(Vec<u8>, Vec<u8>)>, bool) {
    let (mut decoder, mut events) = (SseDecoder::with_limit(limit), Vec::new());
    for piece in pieces {
        let fed = decoder.feed(piece, &mut |event| events.push((event.name.to_vec(), event.data.to_vec())));
        if fed.is_err() {
            return (events, true);
        }
    }
    let ended = decoder.finish(&mut |event| events.push((event.name.to_vec(), event.data.to_vec())));
    (events, ended.is_err())
}

/// What was measured, times apart.
fn measured<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> StreamReport {
    let mut meter = StreamMeter::default();
    for piece in pieces {
        meter.bytes(0, piece);
    }
    meter.finish(0, Ok(()), None)
}

fuzz_target!(|data: &[u8]| {
    let Some((cuts, bytes)) = data.split_first_chunk::<2>() else { return };
    let number = u64::from(u16::from_le_bytes(*cuts));
    let whole = || std::iter::once(bytes);
    let cut = || pieces(bytes, number);
    let shown = |(body, kept, why): (Vec<(u16, u8)>, bool, Option<String>)| {
        // a message may show the beginning of what is wrong, of which a piece holds less
        (body, kept, why.map(|why| why.split('`').next().map(str::to_owned)))
    };
    assert_eq!(shown(http(whole())), shown(http(cut())), "the answer");
    for limit in [40, 1 << 20] {
        assert_eq!(events(whole(), limit), events(cut(), limit), "the events");
    }
    let body = bytes.windows(4).position(|w| w == b"\r\n\r\n").map_or(0, |end| end + 4);
    for bytes in [bytes, &bytes[body..]] {
        assert_eq!(measured(std::iter::once(bytes)), measured(pieces(bytes, number)), "the measure");
    }
});
