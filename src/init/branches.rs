//! Which commands of a script run: conditions that a text decides itself, and what happens to those that it does not.
//!
//! What stands in a branch that may not be taken is read for the commands in it, and undone behind it: a variable that is
//! set there is told where it is inserted later, and is never taken for set.

use super::secret;
use super::shell::{Reader, Sep};
use super::vars::{Scope, Simple, Word, joining};

/// Whether something is carried out, as far as the text says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Runs {
    #[default]
    Yes,
    No,
    Maybe,
}

impl Runs {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Yes, Self::Yes) => Self::Yes,
            _ => Self::Maybe,
        }
    }

    fn not(self) -> Self {
        match self {
            Self::Yes => Self::No,
            Self::No => Self::Yes,
            Self::Maybe => Self::Maybe,
        }
    }

    fn or(self, other: Self) -> Self {
        self.not().and(other.not()).not()
    }

    fn known(is: bool) -> Self {
        if is { Self::Yes } else { Self::No }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    If,
    For,
    While,
    Case,
}

/// `if … fi`, `for … done`, `case … esac`, as far as it has been read.
#[derive(Debug)]
pub struct Block {
    kind: Kind,
    outer: Runs,
    condition: Runs,
    /// whether a branch before this one is taken
    taken: Runs,
    /// before its first branch
    head: bool,
    /// commands of the condition
    tests: usize,
    /// the variable of a loop
    variable: Option<String>,
    /// the head of a loop that is gone through more than once, as it is told
    several: Option<String>,
    /// the variables as they were before a branch that may not be taken
    saved: Option<Scope>,
    assigned: Vec<(String, String)>,
}

impl Reader<'_, '_> {
    /// Carries out a word of the shell's language at the beginning of a command.
    pub(super) fn keyword(&mut self, word: &str) -> bool {
        match word {
            "if" => self.block(Kind::If),
            "for" | "select" => self.block(Kind::For),
            "while" | "until" => self.block(Kind::While),
            "case" => self.block(Kind::Case),
            "then" => {
                if let Some(block) = self.blocks.last_mut().filter(|b| b.kind == Kind::If && b.head) {
                    block.head = false;
                    let runs = block.taken.not().and(block.condition);
                    self.enter(runs);
                }
            }
            "elif" | "else" => {
                self.leave();
                if let Some(block) = self.blocks.last_mut().filter(|b| b.kind == Kind::If) {
                    block.taken = block.taken.or(block.condition);
                    block.tests = 0;
                    block.head = word == "elif";
                    let rest = block.taken.not();
                    if word == "else" {
                        self.enter(rest);
                    }
                }
            }
            "do" => {
                if let Some(block) = self.blocks.last_mut().filter(|b| b.head) {
                    block.head = false;
                    let variable = block.variable.clone();
                    self.enter(Runs::Maybe);
                    if let Some(name) = variable {
                        let open = Word { text: String::new(), missing: Some(name.clone()) };
                        self.vars.set(&name, open);
                    }
                }
            }
            "fi" | "done" | "esac" => {
                self.leave();
                self.blocks.pop();
            }
            "{" | "}" => {}
            _ => return false,
        }
        true
    }

    fn block(&mut self, kind: Kind) {
        self.blocks.push(Block {
            kind,
            outer: self.now,
            condition: Runs::Maybe,
            taken: Runs::No,
            head: true,
            tests: 0,
            variable: None,
            several: None,
            saved: None,
            assigned: Vec::new(),
        });
    }

    fn enter(&mut self, runs: Runs) {
        let Some(block) = self.blocks.last_mut() else { return };
        self.now = block.outer.and(runs);
        if runs == Runs::Maybe {
            block.saved = Some(self.vars.scope());
        }
    }

    /// Ends a branch: what it sets holds behind it only where it is taken for certain.
    fn leave(&mut self) {
        let Some(block) = self.blocks.last_mut() else { return };
        self.now = block.outer;
        let assigned = std::mem::take(&mut block.assigned);
        if let Some(scope) = block.saved.take() {
            self.vars.restore(scope);
            for (name, told) in assigned {
                self.vars.pass_by(Some(&name), told);
            }
        }
    }

    /// The end of a pattern of `case`, whose branch begins.
    pub(super) fn pattern(&mut self) -> bool {
        let of_case =
            self.blocks.last().is_some_and(|b| b.kind == Kind::Case && !b.head && b.saved.is_none());
        if of_case {
            self.end_word();
            self.words.clear();
            self.enter(Runs::Maybe);
        }
        of_case
    }

    /// `;;`
    pub(super) fn end_of_pattern(&mut self) {
        if self.blocks.last().is_some_and(|b| b.kind == Kind::Case) {
            self.leave();
        }
    }

    /// The words before `in` of `case WORD in`.
    pub(super) fn case_begins(&mut self) {
        let begins = self.words.last().is_some_and(|w| w.text == "in") && self.words.len() > 1;
        if let Some(block) = self.blocks.last_mut().filter(|b| begins && b.kind == Kind::Case && b.head) {
            block.head = false;
            self.words.clear();
        }
    }

