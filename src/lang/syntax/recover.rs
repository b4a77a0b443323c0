//! The second look: a chunk that no rule took is explained, alone, by what its first word and its characters suggest.

use super::ast::Item;
use super::bad_lines::shown_len;
use super::blocks::first_word;
use super::brackets::{Doubled, bracket, open_head, unbalanced};
use super::expected::by_rule;
use super::grammar::Rule;
use super::lexical::{self, Piece};
use super::nesting::code;
use super::reread::{closed, opened, renamed, reread, reread_within, without_block};
use super::unread_points::other_points;
use super::within::{axis, first_line, within};
use super::{
    colon_blocks, glued, habits, headless, heads, imports, joins, loops, names, rename, versioned, words,
};
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, Sink, did_you_mean, one_of, short};
use crate::lang::invisible;
use crate::lang::source::{FileId, Span};

/// What the second look made of a bad declaration.
pub struct Recovered {
    pub item: Option<Item>,
    pub broken: Vec<String>,
}

/// Explains a bad declaration, and reads it all the same where only its last bracket is missing.
pub fn item(id: FileId, file: &str, span: Span, sink: &mut Sink) -> Recovered {
    let (base, text) = (span.start as usize, &file[span.range()]);
    let indent = text.len() - text.trim_start().len();
    let Some(brace) = open_below_its_head(text, indent) else {
        return closed_item(id, file, (base, text, span), sink);
    };
    // what is wrong with its first line may hide that it is not closed
    let mut own = Sink::default();
    let mut out = closed_item(id, file, (base, text, span), &mut own);
    let open = bracket(id, base + brace, Piece::Open(b'{'));
    let told = own.found().find(|d| d.code == open.code && d.span == open.span).cloned();
    if told.is_none() || out.item.is_none() {
        let mut whole = Sink::default();
        let closed = closed_item(id, file, (base, &format!("{text}\n}}"), span), &mut whole);
        // that it is not closed may in turn hide what is wrong with its first line
        if told.is_none() || closed.item.is_some() {
            out = closed;
            // the brace that stands in is in no place of the file
            whole.forget(|d| d.span.end > span.end);
            whole.push(told.unwrap_or(open));
            own = whole;
        }
    }
    sink.take_over(own);
    out
}

/// The brace at the end of a first line that is never closed, above lines of its block.
fn open_below_its_head(text: &str, indent: usize) -> Option<usize> {
    let line = text[indent..].lines().next()?;
    let brace = indent + code(line).strip_suffix('{')?.len();
    let below =
        text[indent + line.len()..].lines().any(|l| l.starts_with([' ', '\t']) && !l.trim().is_empty());
    (below && unbalanced(text) == Some((brace, Piece::Open(b'{')))).then_some(brace)
}

