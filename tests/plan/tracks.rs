//! Tracks in a plan: what their steps stand on, their notes, and where their winners meet.

use super::plan;
use crate::support::{Lab, toy_study};

const TRACKS: &str = "step first { vary a[3] }
 track toy \"Toys\" { note \"slowly\"\n step one { vary a[1] }\n step two { vary a[2] } }
 track other \"Others\" { step one { vary b[1] } }
 step last { vary b[2] }";

#[test]
fn a_track_begins_at_its_engine_and_its_winner_meets_the_others() {
    let lab = Lab::with(&toy_study(TRACKS));
    let bases: Vec<String> = plan(&lab, &[])["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .map(|s| s["base"].as_str().expect("a base").to_owned())
        .collect();
    assert_eq!(bases, ["best", "toy", "best", "other", "best", "best"]);
    let tree = lab.run(&["plan", "study.plab"]).expect_code(0).stdout;
    assert!(tree.contains("Others: one  (step one, over other)") && tree.contains("  slowly\n"), "{tree}");
    let page = lab.run(&["plan", "study.plab", "--format", "md"]).expect_code(0).stdout;
    assert!(page.contains("Step `one` over `other`.") && page.contains("slowly"), "{page}");
    let graph = lab.run(&["plan", "study.plab", "--format", "mermaid"]).expect_code(0).stdout;
    let edges: Vec<&str> = graph.lines().filter(|l| l.contains("-->")).map(str::trim).collect();
    assert_eq!(
        edges,
        ["b --> s1", "e1 --> s2", "s2 --> s3", "e2 --> s4", "s1 & s3 & s4 --> s5", "s5 --> s6"]
    );
}

#[test]
fn a_guard_that_reads_no_result_is_decided_before_anything_runs() {
    let lines = "step one when engine == other { vary a[1] }
 step two when engine == toy { vary b[1] }
 step three when --b == 1 { vary a[2] }
 track other \"Others\" { step one when engine == toy { vary b[1] } }";
    let lab = Lab::with(&toy_study(lines));
    let document = plan(&lab, &[]);
    let states = |i: usize| document["steps"][i]["candidates"][0]["reason"].to_string();
    assert!(states(0).contains("the guard `engine == other` does not hold"), "{}", states(0));
    // what step two adopts, step three waits for
    assert!(!states(1).contains("guard"), "{}", states(1));
    assert!(states(2).contains("its base is known when"), "{}", states(2));
    assert!(states(3).contains("the guard `engine == toy` does not hold"), "{}", states(3));
    // two candidates, the baseline, and the track's engine, which meets the others as it is declared
    assert_eq!(document["launches"]["max"], 4);
}