    /// Whether the words are the head of a block, and nothing that runs by itself.
    pub(super) fn head(&mut self, words: &[Word], sep: Sep) -> bool {
        let decided = decides(words);
        let Some(block) = self.blocks.last_mut().filter(|b| b.head) else { return is_test(words) };
        match block.kind {
            Kind::For if block.variable.is_none() => {
                block.variable = words.first().map(|w| w.text.clone());
                block.several = (words.len() != 3).then(|| format!("for {}", shown(words)));
                return true;
            }
            Kind::If => {
                block.tests += 1;
                let alone = block.tests == 1 && sep == Sep::End;
                block.condition = if alone { decided } else { Runs::Maybe };
            }
            _ => {}
        }
        is_test(words)
    }

    /// What is known of the command behind `&&` or `||`.
    pub(super) fn guarded(&mut self, words: &[Word], sep: Sep) {
        let decided = if is_test(words) { decides(words) } else { Runs::Yes };
        self.after = sep;
        self.guard = match sep {
            Sep::End => Runs::Yes,
            Sep::And => self.guard.and(decided),
            Sep::Or if is_test(words) => decided.not(),
            Sep::Or if self.guard == Runs::Yes => Runs::Yes,
            Sep::Or => self.guard.not(),
        };
    }

    /// Whether a command is carried out.
    fn runs(&self) -> Runs {
        self.now.and(self.guard)
    }

    /// Keeps a command, unless its condition does not hold.
    pub(super) fn keep(&mut self, mut simple: Simple) {
        let mut inside = self.blocks.iter().filter(|b| !b.head);
        simple.repeated = inside.find_map(|b| b.several.clone());
        if self.runs() == Runs::No {
            let told = format!("`{}`: its condition does not hold here", shown(&simple.words));
            self.vars.pass_by(None, told);
        } else {
            self.out.push(simple);
        }
    }

    /// Carries out an assignment by `set`, or tells that it may not be one.
    pub(super) fn assign(&mut self, name: &str, written: &str, set: impl FnOnce(&mut Self)) {
        let holds = if self.runs() == Runs::No { "does not hold here" } else { "is not known here" };
        let value = written.split_once('=').map_or("", |(_, v)| v);
        let is_secret = secret::variable(name) || secret::value_is(value);
        let shown = if is_secret { format!("{name}=…") } else { written.to_owned() };
        let told = format!("`{shown}`: its condition {holds}");
        if self.runs() == Runs::No || self.guard == Runs::Maybe {
            self.vars.pass_by(Some(name), told);
            return;
        }
        if self.now == Runs::Maybe
            && let Some(block) = self.blocks.iter_mut().rev().find(|b| b.saved.is_some())
        {
            block.assigned.push((name.to_owned(), told));
        }
        set(self);
    }
}

/// The beginning of a command, as messages have it.
pub fn shown(words: &[Word]) -> String {
    let all: Vec<&str> = words.iter().take(3).map(|w| w.text.as_str()).collect();
    let text: String = all.join(" ").chars().filter(|c| !c.is_control()).take(48).collect();
    if words.len() > 3 { format!("{text} …") } else { text }
}

/// A command that only decides.
fn is_test(words: &[Word]) -> bool {
    let word = |w: Option<&Word>| w.map_or("", |w| w.text.as_str()).to_owned();
    let first = words.iter().find(|w| w.text != "!");
    matches!(word(first).as_str(), "[" | "[[" | "test" | "true" | "false" | ":") || word(words.last()) == "]]"
}

/// What comes out of a test, as far as the text says.
fn decides(words: &[Word]) -> Runs {
    let texts: Vec<&str> = words.iter().map(|w| w.text.as_str()).collect();
    if words.iter().any(|w| w.missing.is_some()) {
        return Runs::Maybe;
    }
    match texts.as_slice() {
        ["!", ..] => decides(&words[1..]).not(),
        ["true" | ":"] => Runs::Yes,
        ["false"] => Runs::No,
        ["[", inner @ .., "]"] | ["[[", inner @ .., "]]"] | ["test", inner @ ..] => compared(inner),
        _ => Runs::Maybe,
    }
}

fn compared(inner: &[&str]) -> Runs {
    match *inner {
        ["!", ref rest @ ..] => compared(rest).not(),
        ["-n", text] => Runs::known(!text.is_empty()),
        ["-z", text] => Runs::known(text.is_empty()),
        [text] if !text.starts_with('-') => Runs::known(!text.is_empty()),
        [_, "=" | "==" | "!=", pattern] if pattern.contains(['*', '?', '[']) => Runs::Maybe,
        [a, "=" | "==", b] => Runs::known(a == b),
        [a, "!=", b] => Runs::known(a != b),
        [a, operator, b] => {
            let (Ok(a), Ok(b)) = (a.parse::<i64>(), b.parse::<i64>()) else { return Runs::Maybe };
            match operator {
                "-eq" => Runs::known(a == b),
                "-ne" => Runs::known(a != b),
                "-lt" => Runs::known(a < b),
                "-le" => Runs::known(a <= b),
                "-gt" => Runs::known(a > b),
                "-ge" => Runs::known(a >= b),
                _ => Runs::Maybe,
            }
        }
        _ => Runs::Maybe,
    }
}

/// An assignment in its parts, where a word is one.
pub fn parts(word: &Word) -> Option<(String, bool, Word)> {
    let (name, joins, value) = joining(&word.text)?;
    Some((name.to_owned(), joins, Word { text: value.to_owned(), missing: word.missing.clone() }))
}
