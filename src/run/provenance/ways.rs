//! The directories and links on the way to a file, and whether one of them was exchanged and put back: a name then led to another file for a
//! while, and nothing was done to either file.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Links that are followed on one way.
const MOST_LINKS: usize = 40;

/// What a way led through, by path.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Way(BTreeMap<PathBuf, Step>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    is_link: bool,
    inode: (u64, u64),
    changed: (i64, i64),
    written: (i64, i64),
}

impl Way {
    /// To this path, its last part left out where that is no link.
    pub fn to(path: &Path) -> Self {
        let mut way = Self::default();
        way.follow(path, 0);
        way
    }

    fn follow(&mut self, path: &Path, links: usize) {
        let parts: Vec<Component<'_>> = path.components().collect();
        let mut at = PathBuf::new();
        for (i, part) in parts.iter().enumerate() {
            match part {
                Component::ParentDir => drop(at.pop()),
                part => at.push(part),
            }
            let Ok(meta) = fs::symlink_metadata(&at) else { return };
            if meta.is_symlink() && links < MOST_LINKS {
                self.0.insert(at.clone(), Step::of(&meta));
                let Ok(to) = fs::read_link(&at) else { return };
                at.pop();
                let rest: PathBuf = parts[i + 1..].iter().collect();
                return self.follow(&at.join(to).join(rest), links + 1);
            }
            if meta.is_dir() {
                self.0.insert(at.clone(), Step::of(&meta));
            }
        }
    }

    /// Whether it led elsewhere at any moment between the one and the other, as far as that left a trace.
    pub fn led_elsewhere(&self, now: &Self) -> bool {
        let same_steps = self.0.len() == now.0.len();
        !same_steps || self.0.iter().any(|(path, was)| now.0.get(path).is_none_or(|is| was.was_moved(is)))
    }
}

impl Step {
    fn of(meta: &Metadata) -> Self {
        Self {
            is_link: meta.is_symlink(),
            inode: (meta.dev(), meta.ino()),
            changed: (meta.ctime(), meta.ctime_nsec()),
            written: (meta.mtime(), meta.mtime_nsec()),
        }
    }

    /// A link that was put back is a new one. A directory is changed by each file that comes to be in it, which is no matter here and is
    /// told by both of its times being the same; one that was moved is changed and not written.
    fn was_moved(&self, now: &Self) -> bool {
        let changed = self.changed != now.changed;
        self.inode != now.inode || changed && (self.is_link || now.changed != now.written)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_directory_or_a_link_that_was_exchanged_and_put_back_is_seen() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("v1/in")).expect("made");
        fs::write(at("v1/in/f"), "1").expect("written");
        symlink("v1", at("cur")).expect("a link");
        let way = || {
            // the kernel's clock for files is coarse
            sleep(Duration::from_millis(30));
            Way::to(&at("cur/in/f"))
        };
        let first = way();
        fs::write(at("v1/in/g"), "1").expect("written");
        fs::remove_file(at("v1/in/g")).expect("removed");
        fs::write(at("new"), "1").expect("written");
        let second = way();
        assert!(!first.led_elsewhere(&second), "files beside it are no matter: {first:?} {second:?}");
        fs::rename(at("v1/in"), at("v1/away")).expect("moved");
        fs::rename(at("v1/away"), at("v1/in")).expect("moved");
        let third = way();
        assert!(second.led_elsewhere(&third), "{second:?} {third:?}");
        for to in ["v2", "v1"] {
            symlink(to, at("other")).expect("a link");
            fs::rename(at("other"), at("cur")).expect("moved");
        }
        let fourth = way();
        assert!(third.led_elsewhere(&fourth) && !fourth.led_elsewhere(&way()));
        fs::rename(at("v1"), at("v0")).expect("moved");
        assert!(fourth.led_elsewhere(&way()), "it leads nowhere");
        fs::rename(at("v0"), at("v1")).expect("moved");
        assert!(fourth.led_elsewhere(&way()), "behind a link too");
    }
}
