//! Servers that run already at `https://` addresses: the simulator behind a proxy that speaks TLS, with certificates that are made here.
//! Why one cannot be spoken with is said as it is, and not as a server that is away.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use crate::running::{self, Server, free_port, kinds, serve};
use crate::support::{EXEC, Lab, Output, events, project, skip, wait_for};
use crate::tls::certificates;

const MODEL: [&str; 2] = ["--model", "Qwen/Qwen3-0.6B"];
const ALL_SAY: [&str; 2] = ["cannot be measured", "https://127.0.0.1:"];

/// What speaks TLS with this certificate before a server; none where this machine has no Python for it.
pub fn proxy(lab: &Lab, certificate: &str, behind: u16) -> Option<(Server, u16)> {
    cutting_proxy(lab, certificate, behind, "")
}

/// The same; it resets the connection of a client whose words begin so.
fn cutting_proxy(lab: &Lab, certificate: &str, behind: u16, cut: &str) -> Option<(Server, u16)> {
    let mut command = Command::new("python3");
    command.arg(project().join("tests/tls_proxy.py"));
    command.args([certificate, "server.key", &behind.to_string(), cut]);
    command.current_dir(lab.path(".")).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = Server(command.spawn().ok()?);
    let mut line = String::new();
    BufReader::new(server.0.stdout.take()?).read_line(&mut line).ok()?;
    let port = line.trim().parse().ok()?;
    Some((server, port))
}

