//! Under what a result was made: everything beside configuration and load that can change it. Two results may stand in for each other
//! only where all of it is equal; where it is not, the difference is a sentence for people.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::running::Running;

/// What can change a result. What is `None` was not to be found out, and is then not compared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions {
    /// the engine as the file states it: its root's name, and its version if there is one
    pub engine: String,
    /// the engine as it is installed: a distribution and its version, or a program's hash
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// a hash over the libraries that it runs with; the journal says with its first launch what they are
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub libraries: Option<String>,
    pub model: String,
    /// the model's revision, or a hash over its files
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_files: Option<String>,
    /// whether the site says where the model lies: the engine was given that place, and not the name. Nothing of one that loads none
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_placed: Option<bool>,
    /// the digest of the image that the engine ran in
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// the server, where somebody else runs it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<Running>,
    /// names of the GPUs that the study may use
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<String>,
    /// of the GPUs, as `550.54.15`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// how somebody has set the GPUs up: `power limit 700 W, ECC on`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_setup: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
    /// how many processors the engine may use
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<usize>,
    /// how the kernel gives the engine time among others: `nice 0`, `nice 19, batch`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<String>,
    /// what the kernel lets the engine have, by name: `stack limit` → `8192 KiB`; and the umask
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, String>,
    /// variables that the site gives every engine
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub site_env: BTreeMap<String, String>,
    /// variables of perflab's own that an engine inherits and that count, and the compilers of its `PATH`; null: not set
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inherited: BTreeMap<String, Option<String>>,
    /// what flags and variables name: files and directories with a hash over what they hold, models of the hub with their commit
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// what looks like the name of a file in them, and was not there
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub absent: BTreeSet<String>,
    /// a hash over the files that its launch opened; the journal says with its first result which they are
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened: Option<String>,
    /// of a failure: what its reason names (files, libraries, programs, limits), and how that was then, in words
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub blamed: BTreeMap<String, String>,
    /// a hash of the files that the prompts are made from
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// which generation of the load generator sent the requests
    pub load_generator: u32,
}

impl Conditions {
    /// The first thing that is not as it is now, as a sentence: "measured with driver 550.54, now 560.28".
    pub fn differs(&self, now: &Self) -> Option<String> {
        self.differences(now).into_iter().next()
    }

    /// Everything that is not as it is now, a sentence each.
    pub fn differences(&self, now: &Self) -> Vec<String> {
        let of_model = || {
            let (then, now) = both(self.model_files.as_ref(), now.model_files.as_ref())?;
            Some(format!("the files of {} changed since it was measured ({then}, now {now})", self.model))
        };
        let of_data = || {
            let (then, now) = both(self.data.as_ref(), now.data.as_ref())?;
            Some(format!("the data of its load changed since it was measured ({then}, now {now})"))
        };
        let with = |what: &str, of: fn(&Self) -> Option<&String>| {
            let (then, now) = both(of(self), of(now))?;
            Some(format!("measured with {what}{then}, now {now}"))
        };
        let mut all = self.of_machine(now);
        all.extend(self.running.as_ref().zip(now.running.as_ref()).and_then(|(a, b)| a.differs(b)));
        all.extend(with("", |c| c.build.as_ref()));
        all.extend(with("image ", |c| c.container.as_ref()));
        all.extend(self.other_place(now));
        all.extend(of_model());
        all.extend(files(self, now));
        all.extend(blamed(&self.blamed, &now.blamed));
        all.extend(with("libraries ", |c| c.libraries.as_ref()));
        all.extend(of_data());
        all.extend(variables(&self.site_env, &now.site_env));
        all.extend(inherited(&self.inherited, &now.inherited));
        all
    }

