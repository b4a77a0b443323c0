//! `perflab fmt` as a command: what it writes and what it leaves alone, its streams and exit codes.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Output, Stdio};

use crate::support::Lab;

const UNTIDY: &str = "param  a=1\nparam longer = 2\n";
const TIDY: &str = "param a      = 1\nparam longer = 2\n";
const BROKEN: &str = "param a 1\n";

fn piped(lab: &Lab, args: &[&str], text: &[u8]) -> Output {
    let mut command = lab.command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text).unwrap();
    child.wait_with_output().unwrap()
}

fn names(lab: &Lab) -> Vec<String> {
    let entries = fs::read_dir(lab.path(".")).unwrap();
    let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.retain(|n| n.contains("plab"));
    names.sort();
    names
}

#[test]
fn files_are_rewritten_and_named() {
    let lab = Lab::new();
    lab.write("a.plab", UNTIDY);
    lab.write("b.plab", TIDY);
    let out = lab.run(&["fmt", "a.plab", "b.plab", "a.plab"]).expect_code(0);
    assert_eq!(out.stdout, "");
    assert_eq!(out.stderr, "a.plab: formatted\n1 of 2 files changed\n");
    assert_eq!((lab.read("a.plab"), lab.read("b.plab")), (TIDY.to_owned(), TIDY.to_owned()));
    assert_eq!(names(&lab), ["a.plab", "b.plab"], "no draft stays behind");
    let out = lab.run(&["fmt", "a.plab"]).expect_code(0);
    assert_eq!(out.stderr, "1 file, nothing to change\n");
    assert_eq!(lab.run(&["fmt", "-q", "a.plab"]).expect_code(0).stderr, "");
}

#[test]
fn check_lists_and_diff_shows_without_writing() {
    let lab = Lab::new();
    lab.write("a.plab", UNTIDY);
    lab.write("b.plab", TIDY);
    let out = lab.run(&["fmt", "--check", "a.plab", "b.plab"]).expect_code(1);
    assert_eq!(out.stdout, "a.plab\n");
    assert_eq!(out.stderr, "1 of 2 files would change\n");
    lab.run(&["fmt", "--check", "b.plab"]).expect_code(0);
    let diff = "--- a.plab\n+++ a.plab\n@@ -1,2 +1,2 @@\n-param  a=1\n+param a      = 1\n param longer = 2\n";
    let out = lab.run(&["fmt", "--diff", "a.plab", "b.plab"]).expect_code(0);
    assert_eq!(out.stdout, diff);
    let out = lab.run(&["fmt", "--diff", "--check", "a.plab"]).expect_code(1);
    assert_eq!(out.stdout, diff);
    assert_eq!(lab.read("a.plab"), UNTIDY);
}

#[test]
fn standard_input_goes_to_standard_output() {
    let lab = Lab::new();
    for args in [&["fmt", "-"][..], &["fmt"]] {
        let out = piped(&lab, args, UNTIDY.as_bytes());
        assert_eq!((out.status.code(), out.stdout.as_slice()), (Some(0), TIDY.as_bytes()));
        assert_eq!(out.stderr, b"");
    }
    let out = piped(&lab, &["fmt", "-", "--check"], UNTIDY.as_bytes());
    assert_eq!((out.status.code(), out.stdout.as_slice()), (Some(1), &b"<stdin>\n"[..]));
    let out = piped(&lab, &["fmt", "-", "--diff"], UNTIDY.as_bytes());
    assert!(out.status.success() && out.stdout.starts_with(b"--- <stdin>\n+++ <stdin>\n@@"));
    let out = piped(&lab, &["fmt", "-"], b"param \xff");
    assert_eq!((out.status.code(), out.stdout.as_slice()), (Some(1), &b""[..]));
    let out = piped(&lab, &["fmt", "-"], BROKEN.as_bytes());
    assert_eq!((out.status.code(), out.stdout.as_slice()), (Some(1), &b""[..]));
    assert!(String::from_utf8_lossy(&out.stderr).contains("E103"));
    let out = piped(&lab, &["fmt", "-", "a.plab"], b"");
    assert_eq!(out.status.code(), Some(1));
}

#[test]
fn what_cannot_be_read_stays_as_it_is_and_the_others_are_formatted() {
    let lab = Lab::new();
    lab.write("a.plab", BROKEN);
    lab.write("b.plab", UNTIDY);
    lab.write("c.plab", b"\xff\xfe");
    let out = lab.run(&["fmt", "a.plab", "b.plab", "c.plab", "absent.plab"]);
    let words = ["E103", "a.plab:1", "c.plab: it is not UTF-8 text", "absent.plab: there is no such file"];
    let out = out.expect_error(1, &words);
    assert!(out.stderr.contains("b.plab: formatted"));
    assert_eq!((lab.read("a.plab"), lab.read("b.plab")), (BROKEN.to_owned(), TIDY.to_owned()));
    // mistakes of meaning are none of the formatter's
    lab.write("a.plab", "axis a=b\n");
    lab.run(&["fmt", "a.plab"]).expect_code(0);
    assert_eq!(lab.read("a.plab"), "axis a = b\n");
}

#[test]
fn directories_stand_for_the_files_below_them() {
    let lab = Lab::new();
    for dir in ["d/e", "d/.hidden", "empty"] {
        fs::create_dir_all(lab.path(dir)).unwrap();
    }
    for name in ["d/z.plab", "d/e/a.plab", "d/.hidden/b.plab", "d/notes.txt"] {
        lab.write(name, UNTIDY);
    }
    symlink("..", lab.path("d/e/up")).unwrap();
    let out = lab.run(&["fmt", "--check", "d"]).expect_code(1);
    assert_eq!(out.stdout, "d/e/a.plab\nd/z.plab\n");
    lab.run(&["fmt", "d"]).expect_code(0);
    assert_eq!(lab.read("d/e/a.plab"), TIDY);
    assert_eq!(lab.read("d/notes.txt"), UNTIDY);
    lab.run(&["fmt", "empty"]).expect_error(1, &["empty: no .plab file is in this directory"]);
}

#[test]
fn a_link_leads_to_its_file_and_modes_stay() {
    let lab = Lab::new();
    let file = lab.write("real.plab", UNTIDY);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("real.plab", lab.path("link.plab")).unwrap();
    lab.run(&["fmt", "link.plab"]).expect_code(0);
    assert!(fs::symlink_metadata(lab.path("link.plab")).unwrap().is_symlink());
    assert_eq!(lab.read("real.plab"), TIDY);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn line_ends_tabs_and_marks_become_plain() {
    let lab = Lab::new();
    lab.write("a.plab", "\u{feff}param a      = 1  \r\n\r\n\r\n\r\nengine e {\t# why\t\r\n\t--x=1\r\n}");
    lab.run(&["fmt", "a.plab"]).expect_code(0);
    assert_eq!(lab.read("a.plab"), "param a = 1\n\nengine e {  # why\n    --x=1\n}\n");
    lab.write("b.plab", "");
    lab.run(&["fmt", "b.plab"]).expect_code(0);
    assert_eq!(lab.read("b.plab"), "");
    lab.write("c.plab", "\n\n  # only this");
    lab.run(&["fmt", "c.plab"]).expect_code(0);
    assert_eq!(lab.read("c.plab"), "# only this\n");
}

#[test]
fn the_files_of_this_project_are_formatted() {
    let lab = Lab::new();
    let root = crate::support::project();
    let place = |name: &str| root.join(name).display().to_string();
    lab.run(&["fmt", "--check", &place("examples"), &place("stdlib")]).expect_code(0);
}
