//! How a guard begins: it detaches itself from whatever could take it down together with perflab, reads what
//! to launch, and launches it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::prctl;
use nix::sys::signal::{SigHandler, SigSet, Signal, signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{Pid, dup2_stderr, getpid, getppid, setsid};

use super::super::capped_log::CappedLog;
use super::super::lookups::{Filter, Listener, Scope};
use super::super::masked_log::MaskedLog;
use super::super::memory::{self, Group};
use super::super::protocol::{Launch, Report};
use super::super::scratch;
use super::super::stamp::Stamp;
use super::doors;
use super::outbox::Outbox;
use super::tree::Tree;
use super::watch::Watch;

/// Runs a guard to its end: the hidden subcommand that perflab starts itself with. All that it needs comes
/// through standard input.
pub fn guard_main() -> ExitCode {
    let Ok(mut outbox) = Outbox::on_stdout() else { return usage() };
    match begin() {
        Ok((watch, memory)) => {
            watch.run(&mut outbox);
            drop(memory);
            ExitCode::SUCCESS
        }
        Err(Start::NotAsked) => usage(),
        Err(Start::Failed(message)) => last_word(&mut outbox, &Report::Failed { message }),
        Err(Start::Refused { program, why }) => last_word(&mut outbox, &Report::Refused { program, why }),
    }
}

fn last_word(outbox: &mut Outbox, report: &Report) -> ExitCode {
    outbox.push(report);
    outbox.flush_for(std::time::Duration::from_secs(1));
    ExitCode::FAILURE
}

fn usage() -> ExitCode {
    // standard error may be closed, and that is no reason to panic
    let _ = writeln!(io::stderr(), "perflab starts this command itself, to guard an engine");
    ExitCode::from(2)
}

/// Why there is nothing to watch.
enum Start {
    /// Nobody sent anything to launch.
    NotAsked,
    Failed(String),
    /// The program is none that this kernel runs.
    Refused {
        program: PathBuf,
        why: String,
    },
}

/// What to watch, and the limit of its memory, which lasts as long.
fn begin() -> Result<(Watch, Option<Group>), Start> {
    detach().map_err(|e| Start::Failed(format!("cannot become a guard: {e}")))?;
    doors::close_at_exec();
    let signals = signals().map_err(|e| Start::Failed(format!("cannot watch for signals: {e}")))?;
    let (launch, orders) = read_launch().ok_or(Start::NotAsked)?;
    let held = take_over_stderr(launch.holds_descriptor)
        .map_err(|e| Start::Failed(format!("cannot hold a descriptor: {e}")))?;
    // it lives on with the guard when perflab is killed
    let scratch = scratch::hold(&launch.scratch);
    let log = File::create(&launch.log)
        .map_err(|e| Start::Failed(format!("cannot write {}: {e}", launch.log.display())))?;
    let memory = launch.memory.and_then(|bytes| Group::new(&getpid().to_string(), bytes));
    let (output, writer) = pipe_for_output().map_err(|e| not_run(&launch.program, &e))?;
    let (listener, door) = scope(&launch).and_then(listen).unzip();
    let leader = spawn(&launch, memory.as_ref(), writer, door).map_err(|e| not_run(&launch.program, &e))?;
    let tree = Tree::new(leader);
    let log = MaskedLog::new(CappedLog::new(log), launch.secrets);
    let held = held.into_iter().chain(scratch.map(OwnedFd::from)).collect();
    let own = [launch.scratch].into_iter().chain(launch.private).collect();
    let watch = Watch::new(orders, signals, (output, log, listener), tree, (own, launch.container), held);
    Ok((watch, memory))
}

/// Whether it is the program that cannot be run, or this machine that runs none now.
fn not_run(program: &Path, error: &io::Error) -> Start {
    // its file was there: what is not is what has to load it
    const ITS_OWN: [Errno; 5] = [Errno::ENOEXEC, Errno::ENOENT, Errno::EACCES, Errno::ELIBBAD, Errno::ELOOP];
    if error.raw_os_error().is_some_and(|code| ITS_OWN.contains(&Errno::from_raw(code))) {
        return Start::Refused { program: program.to_owned(), why: error.to_string() };
    }
    Start::Failed(format!("cannot run {}: {error}", program.display()))
}

/// Own session, so that no terminal and no process group reaches it; reaper of all that descends from it; a
/// name that `pkill perflab` does not match.
fn detach() -> nix::Result<()> {
    // fails only for the leader of a process group, who is out of reach of other groups already
    let _ = setsid();
    prctl::set_child_subreaper(true)?;
    prctl::set_name(c"plab-guard")
}

/// The signals that would end a guard are read and ignored: it goes when its engine has gone.
fn signals() -> nix::Result<SignalFd> {
    let mut mask = SigSet::empty();
    for signal in [
        Signal::SIGCHLD,
        Signal::SIGTERM,
        Signal::SIGINT,
        Signal::SIGHUP,
        Signal::SIGQUIT,
        Signal::SIGUSR1,
        Signal::SIGUSR2,
        Signal::SIGALRM,
    ] {
        mask.add(signal);
    }
    mask.thread_block()?;
    SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
}

/// The first line of standard input, and the rest of it for orders.
fn read_launch() -> Option<(Launch, BufReader<File>)> {
    let input = io::stdin().as_fd().try_clone_to_owned().ok()?;
    let mut input = BufReader::new(File::from(input));
    let mut line = String::new();
    input.read_line(&mut line).ok()?;
    Some((serde_json::from_str(&line).ok()?, input))
}

/// A descriptor to be held comes in as standard error, the only door that `std` leaves open for one more. It
/// moves away from there, lest a message be written into it.
fn take_over_stderr(holds_descriptor: bool) -> io::Result<Option<OwnedFd>> {
    if !holds_descriptor {
        return Ok(None);
    }
    let held = io::stderr().as_fd().try_clone_to_owned()?;
    let nowhere = File::options().write(true).open("/dev/null")?;
    dup2_stderr(nowhere)?;
    Ok(Some(held))
}

/// A pipe that is read without blocking, and as large as may be: an engine should not wait for its log.
fn pipe_for_output() -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    set_nonblocking(&reader)?;
    // more is not to be had everywhere, and the default works too
    let _ = fcntl(&reader, FcntlArg::F_SETPIPE_SZ(1 << 20));
    Ok((reader, writer))
}

