//! The program that an engine's command begins with: where it is, and whether it can be run. The kernel says of a script whose
//! interpreter is gone, as in an environment that was moved, that the script itself is not there.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

use super::error::StartError;
use super::spec::LaunchSpec;

/// Bytes of a first line that the kernel reads.
const FIRST: usize = 256;

/// As a shell would find it, in the `PATH` that the engine will have.
pub(super) fn find(spec: &LaunchSpec) -> Result<PathBuf, StartError> {
    let name = spec.argv.first().ok_or_else(|| StartError::Impossible("the command is empty".into()))?;
    let path = spec.env.iter().find(|(n, _)| n == "PATH").map(|(_, v)| v.as_str()).unwrap_or_default();
    let found = if name.contains('/') {
        Some(spec.cwd.join(name)).filter(|p| p.exists())
    } else {
        which::which_in(name, Some(path), &spec.cwd).ok()
    };
    let searched = (!name.contains('/')).then(|| path.to_owned());
    let found = found.ok_or_else(|| StartError::NotFound { name: name.clone(), searched })?;
    let found = std::path::absolute(&found)
        .map_err(|e| StartError::Impossible(format!("cannot use {}: {e}", found.display())))?;
    match why_not(&found, &spec.cwd) {
        Some(why) => Err(StartError::NotRunnable { program: found, why }),
        None => Ok(found),
    }
}

/// Why a file cannot be run from a directory, where that is to be seen.
fn why_not(program: &Path, cwd: &Path) -> Option<String> {
    let meta = fs::metadata(program).ok()?;
    if meta.is_dir() {
        return Some("it is a directory".to_owned());
    }
    if access(program, AccessFlags::X_OK).is_err() {
        let mode = meta.permissions().mode() & 0o7777;
        return Some(format!("it may not be executed here (mode {mode:o})"));
    }
    let mut head = Vec::new();
    // what may be run need not be readable
    File::open(program).ok()?.take(FIRST as u64).read_to_end(&mut head).ok()?;
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = line.split(|b| *b == b'\n').next().unwrap_or_default();
        // the kernel takes the end of a line of Windows for a part of the name
        let blank = |b: &u8| matches!(b, b' ' | b'\t');
        let word = line.split(blank).find(|word| !word.is_empty()).unwrap_or_default();
        let interpreter = cwd.join(std::ffi::OsStr::from_bytes(word));
        let shown = String::from_utf8_lossy(word).replace('\r', "\\r");
        return if word.is_empty() || !interpreter.exists() {
            Some(format!(
                "its first line names `{shown}`, which is not there: an environment that was moved is to be made anew"
            ))
        } else {
            access(&interpreter, AccessFlags::X_OK)
                .is_err()
                .then(|| format!("its first line names `{shown}`, which may not be executed here"))
        };
    }
    // other forms are the kernel's own affair (binfmt_misc), and a text without that line is the shell's
    head.is_empty().then(|| "it is empty".to_owned())
}
