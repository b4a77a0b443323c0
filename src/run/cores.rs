//! Processors: how those of this machine are shared out, so that launches side by side do not take each other's, and the load
//! generator has its own.
//!
//! Only whole cores are given away, both threads of one to the same, and a GPU's lie together: as a rule on one memory node, from
//! which the kernel then takes the engine's memory too.

use std::fs;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// One of so many cores is the load generator's.
const CLIENT: usize = 8;

/// A processor, and what it shares with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cpu {
    /// the memory node
    pub node: usize,
    /// the first processor of its core
    pub core: usize,
    pub id: usize,
}

/// Who has which processors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shares {
    /// perflab's own
    pub client: Vec<usize>,
    /// each GPU's, in the order of the GPUs
    pub gpus: Vec<Vec<usize>>,
}

/// Shares cores out to so many GPUs. `None`: there are too few for each to have one and the client another.
pub fn share(cpus: &[Cpu], gpus: usize) -> Option<Shares> {
    let mut cpus = cpus.to_vec();
    cpus.sort_unstable();
    let cores: Vec<Vec<usize>> =
        cpus.chunk_by(|a, b| (a.node, a.core) == (b.node, b.core)).map(ids).collect();
    let each = cores.len().saturating_sub((cores.len() / CLIENT).max(1)).checked_div(gpus)?;
    if each == 0 {
        return None;
    }
    let (engines, client) = cores.split_at(each * gpus);
    Some(Shares { client: client.concat(), gpus: engines.chunks(each).map(<[Vec<usize>]>::concat).collect() })
}

fn ids(core: &[Cpu]) -> Vec<usize> {
    core.iter().map(|c| c.id).collect()
}

/// The processors that this process may use.
pub fn here() -> Vec<Cpu> {
    let Ok(allowed) = sched_getaffinity(Pid::from_raw(0)) else { return Vec::new() };
    let allowed = (0..CpuSet::count()).filter(|id| allowed.is_set(*id).unwrap_or(false));
    allowed.map(|id| Cpu { node: node(id), core: core(id), id }).collect()
}

fn core(id: usize) -> usize {
    let path = format!("/sys/devices/system/cpu/cpu{id}/topology/thread_siblings_list");
    let text = fs::read_to_string(path).unwrap_or_default();
    let first = text.split(|c: char| !c.is_ascii_digit()).next();
    first.and_then(|n| n.parse().ok()).unwrap_or(id)
}

fn node(id: usize) -> usize {
    let Ok(entries) = fs::read_dir(format!("/sys/devices/system/cpu/cpu{id}")) else { return 0 };
    let number = |name: &str| name.strip_prefix("node")?.parse().ok();
    entries.flatten().find_map(|e| number(e.file_name().to_str()?)).unwrap_or(0)
}

/// Keeps this thread, and those that it will start, on some processors.
pub fn stay_on(cpus: &[usize]) {
    let mut set = CpuSet::new();
    // one that is gone by now is no reason to stop: the others do
    let some = cpus.iter().filter(|id| set.set(**id).is_ok()).count();
    if some > 0 {
        let _ = sched_setaffinity(Pid::from_raw(0), &set);
    }
}

/// "0-3,8-11": as the kernel writes lists of processors.
pub fn listed(cpus: &[usize]) -> String {
    let mut cpus = cpus.to_vec();
    cpus.sort_unstable();
    let runs = cpus.chunk_by(|a, b| a + 1 == *b);
    let one = |run: &[usize]| match run {
        [first, .., last] => format!("{first}-{last}"),
        [one] => one.to_string(),
        [] => String::new(),
    };
    runs.map(one).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Two nodes, two threads a core, numbered as on most servers: first all cores, then their second threads.
    fn server(cores: usize) -> Vec<Cpu> {
        let cpu = |id: usize| Cpu { node: (id % cores) / (cores / 2).max(1), core: id % cores, id };
        (0..2 * cores).map(cpu).collect()
    }

    #[test]
    fn a_server_of_two_sockets_is_shared_by_whole_cores() {
        let shares = share(&server(16), 4).expect("enough");
        assert_eq!(listed(&shares.gpus[0]), "0-2,16-18");
        assert_eq!(listed(&shares.gpus[3]), "9-11,25-27");
        assert_eq!(listed(&shares.client), "12-15,28-31");
    }

    #[test]
    fn too_few_cores_are_not_shared_out() {
        let single = |n: usize| (0..n).map(|id| Cpu { node: 0, core: id, id }).collect::<Vec<_>>();
        assert_eq!(share(&single(2), 2), None);
        let shares = share(&single(3), 2).expect("enough");
        assert_eq!((shares.client, shares.gpus), (vec![2], vec![vec![0], vec![1]]));
        // two threads of one core are one
        assert_eq!(share(&server(1), 1), None);
        assert_eq!(share(&[], 2), None);
        assert_eq!(share(&single(4), 0), None);
    }

    #[test]
    fn lists_are_the_kernels() {
        assert_eq!(listed(&[3, 0, 1, 2, 8]), "0-3,8");
        assert_eq!(listed(&[]), "");
        assert!(!here().is_empty());
    }

    proptest! {
        /// Everybody has something, nobody has what another has, GPUs have equal shares, and no core is torn apart.
        #[test]
        fn shares_are_disjoint_equal_and_whole(cores in 1..70_usize, gpus in 1..9_usize) {
            let cpus = server(cores);
            let Some(shares) = share(&cpus, gpus) else {
                prop_assert!(cores <= gpus);
                return Ok(());
            };
            let mut all = shares.gpus.concat();
            all.extend(&shares.client);
            all.sort_unstable();
            prop_assert_eq!(all, (0..2 * cores).collect::<Vec<_>>());
            prop_assert!(!shares.client.is_empty());
            prop_assert!(shares.gpus.iter().all(|g| g.len() == shares.gpus[0].len()));
            let whole = |g: &Vec<usize>| g.iter().all(|id| g.contains(&((id + cores) % (2 * cores))));
            prop_assert!(shares.gpus.iter().all(whole));
        }
    }
}
