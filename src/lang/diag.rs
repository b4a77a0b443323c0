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

/// Where every pass puts what it finds.
#[derive(Debug, Default)]
pub struct Sink {
    found: Vec<Diagnostic>,
}

impl Sink {
    /// Pushes unless the same code was already reported at the same place.
    pub fn push(&mut self, d: Diagnostic) {
        if !self.found.iter().any(|o| o.code == d.code && o.span == d.span && o.message == d.message) {
            self.found.push(d);
        }
    }

    /// Whether something was found within a span: what lies around it need not be reported for the same reason.
    pub fn any_in(&self, span: Span) -> bool {
        self.found.iter().any(|d| d.is_error() && d.span.file == span.file && d.span.start >= span.start && d.span.end <= span.end)
    }

    pub fn has_errors(&self) -> bool {
        self.found.iter().any(Diagnostic::is_error)
    }

    /// Everything found, in the order of the text; a file's errors before its notes on the same place.
    pub fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.found.sort_by_key(|d| (d.span.file, d.span.start, d.severity(), d.code));
        self.found
    }
}

/// The nearest of `known` to `word`, if it is near enough to have been meant.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(1);
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
        assert_eq!(did_you_mean("x", ["throughput"]), None);
        assert_eq!(did_you_mean("--max-num-seq", ["--max-num-seqs", "--max-model-len"]), Some("--max-num-seqs"));
    }

    #[test]
    fn words_are_joined_as_people_do() {
        assert_eq!(one_of(&["a"]), "a");
        assert_eq!(one_of(&["a", "b", "c"]), "a, b or c");
    }
}
