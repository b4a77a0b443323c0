//! What a machine can mend: the edits that diagnostics carry, applied to a text until nothing more can be.
//!
//! A fix is all edits of one diagnostic, or none of them. Whether it helps is not believed but seen: the text is analysed again, and
//! a fix after which there are not fewer mistakes, or new ones that no other fix mends, is taken back. So is one that would take
//! a comment along.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::analyze::Analysis;
use super::changes::{
    Mark, Step, after, is_refused_anyway, mark, mended, news, origin, overlap, untouched, without,
};
use super::codes::Code;
use super::comments::start_of_comment;
use super::diag::{Diagnostic, Edit, Severity};
use super::effort::Effort;
use super::hidden::hidden_by;
use super::made::{Made, Making};
use super::numbering::Numbering;
use super::retold::tell_once;
use super::sema::values_of_what_is_not_to_set;
use super::source::FileId;
use super::stand_ins;

/// A fix may need another one: a flag and its value are joined, then its name is seen to be wrong.
const LONGEST_CHAIN: usize = 8;

/// A text after all fixes, and how many there were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mended {
    pub text: String,
    pub fixes: Vec<Made>,
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
    let mut first = analyze(text);
    if first.unlisted > 0 || !first.diagnostics.iter().any(|d| fix_of(d).is_some()) {
        return Mended { text: text.to_owned(), fixes: Vec::new() };
    }
    let numbering = Numbering::of(&mut first);
    let analyze = &|t: &str| numbering.alike(analyze(t));
    let state = all(State::of(text, &mut first.diagnostics, analyze), analyze);
    let mut fixes: Vec<Made> = state.made.into_iter().map(|m| m.made(&state.text)).collect();
    fixes.sort_by_key(|m| m.line);
    Mended { text: state.text, fixes }
}

/// Adds what mistakes hide that can be mended, and gives each diagnostic the edits that [`mend`] makes for it: what is shown as fixable is
/// mended when asked for, and the reverse.
pub fn complete(text: &str, analysis: &mut Analysis, analyze: &dyn Fn(&str) -> Analysis) {
    // what nothing uses can be taken out of a file that is right otherwise: such files, which may be long, are not read twice
    let is_right = !analysis.has_errors();
    let sure = |d: &Diagnostic| is_right && d.code == Code::Unused;
    let is_open = analysis.unlisted == 0 && stand_ins::are_there(&analysis.diagnostics);
    if !is_open && !analysis.diagnostics.iter().any(|d| fix_of(d).is_some() && !sure(d)) {
        return;
    }
    let numbering = Numbering::of(analysis);
    let analyze = &|t: &str| numbering.alike(analyze(t));
    let found = &mut analysis.diagnostics;
    let applied = if analysis.unlisted > 0 {
        HashMap::new()
    } else {
        all(State::of(text, found, analyze), analyze).applied
    };
    let with_edits: HashSet<(Code, u32)> =
        found.iter().filter(|d| !d.edits.is_empty()).map(|d| (d.code, d.span.start)).collect();
    for d in found.iter_mut() {
        match applied.get(&(d.code, d.span.start)) {
            // a fix that another one made possible
            Some(edits) if !with_edits.contains(&(d.code, d.span.start)) => d.edits.clone_from(edits),
            None if fix_of(d).is_some() => d.edits.clear(),
            _ => {}
        }
    }
    numbering.end(analysis);
    values_of_what_is_not_to_set(&mut analysis.diagnostics, &analysis.modules);
}

/// A text, what is wrong with it, and how it came about.
#[derive(Clone)]
struct State {
    text: String,
    found: Vec<Diagnostic>,
    /// what others hide or hid: none of them is new when it shows
    hidden: Vec<Diagnostic>,
    /// how the first text became this one
    steps: Vec<Step>,
    /// what was mended by its own fix: codes, and places in the first text, where its edits stand too
    applied: HashMap<(Code, u32), Vec<Edit>>,
    made: Vec<Making>,
    /// how many errors a check tells of the text
    told: usize,
}

impl State {
    /// A text in which something was found, to which what that hides is added.
    fn of(text: &str, found: &mut Vec<Diagnostic>, analyze: &dyn Fn(&str) -> Analysis) -> Self {
        let shown = found.clone();
        hidden_by(text, found, analyze);
        let hidden = news(&refs(&shown), &refs(found), &[]).into_iter().cloned().collect();
        Self {
            text: text.to_owned(),
            found: found.clone(),
            hidden,
            steps: Vec::new(),
            applied: HashMap::new(),
            made: Vec::new(),
            told: errors(found),
        }
    }

    /// The text, if a check tells no more errors of it than of the one before, with what they hide.
    fn unless_worse(self, before: &Self, analyze: &dyn Fn(&str) -> Analysis) -> Option<Self> {
        let mut found = self.found.clone();
        hidden_by(&self.text, &mut found, analyze);
        let told = errors(&found);
        (told <= before.told).then_some(Self { told, ..self })
    }

