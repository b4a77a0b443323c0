//! A container as a manifest describes it, of Compose or Kubernetes: its image, words and variables as the `docker run` that they stand for.

use serde_json::{Map, Value};

use super::yaml;

/// Keys that hold the words of a container.
const HOLD_WORDS: [&str; 3] = ["command", "args", "entrypoint"];

/// The commands that a manifest starts; none where the text is no manifest.
pub fn commands(text: &str) -> Vec<Vec<String>> {
    let holds = |line: &str| {
        let line = line.trim_start().trim_start_matches("- ");
        HOLD_WORDS.iter().any(|key| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')))
    };
    if !text.lines().any(holds) {
        return Vec::new();
    }
    let mut out = Vec::new();
    for document in text.split("\n---") {
        if let Ok(tree) = yaml::tree(document) {
            containers(&tree, &mut out);
        }
    }
    out
}

fn containers(tree: &Value, out: &mut Vec<Vec<String>>) {
    match tree {
        Value::Array(all) => all.iter().for_each(|v| containers(v, out)),
        Value::Object(map) if HOLD_WORDS.iter().any(|key| words(map.get(*key)).is_some()) => {
            out.push(command(map));
        }
        Value::Object(map) => map.values().for_each(|v| containers(v, out)),
        _ => {}
    }
}

/// The words under a key: a list of them, or one text that is split as a shell does.
fn words(value: Option<&Value>) -> Option<Vec<String>> {
    match value? {
        Value::Array(all) => all.iter().map(yaml::word).collect(),
        Value::String(text) => shell_words::split(&text.replace("$$", "$")).ok(),
        _ => None,
    }
}

fn command(container: &Map<String, Value>) -> Vec<String> {
    let of = |key: &str| words(container.get(key)).unwrap_or_default();
    // what Kubernetes calls the command is what Docker calls the entrypoint
    let inside = ["entrypoint", "command", "args"].map(of).concat();
    let env = variables(container);
    let Some(image) = container.get("image").and_then(Value::as_str) else {
        return env.into_iter().filter(|v| v.contains('=')).chain(inside).collect();
    };
    let mut out = vec!["docker".to_owned(), "run".to_owned()];
    if let Some(gpus) = gpus(container) {
        out.extend(["--gpus".to_owned(), gpus]);
    }
    out.extend(env.into_iter().flat_map(|v| ["-e".to_owned(), v]));
    out.push(image.to_owned());
    out.extend(inside);
    out
}

/// `NAME=value`, or a name whose value comes from elsewhere.
fn variables(container: &Map<String, Value>) -> Vec<String> {
    let pair = |name: &str, value: Option<&Value>| match value.and_then(yaml::word) {
        Some(value) if !value.is_empty() => format!("{name}={value}"),
        _ => name.to_owned(),
    };
    let one = |entry: &Value| match entry {
        Value::String(text) => Some(text.clone()),
        Value::Object(map) => Some(pair(map.get("name")?.as_str()?, map.get("value"))),
        _ => None,
    };
    match container.get("environment").or_else(|| container.get("env")) {
        Some(Value::Object(map)) => map.iter().map(|(name, value)| pair(name, Some(value))).collect(),
        Some(Value::Array(all)) => all.iter().filter_map(one).collect(),
        _ => Vec::new(),
    }
}

/// How many GPUs the container is given, as `--gpus` takes it.
fn gpus(container: &Map<String, Value>) -> Option<String> {
    let limits = container.get("resources").and_then(|r| r.get("limits").or_else(|| r.get("requests")));
    if let Some(count) = limits.and_then(|l| l.get("nvidia.com/gpu")).and_then(yaml::word) {
        return Some(count);
    }
    let devices = container.get("deploy")?.get("resources")?.get("reservations")?.get("devices")?;
    let first = devices.as_array()?.first()?;
    match first.get("device_ids").and_then(Value::as_array) {
        Some(ids) => {
            let ids: Option<Vec<String>> = ids.iter().map(yaml::word).collect();
            Some(format!("device={}", ids?.join(",")))
        }
        None => first.get("count").and_then(yaml::word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(text: &str) -> Vec<String> {
        commands(text).iter().map(|c| c.join(" ")).collect()
    }

    #[test]
    fn a_service_of_compose_is_a_run() {
        let text = "services:\n  db: {image: postgres}\n  llm:\n    image: vllm/vllm-openai:v0.17.1\n    environment:\n      - A=1\n      - B\n    \
                    command: --model org/m --max-model-len ${LEN:-8192}\n    deploy:\n      resources:\n        reservations:\n          \
                    devices:\n            - {driver: nvidia, device_ids: ['0', '3']}\n";
        assert_eq!(
            joined(text),
            [
                "docker run --gpus device=0,3 -e A=1 -e B vllm/vllm-openai:v0.17.1 --model org/m --max-model-len ${LEN:-8192}"
            ]
        );
    }

    #[test]
    fn a_container_of_kubernetes_is_a_run() {
        let text = "kind: Pod\nspec:\n  containers:\n  - name: x\n    image: i:1\n    command: [\"/bin/sh\", \"-c\"]\n    args: [\"vllm serve m\"]\n    \
                    env:\n    - name: T\n      valueFrom: {secretKeyRef: {name: a, key: b}}\n    - {name: V, value: \"1\"}\n    \
                    resources: {limits: {nvidia.com/gpu: 2}}\n---\nkind: Service\n";
        assert_eq!(joined(text), ["docker run --gpus 2 -e T -e V=1 i:1 /bin/sh -c vllm serve m"]);
        assert_eq!(joined("args:\n  - vllm\n  - serve\n  - m\n"), ["vllm serve m"]);
    }

    #[test]
    fn what_is_no_manifest_starts_nothing() {
        for text in
            ["vllm serve org/m", "command: 7", "args:", "x: [", "vllm serve m --args: x\nargs: {a: b}"]
        {
            assert_eq!(joined(text), [] as [&str; 0], "{text}");
        }
    }
}
