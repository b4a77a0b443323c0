//! perflab
pub mod lang;
