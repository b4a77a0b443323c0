//! What an engine finds when it wakes up.

use perflab::engine::StartError;

use super::workshop::{Workshop, runtime, scratch_of, start};

/// What a script printed before it ended.
fn output_of(
    workshop: &Workshop,
    script: &str,
    change: impl FnOnce(&mut perflab::engine::LaunchSpec),
) -> String {
    let mut spec = workshop.script(script);
    change(&mut spec);
    let error = runtime().block_on(start(spec)).unwrap_err();
    assert!(matches!(error, StartError::Exited { .. }), "{error}");
    std::fs::read_to_string(workshop.log()).unwrap()
}

#[test]
fn the_environment_is_what_was_given_and_nothing_else() {
    let workshop = Workshop::new();
    let output = output_of(&workshop, "env; pwd", |spec| {
        spec.env = vec![("PATH".into(), "/usr/bin:/bin".into()), ("ANSWER".into(), "42".into())];
    });
    let mut names: Vec<&str> =
        output.lines().filter_map(|l| l.split_once('=')).map(|(name, _)| name).collect();
    // shells add these themselves
    names.retain(|name| !["PWD", "SHLVL", "_", "OLDPWD"].contains(name));
    names.sort_unstable();
    assert_eq!(names, ["ANSWER", "PATH", "PERFLAB_LAUNCH", "TMPDIR"]);
    assert!(output.contains(&format!("PERFLAB_LAUNCH={}\n", workshop.nonce)));
    assert!(output.ends_with(&format!("{}\n", workshop.dir.display())));
}

#[test]
fn the_scratch_directory_is_there_during_the_launch_only() {
    let workshop = Workshop::new();
    let script = r#"env; touch "$TMPDIR/socket" && ls "$TMPDIR""#;
    let output = output_of(&workshop, script, |_| {});
    assert!(output.ends_with("socket\n"), "{output}");
    assert!(!scratch_of(&output).exists());
}

#[test]
fn an_engine_stays_on_the_processors_that_it_was_given() {
    let allowed = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        status.lines().find_map(|l| l.strip_prefix("Cpus_allowed_list:")).unwrap().trim().to_owned()
    };
    let (here, workshop) = (allowed(), Workshop::new());
    let last: usize = here.rsplit([',', '-']).next().unwrap().parse().unwrap();
    let script = "grep Cpus_allowed_list /proc/$$/status";
    let output = output_of(&workshop, script, |spec| spec.cpus = vec![last]);
    assert_eq!(output, format!("Cpus_allowed_list:\t{last}\n"));
    assert_eq!(output_of(&Workshop::new(), script, |_| {}), format!("Cpus_allowed_list:\t{here}\n"));
    // one that is not there keeps nothing from starting
    let output = output_of(&Workshop::new(), script, |spec| spec.cpus = vec![1000]);
    assert_eq!(output, format!("Cpus_allowed_list:\t{here}\n"));
    assert_eq!(allowed(), here);
}

#[test]
fn the_lock_does_not_reach_the_engine() {
    let workshop = Workshop::new();
    let lock = std::fs::File::create(workshop.dir.join("lock")).unwrap();
    let output = output_of(&workshop, "ls -l /proc/$$/fd; readlink /proc/$$/fd/0", |spec| {
        spec.keep_fd = Some(lock.try_clone().unwrap().into());
    });
    assert!(!output.contains("lock"), "{output}");
    assert!(output.ends_with("/dev/null\n"), "{output}");
    assert_eq!(lock.metadata().unwrap().len(), 0);
}
