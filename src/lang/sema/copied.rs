//! A name that is declared twice, beside one that is missing: a declaration that was copied and not renamed, or renamed to what there is
//! already. It is one mistake, told at the second of the two.

use super::kinds_met::kinds_met;
use super::metrics;
use super::modules::Modules;
use super::odd::{MOST_LETTERS, Missing, Words};
use super::scope::{Kind, declared};
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, Edit, differ_in_a_part, same_digits, sort};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{Item, Literal, Param};
use crate::lang::units::{self, Dim};

/// `axis seqs` twice and `batched` missing.
pub(super) fn called_alike(found: &mut Vec<Diagnostic>, modules: &Modules, words: &Words) {
    for kind in [Kind::Engine, Kind::Axis, Kind::Profile, Kind::Metric, Kind::Param] {
        let mut twice = found.iter().filter(|d| d.about == About::Second(kind));
        let (Some(second), None) = (twice.next(), twice.next()) else { continue };
        let at = second.span;
        let Some(first) = second.related.first().map(|(first, _)| *first) else { continue };
        let is_declared = declared(modules.root()).any(|(k, _, span)| k == kind && span == at);
        if !is_declared || is_pasted(modules, at) {
            continue;
        }
        let pair = Pair { modules, words, first, second: at };
        let missing = Missing::all(found, modules);
        let missing = missing.iter().filter(|m| m.kinds.contains(&kind) && !pair.is_explained(m));
        let Some(m) = one_but_for_slips(&missing.collect::<Vec<_>>(), words) else { continue };
        let name = m.name.clone();
        let other = declared(modules.root()).find(|(.., span)| *span == first).map(|(k, ..)| k);
        let mixed = other.filter(|other| *other != kind && m.code != Code::UnknownParam);
        let meant = mixed.and_then(|_| pair.of_param_and_metric(&name));
        found.retain(|d| {
            let of_use = Missing::of(d, modules).is_some_and(|o| o.name == name && o.kinds.contains(&kind));
            !of_use
        });
        let told = found.iter_mut().find(|d| d.about == About::Second(kind) && d.span == at);
        let Some(d) = told else { continue };
        if let (Some(other), Some(true)) = (mixed, meant) {
            first_is_meant(d, (kind, other), (first, m.first), name);
            sort(found);
            continue;
        }
        d.related.push((m.first, "used here".to_owned()));
        let is_second = mixed.map_or_else(|| pair.is_of_second(&name), |_| meant.is_some());
        let certain = is_second && m.code != Code::UnknownParam && !m.in_library();
        let which = if certain { "this one" } else { "one of the two" };
        d.help = Some(format!("`{name}` is used and declared nowhere: call {which} `{name}`?"));
        if certain {
            d.edits.push(Edit { span: at, text: name });
        }
    }
    steps_called_alike(found, modules);
}

/// Tells of a param and a metric of one name at the first of them: it is that one which was to be called otherwise.
fn first_is_meant(d: &mut Diagnostic, (second, first): (Kind, Kind), (at, used): (Span, Span), name: String) {
    let other = std::mem::replace(&mut d.span, at);
    d.message = format!("a {} is called as this {}", second.word(), first.word());
    "the same name".clone_into(&mut d.label);
    d.related = vec![(other, format!("the {}", second.word())), (used, "used here".to_owned())];
    d.help = Some(format!("`{name}` is used and declared nowhere: call this one `{name}`?"));
    d.edits = vec![Edit { span: at, text: name }];
}

/// The one name that is missing, of which all others are slips: what is named most often, or first.
fn one_but_for_slips<'m>(missing: &[&'m Missing], words: &Words<'_>) -> Option<&'m Missing> {
    let uses = |m: &Missing| words.get(m.name.as_str()).copied().unwrap_or_default();
    let right = missing.iter().copied().reduce(|a, b| if uses(b) > uses(a) { b } else { a })?;
    let slip = |m: &&Missing| {
        right.name.len().abs_diff(m.name.len()) <= 1
            && right.name.len() > SHORT
            && right.distance(&m.name) <= 1
            && same_digits(&right.name, &m.name)
            && !differ_in_a_part(&right.name, &m.name)
    };
    missing.iter().filter(|m| m.name != right.name).all(slip).then_some(right)
}

/// Of names that are no longer, one letter makes another name.
const SHORT: usize = 3;

/// Two declarations of one name.
struct Pair<'a> {
    modules: &'a Modules,
    words: &'a Words<'a>,
    first: Span,
    second: Span,
}

