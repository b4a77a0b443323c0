//! Reads what an engine's calls name, one after the other, and lets each go on. It runs beside the guard's loop, as an engine waits for it.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use nix::errno::Errno;
use nix::libc::{self, seccomp_data, seccomp_notif, seccomp_notif_resp};
use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};

use super::aside::Aside;
use super::call::{self, Call, Does};
use super::filter::{Filter, receive};
use super::naming;
use super::scope::Scope;
use super::{Lacks, Looked, Sight};

/// Names that are kept of one launch.
const MOST: usize = 20_000;
const HIDDEN: Lacks = Lacks { many: false, hidden: true, refused: false };
/// Milliseconds until an error that nothing explains may have passed.
const PAUSE: u8 = 1;

/// What is told of an engine's calls.
pub(in super::super) struct Listener {
    news: Arc<News>,
}

/// What has been found since it was asked for last.
#[derive(Debug, Default)]
pub(in super::super) struct Found {
    pub looked: Vec<Looked>,
    pub lacks: Lacks,
}

/// Whether this kernel tells perflab, as whom it runs, what engines look for: tried with a program that does nothing.
pub fn can_be_seen() -> bool {
    let told = || {
        let (here, there) = UnixStream::pair().ok()?;
        let listener = Listener::on(here, Scope::default()).ok()?;
        let (filter, mut command) = (Filter::new(), Command::new("true"));
        // SAFETY: only system calls are made.
        unsafe { command.pre_exec(move || filter.install(there.as_fd())) };
        command.status().ok()?;
        listener.take()
    };
    told().is_some()
}

struct News {
    found: Mutex<Found>,
    bell: EventFd,
}

impl Listener {
    /// Waits for the descriptor that the engine's process sends before it runs its program, and for its calls.
    pub fn on(engine: UnixStream, scope: Scope) -> io::Result<Self> {
        let bell = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        let news = Arc::new(News { found: Mutex::default(), bell });
        // from the descriptor on everybody waits
        let (told, aside) = (news.clone(), Aside::new()?);
        let listen = move || {
            if let Ok(asks) = receive(engine.as_fd()) {
                be_quick();
                told.tell(Vec::new(), Lacks::default());
                Listening { asks, aside, scope, seen: HashMap::new(), listed: HashSet::new(), news: told }
                    .run();
            }
        };
        thread::Builder::new().name("lookups".to_owned()).spawn(listen)?;
        Ok(Self { news })
    }

    /// Can be read as soon as there is something to take.
    pub fn bell(&self) -> &EventFd {
        &self.news.bell
    }

