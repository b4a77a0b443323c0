//! The standard library: `.plab` text embedded in the binary.
//!
//! `std/engines` is one file an engine, because an engine's schema is long and a study names one or two: only what is named is read.

/// One file of the library: its name as shown in messages, and its text.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    pub name: &'static str,
    pub text: &'static str,
}

macro_rules! part {
    ($name:literal) => {
        Part { name: concat!("std/", $name), text: include_str!(concat!("../../stdlib/", $name, ".plab")) }
    };
}

const ENGINES: &[(&str, Part)] = &[
    ("vllm", part!("engines/vllm")),
    ("sglang", part!("engines/sglang")),
    ("trtllm", part!("engines/trtllm")),
    ("llama_cpp", part!("engines/llama_cpp")),
    ("sim", part!("engines/sim")),
];

const PROFILES: &[Part] = &[part!("profiles")];

/// The names that may stand after `std/`.
pub const LIBRARIES: &[&str] = &["engines", "profiles"];

/// The files of `std/NAME` that are needed to find `names` in it, or all of them if one of the names is in none.
pub fn parts(library: &str, names: &[&str]) -> Option<Vec<Part>> {
    match library {
        "engines" => {
            let all_known = names.iter().all(|n| ENGINES.iter().any(|(e, _)| e == n));
            let needed = ENGINES.iter().filter(|(e, _)| !all_known || names.contains(e));
            Some(needed.map(|(_, p)| *p).collect())
        }
        "profiles" => Some(PROFILES.to_vec()),
        _ => None,
    }
}
