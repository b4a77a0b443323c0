//! What the load generator takes from a server on this machine, for `perflab doctor --client`: the simulated engine, as a process of its
//! own, under it and under the least client that there can be.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use nix::sys::prctl;
use nix::sys::signal::Signal;

use crate::doctor::{Finding, Topic};
use crate::load::{Effect, EffectTest, LoadError, effect};

const MODEL: &str = "Qwen/Qwen3-8B";
/// What a server that starts says last, with its address before it.
const SERVES: &str = "Starting simulated API server on http://";
const READY: &str = "Application startup complete.";
/// A server that is slowed down by more than this share is worth a warning.
const LITTLE: f64 = 0.02;

/// Tries both clients: eighteen loads of a second and more.
pub(super) fn run(streams: u32, cpus: Vec<usize>) -> Result<Effect, LoadError> {
    let engine = Engine::start(streams).map_err(|e| LoadError::Task(format!("the simulated engine: {e}")))?;
    let test = EffectTest { address: engine.address, model: MODEL, streams, cpus };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(LoadError::Thread)?.block_on(effect(&test))
}

/// What it means.
pub(super) fn finding(seen: &Effect) -> Finding {
    let said = format!(
        "the simulated engine here, in {} streams, has {:.3} of the throughput that it has under a client that only reads (95 % {:.3} to {:.3}, {} pairs)",
        seen.streams, seen.ratio, seen.low, seen.high, seen.pairs
    );
    if seen.high < 1.0 - LITTLE {
        let fix = "cores of its own for the client (`--pin-client`), or a machine with more of them";
        return Finding::warn(
            Topic::Client,
            format!("the client slows a server beside it down: {said}"),
            fix,
        );
    }
    Finding::ok(Topic::Client, said)
}

/// A simulated engine, which ends with this process.
struct Engine {
    address: SocketAddr,
    process: Child,
}

impl Engine {
    fn start(streams: u32) -> std::io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["sim", "--port", "0", "--model", MODEL, "--max-num-seqs", &streams.to_string()]);
        // while it takes requests in, twelve milliseconds each, no client has anything to do
        command.args(["--front-end-ms", "0"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        // SAFETY: between fork and exec only that system call is made
        unsafe { command.pre_exec(|| Ok(prctl::set_pdeathsig(Signal::SIGKILL)?)) };
        let mut process = command.spawn()?;
        let log = process.stdout.take();
        let mut engine = Self { address: ([127, 0, 0, 1], 0).into(), process };
        for line in log.into_iter().flat_map(|log| BufReader::new(log).lines()) {
            let line = line?;
            if let Some((_, address)) = line.split_once(SERVES) {
                engine.address = address.trim().parse().map_err(std::io::Error::other)?;
            } else if line.contains(READY) {
                return Ok(engine);
            }
        }
        Err(std::io::Error::other("it ended before it was ready"))
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    #[test]
    fn only_an_effect_that_is_sure_is_a_warning() {
        let seen = |low, high| Effect { streams: 256, pairs: 8, ratio: 0.97, low, high };
        assert_eq!(finding(&seen(0.94, 1.0)).level, Level::Ok);
        assert_eq!(finding(&seen(0.96, 0.975)).level, Level::Warn);
        assert!(
            finding(&seen(0.96, 0.99)).text.contains("0.970 of the throughput"),
            "{:?}",
            finding(&seen(0.96, 0.99))
        );
    }
}
