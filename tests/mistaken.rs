//! What is not what it should be: another study's directory, pipes and devices in the place of files, a guard that was stopped, a server
//! that takes connections and says nothing. Each is said in words, with its status, and soon.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};

use crate::signals::endless;
use crate::support::{EXEC, Lab, Output, events, live_study, parent, runs, wait_for};

const STEP: &str = "step one { vary seqs[1] }";
/// Puts something in the place of a file.
type Make = fn(&Path);
/// Whoever waits for what never comes waits longer.
const SOON: Duration = Duration::from_secs(40);

fn soon(lab: &Lab, args: &[&str]) -> Output {
    lab.start(args).wait_at_most(SOON)
}

#[test]
fn two_studies_of_one_name_do_not_share_a_directory() {
    let lab = Lab::with(&live_study(STEP));
    lab.run(&["exec", "study.plab", "--checks", "warn"]).expect_code(0);
    lab.write("other.plab", lab.read("study.plab").replace("requests    8", "requests    9"));
    let before = lab.read(".perflab/s/journal.jsonl");
    let words = [".perflab/s", "of the study `s` in study.plab", "--dir"];
    soon(&lab, &["exec", "other.plab", "--checks", "warn"]).expect_error(1, &words);
    assert_eq!(lab.read(".perflab/s/journal.jsonl"), before);
    let plan = lab.run(&["plan", "other.plab"]).expect_code(0);
    assert!(plan.stderr.contains("is of the study `s` in study.plab"), "{}", plan.stderr);
    let report = lab.run(&["report", "other.plab"]).expect_code(0);
    assert!(report.stderr.contains("is of the study `s` in study.plab"), "{}", report.stderr);
    // who says where it lies knows it, and a file that was renamed is the same study
    lab.run(&["exec", "other.plab", "--checks", "warn", "--dir", ".perflab/s"]).expect_code(0);
    fs::remove_file(lab.path("other.plab")).expect("removed");
    lab.run(&["exec", "study.plab", "--checks", "warn"]).expect_code(0);
}

#[test]
fn pipes_devices_and_directories_are_no_journals() {
    let lab = Lab::with(&live_study(STEP));
    let state = |name: &str| lab.path("state").join(name);
    let make: [(&str, Make); 3] = [
        ("it is a named pipe, and no file", |path| mkfifo(path, Mode::S_IRWXU).expect("a pipe")),
        ("directory", |path| fs::create_dir(path).expect("a folder")),
        ("it is a device, and no file", |path| {
            std::os::unix::fs::symlink("/dev/zero", path).expect("a link");
        }),
    ];
    for (what, make) in make {
        for file in ["journal.jsonl", "lock"] {
            fs::create_dir_all(lab.path("state")).expect("a folder");
            make(&state(file));
            soon(&lab, &EXEC).expect_error(1, &["state", what]);
            if file == "journal.jsonl" {
                for command in ["plan", "report", "watch"] {
                    soon(&lab, &[command, "study.plab", "--dir", "state"]).expect_error(1, &["state", what]);
                }
            }
            fs::remove_dir_all(lab.path("state")).expect("removed");
        }
    }
}

/// A pipe for events, held open by a reader that does not read, with that much in it already.
fn pipe(lab: &Lab, full: bool) -> fs::File {
    mkfifo(&lab.path("events"), Mode::S_IRWXU).expect("a pipe");
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).custom_flags(nix::libc::O_NONBLOCK);
    let mut held = options.open(lab.path("events")).expect("opens");
    while full && held.write(b"x").is_ok() {}
    held
}

#[test]
fn a_pipe_for_events_that_nobody_reads_holds_nothing_up() {
    let exec = [&EXEC[..], &["--events", "events"]].concat();
    let lab = Lab::with(&live_study(STEP));
    mkfifo(&lab.path("events"), Mode::S_IRWXU).expect("a pipe");
    soon(&lab, &exec).expect_code(0);
    let lab = Lab::with(&live_study(STEP));
    let _held = pipe(&lab, true);
    soon(&lab, &exec).expect_code(0);
}

