//! Writing beside a file's place and renaming into it: no reader and no crash meets half of a file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

/// Puts bytes in the place of a file, which may be missing; its directory is there. The mode is what the user's umask leaves of it.
/// They are on the disk when this returns.
pub fn place(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    place_by(path, mode, |file| file.write_all(bytes))
}

/// The same for what is written as it is made.
pub fn place_by(path: &Path, mode: u32, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    through_draft(path, mode, |file| {
        fill(file)?;
        file.sync_all()
    })
}

/// The same without waiting for the disk: for what is soon written again, and of which a power cut may take the last state.
pub fn place_in_passing(path: &Path, bytes: &[u8]) -> io::Result<()> {
    pass_by(path, 0o644, |file| file.write_all(bytes))
}

/// The same for what is written as it is made.
pub fn pass_by(path: &Path, mode: u32, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    through_draft(path, mode, fill)
}

/// Puts a text in the place of a file of the user's. A link stays a link to it; mode and owner stay; what may not be written is not
/// replaced either.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let path = fs::canonicalize(path)?;
    let was = fs::metadata(&path)?;
    drop(OpenOptions::new().append(true).open(&path)?);
    through_draft(&path, 0o600, |file| {
        file.write_all(text.as_bytes())?;
        // only the superuser can keep another's file another's
        let _ = chown(draft_of(&path), Some(was.uid()), Some(was.gid()));
        file.set_permissions(fs::Permissions::from_mode(was.permissions().mode()))?;
        file.sync_all()
    })
}

/// Puts what is written as it is made where a user wants it: a file that was there stays whole until the new one is. A link stays a link to
/// its file; mode and owner stay. What cannot be replaced (a pipe, a device, a stream of this process, a file whose folder takes no other)
/// is written into.
pub fn put_by(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    match replaced(path) {
        Some((path, was)) => {
            let mode = was.as_ref().map_or(0o666, |_| 0o600);
            through_draft(&path, mode, |file| {
                fill(file)?;
                if let Some(was) = was {
                    // only the superuser can keep another's file another's
                    let _ = chown(draft_of(&path), Some(was.uid()), Some(was.gid()));
                    file.set_permissions(fs::Permissions::from_mode(was.permissions().mode()))?;
                }
                file.sync_all()
            })
        }
        None => fill(&mut File::create(path)?),
    }
}

/// The file that a path leads to and what it was, if a new one can take its place.
fn replaced(path: &Path) -> Option<(PathBuf, Option<fs::Metadata>)> {
    // what stands there is often a name of an open stream, which a new file would not be
    if ["/dev", "/proc"].iter().any(|of_kernel| path.starts_with(of_kernel)) {
        return None;
    }
    let takes = |path: &Path| {
        let folder = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        access(folder, AccessFlags::W_OK | AccessFlags::X_OK).is_ok()
    };
    let Ok(was) = fs::metadata(path) else {
        // a link to what is not there is followed as ever
        let is_new = fs::symlink_metadata(path).is_err() && takes(path);
        return is_new.then(|| (path.to_owned(), None));
    };
    let path = fs::canonicalize(path).ok()?;
    let may = was.is_file() && access(&path, AccessFlags::W_OK).is_ok() && takes(&path) && !is_stream(&was);
    may.then_some((path, Some(was)))
}

/// Whether it is what this process writes to.
fn is_stream(file: &fs::Metadata) -> bool {
    ["/proc/self/fd/1", "/proc/self/fd/2"].iter().any(|stream| {
        fs::metadata(stream).is_ok_and(|open| (open.dev(), open.ino()) == (file.dev(), file.ino()))
    })
}

/// Removes the drafts of files of some names that killed processes left in a directory. It may fail, and nothing follows from that.
pub fn sweep_drafts(dir: &Path, named: impl Fn(&str) -> bool) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let draft = name.to_str().and_then(|n| n.strip_prefix('.')?.rsplit_once('.'));
        let Some((of, Ok(pid))) = draft.map(|(of, pid)| (of, pid.parse::<u32>())) else { continue };
        if named(of) && !Path::new(&format!("/proc/{pid}")).exists() {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn through_draft(path: &Path, mode: u32, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let draft = draft_of(path);
    // one that a killed process of the same number left behind
    let _ = fs::remove_file(&draft);
    let open = OpenOptions::new().write(true).create_new(true).mode(mode).open(&draft);
    let written = open.and_then(|mut file| fill(&mut file)).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        // the first error is the one to tell; a draft that never came to be cannot be removed either
        let _ = fs::remove_file(&draft);
    }
    written
}

fn draft_of(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut all: Vec<String> = fs::read_dir(dir)
            .unwrap()
            .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        all.sort();
        all
    }

    #[test]
    fn drafts_of_the_dead_are_swept_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let own = format!(".a.txt.{}", std::process::id());
        let kept = [own.as_str(), ".a.txt.x", ".b.txt.4194999", "a.txt.4194999"];
        for name in kept.iter().chain(&[".a.txt.4194999"]) {
            fs::write(dir.path().join(name), "x").unwrap();
        }
        sweep_drafts(dir.path(), |name| name == "a.txt");
        let mut kept = kept.map(str::to_owned);
        kept.sort();
        assert_eq!(names(dir.path()), kept);
    }

    #[test]
    fn a_file_appears_whole_and_leaves_no_draft() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.txt");
        place(&path, b"one", 0o755).unwrap();
        place_in_passing(&path, b"two").unwrap();
        assert_eq!(
            (fs::read_to_string(&path).unwrap().as_str(), names(dir.path())),
            ("two", vec!["a.txt".into()])
        );
        fs::create_dir_all(dir.path().join("b/in the way")).unwrap();
        assert!(place(&dir.path().join("b"), b"x", 0o644).is_err());
        assert_eq!(names(dir.path()), ["a.txt", "b"]);
    }

    #[test]
    fn a_file_that_cannot_be_written_whole_leaves_the_one_that_was_there() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        let full = put_by(&link, |into| {
            into.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!((fs::read_to_string(&file).unwrap().as_str(), names(dir.path()).len()), ("old", 2));
        put_by(&link, |into| into.write_all(b"new")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        put_by(&dir.path().join("none"), |into| into.write_all(b"made")).unwrap();
        assert_eq!(names(dir.path()), ["file", "link", "none"]);
        // a device and a pipe stay what they are
        put_by(Path::new("/dev/null"), |into| into.write_all(b"x")).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        let pipe = dir.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let read = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe).unwrap()
        });
        put_by(&pipe, |into| into.write_all(b"through")).unwrap();
        assert_eq!(read.join().unwrap(), "through");
        // and a link to a file that is not there makes that file
        let ahead = dir.path().join("ahead");
        std::os::unix::fs::symlink("later", &ahead).unwrap();
        put_by(&ahead, |into| into.write_all(b"x")).unwrap();
        assert!(fs::symlink_metadata(&ahead).unwrap().is_symlink() && dir.path().join("later").is_file());
    }

    #[test]
    fn a_users_file_keeps_its_link_and_its_mode() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        replace(&link, "new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(replace(&dir.path().join("none"), "x").is_err());
    }
}
