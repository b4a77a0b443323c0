//! Facts of one machine: where engines, models and data lie.

use indexmap::IndexMap;

use super::engine::{Engine, EnvSetting};

/// Facts of one machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Site {
    pub name: String,
    pub engines: Vec<SiteEngine>,
    /// directories of models, by the models' names
    pub models: IndexMap<String, String>,
    /// files of data sets, by their names
    pub data: IndexMap<String, String>,
    /// what every engine here gets, unless its configuration says otherwise
    pub env: Vec<EnvSetting>,
    /// US dollars a second, of one GPU
    pub price_per_s: Option<f64>,
    pub runner: Option<String>,
}

/// How engines are launched that derive from one, at a version or at any.
#[derive(Debug, Clone, PartialEq)]
pub struct SiteEngine {
    pub name: String,
    pub version: Option<String>,
    pub via: Via,
}

/// A launch method.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Via {
    /// the program on the `PATH`
    #[default]
    Path,
    /// the program of a virtual environment: its directory
    Venv(String),
    /// a server that runs already: where it answers
    Url(String),
    /// in a container
    Container(Boxed),
}

/// How an engine is put into a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boxed {
    pub runtime: BoxRuntime,
    /// the engine's official image where the site names none
    pub image: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoxRuntime {
    Docker,
    Podman,
}

impl BoxRuntime {
    /// As it is written, and as its program is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
        }
    }
}

impl Site {
    /// The value of a variable that it gives every engine.
    pub fn variable(&self, name: &str) -> Option<String> {
        self.env.iter().find(|e| e.name == name).map(|e| e.value.clone())
    }

    /// How an engine is launched here: a line for its version says more than one for all, a nearer ancestor's more than a
    /// farther one's.
    pub fn via(&self, engine: &Engine) -> Via {
        let fits = |l: &&SiteEngine| l.version.is_none() || l.version == engine.version;
        let near = |l: &SiteEngine| engine.ancestry.iter().position(|a| *a == l.name);
        let lines = self.engines.iter().filter(fits).filter_map(|l| Some((l.version.is_none(), near(l)?, l)));
        lines
            .min_by_key(|(general, far, _)| (*general, *far))
            .map(|(.., l)| l.via.clone())
            .unwrap_or_default()
    }
}
