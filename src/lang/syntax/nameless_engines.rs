//! `engine vllm { … }`, where `vllm` is imported and the block says nothing of how a server is started: the engine that it derives from
//! stands where its own name should. It is read as that, and its name is lost.

use super::ast::{Engine, EngineLineKind, File, Item, Name, UsePath};
use super::heads::UNNAMED;
use super::imports::any_of;
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, Sink};

/// Tells of each such engine. What they are called by elsewhere may be any name: the words that stand for it.
pub(super) fn told(file: &mut File, sink: &mut Sink) -> Vec<String> {
    let taken = |item: &Item| match item {
        Item::Use(taken) if matches!(&taken.from, UsePath::Std(part) if part.value == "engines") => {
            taken.names.iter().map(|n| n.value.clone()).collect()
        }
        _ => Vec::new(),
    };
    let imported: Vec<String> = file.items.iter().flat_map(taken).collect();
    let mut lost = Vec::new();
    for item in &mut file.items {
        let Item::Engine(engine) = item else { continue };
        if !imported.contains(&engine.name.value) || !derives(engine) {
            continue;
        }
        let (span, parent) = (engine.name.span, engine.name.value.clone());
        let title = engine.title.as_ref().map_or_else(String::new, |t| format!(" \"{}\"", t.value));
        let d = Diagnostic::new(
            Code::Unexpected,
            span,
            format!("the engine that derives from `{parent}` has no name"),
        );
        let d = d.label("what it derives from");
        sink.push(
            d.help(format!("a name and `=` stand before it: write `engine NAME{title} = {parent} {{`")),
        );
        engine.name = Name { value: format!("{UNNAMED}{}", span.start), span };
        engine.parent = Some(Name { value: parent, span });
        lost.push(any_of("engine"));
    }
    lost
}

/// Whether it derives from none as it is written, and says nothing that only such an engine has to.
fn derives(engine: &Engine) -> bool {
    let starts =
        |kind: &EngineLineKind| matches!(kind, EngineLineKind::Serve(_) | EngineLineKind::Ready { .. });
    engine.parent.is_none()
        && !engine.unread.contains(&"serve")
        && !engine.lines.iter().any(|l| starts(&l.kind))
}
