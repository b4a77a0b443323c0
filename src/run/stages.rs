//! An engine's events in the run's event stream, under the launch's name.

use super::event::{Event, Listener};
use crate::engine::LaunchEvent;

/// Passes on every step of a launch's life and how far its start has come; that its log grew is no news.
pub fn pass_on(launch: &str, event: LaunchEvent, listener: &mut dyn Listener) {
    let launch = launch.to_owned();
    let event = match event {
        LaunchEvent::Spawned { pid } => Event::Spawned { launch, pid },
        LaunchEvent::Step(step) => {
            Event::Stage { launch, from: step.from, to: step.to, because: step.because }
        }
        LaunchEvent::Progress(progress) => {
            Event::Starting { launch, milestone: progress.milestone, percent: progress.percent }
        }
        LaunchEvent::Log { .. } => return,
    };
    listener.hear(&event);
}
