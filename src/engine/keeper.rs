//! The near end of a guard: starts it, hears its reports, passes orders on, and does its work if it is killed.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, watch};

use super::container::Container;
use super::lookups::Lookups;
use super::mounts::remove_tree;
use super::originals::Originals;
use super::protocol::{Exit, Launch, Order, Report};
use super::scratch::Scratch;
use super::sweep::{Guarded, kill_launch, spawn_guard};

/// How long a container is asked to go when its guard was killed.
const CONTAINER_PATIENCE: std::time::Duration = std::time::Duration::from_mins(1);

/// How long a guard has to say what its engine looked for.
const TELLS: std::time::Duration = std::time::Duration::from_secs(5);

/// What is known of an engine.
#[derive(Debug, Clone, Default)]
pub(super) struct Life {
    pub pid: Option<i32>,
    /// Printed so far.
    pub log_bytes: u64,
    /// What was said where the log is masked.
    pub originals: Arc<Originals>,
    /// Why it could not be started.
    pub failed: Option<String>,
    /// The program that the kernel does not run, and why.
    pub refused: Option<(PathBuf, String)>,
    /// How the leader ended; others of its tree may live on.
    pub exit: Option<Exit>,
    /// How often it was said on demand what it looked for.
    pub told: u64,
    /// Nothing is left of the tree.
    pub gone: bool,
}

/// A guard and its engine. Dropping it kills both.
#[derive(Debug)]
pub(super) struct Keeper {
    orders: mpsc::UnboundedSender<Order>,
    life: watch::Receiver<Life>,
    guard: i32,
    container: Option<Container>,
    /// It is seen what the engine looks for.
    looks: bool,
}

impl Keeper {
    /// Starts a guard with `command` and hands it what to launch.
    pub fn launch(
        command: &[OsString],
        launch: Launch,
        scratch: Scratch,
        held: Option<OwnedFd>,
        lookups: Option<Lookups>,
    ) -> io::Result<Self> {
        let (child, guarded) = spawn_guard(|| run_guard(command, held), Child::id)?;
        let guard = child.id().map_or(0, |pid| pid as i32);
        let container = launch.container.clone();
        let looks = launch.scope.is_some() && lookups.is_some();
        let (orders, queue) = mpsc::unbounded_channel();
        let (news, life) = watch::channel(Life::default());
        tokio::spawn(keep((child, guarded), launch, scratch, queue, news, lookups));
        Ok(Self { orders, life, guard, container, looks })
    }

    /// The guard's own process.
    pub fn guard(&self) -> i32 {
        self.guard
    }

    /// What runs beside the guard's tree.
    pub fn container(&self) -> Option<&Container> {
        self.container.as_ref()
    }

    pub fn life(&self) -> watch::Receiver<Life> {
        self.life.clone()
    }

    pub fn order(&self, order: Order) {
        // somebody may have stopped it, by a debugger or by mistake; it is ours
        if self.guard > 0 && !self.life.borrow().gone {
            let _ = kill(Pid::from_raw(self.guard), Signal::SIGCONT);
        }
        // nobody listens any more when everything is gone
        let _ = self.orders.send(order);
    }

    /// Waits until all is heard that the engine looked for so far: a guard says it a few times a second.
    pub async fn hear_lookups(&self) {
        if !self.looks {
            return;
        }
        let life = self.life();
        let before = life.borrow().told;
        self.order(Order::Tell);
        // one that says nothing is killed or stopped, which others find out
        let _ = tokio::time::timeout(TELLS, settle(life, |life| life.told > before)).await;
    }

    /// Waits until nothing of the tree is left.
    pub async fn gone(&self) -> Life {
        settle(self.life(), |life| life.gone).await
    }
}

/// Waits for something to become true of an engine, or for it to be gone.
pub(super) async fn settle(mut life: watch::Receiver<Life>, done: impl Fn(&Life) -> bool) -> Life {
    if life.wait_for(|l| l.gone || done(l)).await.is_err() {
        // the runtime shuts down: the pipes are closed, and the guard kills
        return Life { gone: true, ..life.borrow().clone() };
    }
    life.borrow().clone()
}

fn run_guard(command: &[OsString], held: Option<OwnedFd>) -> io::Result<Child> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    Command::new(program)
        // nor should `pkill -f perflab` take perflab and its guards together
        .arg0("plab-guard")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(held.map_or_else(Stdio::null, Stdio::from))
        .spawn()
}

/// Lives as long as the guard. Ends the guard when the keeper is dropped.
async fn keep(
    (mut child, guarded): (Child, Guarded),
    launch: Launch,
    scratch: Scratch,
    mut queue: mpsc::UnboundedReceiver<Order>,
    news: watch::Sender<Life>,
    lookups: Option<Lookups>,
) {
    let (nonce, container) = (launch.nonce.clone(), launch.container.clone());
    let mut orders = child.stdin.take();
    send(&mut orders, &launch).await;
    let mut reports = child.stdout.take().map(|out| BufReader::new(out).lines());
    let mut finished = false;
    loop {
        tokio::select! {
            report = next_report(&mut reports) => match report {
                Some(Report::Looked { looked, lacks }) => {
                    if let Some(lookups) = &lookups {
                        lookups.hear(looked, lacks);
                    }
                }
                Some(report) => {
                    finished |= report.is_last();
                    news.send_modify(|life| life.hear(report));
                }
                None => break,
            },
            order = queue.recv(), if orders.is_some() => match order {
                Some(order) => send(&mut orders, &order).await,
                None => orders = None,
            },
        }
    }
    let _ = child.wait().await;
    drop(guarded);
    let leader = news.borrow().pid;
    if !finished {
        // it was killed before its work was done
        let work = move || {
            kill_launch(&nonce, leader);
            container.map(|c| c.remove(std::time::Instant::now() + CONTAINER_PATIENCE))
        };
        let _ = tokio::task::spawn_blocking(work).await;
    }
    // a guard has removed it already, unless it was killed or could not start
    let _ = remove_tree(&scratch.path);
    news.send_modify(Life::end);
}

impl Life {
    fn hear(&mut self, report: Report) {
        match report {
            Report::Spawned { pid } => self.pid = Some(pid),
            Report::Failed { message } => self.failed = Some(message),
            Report::Refused { program, why } => self.refused = Some((program, why)),
            Report::Log { bytes } => self.log_bytes = bytes,
            Report::Masked { spots } => Arc::make_mut(&mut self.originals).add(spots),
            Report::Exited(exit) => self.exit = Some(exit),
            Report::Told => self.told += 1,
            // believed when the guard has left too, and with it the descriptor that it holds
            Report::Gone { .. } | Report::Looked { .. } => {}
        }
    }

    fn end(&mut self) {
        self.gone = true;
        if self.pid.is_none() && self.failed.is_none() && self.refused.is_none() {
            self.failed = Some("its guard ended at once".into());
        }
        self.exit = self.exit.or(Some(Exit::Unknown));
    }
}

async fn next_report(lines: &mut Option<Lines<BufReader<ChildStdout>>>) -> Option<Report> {
    let line = lines.as_mut()?.next_line().await.ok()??;
    serde_json::from_str(&line).ok()
}

/// One line to the guard; a guard that cannot take it is dead, and the end of its reports says so.
async fn send(pipe: &mut Option<ChildStdin>, what: &impl serde::Serialize) {
    if let (Some(pipe), Ok(mut line)) = (pipe, serde_json::to_vec(what)) {
        line.push(b'\n');
        let _ = pipe.write_all(&line).await;
        let _ = pipe.flush().await;
    }
}
