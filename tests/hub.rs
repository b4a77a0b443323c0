//! Models of the hub, resolved and fetched before anything starts, against a hub of the test that misbehaves in every way.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sha2::{Digest, Sha256};

use crate::running_tls::proxy;
use crate::support::{EXEC, Lab, Output, binary, skip, wait_for};
use crate::tls::certificates;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
/// Where a branch stands once it was asked for.
const MOVED: &str = "fedcba9876543210fedcba9876543210fedcba98";
const SIZE: usize = 300_000;

/// An engine of the standard library's kind whose program is a script: it writes down what it got and serves with the simulated one.
const STUDY: &str = r#"
use std/engines { vllm }
engine scripted "Scripted" = vllm {
    version "0.17.1"
    serve   "sh engine.sh {model} {host} {port}"
}
profile quick "Quick" {
    data        random
    input       16
    output      8
    concurrency 4
    requests    8
    warmup      0
}
study s {
    model    "MODEL"
    baseline scripted
    maximize total_tps on quick
    repeat   1
    step seqs { vary seqs }
}
axis seqs = --max-num-seqs=[7]
"#;

fn lab(model: &str) -> Lab {
    let lab = Lab::with(&STUDY.replace("MODEL", model));
    let script = format!(
        "echo \"$1|$HF_HUB_OFFLINE|$HF_HUB_CACHE|$HF_TOKEN\" >> started\n\
         exec '{}' sim --model \"$1\" --host \"$2\" --port \"$3\"\n",
        binary()
    );
    lab.write("engine.sh", script);
    lab
}

/// A file of 300 kB that is the same each time.
fn weights() -> Vec<u8> {
    (0..SIZE).map(|i| (i * 7 % 251) as u8).collect()
}

fn sha256(bytes: &[u8]) -> String {
    let mut out = String::new();
    for byte in Sha256::digest(bytes) {
        write!(out, "{byte:02x}").expect("text");
    }
    out
}

/// git's hash of `{"a": 1}`
const CONFIG: &str = "{\"a\": 1}";

fn git_hash(text: &str) -> String {
    let mut child = Command::new("git")
        .args(["hash-object", "--stdin"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("git");
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("written");
    let out = child.wait_with_output().expect("git answers");
    String::from_utf8_lossy(&out.stdout).trim().to_owned()
}

/// A hub. What it does is told by the model's name.
struct Mock {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Mock {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (log, cuts) = (asked.clone(), Arc::new(Mutex::new(HashMap::new())));
        let config = git_hash(CONFIG);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (log, cuts, config) = (log.clone(), cuts.clone(), config.clone());
                std::thread::spawn(move || serve(stream, &log, &cuts, &config));
            }
        });
        Self { port, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("a list").clone()
    }
}

type Counts = Mutex<HashMap<String, u32>>;

fn serve(mut stream: TcpStream, log: &Mutex<Vec<String>>, cuts: &Counts, config: &str) {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).unwrap_or(0) == 0 {
            return;
        }
        request.push(byte[0]);
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    let header = |name: &str| {
        let line = request.lines().find(|l| l.to_lowercase().starts_with(&format!("{name}:")))?;
        line.split_once(':').map(|(_, v)| v.trim().to_owned())
    };
    log.lock().expect("a list").push(path.clone());
    let from =
        header("range").and_then(|r| r.strip_prefix("bytes=")?.trim_end_matches('-').parse::<usize>().ok());
    if path.contains("silent") {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{");
        // until the client has had enough
        let _ = stream.read(&mut byte);
        return;
    }
    let answer = answer(&path, header("authorization").as_deref(), from.unwrap_or(0), cuts, config);
    let _ = stream.write_all(&answer);
}

