//! Files that a start script finds by variables that it inherits, with the real binary: others count, and the same ones elsewhere do not.

use std::fs;

use crate::conditions::{again, lab, script, write};
use crate::support::{EXEC, Lab, Output};

/// A run with a variable set.
fn with(lab: &Lab, args: &[&str], variable: &str, value: &str) -> Output {
    let mut command = lab.command(args);
    command.env(variable, value);
    lab.start_command(command).wait().expect_code(0)
}

/// Why a study that was measured with one value is to be measured again with another one.
fn why(lab: &Lab, variable: &str, value: &str) -> String {
    again(&with(lab, &["plan", "study.plab", "--dir", "state", "--format", "json"], variable, value))
}

#[test]
fn what_a_script_reads_below_an_inherited_directory_counts_wherever_that_is() {
    for (variable, name, told) in [
        ("HOME", ".own/x.env", "~/.own/x.env"),
        ("HF_HOME", "x.env", "$HF_HOME/x.env"),
        ("HOME", "there.env", "~/there.env"),
    ] {
        let lab = lab("");
        let may_be =
            if name == "there.env" { format!("[ -f \"${variable}/{name}\" ] && ") } else { String::new() };
        write(&lab, "engine.sh", script(&format!("{may_be}. \"${{{variable}}}/{name}\"")));
        for (home, content) in [("first", "A=1\n"), ("same", "A=1\n"), ("other", "A=2\n")] {
            if may_be.is_empty() || home == "other" {
                write(&lab, &format!("{home}/{name}"), content);
            }
            fs::create_dir_all(lab.path(home)).expect("made");
        }
        let at = |home: &str| lab.path(home).display().to_string();
        with(&lab, &EXEC, variable, &at("first"));
        assert_eq!(why(&lab, variable, &at("first")), "");
        fs::remove_dir_all(lab.path("first")).expect("removed");
        assert_eq!(why(&lab, variable, &at("same")), "", "{told}");
        let why = why(&lab, variable, &at("other"));
        assert!(why.contains(told), "{told}: {why}");
    }
}

#[test]
fn who_runs_a_script_counts_where_it_says_so() {
    for (first, expected) in
        [(". \"./conf/$USER.env\"", "measured with USER=alice, now with USER=bob"), (":", "")]
    {
        let lab = lab("");
        write(&lab, "engine.sh", script(first));
        for user in ["alice", "bob"] {
            write(&lab, &format!("conf/{user}.env"), format!("A={user}\n"));
        }
        with(&lab, &EXEC, "USER", "alice");
        assert_eq!(why(&lab, "USER", "bob"), expected);
    }
}

#[test]
fn what_a_launch_opens_beside_a_home_or_in_one_is_seen() {
    for home in ["h", ""] {
        let lab = lab("");
        let reads = |reversed: &str| format!("read -r line < \"$(echo {reversed} | rev)\"");
        write(&lab, "engine.sh", script(&[reads("ini.esab/fnoc"), reads("ini.x/nwo.")].join("\n")));
        write(&lab, "conf/base.ini", "1\n");
        write(&lab, ".own/x.ini", "1\n");
        fs::create_dir_all(lab.path("h")).expect("made");
        let is_home = home.is_empty();
        let home = lab.path(home).display().to_string();
        with(&lab, &EXEC, "HOME", &home);
        assert_eq!(why(&lab, "HOME", &home), "");
        // what is hidden in a home is its programs'
        write(&lab, ".own/x.ini", "2\n");
        assert_eq!(why(&lab, "HOME", &home).is_empty(), is_home, "{home}");
        write(&lab, ".own/x.ini", "1\n");
        write(&lab, "conf/base.ini", "2\n");
        let why = why(&lab, "HOME", &home);
        assert!(why.contains("conf/base.ini, which its launch opened, changed"), "{home}: {why}");
    }
}
