//! One diagnostic: a stable code, the exact span, what was expected, and how to fix it. Every pass pushes into one [`Sink`].

use std::collections::HashMap;

pub use super::about::{About, Expected, Untaken};
use super::codes::Code;
use super::invisible::shown;
pub use super::near::{begun, did_you_mean, differ_in_a_part, nearest, same_digits};
use super::near::{numbers_beside, signs};
pub use super::sink::{Sink, Swap};
use super::source::{FileId, Span};

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

#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    pub code: Code,
    pub about: About,
    pub message: String,
    pub span: Span,
    /// said at the span itself, under the line
    pub label: String,
    /// what the label says was probably meant
    pub suggested: Vec<String>,
    pub help: Option<String>,
    pub related: Vec<(Span, String)>,
    pub edits: Vec<Edit>,
}

impl Diagnostic {
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            about: About::default(),
            message: shown(message.into()),
            span,
            label: String::new(),
            suggested: Vec::new(),
            help: None,
            related: Vec::new(),
            edits: Vec::new(),
        }
    }

    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.label = shown(text.into());
        self.suggested.clear();
        self
    }

    #[must_use]
    pub fn about(mut self, what: About) -> Self {
        self.about = what;
        self
    }

    /// Asks whether this was meant.
    #[must_use]
    pub fn suggest(self, word: &str) -> Self {
        self.suggest_as(format!("did you mean `{word}`?"), [word])
    }

    /// Asks whether these were meant, in such words.
    #[must_use]
    pub fn suggest_as<'a>(self, label: String, words: impl IntoIterator<Item = &'a str>) -> Self {
        let suggested = words.into_iter().map(str::to_owned).collect();
        Self { suggested, ..self.label(label) }
    }

    /// Asks whether one of these was meant.
    #[must_use]
    pub fn suggest_one_of(self, words: &[String]) -> Self {
        let quoted: Vec<String> = words.iter().map(|w| format!("`{w}`")).collect();
        self.suggest_as(format!("did you mean {}?", one_of(&quoted)), words.iter().map(String::as_str))
    }

    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(shown(text.into()));
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

    /// Says what `word` was probably meant to be, else `otherwise`. It becomes a fix only where no other word is as near, and
    /// both hold the same digits and no part that is another word: which of two was meant, a machine cannot know, and `fp4` is as good a name
    /// as `fp8`.
    #[must_use]
    pub fn meant<'a>(
        self,
        word: &str,
        known: impl IntoIterator<Item = &'a str>,
        otherwise: &str,
        written: impl Fn(&str) -> String,
    ) -> Self {
        let span = self.span;
        let known: Vec<&str> = known.into_iter().collect();
        // `h100` is no slip of `h200` where there are `h100-sxm` and `h100-pcie`
        let begun = |k: &&&str| k.strip_prefix(word).is_some_and(|rest| rest.starts_with(['-', '_', '.']));
        let begun: Vec<String> = known.iter().filter(begun).map(|k| written(k)).collect();
        if let Some(beside) = numbers_beside(word, &known) {
            return self.suggest_one_of(&beside.iter().map(|n| written(n)).collect::<Vec<_>>());
        }
        let near = nearest(word, known);
        // of two letters each name is as near as many others, unless none is
        let told = word.len() > 2 || word.len() > 1 && near.is_empty();
        if told && (1..4).contains(&begun.len()) && !near.iter().any(|n| same_digits(word, n)) {
            return self.suggest_one_of(&begun);
        }
        match near.as_slice() {
            [] => self.label(otherwise),
            [only] => {
                let asked = self.suggest(&written(only));
                // of two letters each slip is as near to many others
                let slip = same_digits(word, only)
                    && signs(word) == signs(only)
                    && word.len().max(only.len()) > 2
                    && !differ_in_a_part(word, only);
                if slip { asked.edit(span, written(only)) } else { asked }
            }
            [first, second, ..] => self.suggest_one_of(&[written(first), written(second)]),
        }
    }

    /// The same at a more exact place, to which its fix goes too.
    #[must_use]
    pub fn moved(mut self, to: Span) -> Self {
        for edit in self.edits.iter_mut().filter(|e| e.span == self.span) {
            edit.span = to;
        }
        self.span = to;
        self
    }

    pub fn severity(&self) -> Severity {
        self.code.severity()
    }

    /// The words of its help, its label and its edits: among them is what may have been meant.
    pub fn words_said(&self) -> impl Iterator<Item = &str> {
        let edits = self.edits.iter().map(|e| e.text.as_str());
        let said = self.help.as_deref().into_iter().chain([self.label.as_str()]).chain(edits);
        said.flat_map(|text| text.split([' ', '\n', '`', ',', '?', ':', '=', '"']))
    }

    pub fn is_error(&self) -> bool {
        self.severity() == Severity::Error
    }

    /// Whether it is about a line that may declare something, under no word that is nearly one of a declaration: `let x = 1`.
    pub fn declares_by_guess(&self) -> bool {
        self.code == Code::NotADeclaration && self.suggested.is_empty()
    }
}

