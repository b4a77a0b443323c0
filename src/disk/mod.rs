//! Files as the rest of perflab needs them: put in their place whole or not at all, and told from one another by what they hold.

mod digest;
mod identity;
mod place;
mod shelf;
mod tree;

pub use digest::{Feed, hex};
pub use identity::{Key, afresh, identity, of_file, remembered};
pub use place::{pass_by, place, place_by, place_in_passing, put_by, replace, sweep_drafts};
pub use shelf::{Keeping, Kept, Shelf};
pub use tree::{JOURNAL, Which, is_environment, is_kept_by_tools, is_sourceless, tree};
