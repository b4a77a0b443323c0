//! The texts of a configuration file, each with the name under which it stands: of JSON and YAML by their grammar, of TOML, INI and files of
//! arguments line by line, of templates what they include.

use std::fs;
use std::path::Path;

use saphyr_parser::{Event, Parser};
use serde_json::Value as Json;

/// Files that say more are data.
pub(super) const MOST_LEAVES: usize = 4096;

/// A text, and the name under which it stands.
type Leaf = (String, String);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Yaml,
    Template,
    /// `key = value`, `--flag value`, or a value alone
    Lines,
}

/// What a file is, by its name.
fn form(path: &Path) -> Option<Form> {
    let Some(ending) = path.extension() else { return Some(Form::Lines) };
    match ending.to_str()? {
        "json" => Some(Form::Json),
        "yaml" | "yml" => Some(Form::Yaml),
        "jinja" | "jinja2" | "j2" => Some(Form::Template),
        "toml" | "ini" | "cfg" | "conf" | "cnf" | "properties" | "args" | "txt" | "env" => Some(Form::Lines),
        _ => None,
    }
}

/// Whether a file may be one of these.
pub fn are_in(path: &Path) -> bool {
    form(path).is_some()
}

/// Whether what it says is told by a grammar, and not line by line.
pub fn have_grammar(path: &Path) -> bool {
    form(path).is_some_and(|form| form != Form::Lines)
}

/// The texts of a file; `None` where it is not to be read as what its name says, or is data.
pub fn of(path: &Path) -> Option<Vec<Leaf>> {
    let text = fs::read_to_string(path).ok()?;
    let mut leaves = Vec::new();
    match form(path)? {
        Form::Json => of_json("", &serde_json::from_str(&text).ok()?, &mut leaves),
        Form::Yaml => of_yaml(&text, &mut leaves)?,
        Form::Template => of_template(&text, &mut leaves),
        Form::Lines => of_lines(&text, &mut leaves),
    }
    (leaves.len() <= MOST_LEAVES).then_some(leaves)
}

fn of_json(name: &str, json: &Json, leaves: &mut Vec<Leaf>) {
    match json {
        Json::String(text) => leaves.push((name.to_owned(), text.clone())),
        Json::Array(all) => all.iter().for_each(|one| of_json(name, one, leaves)),
        Json::Object(map) => map.iter().for_each(|(key, one)| of_json(key, one, leaves)),
        _ => {}
    }
}

/// Every scalar that is no key, under the nearest key above it.
fn of_yaml(text: &str, leaves: &mut Vec<Leaf>) -> Option<()> {
    // of each mapping the key whose value comes next; of each list the key that it stands under
    let mut open: Vec<(bool, Option<String>)> = Vec::new();
    for event in Parser::new_from_str(text) {
        let name = open.last().and_then(|(_, name)| name.clone());
        match event.ok()?.0 {
            Event::MappingStart(..) => open.push((true, None)),
            Event::SequenceStart(..) => open.push((false, name)),
            Event::MappingEnd | Event::SequenceEnd => {
                open.pop();
                done(&mut open);
            }
            Event::Scalar(text, ..) => {
                if let Some((true, key @ None)) = open.last_mut() {
                    *key = Some(text.into_owned());
                } else {
                    leaves.push((name.unwrap_or_default(), text.into_owned()));
                    done(&mut open);
                }
            }
            Event::Alias(_) => done(&mut open),
            _ => {}
        }
        if leaves.len() > MOST_LEAVES {
            return None;
        }
    }
    Some(())
}

/// The value of a mapping's key was there.
fn done(open: &mut [(bool, Option<String>)]) {
    if let Some((true, key)) = open.last_mut() {
        *key = None;
    }
}

/// Lines of a key and a value, or of one value; longer ones are prose.
fn of_lines(text: &str, leaves: &mut Vec<Leaf>) {
    // the flag that stands in a line of its own, with its value in the next one
    let mut flag = String::new();
    for line in text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with(['#', ';', '[', '<']))
    {
        let line = line.trim_start_matches("- ").split(" #").next().unwrap_or_default();
        let parted = line.split_once(['=', ':']).or_else(|| line.split_once(char::is_whitespace));
        let (name, value) = match parted.filter(|(name, _)| !name.trim().contains([' ', '/', '.'])) {
            Some((name, value)) => (name.trim().trim_start_matches('-').to_owned(), value.trim()),
            None => (std::mem::take(&mut flag), line),
        };
        if name.is_empty() && value.starts_with('-') {
            value.trim_start_matches('-').clone_into(&mut flag);
            continue;
        }
        let value = value.trim_matches(['[', ']', '{', '}', ',', ' ']);
        let is_list = value.contains(',') || value.starts_with(['"', '\'']);
        if is_list || value.split_whitespace().count() <= 2 {
            let parts = value.split(',').map(|part| part.trim().trim_matches(['"', '\'', ' ']));
            leaves.extend(parts.filter(|part| !part.is_empty()).map(|part| (name.clone(), part.to_owned())));
        }
    }
}

/// `{% include 'other.jinja' %}`.
fn of_template(text: &str, leaves: &mut Vec<Leaf>) {
    for tag in text.split("{%").skip(1).filter_map(|rest| rest.split("%}").next()) {
        let tag = tag.trim_start_matches('-').trim_start();
        if ["include", "import", "extends", "from"].iter().any(|word| tag.starts_with(word)) {
            let quoted = tag.split(['"', '\'']).skip(1).step_by(2);
            leaves.extend(quoted.map(|name| (String::new(), name.to_owned())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        let mut leaves = Vec::new();
        of_lines(text, &mut leaves);
        leaves.into_iter().map(|(name, text)| format!("{name} {text}")).collect()
    }

    #[test]
    fn lines_of_toml_ini_and_arguments_are_read() {
        assert_eq!(
            read("[model]\n# old = x\nmodel = t.gguf\ndraft = \"d.bin\" # good\nlist = [\"a\", 'b']\n"),
            ["model t.gguf", "draft d.bin", "list a", "list b"]
        );
        assert_eq!(
            read(
                "--chat-template\nt.txt\n--config=c.yaml\n--file f.bin\nchat_template: u.txt\nlone/file.txt\n"
            ),
            ["chat-template t.txt", "config c.yaml", "file f.bin", "chat_template u.txt", " lone/file.txt"]
        );
        assert_eq!(read("A text of prose that says a file's name t.txt\n"), [] as [&str; 0]);
    }

    #[test]
    fn templates_name_what_they_include() {
        let mut leaves = Vec::new();
        of_template(
            "{%- include 'u.jinja' %}{{ 'no' }}{% from \"m.j2\" import x %}{% if 'x' %}",
            &mut leaves,
        );
        assert_eq!(leaves.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), ["u.jinja", "m.j2"]);
    }
}
