//! Tools of the integration tests: the real binary in a directory of its own, made-up studies and recordings, and reports
//! read back.

mod lab;
mod live;
mod made_up;
mod report;
mod terminal;

pub use lab::{Lab, Output, Running, assert_close, binary, packed_records, project, skip, studies, wait_for};
pub use live::{EXEC, LIVE, descends_from, events, live_study, marked, parent, runs, unsealed};
pub use made_up::{Recording, TOYS, toy_study};
pub use report::Report;
pub use terminal::Terminal;