/// Turns off waiting for a descriptor that nobody else shares.
pub(super) fn set_nonblocking(fd: &(impl AsFd + AsRawFd)) -> io::Result<()> {
    let flags = OFlag::from_bits_truncate(fcntl(fd, FcntlArg::F_GETFL)?);
    fcntl(fd, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}

/// What lies in the launch's own directories is nobody else's.
fn scope(launch: &Launch) -> Option<Scope> {
    let mut scope = launch.scope.clone()?;
    scope.spared.extend([launch.scratch.clone()].into_iter().chain(launch.private.clone()));
    Some(scope)
}

/// Who hears what the engine looks for, and where its process says how. `None`: nothing of that is seen.
fn listen(scope: Scope) -> Option<(Listener, UnixStream)> {
    let (here, there) = UnixStream::pair().ok()?;
    Some((Listener::on(here, scope).ok()?, there))
}

fn spawn(
    launch: &Launch,
    group: Option<&Group>,
    output: PipeWriter,
    asks: Option<UnixStream>,
) -> io::Result<Child> {
    let mut command = Command::new(&launch.program);
    if let Some((name, arguments)) = launch.argv.split_first() {
        command.arg0(name).args(arguments);
    }
    command.env_clear().envs(launch.env.iter().cloned());
    command.current_dir(&launch.cwd).stdin(Stdio::null());
    command.stderr(output.try_clone()?).stdout(output);
    let door = group.map(Group::door).transpose()?;
    let (guard, cpus, stamp) = (getpid(), cpu_set(&launch.cpus), Stamp::of(&launch.nonce));
    let filter = asks.map(|asks| (Filter::new(), asks));
    // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            // processors that are gone by now are no reason not to start: the kernel leaves it on those that it has
            let _ = cpus.is_none_or(|set| sched_setaffinity(Pid::from_raw(0), &set).is_ok());
            let _ = door.as_ref().is_none_or(|door| memory::enter(door).is_ok());
            // nor is a limit that may not be set
            let _ = stamp.put();
            tie_to(guard)?;
            // where this kernel does not ask, texts tell what is looked for
            let _ = filter.as_ref().is_none_or(|(filter, asks)| filter.install(asks.as_fd()).is_ok());
            Ok(())
        })
    };
    command.spawn()
}

/// The processors of a launch, if it has its own.
fn cpu_set(cpus: &[usize]) -> Option<CpuSet> {
    let mut set = CpuSet::new();
    let some = cpus.iter().filter(|id| set.set(**id).is_ok()).count();
    (some > 0).then_some(set)
}

/// Own session and process group for the engine, and its death with that of the guard.
fn tie_to(guard: Pid) -> io::Result<()> {
    setsid()?;
    hear_signals()?;
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    // a guard that died before the line above sends no signal any more
    if getppid() == guard { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
}

/// An engine inherits neither what the guard blocks nor what perflab was told to ignore, as by `nohup` or by
/// a shell that runs it in the background: it could not be asked to leave.
fn hear_signals() -> io::Result<()> {
    for ending in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT] {
        // SAFETY: no handler is installed, and the process has one thread.
        unsafe { signal(ending, SigHandler::SigDfl) }?;
    }
    SigSet::empty().thread_set_mask()?;
    Ok(())
}
