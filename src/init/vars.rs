//! Words and variables as a shell has them: scalars, arrays, and what was assigned under a condition that is not known here.

use std::collections::BTreeMap;

use super::error::InitError;

/// One word, and the variable in it that nothing set; in brackets, the command that would have to run, in braces an
/// insertion that is not read here, and behind a `<` what stands in the file that a shell makes, `<(echo …)`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    pub missing: Option<String>,
}

impl Word {
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), missing: None }
    }
}

/// A simple command: the assignments before it, and its words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Simple {
    pub set: Vec<(String, Word)>,
    pub words: Vec<Word>,
    /// what it is given to read, `<<EOF`
    pub text: Option<String>,
    /// the file that it writes, `> FILE`
    pub writes: Option<String>,
    /// the head of a loop that it runs in several times: `for i in 1 2`
    pub repeated: Option<String>,
}

/// Variables as the shell would have them.
#[derive(Debug, Clone, Default)]
pub struct Vars {
    scope: Scope,
    /// inserted somewhere: such a variable is the script's own, not the engine's
    pub inserted: Vec<String>,
    /// unset, and inserted with the value that the text gives for that: `${TP:-2}`
    pub assumed: Vec<(String, String)>,
    /// commands and assignments that were passed by, as their condition does not hold or is not known here
    passed: Vec<Passed>,
    /// texts that commands read or write, `<<EOF`
    pub texts: Vec<String>,
    /// how many bytes were inserted
    grown: usize,
}

/// Variables of variables double with each line: more than this is no command's.
const MOST_INSERTED: usize = 1 << 20;

/// What a branch that may not be taken leaves as it was.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    values: BTreeMap<String, Word>,
    arrays: BTreeMap<String, Vec<Word>>,
    /// set with `export`, in order
    exported: Vec<(String, Word)>,
}

#[derive(Debug, Clone)]
struct Passed {
    variable: Option<String>,
    told: String,
    /// how many insertions there were before: a variable matters where it is inserted after it
    before: usize,
}

impl Vars {
    /// Those that a shell within this one has.
    pub fn with(outer: &Self) -> Self {
        Self { scope: outer.scope.clone(), grown: outer.grown, ..Self::default() }
    }

    pub fn get(&self, name: &str) -> Option<&Word> {
        match self.scope.arrays.get(name) {
            Some(all) => all.first(),
            None => self.scope.values.get(name),
        }
    }

    /// Counts what is inserted, an empty value like others; an error where it is too much.
    pub fn insert(&mut self, name: &str, value: &Word) -> Result<(), InitError> {
        self.grown += value.text.len() + 1;
        if self.grown > MOST_INSERTED {
            let why = "its variables insert one another until the command is longer than any";
            return Err(InitError::Inexpressible(why.to_owned()));
        }
        self.inserted.push(name.to_owned());
        Ok(())
    }

    /// A variable's elements; those of a scalar are itself.
    pub fn elements(&self, name: &str) -> Option<Vec<Word>> {
        let array = self.scope.arrays.get(name).cloned();
        array.or_else(|| self.scope.values.get(name).map(|v| vec![v.clone()]))
    }

    pub fn set(&mut self, name: &str, value: Word) {
        self.scope.arrays.remove(name);
        self.scope.values.insert(name.to_owned(), value);
    }

    /// `NAME+=value`
    pub fn append(&mut self, name: &str, value: Word) {
        let first = match self.scope.arrays.get_mut(name) {
            Some(all) => {
                if all.is_empty() {
                    all.push(Word::default());
                }
                &mut all[0]
            }
            None => self.scope.values.entry(name.to_owned()).or_default(),
        };
        first.text.push_str(&value.text);
        first.missing = first.missing.take().or(value.missing);
    }

    /// `NAME=( … )`, `NAME+=( … )`
    pub fn set_array(&mut self, name: &str, words: Vec<Word>, joins: bool) {
        let (array, scalar) = (self.scope.arrays.remove(name), self.scope.values.remove(name));
        let mut all = array.or_else(|| scalar.map(|v| vec![v])).filter(|_| joins).unwrap_or_default();
        all.extend(words);
        self.scope.arrays.insert(name.to_owned(), all);
    }

    /// `export NAME=value`, or `export NAME` of what is set already.
    pub fn export(&mut self, name: &str, value: Option<Word>) {
        let Some(value) = value.or_else(|| self.get(name).cloned()) else { return };
        self.scope.exported.retain(|(n, _)| n != name);
        self.scope.exported.push((name.to_owned(), value.clone()));
        self.set(name, value);
    }

    /// Changes the value of what is exported already.
    pub fn follow(&mut self, name: &str) {
        if self.scope.exported.iter().any(|(n, _)| n == name) {
            self.export(name, None);
        }
    }

    pub fn unset(&mut self, name: &str) {
        self.scope.values.remove(name);
        self.scope.arrays.remove(name);
        self.scope.exported.retain(|(n, _)| n != name);
    }

    pub fn exported(&self) -> &[(String, Word)] {
        &self.scope.exported
    }

    /// What is set and reaches no program: neither exported nor inserted.
    pub fn kept_to_itself(&self) -> impl Iterator<Item = &String> {
        let exported = |name: &String| self.scope.exported.iter().any(|(n, _)| n == name);
        self.scope.values.keys().filter(move |name| !exported(name) && !self.inserted.contains(name))
    }

    /// All values as they are, for [`Self::restore`].
    pub fn scope(&self) -> Scope {
        self.scope.clone()
    }

    pub fn restore(&mut self, scope: Scope) {
        self.scope = scope;
    }

    /// Notes what is not carried out: of an assignment also its variable.
    pub fn pass_by(&mut self, variable: Option<&str>, told: String) {
        let before = self.inserted.len();
        self.passed.push(Passed { variable: variable.map(str::to_owned), told, before });
    }

    /// What was passed by and matters: commands, and assignments of variables that are inserted or exported afterwards.
    pub fn passed_by(&self) -> Vec<String> {
        let matters = |p: &&Passed| {
            let variable = p.variable.as_ref();
            variable.is_none_or(|v| {
                self.inserted.iter().skip(p.before).any(|n| n == v) || p.told.starts_with("`export ")
            })
        };
        self.passed.iter().filter(matters).map(|p| p.told.clone()).collect()
    }
}

/// `NAME=` at the beginning of a word.
pub fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    is_name(name).then_some((name, value))
}

/// `NAME=value` or `NAME+=value`: the name, whether the value joins what is there, and the value.
pub fn joining(word: &str) -> Option<(&str, bool, &str)> {
    let (name, value) = word.split_once('=')?;
    let (name, joins) = name.strip_suffix('+').map_or((name, false), |n| (n, true));
    is_name(name).then_some((name, joins, value))
}

fn is_name(name: &str) -> bool {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
