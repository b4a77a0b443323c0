//! A text as a shell would read it: commands of words, with variables inserted, redirections and comments gone.
//!
//! It reads and never runs: what only a running shell could know (`$(…)`, a variable that nothing sets) is marked on its
//! word, so that it matters only where the word does. It is lenient where a person's intention is plain, as with spaces behind a continuing backslash.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::Chars;

use super::arithmetic;
use super::error::InitError;

/// One word, and the variable in it that nothing set; in brackets, the command that would have to run.
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
}

/// Variables as the shell would have them.
#[derive(Debug, Clone, Default)]
pub struct Vars {
    values: BTreeMap<String, Word>,
    /// set with `export`, in order
    pub exported: Vec<(String, Word)>,
    /// inserted somewhere: such a variable is the script's own, not the engine's
    pub inserted: Vec<String>,
    /// unset, and inserted with the value that the text gives for that: `${TP:-2}`
    pub assumed: Vec<(String, String)>,
}

impl Vars {
    pub fn set(&mut self, name: &str, value: Word) {
        self.values.insert(name.to_owned(), value);
    }

    fn export(&mut self, name: &str, value: Word) {
        self.exported.retain(|(n, _)| n != name);
        self.exported.push((name.to_owned(), value.clone()));
        self.set(name, value);
    }
}

/// The simple commands of a text, in order; `export` and lines that only assign are carried out on `vars`.
pub fn commands(text: &str, vars: &mut Vars) -> Result<Vec<Simple>, InitError> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut reader = Reader::new(&text, vars);
    reader.read()?;
    Ok(reader.out)
}

/// Words that a shell has split already, as one command. What it was kept from inserting, by quotes, is inserted here.
pub fn split_already(words: &[String], vars: &mut Vars) -> Result<Simple, InitError> {
    let read =
        |word: &String| if inserts(word) { inserted(word, vars) } else { Ok(Word::plain(word.clone())) };
    Ok(assignments_apart(words.iter().map(read).collect::<Result<_, _>>()?))
}

/// Whether a word means a variable of a shell: `$LEN`, `${TP:-2}`. JSON has `$` of its own, and passwords do.
fn inserts(word: &str) -> bool {
    let name = |rest: &str| {
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        rest.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
    };
    !word.contains("{\"") && word.split('$').skip(1).any(name)
}

fn inserted(word: &str, vars: &mut Vars) -> Result<Word, InitError> {
    let mut reader = Reader::new(word, vars);
    while let Some(c) = reader.chars.next() {
        if c == '$' {
            reader.dollar(true)?;
        } else {
            reader.push(c);
        }
    }
    Ok(reader.word.unwrap_or_default())
}

/// `NAME=` at the beginning of a word.
pub fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    (begins && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')).then_some((name, value))
}

