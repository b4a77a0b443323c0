//! Those parts of perflab that are fuzzed, without the rest of it, which fuzzing need not compile: the language, which imports no
//! other folder, and of the load generator what reads a server's answers.

#[path = "../../src/lang/mod.rs"]
pub mod lang;

#[path = "."]
pub mod load {
    #[path = "../../src/load/chunks.rs"]
    pub mod chunks;
    #[path = "../../src/load/event.rs"]
    pub mod event;
    #[path = "../../src/load/json.rs"]
    mod json;
    #[path = "../../src/load/meter.rs"]
    pub mod meter;
    #[path = "../../src/load/raw.rs"]
    mod raw;
    #[path = "../../src/load/record.rs"]
    pub mod record;
    #[path = "../../src/load/share.rs"]
    mod share;
    #[path = "../../src/load/shown.rs"]
    pub mod shown;
    #[path = "../../src/load/sse.rs"]
    pub mod sse;
    #[path = "../../src/load/template.rs"]
    pub mod template;

    #[path = "."]
    pub mod http {
        #[path = "../../src/load/http/decoder.rs"]
        pub mod decoder;
        #[path = "../../src/load/http/head.rs"]
        pub mod head;
    }
}
