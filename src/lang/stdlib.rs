//! The standard library: `.plab` text embedded in the binary.
//!
//! `std/engines` is one file an engine, because an engine's schema is long and a study names one or two: only what is named is read.

/// One file of the library: its name as shown in messages, and its text.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    pub name: &'static str,
    pub text: &'static str,
}

macro_rules! part {
    ($name:literal) => {
        Part { name: concat!("std/", $name), text: include_str!(concat!("../../stdlib/", $name, ".plab")) }
    };
}

const ENGINES: &[(&str, Part)] = &[
    ("vllm", part!("engines/vllm")),
    ("sglang", part!("engines/sglang")),
    ("trtllm", part!("engines/trtllm")),
    ("llama_cpp", part!("engines/llama_cpp")),
    ("sim", part!("engines/sim")),
];

const MODULES: &[(&str, Part)] = &[
    ("profiles", part!("profiles")),
    ("axes", part!("axes")),
    ("rules", part!("rules")),
    ("metrics", part!("metrics")),
];

/// The names that may stand after `std/`.
pub const LIBRARIES: &[&str] = &["engines", "profiles", "axes", "rules", "metrics"];

/// Whether a source of this name is a file of the library, not one of the user's in a folder that is called `std` too.
pub fn is_part(name: &str) -> bool {
    ENGINES.iter().chain(MODULES).any(|(_, part)| part.name == name)
}

/// Whether a file is one of the library, not only called like one.
pub fn holds(name: &str, text: &str) -> bool {
    ENGINES.iter().chain(MODULES).any(|(_, part)| part.name == name && part.text == text)
}

/// The files of `std/NAME` that are needed to find `names` in it, or all of them if one of the names is in none.
pub fn parts(library: &str, names: &[&str]) -> Option<Vec<Part>> {
    match library {
        "engines" => {
            let all_known = names.iter().all(|n| ENGINES.iter().any(|(e, _)| e == n));
            let needed = ENGINES.iter().filter(|(e, _)| !all_known || names.contains(e));
            Some(needed.map(|(_, p)| *p).collect())
        }
        other => MODULES.iter().find(|(name, _)| *name == other).map(|(_, part)| vec![*part]),
    }
}

/// The module that declares a name, by the word of its kind: `profile` for `std/profiles`.
pub fn home(kind: &str, name: &str) -> Option<&'static str> {
    let library = match kind {
        "engine" => "engines",
        "axis" => "axes",
        "profile" => "profiles",
        "metric" => "metrics",
        _ => return None,
    };
    if library == "engines" {
        return ENGINES.iter().any(|(e, _)| *e == name).then_some(library);
    }
    let head = |line: &str| line.strip_prefix(kind).and_then(|l| l.split_whitespace().next()) == Some(name);
    parts(library, &[])?.iter().any(|p| p.text.lines().any(head)).then_some(library)
}

/// The texts of all engines of the library.
pub fn engine_texts() -> impl Iterator<Item = &'static str> {
    ENGINES.iter().map(|(_, part)| part.text)
}

/// One item of the library: its name, what it is in a line, and its text with the comment above it.
#[derive(Debug, Clone)]
pub struct Item {
    pub name: String,
    pub about: String,
    pub text: String,
}

/// The items of a module, in the order of its text. An engine's text is its whole file.
pub fn items(library: &str) -> Vec<Item> {
    if library == "engines" {
        return ENGINES.iter().map(|(name, part)| engine(name, part.text)).collect();
    }
    parts(library, &[]).into_iter().flatten().flat_map(|p| declarations(p.text)).collect()
}

fn engine(name: &str, text: &str) -> Item {
    let about = text
        .trim_start_matches("# ")
        .split('\n')
        .next()
        .and_then(|l| l.split(". ").next())
        .unwrap_or_default();
    Item { name: name.to_owned(), about: about.trim_end_matches('.').to_owned(), text: text.to_owned() }
}

/// Declarations of a module: each begins at the margin; comments that touch it from above belong to it.
fn declarations(text: &str) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut comment: Vec<&str> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        let item = items.last_mut().filter(|_| open);
        if let Some(item) = item {
            item.text.push_str(line);
            item.text.push('\n');
            open = line.starts_with(' ') || line.is_empty();
        } else if line.starts_with('#') {
            comment.push(line);
        } else if let Some((name, about)) = head(line, &comment) {
            let text = comment.drain(..).chain([line]).flat_map(|l| [l, "\n"]).collect();
            items.push(Item { name, about, text });
            open = line.ends_with(['{', '=', ',']);
        } else {
            comment.clear();
        }
    }
    items
}

/// A declaration's name, and the first sentence of its comment.
fn head(line: &str, comment: &[&str]) -> Option<(String, String)> {
    let mut words = line.split([' ', '=']).filter(|w| !w.is_empty());
    let kind = words.next().filter(|w| matches!(*w, "axis" | "profile" | "metric" | "prune"))?;
    let name = words.next()?.to_owned();
    let said = comment.iter().map(|l| l.trim_start_matches('#').trim()).collect::<Vec<_>>().join(" ");
    let sentence = said.split_inclusive(['.', ':']).next().unwrap_or_default().trim_end_matches(['.', ':']);
    Some((name, if sentence.is_empty() { kind.to_owned() } else { sentence.to_owned() }))
}
