//! From pest's pairs to the owned tree. Bad chunks met on the way are handed to the second look.

// a method's path does not hold for texts of any lifetime, which a line that was mended has
#![allow(clippy::redundant_closure_for_method_calls)]

mod axes;
mod engines;
mod exprs;
mod literals;
mod meant;
mod miscalled;
mod profiles;
mod sites;
mod studies;

use std::iter::{Filter, Peekable};

use foldhash::{HashSet, HashSetExt};
use pest::iterators::{Pair, Pairs};

use super::ast::{File, Item, Literal, Name, Number, Param, Range, Single, SingleKind, Text, Use, UsePath};
use super::blocks::{Block, first_word};
use super::grammar::Rule;
use super::imports::ANY;
use super::{bad_lines, brackets, flag_lines, heads, lexical, parts, recover, words};
use crate::lang::comments::start_of_comment;
use crate::lang::diag::{Diagnostic, Sink};
use crate::lang::source::{FileId, Span, Spanned};
use literals::{split_unit, unescape, without_comments};

pub use literals::number_alone;

/// Builds the tree of one file, or of one chunk of it that begins at `base`.
pub struct Builder<'a, 's> {
    id: FileId,
    text: &'a str,
    base: usize,
    /// where the chunk begins in the file, also where its first word was mended to a longer one
    begins: usize,
    /// where the chunk ends in the file, also where a bracket was put behind it
    ends: usize,
    /// what of the file another text stands for in the chunk, which is as long with spaces behind it
    instead: Option<std::ops::Range<usize>>,
    sink: &'s mut Sink,
    broken: HashSet<String>,
    /// flags that lines of the engine being read declare, had they been readable
    unread_flags: Vec<String>,
    /// whether the step being read says what it varies
    varies: bool,
    operators: usize,
}

type Kids<'a> = Peekable<Filter<Pairs<'a, Rule>, fn(&Pair<'a, Rule>) -> bool>>;

/// The children that carry meaning: comments are in their own table.
fn kids<'a>(pair: Pair<'a, Rule>) -> Kids<'a> {
    let means: fn(&Pair<'a, Rule>) -> bool = |p| p.as_rule() != Rule::COMMENT;
    pair.into_inner().filter(means).peekable()
}

/// Whether a line was told to be the declaration of a flag that lacks its word.
fn is_a_lost_flag(told: &Diagnostic, at: usize) -> bool {
    matches!(told.edits.as_slice(), [edit] if edit.text == flag_lines::FLAG && edit.span.range() == (at..at))
}

fn skip(kids: &mut Kids, rule: Rule) -> bool {
    kids.next_if(|p| p.as_rule() == rule).is_some()
}

impl<'a, 's> Builder<'a, 's> {
    pub fn new(id: FileId, text: &'a str, base: usize, sink: &'s mut Sink) -> Self {
        Self {
            id,
            text,
            base,
            begins: base,
            ends: usize::MAX,
            instead: None,
            sink,
            broken: HashSet::new(),
            unread_flags: Vec::new(),
            varies: false,
            operators: 0,
        }
    }

    /// The same for a chunk whose first word was mended, so that its text is another than the file's up to the end of that word.
    pub fn beginning(self, begins: usize) -> Self {
        Self { begins, ..self }
    }

    /// The same for a chunk behind which something was put that the file does not have.
    pub fn ending(self, ends: usize) -> Self {
        Self { ends, ..self }
    }

    /// The same for a chunk in which a place of the file was mended: what ends within that goes on to its end.
    pub fn standing_in(self, place: Span) -> Self {
        Self { instead: Some(place.range()), ..self }
    }

    pub fn into_broken(self) -> HashSet<String> {
        self.broken
    }

