//! Variables that an engine has a family for (`VLLM_…`) and does not read, in the releases that the file is about. A doubt only, as a plug-in
//! may read one of its own.

use super::check::Checker;
use super::versions::compare_versions;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic};
use crate::lang::syntax::ast::{Engine, EngineLineKind as Line, Item, Name, Single, Text};

/// Variables of one engine whose names begin alike.
struct Family<'a> {
    engine: &'a Engine,
    since: Option<&'a Text>,
    until: Option<&'a Text>,
    names: &'a [Single],
}

impl Family<'_> {
    fn reads(&self, name: &str) -> bool {
        self.names.iter().any(|n| n.text == name)
    }

    /// Whether it holds for a release; for none that is known it may.
    fn holds_for(&self, version: Option<&str>) -> bool {
        let Some(version) = version else { return true };
        let from = self.since.is_none_or(|s| compare_versions(version, &s.value).is_ge());
        from && self.until.is_none_or(|u| compare_versions(version, &u.value).is_lt())
    }
}

impl Checker<'_> {
    /// Says so of a variable that no engine of its family reads here.
    pub(super) fn unread(&mut self, name: &Name) {
        let families = self.families(&name.value);
        let Some(first) = families.first() else { return };
        let versions = self.versions_of(first.engine);
        let reads = |f: &&Family| f.reads(&name.value);
        if versions.iter().any(|v| families.iter().filter(reads).any(|f| f.holds_for(*v))) {
            return;
        }
        let title = first.engine.title.as_ref().map_or(&first.engine.name.value, |t| &t.value);
        let release =
            if let [Some(version)] = versions.as_slice() { format!(" {version}") } else { String::new() };
        let message = format!("{title}{release} is not known to read `{}`", name.value);
        let about = About::Variable(name.value.clone());
        let d = Diagnostic::new(Code::UnknownVariable, name.span, message).about(about);
        let d = if families.iter().any(|f| f.reads(&name.value)) {
            let help = "a variable that nothing reads changes nothing: look for a flag in its place, or take another release";
            d.label("of other releases").help(help)
        } else {
            let holds = |f: &&Family| versions.iter().any(|v| f.holds_for(*v));
            let known = families.iter().filter(holds).flat_map(|f| f.names).map(|n| n.text.as_str());
            let help = "a variable that nothing reads changes nothing: mend the name; a plug-in may read one of its own";
            d.meant(&name.value, known, "not among those that it reads", str::to_owned).help(help)
        };
        if !self.said_in_axis(d.code, name) {
            self.sink.push(d);
        }
    }

    fn engines_declared(&self) -> impl Iterator<Item = &Engine> {
        let items = self.modules.all.iter().flat_map(|m| &m.file.items);
        items.filter_map(|i| if let Item::Engine(e) = i { Some(e) } else { None })
    }

    /// The families that a name belongs to.
    fn families(&self, name: &str) -> Vec<Family<'_>> {
        let mut found = Vec::new();
        for engine in self.engines_declared() {
            for line in &engine.lines {
                let Line::Variables { prefix, since, until, names } = &line.kind else { continue };
                if name.starts_with(&prefix.value) {
                    found.push(Family { engine, since: since.as_ref(), until: until.as_ref(), names });
                }
            }
        }
        found
    }

    /// The releases of an engine that the file is about; `None` for one that is not stated, or that nobody has read.
    fn versions_of(&self, root: &Engine) -> Vec<Option<&str>> {
        let read =
            root.lines.iter().find_map(|l| if let Line::Versions(all) = &l.kind { Some(all) } else { None });
        let is_read = |v: &&Text| {
            read.is_some_and(|all| all.iter().any(|r| compare_versions(&r.value, &v.value).is_eq()))
        };
        let mut heirs = vec![root.name.value.as_str()];
        let mut versions = Vec::new();
        // each may derive from one that stands behind it
        for _ in 0..MOST_GENERATIONS {
            let before = heirs.len();
            for engine in self.engines_declared() {
                let derives = engine.parent.as_ref().is_some_and(|p| heirs.contains(&p.value.as_str()));
                if !derives || heirs.contains(&engine.name.value.as_str()) {
                    continue;
                }
                heirs.push(&engine.name.value);
                let stated = engine
                    .lines
                    .iter()
                    .find_map(|l| if let Line::Version(v) = &l.kind { Some(v) } else { None });
                versions.extend(stated.map(|v| Some(v).filter(is_read).map(|v| v.value.as_str())));
            }
            if heirs.len() == before {
                break;
            }
        }
        if versions.is_empty() { vec![None] } else { versions }
    }
}

/// Levels of engines that derive from each other, in real files two or three.
const MOST_GENERATIONS: usize = 8;
