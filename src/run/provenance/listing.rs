//! The names of what lies where a launch is followed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::named::shown;
use super::script_words::is_for_everybody;
use super::walk::{Entry, Walk};

/// What lies in the directories of a launch, by name.
#[derive(Debug, Default)]
pub struct Listing {
    study_dir: PathBuf,
    /// there is more than is looked at
    pub is_cut: bool,
    pub names: Vec<Listed>,
}

#[derive(Debug)]
pub struct Listed {
    pub name: String,
    /// where in it the name below the directory begins in which texts look
    below: usize,
    pub is_dir: bool,
    /// what lies below it is looked at by nobody
    pub is_closed: bool,
}

impl Listing {
    pub fn of(study_dir: &Path) -> Self {
        Self { study_dir: study_dir.to_owned(), ..Self::default() }
    }

    /// As it is now.
    pub fn now(study_dir: &Path, others: &BTreeSet<PathBuf>, spared: Vec<PathBuf>) -> Self {
        let mut listing = Self::of(study_dir);
        let others = others.iter().map(PathBuf::as_path);
        listing.is_cut = Walk::through(study_dir, others, spared, |entry| listing.add(&entry)).is_cut;
        listing
    }

    pub fn add(&mut self, entry: &Entry<'_>) {
        let (way, root) = (&entry.way, entry.root);
        // a link that leads nowhere is nothing yet
        let is_there = !entry.kind.is_symlink() || way.exists();
        // tools make some of their own there
        let is_of_tools = entry.is_dir && entry.is_closed && is_hidden(way);
        if !is_there || is_of_tools || way.parent().is_some_and(is_for_everybody) {
            return;
        }
        let rest = way.strip_prefix(root).ok().and_then(|rest| rest.to_str()).map(str::len);
        if let Some((rest, name)) = rest.zip(shown(way, &self.study_dir)) {
            let below = name.len().saturating_sub(rest);
            self.names.push(Listed { name, below, is_dir: entry.is_dir, is_closed: entry.is_closed });
        }
    }
}

impl Listed {
    pub fn below(&self) -> &str {
        &self.name[self.below..]
    }

    /// As it is told among what came to be.
    pub fn told(&self) -> String {
        format!("{}{}", self.name, if self.is_dir { "/" } else { "" })
    }
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}
