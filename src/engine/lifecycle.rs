//! The life of a launch as a table: where it stands, what may happen to it, and what then has to be done.
//!
//! Pure, so that a test can drive it with any sequence of happenings: once a process may run, no path ends but by the
//! news that nothing of it is left, or by naming what a kill did not end. Whoever starts and stops engines asks here
//! and does nothing on its own.

use serde::Serialize;

/// Where a launch stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Nothing runs; a port is chosen and has to be proven free.
    Planned,
    /// A guard is told to spawn it.
    Spawning,
    /// Its first process runs; it loads, or waits for others, and does not serve yet.
    Starting,
    /// It answers, and the answers are its own.
    Ready,
    WarmingUp,
    Loading,
    /// No request is sent any more; open streams are being closed, which some engines would wait for.
    Draining,
    /// It was asked to leave.
    Leaving,
    /// All of its processes are being killed.
    Killing,
    /// No process of it is left.
    Gone,
    /// A kill did not end all of it. Nothing may start on this machine.
    Stuck,
}

/// What may happen to a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Happening {
    PortFree,
    PortTaken,
    Spawned,
    /// There is no such program, or it cannot be run.
    NotSpawned,
    /// It answered, and the socket is its own.
    Answered,
    /// Somebody else answers on its port.
    StrangerAnswered,
    /// It made no progress for too long, or took too long in all.
    TooLate,
    WarmupBegan,
    LoadBegan,
    LoadEnded,
    /// Its first process ended by itself.
    LeaderEnded,
    /// Its loads are done, or a signal ended them.
    StopWanted,
    StreamsClosed,
    /// It did not leave in time.
    StopOverdue,
    /// It must end at once: a second signal, a start that was cancelled, a handle that was dropped.
    KillWanted,
    /// Killed processes are still there after a long time.
    KillOverdue,
    /// The guard has seen the last process go.
    TreeEmpty,
}

/// What has to be done about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Duty {
    Spawn,
    CloseStreams,
    /// Send the engine's stop signal.
    Ask,
    Kill,
    /// Name what is left, and stop the study.
    Report,
}

/// One move from stage to stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Step {
    pub from: Stage,
    pub to: Stage,
    pub because: Happening,
    #[serde(skip)]
    pub duty: Option<Duty>,
}

