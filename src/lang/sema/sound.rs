//! Axes that were held against an engine already and are sound there: studies of one file vary the same axes over engines that know the
//! same flags, and each would be looked at again.

use std::sync::Arc;

use foldhash::HashMap;

use super::program::{Change, Engine, Point};
use super::schema::Schema;
use super::served;
use super::typed::typed;

/// What decides about a flag: the points, and the schema that they are held against.
type Pair = (*const Vec<Point>, *const Schema);

/// Axes that are sound, by the schema and the versions for which they are.
#[derive(Debug, Default)]
pub struct Sound {
    /// with the points and the schema themselves, so that no others come to lie in their place
    known: HashMap<Pair, Vec<Known>>,
}

#[derive(Debug)]
struct Known {
    version: Option<String>,
    /// whether one of the points sets a flag to its default
    at_default: bool,
    _kept: (Arc<Vec<Point>>, Arc<Schema>),
}

impl Sound {
    /// Whether these points were found to be sound over engines like this one.
    pub fn holds(&self, points: &Arc<Vec<Point>>, engines: &[Arc<Engine>]) -> bool {
        self.known(points, engines).is_some()
    }

    /// Whether they are known to hold no default of such an engine.
    pub fn without_default(&self, points: &Arc<Vec<Point>>, engines: &[Arc<Engine>]) -> bool {
        self.known(points, engines).is_some_and(|known| !known.at_default)
    }

    fn known(&self, points: &Arc<Vec<Point>>, engines: &[Arc<Engine>]) -> Option<&Known> {
        let [engine] = engines else { return None };
        self.known.get(&pair(points, engine))?.iter().find(|known| known.version == engine.version)
    }

    /// Remembers that nothing was to be said of them. Only flags are decided by the schema alone.
    pub fn hold(&mut self, points: &Arc<Vec<Point>>, engines: &[Arc<Engine>]) {
        let [engine] = engines else { return };
        // whether a name is the model's own hangs on the engine's model too
        let plain = |c: &Change| matches!(c, Change::Flag { name, .. } if !served::renames(name));
        if points.iter().flat_map(|p| &p.changes).all(plain) {
            let at_default = points.iter().flat_map(|p| &p.changes).any(|c| is_default(c, engine));
            let kept = (points.clone(), engine.schema.clone());
            let known = Known { version: engine.version.clone(), at_default, _kept: kept };
            self.known.entry(pair(points, engine)).or_default().push(known);
        }
    }
}

fn is_default(change: &Change, engine: &Engine) -> bool {
    let Change::Flag { name, value, .. } = change else { return false };
    let (schema, version) = (&engine.schema, engine.version.as_deref());
    let Some(default) = schema.default(name, version) else {
        // the word for what an engine decides at start
        return value.as_ref().is_some_and(|v| v.text == "auto");
    };
    typed(schema, version, name, value.as_ref()).is_ok_and(|set| set.value.normal() == default.normal())
}

fn pair(points: &Arc<Vec<Point>>, engine: &Engine) -> Pair {
    (Arc::as_ptr(points), Arc::as_ptr(&engine.schema))
}