    pub fn file(&mut self, pairs: Pairs<'a, Rule>) -> File {
        let mut comments: Vec<_> =
            pairs.clone().flatten().filter(|p| p.as_rule() == Rule::COMMENT).map(|p| self.span(&p)).collect();
        comments.dedup();
        let mut file = File { items: Vec::new(), comments };
        let Some(root) = pairs.into_iter().next() else { return file };
        for pair in kids(root) {
            match pair.as_rule() {
                Rule::EOI => {}
                Rule::bad_item if self.sink.is_full() => self.sink.unexplained(),
                Rule::bad_item if self.behind_a_torn_study(&pair, &mut file) => {}
                Rule::bad_item => {
                    for part in parts::parts(self.text, self.span(&pair)) {
                        let found = recover::item(self.id, self.text, part, self.sink);
                        self.broken.extend(found.broken);
                        file.items.extend(found.item);
                    }
                }
                _ => file.items.extend(self.miscalled(&pair).or_else(|| self.item(pair))),
            }
        }
        file
    }

    /// Lines of a study that a `{` missing in it left outside: that was said, and what they state is not missing.
    fn behind_a_torn_study(&self, pair: &Pair<'a, Rule>, file: &mut File) -> bool {
        let (text, start) = (pair.as_str(), pair.as_span().start());
        let indented = text.starts_with([' ', '\t']) || self.text[..start].ends_with([' ', '\t']);
        let word = first_word(text.trim_start());
        let Some(Item::Study(study)) = file.items.last_mut() else { return false };
        let lacks_brace = self.sink.in_span(study.span).any(|d| d.about.expected().brace);
        if !(indented && lacks_brace && words::STUDY_SETTINGS.contains(&word)) {
            return false;
        }
        study.unread.extend(bad_lines::settings_named(Block::Study, text));
        true
    }

    /// The span without the spaces and comments that pest leaves at the end of a rule.
    fn span(&self, pair: &Pair<'_, Rule>) -> Span {
        let s = pair.as_span();
        let text = s.as_str();
        let mut end = text.trim_end().len();
        // most rules hold no comment, and looking through all that is in them takes long
        if text.contains('#')
            && let Some(last) =
                pair.clone().into_inner().flatten().filter(|p| p.as_rule() == Rule::COMMENT).last()
        {
            let comment = last.as_span();
            if comment.end() - s.start() >= end {
                end = text[..comment.start() - s.start()].trim_end().len();
            }
        }
        // what was written before a chunk begins where that does, and so does its end
        let at = |place: usize| self.begins.max(self.base + place);
        let (start, mut end) = (at(s.start()), at(s.start() + end));
        if let Some(place) = self.instead.as_ref().filter(|p| p.start < end && end < p.end && start < p.start)
        {
            end = place.end;
        }
        Span::new(self.id, start.min(self.ends)..end.min(self.ends))
    }