    pub fn take(&self) -> Option<Found> {
        // only an empty counter cannot be read
        self.news.bell.read().ok()?;
        Some(std::mem::take(&mut *self.news.found.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl News {
    fn tell(&self, looked: Vec<Looked>, lacks: Lacks) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.looked.extend(looked);
        found.lacks = found.lacks.and(lacks);
        let _ = self.bell.write(1);
    }
}

struct Listening {
    asks: OwnedFd,
    aside: Aside,
    scope: Scope,
    seen: HashMap<PathBuf, Sight>,
    listed: HashSet<PathBuf>,
    news: Arc<News>,
}

impl Listening {
    /// Until nobody is left who asks. The descriptor stays open for as long: a call that nobody hears fails.
    fn run(mut self) {
        // whoever asks goes on without the scheduler, where the kernel can do that (6.6)
        const SYNC_WAKE_UP: usize = 1;
        let flags = std::ptr::without_provenance_mut(SYNC_WAKE_UP);
        let _ = self.control(libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, flags);
        while self.hear() || self.is_used() {}
    }

    /// Whether an engine's process is left.
    fn is_used(&self) -> bool {
        let mut fds = [PollFd::new(self.asks.as_fd(), PollFlags::POLLIN)];
        // an error that nothing explains may pass
        let is_told = poll(&mut fds, PAUSE).is_ok();
        !(is_told && fds[0].revents().is_some_and(|events| events.contains(PollFlags::POLLHUP)))
    }

    /// Waits for one call. Whether there was one.
    fn hear(&mut self) -> bool {
        // SAFETY: plain data, of which all zeros is a value, and the one that the kernel asks for
        let mut asked: seccomp_notif = unsafe { std::mem::zeroed() };
        if self.control(libc::SECCOMP_IOCTL_NOTIF_RECV, (&raw mut asked).cast()).is_err() {
            // it was killed meanwhile, or was the last one
            return false;
        }
        let looked = self.looked(asked.pid, &asked.data);
        let flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
        let mut answer = seccomp_notif_resp { id: asked.id, val: 0, error: 0, flags };
        // one that is killed meanwhile needs none
        let _ = self.control(libc::SECCOMP_IOCTL_NOTIF_SEND, (&raw mut answer).cast());
        if !looked.is_empty() {
            self.news.tell(looked, Lacks::default());
        }
        true
    }

    fn control(&self, what: libc::Ioctl, of: *mut libc::c_void) -> nix::Result<()> {
        // SAFETY: `of` points to what this request reads and writes, or is a number where that is asked for
        Errno::result(unsafe { libc::ioctl(self.asks.as_raw_fd(), what, of) }).map(drop)
    }

    /// What of the names of a call is news.
    fn looked(&mut self, pid: u32, data: &seccomp_data) -> Vec<Looked> {
        let Some(call) = call::of_number(data.nr) else { return Vec::new() };
        match call.does {
            Does::Queue => self.lack(HIDDEN),
            Does::Nest(flags) if data.args[flags] & libc::SECCOMP_FILTER_FLAG_NEW_LISTENER != 0 => {
                self.lack(Lacks { refused: true, ..Lacks::default() });
            }
            _ => {}
        }
        if let Does::Touch(at) = call.does {
            let path = naming::open(pid, data.args[at] as i32);
            return path.map(|path| self.news_of(pid, &path, call, data)).unwrap_or_default();
        }
        if let Does::List(at) = call.does {
            return self.listed(pid, data.args[at] as i32).into_iter().collect();
        }
        let paths = call.names.iter().flatten().filter_map(|(dir, at)| {
            let Ok(name) = naming::text(pid, data.args[*at]) else {
                self.lack(HIDDEN);
                return None;
            };
            let name = PathBuf::from(name?);
            // most of what engines look for is the system's, and that is seen at once
            let may_count = !name.is_absolute() || self.scope.may_count(&name);
            let dir = dir.map(|dir| data.args[dir] as i32);
            let path = if may_count { naming::resolved(pid, dir, &name)? } else { return None };
            self.plain(path)
        });
        let paths: Vec<PathBuf> = paths.collect();
        paths.iter().flat_map(|path| self.news_of(pid, path, call, data)).collect()
    }

    fn plain(&self, path: PathBuf) -> Option<PathBuf> {
        if naming::is_plain(&path) {
            return Some(naming::plain(&path));
        }
        let plain = self.aside.look(move || naming::plain(&path));
        if plain.is_none() {
            self.lack(HIDDEN);
        }
        plain
    }

    /// What it does is seen in part from now on.
    fn lack(&self, lacks: Lacks) {
        self.news.tell(Vec::new(), lacks);
    }

    fn listed(&mut self, pid: u32, dir: i32) -> Option<Looked> {
        let path = naming::open(pid, dir)?;
        if self.listed.contains(&path) || self.listed.len() >= MOST || !self.scope.counts(&path.join("*")) {
            return None;
        }
        if !naming::is_of_this_root(pid) {
            self.lack(HIDDEN);
            return None;
        }
        self.listed.insert(path.clone());
        let sight = if naming::is_python(pid) { Sight::Searched } else { Sight::Listed };
        Some(Looked { path, sight })
    }

    /// Whether it is worth while to know of a cache or an installation who made it.
    fn may_be_made(&self, path: &Path) -> bool {
        self.seen.len() < MOST / 2 && self.scope.counts_if_made(path)
    }

    /// What is not as it was when somebody asked last, and what is read of which it was only asked. What was there before it is made, moved or
    /// removed is told as well.
    fn news_of(&mut self, pid: u32, path: &Path, call: &Call, data: &seccomp_data) -> Vec<Looked> {
        let is_own = matches!(call.does, Does::Write | Does::Touch(_)) || makes(pid, call, data);
        let known = self.seen.get(path).copied();
        let counts = self.scope.counts(path) || is_own && self.may_be_made(path);
        if known == Some(Sight::Own) || !counts {
            return Vec::new();
        }
        let many = known.is_none() && self.seen.len() >= MOST;
        let hidden = !naming::is_of_this_root(pid);
        if many || hidden {
            self.lack(Lacks { many, hidden, refused: false });
            return Vec::new();
        }
        let (looks_at, reads) = (path.to_owned(), reads(pid, call, data));
        let Some(is) = self.aside.look(move || sight(&looks_at, reads)) else {
            self.lack(HIDDEN);
            return Vec::new();
        };
        // that somebody asks of a file that was read is none
        let is_news = known.is_none_or(|was| was != is && (is != Sight::There || was == Sight::Absent));
        let sights: Vec<Sight> =
            is_news.then_some(is).into_iter().chain(is_own.then_some(Sight::Own)).collect();
        self.seen.extend(sights.last().map(|last| (path.to_owned(), *last)));
        sights.into_iter().map(|sight| Looked { path: path.to_owned(), sight }).collect()
    }
}

fn sight(path: &Path, reads: bool) -> Sight {
    let is_missing =
        |e: &io::Error| matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    match fs::metadata(path) {
        Ok(file) if file.is_file() && reads => Sight::Read,
        Err(e) if is_missing(&e) => Sight::Absent,
        // also what is somebody else's, of which nothing more is known
        _ => Sight::There,
    }
}

/// Whoever waits may be interrupted until it is heard: before others that run, where that may be had.
fn be_quick() {
    let first = libc::sched_param { sched_priority: 1 };
    // SAFETY: the kernel reads the number and keeps it
    let _ = unsafe {
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const first)
    };
}

/// Whether a call reads what it finds.
fn reads(pid: u32, call: &Call, data: &seccomp_data) -> bool {
    let flags = opens(pid, call, data);
    flags.is_some_and(|flags| flags & libc::O_ACCMODE != libc::O_WRONLY && flags & libc::O_TRUNC == 0)
        || call.does == Does::Run
}

/// Whether a call makes the file that it opens, or may write what it finds.
fn makes(pid: u32, call: &Call, data: &seccomp_data) -> bool {
    opens(pid, call, data).is_some_and(|flags| flags & (libc::O_CREAT | libc::O_TRUNC) != 0)
}

/// How a call opens a file, if it does.
fn opens(pid: u32, call: &Call, data: &seccomp_data) -> Option<i32> {
    match call.does {
        Does::Open(flags) => Some(data.args[flags] as i32),
        Does::OpenAs(how) => Some(naming::number(pid, data.args[how]).unwrap_or_default() as i32),
        _ => None,
    }
}
