//! The help that Python's argparse prints, read: of a program whose parser cannot be reached, as one behind a script of a shell.

use serde_json::Value as Json;

use super::rows::Row;

/// The options that a help text describes.
pub fn rows_of_argparse(text: &str) -> Vec<Row> {
    let mut entries: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        if indent == 2 && line.trim_start().starts_with('-') {
            let (head, description) = line.trim().split_once("  ").unwrap_or((line.trim(), ""));
            entries.push((head.to_owned(), description.trim().to_owned()));
        } else if indent > 2
            && let Some((_, description)) = entries.last_mut()
        {
            description.push(' ');
            description.push_str(line.trim());
        } else if !line.trim().is_empty() {
            // a heading, or what is said of a group
            entries.push((String::new(), String::new()));
        }
    }
    entries.iter().filter_map(|(head, description)| row(head, description)).collect()
}

/// `--name VALUE, -n VALUE` and its description.
fn row(head: &str, description: &str) -> Option<Row> {
    let mut spellings = Vec::new();
    let mut value = "";
    for part in head.split(", -") {
        let (name, what) = part.split_once(' ').unwrap_or((part, ""));
        let dash = if spellings.is_empty() { "" } else { "-" };
        spellings.push(format!("{dash}{name}"));
        value = what.trim();
    }
    let flag = spellings.iter().find(|n| n.starts_with("--")).or(spellings.first())?.clone();
    if !flag.starts_with('-') {
        return None;
    }
    let many = value.ends_with("...]");
    let first = value.split(" [").next().unwrap_or(value);
    let listed = first.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    Some(Row {
        aliases: spellings.into_iter().filter(|n| *n != flag).collect(),
        flag,
        kind: if value.is_empty() { "bool" } else { "str" }.to_owned(),
        action: String::new(),
        nargs: if many { "+".into() } else { Json::Null },
        choices: listed.map(|l| l.split(',').map(Json::from).collect()),
        default: default(description),
        vague: true,
        keys: Vec::new(),
        known: Vec::new(),
    })
}

/// What the last parenthesis says, in Python's words.
fn default(description: &str) -> Json {
    let told = description.rsplit_once("(default: ").and_then(|(_, rest)| rest.trim_end().strip_suffix(')'));
    match told {
        None | Some("None" | "" | "set()") => Json::Null,
        Some("True") => Json::Bool(true),
        Some("False") => Json::Bool(false),
        Some(list) if list.starts_with(['[', '{']) => Json::Null,
        Some(text) => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "\
usage: vllm serve [model_tag] [options]

options:
  -h, --help            show this help message and exit
  --seed SEED           Random seed for reproducibility.
                        We set it (default: never)
                        to be sure. (default:
                        0)

Engine:
  Arguments of the engine.

  --enable-dbo, --no-enable-dbo, -dbo
                        Enable it. (default: False)
  --dtype {auto,half}   The type. (default: auto)
  --tensor-parallel-size SIZE, -tp SIZE
  --api-key API_KEY [API_KEY ...]
                        The keys. (default: None)
  --mode ['a', 'b']     Others are taken too. (default: a)
";

    #[test]
    fn options_are_read_with_their_spellings_choices_and_defaults() {
        let told = |r: Row| {
            let choices = r.choices.map(|c| Json::from(c).to_string()).unwrap_or_default();
            format!("{} {} {} {choices} {} {}", r.flag, r.aliases.join(" "), r.kind, r.nargs, r.default)
        };
        let rows: Vec<String> = rows_of_argparse(HELP).into_iter().map(told).collect();
        assert_eq!(
            rows,
            [
                "--help -h bool  null null",
                "--seed  str  null \"0\"",
                "--enable-dbo --no-enable-dbo -dbo bool  null false",
                "--dtype  str [\"auto\",\"half\"] null \"auto\"",
                "--tensor-parallel-size -tp str  null null",
                "--api-key  str  \"+\" null",
                "--mode  str  null \"a\"",
            ]
        );
        assert!(rows_of_argparse("no such thing\n- x").is_empty());
    }
}
