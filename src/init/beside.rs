//! Commands beside the serve command: what they install says the engine's version, what they activate where it lies.

use super::known::{self, Engine};
use super::launch::Launch;
use super::programs::base_name;
use super::shell::Word;
use super::value;

/// One of them: as it is told, and what it says of an engine.
#[derive(Debug)]
pub struct Beside {
    told: String,
    says: Says,
}

#[derive(Debug)]
enum Says {
    Nothing,
    /// packages with the versions that they are pinned to
    Installs(Vec<(String, String)>),
    /// a virtual environment's folder
    Activates(String),
}

/// What a command says that serves nothing.
pub fn read(words: &[Word], told: String) -> Beside {
    let pins = pins(words);
    let says = match activated(words) {
        Some(folder) => Says::Activates(folder),
        None if pins.is_empty() => Says::Nothing,
        None => Says::Installs(pins),
    };
    Beside { told, says }
}

impl Beside {
    pub fn told(&self) -> &str {
        &self.told
    }

    /// Joins the launch that it stands beside.
    pub fn join(self, launch: &mut Launch) {
        let own = package(launch.engine);
        match self.says {
            Says::Installs(pins) => match pins.into_iter().find(|(name, _)| Some(name.as_str()) == own) {
                Some((_, version)) => launch.pinned = Some(version),
                None => launch.left_out.push(self.told),
            },
            Says::Activates(folder) if own.is_some() && launch.image.is_none() => {
                let (engine, folder) = (launch.engine.std_name(), value::text(&folder));
                launch.left_out.push(format!(
                    "the virtual environment: to start the engine from it, write site.plab beside the study: site here {{ engine {engine} via \
                     venv {folder} }}"
                ));
            }
            _ => launch.left_out.push(self.told),
        }
    }
}

/// What an engine is called where Python packages are installed from.
fn package(engine: Engine) -> Option<&'static str> {
    match engine {
        Engine::Vllm => Some("vllm"),
        Engine::Sglang => Some("sglang"),
        Engine::Trtllm => Some("tensorrt-llm"),
        Engine::LlamaCpp | Engine::Sim => None,
    }
}

/// `pip install "sglang[all]==0.5.5.post1"`, `uv pip install vllm==0.11.0`, `python -m pip install …`, `uv add …`.
fn pins(words: &[Word]) -> Vec<(String, String)> {
    let installer =
        |w: &Word| matches!(base_name(&w.text), "pip" | "pip3" | "pipx" | "uv" | "poetry" | "pdm");
    let Some(at) = words.iter().take(6).position(installer) else { return Vec::new() };
    let mut rest = words[at..].iter().skip_while(|w| !matches!(w.text.as_str(), "install" | "add"));
    if rest.next().is_none() {
        return Vec::new();
    }
    rest.filter(|w| w.missing.is_none()).filter_map(|w| pin(&w.text)).collect()
}

/// `vllm[flashinfer]==0.11.0; python_version > "3.9"`
fn pin(requirement: &str) -> Option<(String, String)> {
    let (name, version) = requirement.split_once("==")?;
    let name = name.split('[').next()?.trim().to_ascii_lowercase().replace('_', "-");
    let version = version.trim_start_matches('=').split([',', ';', ' ']).next()?;
    known::sound(version).then(|| (name, version.to_owned()))
}

/// The folder of `source ~/venvs/vllm/bin/activate`.
fn activated(words: &[Word]) -> Option<String> {
    let [first, file, ..] = words else { return None };
    let sources = matches!(first.text.as_str(), "source" | ".") && file.missing.is_none();
    let folder = file.text.strip_suffix("/bin/activate").filter(|folder| sources && !folder.is_empty())?;
    Some(folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Word> {
        shell_words::split(text).expect("words").into_iter().map(Word::plain).collect()
    }

    #[test]
    fn versions_are_pinned_in_many_ways() {
        let cases = [
            ("pip install vllm==0.11.0", Some(("vllm", "0.11.0"))),
            (
                "uv pip install -U 'sglang[all]==0.5.5.post1' --prerelease=allow",
                Some(("sglang", "0.5.5.post1")),
            ),
            ("python3 -m pip install tensorrt_llm==1.2.0", Some(("tensorrt-llm", "1.2.0"))),
            ("sudo pip3 install 'vllm ==0.11.0,!=0.11.1'", Some(("vllm", "0.11.0"))),
            ("uv add 'vllm==0.11.0; python_version > \"3.9\"'", Some(("vllm", "0.11.0"))),
            ("pip install 'vllm==0.11.*'", None),
            ("pip install vllm", None),
            ("pip download vllm==0.11.0", None),
            ("echo pip", None),
        ];
        for (text, expected) in cases {
            let found = pins(&words(text));
            let found = found.first().map(|(name, version)| (name.as_str(), version.as_str()));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn an_environment_is_activated_by_its_script() {
        assert_eq!(activated(&words("source /v/a/bin/activate")).as_deref(), Some("/v/a"));
        assert_eq!(activated(&words(". venv/bin/activate")).as_deref(), Some("venv"));
        assert_eq!(activated(&words("source env.sh")), None);
        assert_eq!(activated(&words("cat venv/bin/activate")), None);
    }
}
