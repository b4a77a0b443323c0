//! Every rule of steps, bases and adoption, on small studies over made-up recordings.

mod ending;
mod rules;
mod steps;
