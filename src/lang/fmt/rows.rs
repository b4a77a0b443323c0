//! A file as rows: one for each declaration, setting and point, its head cut into the cells that stand in columns, its block below.
//!
//! What is decided here comes from tokens, comments and blank lines alone, never from how wide anything was: so formatting twice
//! changes nothing.

use std::ops::Range;

use pest::iterators::Pair;

use super::spacing::Glue;
use super::tokens::{Token, What};
use crate::lang::syntax::grammar::Rule;

/// What stands on lines of its own.
#[derive(Debug)]
pub enum Entry<'a> {
    Comment { remark: Remark<'a>, blank: bool },
    Row(Row<'a>),
}

/// A comment, and where it stood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark<'a> {
    pub text: std::borrow::Cow<'a, str>,
    /// characters before it on its line; 0 if that says nothing
    pub column: usize,
    /// it stood on a line of its own
    pub alone: bool,
}

#[derive(Debug)]
pub struct Row<'a> {
    /// a blank line stands before it
    pub blank: bool,
    pub kind: Kind,
    pub cells: Vec<Cell<'a>>,
    pub body: Option<Body<'a>>,
    pub tail: Option<Remark<'a>>,
    /// it began its line
    pub own_line: bool,
    /// how much further a line goes on
    pub continued: usize,
}

/// With which other rows a row stands in columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Plain,
    /// a word and what it says; where several meet, the word is at least so wide
    Setting(usize),
    Table(Rule),
}

#[derive(Debug)]
pub struct Cell<'a> {
    pub tag: Tag,
    pub pieces: Vec<Piece<'a>>,
}

/// What a cell is: rows of the same cells share their columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    Start,
    Title,
    Equals,
    From,
    When,
    Rest,
}

/// A token and the comments behind it, which end its line.
#[derive(Debug, Clone)]
pub struct Piece<'a> {
    pub text: &'a str,
    pub what: What,
    pub glue: Glue,
    pub end: Option<u8>,
    pub remarks: Vec<Remark<'a>>,
}

#[derive(Debug)]
pub struct Body<'a> {
    /// it stood on one line
    pub one_line: bool,
    /// the comment behind its `{`
    pub remark: Option<Remark<'a>>,
    pub entries: Vec<Entry<'a>>,
}

/// The rows of a whole file.
pub fn file<'a>(tokens: &[Token<'a>], input: &'a str, root: &Pair<'a, Rule>) -> Vec<Entry<'a>> {
    let items = root.clone().into_inner().filter(|p| !matches!(p.as_rule(), Rule::COMMENT | Rule::EOI));
    Reader { tokens, input }.entries(0..tokens.len(), items.collect())
}

struct Reader<'t, 'a> {
    tokens: &'t [Token<'a>],
    input: &'a str,
}

