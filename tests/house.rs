//! The house rules, held by tests: who imports whom, what every file begins with, and that the documentation says
//! what the binary does.
//!
//! Code blocks in the documentation have a language word that says what must be true of them:
//!  * `plab`: a whole file; `perflab check` finds no error in it, and no doubt whose code it does not name.
//!  * `plab,fragment`: a piece of a file. It must parse, and its flags, units and settings must be right; only names that
//!    stand elsewhere (E2…, E405) and what its study still lacks (E5…) may be missing.
//!  * `plab,wrong`: at least one error, and every error code that the block names in a comment is among them.
//!  * `sh`: its lines that run perflab name real commands, options and example files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use regex::Regex;

const BINARY: &str = env!("CARGO_BIN_EXE_perflab");
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

// ---- the source tree ---------------------------------------------------------------------------------------------

#[test]
fn folders_import_only_what_the_table_allows() {
    let table = import_table();
    let rooms = folders(&Path::new(ROOT).join("src"));
    assert_eq!(
        table.keys().cloned().collect::<BTreeSet<_>>(),
        rooms,
        "ARCHITECTURE.md has a row for every folder of src, and no other"
    );
    let mut wrong = Vec::new();
    for (room, allowed) in &table {
        for file in files_below(&Path::new(ROOT).join("src").join(room), "rs") {
            for used in imports(&read(&file)) {
                if rooms.contains(&used) && used != *room && !allowed.contains(&used) {
                    wrong.push(format!("{}: {room} may not import {used}", shown(&file)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The fuzzed crate includes some files of a room without the others, which a build of perflab does not notice.
#[test]
fn what_is_fuzzed_imports_only_what_is_fuzzed() {
    let fuzz = Path::new(ROOT).join("fuzz/src");
    let list = read(&fuzz.join("lib.rs"));
    let included = Regex::new(r#"#\[path = "([^"]+\.rs)"\]\s*(?:pub )?mod ([a-z_]+);"#).expect("a pattern");
    let files: Vec<(PathBuf, String)> =
        included.captures_iter(&list).map(|c| (fuzz.join(&c[1]), c[2].to_owned())).collect();
    let known: BTreeSet<&str> = files.iter().map(|(_, name)| name.as_str()).collect();
    assert!(known.contains("meter"), "the list of {} is read", shown(&fuzz.join("lib.rs")));
    let import = Regex::new(r"\bsuper::([a-z_]+)").expect("a pattern");
    let mut wrong = Vec::new();
    for (file, _) in files.iter().filter(|(_, name)| name != "lang") {
        let text = read(file);
        let code: Vec<&str> = text.lines().filter(|l| !l.trim_start().starts_with("//")).collect();
        for used in import.captures_iter(&code.join("\n")).filter(|c| !known.contains(&c[1])) {
            wrong.push(format!(
                "{} imports {}, which fuzz/src/lib.rs does not include",
                shown(file),
                &used[1]
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn imports_are_found_in_every_form() {
    let text = "use crate::plan::{Config, command};\n  use crate::{judge::{Run, Walk}, lang};\n\
                let x = crate::load::run();\n// crate::sim::x and crate::gpu\npub(in crate::run) fn f() {}";
    let expected = ["judge", "lang", "load", "plan", "run"].map(str::to_owned);
    assert_eq!(imports(text), BTreeSet::from(expected));
}

#[test]
fn every_source_file_says_what_it_is_for() {
    let files = files_below(&Path::new(ROOT).join("src"), "rs");
    assert!(files.len() > 50, "the source tree is where it should be");
    let mute: Vec<String> =
        files.iter().filter(|f| !begins_with_purpose(&read(f))).map(|f| shown(f)).collect();
    assert!(mute.is_empty(), "begin with `//! what for, and why so`: {}", mute.join(", "));
}

fn begins_with_purpose(text: &str) -> bool {
    text.lines()
        .next()
        .and_then(|l| l.strip_prefix("//! "))
        .is_some_and(|said| said.split_whitespace().count() >= 3)
}

/// The rows under "Who may import whom": folder → folders that it may import.
fn import_table() -> BTreeMap<String, BTreeSet<String>> {
    let text = read(&Path::new(ROOT).join("ARCHITECTURE.md"));
    let section = text.split("## Who may import whom").nth(1).expect("ARCHITECTURE.md has the section");
    let section = section.split("\n## ").next().unwrap_or(section);
    let rows: Vec<(String, String)> = section
        .lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix('|')?.split('|').map(|c| c.replace('`', "").trim().to_owned());
            Some((cells.next()?, cells.next()?))
        })
        .filter(|(room, _)| room != "folder" && !room.starts_with("---"))
        .collect();
    let all: BTreeSet<String> = rows.iter().map(|(room, _)| room.clone()).collect();
    let allowed = |cell: &str| match cell {
        "everything" => all.clone(),
        "–" => BTreeSet::new(),
        some => some.split(',').map(|s| s.trim().to_owned()).collect(),
    };
    let table: BTreeMap<_, _> = rows.iter().map(|(room, cell)| (room.clone(), allowed(cell))).collect();
    for (room, allowed) in &table {
        let unknown: Vec<_> = allowed.difference(&all).collect();
        assert!(unknown.is_empty(), "the row of {room} names {unknown:?}, which has no row");
    }
    table
}

/// First segments of all paths that begin with `crate::`, comments apart.
fn imports(text: &str) -> BTreeSet<String> {
    let code: Vec<&str> = text.lines().filter(|l| !l.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let single = Regex::new(r"\bcrate::([a-z_]+)").expect("a pattern");
    let mut found: BTreeSet<String> = single.captures_iter(&code).map(|c| c[1].to_owned()).collect();
    for (at, opening) in code.match_indices("crate::{") {
        found.extend(first_segments(&code[at + opening.len()..]));
    }
    found
}

/// The first word of each entry of a braced list, given from behind its opening brace.
fn first_segments(list: &str) -> Vec<String> {
    let (mut depth, mut entries) = (0_usize, vec![String::new()]);
    for c in list.chars() {
        match c {
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            '{' => depth += 1,
            ',' if depth == 0 => entries.push(String::new()),
            c if depth == 0 => entries.last_mut().expect("never empty").push(c),
            _ => {}
        }
    }
    let first = |e: &String| e.trim().split("::").next().unwrap_or_default().to_owned();
    entries.iter().map(first).filter(|e| !e.is_empty()).collect()
}

// ---- plab blocks -------------------------------------------------------------------------------------------------

#[test]
fn plab_blocks_are_what_they_are_called() {
    // the pages of codes have a test of their own, which asks for more
    let blocks: Vec<Block> = documents()
        .iter()
        .filter(|d| !d.parent().is_some_and(|p| p.ends_with("codes")))
        .flat_map(|d| blocks(d))
        .filter(|b| b.is("plab"))
        .collect();
    assert!(blocks.len() > 10, "the documentation shows the language");
    let dir = tempfile::tempdir().expect("a folder");
    let wrong: Vec<String> =
        blocks.iter().filter_map(|b| Some(format!("{}: {}", b.at, complaint(b, dir.path())?))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is not true of a block that its language word says.
fn complaint(block: &Block, dir: &Path) -> Option<String> {
    let (errors, mut doubts) = found(&block.text, dir);
    doubts.retain(|(code, _)| !block.text.contains(code.as_str()));
    let codes: BTreeSet<&str> = errors.iter().map(|(code, _)| code.as_str()).collect();
    match block.language.as_str() {
        "plab" if errors.is_empty() && !doubts.is_empty() => Some(format!("is doubted: {doubts:?}")),
        "plab" if errors.is_empty() => {
            let laid_out = perflab::lang::fmt::format(&block.text).is_ok_and(|text| text == block.text);
            (!laid_out).then(|| "is not as `perflab fmt` lays it out".to_owned())
        }
        "plab" => Some(format!("is not a sound file: {errors:?}")),
        "plab,fragment" => {
            let far: Vec<_> = errors.iter().filter(|(code, _)| !may_be_elsewhere(code)).collect();
            (!far.is_empty()).then(|| format!("is not a sound fragment: {far:?}"))
        }
        "plab,wrong" => {
            let named = Regex::new(r"#[^\n]*\b(E\d{3})\b").expect("a pattern");
            let missed: Vec<&str> = named
                .captures_iter(&block.text)
                .filter_map(|c| c.get(1))
                .map(|m| m.as_str())
                .filter(|c| !codes.contains(c))
                .collect();
            match (errors.is_empty(), missed.is_empty()) {
                (true, _) => Some("shows a mistake, and no error is found".to_owned()),
                (false, false) => Some(format!("should give {missed:?} and gives {errors:?}")),
                (false, true) => None,
            }
        }
        other => match other.strip_prefix("plab,from=") {
            Some(file) => not_from(block, file),
            None => Some(format!("`{other}` is no kind of block")),
        },
    }
}

/// An excerpt stands in the file as it is written, line by line and in one piece.
fn not_from(block: &Block, file: &str) -> Option<String> {
    let text = fs::read_to_string(Path::new(ROOT).join(file)).unwrap_or_default();
    let found = !block.text.trim().is_empty() && format!("\n{text}").contains(&format!("\n{}", block.text));
    (!found).then(|| format!("is no excerpt of {file}"))
}

fn may_be_elsewhere(code: &str) -> bool {
    code == "E405" || code.starts_with("E2") || code.starts_with("E5")
}

/// Codes with their messages.
type Told = Vec<(String, String)>;

/// Codes and messages of the errors that `perflab check` finds, and of its warnings.
fn found(text: &str, dir: &Path) -> (Told, Told) {
    let file = dir.join("block.plab");
    fs::write(&file, text).expect("written");
    let output = perflab(&["check", "--format", "json", &file.to_string_lossy()]);
    let document: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("one JSON document on stdout");
    let all = document["diagnostics"].as_array().expect("a list");
    let told = |d: &serde_json::Value| {
        let text = |v: &serde_json::Value| v.as_str().unwrap_or_default().to_owned();
        (text(&d["code"]), text(&d["message"]))
    };
    let errors: Vec<_> = all.iter().filter(|d| d["severity"] == "error").map(told).collect();
    assert_eq!(output.status.code(), Some(i32::from(!errors.is_empty())), "1 on errors, else 0:\n{text}");
    (errors, all.iter().filter(|d| d["severity"] == "warning").map(told).collect())
}

// ---- commands and links ------------------------------------------------------------------------------------------

#[test]
fn commands_in_the_documentation_exist() {
    let help = help(&[]);
    let commands: BTreeSet<&str> = help
        .lines()
        .skip_while(|l| !l.starts_with("Commands:"))
        .skip(1)
        .take_while(|l| l.starts_with("  "))
        .filter_map(|l| l.split_whitespace().next())
        .collect();
    assert!(commands.contains("exec"), "{help}");
    let mut seen = 0;
    let mut wrong = Vec::new();
    for document in documents() {
        for (at, words) in command_lines(&document) {
            seen += 1;
            wrong.extend(command_complaints(&words, &commands).into_iter().map(|c| format!("{at}: {c}")));
        }
    }
    assert!(seen > 10, "the documentation shows commands");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Lines of `sh` blocks, and code spans of more than one word, that run perflab: where, and the words behind it.
fn command_lines(document: &Path) -> Vec<(String, Vec<String>)> {
    let mut lines: Vec<(String, String)> = Vec::new();
    for block in blocks(document).into_iter().filter(|b| b.is("sh")) {
        let joined = block.text.replace("\\\n", " ");
        lines.extend(joined.lines().map(|l| (block.at.clone(), l.to_owned())));
    }
    let span = Regex::new(r"`([^`\n]+)`").expect("a pattern");
    let prose = without_blocks(&read(document));
    lines.extend(span.captures_iter(&prose).map(|c| (shown(document), c[1].to_owned())));
    lines.into_iter().filter_map(|(at, line)| Some((at, perflab_words(&line)?))).collect()
}

/// The words behind `perflab` or `cargo run --release --`, comments and redirections apart.
fn perflab_words(line: &str) -> Option<Vec<String>> {
    let line = line.trim().trim_start_matches("$ ");
    let rest = line.strip_prefix("perflab ").or_else(|| line.strip_prefix("cargo run --release -- "))?;
    let rest = rest.split(" #").next().unwrap_or(rest);
    Some(rest.split_whitespace().take_while(|w| !w.starts_with(['>', '|', '…'])).map(str::to_owned).collect())
}

fn command_complaints(words: &[String], commands: &BTreeSet<&str>) -> Vec<String> {
    let Some(command) = words.first().filter(|w| !w.starts_with('-')) else { return Vec::new() };
    if !commands.contains(command.as_str()) {
        return vec![format!("there is no command `perflab {command}`")];
    }
    // a word of its own may be a command of the command
    let inner = words.get(1).filter(|w| w.as_str() == "learn");
    let help = inner.map_or_else(|| help(&[command]), |inner| help(&[command, inner]));
    let options = words.iter().filter(|w| w.starts_with('-')).map(|w| w.split('=').next().unwrap_or(w));
    let mut wrong: Vec<String> = options
        .filter(|o| !help.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').any(|h| h == *o))
        .map(|o| format!("`perflab {command}` has no option `{o}`"))
        .collect();
    let files = words.iter().filter(|w| w.starts_with("examples/"));
    wrong.extend(files.filter(|f| !Path::new(ROOT).join(f).exists()).map(|f| format!("there is no {f}")));
    wrong
}

#[test]
fn links_lead_somewhere() {
    let link = Regex::new(r"\]\(([^)#\s]+)(#[^)]*)?\)").expect("a pattern");
    let mut wrong = Vec::new();
    for document in documents() {
        let here = document.parent().expect("a folder").to_owned();
        for c in link.captures_iter(&without_blocks(&read(&document))) {
            if !c[1].contains("://") && !here.join(&c[1]).exists() {
                wrong.push(format!("{}: {}", shown(&document), &c[1]));
            }
        }
    }
    assert!(wrong.is_empty(), "dead links: {}", wrong.join(", "));
}

fn perflab(args: &[&str]) -> Output {
    Command::new(BINARY).args(args).output().expect("the binary runs")
}

fn help(command: &[&str]) -> String {
    let args: Vec<&str> = command.iter().copied().chain(["--help"]).collect();
    String::from_utf8(perflab(&args).stdout).expect("text")
}

// ---- documents ---------------------------------------------------------------------------------------------------

/// A fenced block of a document.
struct Block {
    at: String,
    language: String,
    text: String,
}

impl Block {
    fn is(&self, language: &str) -> bool {
        self.language.split(',').next() == Some(language)
    }
}

/// The documents at the top and in `docs`.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(ROOT);
    let mut all: Vec<PathBuf> = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
        .iter()
        .map(|n| root.join(n))
        .collect();
    all.extend(files_below(&root.join("docs"), "md"));
    all
}

fn blocks(document: &Path) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut open: Option<Block> = None;
    for (i, line) in read(document).lines().enumerate() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(_), Some(block)) => found.push(block),
            (Some(language), None) => {
                let at = format!("{}:{}", shown(document), i + 1);
                open = Some(Block { at, language: language.trim().to_owned(), text: String::new() });
            }
            (None, Some(mut block)) => {
                block.text.push_str(line);
                block.text.push('\n');
                open = Some(block);
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "{}: a block is not closed", shown(document));
    found
}

fn without_blocks(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

// ---- files -------------------------------------------------------------------------------------------------------

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn shown(path: &Path) -> String {
    path.strip_prefix(ROOT).unwrap_or(path).display().to_string()
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let list = fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut paths: Vec<PathBuf> = list.map(|e| e.expect("an entry").path()).collect();
    paths.sort();
    paths
}

fn folders(dir: &Path) -> BTreeSet<String> {
    let names = entries(dir)
        .into_iter()
        .filter(|p| p.is_dir())
        .filter_map(|p| Some(p.file_name()?.to_str()?.to_owned()));
    names.collect()
}

fn files_below(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in entries(dir) {
        if path.is_dir() {
            found.extend(files_below(&path, extension));
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found
}