#[test]
fn a_pipe_for_events_that_is_read_gets_all_of_them() {
    let lab = Lab::with(&live_study(STEP));
    let mut held = pipe(&lab, false);
    soon(&lab, &[&EXEC[..], &["--events", "events"]].concat()).expect_code(0);
    let mut text = Vec::new();
    // the end is that there is no more: whoever holds the pipe keeps it open
    assert!(held.read_to_end(&mut text).is_err());
    let lines: Vec<serde_json::Value> =
        text.split_inclusive(|b| *b == b'\n').map(|l| serde_json::from_slice(l).expect("JSON")).collect();
    let numbers: Vec<u64> = lines.iter().filter_map(|l| l["seq"].as_u64()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    assert_eq!(lines.last().map(|l| l["event"].clone()), Some("ends".into()), "{lines:?}");
}

/// As `head` leaves one: what is written on fills no pipe, and is told of once.
#[test]
fn a_reader_of_events_that_leaves_is_told_of_and_holds_nothing_up() {
    let lab = Lab::with(&live_study(STEP));
    mkfifo(&lab.path("events"), Mode::S_IRWXU).expect("a pipe");
    let path = lab.path("events");
    let reader = std::thread::spawn(move || {
        let mut lines = BufReader::new(fs::File::open(path).expect("opens")).lines();
        lines.by_ref().take(2).map_while(Result::ok).collect::<Vec<_>>()
    });
    let out = soon(&lab, &[&EXEC[..], &["--events", "events"]].concat()).expect_code(0);
    let lines = reader.join().expect("it reads");
    assert!(lines.len() == 2 && lines[0].contains("\"seq\":1,"), "{lines:?}");
    let said = "whoever read the events has left: no more of them are written";
    assert_eq!(out.stderr.matches(said).count(), 1, "{}", out.stderr);
}

#[test]
fn a_guard_that_was_stopped_is_named_soon() {
    let lab = endless();
    let mut run = lab.start(&[&EXEC[..], &["--events", "events.jsonl"]].concat());
    wait_for("the load", || events(&lab).iter().any(|e| e["event"] == "load"));
    let perflab = run.child.id() as i32;
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let mut pids = processes.filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
    let guard = pids.find(|pid| parent(*pid) == Some(perflab) && runs(*pid, "plab-guard")).expect("a guard");
    kill(Pid::from_raw(guard), Signal::SIGSTOP).expect("it lives");
    run.child.kill().expect("it lives");
    run.child.wait().expect("it is dead");
    let began = Instant::now();
    let out = soon(&lab, &EXEC);
    let took = began.elapsed();
    kill(Pid::from_raw(guard), Signal::SIGCONT).expect("it lives");
    out.expect_error(1, &[&format!("pid {guard}, stopped"), "kill -CONT"]);
    assert!(took < SOON, "{took:?}");
    wait_for("the guard to end its engine and itself", || !runs(guard, "plab-guard"));
}

#[test]
fn a_server_that_takes_connections_and_says_nothing_is_told_from_none() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("an address").port();
    let deserted = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    for (port, said) in [(port, "did not answer within 15 s"), (deserted, "nobody listens there")] {
        let engine = "engine there \"There\" = sim { --max-num-seqs=8 }\nstudy s ";
        let lab = Lab::with(&live_study("step engines { vary engine[there] }").replace("study s ", engine));
        lab.write("site.plab", format!("site lab {{ engine there via url \"http://127.0.0.1:{port}\" }}\n"));
        let out = soon(&lab, &EXEC);
        // nobody is there to be measured: the study is not wrong, and may go on later
        out.expect_error(75, &[&format!("http://127.0.0.1:{port}"), said, "the same command continues"]);
    }
    drop(silent);
}