    /// A line that no rule took. Returns the settings that it was probably meant to be.
    fn bad(&mut self, block: Block, pair: &Pair<'_, Rule>) -> Vec<&'static str> {
        let text = pair.as_str().trim_end();
        let base = self.base + pair.as_span().start();
        self.broken.extend(recover::declared_name(text).filter(|_| block.declares(text)));
        // `step "Title" { … }`: what it was to be called, nobody knows
        if first_word(text) == "step" {
            self.broken.extend(heads::names_of_step(text));
        } else if block.declares(text)
            && !matches!(first_word(text), "track" | "prune")
            && text[first_word(text).len()..].trim_start().starts_with(['"', '{'])
        {
            self.broken.insert(ANY.to_owned());
        }
        if block == Block::Engine {
            self.unread_flags.extend(flag_lines::declared_flags(text));
        }
        if self.sink.is_full() {
            self.sink.unexplained();
            return Vec::new();
        }
        bad_lines::line(self.id, block, (text, self.as_axes(text)), base, self.sink)
    }

    /// The lines of a block that can be read, and the settings that the others were probably meant to be.
    fn lines<T>(
        &mut self,
        lines: Kids<'a>,
        block: Block,
        read: impl for<'x, 'y> Fn(&mut Builder<'x, 'y>, Pair<'x, Rule>) -> Option<T>,
    ) -> (Vec<T>, Vec<&'static str>) {
        let (mut found, mut unread) = (Vec::new(), Vec::new());
        let lines: Vec<_> = lines.collect();
        self.varies = block == Block::Step && lines.iter().any(|l| first_word(l.as_str()) == "vary");
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            if line.as_rule() != Rule::bad_line {
                found.extend(read(self, line.clone()));
            } else if self.is_beyond(line) {
                self.never_closed(&lines, at);
                break;
            } else if let Some(line) = self.behind_a_bad_name(block, line, &read) {
                found.push(line);
            } else {
                let (mut more, meant) =
                    self.torn(block, &lines, at).unwrap_or_else(|| (0, self.bad(block, line)));
                if let Some((rest, step)) =
                    self.headless_step(block, &lines[at..], &read).filter(|_| more == 0)
                {
                    found.push(step);
                    more = rest;
                } else {
                    let one = self.as_meant(block, line, &read).map(|line| (more, line));
                    match one.or_else(|| self.over_lines(block, &lines[at..], &read)) {
                        Some((rest, line)) => {
                            found.push(line);
                            more = rest;
                        }
                        None => unread.extend(meant),
                    }
                }
                let below = if more == 0 { self.below_a_colon(&lines[at..]) } else { 0 };
                if below > 1 {
                    // what mends the first of them would leave the others where they are
                    self.sink.leave_to_people();
                }
                at += more + below;
            }
            at += 1;
        }
        (found, unread)
    }

    /// Whether a line of a block is the first one of a declaration, at the margin.
    fn is_beyond(&self, line: &Pair<'a, Rule>) -> bool {
        let start = line.as_span().start();
        let word = first_word(line.as_str());
        let named = || line.as_str()[word.len()..].trim_start().starts_with(|c: char| c.is_ascii_lowercase());
        words::DECLARATIONS.contains(&word) && self.text[..start].ends_with('\n') && named()
    }

    /// A block that goes on over declarations, up to a `}` that one of them did not open: what they are is told of the mended text.
    fn never_closed(&mut self, lines: &[Pair<'a, Rule>], beyond: usize) {
        let start = |n: usize| lines[n].as_span().start();
        let Some(open) = self.text[..start(0)].rfind('{') else { return };
        let place = self.base + start(beyond);
        let d = brackets::bracket(self.id, self.base + open, lexical::Piece::Open(b'{'));
        self.sink.push(d.edit(Span::new(self.id, place..place), "}\n"));
        for line in &lines[beyond..] {
            self.broken.extend(recover::declared_name(line.as_str()));
        }
    }

    /// How many bad lines stand below a bad one as in YAML, behind its `:` and further in: what is wrong with it is wrong with them.
    fn below_a_colon(&self, lines: &[Pair<'a, Rule>]) -> usize {
        let column = |p: &Pair<'_, Rule>| {
            let start = p.as_span().start();
            start - self.text[..start].rfind('\n').map_or(0, |n| n + 1)
        };
        let Some((first, rest)) = lines.split_first() else { return 0 };
        let head = first.as_str().lines().next().unwrap_or_default();
        if !head[..start_of_comment(head).unwrap_or(head.len())].trim_end().ends_with(':') {
            return 0;
        }
        rest.iter().take_while(|p| p.as_rule() == Rule::bad_line && column(p) > column(first)).count()
    }

    fn name(&self, pair: &Pair<'_, Rule>) -> Name {
        Spanned { value: pair.as_str().to_owned(), span: self.span(pair) }
    }

    fn text(&self, pair: &Pair<'_, Rule>) -> Text {
        Spanned { value: unescape(pair.as_str()), span: self.span(pair) }
    }

    fn number(&self, pair: &Pair<'_, Rule>) -> Number {
        let (digits, unit) = split_unit(pair.as_str());
        Number { value: digits.parse().unwrap_or(f64::NAN), unit: unit.to_owned(), span: self.span(pair) }
    }

    fn maybe_name(&self, kids: &mut Kids) -> Option<Name> {
        kids.next_if(|p| p.as_rule() == Rule::name).map(|p| self.name(&p))
    }

    fn maybe_text(&self, kids: &mut Kids) -> Option<Text> {
        kids.next_if(|p| p.as_rule() == Rule::string).map(|p| self.text(&p))
    }

    fn maybe_number(&self, kids: &mut Kids) -> Option<Number> {
        kids.next_if(|p| p.as_rule() == Rule::number).map(|p| self.number(&p))
    }

    fn names(&self, pair: Pair<'a, Rule>) -> Vec<Name> {
        kids(pair).filter(|p| p.as_rule() == Rule::name).map(|p| self.name(&p)).collect()
    }

    fn single(&self, pair: Pair<'a, Rule>) -> Option<Single> {
        let inner = kids(pair).next()?;
        let kind = match inner.as_rule() {
            Rule::json => SingleKind::Json,
            Rule::string => SingleKind::Text,
            _ => SingleKind::Word,
        };
        let text = match kind {
            SingleKind::Text => unescape(inner.as_str()),
            SingleKind::Json => without_comments(&inner),
            SingleKind::Word => inner.as_str().to_owned(),
        };
        Some(Single { kind, text, span: self.span(&inner) })
    }

    fn list(&self, pair: Pair<'a, Rule>) -> Vec<Single> {
        kids(pair).filter_map(|p| self.single(p)).collect()
    }

    fn range(&self, pair: Pair<'a, Rule>) -> Option<Range> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        Some(Range { from: self.maybe_number(&mut k)?, to: self.maybe_number(&mut k), span })
    }

    fn within(&self, kids: &mut Kids<'a>) -> Option<Number> {
        let pair = kids.next_if(|p| p.as_rule() == Rule::within)?;
        pair.into_inner().find(|p| p.as_rule() == Rule::number).map(|p| self.number(&p))
    }

    fn because(&self, kids: &mut Kids<'a>) -> Option<Text> {
        let pair = kids.find(|p| p.as_rule() == Rule::because)?;
        pair.into_inner().find(|p| p.as_rule() == Rule::string).map(|p| self.text(&p))
    }

    pub fn item(&mut self, pair: Pair<'a, Rule>) -> Option<Item> {
        Some(match pair.as_rule() {
            Rule::use_item => Item::Use(self.use_item(pair)?),
            Rule::param => Item::Param(self.param(pair)?),
            Rule::engine => Item::Engine(self.engine(pair)?),
            Rule::axis => Item::Axis(self.axis(pair)?),
            Rule::profile => Item::Profile(self.profile(pair)?),
            Rule::metric => Item::Metric(self.metric(pair)?),
            Rule::prune => Item::Prune(self.prune(pair)?),
            Rule::study => Item::Study(self.study(pair)?),
            Rule::site => Item::Site(self.site(pair)?),
            _ => return None,
        })
    }

    fn use_item(&self, pair: Pair<'a, Rule>) -> Option<Use> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        skip(&mut k, Rule::k_use);
        let path = k.next()?;
        let from = match path.as_rule() {
            Rule::std_path => {
                let at = self.span(&path);
                let value = path.as_str().trim_start_matches("std/").to_owned();
                UsePath::Std(Spanned { value, span: at })
            }
            _ => UsePath::File(self.text(&path)),
        };
        Some(Use { from, names: self.names(k.next()?), span })
    }

    fn param(&self, pair: Pair<'a, Rule>) -> Option<Param> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        skip(&mut k, Rule::k_param);
        let name = self.maybe_name(&mut k)?;
        let value = self.literal(&k.next()?)?;
        Some(Param { name, value, span })
    }

    fn literal(&self, pair: &Pair<'a, Rule>) -> Option<Literal> {
        Some(match pair.as_rule() {
            Rule::string => Literal::Text(self.text(pair)),
            Rule::number => Literal::Number(self.number(pair)),
            Rule::bool => Literal::Bool(Spanned { value: pair.as_str() == "true", span: self.span(pair) }),
            _ => return None,
        })
    }
}