impl<'a> Reader<'_, 'a> {
    fn index(&self, byte: usize) -> usize {
        self.tokens.partition_point(|t| t.start < byte)
    }

    /// The tokens of a pair, without comments at its end, and with the comma behind a point.
    fn range(&self, pair: &Pair<'a, Rule>) -> Range<usize> {
        let span = pair.as_span();
        let start = self.index(span.start());
        let mut end = self.index(span.end());
        while end > start + 1 && self.tokens[end - 1].what == What::Comment {
            end -= 1;
        }
        let comma = |i: usize| self.tokens.get(i).is_some_and(|t| t.text == "," && t.what == What::Sign);
        if pair.as_rule() == Rule::point && !comma(end - 1) && comma(end) {
            end += 1;
        }
        start..end
    }

    fn entries(&self, range: Range<usize>, pairs: Vec<Pair<'a, Rule>>) -> Vec<Entry<'a>> {
        let mut entries = Vec::new();
        let mut at = range.start;
        for pair in pairs {
            let own = self.range(&pair);
            self.comments(at..own.start, &mut entries);
            at = own.end;
            let blank = !entries.is_empty() && self.tokens[own.start].breaks > 1;
            entries.push(Entry::Row(Row { blank, ..self.row(&pair, own) }));
        }
        self.comments(at..range.end, &mut entries);
        entries
    }

    /// Comments between rows: behind the last row, or on lines of their own.
    fn comments(&self, range: Range<usize>, entries: &mut Vec<Entry<'a>>) {
        for at in range {
            let remark = self.remark(at);
            match entries.last_mut() {
                Some(Entry::Row(row)) if !remark.alone && row.tail.is_none() => {
                    // where it stood behind a row that has moved says nothing
                    let column = if row.own_line { remark.column } else { 0 };
                    row.tail = Some(Remark { column, ..remark });
                }
                _ => {
                    let blank = !entries.is_empty() && self.tokens[at].breaks > 1;
                    entries.push(Entry::Comment { remark, blank });
                }
            }
        }
    }

    fn remark(&self, at: usize) -> Remark<'a> {
        let token = &self.tokens[at];
        let line = self.input[..token.start].rfind(['\n', '\r']).map_or(0, |n| n + 1);
        let before = &self.input[line..token.start];
        let column = if before.contains('\t') { 0 } else { before.chars().count() };
        // a comment behind a comment stood behind a comma that has moved
        let behind = at > 0 && self.tokens[at - 1].what == What::Comment;
        Remark { text: token.text.into(), column, alone: token.breaks > 0 || at == 0 || behind }
    }

    fn begins_line(&self, at: usize) -> bool {
        at == 0 || self.tokens[at].breaks > 0
    }

    fn row(&self, pair: &Pair<'a, Rule>, range: Range<usize>) -> Row<'a> {
        let is_open = |t: &Token| t.what == What::Sign && t.text == "{";
        let open = self.tokens[range.clone()].iter().position(is_open).map(|n| range.start + n);
        let head = range.start..open.unwrap_or(range.end);
        let body = open.map(|open| self.body(pair, open, range.end - 1));
        Row {
            blank: false,
            kind: kind(pair.as_rule()),
            cells: self.cells(pair, head),
            body,
            tail: None,
            own_line: self.begins_line(range.start),
            continued: 8,
        }
    }

    fn body(&self, pair: &Pair<'a, Rule>, open: usize, close: usize) -> Body<'a> {
        let stands = |t: &Token| t.breaks == 0 && t.what != What::Comment && !t.text.contains(['\n', '\r']);
        let one_line = self.tokens[open + 1..=close].iter().all(stands);
        let behind = self.tokens[open + 1].what == What::Comment && self.tokens[open + 1].breaks == 0;
        let remark = behind.then(|| self.remark(open + 1));
        let inner = open + 1 + usize::from(behind)..close;
        let entries = match pair.as_rule() {
            Rule::use_item => self.names(inner),
            Rule::axis => self.entries(inner, pair.clone().into_inner().flat_map(points).collect()),
            _ => {
                let after = self.tokens[open].start;
                let line = |p: &Pair<_>| p.as_rule() != Rule::COMMENT && p.as_span().start() > after;
                self.entries(inner, pair.clone().into_inner().filter(line).collect())
            }
        };
        Body { one_line, remark, entries }
    }

    /// Names in braces: a row for each line of them.
    fn names(&self, range: Range<usize>) -> Vec<Entry<'a>> {
        let mut entries = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let from = at;
            while at < range.end
                && self.tokens[at].what != What::Comment
                && (at == from || self.tokens[at].breaks == 0)
            {
                at += 1;
            }
            if at == from {
                self.comments(at..at + 1, &mut entries);
                at += 1;
                continue;
            }
            let blank = !entries.is_empty() && self.tokens[from].breaks > 1;
            let cells = vec![Cell { tag: Tag::Start, pieces: self.pieces(from..at) }];
            let own_line = self.begins_line(from);
            let row = Row { blank, kind: Kind::Plain, cells, body: None, tail: None, own_line, continued: 0 };
            entries.push(Entry::Row(row));
        }
        entries
    }

    fn cells(&self, pair: &Pair<'a, Rule>, head: Range<usize>) -> Vec<Cell<'a>> {
        let mut cells = Vec::new();
        let (mut from, mut tag) = (head.start, Tag::Start);
        for (at, next) in self.cell_starts(pair, &head) {
            if at > from && at < head.end {
                cells.push(Cell { tag, pieces: self.pieces(from..at) });
                (from, tag) = (at, next);
            }
        }
        cells.push(Cell { tag, pieces: self.pieces(from..head.end) });
        cells
    }

    /// Where cells begin, apart from the first.
    fn cell_starts(&self, pair: &Pair<'a, Rule>, head: &Range<usize>) -> Vec<(usize, Tag)> {
        let rule = pair.as_rule();
        if matches!(kind(rule), Kind::Setting(_)) {
            return vec![(head.start + 1, Tag::Rest)];
        }
        let equals = |t: &Token| t.what == What::Sign && t.text == "=";
        let equals = self.tokens[head.clone()].iter().position(equals).filter(|_| declares(rule));
        let end = equals.map_or(head.end, |n| head.start + n);
        let first = |(wanted, tag): &(Rule, Tag)| {
            let child = pair.clone().into_inner().find(|p| p.as_rule() == *wanted)?;
            Some((self.index(child.as_span().start()), *tag)).filter(|(at, _)| *at < end)
        };
        let mut starts: Vec<_> = cell_tags(rule).iter().filter_map(first).collect();
        starts.extend(equals.map(|_| (end, Tag::Equals)));
        starts
    }

    fn pieces(&self, range: Range<usize>) -> Vec<Piece<'a>> {
        let mut pieces: Vec<Piece<'a>> = Vec::with_capacity(range.len());
        for at in range {
            let t = &self.tokens[at];
            match pieces.last_mut() {
                Some(last) if t.what == What::Comment => last.remarks.push(self.remark(at)),
                _ => pieces.push(Piece {
                    text: t.text,
                    what: t.what,
                    glue: t.glue,
                    end: t.end,
                    remarks: Vec::new(),
                }),
            }
        }
        pieces
    }
}

