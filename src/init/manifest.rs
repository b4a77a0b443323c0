//! A container as a manifest describes it, of Compose or Kubernetes: its image, words, variables and mounts as the `docker run` that
//! they stand for, and what no such command has.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::launch::OF_ENGINES;
use super::value::plain;
use super::yaml;

/// Keys that hold the words of a container.
const HOLD_WORDS: [&str; 3] = ["command", "args", "entrypoint"];
/// Keys of a container that are read here, or that say nothing about what is measured.
const READ: [&str; 37] = [
    "command",
    "args",
    "entrypoint",
    "image",
    "environment",
    "env",
    "envFrom",
    "env_file",
    "volumes",
    "volumeMounts",
    "volumeDevices",
    "ports",
    "expose",
    "ipc",
    "privileged",
    "shm_size",
    "network_mode",
    "runtime",
    "user",
    "working_dir",
    "deploy",
    "resources",
    "gpus",
    "name",
    "container_name",
    "hostname",
    "restart",
    "imagePullPolicy",
    "pull_policy",
    "healthcheck",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
    "labels",
    "logging",
    "depends_on",
];
/// Keys of Compose that `docker run` has an option for.
const OPTIONS: [(&str, &str); 8] = [
    ("ipc", "--ipc"),
    ("shm_size", "--shm-size"),
    ("network_mode", "--network"),
    ("runtime", "--runtime"),
    ("user", "--user"),
    ("working_dir", "--workdir"),
    ("env_file", "--env-file"),
    ("privileged", "--privileged"),
];

/// A container of a manifest.
#[derive(Debug, Clone, Default)]
pub struct Container {
    name: String,
    pub image: String,
    /// the command that it stands for; none where only its image is named
    pub words: Vec<String>,
    /// what is said of it that no command has
    pub left_out: Vec<String>,
}

impl Container {
    /// One that is not the server's.
    pub fn told(&self) -> String {
        format!("`{}` ({}): another container", plain(&self.name), plain(&self.image))
    }
}

/// What stands around a container: volumes by their names, and what is said of the whole.
#[derive(Debug, Clone, Default)]
struct Around {
    folders: BTreeMap<String, String>,
    kinds: BTreeMap<String, String>,
    left_out: Vec<String>,
}

