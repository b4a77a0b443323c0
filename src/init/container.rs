//! `docker run`, `podman run`: the image, what it is given, and the command inside.

use super::known::Engine;
use super::launch::{Devices, Mount};
use super::programs::base_name;
use super::shell::{Word, assignment};

/// A container's run, taken apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Run {
    /// the program that starts it: `docker`
    pub runtime: String,
    pub image: String,
    pub entrypoint: Option<String>,
    /// the words behind the image, an explicit entrypoint in front
    pub command: Vec<Word>,
    pub env: Vec<(String, Word)>,
    pub devices: Option<Devices>,
    pub mounts: Vec<Mount>,
    pub left_out: Vec<String>,
}

/// Options without a value; every other one takes one.
const SWITCHES: [&str; 12] = [
    "--rm",
    "--init",
    "--privileged",
    "--detach",
    "--interactive",
    "--tty",
    "--read-only",
    "--publish-all",
    "--no-healthcheck",
    "--oom-kill-disable",
    "--quiet",
    "--replace",
];
/// Options that do not change what is measured, or that a launch decides.
const SILENT: [&str; 7] = ["--name", "--restart", "--pull", "--label", "-l", "--hostname", "-h"];

/// Whether the words start a container.
pub fn is_runtime(words: &[Word]) -> bool {
    let word = |at: usize| words.get(at).map_or("", |w| w.text.as_str());
    matches!(base_name(word(0)), "docker" | "podman" | "nerdctl")
        && (word(1) == "run" || (word(1) == "container" && word(2) == "run"))
}

/// The run that the words start, if they do.
pub fn read(words: &[Word]) -> Option<Run> {
    if !is_runtime(words) {
        return None;
    }
    let mut run = Run { runtime: base_name(&words[0].text).to_owned(), ..Run::default() };
    let mut rest = words.iter().skip_while(|w| w.text != "run").skip(1);
    while let Some(word) = rest.next() {
        if !word.text.starts_with('-') {
            word.text.clone_into(&mut run.image);
            break;
        }
        let (option, glued) = split(&word.text);
        if switch(option) {
            if option == "--privileged" {
                run.left_out.push("--privileged: an option of the container".to_owned());
            }
            continue;
        }
        let value = glued.map(|v| Word { text: v.to_owned(), missing: word.missing.clone() });
        let Some(value) = value.or_else(|| rest.next().cloned()) else { break };
        take(&mut run, option, value);
    }
    let inside: Vec<Word> = rest.cloned().collect();
    let entry = run.entrypoint.iter().flat_map(|e| e.split_whitespace()).map(Word::plain);
    run.command = entry.chain(inside).collect();
    (!run.image.is_empty()).then_some(run)
}

/// The option and a value that is glued to it: `--env=A=1`, `-p8000:8000`.
fn split(word: &str) -> (&str, Option<&str>) {
    if word.starts_with("--") {
        return word.split_once('=').map_or((word, None), |(option, value)| (option, Some(value)));
    }
    match word.char_indices().nth(2) {
        Some((at, _)) if !short_switches(word) => (&word[..at], Some(word[at..].trim_start_matches('='))),
        _ => (word, None),
    }
}

fn switch(option: &str) -> bool {
    SWITCHES.contains(&option) || short_switches(option)
}

/// `-it`, `-d`, `-itd`
fn short_switches(word: &str) -> bool {
    !word.starts_with("--") && word.len() > 1 && word[1..].chars().all(|c| "ditqP".contains(c))
}

fn take(run: &mut Run, option: &str, value: Word) {
    match option {
        "-e" | "--env" => match assignment(&value.text) {
            Some((name, text)) => {
                run.env.push((name.to_owned(), Word { text: text.to_owned(), missing: value.missing }));
            }
            None => run.left_out.push(format!("-e {}: its value is not in the command", value.text)),
        },
        "--entrypoint" => run.entrypoint = Some(value.text).filter(|e| !e.is_empty()),
        "--gpus" => run.devices = devices(&value.text),
        _ if SILENT.contains(&option) => {}
        "-v" | "--volume" | "--mount" => {
            run.mounts.extend(mount(option, &value.text));
            run.left_out.push(format!("{option} {}: a mount", value.text));
        }
        "-p" | "--publish" => {
            run.left_out.push(format!("{option} {}: perflab chooses a free port", value.text));
        }
        _ => run.left_out.push(format!("{option} {}: an option of the container", value.text)),
    }
}

