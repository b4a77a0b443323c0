//! Every rule of steps, bases and adoption, on small studies over made-up recordings.

mod elsewhere;
mod ending;
mod goodput;
mod objectives;
mod repeats;
mod rules;
mod steps;
mod tracks;
