//! The engines that `init` recognises, and what it asks the standard library about them: flags, and the newest version.

use std::sync::Arc;

use super::error::InitError;
use crate::lang::analyze;
use crate::lang::codes::Code;
use crate::lang::sema::program;
use crate::lang::sema::schema::Schema;
use crate::lang::source::NoFiles;

/// An engine of the standard library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Vllm,
    Sglang,
    Trtllm,
    LlamaCpp,
    Sim,
}

impl Engine {
    /// Its name in `std/engines`.
    pub fn std_name(self) -> &'static str {
        match self {
            Self::Vllm => "vllm",
            Self::Sglang => "sglang",
            Self::Trtllm => "trtllm",
            Self::LlamaCpp => "llama_cpp",
            Self::Sim => "sim",
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::Vllm => "vLLM",
            Self::Sglang => "SGLang",
            Self::Trtllm => "TensorRT-LLM",
            Self::LlamaCpp => "llama.cpp",
            Self::Sim => "the simulated engine",
        }
    }

    /// Options that name the model; the first is the one that its serve line has.
    pub fn model_options(self) -> &'static [&'static str] {
        match self {
            Self::Vllm | Self::Sim => &["--model"],
            Self::Sglang => &["--model-path", "--model"],
            Self::Trtllm => &[],
            Self::LlamaCpp => {
                &["-m", "--model", "-hf", "-hfr", "--hf-repo", "-mu", "--model-url", "-dr", "--docker-repo"]
            }
        }
    }

    /// Whether its serve line names the model by an option, the first of [`Self::model_options`].
    pub fn serves_by_option(self) -> bool {
        matches!(self, Self::Sglang | Self::LlamaCpp | Self::Sim)
    }

    /// The command that people start it with in a container whose entrypoint does so.
    pub fn launcher(self) -> &'static [&'static str] {
        match self {
            Self::Vllm => &["vllm", "serve"],
            Self::Sglang => &["python3", "-m", "sglang.launch_server"],
            Self::Trtllm => &["trtllm-serve"],
            Self::LlamaCpp => &["llama-server"],
            Self::Sim => &["perflab", "sim"],
        }
    }

    /// How a person asks for the version.
    pub fn version_command(self) -> &'static str {
        match self {
            Self::Vllm => "vllm --version",
            Self::Sglang => "pip show sglang",
            Self::Trtllm => "pip show tensorrt_llm",
            Self::LlamaCpp => "llama-server --version",
            Self::Sim => "perflab --version",
        }
    }

    /// argparse takes the beginning of a long option for the whole; click and llama.cpp do not.
    pub fn abbreviates(self) -> bool {
        matches!(self, Self::Vllm | Self::Sglang)
    }
}

/// The engine as the standard library has it, under a version.
pub fn engine(engine: Engine, version: Option<&str>) -> Result<Arc<program::Engine>, InitError> {
    let version = version.map(|v| format!(" version {} ", super::value::text(v))).unwrap_or_default();
    let file = format!("use std/engines {{ {0} }}\nengine pasted = {0} {{{version}}}\n", engine.std_name());
    let analysis = analyze(&NoFiles, "init.plab", &file);
    let found = analysis.program.engines.get("pasted").cloned();
    found.ok_or_else(|| InitError::UnknownVersion(engine.title().to_owned()))
}

/// How many of these variables a version is not known to read, of families of which it is known.
pub fn unread(engine: Engine, version: &str, names: &[&str]) -> usize {
    let plain = |n: &&&str| {
        n.starts_with(|c: char| c.is_ascii_uppercase())
            && !n.contains(|c: char| !c.is_ascii_alphanumeric() && c != '_')
    };
    let lines: Vec<String> = names.iter().filter(plain).map(|n| format!("    env {n}=1")).collect();
    if lines.is_empty() {
        return 0;
    }
    let (root, version) = (engine.std_name(), super::value::text(version));
    let file = format!(
        "use std/engines {{ {root} }}\nengine pasted = {root} {{\n    version {version}\n{}\n}}\n",
        lines.join("\n")
    );
    let found = analyze(&NoFiles, "init.plab", &file).diagnostics;
    found.iter().filter(|d| d.code == Code::UnknownVariable).count()
}

/// The versions that have a schema of their own, the newest first.
pub fn versions(schema: &Schema) -> Vec<String> {
    schema.versions().iter().rev().cloned().collect()
}

/// The version in an image's tag: `v0.17.1-cu129`, `1.2.0rc1`, `server-cuda12-b11434`.
pub fn version_of_tag(engine: Engine, tag: &str) -> Option<String> {
    let numbered = |t: &str| t.starts_with(|c: char| c.is_ascii_digit());
    if engine == Engine::LlamaCpp {
        let build = tag.rsplit('-').next()?.strip_prefix('b')?;
        return build.chars().all(|c| c.is_ascii_digit()).then(|| build.to_owned()).filter(|b| numbered(b));
    }
    let version = tag.strip_prefix('v').unwrap_or(tag).split(['-', '_']).next()?;
    let plausible = numbered(version) && version.contains('.') && sound(version);
    plausible.then(|| version.to_owned())
}

/// Whether a text can be a version at all.
pub fn sound(version: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-' | '_');
    version.chars().any(|c| c.is_ascii_digit()) && version.chars().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_tags() {
        let cases = [
            (Engine::Vllm, "v0.17.1", Some("0.17.1")),
            (Engine::Vllm, "v0.17.1-cu129", Some("0.17.1")),
            (Engine::Vllm, "latest", None),
            (Engine::Vllm, "nightly-4f1", None),
            (Engine::Sglang, "v0.5.5.post1-cu129-amd64", Some("0.5.5.post1")),
            (Engine::Trtllm, "1.2.0rc1", Some("1.2.0rc1")),
            (Engine::LlamaCpp, "server-cuda12-b11434", Some("11434")),
            (Engine::LlamaCpp, "server", None),
            (Engine::LlamaCpp, "server-cuda", None),
        ];
        for (engine, tag, expected) in cases {
            assert_eq!(version_of_tag(engine, tag).as_deref(), expected, "{tag}");
        }
    }

    #[test]
    fn every_engine_is_in_the_library_with_a_newest_version() {
        for kind in [Engine::Vllm, Engine::Sglang, Engine::Trtllm, Engine::LlamaCpp, Engine::Sim] {
            let found = engine(kind, None).expect("in the library");
            assert!(!found.schema.specs().is_empty(), "{kind:?}");
            assert_eq!(versions(&found.schema).is_empty(), kind == Engine::Sim, "{kind:?}");
        }
        let vllm = engine(Engine::Vllm, None).expect("in the library");
        let versions = versions(&vllm.schema);
        let at = |version: &str| versions.iter().position(|v| v == version);
        assert!(at("0.32.0") < at("0.17.1") && at("0.17.1") < at("0.11.0"), "{versions:?}");
    }
}
