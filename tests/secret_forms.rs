//! Every form in which a secret can stand in a study, a site or the environment: none of them is written anywhere, and what is
//! recommended asks for them.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{EXEC, Lab, Output, binary};

const STUDY: &str = r#"
param handed = "through-a-param-01"
engine own "Own" {
    serve "sh engine.sh {model} {host} {port} --admin-key serve-secret-02"
    ready get "/health" within 30s
    api   openai
    args  joined
    stop  sigterm within 5s
    failure "told" when log matches "told (.*)"
    flag --api-key  text
    flag --pin-key  int
    flag --hf-token text
    flag --cfg      json
    flag --extra    words
    flag --kv       text
    flag --mode     text
}
engine mine "Mine" = own {
    --api-key=123456789012
    --pin-key=4711
    --hf-token="{handed}"
    --cfg={"api_key": "json-secret-03", "deep": [{"password": "deep-secret-04"}], "pin_token": 815815815, "n": 3}
    --extra="--ssl-keyfile-password word-secret-05 --admin-api-key=word-secret-06 --n 7"
    --kv="redis://:redis-secret-07@h/0"
    env NUMKEY="987654321987"
    env SHORT_KEY="zq9"
    env CONF="{{\"api_key\": \"conf-secret-08\"}}"
    env OPTS="--api-key opts-secret-09 --token=opts-secret-10"
    env HDR="X-Api-Key: header-secret-11"
    env AUTH="Authorization: Basic YmFzaWMtc2VjcmV0"
    env U="http://user-secret-12@host/x"
    env DB="postgres://bob:db-secret-13@db/x?api_key=query-secret-14"
    env QUOTED_PASSWORD="quo\"ted-secret-15"
    env X="hf_abcdefghijklmnopqrst0016"
}
profile quick "Quick" {
    data        random
    input       16
    output      4
    concurrency 2
    requests    4
    warmup      0
}
axis key  = --api-key=["axis-secret-17", "axis-secret-18", "zq1", 55555]
axis mode = --mode=[fine, bad]
study s "S" {
    model    "org/some-model"
    baseline mine
    maximize total_tps on quick
    repeat   1
    step key  { vary key }
    step mode { vary mode }
}
"#;

const SITE: &str = r#"site here {
    env MY_TOKEN="site-secret-19"
    env SITE_URL="https://site-secret-20@host/"
}
"#;

/// What may stand nowhere. Short ones are looked for with what surrounds them where they are stated.
const VALUES: [&str; 38] = [
    "through-a-param-01",
    "serve-secret-02",
    "123456789012",
    "pin-key=4711",
    "\"4711\"",
    "json-secret-03",
    "deep-secret-04",
    "815815815",
    "word-secret-05",
    "word-secret-06",
    "redis-secret-07",
    "987654321987",
    "zq9",
    "conf-secret-08",
    "opts-secret-09",
    "opts-secret-10",
    "header-secret-11",
    "YmFzaWMtc2VjcmV0",
    "user-secret-12",
    "db-secret-13",
    "query-secret-14",
    "ted-secret-15",
    "hf_abcdefghijklmnopqrst0016",
    "axis-secret-17",
    "axis-secret-18",
    "zq1",
    "55555",
    "site-secret-19",
    "site-secret-20",
    "own-secret-21",
    "own-secret-22",
    "own-secret-23",
    "log-secret-24",
    "log-secret-25",
    "log-secret-26",
    "log-secret-27",
    "MIIlogsecret28",
    "own-secret-29",
];

fn lab() -> Lab {
    let lab = Lab::with(STUDY);
    lab.write("site.plab", SITE);
    let script = format!(
        "printf 'token=log-secret-24 api_key=log-secret-25 max_tokens=512\\nCookie: a=log-secret-26; b=log-secret-27\\n'\n\
         printf '%s\\n' '-----BEGIN PRIVATE KEY-----' MIIlogsecret28/MIIlogsecret28 '-----END PRIVATE KEY-----'\n\
         env | grep -v SHORT_KEY; printf 'long words %s\\n' \"$CONF $OPTS $HDR $U $DB $X $NUMKEY\"\n\
         case \"$*\" in *mode=bad*) echo \"told $MY_TOKEN and $QUOTED_PASSWORD\" >&2; exit 3;; esac\n\
         exec '{}' sim --model \"$1\" --host \"$2\" --port \"$3\"\n",
        binary()
    );
    lab.write("engine.sh", script);
    lab
}

