//! One diagnostic: a stable code, the exact span, what was expected, and how to fix it. Every pass pushes into one [`Sink`].

use super::codes::Code;
use super::source::Span;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Error,
    Warning,
    Note,
}

/// What a machine can do about it: replace a span by a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub span: Span,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    pub code: Code,
    pub message: String,
    pub span: Span,
    /// said at the span itself, under the line
    pub label: String,
    pub help: Option<String>,
    pub related: Vec<(Span, String)>,
    pub edits: Vec<Edit>,
}

impl Diagnostic {
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            span,
            label: String::new(),
            help: None,
            related: Vec::new(),
            edits: Vec::new(),
        }
    }

    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.label = text.into();
        self
    }

    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    #[must_use]
    pub fn related(mut self, span: Span, text: impl Into<String>) -> Self {
        self.related.push((span, text.into()));
        self
    }

    #[must_use]
    pub fn edit(mut self, span: Span, text: impl Into<String>) -> Self {
        self.edits.push(Edit { span, text: text.into() });
        self
    }

    pub fn severity(&self) -> Severity {
        self.code.severity()
    }

    pub fn is_error(&self) -> bool {
        self.severity() == Severity::Error
    }
}

/// More errors than this are not listed: nobody reads them, and a file of noise would yield one for each line.
const MOST_ERRORS: usize = 100;
/// Nor are more warnings and notes.
const MOST_REMARKS: usize = 100;

/// Where every pass puts what it finds.
#[derive(Debug, Default)]
pub struct Sink {
    found: Vec<Diagnostic>,
    errors: usize,
    /// where the first error stands that is not listed, and how many there are of that kind
    unlisted: Option<(Span, usize)>,
}

impl Sink {
    /// Pushes unless the same was already reported at the same place, or enough has been.
    pub fn push(&mut self, d: Diagnostic) {
        if self.found.iter().any(|o| o.code == d.code && o.span == d.span && o.message == d.message) {
            return;
        }
        if d.is_error() {
            if self.is_full() {
                self.unexplained(d.span);
                return;
            }
            self.errors += 1;
        } else if self.found.len() - self.errors >= MOST_REMARKS {
            return;
        }
        self.found.push(d);
    }

    /// Whether as many errors were found as are listed: explaining more is in vain.
    pub fn is_full(&self) -> bool {
        self.errors >= MOST_ERRORS
    }

    /// Counts a mistake that was not looked into, because enough were.
    pub fn unexplained(&mut self, span: Span) {
        let (first, count) = self.unlisted.unwrap_or((span, 0));
        self.unlisted = Some((first, count + 1));
    }

    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Everything found, in the order of the text; a file's errors before its warnings on the same place. Notes say what becomes
    /// of a file that is right, so that a file with errors has none.
    pub fn into_sorted(mut self) -> Vec<Diagnostic> {
        if self.has_errors() {
            self.found.retain(|d| d.severity() != Severity::Note);
        }
        self.found.sort_by_key(|d| (d.span.file, d.span.start, d.severity(), d.code));
        if let Some((span, count)) = self.unlisted {
            let message = format!("{count} more mistakes are not listed");
            let d = Diagnostic::new(Code::TooMany, span, message).label("the first of them");
            self.found.push(d.help("mend those above first; is this a .plab file?"));
        }
        self.found
    }
}

/// `a name`, `an axis`
pub fn with_article(word: &str) -> String {
    let article = if word.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {word}")
}

/// Longer words are noise, and comparing them is slow.
const LONGEST_WORD: usize = 80;

/// The nearest of `known` to `word`, if it is near enough to have been meant.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    if length > LONGEST_WORD {
        return None;
    }
    // of a single letter nothing would be left
    let limit = (length / 3).max(1).min(length.saturating_sub(1));
    known
        .into_iter()
        .map(|k| (strsim::damerau_levenshtein(word, k), k))
        .filter(|(d, _)| *d <= limit)
        .min()
        .map(|(_, k)| k)
}

/// `a, b or c`
pub fn one_of<S: AsRef<str>>(words: &[S]) -> String {
    match words {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [most @ .., last] => {
            let most: Vec<_> = most.iter().map(AsRef::as_ref).collect();
            format!("{} or {}", most.join(", "), last.as_ref())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_are_near() {
        assert_eq!(did_you_mean("throughputt", ["throughput", "chat"]), Some("throughput"));
        assert_eq!(did_you_mean("x", ["throughput", "y"]), None);
        assert_eq!(
            did_you_mean("--max-num-seq", ["--max-num-seqs", "--max-model-len"]),
            Some("--max-num-seqs")
        );
    }

    #[test]
    fn words_are_joined_as_people_do() {
        assert_eq!(one_of(&["a"]), "a");
        assert_eq!(one_of(&["a", "b", "c"]), "a, b or c");
    }
}
