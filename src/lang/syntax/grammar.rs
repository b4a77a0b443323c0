//! The pest parser that is generated from `grammar/plab.pest`.

use pest_derive::Parser;

#[derive(Parser)]
#[grammar = "../grammar/plab.pest"]
pub struct Grammar;