fn answer(path: &str, token: Option<&str>, from: usize, cuts: &Counts, config: &str) -> Vec<u8> {
    let plain = |status: &str, headers: &str, body: &[u8]| {
        let length = body.len();
        let head =
            format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n");
        [head.as_bytes(), body].concat()
    };
    if path.contains("gated") && token != Some("Bearer hf_good") {
        return plain("403 Forbidden", "X-Error-Code: GatedRepo\r\n", b"{}");
    }
    if path.contains("absent") {
        return plain("404 Not Found", "X-Error-Code: RepoNotFound\r\n", b"{}");
    }
    if path.contains("broken") {
        return plain("500 Internal Server Error", "", b"{}");
    }
    // overloaded twice, and then for good once it has given everything
    let asked = {
        let mut cuts = cuts.lock().expect("counts");
        let n = cuts.entry(format!("asked {path}")).or_insert(0);
        *n += 1;
        *n
    };
    if path.contains("busy") && (asked <= 2 || asked > 3) {
        let status = if asked == 1 { "429 Too Many Requests" } else { "503 Service Unavailable" };
        return plain(status, "", b"slow down");
    }
    if path.starts_with("/api/") {
        let moved = path.contains("moved") && {
            let mut cuts = cuts.lock().expect("counts");
            let n = cuts.entry("moved".to_owned()).or_insert(0);
            *n += 1;
            *n > 1
        };
        let commit = if moved { MOVED } else { COMMIT };
        let sha = if path.contains("wrong") { sha256(b"something else") } else { sha256(&weights()) };
        let size = if path.contains("huge") { 1 << 60 } else { SIZE };
        let list = format!(
            r#"{{"sha":"{commit}","siblings":[
                {{"rfilename":"config.json","size":{},"blobId":"{config}"}},
                {{"rfilename":"model.safetensors","size":{size},"blobId":"aa","lfs":{{"sha256":"{sha}","size":{size}}}}},
                {{"rfilename":"model.bin","size":5,"blobId":"bb"}}]}}"#,
            CONFIG.len()
        );
        return plain("200 OK", "", list.as_bytes());
    }
    if path.ends_with("config.json") {
        return plain("200 OK", "", CONFIG.as_bytes());
    }
    let all = weights();
    let cut = {
        let mut cuts = cuts.lock().expect("counts");
        let n = cuts.entry(path.to_owned()).or_insert(0);
        *n += 1;
        (path.contains("cut") && *n <= 2) || path.contains("dead") || path.contains("drip")
    };
    let body = &all[from.min(all.len())..];
    // a server that dies at the same byte each time gives nothing more
    let sent = if path.contains("dead") {
        &body[..(100_000usize.saturating_sub(from)).min(body.len())]
    } else if path.contains("drip") {
        &body[..100.min(body.len())]
    } else if cut {
        &body[..body.len() / 2]
    } else {
        body
    };
    let status = if from > 0 { "206 Partial Content" } else { "200 OK" };
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    [head.as_bytes(), sent].concat()
}

fn exec(lab: &Lab, hub: &Mock, variables: &[(&str, &str)]) -> Output {
    exec_with(lab, hub, variables, &[])
}

fn exec_with(lab: &Lab, hub: &Mock, variables: &[(&str, &str)], more: &[&str]) -> Output {
    lab.start_command(command(lab, hub, variables, more)).wait()
}

fn command(lab: &Lab, hub: &Mock, variables: &[(&str, &str)], more: &[&str]) -> Command {
    let mut command = lab.command(&[&EXEC[..], more].concat());
    command.env("HF_ENDPOINT", format!("http://127.0.0.1:{}/", hub.port)).env("no_proxy", "127.0.0.1");
    command
        .env("HF_HUB_CACHE", lab.path("hub"))
        .env("XDG_CACHE_HOME", lab.path("cache"))
        .env("HOME", lab.path("home"));
    for name in [
        "HF_TOKEN",
        "HF_HOME",
        "HF_HUB_OFFLINE",
        "TRANSFORMERS_OFFLINE",
        "HUGGING_FACE_HUB_TOKEN",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
    ] {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied());
    command
}

fn started(lab: &Lab) -> Vec<String> {
    fs::read_to_string(lab.path("started")).unwrap_or_default().lines().map(str::to_owned).collect()
}

fn snapshot(lab: &Lab, model: &str, file: &str) -> PathBuf {
    lab.path("hub").join(format!("models--{}/snapshots/{COMMIT}/{file}", model.replace('/', "--")))
}

/// A cache that holds a model at two commits, of which `main` is the first.
fn cached(lab: &Lab, home: &str) {
    let model = lab.path(home).join("hub/models--org--fine");
    for commit in [COMMIT, MOVED] {
        let snapshot = model.join("snapshots").join(commit);
        fs::create_dir_all(&snapshot).expect("made");
        fs::write(snapshot.join("config.json"), CONFIG).expect("written");
        fs::write(snapshot.join("model.safetensors"), "w").expect("written");
    }
    fs::create_dir_all(model.join("refs")).expect("made");
    moved(lab, home, COMMIT);
}

fn moved(lab: &Lab, home: &str, commit: &str) {
    fs::write(lab.path(home).join("hub/models--org--fine/refs/main"), commit).expect("written");
}