    /// What the machine is, and what it gives an engine.
    fn of_machine(&self, now: &Self) -> Vec<String> {
        let with = |what: &str, then: &str, now: &str| format!("measured with {what}{then}, now {now}");
        let mut all = Vec::new();
        if self.load_generator != now.load_generator {
            let (then, now) = (self.load_generator, now.load_generator);
            all.push(with("load generator ", &then.to_string(), &now.to_string()));
        }
        if self.gpus != now.gpus {
            all.push(format!("measured on {}, now {}", gpus(&self.gpus), gpus(&now.gpus)));
        }
        if self.driver != now.driver {
            let name = |d: &Option<String>| d.clone().unwrap_or_else(|| "none".to_owned());
            all.push(with("driver ", &name(&self.driver), &name(&now.driver)));
        }
        all.extend(both(self.gpu_setup.as_ref(), now.gpu_setup.as_ref()).map(|(a, b)| with("", a, b)));
        let cpu = both(self.cpu.as_ref(), now.cpu.as_ref());
        all.extend(cpu.map(|(then, now)| format!("measured on {then}, now {now}")));
        if let Some((then, now)) = self.cpus.zip(now.cpus).filter(|(then, now)| then != now) {
            let unit = if then == 1 { "processor" } else { "processors" };
            all.push(format!("measured with {then} {unit}, now {now}"));
        }
        all.extend(both(self.scheduling.as_ref(), now.scheduling.as_ref()).map(|(a, b)| with("", a, b)));
        let limit = limits(&self.limits, &now.limits);
        all.extend(limit.map(|(name, then, now)| with(&format!("{name} "), then, now)));
        all
    }

    /// The engine was given a place of the site and would be given the name now, or the other way round: only where both are known to hold
    /// the same is it the same model.
    fn other_place(&self, now: &Self) -> Option<String> {
        let same = self.model_files.is_some() && self.model_files == now.model_files;
        let how = |placed: bool| if placed { "where the site says that it lies" } else { "by its name" };
        let (then, is) = self.model_placed.zip(now.model_placed).filter(|(then, is)| then != is && !same)?;
        Some(format!("measured with {} {}, now {}", self.model, how(then), how(is)))
    }
}

/// Two values that are known and not the same.
fn both<'a>(then: Option<&'a String>, now: Option<&'a String>) -> Option<(&'a str, &'a str)> {
    then.zip(now).filter(|(a, b)| a != b).map(|(a, b)| (a.as_str(), b.as_str()))
}

/// A limit that both know, and that is another one.
fn limits<'a>(
    then: &'a BTreeMap<String, String>,
    now: &'a BTreeMap<String, String>,
) -> Option<(&'a str, &'a str, &'a str)> {
    let known =
        then.iter().filter_map(|(name, was)| Some((name.as_str(), was.as_str(), now.get(name)?.as_str())));
    known.into_iter().find(|(_, was, is)| was != is)
}

fn gpus(names: &[String]) -> String {
    match names {
        [] => "no GPU".to_owned(),
        [one] => one.clone(),
        [first, rest @ ..] if rest.iter().all(|n| n == first) => format!("{} × {first}", names.len()),
        _ => names.join(", "),
    }
}

/// What named another file then, or none. What the other side does not know is not compared.
fn files<'a>(then: &'a Conditions, now: &'a Conditions) -> impl Iterator<Item = String> + 'a {
    let changed = then.files.iter().filter_map(|(name, was)| match now.files.get(name) {
        Some(is) if is == was => None,
        Some(is) => Some(format!("{name} changed since it was measured ({}, now {})", short(was), short(is))),
        None => now.absent.contains(name).then(|| format!("measured with {name}, which is not there now")),
    });
    let came = then.absent.iter().filter(|name| now.files.contains_key(*name));
    changed.chain(came.map(|name| format!("measured before {name} was there")))
}

