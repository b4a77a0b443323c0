//! Whether engines can be launched in containers: docker with its daemon, podman, and the way to GPUs in them.

use std::path::Path;

use super::ask::{ask, ask_slow, on_path, version_in};
use super::finding::{Finding, Topic};

const GPU_FIX: &str =
    "install nvidia-container-toolkit, then `sudo nvidia-ctk runtime configure --runtime=docker`";

/// `gpus`: whether there is anything to hand into a container.
pub fn findings(gpus: bool) -> Vec<Finding> {
    let mut out: Vec<Finding> = [docker(), podman(), runc()].into_iter().flatten().collect();
    out.extend(["podman", "docker"].into_iter().filter_map(tried));
    if out.is_empty() {
        return vec![Finding::ok(
            Topic::Containers,
            "no docker and no podman: engines run from the PATH or from virtual environments",
        )];
    }
    if gpus {
        out.push(match on_path("nvidia-ctk").or_else(|| on_path("nvidia-container-runtime")) {
            Some(_) => Finding::ok(Topic::Containers, "the NVIDIA container toolkit is installed"),
            None => {
                Finding::warn(Topic::Containers, "containers get no GPU without NVIDIA's toolkit", GPU_FIX)
            }
        });
    }
    out
}

fn docker() -> Option<Finding> {
    let program = on_path("docker")?;
    let version = said(&program);
    Some(match ask(&program, &["version", "--format", "{{.Server.Version}}"]) {
        Some(server) => {
            Finding::ok(Topic::Containers, format!("docker {}, its daemon answers", server.trim()))
        }
        None => Finding::warn(
            Topic::Containers,
            format!("docker {version} is installed, and its daemon does not answer"),
            "start it (`sudo systemctl start docker`), or join its group (`sudo usermod -aG docker $USER`)",
        ),
    })
}

fn podman() -> Option<Finding> {
    let program = on_path("podman")?;
    Some(Finding::ok(Topic::Containers, format!("podman {}", said(&program))))
}

/// Whether a container can be started: with a program that no image has, so that nothing runs. A runtime that misses it works.
fn tried(name: &str) -> Option<Finding> {
    const NO_PROGRAM: &str = "/perflab-asks-whether-containers-start";
    let program = on_path(name)?;
    let entry = format!("--entrypoint={NO_PROGRAM}");
    let image = ask(&program, &["image", "ls", "--quiet"]);
    let image = image.and_then(|ids| ids.split_whitespace().next().map(str::to_owned));
    let empty = std::env::temp_dir().join(format!("perflab-doctor-{}", std::process::id()));
    let root = empty.to_string_lossy().into_owned();
    let mut words = vec!["run", "--rm", "--network=host"];
    match &image {
        Some(image) => words.extend(["--pull=never", &entry, image]),
        // podman takes a directory for an image; docker has to have one
        None if name == "podman" => {
            std::fs::create_dir(&empty).ok()?;
            words.extend(["--rootfs", &root, NO_PROGRAM]);
        }
        None => return None,
    }
    let said = ask_slow(&program, &words);
    let _ = std::fs::remove_dir_all(&empty);
    if said.as_ref().is_some_and(|text| text.contains(NO_PROGRAM)) {
        return Some(Finding::ok(Topic::Containers, format!("{name} starts containers")));
    }
    let why = said.as_deref().unwrap_or("no answer in time");
    let why = why.lines().map(str::trim).rfind(|l| !l.is_empty()).unwrap_or("nothing");
    Some(Finding::warn(
        Topic::Containers,
        format!("{name} cannot start a container here: {why}"),
        "see docs/launching.md for what it may need in a virtual machine or a container, or use `via venv`",
    ))
}

fn runc() -> Option<Finding> {
    let (name, program) = ["crun", "runc"].into_iter().find_map(|name| Some((name, on_path(name)?)))?;
    Some(Finding::ok(Topic::Containers, format!("{name} {}", said(&program))))
}

fn said(program: &Path) -> String {
    ask(program, &["--version"])
        .and_then(|t| version_in(&t))
        .unwrap_or_else(|| "(unknown version)".to_owned())
}
