//! The integration tests: one binary, so that they are linked once. Everything runs the real `perflab` as a process.

mod support;
mod watching;

mod budgets;
mod cli;
mod containers;
mod decide;
mod doctor;
mod engine;
mod exec;
mod explain;
mod faults;
mod files;
mod fix;
mod fmt;
mod forecasts;
mod given;
mod gpus;
mod grammar;
mod house;
mod hub;
mod init;
mod llama_cpp;
mod misbehaving;
mod plan;
mod provenance;
mod real;
mod replay;
mod secrets;
mod signals;
mod sites;
mod stdlib;
mod trees;
mod ui;
