//! Variables that an engine has a family for (`VLLM_…`) and does not read, in the releases that the file is about. A doubt only, as a plug-in
//! may read one of its own.

use super::check::Checker;
use super::versions::compare_versions;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, nearest};
use crate::lang::syntax::ast::{Engine, EngineLineKind as Line, Item, Name, Single, Text};

/// Variables of one engine whose names begin alike.
struct Family<'a> {
    engine: &'a Engine,
    prefix: &'a str,
    since: Option<&'a Text>,
    until: Option<&'a Text>,
    names: &'a [Single],
}

impl Family<'_> {
    fn reads(&self, name: &str) -> bool {
        // one that begins otherwise was told where it is listed, and may be meant
        let listed = |n: &Single| {
            n.text == name || !n.text.starts_with(self.prefix) && is_meant(&n.text, name, self.prefix)
        };
        self.names.iter().any(listed)
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

    /// Names of a list that begin otherwise than it says: they belong to no family. Where none begins so and all begin alike, it is the
    /// prefix that is wrong.
    pub(super) fn of_no_family(&mut self, prefix: &Text, names: &[Single]) {
        if let Some(right) = shared_beginning(names).filter(|right| !right.starts_with(&prefix.value)) {
            let message = format!("none of these variables begins with `{}`", prefix.value);
            let d = Diagnostic::new(Code::EngineSetting, prefix.span, message);
            let slip = !nearest(right, [prefix.value.as_str()]).is_empty();
            let d = if slip {
                d.suggest(right).edit(prefix.span, format!("\"{right}\""))
            } else {
                d.label("of another family")
            };
            return self.sink.push(d.help(format!("write `\"{right}\"`, with which all of them begin")));
        }
        for name in names.iter().filter(|n| !n.text.starts_with(&prefix.value)) {
            let message = format!("`{}` does not begin with `{}`", name.text, prefix.value);
            let d = Diagnostic::new(Code::EngineSetting, name.span, message);
            let right = begun_rightly(&name.text, &prefix.value);
            let d = match right.filter(|right| names.iter().all(|n| n.text != *right)) {
                Some(right) => d.suggest(&right).edit(name.span, right),
                None => d.label("of another family"),
            };
            self.sink.push(d.help("list variables that begin so, others in a `variables` line of their own"));
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
                    found.push(Family {
                        engine,
                        prefix: &prefix.value,
                        since: since.as_ref(),
                        until: until.as_ref(),
                        names,
                    });
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

/// What several names begin with, up to the first `_`.
fn shared_beginning(names: &[Single]) -> Option<&str> {
    let (first, others) = names.split_first().filter(|(_, others)| !others.is_empty())?;
    let begin = &first.text[..=first.text.find('_')?];
    others.iter().all(|n| n.text.starts_with(begin)).then_some(begin)
}

/// `YM_LOG` among those that begin with `MY_`, as it was meant.
fn begun_rightly(name: &str, prefix: &str) -> Option<String> {
    let parts = prefix.matches('_').count();
    let (end, _) = name.match_indices('_').nth(parts.checked_sub(1)?)?;
    let (begin, rest) = name.split_at(end + 1);
    // of one letter each slip is as near to many others
    let slip = begin != prefix
        && prefix.len() > 2
        && prefix.ends_with('_')
        && strsim::damerau_levenshtein(begin, prefix) <= 1;
    slip.then(|| format!("{prefix}{rest}"))
}

/// Whether a listed name that does not begin with the prefix may stand for one that does: `TWO`, `F_TWO` or `ETWO` for `E_TWO`.
fn is_meant(listed: &str, name: &str, prefix: &str) -> bool {
    let rest = name.strip_prefix(prefix).filter(|rest| !rest.is_empty());
    let ends =
        |rest: &str| listed.strip_suffix(rest).is_some_and(|begin| begin.is_empty() || begin.ends_with('_'));
    rest.is_some_and(ends) || !nearest(listed, [name]).is_empty()
}

/// Levels of engines that derive from each other, in real files two or three.
const MOST_GENERATIONS: usize = 8;
