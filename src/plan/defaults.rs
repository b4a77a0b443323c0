//! Flags at their defaults: a configuration that differs from another in these alone is started with another command and does the
//! same, so that the two are an A/A pair.

use super::config::Config;
use crate::lang::sema::schema::{Setting, key};

impl Config {
    /// Whether a flag is set to what the engine does without it.
    pub fn is_at_default(&self, flag: &Setting) -> bool {
        let default = self.engine.schema.default(&flag.canonical, self.engine.version.as_deref());
        default.is_some_and(|d| d.normal() == flag.value.normal())
    }

    /// Whether nothing but flags at their defaults tells the two apart.
    pub fn does_the_same(&self, other: &Config) -> bool {
        let one = |c: &Config| {
            let defaults = c.flags().filter(|f| c.is_at_default(f)).map(|f| key(&f.canonical)).collect();
            c.normal_without(&defaults)
        };
        one(self) == one(other)
    }
}
