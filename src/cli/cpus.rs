//! Processors as they are named on a command line: `0-3,8`, as the kernel and `taskset` write them.

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

/// A list of processors that this process may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpus(pub Vec<usize>);

pub fn cpus(text: &str) -> Result<Cpus, String> {
    let form = || "write numbers of processors, such as 0-3,8".to_owned();
    let mut all = Vec::new();
    for part in text.split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to) = (number(from).ok_or_else(form)?, number(to).ok_or_else(form)?);
        if from > to {
            return Err(form());
        }
        all.extend(from..=to);
    }
    let allowed = sched_getaffinity(Pid::from_raw(0)).map_err(|e| format!("processors are not told: {e}"))?;
    match all.iter().find(|id| !allowed.is_set(**id).unwrap_or(false)) {
        Some(id) => Err(format!("this process may not use processor {id}; `taskset -cp $$` shows which")),
        None => Ok(Cpus(all)),
    }
}

fn number(text: &str) -> Option<usize> {
    text.trim().parse().ok().filter(|id| *id < CpuSet::count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_of_processors_that_there_are() {
        let allowed = sched_getaffinity(Pid::from_raw(0)).expect("told");
        let some = (0..CpuSet::count()).find(|id| allowed.is_set(*id).unwrap_or(false)).expect("one");
        assert_eq!(cpus(&some.to_string()), Ok(Cpus(vec![some])));
        assert_eq!(cpus(&format!("{some}-{some},{some}")), Ok(Cpus(vec![some, some])));
        for wrong in ["", "a", "1-", "-1", "3-1", "0,,1", "99999"] {
            assert!(cpus(wrong).is_err_and(|why| why.contains("0-3,8")), "{wrong}");
        }
        let none = (0..CpuSet::count()).rev().find(|id| !allowed.is_set(*id).unwrap_or(true));
        let none = none.expect("one that is not there");
        assert!(cpus(&none.to_string()).is_err_and(|why| why.contains("may not use")));
    }
}
