//! Golden files: what `perflab fmt` makes of `NAME.plab` is what `NAME.expected` holds, and formatting that changes nothing.
//! `UPDATE_EXPECT=1` writes them anew; read the difference before you keep it.

use std::fs;
use std::path::Path;

use super::folder;
use crate::support::Lab;
use crate::support::studies;

fn difference(path: &Path) -> Option<String> {
    let lab = Lab::new();
    lab.write("study.plab", fs::read(path).unwrap());
    lab.run(&["fmt", "study.plab"]).expect_code(0);
    let now = lab.read("study.plab");
    let again = lab.run(&["fmt", "--check", "study.plab"]);
    assert_eq!((again.code, again.stdout.as_str()), (0, ""), "{} changes again", path.display());
    let expected = path.with_extension("expected");
    if std::env::var_os("UPDATE_EXPECT").is_some_and(|v| v == "1") {
        fs::write(&expected, now).unwrap();
        return None;
    }
    let before = fs::read_to_string(&expected).unwrap_or_default();
    let name = path.display();
    (now != before).then(|| format!("==== {name}: expected\n{before}\n==== {name}: now\n{now}\n"))
}

#[test]
fn files_are_laid_out_as_expected() {
    let files = studies(&folder());
    assert!(files.len() >= 6);
    let differences: Vec<String> = files.iter().filter_map(|f| difference(f)).collect();
    assert!(differences.is_empty(), "{}UPDATE_EXPECT=1 writes the expected files anew", differences.concat());
}

#[test]
fn a_study_as_people_write_it_stays_as_it_is() {
    let text = |name: &str| fs::read_to_string(folder().join(name)).unwrap();
    assert_eq!(text("whole_study.plab"), text("whole_study.expected"));
}
