//! A terminal with somebody before it: what stands on it, what is typed into it, and what happens when it is closed.

use std::ffi::CString;
use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::fcntl::{OFlag, open};
use nix::pty::{PtyMaster, grantpt, posix_openpt, ptsname_r, unlockpt};
use nix::sys::stat::Mode;
use nix::unistd::setsid;

use super::lab::{PATIENCE, hear_hangups};

/// A command on a terminal of its own, as the leader of its session.
pub struct Terminal {
    /// `None` once it is closed
    near: Option<PtyMaster>,
    text: String,
    pub child: Child,
}

impl Terminal {
    /// All three streams of the command are the terminal.
    pub fn start(mut command: Command) -> Self {
        // closed in whatever else is started: somebody who holds the near end keeps the terminal open
        let flags = OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        let near = posix_openpt(flags | OFlag::O_NONBLOCK).expect("a terminal");
        grantpt(&near).expect("a right");
        unlockpt(&near).expect("a right");
        let name = CString::new(ptsname_r(&near).expect("its name")).expect("a name");
        let far = open(name.as_c_str(), flags, Mode::empty()).expect("its far end");
        let stream = || Stdio::from(far.try_clone().expect("a descriptor"));
        command.stdin(stream()).stdout(stream()).stderr(stream());
        let control = move || {
            hear_hangups()?;
            setsid()?;
            // the first terminal that the leader of a session opens is that session's
            open(name.as_c_str(), OFlag::O_RDWR, Mode::empty())?;
            Ok(())
        };
        // SAFETY: between fork and exec only system calls are made, and nothing is allocated
        unsafe { command.pre_exec(control) };
        let child = command.spawn().expect("perflab starts");
        Self { near: Some(near), text: String::new(), child }
    }

    /// What was written to it so far. Nobody may let it fill up: a write to a full terminal waits.
    pub fn text(&mut self) -> &str {
        let mut buffer = [0; 4096];
        while let Some(Ok(n @ 1..)) = self.near.as_mut().map(|t| t.read(&mut buffer)) {
            self.text += &String::from_utf8_lossy(&buffer[..n]);
        }
        &self.text
    }

    pub fn types(&mut self, text: &str) {
        self.near.as_mut().expect("an open terminal").write_all(text.as_bytes()).expect("room for it");
    }

    #[track_caller]
    pub fn wait_for(&mut self, what: &str, done: impl Fn(&str) -> bool) {
        let began = Instant::now();
        while !done(self.text()) {
            assert!(began.elapsed() < PATIENCE, "waited in vain for {what}:\n{}", self.text);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The line is cut: whoever writes to the terminal from now on gets an error.
    pub fn close(&mut self) {
        self.text();
        self.near = None;
    }

    /// The exit code, 1000 and the number of the signal that ended it.
    #[track_caller]
    pub fn wait(&mut self) -> i32 {
        let began = Instant::now();
        loop {
            self.text();
            if let Some(status) = self.child.try_wait().expect("a status") {
                let signal = std::os::unix::process::ExitStatusExt::signal(&status);
                self.text();
                return status.code().unwrap_or(1000 + signal.unwrap_or_default());
            }
            assert!(began.elapsed() < PATIENCE, "no end:\n{}", self.text);
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