    /// The text after some fixes; `None` where that loses a comment, or is not to be read any more.
    fn after(&self, fixes: &[&Diagnostic], effort: &Effort) -> Option<Self> {
        let (text, step) = mended(&self.text, fixes);
        if !keeps_comments(&self.text, &text) {
            return None;
        }
        let mut found = effort.read(&text)?;
        tell_once(&mut found);
        let places: HashSet<_> = fixes.iter().map(|f| (f.code, f.span)).collect();
        let mut hidden = self.hidden.clone();
        hidden.retain_mut(|d| {
            let stays = !places.contains(&(d.code, d.span));
            d.span = after(d.span, &step);
            stays
        });
        let mut applied = self.applied.clone();
        applied.extend(fixes.iter().map(|f| (self.mark_of(f), self.edits_before(f))));
        let mut made: Vec<Making> = self.made.iter().cloned().map(|m| m.moved(&step)).collect();
        made.extend(Making::of(fixes, &self.text, &step));
        let steps = self.steps.iter().cloned().chain([step]).collect();
        Some(Self { text, found, hidden, steps, applied, made, told: self.told })
    }

    /// What is wrong with the text, also where that does not show.
    fn whole(&self) -> Vec<&Diagnostic> {
        let mut whole = refs(&self.found);
        let unseen = news(&whole, &refs(&self.hidden), &[]);
        whole.extend(unseen);
        whole
    }

    fn mark_of(&self, d: &Diagnostic) -> (Code, u32) {
        (d.code, origin(d.span, &self.steps).start)
    }

    /// The edits of a fix as they would be made in the first text; none where other fixes wrote what they change.
    fn edits_before(&self, fix: &Diagnostic) -> Vec<Edit> {
        let back = |e: &Edit| untouched(e.span, &self.steps).map(|span| Edit { span, text: e.text.clone() });
        fix.edits.iter().map(back).collect::<Option<_>>().unwrap_or_default()
    }

    fn mark(&self, d: &Diagnostic) -> Mark {
        mark(d, &self.steps)
    }
}

fn errors(found: &[Diagnostic]) -> usize {
    found.iter().filter(|d| d.is_error()).count()
}

fn refs(all: &[Diagnostic]) -> Vec<&Diagnostic> {
    all.iter().collect()
}

/// The text after all fixes that help.
fn all(mut state: State, analyze: &dyn Fn(&str) -> Analysis) -> State {
    let effort = Effort::of_trials(analyze);
    let told = unused(&state.found);
    let guessed = state.found.iter().any(|d| d.code == Code::UnknownMetric);
    // `total_tps / gpu` beside an imported `per_gpu` that nothing uses: which was meant is for people to say
    let silent = |d: &Diagnostic| guessed && d.code == Code::Unused && !told.contains(&d.message);
    let mut doubts = Doubts { most: usize::MAX, ..Doubts::default() };
    while !effort.is_spent() {
        let open = |d: &&Diagnostic| {
            fix_of(d).is_some()
                && !silent(d)
                && doubts.allow(&state.mark(d))
                && keeps_its_comments(&state.text, d)
        };
        let mut chosen = apart(&state.found.iter().filter(open).collect::<Vec<_>>());
        chosen.truncate(doubts.most);
        if chosen.is_empty() {
            if doubts.aside.is_empty() {
                break;
            }
            doubts.aside.clear();
            continue;
        }
        let better = followed(&state, &chosen, &effort);
        match better.and_then(|better| better.unless_worse(&state, analyze).ok_or_else(Vec::new)) {
            Ok(better) => {
                state = better;
                doubts.aside.clear();
                doubts.most = usize::MAX;
            }
            Err(blamed) => {
                let blamed = blamed.into_iter().map(|d| state.mark(d)).collect();
                doubts.refused(chosen.iter().map(|d| state.mark(d)).collect(), blamed);
            }
        }
    }
    state
}

/// Which fixes do harm, as far as that is known.
#[derive(Default)]
struct Doubts {
    /// these
    harmful: HashSet<Mark>,
    /// those beside which something was wrong once that had been right; it may have been another one's doing
    doubted: HashSet<Mark>,
    /// such as are not tried before something was mended
    aside: HashSet<Mark>,
    /// how many are tried together
    most: usize,
}

impl Doubts {
    fn allow(&self, mark: &Mark) -> bool {
        !self.harmful.contains(mark) && !self.aside.contains(mark)
    }

    /// Learns from fixes that do not help together; beside the blamed ones something new is wrong.
    fn refused(&mut self, mut tried: Vec<Mark>, blamed: Vec<Mark>) {
        let count = tried.len();
        if count == 1 {
            self.harmful.extend(tried.pop());
            self.most = usize::MAX;
            return;
        }
        let (twice, once): (Vec<Mark>, Vec<Mark>) =
            blamed.into_iter().partition(|m| self.doubted.contains(m));
        let in_vain = twice.is_empty() && (once.is_empty() || once.len() == count);
        self.doubted.extend(once.iter().cloned());
        if in_vain {
            // one of them, or the sum of them
            self.most = count / 2;
            return;
        }
        self.harmful.extend(twice);
        self.aside.extend(once);
    }
}

/// What is said of things that nothing uses.
fn unused(found: &[Diagnostic]) -> HashSet<String> {
    found.iter().filter(|d| d.code == Code::Unused).map(|d| d.message.clone()).collect()
}

