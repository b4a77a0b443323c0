//! What a machine can mend: the edits that diagnostics carry, applied to a text until nothing more can be.
//!
//! A fix is all edits of one diagnostic, or none of them. Whether it helps is not believed but seen: the text is analysed again, and
//! a fix after which there are not fewer mistakes, or new ones that no other fix mends, is taken back. So is one that would take
//! a comment along.

use std::collections::HashSet;

use super::analyze::Analysis;
use super::codes::Code;
use super::comments::start_of_comment;
use super::diag::{Diagnostic, Edit, Severity};
use super::hidden::{mended, reveal};
use super::source::FileId;

/// A mended file has few rounds: each mends everything that does not overlap.
const MOST_ROUNDS: usize = 32;
/// A fix may need another one: a flag and its value are joined, then its name is seen to be wrong.
const LONGEST_CHAIN: usize = 8;

/// A text after all fixes, and how many there were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mended {
    pub text: String,
    pub fixes: usize,
}

/// The edits of a diagnostic, if it can be mended in the file that is being checked.
pub fn fix_of(d: &Diagnostic) -> Option<&[Edit]> {
    let here = d.edits.iter().all(|e| e.span.file == FileId::default());
    (here && !d.edits.is_empty()).then_some(d.edits.as_slice())
}

/// The edits that mend a diagnostic in the file where it stands, also where that is one which the checked file uses.
pub fn edits_of(d: &Diagnostic) -> &[Edit] {
    let here = d.edits.iter().all(|e| e.span.file == d.span.file);
    if here { d.edits.as_slice() } else { &[] }
}

/// Applies every fix that helps, again and again. `analyze` reads a text as the file that is mended.
pub fn mend(text: &str, analyze: &dyn Fn(&str) -> Analysis) -> Mended {
    let state = State::of(text, &mut analyze(text).diagnostics, analyze);
    let (state, _) = all(state, analyze);
    Mended { text: state.text, fixes: state.fixes }
}

/// Adds what mistakes hide that can be mended, and takes the edits from diagnostics that [`mend`] would leave alone: what is shown as fixable
/// is mended when asked for.
pub fn complete(text: &str, found: &mut Vec<Diagnostic>, analyze: &dyn Fn(&str) -> Analysis) {
    // what nothing uses can be taken out of a file that is right otherwise: such files, which may be long, are not read twice
    let is_right = !found.iter().any(Diagnostic::is_error);
    let sure = |d: &Diagnostic| is_right && d.code == Code::Unused;
    if !found.iter().any(|d| fix_of(d).is_some() && !sure(d)) {
        return;
    }
    let state = State::of(text, found, analyze);
    let (_, refused) = all(state, analyze);
    for d in found.iter_mut().filter(|d| fix_of(d).is_some() && refused.contains(&mark(d))) {
        d.edits.clear();
    }
}

/// A text, what is wrong with it, and how many fixes led to it.
#[derive(Clone)]
struct State {
    text: String,
    found: Vec<Diagnostic>,
    /// what others hide or hid: none of them is new when it shows
    hidden: Vec<Diagnostic>,
    fixes: usize,
}

impl State {
    /// A text in which something was found, to which what that hides is added.
    fn of(text: &str, found: &mut Vec<Diagnostic>, analyze: &dyn Fn(&str) -> Analysis) -> Self {
        let shown = found.clone();
        reveal(text, found, analyze);
        let hidden = news(&shown, found).into_iter().cloned().collect();
        Self { text: text.to_owned(), found: found.clone(), hidden, fixes: 0 }
    }

    /// The text after some fixes.
    fn after(&self, fixes: &[&Diagnostic], analyze: &dyn Fn(&str) -> Analysis) -> Self {
        let (text, _) = mended(&self.text, fixes);
        let found = analyze(&text).diagnostics;
        let mended = |d: &Diagnostic| fixes.iter().any(|f| (f.code, &f.message) == (d.code, &d.message));
        let hidden = self.hidden.iter().filter(|d| !mended(d)).cloned().collect();
        Self { text, found, hidden, fixes: self.fixes + fixes.len() }
    }

    /// What is wrong with the text, also where that does not show.
    fn whole(&self) -> Vec<Diagnostic> {
        let hidden = news(&self.found, &self.hidden).into_iter().cloned();
        self.found.iter().cloned().chain(hidden).collect()
    }
}