fn assignments_apart(words: Vec<Word>) -> Simple {
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

struct Reader<'a, 'v> {
    chars: Peekable<Chars<'a>>,
    vars: &'v mut Vars,
    out: Vec<Simple>,
    /// the words of the command so far
    words: Vec<Word>,
    word: Option<Word>,
    /// something in the word is in quotes
    quoted: bool,
    /// the next word is the target of a redirection
    skip: bool,
}

impl<'a, 'v> Reader<'a, 'v> {
    fn new(text: &'a str, vars: &'v mut Vars) -> Self {
        Self {
            chars: text.chars().peekable(),
            vars,
            out: Vec::new(),
            words: Vec::new(),
            word: None,
            quoted: false,
            skip: false,
        }
    }

    fn read(&mut self) -> Result<(), InitError> {
        while let Some(c) = self.chars.next() {
            match c {
                ' ' | '\t' => self.end_word(),
                '\n' | ';' | '|' => self.end_command(),
                '\\' => self.backslash(),
                '\'' => self.single_quotes()?,
                '"' => self.double_quotes()?,
                '`' => self.backtick()?,
                '^' if self.continues() => {}
                '$' => self.dollar(false)?,
                '#' if self.word.is_none() => self.comment(),
                '&' => self.ampersand(),
                '<' | '>' => self.redirection(c)?,
                '~' if self.word.is_none() => self.tilde(),
                c => self.push(c),
            }
        }
        self.end_command();
        Ok(())
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().text.push(c);
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        self.quoted = false;
        if !std::mem::take(&mut self.skip) {
            self.words.push(word);
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.skip = false;
        let mut simple = assignments_apart(std::mem::take(&mut self.words));
        if simple.words.first().is_some_and(|w| w.text == "export") {
            for word in simple.words.drain(1..) {
                if let Some((name, value)) = assignment(&word.text) {
                    let value = Word { text: value.to_owned(), missing: word.missing.clone() };
                    self.vars.export(name, value);
                }
            }
        } else if simple.words.is_empty() {
            for (name, value) in simple.set {
                self.vars.set(&name, value);
            }
        } else {
            self.out.push(simple);
        }
    }

    fn backslash(&mut self) {
        if self.continues() || self.chars.clone().all(|c| matches!(c, ' ' | '\t')) {
            return;
        }
        if let Some(c) = self.chars.next() {
            self.push(c);
        }
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

    fn old_substitution(&mut self) -> Result<(), InitError> {
        let inside: String = std::iter::from_fn(|| self.chars.next_if(|c| *c != '`')).collect();
        if self.chars.next().is_none() {
            return Err(InitError::Shell("a ` is never closed".to_owned()));
        }
        self.mark(&inside);
        Ok(())
    }

    /// `$(command)`, `$((8 / 2))`: the sum is known here, the command's output is not.
    fn substitution(&mut self) -> Result<(), InitError> {
        let Some(inside) = self.until_closed() else {
            return Err(InitError::Shell("a $( is never closed".to_owned()));
        };
        let value =
            |name: &str| self.vars.values.get(name).filter(|v| v.missing.is_none()).map(|v| v.text.clone());
        let sum = inside.strip_prefix('(').and_then(|i| i.strip_suffix(')'));
        match sum.and_then(|sum| arithmetic::value(sum, &value)) {
            Some(number) => self.word.get_or_insert_default().text.push_str(&number.to_string()),
            None => self.mark(&inside),
        }
        Ok(())
    }

    /// The output of a command stands in the word, and nobody runs it here.
    fn mark(&mut self, command: &str) {
        let word = self.word.get_or_insert_default();
        word.missing.get_or_insert_with(|| format!("({command})"));
    }

    /// What stands up to the bracket that closes one which is open.
    fn until_closed(&mut self) -> Option<String> {
        let (mut depth, mut quote, mut out) = (1, None, String::new());
        for c in self.chars.by_ref() {
            match (c, quote) {
                (_, Some(open)) if c == open => quote = None,
                ('\'' | '"', None) => quote = Some(c),
                ('(', None) => depth += 1,
                (')', None) => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(out);
            }
            out.push(c);
        }
        None
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

    fn dollar(&mut self, in_quotes: bool) -> Result<(), InitError> {
        match self.chars.peek().copied() {
            Some('(') => {
                self.chars.next();
                self.substitution()
            }
            Some('{') => {
                self.chars.next();
                let inside: String = std::iter::from_fn(|| self.chars.next_if(|c| *c != '}')).collect();
                if self.chars.next().is_none() {
                    return Err(InitError::Shell("a ${ is never closed".to_owned()));
                }
                let (name, otherwise) = expansion(&inside);
                self.insert(name, otherwise.map(str::to_owned), in_quotes);
                Ok(())
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let more = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
                let name: String = std::iter::from_fn(|| self.chars.next_if(more)).collect();
                self.insert(&name, None, in_quotes);
                Ok(())
            }
            // what a script was given
            Some(c) if c.is_ascii_digit() || matches!(c, '@' | '*' | '#') => {
                self.chars.next();
                self.insert(&c.to_string(), None, in_quotes);
                Ok(())
            }
            _ => {
                self.push('$');
                Ok(())
            }
        }
    }

    /// A variable's value; outside of quotes its spaces separate words.
    fn insert(&mut self, name: &str, otherwise: Option<String>, in_quotes: bool) {
        let known = self.vars.values.get(name).filter(|v| !(v.text.is_empty() && otherwise.is_some()));
        let value = match (known, otherwise) {
            (Some(known), _) => known.clone(),
            (None, Some(text)) => {
                self.vars.assumed.push((name.to_owned(), text.clone()));
                Word::plain(text)
            }
            (None, None) => Word { text: String::new(), missing: Some(name.to_owned()) },
        };
        self.vars.inserted.push(name.to_owned());
        if value.missing.is_some() || in_quotes {
            let word = self.word.get_or_insert_default();
            word.text.push_str(&value.text);
            word.missing = word.missing.take().or(value.missing);
            return;
        }
        for c in value.text.chars() {
            if c.is_whitespace() { self.end_word() } else { self.push(c) }
        }
    }

    fn tilde(&mut self) {
        let home = matches!(self.chars.peek(), None | Some('/' | ' ' | '\t' | '\n'));
        match self.vars.values.get("HOME") {
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
            self.end_command();
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
            if self.chars.peek() == Some(&'<') {
                return Err(InitError::Shell("it reads a text of its own (`<<`)".to_owned()));
            }
        }
        // the digits right before it are a file descriptor
        match self.word.take() {
            Some(w) if !self.quoted && !w.text.is_empty() && w.text.chars().all(|c| c.is_ascii_digit()) => {}
            word => {
                self.word = word;
                self.end_word();
            }
        }
        while self.chars.next_if(|c| matches!(c, '>' | '&' | '|')).is_some() {}
        self.skip = true;
        Ok(())
    }
}

/// What stands in `${ }`: the variable, and its value where it is unset (`:-`, `:=`).
fn expansion(inside: &str) -> (&str, Option<&str>) {
    let of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (name, rest) = inside.split_at(inside.find(|c| !of_name(c)).unwrap_or(inside.len()));
    let rest = rest.strip_prefix(':').unwrap_or(rest);
    (name, rest.strip_prefix(['-', '=']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Vec<String>> {
        let mut vars = Vars::default();
        vars.set("HOME", Word::plain("/home/me"));
        let all = commands(text, &mut vars).expect("readable");
        all.iter().map(|s| s.words.iter().map(|w| w.text.clone()).collect()).collect()
    }

    #[test]
    fn what_a_shell_does_to_words() {
        let cases: [(&str, &[&[&str]]); 14] = [
            ("a b\tc", &[&["a", "b", "c"]]),
            ("a \\\n  b \\ \n c", &[&["a", "b", "c"]]),
            ("a 'b c' \"d \\\" e\" f\\ g", &[&["a", "b c", "d \" e", "f g"]]),
            ("a --x='{\"m\": 1}' ''", &[&["a", "--x={\"m\": 1}", ""]]),
            ("a # no\nb #no", &[&["a"], &["b"]]),
            ("a b#c", &[&["a", "b#c"]]),
            ("a > log 2>&1 &\nb &> log; c 2>>e d | tee x", &[&["a"], &["b"], &["c", "d"], &["tee", "x"]]),
            ("M=x/y\na $M \"${M}z\" ${N:-q}", &[&["a", "x/y", "x/yz", "q"]]),
            ("A='1 2'; a $A \"$A\"", &[&["a", "1", "2", "1 2"]]),
            ("a ~/m ~ b~", &[&["a", "/home/me/m", "/home/me", "b~"]]),
            ("a \\\n  # why\n  b", &[&["a", "b"]]),
            ("a && b || c", &[&["a"], &["b"], &["c"]]),
            ("N=3\na $((8/2)) x$(( (N + 1) * 2 - 10 % 4 )) $((N / 0))", &[&["a", "4", "x6", ""]]),
            ("a `\n  b ^ \n  c", &[&["a", "b", "c"]]),
        ];
        for (text, expected) in cases {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    #[test]
    fn what_only_a_running_shell_knows_is_an_error() {
        let read = |text: &str| commands(text, &mut Vars::default());
        assert!(matches!(read("a $(nproc"), Err(InitError::Shell(_))));
        assert!(matches!(read("a `x"), Err(InitError::Shell(_))));
        assert!(matches!(read("a 'b"), Err(InitError::Shell(_))));
        assert!(matches!(read("vllm serve <your model>"), Err(InitError::Placeholder(_))));
        let all = read("a $X \"$(cat ')' ~/x)\" `nproc` A=$(b $(c)) d").expect("readable");
        let missing: Vec<_> = all[0].words.iter().map(|w| w.missing.as_deref()).collect();
        assert_eq!(
            missing,
            [None, Some("X"), Some("(cat ')' ~/x)"), Some("(nproc)"), Some("(b $(c))"), None]
        );
    }

    #[test]
    fn assignments_and_exports() {
        let mut vars = Vars::default();
        let all = commands("export A=1 B='2 3'\nC=4\nD=5 E= run x=y", &mut vars).expect("readable");
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].set.iter().map(|(n, _)| n.as_str()).collect::<Vec<_>>(), ["D", "E"]);
        assert_eq!(all[0].words.len(), 2);
        assert_eq!(
            vars.exported.iter().map(|(n, v)| (n.as_str(), v.text.as_str())).collect::<Vec<_>>(),
            [("A", "1"), ("B", "2 3")]
        );
    }
}
