//! A mark that a process of a launch cannot lose by accident: a limit that nobody uses, set to an unusual number.
//!
//! A daemon that leaves its session, its parent and its environment behind keeps its resource limits through every fork
//! and exec, and everybody may read them. `RLIMIT_RTTIME` bounds the processor time of real-time threads, in microseconds:
//! at 60,000 years it bounds nothing, and the lower bits of the number are the study's and the launch's. Where somebody has bounded that one,
//! the size of files bears the number: no file has as many exbibytes.

use std::fs;
use std::io;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use sha2::{Digest, Sha256};

/// The highest bits, so that no limit that anybody sets is taken for one.
const KIND: u64 = 0x1A5 << 52;
const KIND_BITS: u64 = !0 << 52;
/// Of the study, then of the launch.
const STUDY_BITS: u64 = ((1 << 36) - 1) << 16;
const LAUNCH_BITS: u64 = (1 << 16) - 1;

/// The number that stands for a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp(u64);

impl Stamp {
    /// Of the launch with this nonce, whose study is all up to its last dash.
    pub fn of(nonce: &str) -> Self {
        let study = nonce.rfind('-').map_or(nonce, |at| &nonce[..=at]);
        Self(KIND | (hash(study) << 16) & STUDY_BITS | hash(nonce) & LAUNCH_BITS)
    }

    /// What a process carries, if it carries one.
    pub fn read(pid: i32) -> Option<Self> {
        let limits = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
        ["Max realtime timeout", "Max file size"].iter().find_map(|name| {
            let line = limits.lines().find_map(|l| l.strip_prefix(name))?;
            let number = line.split_ascii_whitespace().next()?.parse::<u64>().ok()?;
            (number & KIND_BITS == KIND).then_some(Self(number))
        })
    }

    /// What is the study's and the launch's in it.
    pub fn number(self) -> u64 {
        self.0 & !KIND_BITS
    }

    pub fn is_of_study(self, prefix: &str) -> bool {
        self.0 & STUDY_BITS == Self::of(prefix).0 & STUDY_BITS
    }

    /// Puts it on this process and all that come from it. Where somebody has bounded both limits already, they stay as they are.
    pub fn put(self) -> io::Result<()> {
        for limit in [Resource::RLIMIT_RTTIME, Resource::RLIMIT_FSIZE] {
            let (soft, hard) = getrlimit(limit)?;
            // of the size of files the softer bound is somebody's own
            let is_free = self.0 <= hard && (limit == Resource::RLIMIT_RTTIME || self.0 <= soft);
            if is_free {
                return setrlimit(limit, self.0, hard).map_err(Into::into);
            }
        }
        Ok(())
    }
}

fn hash(text: &str) -> u64 {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn launches_of_a_study_share_the_study_s_bits_only() {
        let (one, two, other) =
            (Stamp::of("plab-aa-L001"), Stamp::of("plab-aa-L002"), Stamp::of("plab-bb-L001"));
        assert_ne!(one, two);
        assert!(one.is_of_study("plab-aa-") && two.is_of_study("plab-aa-") && !other.is_of_study("plab-aa-"));
        assert!(one.0 > u64::from(u32::MAX) * 100_000_000, "it bounds nothing");
    }

    #[test]
    fn processes_of_others_have_none() {
        assert_eq!(Stamp::read(std::process::id() as i32), None);
        assert_eq!(Stamp::read(-1), None);
    }

    #[test]
    fn it_is_read_back_after_an_exec_without_an_environment() {
        use std::os::unix::process::CommandExt;
        let stamp = Stamp::of("plab-aa-L001");
        for bounded in [false, true] {
            let mut command = Command::new("/bin/sleep");
            command.arg("100").env_clear();
            let put = move || {
                if bounded {
                    setrlimit(Resource::RLIMIT_RTTIME, 200_000, 200_000)?;
                }
                stamp.put()
            };
            // SAFETY: between fork and exec only system calls are made.
            unsafe { command.pre_exec(put) };
            let mut child = command.spawn().unwrap();
            let found = Stamp::read(child.id() as i32);
            child.kill().unwrap();
            child.wait().unwrap();
            assert_eq!(found, Some(stamp), "{bounded}");
        }
    }
}
