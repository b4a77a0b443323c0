//! Any bytes are read to their end, and every mistake found has its place in them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use perflab_fuzz::lang::diag::Sink;
use perflab_fuzz::lang::source::FileId;
use perflab_fuzz::lang::syntax::parse;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let mut sink = Sink::default();
    parse(FileId::default(), &text, &mut sink);
    for found in sink.into_sorted() {
        assert!(text.get(found.span.range()).is_some(), "{found:?} has no place");
    }
});
