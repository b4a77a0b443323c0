//! What mistakes hide: the text is read again as it would be with those mended that a machine can mend, and what is found only then is told
//! too, in the place where it stands now.

use std::collections::HashSet;
use std::ops::Range;

use super::analyze::Analysis;
use super::changes::{
    Change, Mark, Step, after, before, is_here, is_refused_anyway, mark, mended, news, origin, overlap,
    untouched, without,
};
use super::codes::Code;
use super::diag::{self, About, Diagnostic, Edit, Severity};
use super::effort::Effort;
use super::fix::{apart, fix_of};
use super::numbering::Numbering;
use super::renamed::Renamed;
use super::retold::{
    forget_doubts_of_wrong_conditions, goes_with_its_sign, goes_with_its_space, tell_once, was_guessed,
};
use super::sema::scope::Kind;
use super::source::Span;
use super::stand_ins::in_any_case;

/// Adds to what a first reading found what [`hidden_by`] its mistakes is, and to its files those that only later readings meet.
pub fn reveal(text: &str, first: &mut Analysis, analyze: &dyn Fn(&str) -> Analysis) {
    let numbering = Numbering::of(first);
    hidden_by(text, &mut first.diagnostics, &|t| numbering.alike(analyze(t)));
    numbering.end(first);
}

/// Adds what those mistakes hide that a machine can mend. A fix that brings errors into what it writes is no mending, nor is a guess that
/// brings them into the word that it changes: they are left alone.
pub(super) fn hidden_by(text: &str, found: &mut Vec<Diagnostic>, analyze: &dyn Fn(&str) -> Analysis) {
    // each reading shows what those mended in it have hidden; few hide more than one below the other
    let effort = Effort::of_readings(analyze);
    let (mut now, mut there) = (text.to_owned(), found.clone());
    // how the text became what is read now, the first change first
    let mut steps: Vec<Step> = Vec::new();
    let mut wrong: HashSet<Mark> = HashSet::new();
    let mut told: HashSet<(Code, Span)> = found.iter().map(|d| (d.code, d.span)).collect();
    let (mut guessed_names, mut lost_an_import): (Vec<About>, bool) = (Vec::new(), false);
    loop {
        let open = |d: &&Diagnostic| {
            d.is_error() && fix_of(d).is_some() && (wrong.is_empty() || !wrong.contains(&mark(d, &steps)))
        };
        let fixes = apart(&there.iter().filter(open).collect::<Vec<_>>());
        if fixes.is_empty() {
            break;
        }
        // which flags there are follows from the names of engines, which are mended before all else
        let (engines, others): (Vec<_>, Vec<_>) =
            fixes.iter().copied().partition(|d| names_an_engine(d, &now));
        let by_name = !engines.is_empty();
        let fixes = if by_name { engines } else { others };
        let (next, step) = mended(&now, &fixes);
        let Some(read) = effort.read(&next) else { break };
        let fresh = fresh(&there, &fixes, &read, &step);
        let harmful: Vec<Mark> = harmful((&now, &next), &fixes, &fresh, &step)
            .into_iter()
            .map(|n| mark(fixes[n], &steps))
            .collect();
        if !harmful.is_empty() {
            wrong.extend(harmful);
            continue;
        }
        let unsure_places = guessed_places((&now, &next), &fixes, &step);
        let of_another =
            |d: &Diagnostic| step.iter().any(|c| asks_otherwise(fixes[c.fix], d) && touches(d, &c.new));
        // what a name was guessed for is used only if that is right
        let names =
            fixes.iter().filter(|f| is_guess(f) && f.code == Code::UnknownName || stands_for_another(f));
        guessed_names.extend(names.map(|f| f.about.clone()));
        // `use std/metrics { , a }`: what was to stand there is imported once it does
        lost_an_import |= fixes.iter().any(|f| takes_a_comma(f, &now));
        // what an engine has of one whose name was guessed, that one may have otherwise
        let of_guessed = |d: &Diagnostic, place: &Range<usize>| {
            let line = d.span.line_in(&next).range();
            d.code == Code::VersionMissing && is_here(d.span) && overlap(&line, place)
        };
        let anyway = |d: &Diagnostic| fixes.iter().any(|f| is_twice_anyway(f, d));
        let renamed = Renamed::by(&fixes, &now, &fresh, &effort);
        let guessed = |d: &Diagnostic| {
            unsure_places.iter().any(|place| touches(d, place) && !anyway(d) || of_guessed(d, place))
                || of_another(d)
                || of_its_like(d, &fixes)
                || is_of_a_list(d, &fixes, (&now, &next))
                || d.code == Code::Unused && guessed_names.iter().any(|about| may_be_of(about, d))
                // which of two was to have another name is a guess
                || renamed.as_ref().is_some_and(|r| r.leaves_unsure(d, &step))
                || lost_an_import && matches!(d.about, About::Missing { library: Some(_), .. })
        };
        let shown: Vec<_> =
            fresh.into_iter().filter(|d| d.severity() != Severity::Note && !guessed(d)).collect();
        let gone = gone(&there, &fixes, &read, &step);
        let follows = |o: &&Diagnostic| {
            matches!(o.code, Code::UnknownName | Code::UnknownPoint | Code::UnknownMetric)
                // of a head that is read otherwise, the name may have been another
                || o.code == Code::DeclaredTwice && step.iter().any(|c| touches(o, &c.new))
                || by_name && matches!(o.code, Code::UnknownFlag | Code::BadFlagValue)
        };
        let follows: Vec<&Diagnostic> = gone.iter().filter(follows).collect();
        steps.push(step);
        let none: Vec<_> = follows.iter().map(|o| (o.code, origin(o.span, &steps))).collect();
        found.retain(|o| !none.contains(&(o.code, o.span)));
        for fresh in shown {
            let d = by_its_text((text, &next), fresh, in_place(fresh, &steps));
            // how a flag is written that perflab sets by itself is of no matter
            let sets_itself = |o: &Diagnostic| {
                d.code == Code::ReservedFlag && o.code == Code::SpacedFlag && o.span.start == d.span.start
            };
            found.retain(|o| !sets_itself(o));
            let follows = goes_with_its_space(text, found, &d)
                || goes_with_its_sign(text, found, &d)
                || d.code == Code::Unused && was_guessed(found, &d, text);
            if follows || !told.insert((d.code, d.span)) {
                continue;
            }
            // what was said of its line before that could be read says the same with less
            let line = |span: &Span| span.line_in(&next);
            // of an axis that another engine takes the use is wrong, not what it sets
            let at_use = |o: &Diagnostic| {
                let sets = |(at, _): &(Span, String)| line(at) == line(&o.span);
                o.code == d.code && matches!(d.about, About::SetBy { .. }) && fresh.related.iter().any(sets)
            };
            let mut less =
                gone.iter().filter(|o| d.is_error() && (line(&o.span) == line(&fresh.span) || at_use(o)));
            let less: Vec<_> = less.by_ref().map(|o| (o.code, origin(o.span, &steps))).collect();
            // one number of GPUs is too small for all of them, of which some could not be read before
            let beside = |o: &Diagnostic| {
                o.code == Code::TooManyGpus
                    && o.code == d.code
                    && d.related.iter().any(|(at, _)| *at == o.span)
            };
            found.retain(|o| !less.contains(&(o.code, o.span)) && !beside(o));
            found.push(d);
        }
        (now, there) = (next, read);
    }
    forget_doubts(found, &there, &steps);
    let anyway = in_any_case(&now, &there, &effort);
    let anyway = anyway.iter().map(|d| in_place(d, &steps));
    found.extend(anyway.filter(|d| told.insert((d.code, d.span))));
    tell_once(found);
    forget_doubts_of_wrong_conditions(text, found);
    diag::sort(found);
}

