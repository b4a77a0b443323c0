//! Variables as they may be written down. What is secret by its value is masked where text leaves perflab; here it is told by its name,
//! so that a result's conditions are the same whatever the secret is.

use indexmap::IndexMap;

use crate::secrets::{MASKED, is_secret};

/// Variables with the values of secret ones masked.
pub fn masked_variables<'a>(all: impl Iterator<Item = (&'a str, &'a str)>) -> IndexMap<String, String> {
    let shown = |name: &str, value: &'a str| if is_secret(name) { MASKED } else { value }.to_owned();
    all.map(|(name, value)| (name.to_owned(), shown(name, value))).collect()
}
