//! What goes with a name that is taken out of a `use`: its comma, or all of a `use` that names nothing else. People's comments stay where
//! they are, so where one would be lost or come to stand at another name, a machine leaves it to them.

use crate::lang::comments::start_of_comment;
use crate::lang::source::{FileId, Span};
use crate::lang::syntax::ast::Use;

/// The place to be emptied, in the text that holds the `use`; `None` where a comment is in the way.
pub fn of_import(text: &str, u: &Use, index: usize) -> Option<Span> {
    let at = u.names[index].span;
    let gone = match (u.names.get(index + 1), index.checked_sub(1).and_then(|i| u.names.get(i))) {
        (Some(next), _) => Span { end: next.span.start, ..at },
        (None, Some(before)) => Span { start: before.span.end, ..at },
        (None, None) => whole_line(text, u.span),
    };
    // names have no `#` in them
    let has_comment = |from: u32, to: usize| text.get(from as usize..to).is_none_or(|t| t.contains('#'));
    let alone = u.names.len() == 1;
    let one_line = !text.get(u.span.range())?.contains('\n');
    let rest = text[gone.end as usize..].find('\n').map_or(text.len(), |n| gone.end as usize + n);
    let behind = if one_line && !alone { gone.end as usize } else { rest };
    (!has_comment(gone.start, behind)).then_some(gone)
}

/// The comma behind which a list of the checked file has no further name: `confirm on chat,` at the end of a block, `engine[a, ]`. A
/// `use` that goes on over lines ends so as well, and lacks nothing.
pub fn list_without_end(text: &str) -> Option<Span> {
    let mut at = 0;
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let start = at;
        at += line.len();
        let named = || LISTS.contains(&line.split_whitespace().next().unwrap_or_default());
        if !line.contains(',') || !named() {
            continue;
        }
        let code = line[..start_of_comment(line).unwrap_or(line.len())].trim_end();
        let place = |comma: usize| Some(Span::new(FileId::default(), start + comma..start + comma + 1));
        let begun = || code.matches(['{', '[', '(']).count() > code.matches(['}', ']', ')']).count();
        let next = || lines.clone().find(|l| !l.trim().is_empty());
        let ends = || next().is_some_and(|l| l.trim_start().starts_with('}'));
        if code.ends_with(',') && !begun() && ends() {
            return place(code.len() - 1);
        }
        let within = code.match_indices(',').find(|(n, _)| code[n + 1..].trim_start().starts_with(']'));
        if let Some((comma, _)) = within {
            return place(comma);
        }
    }
    None
}

/// Lines that list what they name.
const LISTS: [&str; 9] =
    ["maximize", "minimize", "require", "confirm", "curve", "vary", "step", "pick", "axis"];

/// With its line end, where nothing else stands on the line.
fn whole_line(text: &str, span: Span) -> Span {
    let starts = span.before_in(text).chars().next_back().is_none_or(|c| c == '\n');
    let rest = span.behind_in(text);
    let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r']).len();
    let ends = rest[blank..].starts_with('\n');
    if starts && ends { Span { end: span.end + blank as u32 + 1, ..span } } else { span }
}

#[cfg(test)]
mod tests {
    use crate::lang::source::NoFiles;
    use crate::lang::{analyze, fix};

    const REST: &str = "use std/profiles { chat }
engine a = vllm { version \"0.17.1\" }
axis q = --max-num-seqs=[64, 128]
study s {
    model \"y\"
    baseline a
    maximize total_tps on chat
    repeat 1
    step one { vary q }
}
";

    fn mended(import: &str) -> String {
        let text = format!("{import}{REST}");
        let mended = fix::mend(&text, &|t| analyze(&NoFiles, "test.plab", t)).text;
        mended.strip_suffix(REST).expect("the rest is right").to_owned()
    }

    #[test]
    fn a_name_goes_with_its_comma() {
        assert_eq!(mended("use std/engines { vllm, sglang }\n"), "use std/engines { vllm }\n");
        assert_eq!(
            mended("use std/engines { sglang, vllm }  # both\n"),
            "use std/engines { vllm }  # both\n"
        );
        assert_eq!(
            mended("use std/engines {\n    vllm,\n    sglang,\n}\n"),
            "use std/engines {\n    vllm,\n}\n"
        );
        let vllm = "use std/engines { vllm }\n";
        assert_eq!(mended(&format!("use std/metrics {{ per_gpu }}\n{vllm}")), vllm);
    }

    #[test]
    fn comments_neither_go_nor_change_their_place() {
        for import in [
            "use std/engines {\n    vllm,  # runs\n    sglang,  # next\n}\n",
            "use std/engines {\n    vllm,\n    sglang  # next\n}\n",
            "use std/engines {\n    sglang,  # next\n    vllm\n}\n",
            "use std/metrics { per_gpu }  # later\nuse std/engines { vllm }\n",
        ] {
            assert_eq!(mended(import), import);
        }
    }
}
