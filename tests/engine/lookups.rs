//! What engines look for in the file system, told while they live; and engines that bear no such look.

use std::path::PathBuf;
use std::time::Duration;

use perflab::engine::LaunchSpec;
use perflab::engine::lookups::{self, Looked, Lookups, Scope, Sight};

use super::workshop::{Workshop, runtime, start};

/// A launch that is followed; `None` where the kernel tells this user nothing.
fn followed(mut spec: LaunchSpec) -> Option<(LaunchSpec, Lookups)> {
    if !lookups::can_be_seen() {
        eprintln!("SKIPPED what engines look for: the kernel does not tell it to this user");
        return None;
    }
    let seen = Lookups::default();
    let scope = Scope { study_dir: spec.cwd.clone(), spared: vec![spec.cwd.join("spared")] };
    spec.lookups = Some((scope, seen.clone()));
    Some((spec, seen))
}

fn sights(all: &[Looked], path: &PathBuf) -> Vec<Sight> {
    all.iter().filter(|looked| looked.path == *path).map(|looked| looked.sight).collect()
}

async fn until(seen: &Lookups, what: &str, done: impl Fn(&[Looked]) -> bool) -> Vec<Looked> {
    for _ in 0..600 {
        let all = seen.until(None).unwrap_or_default();
        if done(&all) {
            return all;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("waited in vain for {what}: {:?}", seen.until(None));
}

#[test]
fn names_are_told_with_what_they_stood_for_and_who_made_them() {
    let workshop = Workshop::new();
    let at = |name: &str| workshop.dir.join(name);
    std::fs::write(at("read"), "1").unwrap();
    std::fs::create_dir_all(at("dir/d")).unwrap();
    let script = "cd dir; cat ../read ../none 2>/dev/null; [ -e ./d/../../there ]; cat ../spared/x; \
                  echo 1 > made; mkdir sub; mv made sub/moved; rm -f sub/moved; ls d; cd ..";
    std::fs::write(at("there"), "").unwrap();
    let Some((spec, seen)) = followed(workshop.role_after(script, "server")) else { return };
    runtime().block_on(async {
        let server = start(spec).await.unwrap();
        let moved = at("dir/sub/moved");
        let all = until(&seen, "the last of them", |all| sights(all, &moved).contains(&Sight::Own)).await;
        assert_eq!(sights(&all, &at("read")), [Sight::Read]);
        assert_eq!(sights(&all, &at("none")), [Sight::Absent]);
        assert_eq!(sights(&all, &at("there")), [Sight::There]);
        assert_eq!(sights(&all, &at("spared/x")), []);
        assert_eq!(sights(&all, &at("dir/made")), [Sight::Absent, Sight::Own]);
        let all = until(&seen, "the list", |all| sights(all, &at("dir/d")).contains(&Sight::Listed)).await;
        assert_eq!(sights(&all, &at("dir/sub")), [Sight::Absent, Sight::Own]);
        assert_eq!(seen.lacks(), lookups::Lacks::default());
        server.kill().await;
    });
}

#[test]
fn all_that_was_looked_for_is_told_when_it_is_asked_for() {
    let workshop = Workshop::new();
    let script =
        "(i=0; while :; do [ -e \"flag$i\" ]; echo $i > now; mv now last; i=$((i+1)); sleep 0.01; done) &";
    let Some((spec, seen)) = followed(workshop.role_after(&format!("{script} true"), "server")) else {
        return;
    };
    runtime().block_on(async {
        let server = start(spec).await.unwrap();
        for _ in 0..20 {
            let last = std::fs::read_to_string(workshop.dir.join("last")).unwrap();
            server.hear_lookups().await;
            let flag = workshop.dir.join(format!("flag{}", last.trim()));
            assert_eq!(sights(&seen.until(None).unwrap(), &flag), [Sight::Absent], "{last}");
        }
        server.kill().await;
    });
}

#[test]
fn what_comes_and_goes_is_told_each_time() {
    let workshop = Workshop::new();
    let flag = workshop.dir.join("flag");
    let script = "(while :; do [ -e flag ]; sleep 0.01; done) &";
    let Some((spec, seen)) = followed(workshop.role_after(&format!("{script} true"), "server")) else {
        return;
    };
    runtime().block_on(async {
        let server = start(spec).await.unwrap();
        let mut expected = vec![Sight::Absent];
        until(&seen, "nothing", |all| sights(all, &flag) == expected).await;
        for (there, sight) in [(true, Sight::There), (false, Sight::Absent), (true, Sight::There)] {
            if there {
                std::fs::write(&flag, "").unwrap();
            } else {
                std::fs::remove_file(&flag).unwrap();
            }
            expected.push(sight);
            until(&seen, "another sight", |all| sights(all, &flag) == expected).await;
        }
        server.kill().await;
    });
}

/// Each of many processes and threads waits for its own calls, and none for those of another one that ends meanwhile.
#[test]
fn many_that_look_at_one_time_and_are_killed_leave_the_others_alone() {
    let workshop = Workshop::new();
    let script = "for p in 1 2 3 4 5 6 7 8; do (i=0; while [ $i -lt 400 ]; do [ -e none$i ]; i=$((i + 1)); done) & done; \
                  for p in 1 2 3 4; do (while :; do [ -e own$p ]; done) & kill -9 $!; done; wait";
    let Some((spec, seen)) = followed(workshop.role_after(script, "server")) else { return };
    runtime().block_on(async {
        let server = start(spec).await.unwrap();
        let last = workshop.dir.join("none399");
        let all = until(&seen, "the last name", |all| sights(all, &last) == [Sight::Absent]).await;
        let none = all.iter().filter(|looked| looked.path.to_string_lossy().contains("/none")).count();
        assert_eq!(none, 400);
        server.kill().await;
    });
}
