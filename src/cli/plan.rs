//! `perflab plan`: the dry run, over what the journal already holds.

use std::collections::BTreeMap;
use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::args::{PlanArgs, PlanFormat};
use super::console::Console;
use super::{against, exit, files, guess, measure, replay, site, state};
use crate::journal::{self, History, Moved, Running};
use crate::judge::forecast::{Costs, check_pays};
use crate::judge::{Checks, Grid, Setup, Strategy, Walk};
use crate::lang::Program;
use crate::lang::sema::program::Study;
use crate::report::preview::{self, Account, Material, Plan, SideBySide};
use crate::run::elsewhere::{Elsewhere, Measured, Servers};
use crate::run::{Host, Standing, Yard, edited, neighbours};

pub fn run(args: &PlanArgs, console: Console) -> u8 {
    let Some(mut analysis) = files::analysis(&args.file, &args.set, console) else { return exit::INPUT };
    if analysis.has_errors() {
        console.diagnostics(&analysis.diagnostics, &analysis.sources);
        return exit::INPUT;
    }
    if !site::settle(&mut analysis.program, args.site.as_deref(), &args.file, console) {
        return exit::INPUT;
    }
    let program = &analysis.program;
    let Some(study) = files::study(program, args.study.as_deref(), &args.file, console) else {
        return exit::INPUT;
    };
    for n in files::refused(program, study, false) {
        let how = if n.live_only { "can be replayed, not measured yet" } else { "cannot be carried out yet" };
        console.say(&format!("note: {} {how}", n.what));
    }
    for what in site::refused(program) {
        console.say(&format!("note: {what} cannot be carried out yet"));
    }
    let old = match &args.against {
        None => None,
        Some(path) => match against::read(path, &args.file, &args.set, console) {
            Some(old) => Some(old),
            None => return exit::INPUT,
        },
    };
    let Some(old) = old.as_ref().map_or(Some(None), |o| o.study(study, console).map(Some)) else {
        return exit::INPUT;
    };
    let dir = state::directory(&args.file, &study.name, args.dir.as_deref(), false);
    show(args, program, study, old, &dir, console)
}

fn show(
    args: &PlanArgs,
    program: &Program,
    study: &Study,
    old: Option<against::Revision<'_>>,
    dir: &Path,
    console: Console,
) -> u8 {
    let history = match journal::read(&dir.join(journal::FILE), measure::requests(study)) {
        Ok(mut h) => {
            h.for_next_session();
            h
        }
        Err(e) => {
            console.error(&e.to_string(), measure::KEPT_JOURNAL);
            return exit::INPUT;
        }
    };
    for text in Moved::of(&history).not_compared() {
        console.warn(&text);
    }
    // `exec` refuses such a directory: nothing of it is this study's
    let history = match state::of_another(&args.file, &study.name, args.dir.as_deref(), &history) {
        Some(other) => {
            console.warn(&format!("{other}: nothing of it counts here; {}", state::NAMES));
            History::default()
        }
        None => history,
    };
    // a plan is made anywhere: where the study's GPUs are not, nothing measured elsewhere is found
    let simulated = super::site::simulated(program, study);
    let host =
        Host::for_study(study.gpus.as_ref(), simulated).unwrap_or_default().at(program.site.as_deref());
    let images = site::images(program, study, None).unwrap_or_default();
    let checks: Checks = replay::checks(args.checks);
    let (facts, study_dir) = (site::launched(program), measure::study_dir(&args.file));
    let elsewhere = Elsewhere { program, study, site: &facts, study_dir: &study_dir };
    // a plan is made anywhere, and `exec` would refuse to begin here
    if let Some(away) = program.site.as_ref().and_then(|site| site::model_away(program, study, site)) {
        console.say(&format!("note: {away}"));
    }
    let running = running(&elsewhere, &history, console);
    let standing = Standing::new(program, &host, &facts, &study_dir, &images);
    let standing = standing.with_servers(&elsewhere, running.clone());
    let results = standing.results(&history, checks);
    let setup = Setup::new(program, study, &results, checks, false);
    let (walk, next) = Grid.next(&setup);
    let costs = history.costs(guess::of(program, study));
    let mut again = standing.again(&history, checks);
    edited(&history, &setup, &walk, &mut again);
    let price_per_s = program.site.as_ref().and_then(|s| s.price_per_s);
    let spent = crate::run::spent(&history, price_per_s);
    let account = Account { spent: &spent, holds_gpus: !simulated || host.held(1) > 0, price_per_s };
    let mut material = Material::new(&setup, &walk, &next, &costs, &again).spent(account);
    material = material.launched(site::launched_by(program, study));
    let yard = yard(study, &host, simulated, args.parallel);
    if let Some(sides) = sides((&setup, &walk, &costs), &host, &yard, &history) {
        let room = |size: u32| if harms(&host, &yard, &history, size) { 1 } else { yard.room(size) };
        material = material.side_by_side(sides, room, &costs);
    }
    let mut plan = preview::plan(&material);
    plan.whole = args.all;
    if let Some(old) = old {
        let elsewhere = Elsewhere { program: old.program, study: old.study, ..elsewhere };
        let standing = Standing::new(old.program, &host, &facts, &study_dir, &images);
        let results = standing.with_servers(&elsewhere, running).results(&history, checks);
        let before = Setup::new(old.program, old.study, &results, checks, false);
        let (old_walk, _) = Grid.next(&before);
        let new = preview::against::Side { setup: &setup, walk: &walk };
        let was = preview::against::Side { setup: &before, walk: &old_walk };
        plan.against = Some(preview::against::compare(was, new, old.file.to_owned()));
    }
    print(&plan, args.format, console);
    exit::DONE
}

