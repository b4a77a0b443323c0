//! The machine's part in a result: which GPUs a study may use, and the identity under which results of this machine are kept.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use thiserror::Error;

use crate::gpu::{self, Gpu, GpuError, usable};
use crate::lang::sema::program::{Gpus, Site};
use crate::plan::config::short_hash;

/// Why a study cannot run on this machine.
#[derive(Debug, Error)]
pub enum HostError {
    #[error(transparent)]
    Gpu(#[from] GpuError),
    #[error("the study asks for {asked}, and this machine has {found}")]
    Lacks {
        asked: String,
        found: String,
        /// a variable leaves so few
        by_variable: bool,
    },
}

impl HostError {
    pub fn help(&self) -> &'static str {
        const STUDY: &str = "remove `gpus …` from the study, or run it on the machine that it names";
        match self {
            Self::Gpu(error) => error.variable_help().unwrap_or(STUDY),
            Self::Lacks { by_variable: true, .. } => gpu::VISIBLE_HELP,
            Self::Lacks { .. } => STUDY,
        }
    }
}

#[derive(Debug, Clone, Default)]
pub struct Host {
    /// who tells of them; `None` where the study asks for none
    source: Option<Arc<dyn gpu::Gpus>>,
    gpus: Vec<Gpu>,
    driver: Option<String>,
    /// how the GPUs are set up, as far as somebody may have changed it
    setup: Option<String>,
    /// what the site gives every engine, as written there
    env: BTreeMap<String, String>,
}

impl Host {
    /// Looks at the machine as far as the study asks for it: a study without `gpus` asks for none and checks none. Where every engine
    /// is a simulated one none is used either, unless a script plays them.
    pub fn for_study(gpus: Option<&Gpus>, simulated: bool) -> Result<Self, HostError> {
        let Some(asked) = gpus.filter(|_| !simulated || gpu::script().is_some()) else {
            return Ok(Self::default());
        };
        let source = gpu::open()?;
        let visible = std::env::var("CUDA_VISIBLE_DEVICES").ok();
        let every = source.list()?;
        let all = usable(&every, visible.as_deref())?;
        let (all, masked): (Vec<Gpu>, Vec<Gpu>) = all.into_iter().partition(|g| source.reachable(&g.uuid));
        let of = asked.of.clone().unwrap_or_default();
        let fitting: Vec<Gpu> = all.iter().filter(|g| g.name.contains(&of)).cloned().collect();
        if fitting.len() < asked.count as usize {
            let hidden = visible.as_deref().map(|visible| (visible, every.as_slice()));
            return Err(lacks(asked, &all, &masked, hidden));
        }
        let gpus: Vec<Gpu> = fitting.into_iter().take(asked.count as usize).collect();
        let driver = source.driver().ok().map(|d| d.version);
        let setup = setup(source.as_ref(), &gpus);
        Ok(Self { source: Some(source), gpus, driver, setup, env: BTreeMap::new() })
    }

    /// Who tells of the GPUs, and those that a launch with this many takes.
    pub fn gpus(&self, needed: u32) -> Option<(Arc<dyn gpu::Gpus>, Vec<Gpu>)> {
        Some((self.source.clone()?, self.gpus.iter().take(needed as usize).cloned().collect()))
    }

    /// The script that plays the GPUs, in tests.
    pub fn script(&self) -> Option<&Path> {
        self.source.as_ref()?.script()
    }

    /// What identifies the hardware for a result.
    fn facts(&self) -> Json {
        let names: Vec<&str> = self.gpus.iter().map(|g| g.name.as_str()).collect();
        let mut facts =
            json!({"gpus": names, "driver": self.driver, "load_generation": super::LOAD_GENERATION});
        if self.script().is_some() {
            facts["scripted"] = json!(true);
        }
        if !self.env.is_empty() {
            facts["env"] = json!(self.env);
        }
        facts
    }

    /// This machine as a site describes it: its variables are part of what results are kept under, its paths are not.
    #[must_use]
    pub fn at(mut self, site: Option<&Site>) -> Self {
        let env = site.into_iter().flat_map(|s| &s.env);
        self.env = env.map(|e| (e.name.clone(), e.value.clone())).collect();
        self
    }

    /// Names of the GPUs that the study may use.
    pub fn gpu_names(&self) -> Vec<String> {
        // figures of no real GPU never stand in for those of one
        let scripted = if self.script().is_some() { " (scripted)" } else { "" };
        self.gpus.iter().map(|g| format!("{}{scripted}", g.name)).collect()
    }

    /// The version of their driver.
    pub fn driver(&self) -> Option<String> {
        self.driver.clone()
    }

    /// The same as it may be written down: what is secret is masked.
    pub fn shown(&self) -> Json {
        let mut facts = self.facts();
        if !self.env.is_empty() {
            let env = self.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            facts["env"] = json!(super::provenance::masked_variables(env));
        }
        facts
    }

    /// How they are set up, where that can be changed and changes speed: `power limit 700 W, ECC on`.
    pub fn gpu_setup(&self) -> Option<String> {
        self.setup.clone()
    }

    pub fn id(&self) -> String {
        short_hash(&self.facts().to_string())
    }

    /// The name of the GPUs.
    pub fn device(&self) -> Option<String> {
        self.gpus.first().map(|g| g.name.clone())
    }

    /// GPUs that a launch holds; a study that asks for none is charged none.
    pub fn held(&self, needed: u32) -> u32 {
        if self.gpus.is_empty() { 0 } else { needed }
    }
}

/// What the GPUs tell of their setup: once where all say the same, else one after another.
fn setup(source: &dyn gpu::Gpus, gpus: &[Gpu]) -> Option<String> {
    let each = gpus.iter().filter_map(|g| source.settings(&g.uuid).ok()?.changed_by_people());
    let mut said: Vec<String> = each.collect();
    said.dedup();
    Some(said.join("; ")).filter(|all| !all.is_empty())
}

/// `hidden`: what `CUDA_VISIBLE_DEVICES` says, and the GPUs that there are whatever it says.
fn lacks(asked: &Gpus, all: &[Gpu], masked: &[Gpu], hidden: Option<(&str, &[Gpu])>) -> HostError {
    let names: Vec<&str> = all.iter().map(|g| g.name.as_str()).collect();
    let found = if names.is_empty() { "no GPU".to_owned() } else { names.join(", ") };
    let hidden = hidden.filter(|(_, every)| every.len() > all.len() + masked.len());
    let among = hidden.map_or_else(String::new, |(visible, every)| {
        format!(" (CUDA_VISIBLE_DEVICES is `{visible}`; there are {})", gpu::listed(every))
    });
    let kind = asked.of.clone().filter(|of| !of.is_empty()).unwrap_or_else(|| "GPU".to_owned());
    let masked: Vec<String> = masked.iter().map(|g| g.index.to_string()).collect();
    let masked = match masked.as_slice() {
        [] => String::new(),
        some => format!("; the driver counts GPU {} too, without a device file here", some.join(", ")),
    };
    let asked = format!("{} × {kind}", asked.count);
    HostError::Lacks { asked, found: found + &among + &masked, by_variable: hidden.is_some() }
}