/// Where a step wrote what is a guess.
fn guessed_places(texts: (&str, &str), fixes: &[&Diagnostic], step: &Step) -> Vec<Range<usize>> {
    let guesses = places(texts, fixes, step).filter(|(c, _)| {
        is_guess(fixes[c.fix]) || sets_apart(fixes[c.fix], texts.0) || sets_nothing(fixes[c.fix])
    });
    guesses.map(|(_, place)| place).collect()
}

/// Whether a doubt of what a condition asks for may be none with another unit, `> 0.1`, or sign, `=> 2s`, than the fix writes.
fn asks_otherwise(fix: &Diagnostic, d: &Diagnostic) -> bool {
    match fix.code {
        Code::MissingUnit => {
            matches!(
                d.code,
                Code::WrongWay
                    | Code::NeverFires
                    | Code::AlwaysFires
                    | Code::SettledGuard
                    | Code::Implausible
            )
        }
        Code::Unexpected => d.code == Code::WrongWay,
        _ => false,
    }
}

/// Whether a flag stands twice whatever its value comes to, in which a param is mended.
fn is_twice_anyway(fix: &Diagnostic, d: &Diagnostic) -> bool {
    fix.code == Code::UnknownParam && d.code == Code::FlagTwice
}

/// Whether an engine is called there as none is: its name, where it is declared, used or imported.
fn names_an_engine(fix: &Diagnostic, text: &str) -> bool {
    let declares = || text[fix.span.line_in(text).range()].starts_with("engine ");
    fix.code == Code::UnknownImport
        || fix.code == Code::UnknownName
            && (fix.about.missing_kind() == Some(Kind::Engine) || is_here(fix.span) && declares())
}

