//! What only the facts of the machine show of a study: whether a budget in money can be counted, and which release an image is of.

use std::path::Path;

use super::console::Console;
use super::used::Homes;
use super::{files, site};
use crate::lang::codes::Code;
use crate::lang::sema::budgets::unpriced;
use crate::lang::sema::images::of_another_release;
use crate::lang::sema::program::{Site, Via};
use crate::lang::source::Span;
use crate::lang::syntax::SITE_SETTINGS;
use crate::lang::syntax::ast::{Item, SiteLine, SiteLineKind};
use crate::lang::{Analysis, Diagnostic};

/// Adds what is to be said of a study file under the site that holds for it.
pub fn asked(analysis: &mut Analysis, named: Option<&Path>, file: &Path, console: Console) {
    let holds = holds(analysis, named, file, console);
    let found: Vec<_> = match &holds {
        Holds::Unreadable => return,
        Holds::Nothing => uncounted(analysis),
        Holds::Site(site) => {
            let priced = site.price_per_s.is_some();
            images(analysis, site)
                .chain((!priced).then(|| uncounted(analysis)).into_iter().flatten())
                .collect()
        }
    };
    if !found.is_empty() {
        analysis.diagnostics.extend(found);
        analysis.diagnostics.sort_by_key(|d| (d.span.file, d.span.start, d.severity(), d.code));
    }
}

fn uncounted(analysis: &Analysis) -> Vec<Diagnostic> {
    let sites = analysis.modules.root().file.items.iter();
    let mut sites = sites.filter_map(|i| if let Item::Site(s) = i { Some(s) } else { None });
    let holds = |outer: Span, d: &Diagnostic| {
        let at = d.span;
        d.is_error() && at.file == outer.file && outer.range().contains(&(at.start as usize))
    };
    // a price that is wrong, or a line that could not be read, has had its diagnostic
    let said = sites.any(|site| {
        let another = |l: &SiteLine| !matches!(l.kind, SiteLineKind::Price(_));
        // what begins with another word of a site was not to be its price
        let text = analysis.modules.text_of(site.span.file);
        let begins = |d: &Diagnostic| text[d.span.line_in(text).range()].split_whitespace().next();
        let of_another =
            |d: &Diagnostic| begins(d).is_some_and(|w| w != "price" && SITE_SETTINGS.contains(&w));
        // nor what is like none, in which no sum stands
        let of_none = |d: &Diagnostic| {
            let line = &text[d.span.line_in(text).range()];
            let unquoted = || line.split('"').step_by(2);
            let digits = unquoted().any(|part| part.contains(|c: char| c.is_ascii_digit()));
            d.code == Code::UnknownSetting && d.edits.is_empty() && !digits && !line.contains("usd")
        };
        let elsewhere = |d: &Diagnostic| {
            of_another(d) || of_none(d) || site.lines.iter().any(|l| another(l) && holds(l.span, d))
        };
        analysis.diagnostics.iter().any(|d| holds(site.span, d) && !elsewhere(d))
    });
    // the same of lines that stand in no site, as its keyword is lost
    let root = analysis.modules.root().id;
    let text = analysis.modules.root_text();
    let price = |line: &str| line.split(|c: char| !c.is_ascii_alphanumeric()).any(|w| w == "price");
    let headless = |d: &Diagnostic| {
        d.span.file == root && d.code == Code::NotADeclaration && price(&text[d.span.line_in(text).range()])
    };
    if said || analysis.diagnostics.iter().any(headless) {
        return Vec::new();
    }
    analysis.program.studies.iter().flat_map(|s| s.in_money.clone()).map(unpriced).collect()
}

/// The engines of the studies that the site starts from an image of another release.
fn images<'a>(analysis: &'a Analysis, site: &'a Site) -> impl Iterator<Item = Diagnostic> + 'a {
    let (program, mut said) = (&analysis.program, Vec::new());
    let engines = program.studies.iter().flat_map(|study| site::engines(program, study));
    let found = engines.filter_map(|engine| match site.via(engine) {
        Via::Container(boxed) => of_another_release(engine, boxed.image.as_deref()?),
        _ => None,
    });
    // engines inherit their version: its line is told once
    found.filter(move |d| {
        let new = !said.contains(&d.span);
        said.push(d.span);
        new
    })
}

enum Holds {
    Nothing,
    Site(Box<Site>),
    /// it is spoken of where it is checked
    Unreadable,
}

fn holds(analysis: &Analysis, named: Option<&Path>, file: &Path, console: Console) -> Holds {
    let own = analysis.program.site.as_deref().filter(|_| named.is_none_or(|n| n == file));
    if let Some(own) = own {
        return Holds::Site(Box::new(own.clone()));
    }
    let Some(beside) = site::file_for(named, file) else { return Holds::Nothing };
    match files::checked(&beside, &[], &mut Homes::default(), console) {
        Some(read) if !read.has_errors() => {
            read.program.site.map_or(Holds::Nothing, |s| Holds::Site(Box::new((*s).clone())))
        }
        _ => Holds::Unreadable,
    }
}
