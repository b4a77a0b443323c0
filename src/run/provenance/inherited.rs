//! What of perflab's own environment an engine inherits and can change what it does, in a form in which harmless differences are none:
//! two shells that find the same things are the same.

use std::collections::BTreeMap;
use std::env;
use std::path::Path;

use super::build::directories;
use crate::engine::caches;
use crate::lang::sema::program::{Site, Via};
use crate::plan::Config;

/// Programs that engines compile kernels with; another one is another kernel.
const COMPILERS: [&str; 3] = ["nvcc", "cc", "c++"];

/// The inherited variables that count, by name, and the compilers that the `PATH` leads to. What is not set is `None`; what the
/// configuration or the site states is not inherited and not in it.
pub fn inherited(
    config: &Config,
    site: &Site,
    given_gpus: bool,
    names_user: bool,
) -> BTreeMap<String, Option<String>> {
    let mut out = BTreeMap::new();
    if matches!(config.engine.via, Via::Url(_) | Via::Container(_)) {
        return out;
    }
    let stated =
        |name: &str| config.env().iter().any(|e| e.name == name) || site.env.iter().any(|e| e.name == name);
    let all: BTreeMap<String, Option<String>> = here();
    out.extend(all.into_iter().filter(|(name, _)| !stated(name)));
    if !caches::keeps_choices(config.engine.root()) || stated("PATH") {
        out.retain(|name, _| !COMPILERS.contains(&name.as_str()));
    }
    if !names_user {
        out.remove(USER);
    }
    if given_gpus || config.engine.simulated() {
        out.remove(VISIBLE);
    }
    out
}

/// Who runs an engine. It counts where a start script names it.
pub const USER: &str = "USER";

const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";

/// Everything that might count, as it is now.
pub fn here() -> BTreeMap<String, Option<String>> {
    let own = |name: &str| env::var(name).ok().filter(|v| !v.is_empty());
    let listed = own("LD_LIBRARY_PATH").unwrap_or_default();
    // what is relative begins where an engine runs, which is the study's directory and not this one
    let (relative, listed): (Vec<&str>, Vec<&str>) =
        listed.split(':').filter(|d| !d.is_empty()).partition(|d| Path::new(d).is_relative());
    let libraries = directories(Some(&listed.join(":"))).into_iter().map(|d| d.display().to_string());
    let libraries: Vec<String> = libraries.chain(relative.into_iter().map(str::to_owned)).collect();
    let libraries = Some(libraries.join(":")).filter(|l| !l.is_empty());
    let real = |path: &Path| path.canonicalize().ok().map(|p| p.display().to_string());
    let cuda = own("CUDA_HOME").and_then(|dir| real(Path::new(&dir)));
    let compilers =
        COMPILERS.map(|name| (name.to_owned(), which::which_global(name).ok().and_then(|p| real(&p))));
    let variables = [
        ("LD_LIBRARY_PATH", libraries),
        ("CUDA_HOME", cuda),
        (VISIBLE, env::var(VISIBLE).ok()),
        (USER, own(USER)),
    ];
    variables.map(|(name, value)| (name.to_owned(), value)).into_iter().chain(compilers).collect()
}