impl Stage {
    /// Nothing can happen any more that asks for something to be done.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Gone | Self::Stuck)
    }

    fn serves(self) -> bool {
        matches!(self, Self::Ready | Self::WarmingUp | Self::Loading)
    }

    /// The stage that follows. A happening that means nothing here, such as an answer that comes too late, changes
    /// nothing.
    pub fn after(self, because: Happening) -> Step {
        let (to, duty) = self.decide(because);
        Step { from: self, to, because, duty }
    }

    #[expect(clippy::match_same_arms, reason = "rows stand by stage, and their order is what they mean")]
    fn decide(self, because: Happening) -> (Self, Option<Duty>) {
        use Happening as H;
        let kill = (Self::Killing, Some(Duty::Kill));
        let unchanged = (self, None);
        match (self, because) {
            (Self::Gone, _) => unchanged,
            // guards go on trying
            (Self::Stuck, H::TreeEmpty) => (Self::Gone, None),
            (Self::Stuck, _) => unchanged,

            // nothing runs: there is nothing to clean up
            (Self::Planned, H::PortFree) => (Self::Spawning, Some(Duty::Spawn)),
            (Self::Planned, H::PortTaken | H::NotSpawned | H::KillWanted | H::StopWanted) => {
                (Self::Gone, None)
            }
            (Self::Planned, _) => unchanged,

            (_, H::TreeEmpty) => (Self::Gone, None),
            (Self::Killing, H::KillOverdue) => (Self::Stuck, Some(Duty::Report)),
            (Self::Killing, _) => unchanged,
            (_, H::KillWanted) => kill,

            (Self::Spawning, H::Spawned) => (Self::Starting, None),
            (Self::Starting, H::Answered) => (Self::Ready, None),
            (
                Self::Spawning | Self::Starting,
                H::NotSpawned | H::StrangerAnswered | H::TooLate | H::LeaderEnded | H::StopWanted,
            ) => kill,

            (stage, H::WarmupBegan) if stage.serves() => (Self::WarmingUp, None),
            (stage, H::LoadBegan) if stage.serves() => (Self::Loading, None),
            (stage, H::LoadEnded) if stage.serves() => (Self::Ready, None),
            // others of its tree may live on, and are asked as well
            (stage, H::StopWanted | H::LeaderEnded | H::StrangerAnswered) if stage.serves() => {
                (Self::Draining, Some(Duty::CloseStreams))
            }
            (Self::Draining, H::StreamsClosed) => (Self::Leaving, Some(Duty::Ask)),
            (Self::Leaving, H::StopOverdue) => kill,
            _ => unchanged,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Duty, Happening as H, Stage};

    const HAPPENINGS: [H; 17] = [
        H::PortFree,
        H::PortTaken,
        H::Spawned,
        H::NotSpawned,
        H::Answered,
        H::StrangerAnswered,
        H::TooLate,
        H::WarmupBegan,
        H::LoadBegan,
        H::LoadEnded,
        H::LeaderEnded,
        H::StopWanted,
        H::StreamsClosed,
        H::StopOverdue,
        H::KillWanted,
        H::KillOverdue,
        H::TreeEmpty,
    ];

    /// What a launch went through.
    struct Trace {
        stage: Stage,
        duties: Vec<Duty>,
        emptied: bool,
    }

    impl Trace {
        fn of(happenings: &[H]) -> Self {
            let mut trace = Self { stage: Stage::Planned, duties: Vec::new(), emptied: false };
            for happening in happenings {
                trace.take(*happening);
            }
            trace
        }

        fn take(&mut self, happening: H) {
            let step = self.stage.after(happening);
            assert_eq!(step.from, self.stage);
            self.emptied |= happening == H::TreeEmpty && self.spawned();
            self.stage = step.to;
            self.duties.extend(step.duty);
            self.check();
        }

        fn spawned(&self) -> bool {
            self.duties.contains(&Duty::Spawn)
        }

        fn killed(&self) -> bool {
            self.duties.contains(&Duty::Kill)
        }

        /// True after every single happening.
        fn check(&self) {
            match self.stage {
                Stage::Gone => assert!(!self.spawned() || self.emptied, "it is gone only when that was seen"),
                Stage::Stuck => {
                    assert!(self.killed(), "nothing is given up that was not killed");
                    assert_eq!(self.duties.last(), Some(&Duty::Report), "what is left is named");
                }
                Stage::Killing => assert!(self.killed()),
                Stage::Planned => assert!(!self.spawned()),
                _ => assert!(self.spawned()),
            }
            let once = |duty| self.duties.iter().filter(|d| **d == duty).count() <= 1;
            assert!(once(Duty::Spawn) && once(Duty::Ask) && once(Duty::Kill) && once(Duty::Report));
        }
    }

    fn any() -> impl Strategy<Value = Vec<H>> {
        prop::collection::vec(prop::sample::select(HAPPENINGS.to_vec()), 0..40)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_path_ends_without_the_clean_up(happenings in any()) {
            Trace::of(&happenings);
        }

        /// Deadlines come by themselves. After anything at all, they alone lead to the end.
        #[test]
        fn deadlines_alone_end_every_path(happenings in any()) {
            let mut trace = Trace::of(&happenings);
            for h in [H::StopWanted, H::StreamsClosed, H::StopOverdue, H::KillOverdue] {
                trace.take(h);
            }
            prop_assert!(trace.stage.is_over(), "{:?} after {happenings:?}", trace.stage);
        }

        /// The second signal, or a dropped handle, from wherever it was.
        #[test]
        fn a_kill_is_never_ignored(happenings in any()) {
            let mut trace = Trace::of(&happenings);
            let over = trace.stage.is_over();
            trace.take(H::KillWanted);
            prop_assert!(over || trace.stage.is_over() || (trace.stage == Stage::Killing && trace.killed()));
        }

        /// No request is counted of a launch that never proved the answers to be its own.
        #[test]
        fn nothing_is_loaded_before_it_is_ready(happenings in any()) {
            let answered = happenings.iter().position(|h| *h == H::Answered).unwrap_or(happenings.len());
            let trace = Trace::of(&happenings[..answered]);
            prop_assert!(!trace.stage.serves());
        }
    }

    #[test]
    fn a_whole_life() {
        let happenings = [
            H::PortFree,
            H::Spawned,
            H::Answered,
            H::WarmupBegan,
            H::LoadBegan,
            H::LoadEnded,
            H::StopWanted,
            H::StreamsClosed,
            H::TreeEmpty,
        ];
        let trace = Trace::of(&happenings);
        assert_eq!(trace.stage, Stage::Gone);
        assert_eq!(trace.duties, [Duty::Spawn, Duty::CloseStreams, Duty::Ask]);
    }

    #[test]
    fn an_answer_after_the_deadline_is_no_answer() {
        let trace = Trace::of(&[H::PortFree, H::Spawned, H::TooLate, H::Answered, H::LoadBegan]);
        assert_eq!(trace.stage, Stage::Killing);
    }
}
