//! The environment of an engine: a short list of what it inherits, so that the same study measures the same
//! thing from another shell.

/// Inherited if set: where programs and libraries are found, how the network is reached, which GPUs there are, where
/// the model hub's files lie. None of it changes what an engine does with a model. Tokens are not among them:
/// models are fetched before an engine starts, and one that needs a token is given it by a site.
const INHERITED: [&str; 26] = [
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "CUDA_HOME",
    "CUDA_VISIBLE_DEVICES",
    "http_proxy",
    "https_proxy",
    "ftp_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "XDG_CACHE_HOME",
    "HF_HOME",
    "HF_HUB_CACHE",
    "HUGGINGFACE_HUB_CACHE",
    "HF_ENDPOINT",
    "HF_HUB_OFFLINE",
    "TRANSFORMERS_OFFLINE",
];

/// Variables of these families change what an engine does; leaving one out in silence would puzzle its owner.
const MATTERING: [&str; 19] = [
    "VLLM_",
    "SGLANG_",
    "SGL_",
    "TRTLLM_",
    "TLLM_",
    "LLAMA_",
    "GGML_",
    "NCCL_",
    "TORCH",
    "PYTORCH_",
    "TRITON_",
    "FLASHINFER_",
    "DG_",
    "HF_",
    "HUGGING",
    "TRANSFORMERS_",
    "CUDA_",
    "OMP_",
    "LD_PRELOAD",
];

/// An environment, and what was left out of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// Sorted by name.
    pub variables: Vec<(String, String)>,
    /// Names of variables that are set here, look as if they mattered to an engine, and are not passed on.
    pub dropped: Vec<String>,
}

/// The inherited part of perflab's own environment with `extra` on top of it.
pub fn inherit(extra: &[(String, String)]) -> Environment {
    select(own(), extra, &|name| INHERITED.contains(&name))
}

/// The same for a container, which has programs, libraries and a home of its own: it inherits how the network is reached.
pub fn inherit_into_container(extra: &[(String, String)]) -> Environment {
    select(own(), extra, &|name| name.to_lowercase().ends_with("_proxy"))
}

/// What is not UTF-8 cannot be recorded in a journal and is not passed on.
fn own() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(n, v)| Some((n.into_string().ok()?, v.into_string().ok()?)))
}

fn select(
    own: impl Iterator<Item = (String, String)>,
    extra: &[(String, String)],
    inherited: &dyn Fn(&str) -> bool,
) -> Environment {
    let mut variables: std::collections::BTreeMap<String, String> = extra.iter().cloned().collect();
    let mut dropped = Vec::new();
    for (name, value) in own {
        if variables.contains_key(&name) {
            continue;
        }
        if inherited(&name) {
            variables.insert(name, value);
        } else if !INHERITED.contains(&name.as_str())
            && MATTERING.iter().any(|family| name.starts_with(family))
        {
            dropped.push(name);
        }
    }
    dropped.sort();
    Environment { variables: variables.into_iter().collect(), dropped }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(of: &[(&str, &str)]) -> Vec<(String, String)> {
        of.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn passes_on_the_list_and_names_what_could_matter() {
        let own = pairs(&[
            ("PATH", "/bin"),
            ("EDITOR", "vi"),
            ("VLLM_USE_V1", "0"),
            ("CUDA_HOME", "/c"),
            ("HF_TOKEN", "s"),
        ]);
        let env = select(own.into_iter(), &[], &|n| INHERITED.contains(&n));
        assert_eq!(env.variables, pairs(&[("CUDA_HOME", "/c"), ("PATH", "/bin")]));
        assert_eq!(env.dropped, ["HF_TOKEN", "VLLM_USE_V1"]);
    }

    #[test]
    fn what_is_stated_wins_and_is_not_dropped() {
        let own = pairs(&[("PATH", "/bin"), ("HF_TOKEN", "theirs")]);
        let env = select(own.into_iter(), &pairs(&[("HF_TOKEN", "mine"), ("PATH", "/opt")]), &|n| {
            INHERITED.contains(&n)
        });
        assert_eq!(env.variables, pairs(&[("HF_TOKEN", "mine"), ("PATH", "/opt")]));
        assert_eq!(env.dropped, [""; 0]);
    }
}
