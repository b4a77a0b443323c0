//! What is opened in directories, as the kernel tells it, and what files held when they were. The kernel names files and not those who open
//! them, so that whatever else goes through a directory meanwhile is seen too.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent, WatchDescriptor};

use crate::disk;

/// So many milliseconds nothing is read, twice as long each time, so that what is opened again and again wakes nobody each time; the kernel
/// keeps 16,384 events.
const REST: u16 = 4;
const LONGEST_REST: u16 = 64;
/// After a pause of this length it begins anew.
const QUIET: Duration = Duration::from_secs(1);
/// Directories that take another one's place, with those in them.
const MOST_EXCHANGED: usize = 256;
/// Paths that are kept in mind.
const MOST: usize = 50_000;

/// Sees what is opened, until it is dropped.
pub struct Eyes {
    seen: Arc<Seen>,
    wake: Arc<EventFd>,
    thread: Option<JoinHandle<()>>,
    /// not everything that was to be looked at is
    blinded: Option<io::Error>,
}

/// What became of a path that was opened.
#[derive(Debug, Clone)]
pub struct Sight {
    /// when that was seen first
    first: Instant,
    /// a hash over what a file held then
    pub held: Option<String>,
    /// how often it was closed and could not have been written; by us too, once where it was hashed
    closed: usize,
    /// how often perflab itself read it beside that
    ours: usize,
    /// whoever could have written it closed it
    is_written: bool,
    pub is_dir: bool,
}

impl Sight {
    /// Whether somebody read it who did not open it for writing, once all have closed it. Of two who close it at one time the kernel tells
    /// as of one: what nobody closed who could have written it was read.
    pub fn is_read(&self) -> bool {
        !self.is_written || self.closed > self.ours + usize::from(self.held.is_some())
    }
}

/// What was there before anything was opened.
pub trait Ground: Send + Sync {
    /// whether what a file holds is of interest
    fn counts(&self, path: &Path) -> bool;
    /// whether a directory lay here that is followed: another one that takes its place is followed too
    fn was_dir(&self, path: &Path) -> bool;
    /// whether a link lay here
    fn was_link(&self, path: &Path) -> bool;
    /// whether what a link leads to is looked at
    fn is_followed(&self, to: &Path) -> bool;
    fn dirs(&self) -> Vec<&PathBuf>;
    /// files that lie in none of them
    fn files(&self) -> Vec<&PathBuf>;
}

struct Seen {
    inotify: Inotify,
    ground: Box<dyn Ground>,
    look: Mutex<Look>,
    /// more was opened than was told
    missed: AtomicBool,
}

#[derive(Default)]
struct Look {
    /// what was told and is not taken in yet
    told: VecDeque<InotifyEvent>,
    watched: HashMap<WatchDescriptor, PathBuf>,
    sights: HashMap<PathBuf, Sight>,
    /// where links lead that were made anew
    led: HashMap<PathBuf, PathBuf>,
    /// how often perflab itself read a file
    ours: HashMap<PathBuf, usize>,
}

/// All that look at something now.
static ALL: Mutex<Vec<Weak<Seen>>> = Mutex::new(Vec::new());

/// Reads a file for perflab itself, which tells nobody that a launch did.
pub fn unseen<T>(path: &Path, read: impl FnOnce(&Path) -> T) -> T {
    if let Ok(real) = path.canonicalize() {
        let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        for seen in all.iter().filter_map(Weak::upgrade) {
            *seen.look().ours.entry(real.clone()).or_default() += 1;
        }
    }
    read(path)
}

impl Eyes {
    /// Looks at what is opened there. The error says that this kernel tells nothing.
    pub fn on(ground: impl Ground + 'static) -> io::Result<Self> {
        let inotify = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK)?;
        let (ground, look, missed) = (Box::new(ground), Mutex::default(), AtomicBool::default());
        let seen = Arc::new(Seen { inotify, ground, look, missed });
        let blinded = seen.begin();
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|one| one.strong_count() > 0);
        all.push(Arc::downgrade(&seen));
        drop(all);
        let wake = Arc::new(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?);
        let (told, woken) = (seen.clone(), wake.clone());
        let follow = move || follow(&woken, &told);
        let thread = Some(thread::Builder::new().name("opened files".to_owned()).spawn(follow)?);
        Ok(Self { seen, wake, thread, blinded })
    }

    /// The paths that were opened until a moment, or until now.
    pub fn seen(&self, until: Option<Instant>) -> Vec<(PathBuf, Sight)> {
        self.seen.take();
        let look = self.seen.look();
        let counts = |sight: &Sight| until.is_none_or(|until| sight.first <= until);
        let ours = |path: &PathBuf| look.ours.get(path).copied().unwrap_or_default();
        let all = look.sights.iter().filter(|(_, s)| counts(s));
        all.map(|(path, s)| (path.clone(), Sight { ours: ours(path), ..s.clone() })).collect()
    }

    /// Why not all was seen that was opened.
    pub fn missed(&self) -> Option<String> {
        if self.seen.missed.load(Ordering::Relaxed) {
            return Some("more files were opened than could be followed".to_owned());
        }
        self.blinded.as_ref().map(|e| format!("not all directories can be followed: {e}"))
    }
}

