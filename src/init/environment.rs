//! The environment of a command: what the engine gets of it, and what a machine's site file says instead.

use super::draft::Change;
use super::error::InitError;
use super::launch::{Devices, Launch};
use super::shell::Word;
use super::{secret, value};
use crate::lang::of_launch::OF_THE_LAUNCH;

/// Variables that say where things lie on one machine and how it reaches others: a study is for other machines too.
const OF_THE_MACHINE: [&str; 25] = [
    "HF_HOME",
    "HF_HUB_CACHE",
    "HUGGINGFACE_HUB_CACHE",
    "HF_DATASETS_CACHE",
    "HF_ENDPOINT",
    "TRANSFORMERS_CACHE",
    "XDG_CACHE_HOME",
    "VLLM_CACHE_ROOT",
    "TRITON_CACHE_DIR",
    "TORCHINDUCTOR_CACHE_DIR",
    "TORCH_HOME",
    "TORCH_EXTENSIONS_DIR",
    "FLASHINFER_WORKSPACE_BASE",
    "LLAMA_CACHE",
    "PATH",
    "LD_LIBRARY_PATH",
    "CUDA_HOME",
    "PYTHONPATH",
    "NCCL_SOCKET_IFNAME",
    "GLOO_SOCKET_IFNAME",
    "NCCL_IB_HCA",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
];

/// The variables that the engine gets; which GPUs, and secrets, are no part of a study.
pub fn environment(
    launch: &Launch,
    left_out: &mut Vec<String>,
) -> Result<(Vec<Change>, Option<Devices>), InitError> {
    let mut devices = launch.devices.clone();
    if let Some((found, which)) = devices.as_ref().and_then(|d| Some((d, d.which.as_ref()?))) {
        left_out.push(chosen(&found.written, which));
    }
    let mut changes: Vec<(String, Change)> = Vec::new();
    for (name, word) in &launch.env {
        if name.ends_with("_VISIBLE_DEVICES") {
            if let Some(found) = visible(name, &word.text) {
                let which = found.which.clone().unwrap_or_default();
                left_out.push(match name.as_str() {
                    "CUDA_VISIBLE_DEVICES" => format!("{}: set it for perflab itself", found.written),
                    _ => chosen(&found.written, &which),
                });
                devices = Some(found);
            } else if word.missing.is_none() && matches!(&*word.text, "" | "-1" | "none" | "void") {
                left_out.push(format!(
                    "{name}={}: the server is given no GPU; set it for perflab itself, and take `gpus` out of the study",
                    value::text(&word.text)
                ));
            }
            continue;
        }
        if secret::variable(name) || secret::value_is(&word.text) {
            left_out.push(format!("{name}: a secret, and a study lies in git; put it into a site file"));
            continue;
        }
        if OF_THE_LAUNCH.iter().any(|(n, ..)| n == name) {
            left_out.push(format!("{name}: every launch has one of its own; set it for perflab itself"));
            continue;
        }
        if OF_THE_MACHINE.contains(&name.as_str()) {
            left_out.push(of_the_machine(name, word));
            continue;
        }
        if let Some(missing) = &word.missing {
            return Err(InitError::open(missing));
        }
        let upper = !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        if !upper || word.text.contains(|c: char| c.is_control() && !"\n\t".contains(c)) {
            left_out.push(format!("{name}: it cannot be written as a variable of the engine"));
            continue;
        }
        let text = format!("env {name}={}", value::single(&word.text));
        changes.retain(|(n, _)| n != name);
        changes.push((name.clone(), Change { text, ..Change::default() }));
    }
    Ok((changes.into_iter().map(|(_, c)| c).collect(), devices))
}

fn visible(name: &str, value: &str) -> Option<Devices> {
    let count = value.split(',').filter(|d| !d.trim().is_empty()).count() as u32;
    let named = !matches!(value, "all" | "none" | "void" | "-1");
    (count > 0 && named).then(|| Devices {
        count,
        written: format!("{name}={value}"),
        which: Some(value.to_owned()),
    })
}

/// Which GPUs a command takes is said to perflab, which hands them to each launch.
fn chosen(written: &str, which: &str) -> String {
    format!("{written}: set CUDA_VISIBLE_DEVICES={which} for perflab itself")
}

/// How a site file gives every launch such a variable.
fn of_the_machine(name: &str, word: &Word) -> String {
    let why = "a fact of the machine, which stands in site.plab beside the study";
    if word.missing.is_some() {
        return format!("{name}: {why}, `env {name}=\"…\"`");
    }
    format!("{name}: {why}: site here {{ env {name}={} }}", value::single(&word.text))
}