/// In the order of the text; errors before warnings on the same place. What says how many others there are is last.
pub fn sort(found: &mut [Diagnostic]) {
    found.sort_by_key(|d| (d.code == Code::TooMany, d.span.file, d.span.start, d.severity(), d.code));
}

/// More errors than this are not listed: nobody reads them.
const MOST_ERRORS: usize = 100;
/// Nor are more warnings and notes.
const MOST_REMARKS: usize = 100;

/// What is listed of everything found, in order. `uncounted` errors were not even looked into. How many are not listed, those among them.
pub fn list(found: &mut Vec<Diagnostic>, uncounted: usize) -> usize {
    sort(found);
    let (mut errors, mut remarks, mut first) = (0, 0, None);
    found.retain(|d| {
        let (count, most) =
            if d.is_error() { (&mut errors, MOST_ERRORS) } else { (&mut remarks, MOST_REMARKS) };
        *count += 1;
        if *count > most && d.is_error() {
            first = first.or(Some(d.span));
        }
        *count <= most
    });
    let more = errors.saturating_sub(MOST_ERRORS) + uncounted;
    let place = first.or(found.last().map(|d| d.span)).filter(|_| more > 0);
    found.extend(place.map(|span| {
        let d = Diagnostic::new(Code::TooMany, span, format!("{more} more mistakes are not listed"));
        d.label("the first of them").help("mend those above first; is this a .plab file?")
    }));
    more
}

/// Tells once of a name that nothing declares, however often it is used: one fix mends all uses. Where a declaration of the file is nearly
/// called so, which of the two is misspelt is for people to say. A flag that no engine has is told once a
/// line, and once where nothing is nearly called so.
pub fn once_a_name(
    found: &mut Vec<Diagnostic>,
    line: impl Fn(Span) -> Span,
    is_declared: impl Fn(&str) -> bool,
) {
    let mut kept: Vec<Diagnostic> = Vec::with_capacity(found.len());
    let mut firsts: HashMap<(Code, FileId, u32, String), usize> = HashMap::new();
    for d in found.drain(..) {
        let within = match d.code {
            Code::UnknownMetric | Code::UnknownName | Code::UnknownParam => Some(0),
            // with nothing near it, it is missing from what declares the engine's
            Code::UnknownFlag if d.edits.is_empty() => Some(u32::MAX),
            Code::UnknownFlag => Some(line(d.span).start),
            _ => None,
        };
        let place = within.map(|within| firsts.entry((d.code, d.span.file, within, d.message.clone())));
        let at = place.map_or(kept.len(), |p| *p.or_insert(kept.len()));
        match kept.get_mut(at) {
            Some(first) => {
                first.related.push((d.span, "and here".to_owned()));
                first.edits.extend(d.edits);
                if first.edits.first().is_some_and(|e| is_declared(&e.text)) {
                    first.edits.clear();
                }
            }
            None => kept.push(d),
        }
    }
    *found = kept;
}

/// `a name`, `an axis`
pub fn with_article(word: &str) -> String {
    let article = if word.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {word}")
}

/// A text as messages quote it: no longer than a line.
pub fn short(text: &str) -> std::borrow::Cow<'_, str> {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
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
    fn a_part_that_is_another_word_is_no_slip() {
        let fixes = |word: &str, known: &str| {
            let d = Diagnostic::new(Code::UnknownName, Span::default(), "no");
            !d.meant(word, [known], "unknown", str::to_owned).edits.is_empty()
        };
        assert!(!fixes("enable_noop", "enable_sp") && !fixes("s_seqs", "v_seqs"));
        assert!(
            fixes("--enable-prefix-cachng", "--enable-prefix-caching")
                && fixes("max_num_sqe", "max_num_seqs")
        );
    }

    #[test]
    fn of_two_equally_near_words_neither_is_a_fix() {
        let d = || Diagnostic::new(Code::UnknownName, Span::default(), "no");
        let plain = |w: &str| w.to_owned();
        assert_eq!(d().meant("chta", ["chat", "code"], "unknown", plain).edits.len(), 1);
        let two = d().meant("rate_5", ["rate_1", "rate_4"], "unknown", plain);
        assert_eq!((two.edits.len(), two.label.as_str()), (0, "did you mean `rate_1` or `rate_4`?"));
        assert_eq!(d().meant("x", ["chat"], "unknown", plain).label, "unknown");
    }

    #[test]
    fn another_number_is_no_slip() {
        let d = |word, known: &'static str| {
            Diagnostic::new(Code::UnknownName, Span::default(), "no").meant(
                word,
                [known],
                "unknown",
                str::to_owned,
            )
        };
        for (word, known) in
            [("fp4", "fp8"), ("slo_p99", "slo_p95"), ("per_user_p95", "per_user"), ("log", "log2")]
        {
            let d = d(word, known);
            assert!(d.edits.is_empty(), "{word} {known}");
        }
        assert_eq!(d("fp4", "fp8").label, "did you mean `fp8`?");
        assert_eq!(d("sharegpt_4rsp", "sharegpt_4rps").edits.len(), 1);
    }

    #[test]
    fn words_are_joined_as_people_do() {
        assert_eq!(one_of(&["a"]), "a");
        assert_eq!(one_of(&["a", "b", "c"]), "a, b or c");
    }
}