impl Drop for Eyes {
    fn drop(&mut self) {
        // only a full counter cannot be written, and that wakes too
        let _woken = self.wake.write(1);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// Reads what the kernel tells until it is woken.
fn follow(wake: &EventFd, seen: &Seen) {
    let mut rest = REST;
    loop {
        let of = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let mut fds = [of(seen.inotify.as_fd()), of(wake.as_fd())];
        let waits = Instant::now();
        match poll(&mut fds, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return,
        }
        if fds[1].any() == Some(true) {
            return;
        }
        seen.take();
        rest = if waits.elapsed() > QUIET { REST } else { (2 * rest).min(LONGEST_REST) };
        // whoever asks takes in what was told meanwhile
        if poll(&mut fds[1..], rest).is_ok_and(|woken| woken > 0) {
            return;
        }
    }
}

impl Seen {
    fn look(&self) -> MutexGuard<'_, Look> {
        self.look.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why not all that was there is looked at, if so.
    fn begin(&self) -> Option<io::Error> {
        let (mut look, mut blinded) = (self.look(), None);
        for path in self.ground.dirs().into_iter().chain(self.ground.files()) {
            blinded = self.watch(&mut look, path).err().or(blinded);
        }
        blinded
    }

    /// Looks at a file, or at what is opened in a directory, wherever it lay until now.
    fn watch(&self, look: &mut Look, path: &Path) -> io::Result<()> {
        let mut what = AddWatchFlags::IN_OPEN | AddWatchFlags::IN_CLOSE;
        if path.is_dir() {
            what |= AddWatchFlags::IN_CREATE | AddWatchFlags::IN_MOVED_TO | AddWatchFlags::IN_ONLYDIR;
        }
        match self.inotify.add_watch(path, what) {
            Ok(wd) => drop(look.watched.insert(wd, path.to_owned())),
            // gone meanwhile, or closed to whom the engine is started by
            Err(Errno::ENOENT | Errno::EACCES | Errno::ENOTDIR) => {}
            Err(e) => return Err(e.into()),
        }
        Ok(())
    }

    /// Takes in what was told until now.
    fn take(&self) {
        // before it is read, so that two who read at one time leave nothing to be taken in behind them
        let mut look = self.look();
        self.hear(&mut look.told);
        while let Some(event) = look.told.pop_front() {
            if event.mask.contains(AddWatchFlags::IN_Q_OVERFLOW) || look.sights.len() >= MOST {
                self.missed.store(true, Ordering::Relaxed);
            } else if let Some(path) = look.watched.get(&event.wd).map(|at| below(at, event.name)) {
                if event.mask.intersects(AddWatchFlags::IN_CREATE | AddWatchFlags::IN_MOVED_TO) {
                    self.take_place(&mut look, path);
                } else {
                    self.see_by_all_names(&mut look, path, event.mask);
                }
            }
            if look.told.is_empty() {
                self.hear(&mut look.told);
            }
        }
    }

    /// Reads what the kernel tells. An event that equals the last one that nobody has read yet it does not tell again.
    fn hear(&self, told: &mut VecDeque<InotifyEvent>) {
        while let Ok(events) = self.inotify.read_events() {
            told.extend(events);
        }
    }

    /// Follows what lies now where something else lay: what is opened there is opened under that name.
    fn take_place(&self, look: &mut Look, path: PathBuf) {
        let is_link = path.is_symlink();
        if is_link && self.ground.was_link(&path) {
            let Ok(to) = path.canonicalize() else { return };
            // one that lies in no directory that is looked at is told of by nobody else
            let is_apart = |to: &Path| !look.watched.values().any(|at| *at == to || to.parent() == Some(at));
            if is_apart(&to) && self.ground.is_followed(&to) {
                self.watch_all(look, &to);
            }
            look.led.insert(path, to);
        } else if !is_link && self.ground.was_dir(&path) {
            self.watch_all(look, &path);
        }
    }

    fn watch_all(&self, look: &mut Look, path: &Path) {
        let mut open = vec![path.to_owned()];
        for _ in 0..MOST_EXCHANGED {
            let Some(path) = open.pop() else { return };
            if self.watch(look, &path).is_err() {
                break;
            }
            let entries = path.read_dir().into_iter().flatten().flatten();
            open.extend(entries.filter(|e| e.file_type().is_ok_and(|t| t.is_dir())).map(|e| e.path()));
        }
        self.missed.fetch_or(!open.is_empty(), Ordering::Relaxed);
    }

    fn see_by_all_names(&self, look: &mut Look, path: PathBuf, mask: AddWatchFlags) {
        let by_link = |(link, to): (&PathBuf, &PathBuf)| Some(joined(link, path.strip_prefix(to).ok()?));
        let names: Vec<PathBuf> = look.led.iter().filter_map(by_link).collect();
        for path in names.into_iter().chain([path]) {
            self.see(look, path, mask);
        }
    }

    fn see(&self, look: &mut Look, path: PathBuf, mask: AddWatchFlags) {
        let is_dir = mask.contains(AddWatchFlags::IN_ISDIR);
        let told = &mut look.told;
        let sight = look.sights.entry(path).or_insert_with_key(|path| {
            let counts = !is_dir && self.ground.counts(path);
            let held = counts.then(|| self.hash(path, told).ok()).flatten();
            Sight { first: Instant::now(), held, closed: 0, ours: 0, is_written: false, is_dir }
        });
        sight.closed += usize::from(mask.contains(AddWatchFlags::IN_CLOSE_NOWRITE));
        sight.is_written |= mask.contains(AddWatchFlags::IN_CLOSE_WRITE);
    }

    /// A hash over what a file holds. All is heard before it is closed and behind that, so that an engine's closing is told beside ours.
    fn hash(&self, path: &Path, told: &mut VecDeque<InotifyEvent>) -> io::Result<String> {
        let held = disk::afresh(path, || self.hear(told));
        self.hear(told);
        held
    }
}

fn below(at: &Path, name: Option<OsString>) -> PathBuf {
    name.map_or_else(|| at.to_owned(), |name| at.join(name))
}

/// What lies so below a link, or the link itself.
pub fn joined(link: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() { link.to_owned() } else { link.join(rest) }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::super::folder;
    use super::*;

    struct Everything(PathBuf);

    impl Ground for Everything {
        fn counts(&self, _: &Path) -> bool {
            true
        }
        fn was_dir(&self, _: &Path) -> bool {
            false
        }
        fn was_link(&self, _: &Path) -> bool {
            false
        }
        fn is_followed(&self, _: &Path) -> bool {
            false
        }
        fn dirs(&self) -> Vec<&PathBuf> {
            vec![&self.0]
        }
        fn files(&self) -> Vec<&PathBuf> {
            Vec::new()
        }
    }

    #[test]
    fn a_file_that_is_closed_while_it_is_hashed_was_read() {
        let names: Vec<String> = (0..2000).map(|n| n.to_string()).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "1")).collect();
        let dir = folder::of(&files);
        let eyes = Eyes::on(Everything(dir.path().to_owned())).expect("looks");
        let all = thread::scope(|scope| {
            let reader = scope.spawn(|| {
                for (n, name) in (0..).zip(&names) {
                    let file = File::open(dir.path().join(name)).expect("opened");
                    let until = Instant::now() + Duration::from_micros(n % 120);
                    while Instant::now() < until {
                        std::hint::spin_loop();
                    }
                    drop(file);
                }
            });
            while !reader.is_finished() {
                eyes.seen.take();
            }
            eyes.seen(None)
        });
        let unread = all.iter().filter(|(_, sight)| !sight.is_read()).count();
        assert_eq!((all.len(), unread), (names.len(), 0));
        std::fs::write(dir.path().join("written"), "1").expect("written");
        let written = eyes.seen(None).into_iter().find(|(path, _)| path.ends_with("written"));
        assert!(written.is_some_and(|(_, sight)| !sight.is_read()));
    }
}
