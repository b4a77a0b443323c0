//! What the kernel lets a process have: open files, one for each stream, processes, and what others look for.

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};

use super::finding::{Finding, Topic};
use crate::engine::lookups::can_be_seen;

const LIMITS: Topic = Topic::Limits;

pub fn findings() -> Vec<Finding> {
    [files(), processes(), Some(lookups())].into_iter().flatten().collect()
}

/// The hard limit counts: perflab raises its own to it.
fn files() -> Option<Finding> {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    let fix = "raise it: `ulimit -Hn 65536`, in a container `--ulimit nofile=65536:65536`";
    let said = format!("{} open files", shown(hard));
    Some(match hard {
        h if h < 1024 => Finding::fail(LIMITS, said, fix),
        h if h < 16_384 => {
            Finding::warn(LIMITS, format!("{said}: as many streams at one time, at most"), fix)
        }
        _ => Finding::ok(LIMITS, said),
    })
}

fn processes() -> Option<Finding> {
    let (_, hard) = getrlimit(Resource::RLIMIT_NPROC).ok()?;
    let said = format!("{} processes and threads", shown(hard));
    Some(if hard < 4096 {
        let fix = "engines start hundreds of threads: `ulimit -Hu 65536`, in a container `--pids-limit -1`";
        Finding::warn(LIMITS, said, fix)
    } else {
        Finding::ok(LIMITS, said)
    })
}

/// Neither is worse for a study: what is not seen is read off the texts.
fn lookups() -> Finding {
    let said = if can_be_seen() {
        "what engines look for can be seen, files that are not there too (`PERFLAB_LOOKUPS=on`)"
    } else {
        "which files engines look for that are not there is read off their scripts: all can be seen as root, or with \
         `setpriv --no-new-privs perflab exec …`, where no engine needs `sudo`"
    };
    Finding::ok(LIMITS, said.to_owned())
}

fn shown(limit: u64) -> String {
    if limit == RLIM_INFINITY { "unlimited".to_owned() } else { limit.to_string() }
}