fn command(lab: &Lab, args: &[&str]) -> Command {
    let mut command = lab.command(args);
    command
        .env("HUGGING_FACE_HUB_TOKEN", "own-secret-21")
        .env("https_proxy", "http://me:own-secret-22@proxy:1");
    command.env("SOME_OPTIONS", "--auth-token own-secret-23").env("no_proxy", "127.0.0.1");
    command.env("COOKIE", "own-secret-29");
    command
}

fn run(lab: &Lab, args: &[&str]) -> Output {
    lab.start_command(command(lab, args)).wait()
}

fn files(dir: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            files(&entry.path(), found);
        } else {
            found.push(entry.path());
        }
    }
}

/// A log of hours and hashes may hold any short number by chance; a secret stands there as a word.
#[track_caller]
fn expect_none(place: &str, text: &str) {
    for value in VALUES {
        let is_number = value.bytes().all(|b| b.is_ascii_digit());
        let edge = |c: Option<char>| !is_number || c.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '.');
        let stands = |(at, _): (usize, &str)| {
            edge(text[..at].chars().next_back()) && edge(text[at + value.len()..].chars().next())
        };
        assert!(!text.match_indices(value).any(stands), "{value} stands in {place}:\n{text}");
    }
}

#[test]
fn no_form_of_a_secret_is_written_anywhere() {
    let lab = lab();
    let notify = "printf '%s' \"$PERFLAB_RECOMMENDED\" > notified";
    let exec = [&EXEC[..], &["--events", "events.jsonl", "--notify", notify]].concat();
    let out = run(&lab, &exec).expect_code(0);
    expect_none("stdout", &out.stdout);
    expect_none("stderr", &out.stderr);
    for args in [
        &["exec", "study.plab", "--dir", "state"][..],
        &["plan", "study.plab"],
        &["plan", "study.plab", "--format", "json"],
        &["plan", "study.plab", "--format", "md"],
        &["plan", "study.plab", "--format", "mermaid"],
        &["plan", "study.plab", "--dir", "state"],
        &["plan", "study.plab", "--against", "study.plab"],
        &["report", "study.plab", "--dir", "state"],
        &["report", "study.plab", "--dir", "state", "--format", "json"],
        &["report", "study.plab", "--dir", "state", "--format", "md"],
        &["watch", "study.plab", "--dir", "state"],
        &["check", "study.plab"],
        &["check", "study.plab", "--format", "json"],
    ] {
        let out = run(&lab, args).expect_code(0);
        expect_none(&args.join(" "), &(out.stdout + &out.stderr));
    }
    let mut written = Vec::new();
    files(&lab.path("state"), &mut written);
    written.extend(["events.jsonl", "notified"].map(|name| lab.path(name)));
    assert!(written.iter().filter(|f| f.ends_with("server.log")).count() >= 4, "{written:?}");
    let log = written.iter().find(|f| f.ends_with("server.log")).expect("a log");
    let log = fs::read_to_string(log).expect("a log");
    for shown in ["max_tokens=512", "token=***", "Cookie: ***", "-----BEGIN PRIVATE KEY-----\n***\n-----END"]
    {
        assert!(log.contains(shown), "{shown} is not in {log}");
    }
    for file in written {
        expect_none(&file.display().to_string(), &String::from_utf8_lossy(&fs::read(&file).expect("a file")));
    }
    assert!(
        lab.read("notified").contains("MY_TOKEN") || lab.read("notified").contains("NUMKEY=\"${NUMKEY:?")
    );
    // masked conditions are the same when they are read again
    let again = run(&lab, &exec).expect_code(0).report();
    assert_eq!(again.0["cost"]["launches"], 7);
}

