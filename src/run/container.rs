//! An engine in a container: the words that docker or podman is started with.
//!
//! Secrets are passed by name, never by value: the values stand in the client's own environment, where other users of the
//! machine cannot read them, and not in its arguments.

use std::path::{Path, PathBuf};

use thiserror::Error;

use super::cores;
use super::order::Place;
use super::surroundings::{Surroundings, VISIBLE};
use crate::engine::MARK;
use crate::engine::container::{Container, LAUNCH_LABEL, Runtime, STUDY_LABEL};
use crate::lang::sema::program::{BoxRuntime, Boxed, Engine};
use crate::plan::Config;
use crate::plan::command::OptionFile;

/// What is started in the images of engines whose program is not on the `PATH` there.
const PROGRAMS: [(&str, &str); 1] = [("llama_cpp", "/app/llama-server")];

/// Why no container can be started.
#[derive(Debug, Error)]
pub enum BoxError {
    #[error("no image is known for engine `{0}`")]
    NoImage(String),
    #[error("there is no program `{0}`")]
    NoProgram(&'static str),
}

/// The image that a site's line means: the one that it names, else the engine's own.
pub fn image(engine: &Engine, boxed: &Boxed) -> Result<String, BoxError> {
    let image = boxed.image.clone().or_else(|| engine.image());
    image.ok_or_else(|| BoxError::NoImage(engine.name.clone()))
}

/// The program of this machine that a site's line means.
pub fn runtime(boxed: &Boxed) -> Result<Runtime, BoxError> {
    Runtime::find(boxed.runtime.name()).ok_or(BoxError::NoProgram(boxed.runtime.name()))
}

/// A client that starts a container, and what the container is removed by.
pub struct Start {
    pub argv: Vec<String>,
    /// the client's environment, the container's variables in it
    pub env: Vec<(String, String)>,
    pub container: Container,
}

/// Everything that a launch in a container needs.
pub fn start(
    config: &Config,
    boxed: &Boxed,
    argv: &[String],
    files: &[OptionFile],
    around: &Surroundings,
    place: &Place<'_>,
) -> Result<Start, BoxError> {
    let runtime = runtime(boxed)?;
    let reference = image(&config.engine, boxed)?;
    let mut read: Vec<PathBuf> = place.model(config).map(PathBuf::from).into_iter().collect();
    read.extend(files.iter().map(|f| f.path.clone()));
    let mut variables = around.variables.clone();
    read.extend(hub_cache(&mut variables));
    let gpus = place.env.iter().find(|(name, _)| name == VISIBLE).map_or("", |(_, uuids)| uuids);
    let names = variables.iter().map(|(name, _)| name.as_str()).chain([MARK]);
    let given = Given {
        nonce: &place.nonce,
        study_mark: study_mark(&place.nonce),
        image: place.images.get(&reference).unwrap_or(&reference),
        argv,
        variables: names.collect(),
        gpus: gpus.split(',').filter(|gpu| !gpu.is_empty()).collect(),
        cwd: place.study_dir,
        read,
        cpus: cores::listed(place.cpus),
        part: place.part,
        write: around.caches.iter().map(|c| c.dir().to_owned()).collect(),
    };
    let argv = command(&runtime, boxed.runtime == BoxRuntime::Podman, &config.engine, &given);
    // what is stated for the engine may not lead the client astray
    let own = runtime.env.iter().filter(|(name, _)| !variables.iter().any(|(n, _)| n == name));
    let env = own.chain(&variables).cloned().collect();
    Ok(Start { argv, env, container: Container { runtime, nonce: place.nonce.clone() } })
}

/// The launches of a study share what stands before their own number.
pub fn study_mark(nonce: &str) -> &str {
    nonce.rfind('-').map_or(nonce, |at| &nonce[..=at])
}

/// Where the hub's files lie on this machine; the container finds them at the same place, unless it is told another.
fn hub_cache(variables: &mut Vec<(String, String)>) -> Option<PathBuf> {
    const NAME: &str = "HF_HUB_CACHE";
    if variables.iter().any(|(name, _)| name == NAME || name == "HF_HOME") {
        let stated = variables.iter().find(|(name, _)| name == NAME);
        let home = variables.iter().find(|(name, _)| name == "HF_HOME").map(|(_, v)| format!("{v}/hub"));
        return stated.map(|(_, v)| v.clone()).or(home).map(PathBuf::from).filter(|p| p.is_dir());
    }
    let dir = crate::hub::cache_dir(&|_| None).filter(|d| d.is_dir())?;
    variables.push((NAME.to_owned(), dir.to_string_lossy().into_owned()));
    Some(dir)
}

/// What a container is given.
pub struct Given<'a> {
    pub nonce: &'a str,
    /// the study's state directory, as its processes are marked
    pub study_mark: &'a str,
    pub image: &'a str,
    /// the engine's own command
    pub argv: &'a [String],
    /// names of variables that the container gets from the client's environment
    pub variables: Vec<&'a str>,
    pub gpus: Vec<&'a str>,
    /// where the engine runs; seen, and not written to
    pub cwd: &'a Path,
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    /// processors of its own, as a list; empty where they are not shared out
    pub cpus: String,
    /// its part of the machine's memory, from 0 to 1
    pub part: f64,
}

