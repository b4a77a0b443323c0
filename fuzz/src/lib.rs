//! The language of perflab without the rest of it, which fuzzing need not compile. `lang` imports no other folder, so that it can
//! stand alone.

#[path = "../../src/lang/mod.rs"]
pub mod lang;
