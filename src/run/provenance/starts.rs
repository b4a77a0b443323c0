//! Where the reading of a command's scripts begins: which of its words are files, which are texts that a shell is given, and what a shell
//! reads by itself.

use std::path::{Path, PathBuf};

use super::beside::text_of;
use super::prefix::behind;

const SHELLS: [&str; 6] = ["sh", "bash", "dash", "ash", "zsh", "ksh"];
/// Endings of scripts that need no first line: they are sourced.
const ENDINGS: [&str; 5] = ["sh", "bash", "zsh", "ksh", "env"];
pub(super) const MAKE: &str = "make";
/// Ends the name of a program that the `PATH` leads to.
pub(super) const ON_PATH: &str = " on PATH";
/// Ends the name of a file that a shell reads and that the `PATH` leads to: `. tune.env`.
pub(super) const SOURCED: &str = " sourced along PATH";

/// Where names lead.
pub struct Ground<'a> {
    /// where engines run
    pub study_dir: &'a Path,
    /// where programs are looked for
    pub path: &'a str,
}

impl Ground<'_> {
    pub(super) fn program(&self, name: &str) -> Option<PathBuf> {
        let found = which::which_in(name, Some(self.path), self.study_dir).ok()?;
        // a shim leads anywhere
        let is_shim = found.parent().is_some_and(|dir| dir.ends_with("shims"));
        (!is_shim).then_some(found)
    }

    /// What a shell reads by a name without a directory: the first file of that name, whether or not it can be run.
    pub(super) fn sourced(&self, name: &str) -> Option<PathBuf> {
        let all = std::env::split_paths(self.path).map(|dir| self.study_dir.join(dir).join(name));
        all.into_iter().find(|path| path.is_file())
    }
}

/// Where a name of [`Said::there`](super::scripts::Said::there) leads that is looked for along the `PATH`.
pub fn program(name: &str, ground: &Ground<'_>) -> Option<PathBuf> {
    match name.strip_suffix(SOURCED) {
        Some(name) => ground.sourced(name),
        None => ground.program(name.strip_suffix(ON_PATH)?),
    }
}

/// Where the reading of a command's scripts begins.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Start {
    /// a file, and whether a shell is told to read it
    File(PathBuf, bool),
    /// a text that a shell is given
    Text(String),
    Make,
}

/// The scripts of a command: files and texts among its words.
pub fn starts(words: &[String], ground: &Ground<'_>) -> Vec<Start> {
    let words = behind(words);
    let mut starts = Vec::new();
    // whether the next word that is no option is what a shell reads
    let mut of_shell = false;
    for (i, text) in words.iter().enumerate() {
        if of_shell && is_for_login(text) {
            starts.extend(of_login());
        }
        let path = if i == 0 { ground.program(text) } else { Some(ground.study_dir.join(text)) };
        if of_shell && holds(&words[i - 1], 'c') {
            starts.push(Start::Text(text.clone()));
            of_shell = false;
            continue;
        } else if let Some(path) = path.filter(|p| p.is_file()) {
            starts.extend(is_of_login(&path).then(of_login).flatten());
            starts.push(Start::File(path, of_shell));
        }
        of_shell = is_shell(text) || of_shell && text.starts_with('-');
    }
    if words.first().is_some_and(|w| base(w) == MAKE) {
        starts.push(Start::Make);
    }
    starts
}

/// Whether a word is one or some options of a letter, this one among them.
pub(super) fn holds(word: &str, letter: char) -> bool {
    word.strip_prefix('-').is_some_and(|letters| !letters.starts_with('-') && letters.contains(letter))
}

/// Whether an option has a shell act as one that somebody logs in with.
fn is_for_login(word: &str) -> bool {
    holds(word, 'l') || word == "--login"
}

/// `#!/bin/bash -l`, `#!/usr/bin/env -S bash --login`
fn is_of_login(script: &Path) -> bool {
    let text = text_of(script).unwrap_or_default();
    let Some(line) = text.strip_prefix("#!").and_then(|text| text.lines().next()) else { return false };
    let mut words = line.split_whitespace().skip_while(|word| !is_shell(word));
    words.next().is_some() && words.any(is_for_login)
}

/// What a shell reads first that is told to act as one that somebody logs in with: no word of the command, so that it counts as what a
/// text sources.
fn of_login() -> Option<Start> {
    let home = PathBuf::from(std::env::var_os("HOME")?);
    let found = [".bash_profile", ".bash_login", ".profile"].map(|name| home.join(name));
    found.into_iter().find(|path| path.is_file()).map(|path| Start::Text(format!(". \"{}\"", path.display())))
}

/// Whether a file is a shell's script, by its first line, else by the ending of its name.
pub(super) fn is_of_shell(first: &str, ending: Option<&str>) -> bool {
    match first.strip_prefix("#!") {
        Some(line) => line.split_whitespace().any(is_shell),
        None => ending.is_some_and(|end| ENDINGS.contains(&end)),
    }
}

pub(super) fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

pub(super) fn is_shell(word: &str) -> bool {
    SHELLS.contains(&base(word))
}
