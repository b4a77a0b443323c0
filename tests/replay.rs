//! Published studies replayed: the same steps, the same decisions, the same command; and decisions that follow from the numbers.

mod format;
mod numbers;
mod published;
mod tuned;
