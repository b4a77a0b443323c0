//! The journal's events, version 5: one JSON object a line. A field is never given another meaning; what is new gets a new name.
//!
//! Version 2 added the event `ready`, version 3 those of the A/A check of neighbours, version 4 `again`: an older reader would take them for
//! broken lines. From version 5 on a line ends in a checksum (`seal`); lines of older versions are read without.
//! Lines of all versions stand in one file.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::made::{ClientTrial, Conditions, Machine};
use crate::judge::Run;
use crate::judge::neighbours::{Sample, Verdict};

/// The version that this binary writes; a higher one is refused.
pub const VERSION: u32 = 5;
/// From this version on each line ends in its checksum.
pub const SEALED: u32 = 5;

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub v: u32,
    /// counts from 1, without gaps
    pub seq: u64,
    /// wall-clock time, UTC, for people; nothing is computed from it
    pub at: String,
    /// which invocation of `exec` wrote it, counting from 1
    pub session: u32,
    /// seconds since that invocation began, on its monotonic clock
    pub session_s: f64,
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// an invocation begins to measure
    Session {
        perflab: String,
        file: String,
        file_hash: String,
        pid: u32,
        /// params that the command line set
        #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
        set: IndexMap<String, String>,
        /// the site that said how engines are launched
        #[serde(default, skip_serializing_if = "Option::is_none")]
        site: Option<String>,
        /// what a GPU costs there, US dollars a second
        #[serde(default, skip_serializing_if = "Option::is_none")]
        price_per_s: Option<f64>,
        #[serde(default)]
        simulated: bool,
        host: Json,
        /// what each GPU held before the study, by UUID, in bytes
        #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
        gpu_levels: IndexMap<String, u64>,
        /// kernel, processor and host, for people: no result is refused for them
        #[serde(default, skip_serializing_if = "Option::is_none")]
        machine: Option<Machine>,
        /// how the load generator fared, where the study is long and it was not tried before
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client: Option<ClientTrial>,
        /// which results count no more and are measured again, and why, a sentence each
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        again: Vec<String>,
    },
    /// a launch is about to start
    Launch {
        launch: String,
        config_id: String,
        config: Json,
        profiles: Vec<String>,
        label: String,
        nonce: String,
        /// what the engine was put into
        #[serde(default, skip_serializing_if = "Option::is_none")]
        container: Option<Contained>,
        /// the hub's commit of the model, or a hash over a local directory's files
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model_files: Option<String>,
        /// the words that are run, but for host and port; what is secret is masked
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        command: Vec<String>,
        /// the variables that perflab gives it, names and values; what is secret is masked
        #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
        env: IndexMap<String, String>,
        /// where it runs, in an invocation that may run several side by side
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slot: Option<Slot>,
        /// the libraries that it runs with, where no launch before it had the same
        #[serde(default, skip_serializing_if = "Option::is_none")]
        installed: Option<Installed>,
        /// hashes over the lines that it found in the settings that launches before it left changed, by name
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        found: BTreeMap<String, String>,
        /// it is one of the A/A check of neighbours, and has no results
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        check: bool,
    },
    /// the launch's server answers, and what it says of itself
    Ready { launch: String, after_s: f64, says: Says },
    /// one load of a launch is over
    Run {
        launch: String,
        config_id: String,
        profile: String,
        profile_id: String,
        serve_id: String,
        host_id: String,
        /// the machine failed, not the configuration: it counts in its own invocation and is made again by the next
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        infrastructure: bool,
        run: Run,
        /// everything beside configuration and load that can change the result
        #[serde(default, skip_serializing_if = "Option::is_none")]
        made: Option<Box<Conditions>>,
        /// of the requests that were sent
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seed: Option<u64>,
        /// the files that its launch opened, where no result before it has the same
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opened: Option<Opened>,
    },
    /// the machine failed before the launch had its results: it is made again
    Setback { launch: String, class: String, line: String },
    /// the launch's server is gone
    Gone {
        launch: String,
        times: LaunchTimes,
        gpus: u32,
        /// of what its result is made of, what was not the same at its end as at its beginning, by name
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changed: Vec<String>,
        /// of what its command names, what came to be while it lived
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        appeared: Vec<String>,
        /// what it made where engines read: files that it opened, and directories, whose names end in `/`
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        came: Vec<String>,
        /// what it made itself of what it had not found, as its own calls tell
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        made: Vec<String>,
        /// hashes over the lines of the settings that changed, by name
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        left: BTreeMap<String, String>,
        /// what of it a kill did not end, a phrase each: it is over for the study, and not gone
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        stuck: Vec<String>,
    },
    /// a launch of the A/A check of neighbours is over
    Checked { launch: String, of: Neighbourhood, sample: Sample },
    /// the A/A check of neighbours is settled, here or by another study on this machine
    Neighbours { of: Neighbourhood, verdict: Verdict },
    /// an earlier invocation did not live to see this launch end
    Lost {
        launch: String,
        /// seconds that it is known to have lived; 0 in journals from before it was written down
        #[serde(default)]
        after_s: f64,
        /// GPUs that it held meanwhile
        #[serde(default)]
        gpus: u32,
    },
    /// the user wants configurations measured again: what was measured of them before this line is no result any more
    Again {
        configs: Vec<String>,
        /// as the command line named them
        asked: Vec<String>,
    },
    /// the invocation ended by itself
    End { complete: bool },
}

