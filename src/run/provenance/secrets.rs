//! Variables as they may be written down. What is secret by its value is masked where text leaves perflab; here it is told by its name,
//! so that a result's conditions are the same whatever the secret is.

use indexmap::IndexMap;

use crate::secrets::{MASKED, hides, mask, mask_value};

/// Variables with the values of secret ones masked.
pub fn masked_variables<'a>(all: impl Iterator<Item = (&'a str, &'a str)>) -> IndexMap<String, String> {
    // as it will stand in the journal, or it would never be the same again
    let seen = |name: &str, value: &'a str| mask(&mask_value(name, value)).into_owned();
    let shown =
        |name: &str, value: &'a str| if hides(name, value) { MASKED.to_owned() } else { seen(name, value) };
    all.map(|(name, value)| (name.to_owned(), shown(name, value))).collect()
}
