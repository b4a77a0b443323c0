//! A text as a shell would read it: commands of words, with variables inserted, redirections and comments gone.
//!
//! It reads and never runs: what only a running shell could know (`$(…)`, a variable that nothing sets) is marked on its
//! word, so that it matters only where the word does. It is lenient where a person's intention is plain, as with spaces behind a continuing backslash.
//! `expand` has what is inserted, `branches` what runs under a condition, `carry` assignments, `heredoc` the texts that are no commands.

use std::iter::Peekable;
use std::str::Chars;

use super::branches::{Block, Runs};
use super::carry::{Array, assignments_apart};
use super::error::InitError;
use super::heredoc::Pending;
use super::programs::base_name;
pub use super::vars::{Simple, Vars, Word, assignment};
use super::wrappers::SHELLS;
use super::written;

/// The simple commands of a text, in order; `export` and lines that only assign are carried out on `vars`.
pub fn commands(text: &str, vars: &mut Vars) -> Result<Vec<Simple>, InitError> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut reader = Reader::new(&text, vars);
    reader.read()?;
    Ok(reader.out)
}

/// Words that a shell has split already, as one command. What it was kept from inserting, by quotes, is inserted here, but for what a shell
/// among the words is to insert: it knows the variables of its container.
pub fn split_already(words: &[String], vars: &mut Vars) -> Result<Simple, InitError> {
    let mut all = Vec::new();
    let script = script_in(words);
    for (i, word) in words.iter().enumerate() {
        if inserts(word) && script != Some(i) {
            all.extend(inserted(word, vars)?);
        } else {
            all.push(Word::plain(word.clone()));
        }
    }
    Ok(assignments_apart(all))
}

/// Where the script of `sh -c SCRIPT` stands.
fn script_in(words: &[String]) -> Option<usize> {
    let shell = words.iter().position(|w| SHELLS.contains(&base_name(w)))?;
    let option = |w: &String| w.starts_with('-') && !w.starts_with("--") && w.ends_with('c');
    let behind = words[shell..].iter().position(option)?;
    Some(shell + behind + 1)
}

/// Whether a word means a variable of a shell: `$LEN`, `${TP:-2}`. JSON has `$` of its own, and passwords do.
fn inserts(word: &str) -> bool {
    let name = |rest: &str| {
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        rest.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
    };
    !word.contains("{\"") && word.split('$').skip(1).any(name)
}

fn inserted(word: &str, vars: &mut Vars) -> Result<Vec<Word>, InitError> {
    let mut reader = Reader::new(word, vars);
    (reader.word, reader.quoted) = (Some(Word::default()), true);
    while let Some(c) = reader.chars.next() {
        if c == '$' {
            reader.dollar(true)?;
        } else {
            reader.push(c);
        }
    }
    reader.quoted = true;
    reader.end_word();
    Ok(reader.words)
}

/// What ends a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sep {
    And,
    Or,
    End,
}

pub struct Reader<'a, 'v> {
    pub(super) chars: Peekable<Chars<'a>>,
    pub(super) vars: &'v mut Vars,
    pub(super) out: Vec<Simple>,
    /// the words of the command so far
    pub(super) words: Vec<Word>,
    pub(super) word: Option<Word>,
    /// something in the word is in quotes
    pub(super) quoted: bool,
    /// the word is of an array without elements, and is none unless something stands beside it
    pub(super) vanishes: bool,
    /// the next word is the target of a redirection
    pub(super) skip: bool,
    /// what the command writes to: `> FILE`
    pub(super) writes: Option<String>,
    pub(super) array: Option<Array>,
    /// `( … )` that are open
    subshells: usize,
    pub(super) blocks: Vec<Block>,
    /// whether the branch is taken that commands stand in
    pub(super) now: Runs,
    /// what is known of the command behind `&&`
    pub(super) guard: Runs,
    /// what ended the command before this one
    pub(super) after: Sep,
    pub(super) pending: Vec<Pending>,
    /// how many commands there were before this line
    before_line: usize,
}