/// The same of one that is closed, or of which that it is not is told as the rest of it is.
fn closed_item(
    id: FileId,
    file: &str,
    (base, text, span): (usize, &str, Span),
    sink: &mut Sink,
) -> Recovered {
    let indent = text.len() - text.trim_start().len();
    let word = first_word(&text[indent..]);
    let mut out = Recovered { item: None, broken: declared_name(text).collect() };
    if let Some(found) = lexical::invisible(id, base, text) {
        let seen: String = text.chars().filter(|c| invisible::name(*c).is_none()).collect();
        let seen = seen.replace(|c| invisible::space(c).is_some(), " ");
        out.broken.extend(declared_name(&seen));
        sink.push(found);
        return out;
    }
    if imports::is_meant(word, &text[indent..]) {
        sink.push(imports::of_another_language(id, base + indent, &text[indent..], word));
        out.item = imports::elsewhere_as_meant(id, base + indent, &text[indent..], word).map(Item::Use);
        if out.item.is_none() {
            out.broken.extend(imports::names(text));
        }
        return out;
    }
    if !words::DECLARATIONS.contains(&word) {
        return undeclared(id, file, (base, indent), text, sink, out);
    }
    if let Some(item) = miscalled(id, (base + indent, &text[indent..]), sink, &mut out.broken) {
        out.item = Some(item);
        return out;
    }
    if word == "use" {
        out.broken.extend(imports::names(text));
        out.broken.extend(imports::left_out(text));
    }
    if let Some((found, mended)) = names::behind_its_sign(id, base + indent, &text[indent..]) {
        sink.push(found);
        let mended = format!("{}{mended}", &text[..indent]);
        out.item = reread(id, &mended, base, sink, &mut out.broken);
        if out.item.is_none() {
            let found = lexical::mistake(id, base, &mended)
                .unwrap_or_else(|| by_rule(id, Rule::only_item, &mended, base, &[]));
            out.broken.extend(declared_name(&mended));
            out.item = other_points(id, &mended, base, found, sink, &mut out.broken);
        }
        return out;
    }
    // `axis axis mode = …`, `axis = …`
    let behind = text[indent + word.len()..].trim_start();
    if first_word(behind) == word {
        out.broken.extend(declared_name(behind));
    } else if !matches!(word, "use" | "study" | "site") && behind.starts_with(['=', '{', ':']) {
        out.broken.push(imports::any_of(word));
    }
    if let Some(found) = bad_name(id, file, base, &text[indent..], indent) {
        out.broken.push(file[found.span.range()].to_owned());
        // it is used as it should be called, too
        out.broken.extend(found.edits.iter().map(|e| e.text.clone()));
        out.item = heads::told(id, file, (base + indent, &text[indent..]), found, sink, &mut out.broken);
        return out;
    }
    if let Some(found) = names::missing(id, base + indent, &text[indent..]) {
        // which name was to stand there, nobody knows: none that is not declared is a mistake for sure; a study's is used nowhere
        if word != "study" && found.edits.is_empty() {
            out.broken.push(imports::any_of(word));
        }
        let named: Vec<String> = found.edits.iter().map(|e| first_word(&e.text).to_owned()).collect();
        out.item = heads::told(id, file, (base + indent, &text[indent..]), found, sink, &mut out.broken);
        if out.item.is_none() {
            out.broken.extend(named);
        }
        return out;
    }
    let whole = versioned::engine(id, base + indent, &text[indent..], sink, &mut out.broken)
        .or_else(|| colon_blocks::read(id, base + indent, &text[indent..], sink, &mut out.broken));
    if whole.is_some() {
        out.item = whole;
        return out;
    }
    let whole = joins::head(id, base, text)
        .or_else(|| Doubled::find(text).map(|d| (d.diagnostic(id, base), d.without(text))));
    if let Some((found, text)) = whole {
        sink.push(found);
        out.item = reread(id, &text, base, sink, &mut out.broken);
        return out;
    }
    if let Some(found) = torn_head(id, base + indent, &text[indent..]) {
        // its title takes the brace along, which is none that is missing
        out.item = heads::told(id, file, (base + indent, &text[indent..]), found, sink, &mut out.broken);
        if out.item.is_some() {
            return out;
        }
    }
    // what is wrong below the first line of a block is wrong with a line of it
    let own =
        if matches!(word, "engine" | "profile" | "study" | "site") { first_line(text, indent) } else { text };
    let in_a_line = |(at, piece): &(usize, Piece)| {
        *at >= own.len() && matches!(piece, Piece::Open(b'(' | b'[') | Piece::Close(b')' | b']'))
    };
    let lone = match unbalanced(text) {
        // the one of a line is told of with it, once the block around has an end
        Some(lone) if in_a_line(&lone) => open_head(text),
        lone => lone,
    };
    if let Some(lone) = lone {
        return of_bracket(id, file, span, lone, sink, out);
    }
    within(id, (file, base), (text, indent, own), sink, out)
}

/// A block under the keyword of something else, read as what it is.
fn miscalled(
    id: FileId,
    (at, text): (usize, &str),
    sink: &mut Sink,
    broken: &mut Vec<String>,
) -> Option<Item> {
    let found = headless::of_another_kind(id, at, text, headless::miscalled(text)?)?;
    let (mended, base) = renamed(&found, at, text, words::DECLARATIONS)?;
    sink.push(found);
    reread_within(at..usize::MAX, id, &mended, base, sink, broken)
}

/// A declaration with a bracket of its own that has no other.
fn of_bracket(
    id: FileId,
    file: &str,
    span: Span,
    (at, piece): (usize, Piece),
    sink: &mut Sink,
    mut out: Recovered,
) -> Recovered {
    let (base, text) = (span.start as usize, &file[span.range()]);
    let indent = text.len() - text.trim_start().len();
    let headless =
        if matches!(piece, Piece::Close(b'}')) { names::without_brace(id, base, text, indent) } else { None };
    let lacks_brace = headless.as_ref().is_some_and(|d| d.code == Code::Unexpected);
    let lone = headless.is_none();
    let of_loop = loops::opens(text, at)
        .map(|word| loops::told(id, Code::UnknownSetting, base + word, &text[word..at]));
    sink.push(headless.or(of_loop).unwrap_or_else(|| bracket(id, base + at, piece)));
    if lone {
        unclosed_beside(id, base, text, at, sink);
    }
    if lacks_brace {
        out.item = opened(text, indent).and_then(|t| reread(id, &t, base, sink, &mut out.broken));
    }
    // a head alone, as where it stands twice, is nothing to be held against
    let empty = text[at + 1..].trim().is_empty();
    let heads = text.trim_start().find('{').map(|n| n + indent) == Some(at);
    if matches!(piece, Piece::Open(b'{')) && heads && !empty {
        out.item = closed(id, file, span, sink, &mut out.broken)
            .or_else(|| points_of_open_axis(id, text, span, sink, &mut out.broken));
    } else if matches!(piece, Piece::Open(b'{')) && !empty {
        out.item = without_block(id, text, at, base, sink, &mut out.broken);
    }
    out
}

