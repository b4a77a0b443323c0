//! What this test binary does when a test starts it again as another process: an engine, one of its
//! children, or a perflab that is to be killed. No tool is needed that a machine may lack.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

use super::workshop;

/// The variable that says which role to play.
pub const ROLE: &str = "PLAB_TEST_ROLE";
/// Where to note process numbers, one a line.
pub const NOTES: &str = "PLAB_TEST_NOTES";
pub const PORT: &str = "PLAB_TEST_PORT";
/// How many daemons to leave behind.
pub const COUNT: &str = "PLAB_TEST_COUNT";

#[test]
#[ignore = "a process that other tests start"]
fn role() {
    // run by hand, with all that are ignored, it has nothing to play
    let Ok(role) = std::env::var(ROLE) else { return };
    match role.as_str() {
        "server" => serve(&TcpListener::bind(("127.0.0.1", port())).unwrap()),
        "sharing server" => serve(&sharing_listener(port())),
        "server that loads" => {
            serve_with(&TcpListener::bind(("127.0.0.1", port())).unwrap(), "503 Service Unavailable");
        }
        "tree" => tree(),
        "parent of a daemon" => {
            nix::unistd::setsid().unwrap();
            orphan();
        }
        "daemon" => {
            nix::unistd::setsid().unwrap();
            sleep();
        }
        "child" => sleep(),
        "perflab" => workshop::perflab_to_be_killed(),
        other => panic!("no role {other}"),
    }
}

/// The command line that plays a role; the role itself is in the environment.
pub fn command_line() -> Vec<String> {
    let program = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    let test = format!("{}::role", module_path!().split_once("::").unwrap().1);
    [&program, "--ignored", "--exact", &test, "--nocapture", "--test-threads=1"].map(Into::into).to_vec()
}

/// A listener on a port that others may listen on too.
pub fn sharing_listener(port: u16) -> TcpListener {
    workshop::runtime().block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.set_reuseport(true).unwrap();
        socket.bind(([127, 0, 0, 1], port).into()).unwrap();
        let listener = socket.listen(16).unwrap().into_std().unwrap();
        listener.set_nonblocking(false).unwrap();
        listener
    })
}

/// Answers every request with 200, for ever.
pub fn serve(listener: &TcpListener) {
    serve_with(listener, "200 OK");
}

fn serve_with(listener: &TcpListener, status: &str) {
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else { continue };
        let _ = stream.read(&mut [0; 4096]);
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        let _ = stream.write_all(answer.as_bytes());
    }
}

/// A server with children of all kinds: one of its own group, and daemons that left group, session and parent.
fn tree() {
    std::fs::write(variable(NOTES) + ".scratch", variable("TMPDIR")).unwrap();
    note(std::process::id());
    let mut child = again("child");
    for _ in 0..variable(COUNT).parse().unwrap() {
        again("parent of a daemon").wait().unwrap();
    }
    serve(&TcpListener::bind(("127.0.0.1", port())).unwrap());
    child.wait().unwrap();
}

#[expect(clippy::zombie_processes, reason = "that is what it is for: the child outlives this process")]
fn orphan() {
    again("daemon");
}

fn again(role: &str) -> std::process::Child {
    let line = command_line();
    Command::new(&line[0]).args(&line[1..]).env(ROLE, role).spawn().unwrap()
}

fn note(pid: u32) {
    let mut notes = std::fs::File::options().append(true).create(true).open(variable(NOTES)).unwrap();
    notes.write_all(format!("{pid}\n").as_bytes()).unwrap();
}

fn sleep() {
    note(std::process::id());
    loop {
        std::thread::sleep(Duration::from_secs(1000));
    }
}

fn port() -> u16 {
    variable(PORT).parse().unwrap()
}

pub fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}