/// A set of GPUs, and of processors, that is one launch's alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// counts from 1 among the slots of its size
    pub number: usize,
    /// how many there are
    pub of: usize,
    /// UUIDs
    pub gpus: Vec<String>,
    /// processors, as `0-7,64-71`; null where they are not shared out
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<String>,
    /// launches that ran when it began
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
}

/// What an A/A check of neighbours is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbourhood {
    /// a hash over GPUs, driver and processors
    pub machine: String,
    /// GPUs of a launch
    pub size: u32,
    /// launches side by side
    pub launches: usize,
}

/// Libraries under the hash that results know them by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installed {
    pub id: String,
    /// distributions with version and a hash over their files, shared libraries with a hash
    pub libraries: BTreeMap<String, String>,
}

/// Files that a launch opened, and what it looked for, under the hash that results know them by.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    pub id: String,
    /// names with a hash over what they held as they were opened
    pub files: BTreeMap<String, String>,
    /// other names of which it asked, where that was seen, and found something
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub there: BTreeSet<String>,
    /// those under which it found nothing
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub absent: BTreeSet<String>,
    /// names that its texts could spell; `None` where it has none of the user's own
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spelled: Option<Spelled>,
}

/// The names that a launch's texts could spell, wherever they ask for them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spelled {
    /// the texts whose words count, by name
    pub texts: BTreeSet<String>,
    /// directories beside the study's own in which such names may lie
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub dirs: BTreeSet<String>,
    /// those of the names that were there
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub there: BTreeSet<String>,
}

/// The container of a launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contained {
    /// `docker` or `podman`
    pub runtime: String,
    /// as it was asked for
    pub image: String,
    /// the image's own id, a hash of all that is in it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// What a server says of itself once it answers. Nothing in it is perflab's own word.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Says {
    /// its version, from its own interface or else its log
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// the arguments that it reports as effective, under its own names
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub arguments: IndexMap<String, Json>,
    /// where these come from: `log`, or a path that was asked
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// it is perflab's own simulator, whatever it is declared as
    #[serde(skip)]
    pub simulated: bool,
}

/// Where a launch's time went, in seconds, and what its GPUs drew.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct LaunchTimes {
    pub start_s: f64,
    pub warmup_s: f64,
    pub load_s: f64,
    pub stop_s: f64,
    /// perflab's own, from the end of the launch before
    pub own_s: f64,
    /// the wait for clean GPUs before and after it
    #[serde(default)]
    pub drain_s: f64,
    /// what its GPUs drew from the start until it was stopped, in joules
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_j: Option<f64>,
    /// from the end of whichever launch ended before it; null where launches run one after another
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_s: Option<f64>,
}

impl LaunchTimes {
    /// Everything that is not perflab's own.
    pub fn engine_s(&self) -> f64 {
        self.start_s + self.warmup_s + self.load_s + self.stop_s
    }
}