/// An axis whose brace is not closed, with what is wrong with some of its points, where others are as they should be.
fn points_of_open_axis(
    id: FileId,
    text: &str,
    span: Span,
    sink: &mut Sink,
    broken: &mut Vec<String>,
) -> Option<Item> {
    let mut own = Sink::default();
    let item = axis(id, &format!("{text}\n}}"), span.start as usize, &mut own, broken)?;
    // the brace that stands in is in no place of the file
    own.forget(|d| d.span.end > span.end);
    sink.take_over(own);
    Some(item)
}

/// The first line of a block whose title is not closed.
fn torn_head(id: FileId, at: usize, text: &str) -> Option<Diagnostic> {
    let line = text.lines().next()?.trim_end();
    let quote = lexical::unclosed_text(line).filter(|_| line.ends_with('{'))?;
    let found = lexical::mistake(id, at + quote, &line[quote..])?;
    (found.code == Code::UnclosedString).then_some(found)
}

/// A quote that is missing in the line of a bracket that is missing too.
fn unclosed_beside(id: FileId, base: usize, text: &str, at: usize, sink: &mut Sink) {
    let start = text[..at].rfind('\n').map_or(0, |n| n + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let found = lexical::unclosed_text(line)
        .and_then(|quote| lexical::mistake(id, base + start + quote, &line[quote..]));
    if let Some(found) = found.filter(|d| d.code == Code::UnclosedString) {
        sink.push(found);
    }
}

/// What begins with no word of a declaration, read all the same where one was meant.
fn undeclared(
    id: FileId,
    file: &str,
    (base, indent): (usize, usize),
    text: &str,
    sink: &mut Sink,
    mut out: Recovered,
) -> Recovered {
    let word = first_word(&text[indent..]);
    let at = base + indent;
    let found = joins::behind_axis(id, file, at, &text[indent..])
        .or_else(|| glued::declaration(id, (file, at), &text[indent..]));
    if found.is_none()
        && let Some(read) = headless::without_head(id, file, at, &text[indent..], sink)
    {
        out.broken = read.broken;
        out.broken.push(word.to_owned());
        out.broken.extend(read.unnamed.map(imports::any_of));
        return Recovered { item: read.item, ..out };
    }
    if loops::is_one(&text[indent..]) {
        sink.push(loops::told(id, Code::NotADeclaration, at, &text[indent..]));
        return out;
    }
    let lost = names::lacks_keyword(text[indent..].lines().next().unwrap_or_default());
    // `steady "Steady" {` above lines of a profile is no study
    let holds = headless::holds(&text[indent..]);
    let near = did_you_mean(word, words::DECLARATIONS.iter().copied())
        .filter(|near| !lost && holds.is_none_or(|kind| kind == *near));
    let keyword = || headless::keyword(id, at, &text[indent..], None).filter(|_| near.is_none());
    let found = found.or_else(keyword);
    let found = found.unwrap_or_else(|| no_declaration(id, (file, at), &text[indent..], word));
    let meant = renamed(&found, at, &text[indent..], words::DECLARATIONS);
    out.broken.extend(joins::given_back(&found).map(str::to_owned));
    sink.push(found);
    if let Some((text, base)) = meant {
        let mut broken = Vec::new();
        let read = reread_within(at..usize::MAX, id, &text, base, sink, &mut broken);
        if let Some(item) = read.or_else(|| axis(id, &text, base, sink, &mut broken)) {
            return Recovered { item: Some(item), broken };
        }
    }
    if ["std/", "usestd/"].iter().any(|path| text[indent..].starts_with(path)) {
        out.broken.extend(imports::names(text));
    }
    out.broken.push(word.to_owned());
    out.broken.extend(text[indent..].lines().next().and_then(names::set_elsewhere).map(str::to_owned));
    // the head of its block is gone, and with it a name
    out.broken.extend(names::lost_above(word));
    if did_you_mean(word, words::DECLARATIONS.iter().copied()) == Some("use") {
        out.broken.extend(imports::names(text));
    }
    out
}

/// A declaration whose name is none: `axis Seqs`, `axis max-seqs`, `axis not`.
fn bad_name(id: FileId, file: &str, base: usize, text: &str, indent: usize) -> Option<Diagnostic> {
    let (keyword, rest) = text.split_once([' ', '\t'])?;
    let blank = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let name =
        rest[blank..].split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))).next()?;
    let snake = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let right = name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(snake);
    let reserved = words::RESERVED.contains(&name);
    let declares = words::DECLARATIONS.contains(&keyword) && keyword != "use";
    if !declares || name.is_empty() || name.starts_with('-') || right && !reserved {
        return None;
    }
    let at = base + indent + keyword.len() + 1 + blank;
    let span = Span::new(id, at..at + name.len());
    let better = name.to_ascii_lowercase().replace(['-', '.'], "_");
    let better = rename::as_used(file, keyword, name, &better).map_or(better, str::to_owned);
    let d = Diagnostic::new(Code::Unexpected, span, format!("`{name}` is no name"));
    let d = d.about(About::NoName);
    if reserved {
        return Some(
            d.label("reserved")
                .help(format!("{} are reserved; choose another name", words::RESERVED.join(", "))),
        );
    }
    if let Some(foreign) = name.chars().find(|c| !c.is_ascii() && !c.is_uppercase()) {
        return Some(rename::foreign_letter(d, file, keyword, name, foreign));
    }
    let d = d.label("names are snake_case");
    Some(if better.starts_with(|c: char| c.is_ascii_lowercase()) && better.chars().all(snake) {
        d.help(format!("write `{better}`")).edit(span, better)
    } else {
        d.help("begin it with a lower-case letter, and use letters, digits and `_`")
    })
}

