//! Paths of a container as those of this machine, where perflab starts the engine.

use super::arguments::Arguments;
use super::launch::{Launch, Mount};

/// Names the model, and files that flags and variables name, by where they lie here; what is said of it, a line each.
pub fn as_here(launch: &mut Launch, arguments: &mut Arguments) -> Vec<String> {
    let Some(image) = &launch.image else { return Vec::new() };
    let mut told = Vec::new();
    let model = &mut arguments.model;
    match here(&launch.mounts, model) {
        Some((path, _)) if path == *model => {}
        Some((path, mount)) => {
            told.push(format!(
                "the model is {path} here, which the container has as {model} ({})",
                said(mount)
            ));
            *model = path;
        }
        None if model.starts_with('/') => told.push(format!(
            "the model {model} is a path in {}: name the one that it has on this machine",
            super::value::plain(&image.full)
        )),
        None => {}
    }
    for flag in &mut arguments.flags {
        let Some(value) = flag.value.as_mut().filter(|v| !v.contains(char::is_whitespace)) else { continue };
        if let Some((path, mount)) = here(&launch.mounts, value).filter(|(path, _)| path != value) {
            told.push(format!(
                "{} names {path} here, which the container has as {value} ({})",
                flag.name,
                said(mount)
            ));
            *value = path;
        }
    }
    for (name, word) in launch.env.iter_mut().filter(|(_, word)| word.missing.is_none()) {
        if let Some((path, mount)) = here(&launch.mounts, &word.text).filter(|(path, _)| *path != word.text) {
            told.push(format!(
                "{name} names {path} here, which the container has as {} ({})",
                word.text,
                said(mount)
            ));
            word.text = path;
        }
    }
    told
}

fn said(mount: &Mount) -> String {
    format!("{}:{}", mount.here, mount.inside)
}

/// A path of the container on this machine: by the mount that is nearest to it.
fn here<'a>(mounts: &'a [Mount], path: &str) -> Option<(String, &'a Mount)> {
    let below =
        |m: &Mount| path.strip_prefix(&m.inside).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let nearest = mounts.iter().filter(|m| below(m).is_some()).max_by_key(|m| m.inside.len())?;
    Some((format!("{}{}", nearest.here, below(nearest)?), nearest))
}
