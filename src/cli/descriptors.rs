//! Open files: each stream of a load is one. The limit is raised as far as it may be, and what would exceed it is refused before
//! anything is launched: a client that cannot connect says nothing about an engine.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::lang::Program;
use crate::lang::sema::program::{Load, Profile};

/// What perflab itself holds open beside its streams, at most: journal, logs, pipes to a guard, other questions to a server.
const OWN: u64 = 64;

/// Raises this process' limit to what it may be. A lower one is no error: what exceeds it says so.
pub fn raise_limit() {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// Why the limit does not do for these profiles: a message and its help.
pub fn too_few<'p>(
    program: &Program,
    profiles: impl Iterator<Item = &'p String>,
) -> Option<(String, &'static str)> {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    let all = profiles.filter_map(|name| program.profiles.get(name));
    let most = all.filter_map(|p| Some((streams(p)?, &p.name))).max();
    let needs = most.map_or(0, |(n, _)| n).saturating_add(OWN);
    (needs > hard).then(|| {
        let what = most.map_or_else(String::new, |(n, name)| {
            format!("profile `{name}` holds {n} connections at once, ")
        });
        let message =
            format!("{what}perflab itself has up to {OWN} files open, and this process may open {hard}");
        (message, "raise the limit: `ulimit -Hn 65536`, in a container `--ulimit nofile=65536:65536`")
    })
}

/// So many streams of a load against a server in the same process, half as many again, are within the limit.
pub fn room() -> u64 {
    let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((1024, 1024));
    soft.saturating_sub(OWN) / 4
}

/// Connections that a load holds at once, where it says so itself.
pub fn streams(p: &Profile) -> Option<u64> {
    let most = match p.load.as_ref()? {
        Load::Concurrency(n) => u64::from(*n),
        Load::Max => p.requests?,
        _ => return None,
    };
    Some(p.in_flight.map_or(most, |cap| most.min(u64::from(cap))))
}