/// What a failure named was not then as it is now.
fn blamed(then: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Option<String> {
    let differs = |(name, was): &(&String, &String)| now.get(*name).is_some_and(|is| is != *was);
    let (name, was) = then.iter().find(differs)?;
    Some(format!("{name} is not as it was when it failed on it ({was}; now {})", now.get(name)?))
}

fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

fn inherited(
    then: &BTreeMap<String, Option<String>>,
    now: &BTreeMap<String, Option<String>>,
) -> Option<String> {
    let differs = |(name, was): &(&String, &Option<String>)| now.get(*name).is_some_and(|is| is != *was);
    let (name, was) = then.iter().find(differs)?;
    let of = |value: Option<&String>| match value {
        Some(value) => format!("with {name}={value}"),
        None => format!("without {name}"),
    };
    Some(format!("measured {}, now {}", of(was.as_ref()), of(now.get(name).and_then(Option::as_ref))))
}

fn variables(then: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Option<String> {
    let names = then.keys().chain(now.keys());
    let name = names.into_iter().find(|n| then.get(*n) != now.get(*n))?;
    let of = |all: &BTreeMap<String, String>| match all.get(name) {
        Some(value) => format!("with the site's {name}={value}"),
        None => format!("without {name}"),
    };
    Some(format!("measured {}, now {}", of(then), of(now)))
}

/// How the load generator fared here before a long study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientTrial {
    /// of the study's largest load, at one time
    pub streams: u32,
    /// of each of them
    pub tokens_per_s: f64,
    /// it could carry half as much again
    pub enough: bool,
    /// what was seen, a sentence
    pub text: String,
}

/// What the machine is, for people.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
    /// processors that perflab may use
    #[serde(default)]
    pub cpus: usize,
    #[serde(default)]
    pub memory_bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conditions() -> Conditions {
        Conditions {
            engine: "vllm 0.17.1".to_owned(),
            build: Some("vllm 0.17.1".to_owned()),
            model: "m".to_owned(),
            model_placed: Some(false),
            gpus: vec!["H100".to_owned(), "H100".to_owned()],
            driver: Some("550.54".to_owned()),
            gpu_setup: Some("power limit 400 W".to_owned()),
            cpus: Some(8),
            scheduling: Some("nice 0".to_owned()),
            limits: [("stack limit".to_owned(), "8192 KiB".to_owned())].into(),
            load_generator: 1,
            ..Conditions::default()
        }
    }

    #[test]
    fn what_differs_is_said_and_what_is_unknown_is_not_compared() {
        type Edit = fn(&mut Conditions);
        let then = conditions();
        assert_eq!(then.differs(&then), None);
        let cases: [(Edit, &str); 17] = [
            (|c| c.driver = Some("560.28".to_owned()), "measured with driver 550.54, now 560.28"),
            (|c| c.driver = None, "measured with driver 550.54, now none"),
            (
                |c| (c.model_placed, c.model_files) = (Some(true), None),
                "measured with m by its name, now where the site says that it lies",
            ),
            (|c| c.gpus = vec!["A100".to_owned()], "measured on 2 × H100, now A100"),
            (|c| c.gpus.clear(), "measured on 2 × H100, now no GPU"),
            (|c| c.build = Some("vllm 0.17.2".to_owned()), "measured with vllm 0.17.1, now vllm 0.17.2"),
            (|c| c.load_generator = 2, "measured with load generator 1, now 2"),
            (
                |c| drop(c.site_env.insert("A".to_owned(), "1".to_owned())),
                "measured without A, now with the site's A=1",
            ),
            (
                |c| c.gpu_setup = Some("power limit 700 W".to_owned()),
                "measured with power limit 400 W, now power limit 700 W",
            ),
            (|c| c.cpus = Some(1), "measured with 8 processors, now 1"),
            (|c| c.scheduling = Some("nice 19".to_owned()), "measured with nice 0, now nice 19"),
            (|c| c.scheduling = None, ""),
            (
                |c| drop(c.limits.insert("stack limit".to_owned(), "unlimited".to_owned())),
                "measured with stack limit 8192 KiB, now unlimited",
            ),
            (|c| drop(c.limits.insert("process limit".to_owned(), "100".to_owned())), ""),
            (|c| c.limits.clear(), ""),
            (|c| (c.build, c.gpu_setup, c.cpus) = (None, None, None), ""),
            (|c| c.build = None, ""),
        ];
        for (edit, expected) in cases {
            let mut now = conditions();
            edit(&mut now);
            assert_eq!(then.differs(&now).unwrap_or_default(), expected);
        }
    }
}
