//! Whose fault it was that a container ended before its engine was ready. docker and podman leave with 125 to 127 both when they could
//! start nothing and when an image has no such program, and engines may leave with those codes too: so the runtime is asked to
//! start the same container once more, with a program that no image has. If it gets as far as missing that, it works.

use super::container::{Container, RuntimeError};
use super::failure::{CONTAINER, Failure};
use super::protocol::Exit;

/// What no image has.
const NO_PROGRAM: &str = "/perflab-asks-whether-containers-start";

/// The runtime's failure, if it was one; `argv` is the client's command.
pub(super) async fn by_runtime(
    container: &Container,
    argv: &[String],
    exit: Exit,
    said: &Failure,
) -> Option<Failure> {
    let Exit::Code(code @ 125..=127) = exit else { return None };
    let name = container.runtime.name();
    let blame = |why: &str| Failure::new(CONTAINER, format!("{name} cannot start a container: {why}"));
    let (container, words) = (container.clone(), rehearsed(argv)?);
    let rehearsal = tokio::task::spawn_blocking(move || {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        container.runtime.start(&words)
    });
    match rehearsal.await.ok()? {
        Ok(()) => None,
        Err(RuntimeError::Refused { why, .. }) if why.contains(NO_PROGRAM) => (code == 125).then(|| {
            // what failed once does not now, as when its storage was locked
            blame(if said.line.is_empty() { "no container was started" } else { &said.line })
        }),
        Err(RuntimeError::Refused { why, .. }) => Some(blame(&why)),
        Err(other) => Some(blame(&other.to_string())),
    }
}

/// The client's words up to the image, with another program. It keeps its labels, by which whatever is left would be removed.
fn rehearsed(argv: &[String]) -> Option<Vec<String>> {
    const ENTRY: &str = "--entrypoint=";
    let entry = argv.iter().position(|word| word.starts_with(ENTRY))?;
    let options = argv.get(1..entry)?.iter().filter(|word| !word.starts_with("--name=")).cloned();
    let last = [format!("{ENTRY}{NO_PROGRAM}"), argv.get(entry + 1)?.clone()];
    Some(options.chain(last).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::super::container::Runtime;
    use super::*;

    fn judged(script: &str, exit: Exit) -> Option<String> {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("podman");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let runtime = Runtime { program, env: vec![("PATH".into(), "/usr/bin:/bin".into())] };
        let container = Container { runtime, nonce: "n".into() };
        let argv = ["podman", "run", "--name=n", "--label=a=b", "--entrypoint=vllm", "image:1", "serve"];
        let argv: Vec<String> = argv.iter().map(ToString::to_string).collect();
        let said = Failure::new("no access", "Error: permission denied");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime
            .block_on(by_runtime(&container, &argv, exit, &said))
            .map(|f| format!("{}: {}", f.class, f.line))
    }

    #[test]
    fn a_runtime_that_misses_the_program_works() {
        let podman = "echo \"Error: runc: exec: $4: stat $4: no such file or directory\" >&2; exit 127";
        let works = podman.replace("$4", "${3#--entrypoint=}");
        assert_eq!(judged(&works, Exit::Code(126)), None);
        assert_eq!(judged(&works, Exit::Code(127)), None);
        let docker =
            format!("{}; exit 127", works.replace("; exit 127", "; echo \"See 'docker run --help'.\" >&2"));
        assert_eq!(judged(&docker, Exit::Code(127)), None);
        let once = "container not started: podman cannot start a container: Error: permission denied";
        assert_eq!(judged(&works, Exit::Code(125)).as_deref(), Some(once));
    }

    #[test]
    fn a_runtime_that_fails_again_is_to_blame() {
        let broken = "echo 'Error: runc create failed: error setting rlimits' >&2; exit 126";
        let why = "container not started: podman cannot start a container: Error: runc create failed: error setting rlimits";
        for code in 125..=127 {
            assert_eq!(judged(broken, Exit::Code(code)).as_deref(), Some(why));
        }
        assert_eq!(judged(broken, Exit::Code(1)), None);
        assert_eq!(judged(broken, Exit::Signal(9)), None);
    }
}