impl Pair<'_> {
    /// Whether a name is missing for another reason.
    fn is_explained(&self, m: &Missing) -> bool {
        // what a text inserts is no time, nor a rate
        if m.code == Code::UnknownParam && ![self.first, self.second].iter().any(|at| self.is_inserted(*at)) {
            return true;
        }
        // of another that is declared and looks alike it may be a slip, which is told where it is used
        let own = self.modules.slice(self.second);
        // of one that is named elsewhere too, that other use is right
        let named = self.words.get(own).is_some_and(|n| *n > 2);
        let near = |s: &String| {
            (m.distance(s) == 1 && same_digits(s, &m.name) || self.words.get(s.as_str()) == Some(&1))
                && !(named && s == own)
        };
        let alike = |name: &str| {
            let letters = m.distance(name);
            // `r4` beside `r1`, `r2` and `r2`: no more like the one than the other; `s_seqs` is no slip of `v_seqs`
            letters < m.distance(own)
                && letters <= MOST_LETTERS.min(name.len() / 2)
                && !differ_in_a_part(&m.name, name)
        };
        // one of several that are as near
        let own_too = m.suggested.len() > 1 && m.suggested.iter().any(|s| s == own);
        let of_library = m.in_library() && (!share_a_part(&m.name, own) || self.holds(m.first));
        of_library
            || metrics::is_built_in(&m.name)
            || !own_too && m.suggested.iter().filter(|s| !differ_in_a_part(&m.name, s)).any(near)
            || m.declared(self.modules).iter().any(|(name, _)| alike(name))
    }

    /// Whether the first of the two names the missing one itself: the second that does may have been meant to derive from the first.
    fn holds(&self, place: Span) -> bool {
        declaration(self.modules, self.first)
            .map(Item::span)
            .is_some_and(|span| span.file == place.file && span.start <= place.start && place.end <= span.end)
    }

    /// Whether it is the second one that the missing name is of: nothing in the first speaks more of it, and nothing in the second more of
    /// the name that it has.
    fn is_of_second(&self, name: &str) -> bool {
        let own = self.modules.slice(self.second);
        let says = |at: Span, name: &str| {
            let text = declaration(self.modules, at).map_or("", |item| self.modules.slice(item.span()));
            let behind = text.split_once(own).map_or("", |(_, behind)| behind).to_lowercase();
            // what derives from the other one of its name says nothing of itself
            let mut words = behind.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            words.any(|word| word != own && parts(name).any(|part| word.contains(part)))
        };
        let is_first = says(self.first, name) || says(self.second, own) && !says(self.first, own);
        says(self.second, name) || !is_first
    }

    /// Of a param and a metric of one name, which of the two is to be called otherwise, as far as what both names are compared with shows it:
    /// whether it is the first.
    fn of_param_and_metric(&self, name: &str) -> Option<bool> {
        let items = &self.modules.root().file.items;
        let number = |at: Span| match declaration(self.modules, at)? {
            Item::Param(Param { value: Literal::Number(n), .. }) => units::unit(&n.unit),
            _ => None,
        };
        let (is_first, (_, dim)) =
            number(self.first).map(|n| (true, n)).or_else(|| number(self.second).map(|n| (false, n)))?;
        let (lacking, own) = (kinds_met(items, name), kinds_met(items, self.modules.slice(self.second)));
        let all_fit = |of: &[Dim]| !of.is_empty() && of.iter().all(|d| *d == dim);
        let none_fits = |of: &[Dim]| !of.contains(&dim);
        if all_fit(&lacking) && none_fits(&own) {
            Some(is_first)
        } else if all_fit(&own) && none_fits(&lacking) {
            Some(!is_first)
        } else {
            None
        }
    }

    /// Whether the param that is called so there has a value that flags take.
    fn is_inserted(&self, at: Span) -> bool {
        let Some(Item::Param(param)) = declaration(self.modules, at) else { return false };
        match &param.value {
            Literal::Number(n) => units::unit(&n.unit).is_some_and(|(_, dim)| dim == Dim::PLAIN),
            Literal::Text(_) | Literal::Bool(_) => true,
        }
    }
}

/// `step a` twice and `from b` behind: of two steps of one name one was to be the other.
fn steps_called_alike(found: &mut Vec<Diagnostic>, modules: &Modules) {
    let mut twice = found.iter().filter(|d| d.about == About::SecondStep);
    let (Some(second), None) = (twice.next(), twice.next()) else { return };
    let missing = |d: &&Diagnostic| matches!(d.about, About::MissingBase { .. }) && d.edits.is_empty();
    let lost: Vec<Span> = found.iter().filter(missing).map(|d| d.span).collect();
    let (Some(first), name) = (lost.first().copied(), lost.first().map_or("", |at| modules.slice(*at)))
    else {
        return;
    };
    let study = declaration(modules, second.span).map(Item::span);
    let is_here =
        |at: &Span| modules.slice(*at) == name && declaration(modules, *at).map(Item::span) == study;
    if !lost.iter().all(is_here) {
        return;
    }
    found.retain(|d| !lost.contains(&d.span) || !matches!(d.about, About::MissingBase { .. }));
    if let Some(d) = found.iter_mut().find(|d| d.about == About::SecondStep) {
        d.help = Some(format!(
            "a step starts from `{name}`, and none is called so: call one of the two `{name}`?"
        ));
        d.related.push((first, "used here".to_owned()));
    }
}

fn declaration(modules: &Modules, at: Span) -> Option<&Item> {
    Item::at(&modules.root().file.items, at)
}

/// Whether another declaration of the file says word for word what the one does that has its name here: it was pasted twice, and not
/// copied to become another.
pub(super) fn is_pasted(modules: &Modules, name: Span) -> bool {
    let all = || modules.root().file.items.iter().map(Item::span);
    let Some(own) = all().find(|s| s.start <= name.start && name.end <= s.end) else { return false };
    let text = modules.slice(own).trim();
    all().any(|other| other != own && modules.slice(other).trim() == text)
}

/// The words of a name that say something.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.split('_').filter(|part| part.len() > 2)
}

fn share_a_part(one: &str, other: &str) -> bool {
    parts(one).any(|part| parts(other).any(|o| o == part))
}
