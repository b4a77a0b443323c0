//! What surrounds the process of an engine: its variables and where they come from, its caches, and the record of both.
//!
//! The same study has to measure the same thing from another shell, so nothing is inherited by accident; what was left out is
//! written down beside the log.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::json;

use super::container;
use super::order::Place;
use super::reset;
use crate::engine::caches::{self, Build, Caches};
use crate::engine::environment;
use crate::hub;
use crate::lang::sema::program::{Site, Via};
use crate::plan::Config;
use crate::secrets;

/// Where the record lies in a launch's directory.
pub const RECORD: &str = "environment.json";

/// The variable that gives an engine its GPUs.
pub const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";

/// The variables of a launch, `TMPDIR` and the launch's mark excepted.
#[derive(Debug)]
pub struct Surroundings {
    pub variables: Vec<(String, String)>,
    /// set in perflab's own environment, look as if they mattered, and are not passed on
    pub dropped: Vec<String>,
    pub caches: Option<Caches>,
}

/// From the weakest to the strongest: inherited, caches, what a reset needs, the site's, the configuration's, the GPUs.
pub fn surroundings(config: &Config, own: Vec<(String, String)>, place: &Place<'_>) -> Surroundings {
    let caches = caches(config, place);
    let mut stated = caches.as_ref().map(Caches::variables).unwrap_or_default();
    stated.extend(reset::variables(&config.engine));
    stated.extend(hub_variables(config, place));
    stated.extend(site_variables(place.site, &config.engine.via));
    stated.extend(own);
    stated.extend(place.env.iter().cloned());
    let boxed = matches!(config.engine.via, Via::Container(_));
    if boxed {
        // a container sees its own GPUs and no others
        stated.retain(|(name, _)| name != VISIBLE);
    }
    let inherit = if boxed { environment::inherit_into_container } else { environment::inherit };
    let environment::Environment { variables, dropped } = inherit(&stated);
    Surroundings { variables, dropped, caches }
}

/// Variables that no engine of this site inherits although they could matter.
pub fn dropped(site: &Site) -> Vec<String> {
    environment::inherit(&site_variables(site, &Via::Path)).dropped
}

/// What was fetched before is all that an engine needs of the hub.
fn hub_variables(config: &Config, place: &Place<'_>) -> Vec<(String, String)> {
    let of_hub = place.models.get(&config.model).is_some_and(|m| m.of_hub);
    let Some(cache) = hub::cache_dir(&|name| place.site.variable(name)).filter(|_| of_hub) else {
        return Vec::new();
    };
    let on = |name: &str| (name.to_owned(), "1".to_owned());
    let cache = ("HF_HUB_CACHE".to_owned(), cache.to_string_lossy().into_owned());
    vec![on("HF_HUB_OFFLINE"), on("TRANSFORMERS_OFFLINE"), cache]
}

/// Without a place for caches the engine keeps its own, wherever that is.
fn caches(config: &Config, place: &Place<'_>) -> Option<Caches> {
    let engine = &config.engine;
    let build = Build {
        engine: engine.root(),
        version: engine.version.as_deref(),
        installation: &installation(config),
        device: place.device.as_deref(),
    };
    let caches = Caches::prepare(&caches::base()?, build).ok().flatten()?;
    if place.confirming {
        // a file that stays is seen by the next launch that confirms
        let _ = caches.forget_choices();
    }
    Some(caches)
}

fn installation(config: &Config) -> String {
    match &config.engine.via {
        Via::Venv(dir) => dir.clone(),
        Via::Container(boxed) => container::image(&config.engine, boxed).unwrap_or_default(),
        _ => String::new(),
    }
}

/// What the site gives an engine: its variables, and the environment that it is to be found in. What the configuration states
/// follows and wins.
fn site_variables(site: &Site, via: &Via) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = site.env.iter().map(|e| (e.name.clone(), e.value.clone())).collect();
    if let Via::Venv(dir) = via {
        let stated = site.env.iter().find(|e| e.name == "PATH").map(|e| e.value.clone());
        let path = stated.or_else(|| std::env::var("PATH").ok()).unwrap_or_default();
        out.push(("PATH".to_owned(), format!("{dir}/bin:{path}")));
        out.push(("VIRTUAL_ENV".to_owned(), dir.clone()));
    }
    out
}

impl Surroundings {
    /// Writes the record into a launch's directory, which is made if it is missing. Secrets are masked.
    pub fn record(&self, dir: &Path) -> io::Result<()> {
        let variables: serde_json::Map<String, serde_json::Value> =
            self.variables.iter().map(|(n, v)| (n.clone(), v.clone().into())).collect();
        let caches = self.caches.as_ref().map(|c| json!({"dir": c.dir(), "cold": c.cold}));
        let record = json!({
            "schema": "perflab.environment/1",
            "variables": variables,
            "dropped": self.dropped,
            "caches": caches,
        });
        fs::create_dir_all(dir)?;
        let text = format!("{record:#}\n");
        fs::write(dir.join(RECORD), secrets::mask_document(&text).as_bytes())
    }
}
