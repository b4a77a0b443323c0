//! Where a shell script says that programs, modules and libraries are found: lists in variables, environments that it activates, directories
//! that it goes to.

use std::path::PathBuf;

use super::shell::{Word, assigned, first_of, rest_of};

/// Directories of one list, and of one command, that are looked at.
const MOST: usize = 16;

/// The directories in a list that commands give to a variable: `PATH="$PWD/bin:$PATH"`.
pub fn in_variable<'c>(
    name: &'c str,
    commands: &'c [Vec<Word>],
    bases: &'c [PathBuf],
) -> impl Iterator<Item = PathBuf> + 'c {
    let values = commands.iter().flatten().filter_map(move |word| match assigned(&word.text) {
        (Some(of), value) if of == name => Some(value),
        _ => None,
    });
    let values: Vec<String> = values.map(without_itself).collect();
    // `$PWD` alone is where the script runs, and another variable alone is what was there before
    let is_own = |dir: &&str| !dir.starts_with('$') || dir.contains('/') || ["$PWD", "${PWD}"].contains(dir);
    let named = values.iter().flat_map(|value| value.split(':')).filter(|dir| !dir.is_empty());
    let named: Vec<String> = named.filter(is_own).map(str::to_owned).collect();
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let dirs = named.into_iter().flat_map(move |dir| {
        // a shell takes `~` for a home directory behind `=` and `:` too
        let of_home = home.as_ref().and_then(|home| Some(home.join(dir.strip_prefix("~/")?)));
        of_home.into_iter().chain(bases.iter().map(move |base| base.join(rest_of(&dir))))
    });
    dirs.filter(|dir| dir.is_dir()).take(MOST)
}

/// A value without what stands in it only if a variable is set, as in `lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}`, and with the defaults of
/// others, `${DIR:-lib}`.
fn without_itself(value: &str) -> String {
    let mut text = value.to_owned();
    let mut from = 0;
    while let Some(start) = text[from..].find("${").map(|at| from + at) {
        let Some(end) = closing(&text[start..]).map(|at| start + at) else { break };
        let inner = &text[start + 2..end];
        let name = inner.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(inner.len());
        let with = match inner[name..].trim_start_matches(':').split_at_checked(1) {
            Some(("+", _)) => "",
            Some(("-" | "=", default)) => default,
            _ => {
                from = start + 2;
                continue;
            }
        };
        text = format!("{}{with}{}", &text[..start], &text[end + 1..]);
    }
    text
}

/// Where the brace is closed that a text begins with, `${…}`.
fn closing(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => open += 1,
            '}' if open == 1 => return Some(at),
            '}' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// The directories that a command goes to, by itself (`cd lib`) or for what it runs (`env -C lib …`).
pub fn gone_to(command: &[Word]) -> Vec<&str> {
    let goes = ["cd", "pushd"].contains(&command[0].text.as_str());
    let for_another = |at: usize| {
        command.iter().any(|w| w.text == "env") && ["-C", "--chdir"].contains(&command[at - 1].text.as_str())
    };
    let words = command.iter().enumerate().skip(1);
    let named = words.filter(|(at, _)| goes || for_another(*at)).map(|(_, w)| w.text.as_str());
    let joined = command.iter().filter_map(|w| w.text.strip_prefix("--chdir="));
    named.chain(joined).map(rest_of).filter(|w| !w.is_empty()).collect()
}

/// The directories of programs of the environments that commands activate: `. venv/bin/activate`.
pub fn activated(commands: &[Vec<Word>], bases: &[PathBuf]) -> Vec<PathBuf> {
    let sourcing = commands.iter().filter(|c| [".", "source"].contains(&first_of(c)));
    let scripts = sourcing.flatten().map(|w| rest_of(&w.text)).filter(|w| w.ends_with("bin/activate"));
    let dirs = scripts.flat_map(|w| bases.iter().filter_map(move |b| Some(b.join(w).parent()?.to_owned())));
    dirs.filter(|dir| dir.join("activate").is_file()).take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::super::folder;
    use super::super::shell::commands;
    use super::*;

    #[test]
    fn lists_that_go_on_with_what_was_there_name_what_is_new() {
        for (written, plain) in [
            ("lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}", "lib"),
            ("${PYTHONPATH:+${PYTHONPATH}:}src", "src"),
            ("${PYTHONPATH:-a/lp}:b", "a/lp:b"),
            ("$HERE/lib:${PATH}", "$HERE/lib:${PATH}"),
            ("${open", "${open"),
        ] {
            assert_eq!(without_itself(written), plain, "{written}");
        }
    }

    #[test]
    fn directories_are_those_that_are_there() {
        let dir = folder::of(&[("src/a.py", ""), ("lib/b.py", ""), ("venv/bin/activate", "")]);
        let bases = [dir.path().to_owned()];
        let all = commands(
            "export PYTHONPATH=\"$PWD/src:lib:none:$PYTHONPATH\"\n. venv/bin/activate\ncd $HERE/lib\nenv -C src A=1 x\nenv --chdir=lib x",
        );
        let at = |name: &str| dir.path().join(name);
        assert_eq!(in_variable("PYTHONPATH", &all, &bases).collect::<Vec<_>>(), [at("src"), at("lib")]);
        assert_eq!(activated(&all, &bases), [at("venv/bin")]);
        assert_eq!(all.iter().flat_map(|c| gone_to(c)).collect::<Vec<_>>(), ["lib", "src", "lib"]);
    }
}
