//! How fast recorded streams of real servers are read: HTTP chunks, events, chunk times. `cargo bench --bench stream`
//! prints bytes a second of this machine.

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use perflab::load::{HttpDecoder, SseDecoder, StreamMeter};

/// Events in one write of the server.
const EVENTS_A_WRITE: usize = 8;
/// What one read of the client brings at most.
const READ: usize = 64 << 10;

/// A recorded stream, its middle repeated until it is about a megabyte long.
fn recording(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sse").join(name);
    let raw = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let body = raw.split_once("\r\n\r\n").map_or(raw.as_str(), |(_, body)| body);
    let events: Vec<&str> = body.split_inclusive("\n\n").collect();
    let middle = &events[2..events.len() - 3];
    let mut all = events[..2].concat();
    while all.len() < 1 << 20 {
        all.extend(middle.iter().copied());
    }
    all.extend(events[events.len() - 3..].iter().copied());
    all.into_bytes()
}

/// The same body as a server sends it, some events a chunk.
fn framed(body: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(body);
    let events: Vec<&str> = text.split_inclusive("\n\n").collect();
    let mut all = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for some in events.chunks(EVENTS_A_WRITE) {
        let chunk = some.concat();
        all.extend(format!("{:x}\r\n{chunk}\r\n", chunk.len()).bytes());
    }
    all.extend(b"0\r\n\r\n");
    all
}

fn streams(c: &mut Criterion) {
    for name in ["vllm-0.17.1/chat-usage.sse", "sglang-0.5.9/chat-usage.sse", "llama-server/chat-usage.sse"] {
        let body = recording(name);
        let answer = framed(&body);
        let mut group = c.benchmark_group(name);
        group.throughput(Throughput::Bytes(answer.len() as u64));
        group.bench_function("http", |b| {
            b.iter(|| {
                let (mut decoder, mut bytes) = (HttpDecoder::default(), 0);
                for read in answer.chunks(READ) {
                    let fed = decoder.feed(read, &mut |_, run| bytes += run.len());
                    fed.expect("a recorded answer");
                }
                black_box(bytes)
            });
        });
        group.bench_function("http and events", |b| {
            b.iter(|| {
                let (mut http, mut sse, mut events) = (HttpDecoder::default(), SseDecoder::default(), 0);
                for read in answer.chunks(READ) {
                    let fed = http.feed(read, &mut |_, run| {
                        sse.feed(run, &mut |event| events += event.data.len()).expect("short events");
                    });
                    fed.expect("a recorded answer");
                }
                black_box(events)
            });
        });
        group.bench_function("all", |b| {
            b.iter(|| {
                let (mut http, mut meter) = (HttpDecoder::default(), StreamMeter::default());
                for read in answer.chunks(READ) {
                    let fed = http.feed(read, &mut |_, run| {
                        meter.bytes(1, run);
                    });
                    fed.expect("a recorded answer");
                }
                black_box(meter.finish(2, Ok(()), None))
            });
        });
        group.finish();
    }
}

criterion_group!(benches, streams);
criterion_main!(benches);