/// Engines load from where the site says that models lie, and that is what their results are of.
#[test]
fn models_lie_where_the_site_says() {
    let lab = lab("org/fine");
    for home in ["site", "own"] {
        cached(&lab, home);
    }
    let own = lab.path("own").display().to_string();
    for (variable, place) in [("HF_HOME", "site"), ("HF_HUB_CACHE", "site/hub")] {
        let _ = (fs::remove_dir_all(lab.path("state")), fs::remove_file(lab.path("started")));
        moved(&lab, "site", COMMIT);
        let value = lab.path(place).display().to_string();
        lab.write("site.plab", format!("site here {{ env {variable}=\"{value}\" }}\n"));
        let run = |verb: &[&str]| {
            let mut command = lab.command(verb);
            command.env_remove("HF_HUB_CACHE").env("HF_HOME", &own).env("HF_HUB_OFFLINE", "1");
            lab.start_command(command).wait()
        };
        run(&EXEC).expect_code(0);
        let cache = lab.path("site/hub").display().to_string();
        assert!(started(&lab).iter().all(|line| line.contains(&cache)), "{:?}", started(&lab));
        let plan = || run(&["plan", "study.plab", "--dir", "state"]).expect_code(0).stdout;
        moved(&lab, "own", MOVED);
        assert!(plan().contains("0 to measure"), "{}", plan());
        moved(&lab, "site", MOVED);
        let said = plan().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(&format!("was revision {COMMIT} when it was measured")), "{said}");
    }
}

/// A commit that is another while a launch lives: nobody knows which one it loaded.
#[test]
fn a_model_that_moves_under_a_launch_makes_its_result_doubtful() {
    let lab = lab("org/fine");
    cached(&lab, "own");
    let script = lab.read("engine.sh");
    // the second engine finds that somebody fetched another commit while it started
    let main = lab.path("own/hub/models--org--fine/refs/main").display().to_string();
    let moves = format!("[ $(wc -l < started) = 2 ] && printf {MOVED} > '{main}'\n");
    lab.write("engine.sh", script.replacen("exec ", &format!("{moves}exec "), 1));
    let mut command = lab.command(&EXEC);
    command.env_remove("HF_HUB_CACHE").env("HF_HOME", lab.path("own")).env("HF_HUB_OFFLINE", "1");
    let out = lab.start_command(command).wait().expect_code(0);
    let words = out.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("L002: the model org/fine changed while it was measured, its results are doubtful"),
        "{words}"
    );
    assert_eq!(out.report().0["cost"]["launches"], 4, "the baseline is measured again too");
}

#[test]
fn a_model_is_fetched_once_and_engines_run_offline() {
    let (hub, lab) = (Mock::new(), lab("org/fine"));
    let out = exec(&lab, &hub, &[]).expect_code(0);
    assert!(out.stderr.contains("fetching model org/fine: 2 files, 300.0 kB"), "{}", out.stderr);
    let (fetched, begun) =
        (out.stderr.find("fetching").expect("said"), out.stderr.find("L001").expect("said"));
    assert!(fetched < begun, "before anything starts");
    assert_eq!(fs::read(snapshot(&lab, "org/fine", "model.safetensors")).expect("fetched"), weights());
    assert_eq!(fs::read_to_string(snapshot(&lab, "org/fine", "config.json")).expect("fetched"), CONFIG);
    assert!(!snapshot(&lab, "org/fine", "model.bin").exists(), "one form of the weights is enough");
    assert_eq!(lab.read("hub/models--org--fine/refs/main"), COMMIT);
    let cache = lab.path("hub").to_string_lossy().into_owned();
    assert!(started(&lab).iter().all(|l| *l == format!("org/fine|1|{cache}|")), "{:?}", started(&lab));
    assert!(lab.read("state/journal.jsonl").contains(COMMIT));

    // nothing is fetched twice, and without a network it goes on
    let before = hub.asked().len();
    fs::remove_dir_all(lab.path("state")).expect("removed");
    let out = exec(&lab, &hub, &[]).expect_code(0);
    assert!(!out.stderr.contains("fetching") && hub.asked().len() == before + 1, "{:?}", hub.asked());
    exec(&lab, &hub, &[("HF_HUB_OFFLINE", "1")]).expect_code(0);
    assert_eq!(hub.asked().len(), before + 1);
    let out = exec(&lab, &hub, &[("HF_ENDPOINT", "http://127.0.0.1:1")]).expect_code(0);
    assert!(out.stderr.contains("the hub cannot be reached"), "{}", out.stderr);
}