impl<'a, 'v> Reader<'a, 'v> {
    pub(super) fn new(text: &'a str, vars: &'v mut Vars) -> Self {
        Self {
            chars: text.chars().peekable(),
            vars,
            out: Vec::new(),
            words: Vec::new(),
            word: None,
            quoted: false,
            vanishes: false,
            skip: false,
            writes: None,
            array: None,
            subshells: 0,
            blocks: Vec::new(),
            now: Runs::Yes,
            guard: Runs::Yes,
            after: Sep::End,
            pending: Vec::new(),
            before_line: 0,
        }
    }

    fn read(&mut self) -> Result<(), InitError> {
        while let Some(c) = self.chars.next() {
            match c {
                ' ' | '\t' => self.end_word(),
                '\n' => self.end_line()?,
                ';' => {
                    self.end_command(Sep::End);
                    if self.chars.next_if_eq(&';').is_some() {
                        self.end_of_pattern();
                    }
                }
                '|' => {
                    let or = self.chars.next_if_eq(&'|').is_some();
                    self.end_command(if or { Sep::Or } else { Sep::End });
                }
                '\\' => self.backslash()?,
                '\'' => self.single_quotes()?,
                '"' => self.double_quotes()?,
                '`' => self.backtick()?,
                '^' if self.continues() => {}
                '$' => self.dollar(false)?,
                '#' if self.word.is_none() => self.comment(),
                '&' => self.ampersand(),
                '<' | '>' => self.redirection(c)?,
                '(' => self.opens(),
                ')' => self.closes(),
                '~' if self.word.is_none() => self.tilde(),
                c => self.push(c),
            }
        }
        if self.array.is_some() {
            return Err(InitError::Shell("a `=(` is never closed".to_owned()));
        }
        self.end_line()
    }

    pub(super) fn push(&mut self, c: char) {
        self.word.get_or_insert_default().text.push(c);
    }

