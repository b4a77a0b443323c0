//! `check --fix` never breaks a file: on every golden file that promises a fix, there are fewer mistakes afterwards, and no new ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value as Json;

use crate::support::Lab;

/// The errors and warnings of a file by code and message, with how often each stands there, and how many carry a fix.
fn found(lab: &Lab, file: &str) -> (BTreeMap<(String, String), usize>, usize) {
    let document: Json = lab.run(&["check", "--format", "json", file]).json();
    let (mut out, mut fixable) = (BTreeMap::new(), 0);
    for d in document["diagnostics"].as_array().expect("a list") {
        let text = |key: &str| d[key].as_str().unwrap_or_default().to_owned();
        if text("severity") != "note" {
            *out.entry((text("code"), text("message"))).or_default() += 1;
            fixable += usize::from(d["fixes"].as_array().is_some_and(|f| !f.is_empty()));
        }
    }
    (out, fixable)
}

#[test]
fn fixes_of_golden_files_leave_fewer_mistakes_and_no_new_ones() {
    let goldens = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui");
    let lab = Lab::new();
    let mut tried = 0;
    fs::create_dir_all(lab.path("shared")).expect("a folder");
    for folder in ["", "shared/"] {
        for entry in fs::read_dir(goldens.join(folder)).expect("golden files") {
            let from = entry.expect("an entry").path();
            if from.extension().is_some_and(|e| e == "plab") {
                let text = fs::read_to_string(&from).expect("text");
                lab.write(&format!("{folder}{}", file_name(&from)), text);
            }
        }
    }
    for entry in fs::read_dir(&goldens).expect("golden files") {
        let name = file_name(&entry.expect("an entry").path());
        if !name.ends_with(".plab") {
            continue;
        }
        let (before, promised) = found(&lab, &name);
        let text = fs::read_to_string(lab.path(&name)).expect("there");
        let out = lab.run(&["check", "--fix", &name]);
        let mended = fs::read_to_string(lab.path(&name)).expect("there");
        if promised == 0 {
            assert_eq!(mended, text, "{name} promises no fix and is changed");
            continue;
        }
        tried += 1;
        let (after, left) = found(&lab, &name);
        assert_eq!(left, 0, "{name} promises fixes after all were made: {mended}");
        let errors = |all: &BTreeMap<(String, String), usize>| -> usize {
            all.iter().filter(|((code, _), _)| code.starts_with('E')).map(|(_, n)| n).sum()
        };
        let (total, was) = (after.values().sum::<usize>(), before.values().sum::<usize>());
        assert!(
            errors(&after) < errors(&before) || total < was,
            "{name} has no fewer mistakes: {after:?}\n{mended}"
        );
        for ((code, message), n) in &after {
            let had = before.get(&(code.clone(), message.clone())).copied().unwrap_or(0);
            // warnings that only a file without errors has may show when its errors are gone
            let hidden = code.starts_with('W') && errors(&before) > errors(&after);
            assert!(*n <= had || hidden, "{name}: a fix made {code} {message}\n{}\n{mended}", out.stderr);
        }
    }
    assert!(tried > 60, "only {tried} files promise a fix");
}

fn file_name(path: &Path) -> String {
    path.file_name().expect("a name").to_string_lossy().into_owned()
}
