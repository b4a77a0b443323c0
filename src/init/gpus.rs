//! How many GPUs a command takes.

use super::arguments::Argument;
use super::study::Base;
use crate::lang::sema::schema::{self, FlagSpec, Found};
use crate::lang::sema::{counted, program};

/// How many GPUs the command uses, and how many it may use.
pub fn gpus(base: &Base) -> (u64, u64) {
    let used = gpus_used(&base.known, &base.arguments.flags);
    let given = base.devices.as_ref().map_or(used, |d| u64::from(d.count).max(used));
    (used, given)
}

/// How many GPUs an engine takes with these flags.
pub fn gpus_used(known: &program::Engine, flags: &[Argument]) -> u64 {
    let given = |flag: &str| flags.iter().any(|f| f.canonical == flag);
    let set = |spec: &FlagSpec| {
        let flag = flags.iter().find(|f| f.canonical == spec.names[0])?;
        schema::value(&spec.kind, flag.value.as_deref()?).ok()
    };
    let mut used = u64::from(counted::added(known, set, given));
    for flag in flags {
        // what was meant by a slip takes its GPUs too
        let meant = flag.meant.as_deref().unwrap_or(&flag.name);
        let (name, glued) = meant.split_once('=').map_or((meant, None), |(n, v)| (n, Some(v)));
        let text = glued.or(flag.value.as_deref());
        let Found::Known(spec, _) = known.schema.find(name, known.version.as_deref()) else {
            // a spelling that the schema does not have still takes its GPUs
            let name = flag.name.trim_start_matches('-').replace('_', "-");
            let size = ["tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size"]
                .contains(&name.as_str());
            let number = text.and_then(|t| t.parse().ok()).unwrap_or(1).max(1);
            used = used.saturating_mul(if size { number } else { 1 });
            continue;
        };
        let Some(takes) = spec.uses_gpus.as_ref().filter(|u| !u.adds) else { continue };
        let shared = takes.unless.as_deref().is_some_and(given);
        let value = text.and_then(|t| schema::value(&spec.kind, t).ok());
        let count = value.and_then(|v| v.gpus()).map_or(1, u64::from);
        used = used.saturating_mul(if shared { 1 } else { count });
    }
    used
}