    pub(super) fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        let quoted = std::mem::take(&mut self.quoted);
        if std::mem::take(&mut self.vanishes) && word == Word::default() {
            return;
        }
        if std::mem::take(&mut self.skip) {
            self.writes = Some(word.text);
            return;
        }
        let begins = self.words.is_empty() && !quoted && self.array.is_none() && word.missing.is_none();
        if begins && self.keyword(&word.text) {
            return;
        }
        self.words.push(word);
        if self.array.is_none() {
            self.case_begins();
        }
    }

    /// The end of a line, behind which the texts stand that its commands read.
    fn end_line(&mut self) -> Result<(), InitError> {
        self.end_command(Sep::End);
        if !self.pending.is_empty() {
            let text = self.texts()?;
            let of_line = self.out.len() > self.before_line;
            if let Some(last) = self.out.last_mut().filter(|_| of_line) {
                last.text = text;
            }
        }
        self.before_line = self.out.len();
        Ok(())
    }

    /// `NAME=(`, `NAME() {`, or a shell within the shell.
    fn opens(&mut self) {
        if self.begins_array() {
            return;
        }
        let first = self.words.is_empty() && self.array.is_none();
        match &self.word {
            None if first => self.subshells += 1,
            Some(_) if first && self.chars.next_if_eq(&')').is_some() => self.word = None,
            _ => self.push('('),
        }
    }

    fn closes(&mut self) {
        if self.array.is_some() {
            self.end_array();
        } else if self.subshells > 0 {
            self.subshells -= 1;
            self.end_command(Sep::End);
        } else if !self.pattern() {
            self.push(')');
        }
    }

    fn backslash(&mut self) -> Result<(), InitError> {
        if self.continues() || self.chars.clone().all(|c| matches!(c, ' ' | '\t')) {
            return Ok(());
        }
        let drive = self.word.as_ref().is_some_and(|w| w.text.len() == 2 && w.text.ends_with(':'));
        if drive && self.chars.peek().is_some_and(char::is_ascii_alphanumeric) {
            return Err(InitError::Shell("it has a path of Windows, which a shell takes apart".to_owned()));
        }
        if let Some(c) = self.chars.next() {
            self.push(c);
        }
        Ok(())
    }

    /// Behind a sign that continues a line: goes on with the next one. Spaces in between are no continuation to a shell, and always
    /// meant as one.
    fn continues(&mut self) -> bool {
        let mut ahead = self.chars.clone();
        while ahead.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        let ends = ahead.next() == Some('\n');
        if ends {
            self.chars = ahead;
            self.continued();
        }
        ends
    }

    /// A command in backticks, or the end of a line of PowerShell.
    fn backtick(&mut self) -> Result<(), InitError> {
        if self.continues() { Ok(()) } else { self.old_substitution() }
    }

    /// After a continuing backslash: whole comment lines in between end no command.
    fn continued(&mut self) {
        loop {
            let mut ahead = self.chars.clone();
            while ahead.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
            if ahead.peek() != Some(&'#') {
                return;
            }
            self.end_word();
            self.chars = ahead;
            self.comment();
            self.chars.next();
        }
    }

    fn comment(&mut self) {
        while self.chars.next_if(|c| *c != '\n').is_some() {}
    }

    fn single_quotes(&mut self) -> Result<(), InitError> {
        self.word.get_or_insert_default();
        self.quoted = true;
        loop {
            match self.chars.next() {
                Some('\'') => return Ok(()),
                Some(c) => self.push(c),
                None => return Err(InitError::Shell("a ' is never closed".to_owned())),
            }
        }
    }

    fn double_quotes(&mut self) -> Result<(), InitError> {
        self.word.get_or_insert_default();
        self.quoted = true;
        loop {
            match self.chars.next() {
                Some('"') => return Ok(()),
                Some('\\') => match self.chars.next() {
                    Some('\n') => {}
                    Some(c @ ('"' | '\\' | '$' | '`')) => self.push(c),
                    Some(c) => {
                        self.push('\\');
                        self.push(c);
                    }
                    None => self.push('\\'),
                },
                Some('$') => self.dollar(true)?,
                Some('`') => self.old_substitution()?,
                Some(c) => self.push(c),
                None => return Err(InitError::Shell("a \" is never closed".to_owned())),
            }
        }
    }

    fn tilde(&mut self) {
        let home = matches!(self.chars.peek(), None | Some('/' | ' ' | '\t' | '\n'));
        match self.vars.get("HOME") {
            Some(value) if home => self.word = Some(value.clone()),
            _ => self.push('~'),
        }
    }

    fn ampersand(&mut self) {
        if self.chars.next_if_eq(&'>').is_some() {
            self.end_word();
            self.chars.next_if_eq(&'>');
            self.skip = true;
        } else {
            let and = self.chars.next_if_eq(&'&').is_some();
            self.end_command(if and { Sep::And } else { Sep::End });
        }
    }

    fn redirection(&mut self, first: char) -> Result<(), InitError> {
        if first == '<' {
            let mut ahead = self.chars.clone();
            let name: String =
                std::iter::from_fn(|| ahead.next_if(|c| c.is_alphanumeric() || "-_ ./".contains(*c)))
                    .collect();
            if ahead.peek() == Some(&'>') && !name.is_empty() {
                return Err(InitError::Placeholder(format!("<{name}>")));
            }
        }
        // the digits right before it are a file descriptor
        match self.word.take() {
            Some(w) if !self.quoted && !w.text.is_empty() && w.text.chars().all(|c| c.is_ascii_digit()) => {}
            word => {
                self.word = word;
                // `--flag=<(command)` is one word
                if self.chars.peek() != Some(&'(') {
                    self.end_word();
                }
            }
        }
        if self.chars.next_if_eq(&'(').is_some() {
            // `<(command)` is a word, `> >(command)` the target of what stands before it
            let Some(inside) = self.until_closed('(', ')') else {
                return Err(InitError::Shell(format!("a {first}( is never closed")));
            };
            match written::by(&inside, self.vars).filter(|_| first == '<') {
                Some(output) => {
                    let word = self.word.get_or_insert_default();
                    word.missing.get_or_insert_with(|| format!("<{output}"));
                }
                None => self.mark(&inside),
            }
            return Ok(());
        }
        if first == '<' && self.chars.next_if_eq(&'<').is_some() && self.chars.peek() != Some(&'<') {
            return self.here_document();
        }
        while self.chars.next_if(|c| matches!(c, '<' | '>' | '&' | '|')).is_some() {}
        self.skip = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