/// A certificate by the authority of `certificates` for another name, or for a time that is over.
fn certificate(lab: &Lab, named: &str, (from, until): (&str, &str), to: &str) {
    let settings = "[ca]\ndefault_ca = d\n[d]\ndatabase = index\nserial = number\nnew_certs_dir = .\ndefault_md = sha256\npolicy = p\n\
                    unique_subject = no\n[p]\ncommonName = supplied\n";
    lab.write("ca.cnf", settings);
    lab.write("index", "");
    lab.write("number", "01\n");
    lab.write("more.ext", format!("subjectAltName = {named}\nbasicConstraints = CA:FALSE\n"));
    let words = format!(
        "ca -batch -notext -config ca.cnf -cert ca.pem -keyfile ca.key -in server.csr -extfile more.ext -out {to} -startdate {from} \
         -enddate {until}"
    );
    let made = Command::new("openssl").args(words.split_whitespace()).current_dir(lab.path(".")).output();
    let made = made.expect("openssl made certificates before");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// A study of a server at an address, with whom it trusts.
fn exec(lab: &Lab, address: &str, trusted: Option<&str>) -> Output {
    lab.write("site.plab", format!("site lab {{ engine there via url \"{address}\" }}\n"));
    let mut command = lab.command(&EXEC);
    command.env_remove("SSL_CERT_DIR").env_remove("SSL_CERT_FILE");
    if let Some(file) = trusted {
        command.env("SSL_CERT_FILE", lab.path(file));
    }
    lab.start_command(command).wait()
}

#[track_caller]
fn refused(output: Output, words: &[&str]) {
    refused_with(1, output, words);
}

#[track_caller]
fn refused_with(code: i32, output: Output, words: &[&str]) {
    let output = output.expect_code(code);
    for word in ALL_SAY.iter().chain(words) {
        assert!(output.stderr.contains(word), "`{word}` is missing in {}", output.stderr);
    }
    assert!(!output.stderr.contains("nobody listens"), "{}", output.stderr);
}

#[test]
fn a_certificate_that_is_not_trusted_is_no_server_that_is_away() {
    let (lab, behind) = running::lab(8, "");
    let _simulator = serve(behind, &MODEL);
    let front = if certificates(&lab) { proxy(&lab, "server.pem", behind) } else { None };
    let Some((_front, port)) = front else { return skip("running_tls", "no openssl or no python3 with ssl") };
    let address = format!("https://127.0.0.1:{port}");
    let advice = "SSL_CERT_FILE names a file";
    refused(exec(&lab, &address, None), &["certificate not trusted", "the system trusts", advice]);
    // those of a file are trusted instead of the system's: the message says whose they were
    lab.write("none.pem", "");
    let unread = ["certificate not trusted", "no certificate could be read", "none.pem"];
    refused(exec(&lab, &address, Some("none.pem")), &unread);
    let missing = exec(&lab, &address, Some("missing.pem"));
    refused(
        missing,
        &[unread[0], "SSL_CERT_FILE names ", "missing.pem, and there is no such file", "unset it"],
    );
    // an authority of the same name with another key
    let other = Lab::new();
    assert!(certificates(&other));
    lab.write("other.pem", other.read("ca.pem"));
    refused(exec(&lab, &address, Some("other.pem")), &["certificate not trusted", "other.pem"]);
    assert!(!lab.path("state/journal.jsonl").exists() || kinds(&lab, "launch") == 0);
    let report = exec(&lab, &address, Some("ca.pem")).expect_code(0).report();
    let outcome = &report.trial(report.0["baseline"].as_str().expect("an id"))["outcome"];
    // what a busy machine does to the client is no matter here
    assert!(outcome == "ok" || outcome == "flagged", "{outcome}");
    // what was measured there does not count where it is not trusted, and why is said
    let again = exec(&lab, &address, None).expect_code(1);
    for word in ["certificate not trusted", "does not count until"] {
        assert!(again.stderr.contains(word), "`{word}` is missing in {}", again.stderr);
    }
}

#[test]
fn a_certificate_of_another_name_or_time_is_told_as_such() {
    let (lab, behind) = running::lab(8, "");
    let _simulator = serve(behind, &MODEL);
    if !certificates(&lab) {
        return skip("running_tls", "no openssl");
    }
    let for_long = ("20200101000000Z", "20990101000000Z");
    certificate(&lab, "DNS:gpu.example,IP:127.0.0.9", for_long, "name.pem");
    certificate(&lab, "IP:127.0.0.1", ("20200101000000Z", "20200102000000Z"), "old.pem");
    certificate(&lab, "IP:127.0.0.1", ("20980101000000Z", "20990101000000Z"), "new.pem");
    for (file, words) in [
        ("name.pem", ["certificate of another name", "gpu.example", "127.0.0.9"]),
        ("old.pem", ["certificate not valid now", "2020-01-02", "clock"]),
        ("new.pem", ["certificate not valid now", "2098-01-01", "clock"]),
        // what signs others is taken for no server's
        ("self.pem", ["certificate not trusted", "an authority's own", "CA:FALSE"]),
    ] {
        if file == "self.pem" {
            let words = "req -x509 -key server.key -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 -out self.pem";
            let made = Command::new("openssl").args(words.split(' ')).current_dir(lab.path(".")).output();
            assert!(made.is_ok_and(|made| made.status.success()));
        }
        let Some((_front, port)) = proxy(&lab, file, behind) else {
            return skip("running_tls", "no python3 with ssl");
        };
        let trusted = if file == "self.pem" { file } else { "ca.pem" };
        refused(exec(&lab, &format!("https://127.0.0.1:{port}"), Some(trusted)), &words);
    }
}

/// Who stands before a server: reads the first word of so many clients, then ends the connection, and lets all others through.
struct Porter {
    port: u16,
    /// clients that are still turned away
    turns: Arc<AtomicU32>,
    /// both ends of connections that were let through
    through: Arc<Mutex<Vec<TcpStream>>>,
}

impl Porter {
    fn before(behind: u16, turned_away: u32, in_order: bool) -> Self {
        let door = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = door.local_addr().expect("an address").port();
        let (turns, through) =
            (Arc::new(AtomicU32::new(turned_away)), Arc::<Mutex<Vec<TcpStream>>>::default());
        let (left, kept) = (turns.clone(), through.clone());
        std::thread::spawn(move || {
            for client in door.incoming().flatten() {
                if left.fetch_update(SeqCst, SeqCst, |n| n.checked_sub(1)).is_ok() {
                    std::thread::spawn(move || turn_away(client, in_order));
                } else if let Ok(server) = TcpStream::connect(("127.0.0.1", behind)) {
                    for (mut from, mut to) in [(&client, &server), (&server, &client)].map(own) {
                        std::thread::spawn(move || {
                            let _ = std::io::copy(&mut from, &mut to);
                            let _ = to.shutdown(Shutdown::Write);
                        });
                    }
                    kept.lock().expect("no panic").extend([client, server]);
                }
            }
        });
        Self { port, turns, through }
    }

    fn address(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// From now on nobody is let through, and who was has to leave.
    fn close(&self) {
        self.turns.store(u32::MAX, SeqCst);
        for end in self.through.lock().expect("no panic").drain(..) {
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

fn own((from, to): (&TcpStream, &TcpStream)) -> (TcpStream, TcpStream) {
    (from.try_clone().expect("a descriptor"), to.try_clone().expect("a descriptor"))
}

/// Reads what a client says first, and closes the connection in order, or resets it.
fn turn_away(mut client: TcpStream, in_order: bool) {
    let _ = client.read(&mut [0; 16 << 10]);
    if !in_order {
        let at_once = nix::libc::linger { l_onoff: 1, l_linger: 0 };
        nix::sys::socket::setsockopt(&client, nix::sys::socket::sockopt::Linger, &at_once)
            .expect("an option");
    }
}

#[test]
fn a_handshake_that_is_broken_off_is_tried_again() {
    let (lab, behind) = running::lab(8, "");
    let _simulator = serve(behind, &MODEL);
    let front = if certificates(&lab) { proxy(&lab, "server.pem", behind) } else { None };
    let Some((_front, front)) = front else {
        return skip("running_tls", "no openssl or no python3 with ssl");
    };
    for (in_order, ended) in [(true, "was closed during"), (false, "was reset during")] {
        // one that takes a while to be ready is waited for
        let porter = Porter::before(front, 5, in_order);
        let report = exec(&lab, &porter.address(), Some("ca.pem")).expect_code(0).report();
        let outcome = &report.trial(report.0["baseline"].as_str().expect("an id"))["outcome"];
        assert!(outcome == "ok" || outcome == "flagged", "{outcome}");
        assert_eq!(porter.turns.load(SeqCst), 0);
        // and one that never is is told as what it is, not as one without TLS
        let porter = Porter::before(front, u32::MAX, in_order);
        let output = exec(&lab, &porter.address(), Some("ca.pem"));
        assert!(!output.stderr.contains("no TLS"), "{}", output.stderr);
        refused_with(75, output, &["TLS handshake broken off", ended]);
        let turned = u32::MAX - porter.turns.load(SeqCst);
        assert!(turned > 2, "it was asked {turned} times");
    }
}

#[test]
fn handshakes_that_are_broken_off_under_load_are_a_server_that_is_away() {
    let (lab, behind) = running::lab(2000, "");
    let _simulator = serve(behind, &MODEL);
    let front = if certificates(&lab) { proxy(&lab, "server.pem", behind) } else { None };
    let Some((_front, front)) = front else {
        return skip("running_tls", "no openssl or no python3 with ssl");
    };
    let porter = Porter::before(front, 0, false);
    lab.write("site.plab", format!("site lab {{ engine there via url \"{}\" }}\n", porter.address()));
    let mut command = lab.command(&[&EXEC[..], &["--events", "events.jsonl"]].concat());
    command.env_remove("SSL_CERT_DIR").env("SSL_CERT_FILE", lab.path("ca.pem"));
    let study = lab.start_command(command);
    wait_for("some requests", || {
        events(&lab).iter().any(|e| e["event"] == "load" && e["done"].as_u64().is_some_and(|done| done > 8))
    });
    porter.close();
    let out = study.wait().expect_code(75);
    for word in ["was lost", "TLS handshake broken off", "says nothing about the configuration"] {
        assert!(out.stderr.contains(word), "`{word}` is missing in {}", out.stderr);
    }
    assert_eq!((kinds(&lab, "run"), kinds(&lab, "gone"), kinds(&lab, "setback")), (0, 1, 1));
}

#[test]
fn a_connection_that_is_reset_after_its_handshake_is_told_as_such() {
    let (lab, behind) = running::lab(8, "");
    let _simulator = serve(behind, &MODEL);
    let made = certificates(&lab);
    let proxy = |cut| if made { cutting_proxy(&lab, "server.pem", behind, cut) } else { None };
    let (Some((_asked, asked)), Some((_loaded, loaded))) = (proxy("GET"), proxy("POST")) else {
        return skip("running_tls", "no openssl or no python3 with ssl");
    };
    let words = ["TLS connection broken off", "was reset after the TLS handshake"];
    let output = exec(&lab, &format!("https://127.0.0.1:{asked}"), Some("ca.pem"));
    assert!(!output.stderr.contains("something else than HTTP"), "{}", output.stderr);
    refused_with(75, output, &words);
    let output = exec(&lab, &format!("https://127.0.0.1:{loaded}"), Some("ca.pem"));
    let told = output.stdout.clone() + &output.stderr;
    for word in words.iter().chain(&["8 of 8 requests failed"]) {
        assert!(told.contains(word), "`{word}` is missing in {told}");
    }
}

#[test]
fn a_server_with_another_scheme_than_its_address_is_told_as_such() {
    let (lab, behind) = running::lab(8, "");
    let _simulator = serve(behind, &MODEL);
    let words = ["no TLS", "begins with http://"];
    refused(exec(&lab, &format!("https://127.0.0.1:{behind}"), None), &words);
    // somebody who hangs up at the first word
    let closes = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = closes.local_addr().expect("an address").port();
    std::thread::spawn(move || closes.incoming().for_each(drop));
    let broken_off = ["TLS handshake broken off", "during the TLS handshake", "begins with http://"];
    refused_with(75, exec(&lab, &format!("https://127.0.0.1:{port}"), None), &broken_off);
    // nobody at all is still nobody
    let away = exec(&lab, &format!("https://127.0.0.1:{}", free_port()), None).expect_code(75);
    assert!(away.stderr.contains("nobody listens there"), "{}", away.stderr);
    if !certificates(&lab) {
        return skip("running_tls", "no openssl");
    }
    let Some((_front, port)) = proxy(&lab, "server.pem", behind) else {
        return skip("running_tls", "no python3 with ssl");
    };
    // whoever ends a connection without a word may as well be a tunnel to a server that is away
    let plain = exec(&lab, &format!("http://127.0.0.1:{port}"), None).expect_code(75);
    for word in ["closed the connection", "https://"] {
        assert!(plain.stderr.contains(word), "`{word}` is missing in {}", plain.stderr);
    }
}