#[test]
fn a_hub_that_is_overloaded_is_asked_again_and_not_needed_for_what_lies_here() {
    let (hub, lab) = (Mock::new(), lab("org/busy"));
    let out = exec(&lab, &hub, &[]).expect_code(0);
    assert!(out.stderr.contains("HTTP 429") && out.stderr.contains("HTTP 503"), "{}", out.stderr);
    assert_eq!(fs::read(snapshot(&lab, "org/busy", "model.safetensors")).expect("fetched"), weights());
    // it says 503 to everything now
    fs::remove_dir_all(lab.path("state")).expect("removed");
    let out = exec(&lab, &hub, &[]).expect_code(0);
    assert!(
        out.stderr.contains("the hub cannot be reached") && out.stderr.contains("HTTP 503"),
        "{}",
        out.stderr
    );
    assert!(lab.read("state/journal.jsonl").contains(COMMIT));
}

#[test]
fn a_branch_that_moved_is_named_where_results_are_measured_again() {
    let (hub, lab) = (Mock::new(), lab("org/moved"));
    let first = exec(&lab, &hub, &[]).expect_code(0);
    assert!(!first.stderr.contains("measured again"), "{}", first.stderr);
    let out = exec(&lab, &hub, &[]).expect_code(0);
    let why = format!("model org/moved was revision {COMMIT} when it was measured, and is {MOVED} now");
    let said = format!("2 results do not count any more and are measured again: {why}");
    assert_eq!(out.stderr.matches(&said).count(), 1, "{}", out.stderr);
    let report = out.report();
    assert!(report.0["warnings"].to_string().contains(&said), "{}", report.0["warnings"]);
    assert!(lab.read("state/report.md").contains(&why), "{}", lab.read("state/report.md"));
    // they are measured, and nothing is said any more but what this report is made of
    let third = exec(&lab, &hub, &[]).expect_code(0);
    assert!(!third.stderr.contains("measured again"), "{}", third.stderr);
    assert_eq!(third.report().0["cost"]["launches"], 4);
}

#[test]
fn what_cannot_be_had_is_said_before_anything_starts() {
    let hub = Mock::new();
    for (model, variables, code, words) in [
        ("org/gated", &[][..], 1, vec!["org/gated is gated", "accept them at http://127.0.0.1", "HF_TOKEN"]),
        ("org/absent", &[], 1, vec!["there is no model org/absent", "check the spelling"]),
        (
            "org/fine",
            &[("HF_HUB_OFFLINE", "1")],
            1,
            vec!["org/fine is not on this machine", "HF_HUB_OFFLINE"],
        ),
        ("org/fine", &[("HF_ENDPOINT", "http://127.0.0.1:1")], 75, vec!["cannot be reached", "org/fine"]),
        ("org/broken", &[], 75, vec!["HTTP 500", "org/broken"]),
        ("org/wrong", &[], 75, vec!["model.safetensors of the model org/wrong", "its hash differs"]),
        ("org/silent", &[], 75, vec!["org/silent", "it began to answer", "did not end within 20 s"]),
        ("org/dead", &[], 75, vec!["broke off at 100000 of 300000 bytes", "what has arrived is kept"]),
        ("org/huge", &[], 75, vec!["needs 1152921504.6 GB more", "HF_HUB_CACHE"]),
    ] {
        let lab = lab(model);
        exec(&lab, &hub, variables).expect_error(code, &words);
        assert!(started(&lab).is_empty() && !lab.path("state/journal.jsonl").exists(), "{model}");
        let refs = lab.path("hub").join(format!("models--{}/refs/main", model.replace('/', "--")));
        assert!(!refs.exists() && !snapshot(&lab, model, "model.safetensors").exists(), "{model}");
    }
    let hub_away = [("HF_ENDPOINT", "http://127.0.0.1:1")];
    let out = exec_with(&lab("org/fine"), &hub, &hub_away, &["--no-download"]);
    out.expect_error(1, &["cannot be reached", "not on this machine", "`--no-download` is said"]);
    for (endpoint, why) in [
        ("garbage", "neither http"),
        ("ftp://host", "neither http"),
        ("https://", "no address"),
        ("a b", "cannot be read"),
    ] {
        let out = exec(&lab("org/fine"), &hub, &[("HF_ENDPOINT", endpoint)]);
        out.expect_error(1, &["HF_ENDPOINT is", why, "https://HOST"]);
    }
    // what was wrong is gone, what broke off is kept
    let lab = lab("org/gated");
    let out = exec(&lab, &hub, &[("HF_TOKEN", "hf_good")]).expect_code(0);
    assert!(!out.stderr.contains("hf_good"));
    assert!(
        started(&lab).iter().all(|l| l.ends_with('|')),
        "the token is not the engine's: {:?}",
        started(&lab)
    );
}

