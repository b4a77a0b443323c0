//! Lines that no rule took, read as they were meant once it was told what is wrong with them.

use pest::Parser;
use pest::iterators::Pair;

use super::Builder;
use crate::lang::codes::Code;
use crate::lang::comments::start_of_comment;
use crate::lang::diag::did_you_mean;
use crate::lang::source::Span;
use crate::lang::syntax::blocks::{Block, first_word};
use crate::lang::syntax::grammar::{Grammar, Rule};
use crate::lang::syntax::habits::Axes;
use crate::lang::syntax::{bad_lines, flag_lines, heads, joins, lexical, reread, words};

impl<'a> Builder<'a, '_> {
    /// A bad line whose word is misspelt, or a step whose first line is wrong, which was told of, read as it was meant: what else is wrong
    /// with it is told too.
    pub(super) fn as_meant<T>(
        &mut self,
        block: Block,
        pair: &Pair<'a, Rule>,
        read: &impl for<'x, 'y> Fn(&mut Builder<'x, 'y>, Pair<'x, Rule>) -> Option<T>,
    ) -> Option<T> {
        let text = pair.as_str().trim_end();
        let at = self.base + pair.as_span().start();
        let told = self.sink.found().last()?;
        let (text, base): (String, usize) = match told.code {
            Code::UnknownSetting => reread::renamed(told, at, text, block.settings().1)?,
            _ if block == Block::Engine && super::is_a_lost_flag(told, at) => {
                (format!("{}{text}", flag_lines::FLAG), at.checked_sub(flag_lines::FLAG.len())?)
            }
            Code::Unexpected if block == Block::Profile => {
                let place = told.edits.first().map(|e| e.span);
                let line = reread::padded(told, at, text)?;
                return self.mended(block, at, (&line, at), place, read);
            }
            _ if block == Block::Engine => (self.flags_of_a_bad_line(at, text)?, at),
            _ => {
                let of_a_study = matches!(block, Block::Study | Block::Track | Block::Step);
                // in which order words were meant is told where they are judged
                let is_sure = of_a_study && !reread::reorders(told, at, text);
                let (place, mended) = (told.span, reread::padded(told, at, text).filter(|_| is_sure));
                let mended = mended.or_else(|| without_reason(block, at, text, place));
                self.head_as_meant(at, text, place).or(mended.map(|line| (line, at)))?
            }
        };
        let unguarded =
            || without_guard(block, &text).filter(|_| Grammar::parse(block.rule(), &text).is_err());
        match unguarded() {
            Some(unguarded) => self.mended(block, at, (&unguarded, base), None, read),
            None => self.mended(block, at, (&text, base), None, read),
        }
    }

    /// The same of a line that goes on over others, with or without their ends: how many follow it.
    pub(super) fn over_lines<T>(
        &mut self,
        block: Block,
        lines: &[Pair<'a, Rule>],
        read: &impl for<'x, 'y> Fn(&mut Builder<'x, 'y>, Pair<'x, Rule>) -> Option<T>,
    ) -> Option<(usize, T)> {
        let told = self.sink.found().last().filter(|d| d.code == Code::UnknownSetting)?.clone();
        let start = lines.first()?.as_span().start();
        let at = self.base + start;
        for (n, line) in lines.iter().enumerate().take(joins::MOST_LINES).skip(1) {
            if line.as_rule() != Rule::bad_line {
                return None;
            }
            let last = line.as_span();
            let whole = self.text.get(start..last.start() + line.as_str().trim_end().len())?;
            let (text, base) = reread::renamed(&told, at, whole, block.settings().1)?;
            let joined = text.replace(['\n', '\r'], " ");
            let mut reads = [text, joined].into_iter().filter(|t| Grammar::parse(block.rule(), t).is_ok());
            if let Some(text) = reads.next() {
                return self.mended(block, at, (&text, base), None, read).map(|line| (n, line));
            }
        }
        None
    }

    /// What a line of a step can be that names axes alone, as far as it does: a word that is no axis' name is none.
    pub(super) fn as_axes(&self, text: &str) -> Axes {
        let word = first_word(text);
        let line = text.lines().next().unwrap_or_default();
        let alone = line[..start_of_comment(line).unwrap_or(line.len())].trim_end().len() == word.len();
        let glued =
            ["vary", "pick"].iter().any(|w| word.strip_prefix(w).is_some_and(|rest| !rest.is_empty()));
        // of a chunk of its file it is not known which axes there are
        let known = if self.base > 0 { None } else { Some(names_an_axis(self.text, word)) };
        match (self.varies, known.filter(|_| alone)) {
            _ if alone && glued => Axes::Varied,
            (false, Some(false)) => Axes::NoAxis,
            (true, Some(false)) => Axes::Stray,
            (true, None) if alone => Axes::Stray,
            (true, _) => Axes::More,
            (false, _) => Axes::Varied,
        }
    }

    fn head_as_meant(&mut self, at: usize, text: &str, told: Span) -> Option<(String, usize)> {
        let mut broken = Vec::new();
        let meant = heads::meant(self.text, at, text, told, &mut broken);
        self.broken.extend(broken);
        meant
    }

    /// `vary` and the lines with it, without the step around them, which was told: the step that they are, and how many lines after the
    /// first one belong to it.
    pub(super) fn headless_step<T>(
        &mut self,
        block: Block,
        lines: &[Pair<'a, Rule>],
        read: &impl for<'x, 'y> Fn(&mut Builder<'x, 'y>, Pair<'x, Rule>) -> Option<T>,
    ) -> Option<(usize, T)> {
        let of =
            |p: &Pair<'a, Rule>, word: &str| p.as_rule() == Rule::bad_line && first_word(p.as_str()) == word;
        let first =
            lines.first().filter(|p| matches!(block, Block::Study | Block::Track) && of(p, "vary"))?;
        let more = lines[1..].iter().take_while(|p| of(p, "pick")).count();
        let (start, last) = (first.as_span().start(), lines[more].as_span());
        let end = start + self.text[start..last.end()].trim_end().len();
        let at = self.base + start;
        let head = heads::instead(self.text, at, "step", &mut Vec::new())?;
        let base = at.checked_sub(head.len())?;
        let text = format!("{head}{}\n}}", &self.text[start..end]);
        let line = Grammar::parse(block.rule(), &text).ok()?.next()?.into_inner().next()?;
        let mut builder = Builder::new(self.id, &text, base, self.sink).beginning(at).ending(self.base + end);
        let found = read(&mut builder, line);
        let broken = builder.into_broken();
        self.broken.extend(broken);
        found.map(|found| (more, found))
    }

    /// A line of flags that was told to be wrong in how two of them stand together, with all of them in their places; what is wrong
    /// between others is told too.
    fn flags_of_a_bad_line(&mut self, at: usize, text: &str) -> Option<String> {
        const MOST: usize = 16;
        let mut line = text.to_owned();
        for _ in 0..MOST {
            line = reread::flags_apart(self.sink.found().last()?, at, &line)?;
            if Grammar::parse(Rule::only_engine_line, &line).is_ok() {
                return Some(line);
            }
            let next = lexical::mistake(self.id, at, &line).filter(|d| d.code == Code::SpacedFlag)?;
            self.sink.push(next);
        }
        None
    }

    /// A step that starts from one whose name is none, which was said where that one stands.
    pub(super) fn behind_a_bad_name<T>(
        &mut self,
        block: Block,
        pair: &Pair<'a, Rule>,
        read: &impl for<'x, 'y> Fn(&mut Builder<'x, 'y>, Pair<'x, Rule>) -> Option<T>,
    ) -> Option<T> {
        let text = pair.as_str().trim_end();
        let at = self.base + pair.as_span().start();
        heads::starts_from(text).filter(|from| self.broken.contains(*from))?;
        let (text, base) = self.head_as_meant(at, text, Span::new(self.id, at..at))?;
        self.mended(block, at, (&text, base), None, read)
    }

    /// A line of a block that was mended, and where its text begins, so that what was not is in its place; and the place that was.
    fn mended<T>(
        &mut self,
        block: Block,
        at: usize,
        (text, base): (&str, usize),
        place: Option<Span>,
        read: &impl for<'x, 'y> Fn(&mut Builder<'x, 'y>, Pair<'x, Rule>) -> Option<T>,
    ) -> Option<T> {
        let line = Grammar::parse(block.rule(), text).ok()?.next()?.into_inner().next()?;
        let mut builder = Builder::new(self.id, text, base, self.sink).beginning(at).ending(self.ends);
        if let Some(place) = place {
            builder = builder.standing_in(place);
        }
        let found = read(&mut builder, line);
        self.unread_flags.append(&mut builder.unread_flags);
        let broken = builder.into_broken();
        self.broken.extend(broken);
        found
    }

    /// A bad line that was torn from the one before or after it: how many lines after it are read with it, and the settings.
    pub(super) fn torn(
        &mut self,
        block: Block,
        lines: &[Pair<'a, Rule>],
        at: usize,
    ) -> Option<(usize, Vec<&'static str>)> {
        let place = |p: &Pair<'_, Rule>| {
            let s = p.as_span();
            (s.start(), s.start() + s.as_str().trim_end().len())
        };
        let (id, base, text) = (self.id, self.base, self.text);
        if self.sink.is_full() {
            return None;
        }
        let bad: Vec<_> = lines[at..]
            .iter()
            .take_while(|p| p.as_rule() == Rule::bad_line)
            .take(joins::MOST_LINES)
            .map(place)
            .collect();
        let good = at.checked_sub(1).map(|b| &lines[b]).filter(|p| p.as_rule() != Rule::bad_line);
        let before = || joins::before(id, block.rule(), base, text, place(good?), bad[0]).map(|d| (0, d));
        let (more, found) = joins::following(id, block.rule(), base, text, &bad).or_else(before)?;
        self.sink.push(found);
        let lost = &text[bad[0].0..bad[more].1];
        // a value without its word, `256 .. 1Ki`, may be that of any setting
        let unnamed = block == Block::Profile && lost.starts_with(|c: char| c.is_ascii_digit());
        let settings =
            if unnamed { words::PROFILE_SETTINGS.to_vec() } else { bad_lines::settings_named(block, lost) };
        Some((more, settings))
    }
}

/// Whether a file has or imports an axis of a name, or nearly so.
fn names_an_axis(file: &str, word: &str) -> bool {
    let near = |name: &str| name == word || did_you_mean(word, [name]).is_some();
    let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let declared =
        |line: &str| line.strip_prefix("axis ").is_some_and(|rest| near(first_word(rest.trim_start())));
    let imports = |part: &str| part.split('}').next().unwrap_or_default().split(|c| !in_name(c)).any(near);
    word == "engine"
        || file.lines().any(declared)
        || file
            .match_indices("use ")
            .filter(|(at, _)| file[..*at].ends_with('\n') || *at == 0)
            .any(|(at, _)| imports(&file[at..]))
}

/// `vary axis because "…"` without the reason, all else in its place: it says nothing of what is varied.
fn without_reason(block: Block, at: usize, text: &str, told: Span) -> Option<String> {
    let from = (told.start as usize).checked_sub(at)?;
    let reason = text.get(from..)?;
    let varied = block == Block::Step && text.starts_with("vary ") && first_word(reason) == "because";
    varied.then(|| format!("{}{}", &text[..from], " ".repeat(reason.len())))
}

/// A step whose guard cannot be read, without it, all else in its place: what it varies is known.
fn without_guard(block: Block, text: &str) -> Option<String> {
    let head = &text[..text.find('{')?];
    let is_text = |at: usize| head[..at].matches('"').count() % 2 == 1;
    let guard = head.match_indices(" when ").map(|(at, _)| at).find(|at| !is_text(*at));
    let guard = guard.filter(|_| matches!(block, Block::Study | Block::Track))?;
    // a quote without its other half may end where none can tell
    let plain = first_word(text) == "step" && !is_text(head.len()) && !head.contains('\n');
    plain.then(|| format!("{}{}{}", &head[..guard], " ".repeat(head.len() - guard), &text[head.len()..]))
}