/// Declarations of the form `keyword name "Title" = …`.
fn declares(rule: Rule) -> bool {
    matches!(rule, Rule::axis | Rule::param | Rule::metric | Rule::engine | Rule::profile)
}

/// What begins a cell, in written order.
fn cell_tags(rule: Rule) -> &'static [(Rule, Tag)] {
    match rule {
        Rule::axis | Rule::param | Rule::metric | Rule::engine | Rule::profile | Rule::track => {
            &[(Rule::string, Tag::Title)]
        }
        Rule::prune => &[(Rule::string, Tag::Title), (Rule::k_when, Tag::When)],
        Rule::step => &[(Rule::string, Tag::Title), (Rule::k_from, Tag::From), (Rule::k_when, Tag::When)],
        Rule::e_failure => &[(Rule::k_when, Tag::When)],
        Rule::e_flag => &[(Rule::flag_type, Tag::Rest), (Rule::attribute, Tag::Rest)],
        Rule::point => &[(Rule::string, Tag::Title), (Rule::point_change, Tag::Rest)],
        _ => &[],
    }
}

/// A root engine's settings stand where those of a study do.
const ENGINE_WORD: usize = 8;

fn kind(rule: Rule) -> Kind {
    match rule {
        Rule::use_item
        | Rule::axis
        | Rule::param
        | Rule::metric
        | Rule::engine
        | Rule::profile
        | Rule::prune
        | Rule::step
        | Rule::track
        | Rule::e_failure
        | Rule::e_refuses
        | Rule::e_flag
        | Rule::point => Kind::Table(rule),
        Rule::e_text
        | Rule::e_versions
        | Rule::e_api
        | Rule::e_args
        | Rule::e_ready
        | Rule::e_metrics
        | Rule::e_reset
        | Rule::e_stop
        | Rule::e_variables
        | Rule::e_key => Kind::Setting(ENGINE_WORD),
        Rule::word_line
        | Rule::s_model
        | Rule::s_gpus
        | Rule::s_baseline
        | Rule::objective
        | Rule::require
        | Rule::adopt
        | Rule::repeat
        | Rule::on_profiles
        | Rule::budget
        | Rule::note
        | Rule::vary
        | Rule::pick => Kind::Setting(0),
        _ => Kind::Plain,
    }
}

/// The points of an axis' body.
fn points(pair: Pair<'_, Rule>) -> Vec<Pair<'_, Rule>> {
    let inner = (pair.as_rule() == Rule::points).then(|| pair.into_inner());
    inner.into_iter().flatten().filter(|p| p.as_rule() == Rule::point).collect()
}
