//! The GPUs of flags that add to each other, as those of prefill and of decode do, where most multiply.

use super::program::Engine;
use super::schema::{FlagSpec, Value, value};

/// What an engine's flags marked `adds gpus` come to together, those that are not set with their defaults; 1 where it has none.
/// `set` tells the value that a flag is set to, `on` whether the flag of an `unless` stands.
pub fn added(engine: &Engine, set: impl Fn(&FlagSpec) -> Option<Value>, on: impl Fn(&str) -> bool) -> u32 {
    let schema = &engine.schema;
    if !schema.marked().any(adds) {
        return 1;
    }
    let version = engine.version.as_deref();
    let version = schema.stand_in(version).or(version);
    let counts = |s: &&FlagSpec| {
        let unless = s.uses_gpus.as_ref().and_then(|u| u.unless.as_deref());
        adds(s) && s.holds_for(version) && !unless.is_some_and(&on)
    };
    let shares = schema.marked().filter(counts).filter_map(|s| set(s).or_else(|| default(s))?.listed());
    shares.fold(0, u32::saturating_add).max(1)
}

fn adds(spec: &FlagSpec) -> bool {
    spec.uses_gpus.as_ref().is_some_and(|u| u.adds)
}

fn default(spec: &FlagSpec) -> Option<Value> {
    value(&spec.kind, spec.default.as_deref().filter(|d| *d != "auto")?).ok()
}