/// `/data/models:/models:ro`, `type=bind,source=/data/models,target=/models`; a volume by its name is no folder here.
fn mount(option: &str, text: &str) -> Option<Mount> {
    let (here, inside) = if option == "--mount" {
        let of = |names: &[&str]| {
            let mut all = text.split(',').filter_map(|part| part.split_once('='));
            all.find(|(key, _)| names.contains(key)).map(|(_, value)| value)
        };
        (of(&["source", "src"])?, of(&["target", "destination", "dst"])?)
    } else {
        let mut parts = text.split(':');
        (parts.next()?, parts.next()?)
    };
    let folder = here.starts_with(['/', '.', '~']) && inside.starts_with('/');
    let plain = |path: &str| path.trim_end_matches('/').to_owned();
    folder.then(|| Mount { here: plain(here), inside: plain(inside) })
}

/// The variables that `docker compose run`, `docker exec` and the like are given: `-e A=1`, `--env=A=1`.
pub fn variables(words: &[Word]) -> Vec<(String, Word)> {
    if !words.first().is_some_and(|w| matches!(base_name(&w.text), "docker" | "podman" | "nerdctl")) {
        return Vec::new();
    }
    let mut out = Vec::new();
    for (i, word) in words.iter().enumerate() {
        let (option, glued) = split(&word.text);
        if !matches!(option, "-e" | "--env") {
            continue;
        }
        let value = glued.map(|v| Word { text: v.to_owned(), missing: word.missing.clone() });
        let Some(value) = value.or_else(|| words.get(i + 1).cloned()) else { continue };
        if let Some((name, text)) = assignment(&value.text) {
            out.push((name.to_owned(), Word { text: text.to_owned(), missing: value.missing.clone() }));
        }
    }
    out
}

/// `all`, `2`, `"device=0,1"`
fn devices(text: &str) -> Option<Devices> {
    let plain = text.trim_matches('"');
    let written = format!("--gpus {text}");
    if let Ok(count) = plain.parse::<u32>() {
        return (count > 0).then_some(Devices { count, written, which: None });
    }
    let list = plain.strip_prefix("device=")?;
    let count = list.split(',').filter(|d| !d.trim().is_empty()).count() as u32;
    (count > 0).then(|| Devices { count, written, which: Some(list.to_owned()) })
}

/// The engine that an image is known to start.
pub fn engine_of(image: &str) -> Option<Engine> {
    let repository = image.split('@').next().unwrap_or(image);
    let last = repository.rsplit('/').next().unwrap_or(repository);
    let name = last.split(':').next().unwrap_or(last);
    match name {
        n if n.starts_with("vllm") => Some(Engine::Vllm),
        "sglang" => Some(Engine::Sglang),
        "release" if repository.contains("tensorrt-llm") => Some(Engine::Trtllm),
        n if n.starts_with("tensorrt-llm") || n.starts_with("tensorrt_llm") => Some(Engine::Trtllm),
        "llama.cpp" => Some(Engine::LlamaCpp),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::init::shell::{Vars, split_already};

    fn run(text: &str) -> Run {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        read(&split_already(&words, &mut Vars::default()).expect("words").words).expect("a run")
    }

    #[test]
    fn options_and_values_are_told_apart() {
        let r = run("docker run --gpus all -itd --rm -v /a:/b -p8000:8000 -e A=1 --env B -e=C=3 --ipc=host \
                     --shm-size 1g vllm/vllm-openai:v0.17.1 --model x --port 8000");
        assert_eq!(r.image, "vllm/vllm-openai:v0.17.1");
        assert_eq!(r.command.len(), 4);
        assert_eq!(r.env.iter().map(|(n, _)| n.as_str()).collect::<Vec<_>>(), ["A", "C"]);
        assert_eq!(r.devices, None);
        assert_eq!(r.left_out.len(), 5, "{:?}", r.left_out);
    }

    #[test]
    fn devices_are_counted() {
        assert_eq!(devices("2").map(|d| d.count), Some(2));
        assert_eq!(devices("\"device=0,3\"").map(|d| d.count), Some(2));
        assert_eq!(devices("all"), None);
    }

    #[test]
    fn images_are_known() {
        assert_eq!(engine_of("vllm/vllm-openai:v0.17.1"), Some(Engine::Vllm));
        assert_eq!(engine_of("localhost:5000/lmsysorg/sglang:latest"), Some(Engine::Sglang));
        assert_eq!(engine_of("nvcr.io/nvidia/tensorrt-llm/release:1.2.0rc1"), Some(Engine::Trtllm));
        assert_eq!(engine_of("ghcr.io/ggml-org/llama.cpp:server-cuda"), Some(Engine::LlamaCpp));
        assert_eq!(engine_of("ubuntu:24.04"), None);
    }
}
