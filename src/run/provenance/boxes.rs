//! What a machine says to its containers beside perflab: variables, volumes, limits and runtimes that the settings of docker or podman add to
//! each one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::disk;
use crate::lang::sema::program::BoxRuntime;
use crate::plan::config::short_hash;

/// Settings files that are there, each with a hash. Names and passwords of registries are none of them.
pub fn settings(runtime: BoxRuntime) -> BTreeMap<String, String> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let files = match runtime {
        BoxRuntime::Podman => of_podman(home.as_deref()),
        BoxRuntime::Docker => vec![PathBuf::from("/etc/docker/daemon.json")],
    };
    let mut found: BTreeMap<String, String> = files.iter().filter_map(|path| held(path)).collect();
    if runtime == BoxRuntime::Docker {
        found.extend(home.as_deref().and_then(proxies));
    }
    found
}

fn of_podman(home: Option<&Path>) -> Vec<PathBuf> {
    let own = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).or(home.map(|dir| dir.join(".config")));
    let places = [PathBuf::from("/usr/share"), PathBuf::from("/etc")].into_iter().chain(own);
    let mut files: Vec<PathBuf> = Vec::new();
    for dir in places.map(|place| place.join("containers")) {
        files.push(dir.join("containers.conf"));
        let more = fs::read_dir(dir.join("containers.conf.d")).into_iter().flatten().flatten();
        let mut more: Vec<PathBuf> = more.map(|entry| entry.path()).collect();
        more.sort();
        files.extend(more.into_iter().filter(|path| path.extension().is_some_and(|e| e == "conf")));
    }
    let named = ["CONTAINERS_CONF", "CONTAINERS_CONF_OVERRIDE"].map(std::env::var_os);
    files.extend(named.into_iter().flatten().map(PathBuf::from));
    files
}

fn held(path: &Path) -> Option<(String, String)> {
    let hash = disk::of_file(path).ok()?;
    Some((path.to_str()?.to_owned(), hash[..8].to_owned()))
}

/// The proxies that docker's client gives to each container; what else stands in its file are logins.
fn proxies(home: &Path) -> Option<(String, String)> {
    let dir = std::env::var_os("DOCKER_CONFIG").map_or_else(|| home.join(".docker"), PathBuf::from);
    let text = fs::read_to_string(dir.join("config.json")).ok()?;
    let json: serde_json::Value = serde_json::from_str(&text).ok()?;
    let hash = short_hash(&json.get("proxies")?.to_string());
    Some(("proxies of docker's client".to_owned(), hash))
}

#[cfg(test)]
mod tests {
    use super::super::folder;
    use super::*;

    #[test]
    fn settings_of_both_runtimes_count_and_logins_do_not() {
        let dir = folder::of(&[
            (".config/containers/containers.conf", "[containers]\nenv = [\"A=1\"]\n"),
            (".config/containers/containers.conf.d/a.conf", ""),
            (".config/containers/containers.conf.d/README", ""),
        ]);
        let files = of_podman(Some(dir.path()));
        let own = |path: &&PathBuf| path.starts_with(dir.path()) && path.is_file();
        if std::env::var_os("XDG_CONFIG_HOME").is_none() {
            assert_eq!(files.iter().filter(own).count(), 2, "{files:?}");
        }
        let client = |text: &str| {
            let dir = folder::of(&[(".docker/config.json", text)]);
            proxies(dir.path())
        };
        if std::env::var_os("DOCKER_CONFIG").is_none() {
            let first = client(
                r#"{"auths": {"r": {"auth": "x"}}, "proxies": {"default": {"httpProxy": "http://a"}}}"#,
            );
            let login = client(
                r#"{"auths": {"r": {"auth": "y"}}, "proxies": {"default": {"httpProxy": "http://a"}}}"#,
            );
            let other = client(r#"{"proxies": {"default": {"httpProxy": "http://b"}}}"#);
            assert!(first.is_some() && first == login && first != other, "{first:?} {login:?} {other:?}");
            assert_eq!(client("{\"auths\": {}}"), None);
        }
    }
}