/// The text after some fixes and those that follow from them; if it is no better then, those fixes beside which something new is wrong.
fn followed<'a>(
    before: &State,
    fixes: &[&'a Diagnostic],
    effort: &Effort,
) -> Result<State, Vec<&'a Diagnostic>> {
    let was = before.whole();
    let stay = without(&was, fixes);
    let mut now = before.after(fixes, effort).ok_or_else(Vec::new)?;
    for _ in 0..LONGEST_CHAIN {
        let steps = &now.steps[before.steps.len()..];
        if is_better(&was, &stay, &now.whole(), steps) {
            return Ok(now);
        }
        let new = news(&stay, &refs(&now.found), steps);
        let next: Vec<&Diagnostic> = new.iter().copied().filter(|d| fix_of(d).is_some()).collect();
        let chosen = apart(&next);
        if chosen.is_empty() {
            return Err(beside(fixes, &new, steps));
        }
        now = now.after(&chosen, effort).ok_or_else(Vec::new)?;
    }
    Err(Vec::new())
}

/// Those fixes in whose places something is wrong after them.
fn beside<'a>(fixes: &[&'a Diagnostic], new: &[&Diagnostic], steps: &[Step]) -> Vec<&'a Diagnostic> {
    let errors = new.iter().filter(|d| d.is_error() && !is_refused_anyway(d));
    let places: Vec<_> =
        errors.map(|d| origin(d.span, steps)).filter(|s| s.file == FileId::default()).collect();
    let is_beside =
        |f: &Diagnostic| f.edits.iter().any(|e| places.iter().any(|p| overlap(&p.range(), &e.span.range())));
    fixes.iter().copied().filter(|f| is_beside(f)).collect()
}

/// Whether a fix with one edit leaves the comments of the lines that it writes: one that does not is not tried among many.
fn keeps_its_comments(text: &str, fix: &Diagnostic) -> bool {
    let [edit] = fix.edits.as_slice() else { return true };
    let place = edit.span.range();
    let lines = text[..place.start].rfind('\n').map_or(0, |n| n + 1)
        ..text[place.end..].find('\n').map_or(text.len(), |n| place.end + n);
    let after = [&text[lines.start..place.start], &edit.text, &text[place.end..lines.end]].concat();
    keeps_comments(&text[lines], &after)
}

/// Whether every comment of a text is in another.
fn keeps_comments(before: &str, after: &str) -> bool {
    let mut there: HashMap<&str, usize> = HashMap::new();
    for c in after.lines().filter_map(comment) {
        *there.entry(c).or_default() += 1;
    }
    before.lines().filter_map(comment).all(|c| {
        there.get_mut(c).is_some_and(|n| {
            let left = *n > 0;
            *n = n.saturating_sub(1);
            left
        })
    })
}

fn comment(line: &str) -> Option<&str> {
    start_of_comment(line).map(|at| line[at..].trim_end())
}

/// Fewer errors and no new one; where no error is mended, fewer warnings and no new one. With fewer errors, warnings may show
/// that only a file without errors has. `stay` are those before that are not mended.
fn is_better(before: &[&Diagnostic], stay: &[&Diagnostic], after: &[&Diagnostic], steps: &[Step]) -> bool {
    let counts = |d: &&&Diagnostic| !is_refused_anyway(d);
    let count =
        |all: &[&Diagnostic], s: Severity| all.iter().filter(counts).filter(|d| d.severity() == s).count();
    let mut new = news(stay, after, steps);
    new.retain(|d| counts(&d));
    let fewer = |s| count(after, s) < count(before, s);
    if fewer(Severity::Error) {
        return !new.iter().any(|d| d.is_error());
    }
    let same = count(after, Severity::Error) == count(before, Severity::Error);
    same && fewer(Severity::Warning) && !new.iter().any(|d| d.severity() != Severity::Note)
}

/// Those that do not overlap, the first of each that do.
pub(super) fn apart<'a>(fixes: &[&'a Diagnostic]) -> Vec<&'a Diagnostic> {
    // none of these overlaps another, so that what a place overlaps is next to it
    let mut taken: BTreeSet<(u32, u32)> = BTreeSet::new();
    let mut chosen = Vec::new();
    for fix in fixes {
        let places: Vec<(u32, u32)> = fix.edits.iter().map(|e| (e.span.start, e.span.end)).collect();
        let free = places.iter().all(|place| {
            let (before, behind) = (taken.range(..=*place).next_back(), taken.range(place..).next());
            before.is_none_or(|t| clear(*place, *t)) && behind.is_none_or(|t| clear(*place, *t))
        });
        if free {
            taken.extend(places);
            chosen.push(*fix);
        }
    }
    chosen
}

/// Whether two edits leave each other alone; two insertions at one place do not.
fn clear(a: (u32, u32), b: (u32, u32)) -> bool {
    (a.1 <= b.0 || b.1 <= a.0) && a != b
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
        let mended = mend("ab", &bad);
        assert_eq!((mended.text.as_str(), mended.fixes.len()), ("a?", 1));
    }
}