fn no_declaration(id: FileId, (file, at): (&str, usize), text: &str, word: &str) -> Diagnostic {
    let first_line = text.lines().next().unwrap_or_default();
    let len = shown_len(first_line);
    let span = Span::new(id, at..at + len);
    let shown = &text[..len];
    let message = if matches!(shown, "}" | "]" | ")") {
        return bracket(id, at, Piece::Close(shown.as_bytes()[0]));
    } else {
        format!("`{}` begins no declaration", short(shown))
    };
    let d = Diagnostic::new(Code::NotADeclaration, span, message);
    if ["//", "/*", "-- ", "; ", ";;"].iter().any(|sign| text.starts_with(sign)) {
        let d = d.label("a comment?").help("comments begin with `#`");
        let signs = if text.starts_with("; ") { 1 } else { 2 };
        let sign = Span::new(id, at..at + signs);
        return if text.starts_with("/*") { d } else { d.edit(sign, "#") };
    }
    let known = words::DECLARATIONS.iter().copied();
    let pasted = first_line.trim_start_matches(['+', '-', '>', '|', ' ']);
    if words::DECLARATIONS.contains(&first_word(pasted)) && pasted.len() < first_line.len() {
        let d = d.label("of a diff or a quotation?").help("remove the sign before the declaration");
        return d.edit(Span::new(id, at..at + first_line.len() - pasted.len()), "");
    }
    if let Some((right, help)) = names::meant_to_declare(file, first_line) {
        let d = d.label("expected a declaration").help(help);
        return match right {
            Some(right) => d.edit(Span::new(id, at..at + first_line.trim_end().len()), right),
            None => d,
        };
    }
    if matches!(word, "rule" | "rules") && first_line.contains('"') && first_line.contains(" when ") {
        let keyword = Span::new(id, at..at + word.len());
        return d
            .suggest("prune")
            .help("a rule is declared by `prune NAME \"why\" when …`")
            .edit(keyword, "prune");
    }
    if let Some(help) = habits::leading_operator(first_line) {
        return d.label("expected a declaration").help(help);
    }
    let d = d.meant(word, known, "expected a declaration", str::to_owned);
    d.help(format!("a declaration begins with {}", one_of(words::DECLARATIONS)))
}

/// The name after the keyword, so that its uses are no further mistakes. For `use`, every name in the braces.
pub fn declared_name(text: &str) -> impl Iterator<Item = String> + '_ {
    let mut tokens = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|w| !w.is_empty());
    let names = if tokens.next() == Some("use") { usize::MAX } else { 1 };
    tokens.take(names).map(str::to_owned)
}