#[test]
fn candidates_that_differ_in_a_secret_are_told_apart() {
    let lab = lab();
    let plan = run(&lab, &["plan", "study.plab", "--format", "json"]).expect_code(0).json();
    let of = |key: &str| -> Vec<String> {
        let all = plan["steps"][0]["candidates"].as_array().expect("candidates");
        all.iter().map(|c| c[key].as_str().expect("text").to_owned()).collect()
    };
    assert_eq!(of("label"), ["***1", "***2", "***3", "***4"]);
    assert!(of("command")[1].contains("--api-key='***2'"), "{:?}", of("command"));
    let out = run(&lab, &EXEC).expect_code(0);
    let report = out.report();
    let labels: Vec<&str> =
        report.0["trials"].as_array().expect("trials").iter().filter_map(|t| t["label"].as_str()).collect();
    assert!(labels.contains(&"***1") && labels.contains(&"***4"), "{labels:?}");
    // columns stand under each other
    let text = run(&lab, &["report", "study.plab", "--dir", "state"]).expect_code(0).stdout;
    let table = text.split("1/2  key").nth(1).and_then(|t| t.split('→').next()).expect("a table");
    let rows: Vec<&str> = table.lines().filter(|l| l.starts_with('│')).collect();
    let ends: Vec<usize> = rows.iter().map(|l| l.chars().count()).collect();
    assert!(ends.len() >= 6 && ends.windows(2).all(|w| w[0] == w[1]), "{text}");
}

#[test]
fn what_is_recommended_asks_for_its_secrets() {
    let lab = lab();
    let out = run(&lab, &EXEC).expect_code(0);
    let script = lab.read("state/recommended.sh");
    assert!(!script.lines().any(|l| !l.starts_with('#') && l.contains("***")), "{script}");
    let text = run(&lab, &["report", "study.plab", "--dir", "state"]).expect_code(0).stdout;
    let printed = text.split("Recommended serve command").nth(1).expect("it is printed");
    assert!(printed.contains("\"${NUMKEY:?") && !printed.contains("'***"), "{printed}");
    assert!(out.report().0["recommended"]["command"].as_str().expect("text").contains(":?set it to"));

    // it refuses to run without them, and gives them on
    lab.write("engine.sh", "printf '%s\\n' \"$@\"; env\n");
    let shell = |set: &[(&str, &str)]| {
        let mut sh = Command::new("sh");
        sh.arg("state/recommended.sh").current_dir(lab.path(".")).env_clear().env("PATH", "/usr/bin:/bin");
        sh.envs(set.iter().copied()).output().expect("sh runs")
    };
    let refused = shell(&[]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && refused.stdout.is_empty() && said.contains("set it to the secret of"),
        "{said}"
    );
    let asked: Vec<String> = script
        .split("${")
        .skip(1)
        .filter_map(|piece| piece.split_once(":?").map(|(name, _)| name.to_owned()))
        .collect();
    assert!(asked.len() >= 12, "{asked:?}");
    let given: Vec<(String, String)> =
        asked.iter().map(|name| (name.clone(), format!("given {name}"))).collect();
    let set: Vec<(&str, &str)> = given.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let ran = shell(&set);
    let out = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    for (_, value) in &set {
        assert!(out.contains(value), "{value} did not arrive:\n{out}\n{script}");
    }
    assert!(out.contains("--cfg={\"api_key\":\"given ") && out.contains("HDR=X-Api-Key: given "), "{out}");
}

#[test]
fn a_broken_file_is_shown_without_them() {
    let lab = Lab::with(&STUDY.replace("--mode=[fine, bad]", "--mode=[fine, bad] --no-such=1"));
    let broken = lab
        .read("study.plab")
        .replace("    env HDR", "    --none=1 env HDR")
        .replace("    --kv", "    --what=2 --kv");
    lab.write("study.plab", broken);
    let out = run(&lab, &["check", "study.plab"]).expect_code(1);
    expect_none("stderr", &out.stderr);
}
