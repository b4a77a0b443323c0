//! Why no study can be made: what is wrong with the input, in the words of its reader, and what to do.

/// What keeps `init` from writing a study.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InitError {
    #[error("there is no command in the input")]
    Nothing,
    #[error("the input is not a command that a shell could read: {0}")]
    Shell(String),
    #[error("`{0}` is a placeholder, not a value")]
    Placeholder(String),
    #[error("the command runs another command, `{0}`, whose output cannot be known here")]
    Substitution(String),
    #[error("the command inserts `{0}`, which is more of a shell than is read here")]
    Expansion(String),
    #[error("the command uses {0}, which nothing in the input sets")]
    Unset(String),
    #[error("the input is a manifest that cannot be read: {0}")]
    Manifest(String),
    #[error("no serve command was found{0}")]
    NoServe(String),
    #[error("there are {0} serve commands in the input: {1}")]
    Several(usize, String),
    #[error("the command names no model")]
    NoModel,
    #[error("nothing is known of {0} by that name")]
    UnknownVersion(String),
    #[error("{file}: {why}")]
    File { file: String, why: String },
    #[error("{0}")]
    Inexpressible(String),
}

impl InitError {
    /// What only a running shell knows, by a word's note of it: a variable, a command in brackets, or what one writes behind a `<`.
    pub fn open(name: &str) -> Self {
        if name.starts_with('(') {
            let shown: String = format!("${name}").chars().filter(|c| !c.is_control()).take(48).collect();
            return Self::Substitution(shown);
        }
        if let Some(output) = name.strip_prefix('<') {
            return Self::Substitution(format!("<(echo {})", super::value::plain(output)));
        }
        if let Some(inside) = name.strip_prefix('{').and_then(|n| n.strip_suffix('}')) {
            return Self::Expansion(format!("${{{}}}", super::value::plain(inside)));
        }
        Self::Unset(variable(name))
    }

    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Nothing => "paste a serve command, for example: perflab init -- vllm serve Qwen/Qwen3-8B",
            Self::Shell(_) => "paste it as it stands in the terminal, or as one argument in single quotes",
            Self::Placeholder(_) => "write the real value in its place",
            Self::Expansion(_) => "write the value that it has in its place",
            Self::Substitution(_) => "write what it prints in its place",
            Self::Unset(_) => "paste the line that sets it as well, or write the value in its place",
            Self::NoServe(_) => {
                "it may begin with `vllm serve`, `python -m vllm.entrypoints.openai.api_server`, `python -m \
                 sglang.launch_server`, `sglang serve`, `trtllm-serve`, `llama-server`, `perflab sim` or `docker run`"
            }
            Self::Manifest(_) => "paste the command of its container instead, as `docker run` would have it",
            Self::Several(..) => "paste one of them; a second engine is easily added to the study by hand",
            Self::NoModel => "add it as the server takes it, for example: vllm serve Qwen/Qwen3-8B",
            Self::UnknownVersion(_) => "a version looks like 0.17.1",
            Self::File { .. } => {
                "--from reads the JSON files of `vllm bench sweep` and the YAML file of `sglang.auto_benchmark`"
            }
            Self::Inexpressible(_) => "leave that part out of the command and add it to the study by hand",
        }
    }
}

/// A variable as messages have it: `$TP`, `${ARGS[@]}`.
pub fn variable(name: &str) -> String {
    if name.contains('[') { format!("`${{{name}}}`") } else { format!("`${name}`") }
}