/// The containers that a manifest starts, and why it cannot be read; none where the text is no manifest.
pub fn containers(text: &str) -> (Vec<Container>, Option<String>) {
    let holds = |line: &str| {
        let line = line.trim_start().trim_start_matches("- ");
        HOLD_WORDS.iter().any(|key| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')))
    };
    let (mut out, mut broken) = (Vec::new(), None);
    if !text.lines().any(holds) {
        return (out, broken);
    }
    for document in text.split("\n---") {
        match yaml::tree(document) {
            Ok(tree) => below("", &tree, &Around::default(), &mut out),
            Err(why) => broken = Some(why),
        }
    }
    (out, broken)
}

fn below(name: &str, tree: &Value, around: &Around, out: &mut Vec<Container>) {
    match tree {
        Value::Array(all) => all.iter().for_each(|v| below(name, v, around, out)),
        Value::Object(map) if HOLD_WORDS.iter().any(|key| words(map.get(*key)).is_some()) => {
            out.push(container(name, map, around));
        }
        Value::Object(map) => {
            if let Some(image) = map.get("image").and_then(Value::as_str) {
                let name = map.get("name").and_then(Value::as_str).unwrap_or(name);
                out.push(Container {
                    name: name.to_owned(),
                    image: image.to_owned(),
                    ..Container::default()
                });
                return;
            }
            let around = widened(map, around);
            map.iter().for_each(|(key, v)| below(key, v, &around, out));
        }
        _ => {}
    }
}

/// What the specification of a pod says of all its containers.
fn widened(map: &Map<String, Value>, around: &Around) -> Around {
    let mut out = around.clone();
    if let Some(count) = map.get("replicas").and_then(Value::as_u64).filter(|n| *n > 1) {
        out.left_out.push(format!("replicas {count}: perflab measures one server"));
    }
    for volume in map.get("volumes").and_then(Value::as_array).into_iter().flatten() {
        let Some(name) = volume.get("name").and_then(Value::as_str) else { continue };
        if let Some(path) = volume.get("hostPath").and_then(|h| h.get("path")).and_then(Value::as_str) {
            out.folders.insert(name.to_owned(), path.to_owned());
        }
        let kind = volume.as_object().and_then(|v| v.keys().find(|k| *k != "name"));
        out.kinds.insert(name.to_owned(), kind.cloned().unwrap_or_default());
    }
    out
}

/// The words under a key: a list of them, or one text that is split as a shell does.
fn words(value: Option<&Value>) -> Option<Vec<String>> {
    match value? {
        Value::Array(all) => all.iter().map(yaml::word).collect(),
        Value::String(text) => shell_words::split(&text.replace("$$", "$")).ok(),
        _ => None,
    }
}

fn container(name: &str, map: &Map<String, Value>, around: &Around) -> Container {
    let of = |key: &str| words(map.get(key)).unwrap_or_default();
    let mut env = variables(map);
    let mut left_out = around.left_out.clone();
    // what Kubernetes calls the command is what Docker calls the entrypoint
    let inside = ["entrypoint", "command", "args"].map(of).concat();
    let mut used = Vec::new();
    let inside: Vec<String> = inside.iter().map(|word| inserted(word, &env, &mut used)).collect();
    env.retain(|variable| !its_own(variable, &used));
    let name =
        map.get("name").or(map.get("container_name")).and_then(Value::as_str).unwrap_or(name).to_owned();
    let Some(image) = map.get("image").and_then(Value::as_str) else {
        let words = env.into_iter().filter(|v| v.contains('=')).chain(inside).collect();
        return Container { name, words, left_out, ..Container::default() };
    };
    let mut out = vec!["docker".to_owned(), "run".to_owned()];
    if let Some(gpus) = gpus(map) {
        out.extend(["--gpus".to_owned(), gpus]);
    }
    out.extend(env.into_iter().flat_map(|v| ["-e".to_owned(), v]));
    options(map, &mut out, &mut left_out);
    mounted(map, around, &mut out, &mut left_out);
    for key in map.keys().filter(|k| !READ.contains(&k.as_str())) {
        left_out.push(format!("{}: an option of the container", plain(key)));
    }
    out.push(image.to_owned());
    out.extend(inside);
    Container { name, image: image.to_owned(), words: out, left_out }
}

/// Options that `docker run` has too.
fn options(map: &Map<String, Value>, out: &mut Vec<String>, left_out: &mut Vec<String>) {
    let list = |key: &str| match map.get(key) {
        Some(Value::Array(all)) => all.clone(),
        Some(one) => vec![one.clone()],
        None => Vec::new(),
    };
    for port in list("ports") {
        let long = ["containerPort", "published", "target"].iter().find_map(|k| port.get(*k));
        out.extend(yaml::word(long.unwrap_or(&port)).into_iter().flat_map(|p| ["-p".to_owned(), p]));
    }
    for volume in list("volumes") {
        let at = |key: &str| volume.get(key).and_then(Value::as_str);
        match (volume.as_str(), at("source"), at("target")) {
            (Some(text), ..) => out.extend(["-v".to_owned(), text.to_owned()]),
            (_, Some(here), Some(inside)) => out.extend(["-v".to_owned(), format!("{here}:{inside}")]),
            (_, _, Some(inside)) => left_out.push(format!("{}: a mount", plain(inside))),
            _ => {}
        }
    }
    for (key, option) in OPTIONS {
        for value in list(key) {
            let word = yaml::word(value.get("path").unwrap_or(&value)).filter(|w| w != "false");
            // a switch, which takes no word of its own
            let one = if option == "--privileged" {
                word.as_ref().map(|w| vec![format!("{option}={w}")])
            } else {
                None
            };
            let two = word.map(|w| vec![option.to_owned(), w]);
            out.extend(one.or(two).into_iter().flatten());
        }
    }
    for (key, named) in [("configMapRef", "name"), ("secretRef", "name")] {
        for from in list("envFrom") {
            if let Some(name) = from.get(key).and_then(|r| r.get(named)).and_then(Value::as_str) {
                left_out.push(format!("envFrom {}: what it sets is not known here", plain(name)));
            }
        }
    }
}

/// The mounts of a container in a pod: folders of the machine as `docker run -v` has them, others by their kind.
fn mounted(map: &Map<String, Value>, around: &Around, out: &mut Vec<String>, left_out: &mut Vec<String>) {
    for mount in map.get("volumeMounts").and_then(Value::as_array).into_iter().flatten() {
        let at = |key: &str| mount.get(key).and_then(Value::as_str);
        let (Some(name), Some(inside)) = (at("name"), at("mountPath")) else { continue };
        if let Some(here) = around.folders.get(name) {
            let below = at("subPath").map(|s| format!("/{s}")).unwrap_or_default();
            out.extend(["-v".to_owned(), format!("{}{below}:{inside}", here.trim_end_matches('/'))]);
        } else {
            let kind = around.kinds.get(name).filter(|k| !k.is_empty());
            let of = kind.map(|k| format!(" of {}", plain(k))).unwrap_or_default();
            left_out.push(format!("{}: a mount{of}", plain(inside)));
        }
    }
}

/// Kubernetes inserts `$(NAME)` of the container's own variables; what it has from elsewhere is a shell's unset variable here.
fn inserted(word: &str, env: &[String], used: &mut Vec<String>) -> String {
    let mut out = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once("$(") {
        out.push_str(before);
        let named =
            |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let Some((name, behind)) = after.split_once(')').filter(|(name, _)| named(name)) else {
            out.push_str("$(");
            rest = after;
            continue;
        };
        match env.iter().find_map(|v| v.split_once('=').filter(|(n, _)| *n == name)) {
            Some((_, value)) => {
                out.push_str(value);
                used.push(name.to_owned());
            }
            None => out.extend(["${", name, "}"]),
        }
        rest = behind;
    }
    out + rest
}

/// Whether a variable is the manifest's own, as its words insert it and no engine reads it.
fn its_own(variable: &str, used: &[String]) -> bool {
    let name = variable.split('=').next().unwrap_or(variable);
    used.iter().any(|u| u == name) && !OF_ENGINES.iter().any(|p| name.starts_with(p))
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
        containers(text).0.iter().map(|c| c.words.join(" ")).filter(|words| !words.is_empty()).collect()
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
    fn options_variables_and_neighbours() {
        let text = "services:\n  a:\n    image: i:1\n    command: [serve]\n    ports: ['1:2']\n    volumes:\n      - {type: bind, source: /d, \
                    target: /m}\n      - v:/w\n    ipc: host\n    privileged: true\n    env_file: .env\n    restart: always\n    ulimits: {x: 1}\n  \
                    b: {image: ui}\n";
        let all = containers(text).0;
        assert_eq!(
            all[0].words.join(" "),
            "docker run -p 1:2 -v /d:/m -v v:/w --ipc host --env-file .env --privileged=true i:1 serve"
        );
        assert_eq!(all[0].left_out, ["ulimits: an option of the container"]);
        assert_eq!(all[1].told(), "`b` (ui): another container");
        let text = "spec:\n  replicas: 2\n  template:\n    spec:\n      containers:\n      - image: i:1\n        args: [\"$(TP)\", \"$(X)\"]\n        \
                    env: [{name: TP, value: \"4\"}]\n        envFrom: [{configMapRef: {name: c}}]\n        volumeMounts: [{name: m, mountPath: /m}, \
                    {name: p, mountPath: /p, subPath: s}]\n      volumes:\n      - {name: m, hostPath: {path: /d}}\n      - name: p\n        \
                    persistentVolumeClaim: {claimName: c}\n";
        let all = containers(text).0;
        assert_eq!(all[0].words.join(" "), "docker run -v /d:/m i:1 4 ${X}");
        assert_eq!(
            all[0].left_out,
            [
                "replicas 2: perflab measures one server",
                "envFrom c: what it sets is not known here",
                "/p: a mount of persistentVolumeClaim"
            ]
        );
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
