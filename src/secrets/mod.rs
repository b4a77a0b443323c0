//! Secrets: which names and values are secret, and what is written in their place.
//!
//! Values are learned once, from the environment and from what people wrote, and masked wherever text leaves
//! perflab for a file or a stream. Masking at the last step, and not where a value is used, means that no new
//! message can forget it.

mod broken;
mod document;
mod inside;
mod key;
mod known;
mod log;
mod mask;
mod names;
mod pem;
mod spellings;
mod stream;
mod under;

pub use broken::values as in_broken_text;
pub use inside::{inside, mask_leaves, mask_value, mask_words};
pub use key::Key;
pub use known::{
    hub_token, known, learn, learn_alternatives, learn_environment, learn_source, mask, mask_document,
    mask_json, mask_source, shown,
};
pub use log::{LogMask, MaskedWriter, Piece};
pub use mask::{MASKED, Masker};
pub use names::{hides, is_secret};
pub use stream::DocumentWriter;
