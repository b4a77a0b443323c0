//! Real engines, started by the real binary: what holds with the simulated engine has to hold with servers that nobody here
//! wrote. llama.cpp runs always; vLLM, SGLang and transformers where `PERFLAB_REAL` asks for them (`tests/real/run.sh`).

mod llama_cpp;
mod opted;
mod trouble;
