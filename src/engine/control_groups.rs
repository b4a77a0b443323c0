//! Where the kernel accounts for what this process takes: its control group, of either generation.

use std::fs;
use std::path::{Path, PathBuf};

/// Which generation of control groups, by which the files in them are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    One,
    Two,
}

/// The group by which a controller (`memory`, `cpu`) accounts for this process: the mount of the hierarchy, and the group's path below it.
pub fn own_group(controller: &str) -> Option<(Generation, PathBuf, PathBuf)> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    place(&mounts, &own, controller)
}

/// How many processors' time this process may take, by its group and those above it; `None` without a bound.
pub fn processors() -> Option<f64> {
    let (generation, mount, below) = own_group("cpu")?;
    let groups = below.ancestors().map(|path| mount.join(path));
    groups.filter_map(|dir| bound(generation, &dir)).min_by(f64::total_cmp)
}

/// Bytes of memory that this process may take with all others of its group, by that and those above it; `None` without a bound.
pub fn memory() -> Option<u64> {
    let (generation, mount, below) = own_group("memory")?;
    let name = match generation {
        Generation::One => "memory.limit_in_bytes",
        Generation::Two => "memory.max",
    };
    // `max` is no number
    let of = |dir: PathBuf| fs::read_to_string(dir.join(name)).ok()?.trim().parse().ok();
    below.ancestors().filter_map(|path| of(mount.join(path))).min()
}

fn bound(generation: Generation, dir: &Path) -> Option<f64> {
    let read = |name: &str| fs::read_to_string(dir.join(name)).ok();
    let (quota, period) = match generation {
        Generation::One => (read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?),
        Generation::Two => {
            let both = read("cpu.max")?;
            let (quota, period) = both.split_once(' ')?;
            (quota.to_owned(), period.to_owned())
        }
    };
    // `max` and -1: no bound
    let (quota, period) = (quota.trim().parse::<f64>().ok()?, period.trim().parse::<f64>().ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

fn place(mounts: &str, own: &str, controller: &str) -> Option<(Generation, PathBuf, PathBuf)> {
    let group = |wanted: &dyn Fn(&str) -> bool| {
        own.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            wanted(controllers).then_some(path)
        })
    };
    let one = group(&|controllers| controllers.split(',').any(|c| c == controller));
    let two = group(&str::is_empty);
    let (generation, path) = one.map(|p| (Generation::One, p)).or(two.map(|p| (Generation::Two, p)))?;
    mounts.lines().find_map(|line| {
        let (fields, rest) = line.split_once(" - ")?;
        let mut rest = rest.split(' ');
        let (kind, options) = (rest.next()?, rest.nth(1)?);
        let fits = match generation {
            Generation::One => kind == "cgroup" && options.split(',').any(|o| o == controller),
            Generation::Two => kind == "cgroup2",
        };
        let mut fields = fields.split(' ').skip(3);
        let (root, mount) = (fields.next()?, fields.next()?);
        // a container sees the middle of a hierarchy as its root
        let below = Path::new(path).strip_prefix(root).unwrap_or(Path::new("")).to_owned();
        fits.then(|| (generation, PathBuf::from(mount), below))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hierarchy_of_a_controller_is_found() {
        let mounts = "30 25 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n\
            31 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
            32 30 0:28 /docker/a /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n\
            33 30 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let one = "4:memory:/docker/a/job\n1:cpu:/\n0::/\n";
        let found = place(mounts, one, "memory");
        assert_eq!(found, Some((Generation::One, "/sys/fs/cgroup/memory".into(), "job".into())));
        assert_eq!(
            place(mounts, one, "cpu"),
            Some((Generation::One, "/sys/fs/cgroup/cpu".into(), "".into()))
        );
        let two = "1 2 0:3 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";
        let found = place(two, "0::/user.slice/x\n", "memory");
        assert_eq!(found, Some((Generation::Two, "/sys/fs/cgroup".into(), "user.slice/x".into())));
        assert_eq!(place("", "0::/\n", "memory"), None);
    }

    #[test]
    fn a_bound_is_a_share_of_a_period() {
        let dir = tempfile::tempdir().expect("a folder");
        let with = |generation, files: &[(&str, &str)]| {
            for (name, text) in files {
                fs::write(dir.path().join(name), text).expect("written");
            }
            bound(generation, dir.path())
        };
        assert_eq!(with(Generation::Two, &[]), None);
        assert_eq!(with(Generation::Two, &[("cpu.max", "max 100000\n")]), None);
        assert_eq!(with(Generation::Two, &[("cpu.max", "190000 100000\n")]), Some(1.9));
        let one = |quota| [("cpu.cfs_quota_us", quota), ("cpu.cfs_period_us", "100000\n")];
        assert_eq!(with(Generation::One, &one("-1\n")), None);
        assert_eq!(with(Generation::One, &one("20000\n")), Some(0.2));
    }
}
