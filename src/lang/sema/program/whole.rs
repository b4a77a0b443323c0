//! What a file says when all of it is understood: the items that a study can name, and what this version cannot carry out.

use std::sync::Arc;

use indexmap::IndexMap;

use super::engine::Engine;
use super::profile::Profile;
use super::site::Site;
use super::study::Study;
use crate::lang::source::Span;

#[derive(Debug, Clone, Default)]
pub struct Program {
    /// by name, imported ones included
    pub engines: IndexMap<String, Arc<Engine>>,
    pub profiles: IndexMap<String, Arc<Profile>>,
    pub studies: Vec<Study>,
    /// params and their values as written, in declared order
    pub params: IndexMap<String, String>,
    /// params that the command line set, as given there
    pub given: IndexMap<String, String>,
    /// what this version cannot carry out, whatever the study
    pub not_yet: Vec<NotYet>,
    /// the machine's facts: those of this file, until [`Program::settle`] gives others
    pub site: Option<Arc<Site>>,
}

impl Program {
    /// Takes the facts of a machine: every engine is launched as they say.
    pub fn settle(&mut self, site: Site) {
        for engine in self.engines.values_mut() {
            let via = site.via(engine);
            if via != engine.via {
                *engine = Arc::new(Engine { via, ..(**engine).clone() });
            }
        }
        self.site = Some(Arc::new(site));
    }
}

/// Something that is checked but not carried out by this version.
#[derive(Debug, Clone, PartialEq)]
pub struct NotYet {
    pub what: String,
    pub span: Span,
    /// a replay can do it, a live run cannot
    pub live_only: bool,
}