/// Whether what nothing uses may have been meant by a name that was guessed: something of that kind.
fn may_be_of(guessed: &About, unused: &Diagnostic) -> bool {
    let About::Unused(kind) = unused.about else { return true };
    match guessed {
        About::Missing { kind: missing, .. } | About::Instead(missing) => *missing == kind,
        About::MissingBase { .. } => matches!(kind, Kind::Engine | Kind::Axis),
        _ => true,
    }
}

/// Whether a doubt is of an engine of the library in the place of one that was declared here, or named where none belongs.
fn of_its_like(d: &Diagnostic, fixes: &[&Diagnostic]) -> bool {
    let codes = [Code::VersionMissing, Code::TooLong, Code::OnlyBase, Code::SameTwice];
    codes.contains(&d.code) && fixes.iter().any(|f| stands_for_another(f))
}

/// Whether something is taken for what a name was to be: another kind of thing, or what the library has under that name.
fn stands_for_another(fix: &Diagnostic) -> bool {
    matches!(fix.about, About::Instead(_) | About::Missing { library: Some(_), .. })
}

/// Whether a profile's load does not fit as numbers side by side in it are read as a list.
fn is_of_a_list(d: &Diagnostic, fixes: &[&Diagnostic], (now, next): (&str, &str)) -> bool {
    let profile = next.get(d.span.range()).filter(|_| d.code == Code::WrongLoad && is_here(d.span));
    profile.is_some_and(|p| fixes.iter().any(|f| lists_loads(f, now, p)))
}

/// Whether numbers side by side in a profile are read as loads one after another: one of them may be one too many.
fn lists_loads(fix: &Diagnostic, text: &str, profile: &str) -> bool {
    let line = text[fix.span.line_in(text).range()].trim_start();
    let list =
        |e: &Edit| e.text.starts_with(',') && text.get(e.span.range()).is_some_and(|t| !t.contains(','));
    let head = fix.span.before_in(text).lines().rev().find_map(|l| l.strip_prefix("profile "));
    let own = head.and_then(|h| h.split([' ', '=', '{']).next()) == Some(profile);
    own && ["concurrency", "rate"].iter().any(|w| line.starts_with(w)) && fix.edits.iter().any(list)
}

/// Whether a comma of a `use` is taken away.
fn takes_a_comma(fix: &Diagnostic, text: &str) -> bool {
    let line = &text[fix.span.line_in(text).range()];
    let comma = |e: &Edit| e.text.is_empty() && text.get(e.span.range()).is_some_and(|t| t.trim() == ",");
    line.trim_start().starts_with("use ") && fix.edits.iter().any(comma)
}

/// What is found after a step and was not there before it.
pub(super) fn fresh<'a>(
    was: &[Diagnostic],
    fixes: &[&Diagnostic],
    is: &'a [Diagnostic],
    step: &Step,
) -> Vec<&'a Diagnostic> {
    let stay = without(&was.iter().collect::<Vec<_>>(), fixes);
    let mut new = news(&stay, &is.iter().collect::<Vec<_>>(), std::slice::from_ref(step));
    // told once for many places, of which the fix left this one
    let left = |d: &Diagnostic, f: &Diagnostic| {
        let at = before(d.span, step);
        (d.code, &d.message) == (f.code, &f.message) && f.related.iter().any(|(place, _)| *place == at)
    };
    new.retain(|d| !fixes.iter().any(|f| left(d, f)));
    new
}

/// The errors that were there before a step, were not mended by it and are gone after it, where they would stand then.
fn gone(was: &[Diagnostic], fixes: &[&Diagnostic], is: &[Diagnostic], step: &Step) -> Vec<Diagnostic> {
    let stay = without(&was.iter().collect::<Vec<_>>(), fixes);
    let errors = stay.into_iter().filter(|d| d.is_error() && is_here(d.span));
    let moved: Vec<Diagnostic> =
        errors.map(|d| Diagnostic { span: after(d.span, step), ..d.clone() }).collect();
    let is: Vec<&Diagnostic> = is.iter().collect();
    news(&is, &moved.iter().collect::<Vec<_>>(), &[]).into_iter().cloned().collect()
}