/// All fixes that help, and by their marks those that do not.
fn all(mut state: State, analyze: &dyn Fn(&str) -> Analysis) -> (State, HashSet<String>) {
    let mut refused: HashSet<String> = HashSet::new();
    let told = unused(&state.found);
    let guessed = state.found.iter().any(|d| d.code == Code::UnknownMetric);
    for _ in 0..MOST_ROUNDS {
        // `total_tps / gpu` beside an imported `per_gpu` that nothing uses: which was meant is for people to say
        let silent = |d: &Diagnostic| guessed && d.code == Code::Unused && !told.contains(&d.message);
        let open = |d: &&Diagnostic| fix_of(d).is_some() && !refused.contains(&mark(d)) && !silent(d);
        let fixes: Vec<&Diagnostic> = state.found.iter().filter(open).collect();
        let chosen = apart(&fixes);
        if chosen.is_empty() {
            break;
        }
        if let Some(better) = followed(&state, &chosen, analyze) {
            state = better;
            continue;
        }
        // one of them does harm, or the sum of them: those that help alone, all of them or the first
        let (good, bad): (Vec<&Diagnostic>, Vec<&Diagnostic>) =
            chosen.iter().partition(|d| followed(&state, &[d], analyze).is_some());
        refused.extend(bad.into_iter().map(mark));
        let better = followed(&state, &good, analyze).or_else(|| followed(&state, good.get(..1)?, analyze));
        if let Some(better) = better {
            state = better;
        }
    }
    (state, refused)
}

/// What is said of things that nothing uses.
fn unused(found: &[Diagnostic]) -> HashSet<String> {
    found.iter().filter(|d| d.code == Code::Unused).map(|d| d.message.clone()).collect()
}

/// The text after some fixes and those that follow from them; `None` if it is no better then.
fn followed(before: &State, fixes: &[&Diagnostic], analyze: &dyn Fn(&str) -> Analysis) -> Option<State> {
    let (was, mut now) = (before.whole(), before.after(fixes, analyze));
    if !keeps_comments(&before.text, &now.text) {
        return None;
    }
    for _ in 0..LONGEST_CHAIN {
        if is_better(&was, &now.whole()) {
            return Some(now);
        }
        let new = news(&was, &now.found);
        let next: Vec<&Diagnostic> = new.into_iter().filter(|d| fix_of(d).is_some()).collect();
        let chosen = apart(&next);
        if chosen.is_empty() {
            return None;
        }
        now = now.after(&chosen, analyze);
    }
    None
}

/// Whether every comment of a text is in another.
fn keeps_comments(before: &str, after: &str) -> bool {
    let mut there: Vec<&str> = after.lines().filter_map(comment).collect();
    before.lines().filter_map(comment).all(|c| {
        let at = there.iter().position(|t| *t == c);
        at.map(|at| there.swap_remove(at)).is_some()
    })
}

fn comment(line: &str) -> Option<&str> {
    start_of_comment(line).map(|at| line[at..].trim_end())
}

/// Fewer errors and no new one; where no error is mended, fewer warnings and no new one. With fewer errors, warnings may show
/// that only a file without errors has.
fn is_better(before: &[Diagnostic], after: &[Diagnostic]) -> bool {
    let count = |all: &[Diagnostic], s: Severity| all.iter().filter(|d| d.severity() == s).count();
    let new = news(before, after);
    let fewer = |s| count(after, s) < count(before, s);
    if fewer(Severity::Error) {
        // where not all were listed, others move up
        return !new.iter().any(|d| d.is_error()) || before.iter().any(|d| d.code == Code::TooMany);
    }
    let same = count(after, Severity::Error) == count(before, Severity::Error);
    same && fewer(Severity::Warning) && !new.iter().any(|d| d.severity() != Severity::Note)
}

/// What was not found before. Places move, so that diagnostics go by what they say.
pub(super) fn news<'a>(before: &[Diagnostic], after: &'a [Diagnostic]) -> Vec<&'a Diagnostic> {
    let mut known: Vec<(Code, &str)> = before.iter().map(|d| (d.code, d.message.as_str())).collect();
    let mut new = Vec::new();
    for d in after {
        match known.iter().position(|k| *k == (d.code, d.message.as_str())) {
            Some(at) => drop(known.swap_remove(at)),
            None => new.push(d),
        }
    }
    new
}

