//! What engines compile and tune, kept between launches: the same for every configuration of a study.
//!
//! Two kinds are told apart. What only saves time (compiled kernels and graphs) is kept warm in one directory for
//! each engine build and GPU, so that no arm of a comparison pays for what another has compiled. What holds
//! measured choices (autotuners) is a measurement that somebody once made: a launch that confirms something
//! begins without it, else one lucky tuning would be confirmed for ever.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Variables of directories that only save time, and their places below the shared directory.
const SAVES_TIME: [(&str, &str); 9] = [
    ("TORCHINDUCTOR_CACHE_DIR", "inductor"),
    ("TRITON_CACHE_DIR", "triton"),
    ("TORCH_EXTENSIONS_DIR", "torch_extensions"),
    ("CUDA_CACHE_PATH", "cuda"),
    ("DG_JIT_CACHE_DIR", "deep_gemm"),
    ("SGLANG_DG_CACHE_DIR", "deep_gemm"),
    ("FLASHINFER_WORKSPACE_BASE", "flashinfer"),
    ("VLLM_CACHE_ROOT", "vllm"),
    ("SGLANG_CACHE_DIR", "sglang"),
];

/// Variables of what autotuners measured.
const CHOICES: [(&str, &str); 2] =
    [("VLLM_FLASHINFER_AUTOTUNE_CACHE_DIR", "flashinfer"), ("TLLM_AUTOTUNER_CACHE_PATH", "trtllm.json")];

/// How files are called in which tuners keep their choices among compiled kernels: Inductor, Triton, FlashInfer.
const CHOICE_FILES: [&str; 3] = [".best_config", ".autotune.json", "autotune_configs.json"];

/// Engines that read these variables, by the names of their declarations.
const ENGINES: [&str; 3] = ["vllm", "sglang", "trtllm"];

/// Directories for one engine build on one kind of GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caches {
    dir: PathBuf,
    /// Nothing was compiled there before.
    pub cold: bool,
}

/// What the compiled results depend on.
#[derive(Debug, Clone, Copy)]
pub struct Build<'a> {
    /// The name of the engine's root declaration.
    pub engine: &'a str,
    pub version: Option<&'a str>,
    /// Which installation: a virtual environment's directory, an image, or nothing for the `PATH`.
    pub installation: &'a str,
    /// The GPU's name.
    pub device: Option<&'a str>,
}

impl Build<'_> {
    fn name(self) -> String {
        let words =
            [self.engine, self.version.unwrap_or("any"), self.device.unwrap_or("cpu"), self.installation];
        let plain = |w: &str| -> String {
            let kept =
                |c: char| if c.is_ascii_alphanumeric() || c == '.' { c.to_ascii_lowercase() } else { '-' };
            w.chars().map(kept).collect::<String>().trim_matches('-').to_owned()
        };
        let words: Vec<String> = words.iter().map(|w| plain(w)).filter(|w| !w.is_empty()).collect();
        words.join("_")
    }
}

impl Caches {
    /// The directories of a build, made if they are missing. `None` for an engine that keeps nothing.
    pub fn prepare(base: &Path, build: Build<'_>) -> io::Result<Option<Self>> {
        if !ENGINES.contains(&build.engine) {
            return Ok(None);
        }
        let dir = base.join(build.name());
        let cold = !are_filled(&dir);
        for (_, at) in SAVES_TIME {
            fs::create_dir_all(dir.join(at))?;
        }
        fs::create_dir_all(dir.join("choices"))?;
        Ok(Some(Self { dir, cold }))
    }

    /// Where everything lies.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn variables(&self) -> Vec<(String, String)> {
        let place = |dir: &Path, at: &str| dir.join(at).to_string_lossy().into_owned();
        let saves = SAVES_TIME.iter().map(|(name, at)| ((*name).to_owned(), place(&self.dir, at)));
        let choices = self.dir.join("choices");
        saves.chain(CHOICES.iter().map(|(name, at)| ((*name).to_owned(), place(&choices, at)))).collect()
    }

    /// Removes what tuners have measured: for a launch that confirms. Returns how many files went.
    pub fn forget_choices(&self) -> io::Result<usize> {
        let choices = self.dir.join("choices");
        let mut removed = remove_files(&choices, &|_| true)?;
        removed += remove_files(&self.dir, &|name| CHOICE_FILES.iter().any(|end| name.ends_with(end)))?;
        Ok(removed)
    }
}

/// Whether an engine keeps what its autotuners have measured, for whichever launch comes next.
pub fn keeps_choices(engine: &str) -> bool {
    ENGINES.contains(&engine)
}

/// Whether anything was compiled into a build's directory.
pub fn are_filled(dir: &Path) -> bool {
    SAVES_TIME.iter().any(|(_, at)| !is_empty(&dir.join(at)))
}

/// Where the user's caches lie: `perflab` below `XDG_CACHE_HOME`, else below `~/.cache`.
pub fn base() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("perflab").join("engines"))
}

fn is_empty(dir: &Path) -> bool {
    fs::read_dir(dir).map_or(true, |mut entries| entries.next().is_none())
}

/// Links are not followed.
fn remove_files(dir: &Path, which: &dyn Fn(&str) -> bool) -> io::Result<usize> {
    let mut removed = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            removed += remove_files(&entry.path(), which)?;
        } else if which(&entry.file_name().to_string_lossy()) {
            fs::remove_file(entry.path())?;
            removed += 1;
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUILD: Build<'_> =
        Build { engine: "vllm", version: Some("0.17.1"), installation: "", device: Some("NVIDIA H100 80GB") };

    #[test]
    fn a_build_on_a_gpu_has_one_directory_that_stays_warm() {
        let base = tempfile::tempdir().unwrap();
        let first = Caches::prepare(base.path(), BUILD).unwrap().unwrap();
        assert!(first.cold);
        assert_eq!(first.dir().file_name().unwrap(), "vllm_0.17.1_nvidia-h100-80gb");
        fs::write(first.dir().join("triton/kernel.cubin"), "x").unwrap();
        let second = Caches::prepare(base.path(), BUILD).unwrap().unwrap();
        assert!(!second.cold && first.variables() == second.variables());
        let other = Build { installation: "/venvs/other", ..BUILD };
        assert_ne!(Caches::prepare(base.path(), other).unwrap().unwrap().dir(), first.dir());
        let plain = Build { engine: "llama_cpp", ..BUILD };
        assert_eq!(Caches::prepare(base.path(), plain).unwrap(), None);
    }

    #[test]
    fn choices_are_forgotten_and_kernels_kept() {
        let base = tempfile::tempdir().unwrap();
        let caches = Caches::prepare(base.path(), BUILD).unwrap().unwrap();
        let dir = caches.dir();
        fs::create_dir_all(dir.join("inductor/ab")).unwrap();
        fs::create_dir_all(dir.join("choices/flashinfer/1")).unwrap();
        for gone in ["inductor/ab/k.best_config", "triton/f.autotune.json", "choices/flashinfer/1/x"] {
            fs::write(dir.join(gone), "x").unwrap();
        }
        fs::write(dir.join("inductor/ab/k.py"), "x").unwrap();
        assert_eq!(caches.forget_choices().unwrap(), 3);
        assert!(dir.join("inductor/ab/k.py").exists() && !dir.join("triton/f.autotune.json").exists());
    }
}