/// Which fixes bring errors into what they write.
fn harmful(texts: (&str, &str), fixes: &[&Diagnostic], fresh: &[&Diagnostic], step: &Step) -> Vec<usize> {
    let brought = fresh.iter().copied().filter(|d| d.is_error() && !is_refused_anyway(d));
    let errors: Vec<&Diagnostic> = brought.collect();
    let harms = |c: &Change, place: &Range<usize>| {
        errors.iter().any(|d| touches(d, place) && !is_twice_anyway(fixes[c.fix], d))
    };
    // a text that was none: what a param was to be, those who insert it would be told
    let of_param = |c: &Change| {
        let quoted = fixes[c.fix].edits.iter().all(|e| e.text.starts_with('"'));
        let name = param_of(fixes[c.fix], texts.0).filter(|_| quoted);
        let says = |d: &Diagnostic, name: &str| {
            let text = texts.1.get(d.span.range()).unwrap_or_default();
            is_here(d.span)
                && text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).any(|w| w == name)
        };
        name.is_some_and(|name| errors.iter().any(|d| says(d, name)))
    };
    // what then begins a line as nothing can was to stand within
    let left_out = |c: &Change| {
        let around = words_beside(texts.1, &c.new, char::is_whitespace);
        fixes[c.fix].code == Code::Unclosed
            && errors.iter().any(|d| d.code == Code::NotADeclaration && touches(d, &around))
    };
    places(texts, fixes, step)
        .filter(|(c, place)| harms(c, place) || left_out(c) || of_param(c))
        .map(|(c, _)| c.fix)
        .collect()
}

/// The param in whose declaration a mistake is.
fn param_of<'t>(d: &Diagnostic, text: &'t str) -> Option<&'t str> {
    let line = text[d.span.line_in(text).range()].strip_prefix("param ")?.trim_start();
    line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next()
}

/// What each change of a step answers for, in the text after it; it was made in the one before.
fn places<'a>(
    (was, text): (&'a str, &'a str),
    fixes: &'a [&Diagnostic],
    step: &'a Step,
) -> impl Iterator<Item = (&'a Change, Range<usize>)> {
    step.iter().map(move |c| {
        let place = match fixes[c.fix] {
            d if is_guess(d) => word_at(text, &c.new),
            d if renames(d, was) || sets_apart(d, was) => {
                words_beside(text, &c.new, |c| matches!(c, ' ' | '\t'))
            }
            _ => c.new.clone(),
        };
        (c, place)
    })
}

pub(super) fn touches(d: &Diagnostic, place: &Range<usize>) -> bool {
    let at = |span: Span| is_here(span) && overlap(&span.range(), place);
    // a rule that excludes a point is read as it was mended, and so is the number of GPUs
    // and whether an engine has a flag hangs on no value of it
    let aside =
        matches!(d.code, Code::Unreachable | Code::TooManyGpus) || matches!(d.about, About::SetBy { .. });
    at(d.span) || !aside && d.related.iter().any(|(span, _)| at(*span))
}

/// Takes back doubts that are none where what was mended is right: they followed from it.
fn forget_doubts(found: &mut Vec<Diagnostic>, last: &[Diagnostic], steps: &[Step]) {
    let doubts = last.iter().filter(|d| d.severity() == Severity::Warning);
    let stay: Vec<Diagnostic> = doubts.map(|d| in_place(d, steps)).collect();
    let stays = |d: &Diagnostic| {
        stay.iter().any(|s| s.code == d.code && (s.span == d.span || s.message == d.message))
    };
    found.retain(|d| steps.is_empty() || d.severity() != Severity::Warning || !is_here(d.span) || stays(d));
}

/// Whether what was meant is only near to what is written.
fn is_guess(d: &Diagnostic) -> bool {
    !d.suggested.is_empty()
}

/// Whether a word is written in the place of another, behind which something else may have to stand. A word for a sign, `and` for `&&`,
/// is no other one.
fn renames(d: &Diagnostic, text: &str) -> bool {
    let of_words = |text: &str| text.trim().bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let was = |e: &Edit| text.get(e.span.range()).unwrap_or_default();
    d.edits.iter().all(|e| of_words(&e.text) && (e.text.is_empty() || of_words(was(e))))
}

