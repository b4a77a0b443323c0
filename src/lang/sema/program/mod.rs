//! The checked program: what a file means, in types that planner, judge and executor use. Spans stay where a later message needs them.

mod engine;
mod expr;
mod profile;
mod refusal;
mod site;
mod space;
mod study;
mod whole;

pub use engine::{Api, Engine, EnvSetting, Failure, IMAGE_VERSION, Publish, Ready, Reset, Stop};
pub use expr::{Expr, Owner};
pub use profile::{Answers, Arrivals, Data, Load, Profile, Warmup};
pub use refusal::{Refusal, Refusals, Refuses};
pub use site::{BoxRuntime, Boxed, Site, SiteEngine, Via};
pub use space::{Change, Point, Space, WrittenValue};
pub use study::{
    Budget, Choice, From, Gpus, Guard, Objective, Pick, Prune, Repeat, Require, Step, Study, Track,
};
pub use whole::{NotYet, Program};
