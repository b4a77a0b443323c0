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
        return if word.ends_with(b"\r") && !interpreter.exists() {
            Some(format!(
                "its lines end as those of Windows do (CRLF), so that its first names `{shown}`, which is not there: `sed -i 's/\\r$//'` mends them"
            ))
        } else if word.is_empty() || !interpreter.exists() {
            Some(format!(
                "its first line names `{shown}`, which is not there: an environment that was moved is to be made anew"
            ))
        } else {
            access(&interpreter, AccessFlags::X_OK)
                .is_err()
                .then(|| format!("its first line names `{shown}`, which may not be executed here"))
        };
    }
    if head.is_empty() {
        return Some("it is empty".to_owned());
    }
    // other forms are the kernel's own affair, and a text without that line is the shell's, which would try to read this one too
    foreign(&head, std::env::consts::ARCH).filter(|_| !has_interpreters())
}

/// Whether a program's header names a processor that is not this one, in words.
fn foreign(head: &[u8], own: &str) -> Option<String> {
    let machine =
        |of: &str| MACHINES.iter().find(|(_, names)| names.contains(&of)).map(|(number, _)| *number);
    let little = match head.get(..6)? {
        [0x7f, b'E', b'L', b'F', _, data] => *data == 1,
        _ => return None,
    };
    let bytes = [*head.get(18)?, *head.get(19)?];
    let theirs = if little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) };
    // kernels of 64 bits run the older programs of 32 bits too, or say that they do not
    let runs = |ours: u16| theirs == ours || matches!((ours, theirs), (62, 3) | (183, 40));
    if runs(machine(own)?) {
        return None;
    }
    let named = MACHINES.iter().find(|(number, _)| *number == theirs);
    let named = named.map_or_else(|| format!("ELF machine {theirs}"), |(_, names)| names[0].to_owned());
    Some(format!("it is a program for another processor ({named}), and this machine's is {own}"))
}

/// Numbers of processors in a program's header, and what they are called.
const MACHINES: [(u16, &[&str]); 8] = [
    (62, &["x86_64"]),
    (183, &["aarch64"]),
    (3, &["x86"]),
    (40, &["arm"]),
    (21, &["powerpc64"]),
    (22, &["s390x"]),
    (243, &["riscv64"]),
    (258, &["loongarch64"]),
];

/// Whether this kernel was told of emulators (`binfmt_misc`): it may run what is for another processor.
fn has_interpreters() -> bool {
    let Ok(entries) = fs::read_dir("/proc/sys/fs/binfmt_misc") else { return false };
    let own = ["register", "status"];
    entries.flatten().any(|entry| !own.iter().any(|name| entry.file_name() == **name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(machine: u16, data: u8) -> Vec<u8> {
        let mut head = vec![0; 64];
        head[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, data, 1]);
        let bytes = if data == 1 { machine.to_le_bytes() } else { machine.to_be_bytes() };
        head[18..20].copy_from_slice(&bytes);
        head
    }

    #[test]
    fn a_script_that_cannot_be_run_is_told_by_its_first_line() {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("start.sh");
        let told = |text: &str| {
            fs::write(&script, text).unwrap();
            fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
            why_not(&script, dir.path())
        };
        assert_eq!(told("#!/bin/sh\necho\n"), None);
        let why = told("#!/bin/sh\r\necho\r\n").expect("a reason");
        assert!(why.contains("CRLF") && why.contains("`/bin/sh\\r`") && !why.contains("moved"), "{why}");
        let why = told("#!/nowhere/python\nimport x\n").expect("a reason");
        assert!(why.contains("moved") && !why.contains("CRLF"), "{why}");
    }

    #[test]
    fn a_program_for_another_processor_is_told_by_its_header() {
        let told = |machine, data, own| foreign(&header(machine, data), own);
        let why = "it is a program for another processor (aarch64), and this machine's is x86_64";
        assert_eq!(told(183, 1, "x86_64").as_deref(), Some(why));
        assert!(told(22, 2, "x86_64").is_some_and(|why| why.contains("s390x")));
        assert!(told(9999, 1, "aarch64").is_some_and(|why| why.contains("ELF machine 9999")));
        for (machine, own) in [(62, "x86_64"), (3, "x86_64"), (183, "aarch64"), (40, "aarch64")] {
            assert_eq!(told(machine, 1, own), None);
        }
        for text in [&b"echo hello\n"[..], b"\x7fELF", b"x"] {
            assert_eq!(foreign(text, "x86_64"), None);
        }
        // this test itself runs here
        let own = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(foreign(&own[..FIRST], std::env::consts::ARCH), None);
    }
}