/// Whether a key that was to have a value is left without one: `None`, for which JSON has `null`.
fn sets_nothing(d: &Diagnostic) -> bool {
    d.edits.iter().any(|e| e.text == "null")
}

/// Whether words are set apart or put together, or a bracket between them, of which one may not belong there at all.
fn sets_apart(d: &Diagnostic, text: &str) -> bool {
    // `duration: 60`: without its sign the line is what it was to be
    let ends = |e: &Edit| text[e.span.range().end..].trim_start_matches([' ', '\t']).starts_with('\n');
    // `[4, 8,,]`: whether or not a value was to stand between the two, the others stay what they are
    let doubled = |e: &Edit| {
        let (before, behind) = (&text[..e.span.range().start], &text[e.span.range().end..]);
        before.trim_end().ends_with(',') || behind.trim_start().starts_with(',')
    };
    // `--seqs=16 \`, `--seqs=16,`: behind it there is nothing
    let sign = |e: &Edit| match text.get(e.span.range()).map(str::trim) {
        Some(":" | "=" | "\\") => true,
        Some(",") => ends(e) || doubled(e),
        _ => false,
    };
    !d.edits.iter().all(sign)
        && d.edits.iter().all(|e| e.text.trim().bytes().all(|b| b",{}[]()".contains(&b)))
}

/// What stands between the spaces around a place.
pub(super) fn word_at(text: &str, place: &Range<usize>) -> Range<usize> {
    let start = text[..place.start].trim_end_matches(|c: char| !c.is_whitespace()).len();
    let end = text[place.end..].find(char::is_whitespace).map_or(text.len(), |n| place.end + n);
    start..end
}

/// The words before and behind a place, also where such spaces stand between.
fn words_beside(text: &str, place: &Range<usize>, is_space: fn(char) -> bool) -> Range<usize> {
    let before = text[..place.start].trim_end_matches(is_space).len();
    let behind = text.len() - text[place.end..].trim_start_matches(is_space).len();
    word_at(text, &(before..behind))
}

/// The same where its text stands in the line as it was: a fix may write a whole line anew, of which most is as before.
fn by_its_text((first, last): (&str, &str), found: &Diagnostic, mut d: Diagnostic) -> Diagnostic {
    let Some(said) = last.get(found.span.range()).filter(|t| is_here(d.span) && !t.is_empty()) else {
        return d;
    };
    if first.get(d.span.range()) == Some(said) {
        return d;
    }
    let line = d.span.line_in(first).range();
    let mut places = first[line.clone()].match_indices(said).map(|(at, _)| line.start + at);
    if let (Some(at), None) = (places.next(), places.next()) {
        d.span = Span::new(d.span.file, at..at + said.len());
    }
    d
}

/// What was found in a changed text, where it stands in the one before all changes.
pub(super) fn in_place(d: &Diagnostic, steps: &[Step]) -> Diagnostic {
    let back = |span: Span| origin(span, steps);
    let untouched = |span: Span| untouched(span, steps).is_some();
    let mut d = d.clone();
    // what would be changed there was changed already
    if !d.edits.iter().all(|e| !is_here(e.span) || untouched(e.span)) {
        d.edits.clear();
    }
    d.edits.iter_mut().for_each(|e| e.span = back(e.span));
    d.related.iter_mut().for_each(|(span, _)| *span = back(*span));
    d.span = back(d.span);
    d
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::analyze;
    use crate::lang::source::NoFiles;

    /// Code and text of all that is found, in order.
    fn told(text: &str) -> Vec<(&'static str, &str)> {
        let analyze = |t: &str| analyze(&NoFiles, "test.plab", t);
        let mut first = analyze(text);
        reveal(text, &mut first, &analyze);
        first.diagnostics.iter().map(|d| (d.code.id(), &text[d.span.range()])).collect()
    }

    #[test]
    fn what_a_mended_mistake_hid_stands_in_its_place() {
        let text =
            "use std/engines { sim }\nengin a = sim {\n    --max-num-seqs 16 --foo=1\n}\nstudi s \"S {\n}\n";
        assert_eq!(
            told(text),
            [
                ("E101", "engin"),
                ("E106", "--max-num-seqs 16"),
                ("E301", "--foo"),
                ("E101", "studi"),
                ("E501", "s"),
                ("E105", "\"S {")
            ]
        );
    }
}
