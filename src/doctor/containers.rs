//! Whether engines can be launched in containers: docker with its daemon, podman, and the way to GPUs in them.

use std::path::Path;

use super::ask::{ask, on_path, version_in};
use super::finding::{Finding, Topic};

const GPU_FIX: &str =
    "install nvidia-container-toolkit, then `sudo nvidia-ctk runtime configure --runtime=docker`";

/// `gpus`: whether there is anything to hand into a container.
pub fn findings(gpus: bool) -> Vec<Finding> {
    let mut out: Vec<Finding> = [docker(), podman(), runc()].into_iter().flatten().collect();
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

fn runc() -> Option<Finding> {
    let (name, program) = ["crun", "runc"].into_iter().find_map(|name| Some((name, on_path(name)?)))?;
    Some(Finding::ok(Topic::Containers, format!("{name} {}", said(&program))))
}

fn said(program: &Path) -> String {
    ask(program, &["--version"])
        .and_then(|t| version_in(&t))
        .unwrap_or_else(|| "(unknown version)".to_owned())
}
