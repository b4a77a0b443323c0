//! Golden files: what `perflab check NAME.plab` prints is what `NAME.expected` holds. `UPDATE_EXPECT=1` writes them anew; read the
//! difference before you keep it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;

use perflab::lang::codes::Code;

use super::{analysis, codes, command, folder, perflab};
use crate::support::studies;

/// Inputs that no editor likes to hold.
fn generated() -> Vec<(Code, String)> {
    vec![
        (Code::NotText, "metric m = total_tps\0\n".to_owned()),
        (Code::NotText, "use std/engines { sim }\rengine small = sim { }\r".to_owned()),
        (Code::TooLarge, "# a comment\n".repeat(100_000)),
        (Code::TooMany, "what is this\nparam x = 5K\n".repeat(1000)),
    ]
}

/// Files whose names begin with `installed_` are held against the programs in the folder `installed`, and nothing else.
fn printed(name: &str) -> String {
    let output = if name.starts_with("installed_") {
        command(&["check", "--installed", name]).env("PATH", folder().join("installed")).output().unwrap()
    } else {
        perflab(&["check", name])
    };
    String::from_utf8(output.stderr).unwrap()
}

/// What differs from the expected text, if anything does.
fn difference(path: &Path) -> Option<String> {
    let name = path.file_name().unwrap().to_str().unwrap();
    let expected = path.with_extension("expected");
    let (now, before) = (printed(name), fs::read_to_string(&expected).unwrap_or_default());
    if std::env::var_os("UPDATE_EXPECT").is_some_and(|v| v == "1") {
        fs::write(&expected, now).unwrap();
        return None;
    }
    (now != before).then(|| format!("==== {name}: expected\n{before}\n==== {name}: now\n{now}\n"))
}

#[test]
fn diagnostics_read_as_expected() {
    let files = studies(&folder());
    let differences: Vec<String> = thread::scope(|scope| {
        let part = |files| {
            scope.spawn(move || {
                <[_]>::iter(files).filter_map(|f: &std::path::PathBuf| difference(f)).collect::<Vec<_>>()
            })
        };
        let parts: Vec<_> = files.chunks(files.len().div_ceil(4)).map(part).collect();
        parts.into_iter().flat_map(|p| p.join().unwrap()).collect()
    });
    assert!(differences.is_empty(), "{}UPDATE_EXPECT=1 writes the expected files anew", differences.concat());
}

#[test]
fn every_code_has_a_file() {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let expected: Vec<String> = studies(&folder())
        .iter()
        .map(|p| fs::read_to_string(p.with_extension("expected")).unwrap_or_default())
        .collect();
    for code in Code::ALL {
        if expected
            .iter()
            .any(|text| text.lines().any(|line| line.trim_end_matches(" [fixable]") == code.id()))
        {
            seen.insert(code.id());
        }
    }
    for (code, text) in generated() {
        assert!(
            codes(&analysis(&text)).contains(&code.id()),
            "{} is not found where it should be",
            code.id()
        );
        seen.insert(code.id());
    }
    let missing: Vec<_> = Code::ALL.iter().map(|c| c.id()).filter(|id| !seen.contains(id)).collect();
    assert!(missing.is_empty(), "no file yields {missing:?}");
}

#[test]
fn a_file_with_six_mistakes_has_six_errors() {
    let files: Vec<_> = studies(&folder())
        .into_iter()
        .filter(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("six_")))
        .collect();
    assert!(files.len() >= 12);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        // the first line says which, in the order of the text
        let said = text.lines().next().unwrap_or_default().trim_start_matches("# ").to_owned();
        let found = analysis(&text);
        assert_eq!(codes(&found).join(" "), said, "{}", file.display());
        assert_eq!(found.diagnostics.iter().filter(|d| d.is_error()).count(), 6, "{}", file.display());
    }
}
