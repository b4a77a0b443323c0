//! perflab: a declarative experiment language for LLM serving performance, and its interpreter.
//!
//! The folders are the pipeline, in reading order; imports go one way.
//!
//! ```text
//! text ─▶ lang ─▶ plan ─▶ run ──────────▶ judge ─▶ report
//!                           │ ▲                │
//!                           │ └── decisions ◀──┘
//!                           ▼
//!              engine · load · gpu · journal        (sim: a server to run against)
//! ```

pub mod cli;
pub mod data;
pub mod disk;
pub mod doctor;
pub mod engine;
pub mod gpu;
pub mod hub;
pub mod init;
pub mod journal;
pub mod judge;
pub mod lang;
pub mod load;
pub mod plan;
pub mod report;
pub mod run;
pub mod secrets;
pub mod sim;
pub mod trust;
