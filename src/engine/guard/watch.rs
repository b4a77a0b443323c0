//! The guard's loop: orders in, output to the log, reports out, until no process is left.

use std::fs::File;
use std::io::{self, BufRead, BufReader, PipeReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signalfd::SignalFd;

use super::super::container::Container;
use super::super::lookups::{Found, Listener};
use super::super::masked_log::MaskedLog;
use super::super::mounts::remove_tree;
use super::super::originals::Spot;
use super::super::protocol::{Exit, Order, Report};
use super::outbox::Outbox;
use super::tree::Tree;

/// How often perflab hears that the log grows.
const LOG_REPORTS: Duration = Duration::from_millis(250);
/// Bytes of output taken before orders are looked at again.
const OUTPUT_PER_TURN: usize = 1 << 20;
/// The pause between two rounds of killing that met the same processes: they are on their way out.
const KILL_PAUSE: Duration = Duration::from_millis(5);
/// The pause grows up to this for processes that a driver holds in the kernel.
const LONG_KILL_PAUSE: Duration = Duration::from_millis(200);
/// While so many bytes of reports wait, none about what was masked is added.
const MASKED_WAITING: usize = 64 << 10;
/// How long the last report waits for a reader.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Kills that long without an end are what a paused container does with them: its processes are frozen, and its own program has to
/// thaw it. Also the pause until the program is asked again.
const FROZEN: Duration = Duration::from_secs(2);

/// How long a guard goes on asking for the removal of a container.
const CONTAINER_PATIENCE: Duration = Duration::from_mins(5);

/// What the guard is doing to its engine.
enum Phase {
    Running,
    /// It was asked to leave with this signal; `all` when processes outside its group were asked too.
    Asked {
        signal: i32,
        all: bool,
    },
    Killing,
}

pub(super) struct Watch {
    /// `None` after its end: perflab is dead, or has let go.
    orders: Option<BufReader<File>>,
    signals: SignalFd,
    output: Option<PipeReader>,
    buffer: Vec<u8>,
    log: MaskedLog<File>,
    /// What the engine looks for, where that is seen, and when it was told of last.
    lookups: Option<(Listener, Instant)>,
    /// perflab waits to hear of it.
    tell: bool,
    tree: Tree,
    /// Directories of the launch's that go with it.
    own: Vec<PathBuf>,
    /// What is left when the tree is empty, as it is no part of it.
    container: Option<Container>,
    phase: Phase,
    kill_pause: Duration,
    /// when the container's program is asked to end what kills do not
    thaw: Option<Instant>,
    exit_reported: bool,
    log_reported: (Instant, u64),
    /// Closed when the guard ends.
    _held: Vec<OwnedFd>,
}

impl Watch {
    pub fn new(
        orders: BufReader<File>,
        signals: SignalFd,
        (output, log, listener): (PipeReader, MaskedLog<File>, Option<Listener>),
        tree: Tree,
        (own, container): (Vec<PathBuf>, Option<Container>),
        held: Vec<OwnedFd>,
    ) -> Self {
        Self {
            orders: Some(orders),
            signals,
            output: Some(output),
            buffer: vec![0; 1 << 16],
            log,
            lookups: listener.map(|listener| (listener, Instant::now())),
            tell: false,
            tree,
            own,
            container,
            phase: Phase::Running,
            kill_pause: KILL_PAUSE,
            thaw: None,
            exit_reported: false,
            log_reported: (Instant::now(), 0),
            _held: held,
        }
    }

    /// Returns when everything is gone and said.
    pub fn run(mut self, outbox: &mut Outbox) {
        outbox.push(&Report::Spawned { pid: self.tree.leader() });
        if self.orders.as_ref().is_some_and(|o| !o.buffer().is_empty()) {
            self.take_orders();
        }
        while !self.tree.is_empty() {
            let ready = self.wait(outbox);
            if ready.orders {
                self.take_orders();
            }
            self.forget_signals();
            self.act();
            if ready.output {
                self.take_output(OUTPUT_PER_TURN);
            }
            self.report(outbox);
        }
        self.finish(outbox);
    }

    fn wait(&self, outbox: &Outbox) -> Readable {
        let mut fds = vec![PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        let mut add = |fd, flags| {
            fds.push(PollFd::new(fd, flags));
            fds.len() - 1
        };
        let orders = self.orders.as_ref().map(|o| add(o.get_ref().as_fd(), PollFlags::POLLIN));
        let output = self.output.as_ref().map(|o| add(o.as_fd(), PollFlags::POLLIN));
        if let Some((listener, _)) = self.lookups.as_ref().filter(|_| self.next_lookups().is_zero()) {
            add(listener.bell().as_fd(), PollFlags::POLLIN);
        }
        if !outbox.is_empty() {
            add(outbox.fd(), PollFlags::POLLOUT);
        }
        if poll(&mut fds, self.timeout()).is_err() {
            return Readable { orders: false, output: false };
        }
        let is_ready = |i: Option<usize>| i.is_some_and(|i| fds[i].any().unwrap_or(true));
        Readable { orders: is_ready(orders), output: is_ready(output) }
    }

    fn timeout(&self) -> PollTimeout {
        let killing = matches!(self.phase, Phase::Killing).then_some(self.kill_pause);
        let log = (self.log.total() > self.log_reported.1)
            .then(|| LOG_REPORTS.saturating_sub(self.log_reported.0.elapsed()));
        let lookups = Some(self.next_lookups()).filter(|pause| !pause.is_zero());
        let pause = killing.or_else(|| log.into_iter().chain(lookups).min());
        // rounded up: a wait of zero would spin
        pause.map_or(PollTimeout::NONE, |pause| PollTimeout::from(pause.as_millis() as u16 + 1))
    }

    /// How long it is until perflab hears again what is looked for; nothing where it may at once, or never does.
    fn next_lookups(&self) -> Duration {
        let last = self.lookups.as_ref().map(|(_, last)| *last);
        last.map_or(Duration::ZERO, |last| LOG_REPORTS.saturating_sub(last.elapsed()))
    }

    /// As many names as there are, a few times a second.
    fn tell_lookups(&mut self, outbox: &mut Outbox) {
        let Some((listener, last)) = &mut self.lookups else { return };
        if let Some(Found { looked, lacks }) = listener.take() {
            *last = Instant::now();
            outbox.push(&Report::Looked { looked, lacks });
        }
    }

    /// One line each. The end of the pipe is perflab's end, and so is a line that cannot be read.
    fn take_orders(&mut self) {
        let Some(orders) = &mut self.orders else { return };
        loop {
            let mut line = String::new();
            let order = match orders.read_line(&mut line) {
                Ok(n) if n > 0 => serde_json::from_str(&line).unwrap_or(Order::Kill),
                _ => {
                    self.orders = None;
                    self.phase = Phase::Killing;
                    return;
                }
            };
            match (order, &self.phase) {
                (Order::Tell, _) => self.tell = true,
                (Order::Kill, _) | (_, Phase::Killing) => self.phase = Phase::Killing,
                (Order::Term { signal }, _) => {
                    self.tree.signal_group(signal);
                    self.phase = Phase::Asked { signal, all: false };
                }
            }
            if orders.buffer().is_empty() {
                return;
            }
        }
    }

    fn take_output(&mut self, at_most: usize) {
        let Some(output) = &mut self.output else { return };
        let mut taken = 0;
        while taken < at_most {
            match output.read(&mut self.buffer) {
                Ok(0) => return self.output = None,
                Ok(n) => {
                    self.log.push(&self.buffer[..n]);
                    taken += n;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => return self.output = None,
            }
        }
    }

    /// Which signals came does not matter: the children are asked on every turn, and no other signal is obeyed.
    fn forget_signals(&mut self) {
        while let Ok(Some(_)) = self.signals.read_signal() {}
    }

    fn act(&mut self) {
        self.tree.reap();
        match self.phase {
            Phase::Killing => self.kill(),
            Phase::Asked { signal, all: false } if self.tree.exit().is_some() => self.ask_rest(signal),
            Phase::Running | Phase::Asked { .. } => {}
        }
    }

    fn kill(&mut self) {
        self.kill_pause = (2 * self.kill_pause).min(LONG_KILL_PAUSE);
        while !self.tree.is_empty() && self.tree.kill_round() {
            self.kill_pause = KILL_PAUSE;
        }
        if !self.tree.is_empty() {
            self.thaw();
        }
    }

    /// Has a container removed by its own program while its processes survive every kill.
    fn thaw(&mut self) {
        let Some(container) = &self.container else { return };
        if *self.thaw.get_or_insert_with(|| Instant::now() + FROZEN) <= Instant::now() {
            // asked once; what it cannot do now it is asked again
            let _ = container.remove(Instant::now());
            self.thaw = Some(Instant::now() + FROZEN);
        }
    }

    /// When the engine's own group has left, whoever daemonised out of it will not be told by anybody else.
    fn ask_rest(&mut self, signal: i32) {
        if self.tree.group_is_empty() {
            Tree::signal_rest(signal);
            self.phase = Phase::Asked { signal, all: true };
        }
    }

    fn report(&mut self, outbox: &mut Outbox) {
        // what perflab does not read waits in bounded memory
        if outbox.waiting() < MASKED_WAITING {
            tell_masked(self.log.take_spots(), outbox);
        }
        let (at, bytes) = self.log_reported;
        // old news about the log are dropped, not queued, when perflab does not read
        if self.log.total() > bytes && at.elapsed() >= LOG_REPORTS && outbox.is_empty() {
            self.log_reported = (Instant::now(), self.log.total());
            outbox.push(&Report::Log { bytes: self.log.total() });
        }
        if self.tell || self.next_lookups().is_zero() {
            self.tell_lookups(outbox);
        }
        if std::mem::take(&mut self.tell) {
            outbox.push(&Report::Told);
        }
        if !self.exit_reported
            && let Some(exit) = self.tree.exit()
        {
            self.exit_reported = true;
            outbox.push(&Report::Exited(exit));
        }
        outbox.flush();
    }

    /// The log is completed and the launch's own directories are removed before perflab hears that all are gone.
    fn finish(mut self, outbox: &mut Outbox) {
        // a pipe holds at most what it was enlarged to
        self.take_output(2 * OUTPUT_PER_TURN);
        self.tell_lookups(outbox);
        let bytes = self.log.total();
        let (_, spots) = self.log.finish();
        if let Some(container) = &self.container {
            // as long as it is there, nothing may start beside it; perflab names it meanwhile
            let _ = container.remove(Instant::now() + CONTAINER_PATIENCE);
        }
        for directory in &self.own {
            let _ = remove_tree(directory);
        }
        tell_masked(spots, outbox);
        outbox.push(&Report::Log { bytes });
        if !self.exit_reported {
            outbox.push(&Report::Exited(self.tree.exit().unwrap_or(Exit::Unknown)));
        }
        outbox.push(&Report::Gone { killed: self.tree.killed() });
        outbox.flush_for(LAST_WORDS);
    }
}

fn tell_masked(spots: Vec<Spot>, outbox: &mut Outbox) {
    if !spots.is_empty() {
        outbox.push(&Report::Masked { spots });
    }
}

/// What can be read without waiting.
struct Readable {
    orders: bool,
    output: bool,
}
