//! `perflab bench` over TLS, against a real server of Python's `ssl` with certificates that are made here.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::support::{Lab, Output, project, skip};

/// Streams of as many tokens as asked for, over TLS, until it is killed.
struct Server {
    process: Child,
    url: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// An authority, and a server's certificate by it for 127.0.0.1. False if this machine cannot make them.
pub fn certificates(lab: &Lab) -> bool {
    lab.write("server.ext", "subjectAltName = IP:127.0.0.1\nbasicConstraints = CA:FALSE\n");
    let authority = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=perflab-test \
                     -keyout ca.key -out ca.pem";
    let request = "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=127.0.0.1 -keyout server.key -out server.csr";
    let signed = "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile server.ext -out server.pem";
    [authority, request, signed].iter().all(|words| {
        let mut command = Command::new("openssl");
        let made = command.args(words.split_whitespace()).current_dir(lab.path(".")).output();
        made.is_ok_and(|made| made.status.success())
    })
}

fn start(lab: &Lab) -> Option<Server> {
    start_with(lab, ["server.pem", "server.key"])
}

/// With this certificate and its key.
fn start_with(lab: &Lab, shown: [&str; 2]) -> Option<Server> {
    let script = project().join("tests/tls_server.py");
    let mut command = Command::new("python3");
    command.arg(script).args(shown).current_dir(lab.path("."));
    let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let mut line = String::new();
    BufReader::new(process.stdout.take()?).read_line(&mut line).ok()?;
    Some(Server { process, url: format!("https://127.0.0.1:{}", line.trim()) })
}

fn bench(lab: &Lab, url: &str, trusted: Option<&str>, more: &[&str]) -> Output {
    let sizes = ["--num-prompts", "40", "--random-input-len", "20000", "--random-output-len", "30"];
    let args = [&["bench", url, "--model", "m", "--max-concurrency", "8"], &sizes[..], more].concat();
    let mut command = lab.command(&args);
    command.env_remove("SSL_CERT_DIR").env_remove("SSL_CERT_FILE");
    if let Some(file) = trusted {
        command.env("SSL_CERT_FILE", lab.path(file));
    }
    lab.start_command(command).wait()
}

#[test]
fn a_server_with_tls_is_measured_once_its_authority_is_trusted() {
    let lab = Lab::new();
    let server = if certificates(&lab) { start(&lab) } else { None };
    let Some(server) = server else { return skip("tls", "no openssl or no python3 with ssl") };
    for more in [&["--json", "own.json"][..], &["--json", "own.json", "--no-stream"]] {
        let output = bench(&lab, &server.url, Some("ca.pem"), more);
        output.expect_code(0);
        let own: Value = serde_json::from_str(&lab.read("own.json")).expect("JSON");
        assert_eq!(own["requests"]["completed"], 40, "{own}");
        assert_eq!(own["output_tokens"], 40 * 30, "{own}");
        // the server counts the words of what it was sent: bodies of 100 kB come whole
        assert_eq!(own["input_tokens"], 40 * 20000, "{own}");
        assert!(own["server"]["preemptions"].as_f64() >= Some(1.0), "its page of metrics is read too: {own}");
    }
    let untrusted = bench(&lab, &server.url, None, &[]).expect_code(3);
    for words in ["connect: ", "certificate", "SSL_CERT_FILE"] {
        assert!(untrusted.stderr.contains(words), "{}", untrusted.stderr);
    }
}

/// `openssl req -x509` makes an authority's certificate, and people let a server show it.
#[test]
fn a_certificate_that_a_server_made_itself_is_trusted_where_it_stands_in_the_file() {
    let lab = Lab::new();
    let made = |name: &str, of: &str| {
        let words = format!(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=perflab-test \
             -addext basicConstraints=critical,CA:TRUE -addext subjectAltName={of} -keyout {name}.key -out {name}.pem"
        );
        let made = Command::new("openssl").args(words.split_whitespace()).current_dir(lab.path(".")).output();
        made.is_ok_and(|made| made.status.success())
    };
    let all =
        made("own", "IP:127.0.0.1") && made("other", "IP:127.0.0.1") && made("named", "DNS:example.org");
    let server = if all { start_with(&lab, ["own.pem", "own.key"]) } else { None };
    let Some(server) = server else { return skip("tls", "no openssl or no python3 with ssl") };
    let few = ["--num-prompts", "4", "--random-input-len", "8", "--json", "own.json"];
    let own = || serde_json::from_str::<Value>(&lab.read("own.json")).expect("JSON");
    bench(&lab, &server.url, Some("own.pem"), &few).expect_code(0);
    assert!(own()["server"]["preemptions"].is_number(), "its page of metrics is read too: {}", own());
    let unknown = bench(&lab, &server.url, Some("other.pem"), &few).expect_code(3);
    assert!(unknown.stderr.contains("certificate not trusted"), "{}", unknown.stderr);
    // nothing is checked where nothing is to be
    let unchecked = bench(&lab, &server.url, None, &[&few[..], &["--insecure"]].concat()).expect_code(0);
    assert!(
        unchecked.stderr.contains("note: the server's certificate was not checked"),
        "{}",
        unchecked.stderr
    );
    let found = own()["findings"].as_array().cloned().expect("a list");
    assert!(found.iter().any(|f| f["finding"] == "certificate_unchecked"), "{found:?}");
    assert!(own()["server"]["preemptions"].is_number(), "its page of metrics is read too: {}", own());
    let Some(named) = start_with(&lab, ["named.pem", "named.key"]) else { return skip("tls", "no python3") };
    let other_name = bench(&lab, &named.url, Some("named.pem"), &few).expect_code(3);
    assert!(other_name.stderr.contains("certificate of another name"), "{}", other_name.stderr);
}

#[test]
fn a_server_without_tls_is_told_from_one_that_is_not_trusted() {
    let lab = Lab::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("https://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for mut socket in listener.incoming().map_while(Result::ok) {
            let _ = std::io::Write::write_all(&mut socket, b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let output = bench(&lab, &url, None, &[]).expect_code(3);
    assert!(
        output.stderr.contains("an address of a server without TLS begins with http://"),
        "{}",
        output.stderr
    );
}

/// A server without TLS, as a wrong `https://` leads to, may say nothing for ever.
#[test]
fn a_handshake_that_is_never_answered_ends_by_itself_and_at_a_signal() {
    let (lab, deaf) = (Lab::new(), std::net::TcpListener::bind("127.0.0.1:0").expect("a port"));
    let url = format!("https://{}", deaf.local_addr().expect("an address"));
    let start = || {
        let mut command =
            lab.command(&["bench", &url, "--model", "m", "--num-prompts", "2", "--max-concurrency", "2"]);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts")
    };
    let (left_alone, told) = (start(), start());
    std::thread::sleep(std::time::Duration::from_secs(2));
    let pid = nix::unistd::Pid::from_raw(i32::try_from(told.id()).expect("a pid"));
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).expect("sent");
    let out = told.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(
        out.status.code() == Some(75) && said.contains("interrupted before a request was answered"),
        "{said}"
    );
    let out = left_alone.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.code() == Some(3) && said.contains("no TLS handshake within 10 s"), "{said}");
}
