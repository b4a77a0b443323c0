//! Studies that run for real, on the simulated engine, and what is left of them: processes and events.

use std::fs;

use serde_json::Value;

use super::Lab;

/// The simulated engine under a load of eight short requests: a launch takes about a second.
pub const LIVE: &str = r#"
use std/engines { sim }
engine small "Small" = sim { --max-model-len=4Ki }
profile quick "Quick" {
    data        random
    input       16
    output      8
    concurrency 4
    requests    8
    warmup      0
}
axis seqs    = --max-num-seqs=[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
axis batched = --max-num-batched-tokens=[512]
"#;

/// A study that runs for real, on the simulated engine.
pub fn live_study(lines: &str) -> String {
    let objective = if lines.contains("imize ") { "" } else { "maximize total_tps on quick" };
    format!(
        "{LIVE}study s \"S\" {{\n model \"Qwen/Qwen3-0.6B\"\n baseline small\n {objective}\n repeat 1\n{lines}\n}}\n"
    )
}

/// What a busy machine does to a client must not decide these tests: findings are shown and count as valid.
pub const EXEC: [&str; 8] = ["exec", "study.plab", "--checks", "warn", "--format", "json", "--dir", "state"];

/// The processes that launches of a lab's state directory left, by the mark that all of them inherit.
pub fn marked(lab: &Lab) -> Vec<i32> {
    let Ok(dir) = lab.path("state").canonicalize() else { return Vec::new() };
    let hash = perflab::plan::config::short_hash(&dir.to_string_lossy());
    let mark = format!("PERFLAB_LAUNCH=plab-{hash}-");
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let pids = processes.filter_map(|e| e.file_name().to_str()?.parse().ok());
    let carries = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|b| *b == 0).any(|v| v.starts_with(mark.as_bytes()))
    };
    pids.filter(carries).collect()
}

/// Whether some words stand in the command line of a process.
pub fn runs(pid: i32, words: &str) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ").contains(words)
}

/// Whether a process is another, or one below it.
pub fn descends_from(pid: i32, ancestor: i32) -> bool {
    let mut next = Some(pid);
    while let Some(pid) = next {
        if pid == ancestor {
            return true;
        }
        next = parent(pid);
    }
    false
}

/// A process's parent; none of the first one, and of one that is gone.
pub fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(") ")?;
    after_name.split(' ').nth(1)?.parse().ok().filter(|parent| *parent > 0)
}

/// The event stream of an invocation so far, as JSON lines.
pub fn events(lab: &Lab) -> Vec<Value> {
    let text = fs::read_to_string(lab.path("events.jsonl")).unwrap_or_default();
    text.lines().filter_map(|l| serde_json::from_str(l).ok()).collect()
}

/// A journal without its checksums, as older versions wrote it: for tests that edit what stands in one.
pub fn unsealed(journal: &str) -> String {
    let line = |line: &str| {
        let plain = line.rsplit_once(",\"sum\":\"").map_or(line.to_owned(), |(text, _)| format!("{text}}}"));
        plain.replacen("\"v\":5,", "\"v\":4,", 1) + "\n"
    };
    journal.lines().map(line).collect()
}
