//! Every code is explained by a page whose examples are what they are called: the wrong one gives that code and nothing else that
//! weighs as much, the right one gives nothing at all.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use perflab::lang::codes::Code;
use serde_json::Value as Json;

use crate::support::Lab;

/// Codes of files that no page can show, and such files.
fn generated(code: Code) -> Option<(String, String)> {
    let right = "use std/engines { sim }\nengine mine = sim { --max-num-seqs=64 }\n".to_owned();
    let wrong = match code {
        Code::NotText => "metric m = total_tps\0\n".to_owned(),
        Code::TooLarge => "# a comment\n".repeat(100_000),
        Code::TooMany => "what is this\nparam x = 5K\n".repeat(1000),
        _ => return None,
    };
    Some((wrong, right))
}

/// The example under a heading.
fn example(page: &str, heading: &str) -> Option<String> {
    let section = page.split(&format!("\n## {heading}\n")).nth(1)?;
    let block = section.split("```").nth(1)?;
    block.split_once('\n').map(|(_, text)| text.to_owned())
}

/// Codes and severities that `perflab check` finds in a text.
fn found(lab: &Lab, text: &str, code: Code) -> Vec<(String, String)> {
    lab.write("example.plab", text);
    let asks = [Code::InstalledFlag, Code::InstalledValue, Code::InstalledVersion, Code::InstalledMissing];
    let stdout = if asks.contains(&code) {
        installed(lab)
    } else {
        lab.run(&["check", "--format", "json", "example.plab"]).stdout
    };
    let document: Json = serde_json::from_str(&stdout).expect("one document");
    let all = document["diagnostics"].as_array().expect("a list").clone();
    let word = |d: &Json, key: &str| d[key].as_str().unwrap_or_default().to_owned();
    all.iter().map(|d| (word(d, "code"), word(d, "severity"))).collect()
}

/// What a machine says that has only the programs of the golden files.
fn installed(lab: &Lab) -> String {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui/installed");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_perflab"));
    command.args(["check", "--installed", "--format", "json", "example.plab"]).env("PATH", programs);
    String::from_utf8(command.current_dir(lab.path("")).output().expect("it runs").stdout).expect("text")
}

/// Notes weigh least.
fn weight(severity: &str) -> usize {
    ["note", "warning", "error"].iter().position(|s| *s == severity).expect("a severity")
}

/// What is not as it should be with a code's examples.
fn complaints(lab: &Lab, code: Code) -> Vec<String> {
    let examples = generated(code).or_else(|| {
        let page = code.page();
        Some((example(page, "Wrong")?, example(page, "Right")?))
    });
    let id = code.id();
    let Some((wrong, right)) = examples else { return vec![format!("{id}: no examples")] };
    let mut out = Vec::new();
    let least = match code.severity() {
        perflab::lang::Severity::Error => 2,
        perflab::lang::Severity::Warning => 1,
        perflab::lang::Severity::Note => 0,
    };
    let said = found(lab, &wrong, code);
    let heavy: Vec<&String> = said.iter().filter(|(_, s)| weight(s) >= least).map(|(c, _)| c).collect();
    // what is too many is told beside the many
    let fits = if code == Code::TooMany {
        heavy.last().is_some_and(|c| *c == id)
    } else {
        // what is doubted for its version comes with the doubt about the version
        let fits = |c: &str| c == id || matches!(code, Code::FlagDoubt) && c == Code::VersionUnknown.id();
        heavy.iter().any(|c| *c == id) && heavy.iter().all(|c| fits(c))
    };
    if !fits {
        out.push(format!("{id}: the wrong example gives {said:?}"));
    }
    let mut said = found(lab, &right, code);
    // what cannot be measured yet may stand in an example of something else
    said.retain(|(c, s)| c == id || weight(s) >= least.min(1));
    if !said.is_empty() {
        out.push(format!("{id}: the right example gives {said:?}"));
    }
    out
}

#[test]
fn examples_of_every_code_are_what_they_are_called() {
    let lab = Lab::new();
    let wrong: Vec<String> = Code::ALL.iter().flat_map(|c| complaints(&lab, *c)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_page_is_of_something() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/codes");
    for entry in fs::read_dir(folder).expect("the pages") {
        let name = entry.expect("a file").file_name().to_string_lossy().into_owned();
        let lab = Lab::new();
        let out = lab.run(&["explain", name.trim_end_matches(".md")]);
        assert_eq!(out.code, 0, "docs/codes/{name} explains nothing");
    }
}

#[test]
fn codes_are_found_in_any_case_and_listed() {
    let lab = Lab::new();
    let upper = lab.run(&["explain", "E301"]);
    assert!(upper.stdout.starts_with("E301: the engine does not know the flag\n"), "{}", upper.stdout);
    assert_eq!(upper.stdout, lab.run(&["explain", "e301"]).stdout);
    assert!(lab.run(&["explain", "client_sat"]).stdout.starts_with("CLIENT_SAT: the client kept up\n"));
    let list = lab.run(&["explain"]);
    assert_eq!(list.code, 0);
    for code in Code::ALL {
        assert!(list.stdout.contains(&format!("{}  {}\n", code.id(), code.title())), "{}", list.stdout);
    }
}

#[test]
fn an_unknown_code_is_an_error_that_names_its_neighbours() {
    let lab = Lab::new();
    lab.run(&["explain", "CLIENT_SAD"]).expect_error(1, &["CLIENT_SAD", "did you mean CLIENT_SAT"]);
    lab.run(&["explain", "seventeen"]).expect_error(1, &["seventeen", "lists all"]);
}

/// The page that lists all codes, as it should be.
fn listed() -> String {
    let mut codes = Code::ALL.to_vec();
    codes.sort_by_key(|c| (c.id()[1..].to_owned(), c.id()));
    let subjects = [
        ('1', "Syntax"),
        ('2', "Names"),
        ('3', "Flags and engines"),
        ('4', "Values and units"),
        ('5', "Studies"),
        ('6', "Profiles"),
        ('9', "What this version cannot do yet"),
    ];
    let mut out = "# Diagnostics\n\nEvery code that `perflab check` can give. E is an error, W a warning, N a note; a code never changes its \
                   meaning.\n`perflab explain CODE` prints the page of one.\n"
        .to_owned();
    for (digit, subject) in subjects {
        let _ = write!(out, "\n## {subject}\n\n| code | says |\n| --- | --- |\n");
        for code in codes.iter().filter(|c| c.id().chars().nth(1) == Some(digit)) {
            let _ = writeln!(out, "| [{id}](codes/{id}.md) | {} |", code.title(), id = code.id());
        }
    }
    out.push_str("\n## Validity checks of results\n\nWhat is checked before a number is believed ([measurement.md](measurement.md#checks)).\n");
    out.push_str("\n| check | says |\n| --- | --- |\n");
    for check in perflab::judge::checks::CHECKS {
        let _ = writeln!(out, "| [{name}](codes/{name}.md) | {} |", check.about, name = check.name);
    }
    out
}

#[test]
fn the_documentation_lists_every_code() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/diagnostics.md");
    let now = listed();
    if std::env::var_os("UPDATE_EXPECT").is_some_and(|v| v == "1") {
        fs::write(&file, &now).expect("written");
    }
    let before = fs::read_to_string(&file).unwrap_or_default();
    assert!(now == before, "UPDATE_EXPECT=1 writes docs/diagnostics.md anew:\n{now}");
}