#[test]
fn a_temporary_directory_that_is_not_there_is_named() {
    let lab = Lab::with(&live_study(STEP));
    let mut command = lab.command(&[&EXEC[..], &["--fresh"]].concat());
    command.env("TMPDIR", lab.path("no/such"));
    let out = lab.start_command(command).wait().expect_code(75);
    assert!(!out.stderr.contains("go on without"), "nothing was measured: {}", out.stderr);
    for word in ["cannot use TMPDIR", "no/such: No such file"] {
        assert!(out.stderr.contains(word), "`{word}` is missing in {}", out.stderr);
    }
}

/// The most memory that a process has had so far, in kB.
fn peak(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|l| l.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok())
}

#[test]
fn a_list_of_models_without_an_end_is_neither_waited_for_nor_kept() {
    let lab = Lab::new();
    let script = "import http.server\nblob = b'x' * (1 << 20)\nclass H(http.server.BaseHTTPRequestHandler):\n    \
                  def log_message(self, *a): pass\n    def do_GET(self):\n        self.send_response(200); self.end_headers()\n        \
                  while self.path == '/v1/models': self.wfile.write(blob)\n\
                  s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), H)\nprint(s.server_address[1], flush=True)\ns.serve_forever()\n";
    let mut python = std::process::Command::new("python3");
    python.args(["-c", script]).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
    let mut server = crate::running::Server(python.spawn().expect("python3"));
    let mut line = String::new();
    let said = server.0.stdout.take().expect("a pipe");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(said), &mut line).expect("a port");
    let study = live_study("step one { vary engine[small] }");
    lab.write("study.plab", study);
    lab.write(
        "site.plab",
        format!("site lab {{ engine small via url \"http://127.0.0.1:{}\" }}\n", line.trim()),
    );
    let running = lab.start(&EXEC);
    let (pid, mut most) = (running.child.id(), 0);
    // until it is a zombie, which has no memory
    let began = std::time::Instant::now();
    while let Some(now) = peak(pid).filter(|_| began.elapsed() < SOON) {
        most = most.max(now);
        std::thread::sleep(Duration::from_millis(5));
    }
    let out = running.wait_at_most(SOON).expect_code(1);
    assert!(out.stderr.contains("its answer has more than 16 MiB"), "{}", out.stderr);
    assert!((1..200_000).contains(&most), "{most} kB");
}

/// A server at a port that gives everybody this answer.
fn answering(answer: &'static [u8]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let _ = socket.read(&mut [0; 4096]);
            let _ = socket.write_all(answer);
        }
    });
    port
}

#[test]
fn what_is_wrong_with_an_address_is_told_and_not_that_nobody_listens() {
    let lab = Lab::with(&live_study("step one { vary engine[small] }"));
    let elsewhere = b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n";
    let (moved, shell) = (answering(elsewhere), answering(b"SSH-2.0-OpenSSH_9.2\r\n"));
    let busy = answering(b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n");
    let none = answering(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
    for (code, address, words) in [
        (75, "http://no-such-host.invalid:8000".to_owned(), "the name of its host leads nowhere"),
        (75, format!("http://127.0.0.1:{}", answering(b"")), "closed the connection"),
        (75, format!("http://127.0.0.1:{busy}"), "answers 503, and not 200"),
        (1, format!("http://127.0.0.1:{none}"), "answers 404, and not 200"),
        (1, format!("http://127.0.0.1:{moved}"), "answers 302, and leads to http://127.0.0.1:9/"),
        (1, format!("http://127.0.0.1:{shell}"), "something else than HTTP"),
        (1, "http://127.0.0.1:99999".to_owned(), "is not the address of a server"),
        (1, "http://127.0.0.1:0".to_owned(), "is not the address of a server"),
        (1, "http://localhost:".to_owned(), "is not the address of a server"),
    ] {
        lab.write("site.plab", format!("site lab {{ engine small via url \"{address}\" }}\n"));
        let out = soon(&lab, &EXEC).expect_code(code);
        assert!(out.stderr.contains(words), "{address}: {}", out.stderr);
        assert!(!out.stderr.contains("nobody listens"), "{address}: {}", out.stderr);
    }
}