/// What a fix is known by in the next round, when its place may have moved.
fn mark(d: &Diagnostic) -> String {
    let texts: Vec<&str> = d.edits.iter().map(|e| e.text.as_str()).collect();
    format!("{} {} {texts:?}", d.code.id(), d.message)
}

/// Those that do not overlap, the first of each that do.
pub(super) fn apart<'a>(fixes: &[&'a Diagnostic]) -> Vec<&'a Diagnostic> {
    let mut taken: Vec<&Edit> = Vec::new();
    let mut chosen = Vec::new();
    for fix in fixes {
        if fix.edits.iter().all(|e| taken.iter().all(|t| clear(e, t))) {
            taken.extend(&fix.edits);
            chosen.push(*fix);
        }
    }
    chosen
}

/// Whether two edits leave each other alone; two insertions at one place do not.
fn clear(a: &Edit, b: &Edit) -> bool {
    (a.span.end <= b.span.start || b.span.end <= a.span.start) && a.span != b.span
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::analyze;
    use crate::lang::source::{NoFiles, Span};

    fn all_mended(text: &str) -> String {
        mend(text, &|t| analyze(&NoFiles, "test.plab", t)).text
    }

    fn edit(from: usize, to: usize, text: &str) -> Edit {
        Edit { span: Span::new(FileId::default(), from..to), text: text.to_owned() }
    }

    #[test]
    fn edits_are_applied_at_their_places() {
        let with = |e: Edit| Diagnostic::new(Code::UnknownName, e.span, "").edit(e.span, e.text);
        let (last, first) = (with(edit(2, 5, "2")), with(edit(0, 1, "one")));
        assert_eq!(mended("a – b…", &[&last, &first]).0, "one 2 b…");
        assert_eq!(mended("abc", &[]).0, "abc");
    }

    #[test]
    fn of_fixes_that_overlap_only_the_first_is_taken() {
        let with = |e: Edit| Diagnostic::new(Code::UnknownName, e.span, "").edit(e.span, e.text);
        let all =
            [with(edit(0, 4, "a")), with(edit(2, 6, "b")), with(edit(4, 4, "c")), with(edit(4, 4, "d"))];
        let chosen = apart(&all.iter().collect::<Vec<_>>());
        let texts: Vec<&str> = chosen.iter().map(|d| d.edits[0].text.as_str()).collect();
        assert_eq!(texts, ["a", "c"]);
    }

    #[test]
    fn fixes_follow_from_fixes_and_comments_stay() {
        let text = "use std/engines { sim }\nengine a = sim {\n    --max-num-seqz 512   # many\n}\n";
        let right = "use std/engines { sim }\nengine a = sim {\n    --max-num-seqs=512   # many\n}\n";
        assert_eq!(all_mended(text), right);
        assert_eq!(all_mended(right), right);
    }

    #[test]
    fn a_fix_that_takes_a_comment_along_is_none() {
        let text = "profile p {\n data random\n input 1\n output 1\n concurrency 1\n}\nstudy s {\n model \"a/#b\"\n baseline v\n \
                    maximize total_tps on p,  # because\n     p\n step a { vary a }\n}\n";
        assert!(all_mended(text).contains("# because"), "{}", all_mended(text));
    }

    #[test]
    fn a_fix_that_does_harm_is_taken_back() {
        let bad = |t: &str| {
            let mut analysis = analyze(&NoFiles, "t.plab", "metric m = total_tps\n");
            let at = |n: usize| Span::new(FileId::default(), n..n + 1);
            let d = |n: usize| Diagnostic::new(Code::Unexpected, at(n), format!("at {n}"));
            if t.contains('!') {
                analysis.diagnostics.extend([d(0), d(1), d(2)]);
            }
            if t.contains('a') {
                analysis.diagnostics.push(d(0).edit(at(0), "!"));
            }
            if t.contains('b') {
                analysis.diagnostics.push(d(1).edit(at(1), "?"));
            }
            analysis
        };
        assert_eq!(mend("ab", &bad), Mended { text: "a?".to_owned(), fixes: 1 });
    }
}
