//! Secrets: which names and values are secret, and what is written in their place.
//!
//! Values are learned once, from the environment and from what people wrote, and masked wherever text leaves
//! perflab for a file or a stream. Masking at the last step, and not where a value is used, means that no new
//! message can forget it.

mod known;
mod log;
mod mask;
mod names;

pub use known::{
    hub_token, known, learn, learn_environment, learn_source, mask, mask_document, mask_json,
    source_names_one,
};
pub use log::{LogMask, MaskedWriter};
pub use mask::{MASKED, Masker};
pub use names::is_secret;
