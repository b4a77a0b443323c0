//! Where an engine's program lies, and which Python it runs in. The program that a launch would start is followed, and nothing else is
//! believed: the `python3` that happens to be on the `PATH` may have another engine of that name, or none.

use std::fs;
use std::path::{Path, PathBuf};

use super::ask::AskError;
use crate::lang::sema::program::Engine;
use crate::run::interpreter_named_by;

/// Where to look for an engine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum From {
    Path,
    Venv(PathBuf),
}

/// Who can be asked for an engine's flags.
#[derive(Debug, PartialEq, Eq)]
pub enum Lead {
    /// the interpreter that the engine is installed for
    Python(PathBuf),
    /// a program, and the words that stand before its flags
    Program(PathBuf, Vec<String>),
}

/// Who may be asked, best first.
pub fn leads(engine: &Engine, from: &From) -> Result<Vec<Lead>, AskError> {
    if let From::Venv(_) = from {
        return Ok(vec![Lead::Python(program("python", from).or_else(|_| program("python3", from))?)]);
    }
    let words = shell_words::split(&engine.serve).unwrap_or_default();
    let (name, before) = started(&words, engine.root());
    let found = program(&name, from)?;
    if is_python(&name) {
        return Ok(vec![Lead::Python(found)]);
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let python =
        interpreter_named_by(&found, &path).filter(|_| imports(&found, engine.root())).map(Lead::Python);
    Ok(python.into_iter().chain([Lead::Program(found, before)]).collect())
}

/// Whether a script is the engine's own entry, as pip writes it. One that starts something else runs in another Python than the engine.
fn imports(script: &Path, root: &str) -> bool {
    let text = fs::read_to_string(script).unwrap_or_default();
    text.lines().any(|line| {
        let mut words = line.split_whitespace();
        let imports = matches!(words.next(), Some("from" | "import"));
        imports && words.next().is_some_and(|module| module.split('.').next() == Some(root))
    })
}

/// The program of a serve line and its words before any flag or place: `vllm`, `serve`. What stands before it, as `numactl -N 0`,
/// starts it and is not it.
pub fn started(words: &[String], root: &str) -> (String, Vec<String>) {
    let name = |w: &String| Path::new(w).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let own = root.replace('_', "-");
    let called = |w: &&String| name(w) == root || name(w).starts_with(&format!("{own}-"));
    let own_word = words.iter().position(|w| called(&w)).filter(|at| words[..*at].iter().all(|w| w != "-m"));
    let at = own_word.or_else(|| words.iter().position(|w| is_python(w))).unwrap_or(0);
    let Some(program) = words.get(at) else { return (root.to_owned(), Vec::new()) };
    let plain = |w: &&String| !w.starts_with('-') && !w.contains('{');
    (program.clone(), words[at + 1..].iter().take_while(plain).cloned().collect())
}

fn is_python(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    name.strip_prefix("python").is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// Whether a program is where it would be looked for.
pub fn is_here(name: &str, from: &From) -> bool {
    program(name, from).is_ok()
}

/// The file of a program.
pub fn program(name: &str, from: &From) -> Result<PathBuf, AskError> {
    match from {
        From::Venv(dir) => {
            let program = dir.join("bin").join(name);
            if program.is_file() {
                Ok(program)
            } else {
                Err(AskError::NoProgram(program.display().to_string()))
            }
        }
        From::Path if name.contains('/') => {
            which::which(name).map_err(|_| AskError::NoProgram(name.to_owned()))
        }
        From::Path => {
            which::which_global(name).map_err(|_| AskError::NoProgram(format!("{name} on the PATH")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_of_a_serve_line_is_the_engines_own() {
        let of = |line: &str, root: &str| {
            let (program, before) = started(&shell_words::split(line).expect("words"), root);
            format!("{program} [{}]", before.join(" "))
        };
        assert_eq!(of("vllm serve {model} --port {port}", "vllm"), "vllm [serve]");
        assert_eq!(of("numactl -N 0 /opt/bin/vllm serve {model}", "vllm"), "/opt/bin/vllm [serve]");
        assert_eq!(of("python3 -m sglang.launch_server --model-path {model}", "sglang"), "python3 []");
        assert_eq!(of("env A=1 python3.12 -m vllm.entrypoints.openai.api_server", "vllm"), "python3.12 []");
        assert_eq!(of("serve-it {model}", "vllm"), "serve-it []");
    }
}