/// The whole command, the client first.
pub fn command(runtime: &Runtime, podman: bool, engine: &Engine, given: &Given<'_>) -> Vec<String> {
    let mut words: Vec<String> = vec![runtime.program.to_string_lossy().into_owned()];
    let fixed = ["run", "--rm", "--network=host", "--log-driver=none", "--pull=never"];
    words.extend(fixed.map(str::to_owned));
    // its own shared memory, and not the machine's: what a killed engine leaves there goes with the container
    words.extend(shares(given));
    words.push(format!("--name={}", given.nonce));
    words.push(format!("--label={STUDY_LABEL}={}", given.study_mark));
    words.push(format!("--label={LAUNCH_LABEL}={}", given.nonce));
    words.extend(gpu_words(podman, &given.gpus));
    for (dirs, mode) in [(&given.read, ",readonly"), (&given.write, "")] {
        for dir in dirs {
            let dir = dir.to_string_lossy();
            words.push(format!("--mount=type=bind,source={dir},target={dir}{mode}"));
        }
    }
    let cwd = given.cwd.to_string_lossy();
    words.push(format!("--mount=type=bind,source={cwd},target={cwd},readonly"));
    words.push(format!("--workdir={cwd}"));
    words.extend(given.variables.iter().map(|name| format!("--env={name}")));
    let own = PROGRAMS.iter().find(|(root, _)| *root == engine.root()).map(|(_, program)| *program);
    let first = given.argv.first().map_or("", String::as_str);
    words.push(format!("--entrypoint={}", own.unwrap_or(first)));
    words.push(given.image.to_owned());
    words.extend(given.argv.iter().skip(1).cloned());
    words
}

fn gpu_words(podman: bool, gpus: &[&str]) -> Vec<String> {
    if gpus.is_empty() {
        Vec::new()
    } else if podman {
        gpus.iter().map(|gpu| format!("--device=nvidia.com/gpu={gpu}")).collect()
    } else {
        // quoted for docker itself, which reads a line of comma-separated values
        vec![format!("--gpus=\"device={}\"", gpus.join(","))]
    }
}

/// Limits, and nothing that is taken: of shared memory half of what there is, as the kernel does by itself; and what is not its own
/// where others run beside it.
fn shares(given: &Given<'_>) -> Vec<String> {
    let mib = memory_mib().map(|mib| (mib as f64 * given.part) as u64);
    let mut words = vec![
        mib.map_or_else(|| "--shm-size=16g".to_owned(), |mib| format!("--shm-size={}m", (mib / 2).max(64))),
    ];
    if !given.cpus.is_empty() {
        words.push(format!("--cpuset-cpus={}", given.cpus));
    }
    words.extend(mib.filter(|_| given.part < 1.0).map(|mib| format!("--memory={mib}m")));
    words
}

/// The machine's memory.
pub fn memory_mib() -> Option<u64> {
    let kib = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        text.lines()
            .find_map(|l| l.strip_prefix("MemTotal:")?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok())
    });
    kib.map(|kib| kib / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_go_by_uuid_in_each_runtimes_words() {
        assert_eq!(gpu_words(false, &["GPU-a", "GPU-b"]), ["--gpus=\"device=GPU-a,GPU-b\""]);
        let podman = ["--device=nvidia.com/gpu=GPU-a", "--device=nvidia.com/gpu=GPU-b"];
        assert_eq!(gpu_words(true, &["GPU-a", "GPU-b"]), podman);
        assert_eq!(gpu_words(true, &[]), [""; 0]);
    }
}