/// What answers at the addresses of servers that run already, where something was measured on them.
fn running(of: &Elsewhere<'_>, history: &History, console: Console) -> BTreeMap<String, Running> {
    let servers = Servers::default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    if let Ok(runtime) = runtime {
        let mut note = |text| console.say(&format!("note: {text}"));
        let cancel = CancellationToken::new();
        let silent = runtime.block_on(servers.ask(of, &Measured::of(history), &cancel, &mut note));
        silent.into_iter().for_each(note);
    }
    servers.known()
}

/// Where launches would run: on the GPUs of this machine, else on those that the study names.
fn yard(study: &Study, host: &Host, simulated: bool, parallel: Option<u32>) -> Yard {
    let parallel = parallel.map(|n| n as usize);
    let elsewhere = study.gpus.as_ref().filter(|_| !simulated && host.gpu_names().is_empty());
    elsewhere.map_or_else(|| Yard::new(host, parallel), |gpus| Yard::imagined(gpus.count, parallel))
}

/// What a plan says of launches side by side, by the size of the baseline.
fn sides(
    (setup, walk, costs): (&Setup<'_>, &Walk, &Costs),
    host: &Host,
    yard: &Yard,
    history: &History,
) -> Option<SideBySide> {
    let (baseline, _) = walk.baseline.as_ref()?;
    let of = neighbours::here(host, yard, baseline.gpus());
    let harmless = neighbours::known(history, &of).map(|verdict| verdict.passed);
    let check = crate::judge::neighbours::launches(of.launches);
    let asked = yard.was_asked() || harmless.is_some() || !history.checked(&of).is_empty();
    let pays = asked || check_pays(setup, walk, costs, baseline, |size| yard.room(size));
    (of.launches > 1).then_some(SideBySide { launches: of.launches, harmless, check, pays })
}

/// Whether launches of a size were seen to disturb each other.
fn harms(host: &Host, yard: &Yard, history: &History, size: u32) -> bool {
    neighbours::known(history, &neighbours::here(host, yard, size)).is_some_and(|verdict| !verdict.passed)
}

fn print(plan: &Plan<'_>, format: PlanFormat, console: Console) {
    match format {
        PlanFormat::Json => console.stream(|out| preview::json(plan, out)),
        PlanFormat::Md => console.print(&preview::markdown(plan)),
        PlanFormat::Mermaid => console.print(&preview::mermaid(plan)),
        PlanFormat::Tree => console.print(&preview::tree(plan, console.stdout_style())),
    }
}
