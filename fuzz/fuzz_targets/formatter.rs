//! Any text is refused for its syntax or laid out, a second time without a change; the tree never differs.
#![no_main]

use libfuzzer_sys::fuzz_target;
use perflab_fuzz::lang::fmt::{Refusal, format};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    match format(&text) {
        Ok(formatted) => {
            assert_eq!(format(&formatted).as_ref(), Ok(&formatted), "a second time changes something")
        }
        Err(Refusal::Syntax(found)) => assert!(!found.is_empty()),
        Err(refusal @ Refusal::Different(_)) => panic!("{refusal}"),
    }
});