#[test]
fn a_token_is_found_wherever_the_hub_s_own_tools_keep_it() {
    let hub = Mock::new();
    for (variable, file) in [
        ("HF_TOKEN_PATH", "elsewhere/my-token"),
        ("HF_HOME", "hf/token"),
        ("XDG_CACHE_HOME", "caches/huggingface/token"),
        ("HOME", "someone/.cache/huggingface/token"),
    ] {
        let lab = lab("org/gated");
        let file = lab.path(file);
        fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        fs::write(&file, "hf_good\n").expect("written");
        let place = match variable {
            "HF_TOKEN_PATH" => file.clone(),
            "HF_HOME" => lab.path("hf"),
            "XDG_CACHE_HOME" => lab.path("caches"),
            _ => lab.path("someone"),
        };
        let mut command = command(&lab, &hub, &[], &[]);
        command.env_remove("HF_TOKEN_PATH").env_remove("XDG_CACHE_HOME").env(variable, place);
        lab.start_command(command).wait().expect_code(0);
    }
}

#[test]
fn a_hub_whose_certificate_is_not_trusted_is_not_out_of_reach() {
    let (hub, lab) = (Mock::new(), lab("org/fine"));
    let front = if certificates(&lab) { proxy(&lab, "server.pem", hub.port) } else { None };
    let Some((_front, port)) = front else { return skip("hub", "no openssl or no python3 with ssl") };
    let address = format!("https://127.0.0.1:{port}");
    let ca = lab.path("ca.pem").display().to_string();
    let asked = |endpoint: &str, trusted: &[(&str, &str)]| {
        exec(&lab, &hub, &[&[("HF_ENDPOINT", endpoint)], trusted].concat())
    };
    asked(&address, &[("SSL_CERT_FILE", "/dev/null")])
        .expect_error(75, &["certificate not trusted", "no certificate could be read", "/dev/null"]);
    asked(&address, &[("SSL_CERT_FILE", "/none/ca.pem")])
        .expect_error(75, &["SSL_CERT_FILE names /none/ca.pem, and there is no such file", "unset it"]);
    asked(&address, &[]).expect_error(75, &["certificate not trusted", "SSL_CERT_FILE names a file"]);
    asked(&address, &[("SSL_CERT_FILE", &ca)]).expect_code(0);
    assert!(snapshot(&lab, "org/fine", "model.safetensors").exists());
}

#[test]
fn a_fetch_that_breaks_off_goes_on_where_it_was() {
    let (hub, lab) = (Mock::new(), lab("org/cut"));
    exec(&lab, &hub, &[]).expect_code(0);
    assert_eq!(fs::read(snapshot(&lab, "org/cut", "model.safetensors")).expect("fetched"), weights());
    let pieces = hub.asked().iter().filter(|p| p.ends_with("model.safetensors")).count();
    assert_eq!(pieces, 3);
    // a later command goes on too
    let lab = self::lab("org/fine");
    fs::create_dir_all(lab.path("hub/models--org--fine/blobs")).expect("directories");
    let part = format!("hub/models--org--fine/blobs/{}.incomplete", sha256(&weights()));
    lab.write(&part, &weights()[..250_000]);
    let out = exec(&lab, &hub, &[]).expect_code(0);
    assert!(out.stderr.contains("2 files, 50.0 kB"), "{}", out.stderr);
    assert!(!lab.path(&part).exists());
}

#[test]
fn each_time_that_a_file_is_asked_for_again_is_told_and_they_are_bounded() {
    let (hub, lab) = (Mock::new(), lab("org/drip"));
    let out = exec(&lab, &hub, &[]).expect_error(75, &["broke off at 400 of 300000 bytes"]);
    for n in 1..=3 {
        let (at, told) =
            (format!("broke off at {n}00 of 300000 bytes: "), format!("; asked again ({n} of 3)"));
        let line = |l: &str| l.contains(&at) && l.ends_with(&told);
        assert!(out.stderr.lines().any(line), "{at}…{told} is missing in {}", out.stderr);
    }
    assert_eq!(hub.asked().iter().filter(|p| p.ends_with("model.safetensors")).count(), 4);
}

