//! What a script's own lines do: `NAME=value`, arrays, `export`, `declare`, `unset`, and their like in other shells.

use super::branches::parts;
use super::shell::{Reader, Sep};
use super::vars::{Simple, Word, assignment, joining};

/// `NAME=( … )`, as far as it has been read.
#[derive(Debug)]
pub struct Array {
    name: String,
    joins: bool,
    /// the words of the command before it
    before: Vec<Word>,
}

/// The assignments in front of a command, and its words.
pub fn assignments_apart(words: Vec<Word>) -> Simple {
    let mut simple = Simple::default();
    for word in words {
        match assignment(&word.text) {
            Some((name, value)) if simple.words.is_empty() => {
                let value = Word { text: value.to_owned(), missing: word.missing.clone() };
                simple.set.push((name.to_owned(), value));
            }
            _ => simple.words.push(word),
        }
    }
    simple
}

impl Reader<'_, '_> {
    /// Behind `NAME=` or `NAME+=`, the bracket of an array.
    pub(super) fn begins_array(&mut self) -> bool {
        let of = self.word.as_ref().filter(|_| !self.quoted && self.array.is_none());
        let found = of.and_then(|w| joining(&w.text)).filter(|(_, _, value)| value.is_empty());
        let Some((name, joins, _)) = found else { return false };
        let name = name.to_owned();
        self.array = Some(Array { name, joins, before: std::mem::take(&mut self.words) });
        self.word = None;
        true
    }

    pub(super) fn end_array(&mut self) {
        self.end_word();
        let Some(Array { name, joins, before }) = self.array.take() else { return };
        let elements = std::mem::replace(&mut self.words, before);
        let texts: Vec<&str> = elements.iter().map(|w| w.text.as_str()).collect();
        let sign = if joins { "+=" } else { "=" };
        let written = format!("{name}{sign}({})", texts.join(" "));
        self.assign(&name, &written, |r| r.vars.set_array(&name, elements, joins));
        self.after = Sep::End;
    }

    pub(super) fn end_command(&mut self, sep: Sep) {
        if self.array.is_some() {
            self.end_word();
            return;
        }
        self.end_word();
        self.skip = false;
        let writes = self.writes.take();
        let words = std::mem::take(&mut self.words);
        if words.is_empty() {
            // `&&` goes on over the end of a line
            if self.after == Sep::End {
                self.guarded(&words, sep);
            }
            return;
        }
        if !self.head(&words, sep) && !self.assigns(&words) {
            let mut simple = assignments_apart(words.clone());
            simple.writes = writes;
            self.keep(simple);
        }
        self.guarded(&words, sep);
    }

    /// Carries out a command that only sets variables, if it is one.
    fn assigns(&mut self, words: &[Word]) -> bool {
        if words.iter().all(|w| joining(&w.text).is_some()) {
            for word in words {
                self.sets(word, false);
            }
            return true;
        }
        let first = words[0].text.as_str();
        let rest = &words[1..];
        let option = |w: &&Word| w.text.starts_with('-');
        let plain = || rest.iter().filter(|w| !option(w));
        match first {
            "export" => plain().for_each(|w| self.sets(w, true)),
            "declare" | "typeset" | "local" | "readonly" => {
                let exports = rest.iter().filter(option).any(|w| w.text.contains('x'));
                plain().for_each(|w| self.sets(w, exports));
            }
            "unset" => {
                for word in plain() {
                    let written = format!("unset {}", word.text);
                    self.assign(&word.text, &written, |r| r.vars.unset(&word.text));
                }
            }
            // Windows, and other shells
            "set" if rest.len() == 1 && joining(&rest[0].text).is_some() => self.sets(&rest[0], true),
            "set" | "setenv" if plain().count() == 2 => {
                let exports = first == "setenv" || rest.iter().filter(option).any(|w| w.text.contains('x'));
                let all: Vec<&Word> = plain().collect();
                let missing = all[1].missing.clone();
                let word = Word { text: format!("{}={}", all[0].text, all[1].text), missing };
                self.sets(&word, exports);
            }
            _ => return self.element(first),
        }
        true
    }

    /// `NAME=value`, `NAME+=value`, or a name alone that is exported.
    fn sets(&mut self, word: &Word, exports: bool) {
        let Some((name, joins, value)) = parts(word) else {
            if exports {
                self.assign(&word.text, &format!("export {}", word.text), |r| {
                    r.vars.export(&word.text, None);
                });
            }
            return;
        };
        let written = if exports { format!("export {}", word.text) } else { word.text.clone() };
        self.assign(&name, &written, |r| {
            if joins {
                r.vars.append(&name, value);
            } else {
                r.vars.set(&name, value);
            }
            if exports {
                r.vars.export(&name, None);
            }
            r.vars.follow(&name);
        });
    }

    /// `NAME[1]=value`: what the array then is, is not read here.
    fn element(&mut self, word: &str) -> bool {
        let Some((name, _)) = word.split_once('[').filter(|(_, rest)| rest.contains("]=")) else {
            return false;
        };
        if joining(&format!("{name}=")).is_none() {
            return false;
        }
        let open = Word { text: String::new(), missing: Some(format!("{{{name}[…]=}}")) };
        self.assign(name, word, |r| r.vars.set(name, open));
        true
    }
}
