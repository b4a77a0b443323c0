//! The integration tests: one binary, so that they are linked once. Everything runs the real `perflab` as a process.

mod support;

mod cli;
mod containers;
mod decide;
mod doctor;
mod engine;
mod exec;
mod explain;
mod files;
mod fix;
mod fmt;
mod given;
mod gpus;
mod grammar;
mod house;
mod hub;
mod init;
mod llama_cpp;
mod misbehaving;
mod plan;
mod replay;
mod secrets;
mod signals;
mod sites;
mod stdlib;
mod trees;
mod ui;