#[test]
fn a_signal_ends_a_fetch_in_order() {
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let (hub, lab) = (Mock::new(), lab("org/silent"));
        let asked = || wait_for("a question", || !hub.asked().is_empty());
        let running = lab.start_command(command(&lab, &hub, &[], &["--notify", "touch told"]));
        asked();
        kill(Pid::from_raw(running.child.id() as i32), signal).expect("it lives");
        let out = running.wait();
        out.expect_error(75, &["interrupted while the model org/silent", "the same command continues"]);
        // nothing began, and nothing else was made
        assert!(!lab.path("told").exists() && !lab.path("state").exists() && started(&lab).is_empty());
    }
}

#[test]
fn a_full_disk_is_said_and_what_arrived_is_kept() {
    let (hub, lab) = (Mock::new(), lab("org/fine"));
    fs::create_dir(lab.path("hub")).expect("a directory");
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=128k", "tmpfs"]).arg(lab.path("hub")).output();
    if !mounted.is_ok_and(|o| o.status.success()) {
        return skip("a_full_disk_is_said", "a tmpfs cannot be mounted here");
    }
    let out = exec(&lab, &hub, &[]);
    let _ = Command::new("umount").arg("-l").arg(lab.path("hub")).output();
    let out = out.expect_error(75, &["the model org/fine needs 300.0 kB more", "make room"]);
    assert!(!out.stderr.contains("panicked"));
}

#[test]
fn a_directory_is_used_as_it_is_and_models_of_other_engines_are_left_alone() {
    let (hub, lab) = (Mock::new(), lab("models/mine"));
    fs::create_dir_all(lab.path("models/mine")).expect("directories");
    lab.write("models/mine/config.json", CONFIG);
    exec(&lab, &hub, &[]).expect_code(0);
    assert!(started(&lab).iter().all(|l| l.starts_with("models/mine||")), "{:?}", started(&lab));
    let own = STUDY.replace("MODEL", "org/absent").replace(
        "engine scripted \"Scripted\" = vllm {\n    version \"0.17.1\"",
        "engine scripted \"Scripted\" {\n version \"1\"\n ready get \"/health\" within 30s\n stop sigterm within 5s\n flag --max-num-seqs int 1..",
    );
    lab.write("study.plab", own);
    fs::remove_dir_all(lab.path("state")).expect("removed");
    exec(&lab, &hub, &[]).expect_code(0);
    assert!(hub.asked().is_empty(), "{:?}", hub.asked());
}

#[test]
fn a_tokenizer_that_can_be_none_is_said_before_anything_starts() {
    let (hub, lab) = (Mock::new(), lab("models/mine"));
    fs::create_dir_all(lab.path("models/mine")).expect("directories");
    lab.write("models/mine/config.json", CONFIG);
    for (text, why) in [
        ("{\"version\": \"1.0\", \"model\": {\"voc", "EOF"),
        ("version https://git-lfs.github.com/spec/v1\n", "expected value"),
        ("{}", "no `model`"),
    ] {
        lab.write("models/mine/tokenizer.json", text);
        exec(&lab, &hub, &[])
            .expect_error(1, &["models/mine/tokenizer.json is no tokenizer", why, "fetch it again"]);
        assert!(started(&lab).is_empty(), "{text}");
    }
}

#[test]
fn nothing_is_fetched_where_that_is_not_wanted() {
    let (hub, lab) = (Mock::new(), lab("org/fine"));
    let mut command = lab.command(&[&EXEC[..], &["--no-download"]].concat());
    command.env("HF_ENDPOINT", format!("http://127.0.0.1:{}", hub.port)).env("HF_HUB_CACHE", lab.path("hub"));
    command.env_remove("HF_HUB_OFFLINE").env("no_proxy", "127.0.0.1");
    lab.start_command(command).wait().expect_error(1, &["org/fine", "300.0 kB", "--no-download"]);
}

#[test]
fn nothing_is_fetched_for_an_engine_that_is_not_here() {
    let (hub, lab) = (Mock::new(), lab("org/fine"));
    let study = STUDY.replace("MODEL", "org/fine").replace("sh engine.sh", "no-such-engine");
    lab.write("study.plab", study);
    exec(&lab, &hub, &[]).expect_code(3);
    assert!(hub.asked().is_empty(), "{:?}", hub.asked());
}
