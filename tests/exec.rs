//! Studies that run for real: engines that fail in every way, state that is damaged or contested, loads, and the books kept of it all.

mod bodies;
mod books;
mod changes;
mod edits;
mod engines;
mod goodput;
mod loads;
mod options;
mod repeats;
mod shifts;
mod state;
