//! Where engines get their memory: which NUMA nodes it may come from and in what order (`numactl`), and whether in large pages. All of it
//! is inherited, and changes the speed of whatever reads much memory.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};

/// In words, as far as the kernel tells.
pub fn here() -> BTreeMap<String, String> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut first = String::new();
    // the whole has a line for each piece of memory
    let read = File::open("/proc/self/numa_maps").and_then(|f| BufReader::new(f).read_line(&mut first));
    told(&status, read.is_ok().then_some(first.as_str()))
}

fn told(status: &str, numa_map: Option<&str>) -> BTreeMap<String, String> {
    let field = |name: &str| status.lines().find_map(|l| l.strip_prefix(name)).map(|v| v.trim().to_owned());
    let large = field("THP_enabled:").map(|v| if v == "0" { "off" } else { "allowed" }.to_owned());
    // `00400000 interleave:0-1 file=/usr/bin/x`
    let policy = numa_map.and_then(|line| line.split_whitespace().nth(1)).map(str::to_owned);
    let all = [
        ("memory policy", policy),
        ("memory of NUMA nodes", field("Mems_allowed_list:")),
        ("transparent huge pages", large),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_told_as_the_kernel_does() {
        let status = "Name:\tx\nUmask:\t0022\nTHP_enabled:\t0\nMems_allowed_list:\t0-1\n";
        let found = told(status, Some("00400000 interleave:0-1 file=/usr/bin/x mapped=1 N0=1\n"));
        let found: Vec<(&str, &str)> = found.iter().map(|(name, v)| (name.as_str(), v.as_str())).collect();
        let expected = [
            ("memory of NUMA nodes", "0-1"),
            ("memory policy", "interleave:0-1"),
            ("transparent huge pages", "off"),
        ];
        assert_eq!(found, expected);
        assert!(told("", None).is_empty() && told("", Some("")).is_empty());
    }
}
