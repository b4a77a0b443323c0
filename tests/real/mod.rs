//! Real engines, started by the real binary: what holds with the simulated engine has to hold with servers that nobody here
//! wrote. llama.cpp runs always.

mod llama_cpp;
mod trouble;
