//! Behaviour of the whole engine in virtual time: how TTFT, TPOT and throughput move when one thing changes, and what
//! no load may break.

mod conservation;
mod movement;
mod published;
