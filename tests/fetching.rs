//! Images that never come: whoever stops waiting for one gets a clean end, and nothing goes on fetching.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;
use std::thread;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{EXEC, Lab, Running, wait_for};

const STUDY: &str = r#"
use std/engines { sim }
engine small "Small" = sim { --max-model-len=4Ki }
profile quick "Quick" {
    data        random
    input       16
    output      8
    concurrency 4
    requests    8
}
axis seqs = --max-num-seqs=[1, 2]
study s "S" {
    model    "Qwen/Qwen3-0.6B"
    baseline small
    maximize total_tps on quick
    repeat   1
    step seqs { vary seqs }
}
"#;

/// A registry that takes connections and never answers; its address, as it stands in an image's name.
fn silent_registry() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    thread::spawn(move || listener.incoming().flatten().collect::<Vec<_>>());
    address
}

/// A study whose image is to be fetched from there.
fn lab(registry: &str) -> Lab {
    let lab = Lab::with(STUDY);
    lab.write("site.plab", format!("site lab {{ engine sim via podman \"{registry}/nobody/nothing:1\" }}\n"));
    lab
}

/// podman with a storage of its own; `None`, said aloud, where it is not installed.
fn real(registry: &str) -> Option<(Lab, Command)> {
    if Command::new("podman").arg("--version").output().is_err() {
        let said = b"SKIPPED fetching: podman is not installed\n";
        let _ = std::io::Write::write_all(&mut std::io::stderr(), said);
        return None;
    }
    let lab = lab(registry);
    let dir = |name: &str| lab.path(name).to_string_lossy().into_owned();
    let storage = format!(
        "[storage]\ndriver = \"vfs\"\ngraphroot = \"{}\"\nrunroot = \"{}\"\n",
        dir("graph"),
        dir("run")
    );
    lab.write("storage.conf", storage);
    lab.write("containers.conf", "[engine]\nevents_logger = \"file\"\n");
    let mut command = lab.command(&EXEC);
    command.env("CONTAINERS_CONF", lab.path("containers.conf"));
    command.env("CONTAINERS_STORAGE_CONF", lab.path("storage.conf"));
    Some((lab, command))
}

/// A client that has no image, starts a helper to fetch it, and listens to nobody.
fn stubborn(registry: &str) -> (Lab, Command) {
    let lab = lab(registry);
    let script = "#!/bin/sh\ncase $1 in\nimage) echo \"Error: $5: image not known\" >&2; exit 125;;\n\
                  pull) trap '' TERM INT HUP; sh -c 'trap \"\" TERM; sleep 600; :' \"$3\"; sleep 600;;\nesac\n";
    fs::create_dir(lab.path("bin")).expect("a directory");
    let program = lab.write("bin/podman", script);
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("executable");
    let path = format!("{}:/usr/bin:/bin", lab.path("bin").display());
    let mut command = lab.command(&EXEC);
    command.env("PATH", path);
    (lab, command)
}

/// A client that has no image, and says why none can be fetched; how often it was asked stands in `pulls`.
fn refusing(image: &str, says: &str) -> (Lab, Command) {
    let lab = Lab::with(STUDY);
    lab.write("site.plab", format!("site lab {{ engine sim via podman \"{image}\" }}\n"));
    let pulls = lab.path("pulls");
    let script = format!(
        "#!/bin/sh\ncase $1 in\nimage) echo \"Error: $5: image not known\" >&2; exit 125;;\n\
         pull) echo x >> '{}'; echo 'Error: {says}' >&2; exit 125;;\nesac\n",
        pulls.display()
    );
    fs::create_dir(lab.path("bin")).expect("a directory");
    let program = lab.write("bin/podman", script);
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("executable");
    let mut command = lab.command(&EXEC);
    command.env("PATH", format!("{}:/usr/bin:/bin", lab.path("bin").display()));
    (lab, command)
}

#[test]
fn a_registry_that_cannot_be_reached_is_no_mistake_of_the_study() {
    let image = "registry.example.com/a/b:1";
    let says = "initializing source docker://registry.example.com/a/b:1: pinging container registry: dial tcp: connect: connection refused";
    let (lab, command) = refusing(image, says);
    let out = lab.start_command(command).wait();
    let words = [
        "the image registry.example.com/a/b:1 is not on this machine, and its registry cannot be reached",
        "connection refused",
        "the same command goes on",
    ];
    let out = out.expect_error(75, &words);
    assert_eq!(lab.read("pulls").lines().count(), 3, "asked again twice");
    assert_eq!(out.stderr.matches("fetched again in").count(), 2, "{}", out.stderr);
    assert!(!lab.path("state").exists(), "nothing was begun");
}

#[test]
fn an_image_that_is_nowhere_is_a_mistake_and_is_asked_for_once() {
    for (image, says) in [
        ("registry.example.com/a/b:1", "reading manifest 1 in registry.example.com/a/b: manifest unknown"),
        // what was to be built here is at no registry
        (
            "localhost/a:1",
            "pinging container registry localhost: dial tcp [::1]:443: connect: connection refused",
        ),
    ] {
        let (lab, command) = refusing(image, says);
        let out = lab.start_command(command).wait();
        out.expect_error(1, &[image, says, "see that the name of the image is right"]);
        assert_eq!(lab.read("pulls").lines().count(), 1);
    }
}

/// Processes whose arguments name the registry.
fn fetching(registry: &str) -> Vec<i32> {
    let pids = fs::read_dir("/proc").expect("/proc").flatten();
    let pids = pids.filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
    let names_it = |pid: &i32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains(registry)
    };
    pids.filter(names_it).collect()
}

/// Waits for the fetching, and sends perflab a signal.
fn signalled(running: &Running, registry: &str, signal: Signal) {
    wait_for("an image to be fetched", || {
        running.stderr().contains("fetching image") && !fetching(registry).is_empty()
    });
    kill(Pid::from_raw(running.child.id() as i32), signal).expect("it lives");
}

#[track_caller]
fn ends_in_order(lab: &Lab, command: Command, registry: &str, signal: Signal) {
    let running = lab.start_command(command);
    signalled(&running, registry, signal);
    let out = running.wait();
    out.expect_error(75, &["interrupted while an image was fetched", "the same command fetches it again"]);
    assert_eq!(fetching(registry), [0_i32; 0], "something goes on fetching");
    assert!(!lab.path("state").exists(), "nothing was begun");
}

#[test]
fn a_signal_ends_a_fetching_that_goes_on_for_ever() {
    let registry = silent_registry();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let Some((lab, command)) = real(&registry) else { return };
        ends_in_order(&lab, command, &registry, signal);
    }
}

#[test]
fn a_client_that_does_not_listen_is_killed_with_its_helpers() {
    let registry = silent_registry();
    let (lab, command) = stubborn(&registry);
    ends_in_order(&lab, command, &registry, Signal::SIGINT);
}

#[test]
fn nothing_goes_on_fetching_for_a_perflab_that_was_killed() {
    let registry = silent_registry();
    let Some((lab, command)) = real(&registry) else { return };
    let mut running = lab.start_command(command);
    signalled(&running, &registry, Signal::SIGKILL);
    let status = running.child.wait().expect("a status");
    assert_eq!(status.signal(), Some(Signal::SIGKILL as i32));
    wait_for("the client's end", || fetching(&registry).is_empty());
}
