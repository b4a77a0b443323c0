//! `perflab exec` against real servers: takes the state directory, runs, reports.

use std::path::{Path, PathBuf};
use std::time::Instant;

use indexmap::IndexMap;

use super::again::Aside;
use super::args::ExecArgs;
use super::console::Console;
use super::notify::{self, Notice};
use super::progress::Progress;
use super::{
    budget, client_test, closing, descriptors, ending, exit, models, only, replay, state, still, threads,
};
use crate::disk;
use crate::engine;
use crate::engine::container::RuntimeError;
use crate::journal::{self, JournalError, Lock, LockError, Owner, Requests, Writer};
use crate::judge::budget::LeftOut;
use crate::judge::{Grid, Setup, Strategy};
use crate::lang::Program;
use crate::lang::sema::program::{Expr, Study};
use crate::report::{self, Material};
use crate::run::elsewhere::Servers;
use crate::run::{self, Execution, Host, Ledger, Signals, Yard, execute};

pub fn run(args: &ExecArgs, program: &Program, study: &Study, file_hash: String, console: Console) -> u8 {
    let began = Instant::now();
    if let Err(e) = threads::suffice() {
        let help = "end what holds them, or raise the limit (`ulimit -u`); the same command goes on";
        console.error(&format!("no threads can be started here: {e}"), help);
        return exit::INCOMPLETE;
    }
    let cut = match only::cut(study, args.only.as_deref(), console) {
        Ok(cut) => cut,
        Err(code) => return code,
    };
    let mut x = match prepare(args, program, (&cut, study), file_hash, began, console) {
        Ok(x) => x,
        Err(Stop::Trouble((message, help))) => {
            console.error(&message, help);
            return exit::INPUT;
        }
        Err(Stop::Said(code)) => return code,
    };
    if let Some(other) = state::report_of_another(&x.dir, &study.name) {
        console.warn(&other);
    }
    match before(args, &x, console) {
        Ok(aside) => carry_out(args, &mut x, &aside, console),
        Err(code) => code,
    }
}

/// What has to be clear before anything is launched or put aside; what is not has been said.
fn before(args: &ExecArgs, x: &Execution<'_>, console: Console) -> Result<Aside, u8> {
    if let Some((message, help)) = budget::trouble(x) {
        console.error(&message, help);
        return Err(exit::INPUT);
    }
    let aside = Aside::of(args, x).map_err(|(message, help)| {
        console.error(&message, &help);
        exit::INPUT
    })?;
    let left = || aside.leaves(x);
    if let Some((message, help)) = only::trouble(x, left, args.only.as_deref()) {
        console.error(&message, &help);
        return Err(exit::INPUT);
    }
    if let Some((message, help)) = budget::no_room(x, &aside) {
        console.error(&message, help);
        return Err(exit::INPUT);
    }
    if budget::consents(x, left, args.yes, console) { Ok(aside) } else { Err(exit::INPUT) }
}

type Trouble = (String, &'static str);

/// Why nothing can be measured.
enum Stop {
    Trouble(Trouble),
    /// it has been said, and this is the exit code
    Said(u8),
}

impl From<Trouble> for Stop {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

fn prepare<'a>(
    args: &'a ExecArgs,
    program: &'a Program,
    (study, whole): (&'a Study, &'a Study),
    file_hash: String,
    began: Instant,
    console: Console,
) -> Result<Execution<'a>, Stop> {
    let simulated = super::site::simulated(program, study);
    let host = Host::for_study(study.gpus.as_ref(), simulated).map_err(|e| (e.to_string(), e.help()))?;
    let mut images =
        super::site::images(program, study, Some(console)).map_err(|e| not_fetched(&e, console))?;
    if args.only.is_some() {
        // what later steps measured in containers still counts; nothing is fetched for it
        images.extend(super::site::images(program, whole, None).unwrap_or_default());
    }
    let host = host.at(program.site.as_deref());
    let dir = state::directory(&args.file, &study.name, args.dir.as_deref(), false);
    state::can_be_said(&study_dir(&args.file), &dir)?;
    for name in profiles(study) {
        let missing =
            program.profiles.get(name).and_then(|p| run::missing_tokenizer(p, &study_dir(&args.file)));
        if let Some(path) = missing {
            let message = format!("profile `{name}`: there is no tokenizer at {}", path.display());
            let help = "name a tokenizer.json, or the directory that holds one, relative to the study file";
            return Err((message, help).into());
        }
        let site = program.site.as_deref().cloned().unwrap_or_default();
        let p = program.profiles.get(name);
        if let Some((message, help)) = p.and_then(|p| run::missing(p, &site, &study_dir(&args.file))) {
            return Err((message, help).into());
        }
    }
    descriptors::raise_limit();
    if let Some(trouble) = descriptors::too_few(program, profiles(study)) {
        return Err(trouble.into());
    }
    let models = models::resolve(program, study, &study_dir(&args.file), !args.no_download, console)
        .map_err(Stop::Said)?;
    let used = profiles(study).filter_map(|name| program.profiles.get(name).map(AsRef::as_ref));
    if let Some((message, help)) = models::unreadable(used, &models, &study_dir(&args.file)) {
        return Err((message, help).into());
    }
    state::make(&dir).map_err(|e| (e, "choose another one with `--dir DIR`"))?;
    // before the lock: what outlives a killed guard must come back to us, not to init
    let _ = engine::adopt_orphans();
    let lock = Lock::take(&dir).map_err(|e| match e {
        LockError::Owned { owner: Owner { guard: true, stopped: true, .. }, .. } => {
            (e.to_string(), "continue it with `kill -CONT PID`: it ends its engine, and then itself")
        }
        LockError::Owned { owner: Owner { guard: true, .. }, .. } => {
            (e.to_string(), "it ends its engine and then itself; run the same command again in a moment")
        }
        LockError::Owned { .. } => {
            (e.to_string(), "wait for it, or stop it; two runs of one study would disturb each other")
        }
        LockError::Io { .. } => (e.to_string(), "choose another state directory with `--dir DIR`"),
    })?;
    disk::sweep_drafts(&dir, |name| state::PLACED.contains(&name));
    let path = dir.join(journal::FILE);
    if state::was_emptied(&path) {
        return Err(
            (format!("{} is empty, and beside it lies what was measured", path.display()), EMPTIED).into()
        );
    }
    if let Some(text) = state::was_removed(&path) {
        console.warn(&text);
    }
    let journal = Writer::open(&path, requests(whole), began).map_err(|e| match e {
        JournalError::Owned { .. } => {
            (e.to_string(), "wait for it, or stop it; two runs of one study would disturb each other")
        }
        _ => (e.to_string(), KEPT_JOURNAL),
    })?;
    if let Some(message) = state::of_another(&args.file, &study.name, args.dir.as_deref(), journal.history())
    {
        return Err((message, state::NAMES).into());
    }
    let site = super::site::launched(program);
    Ok(Execution {
        site,
        images,
        models,
        servers: Servers::default(),
        program,
        study,
        whole: args.only.is_some().then_some(whole),
        checks: replay::checks(args.checks),
        file: args.file.to_str().unwrap_or_default(),
        file_hash,
        study_dir: study_dir(&args.file),
        dir,
        yard: Yard::new(&host, args.parallel.map(|n| n as usize)),
        host,
        lock,
        journal: Ledger::new(journal),
        signals: Signals::default(),
        client: None,
        guess: super::guess::of(program, study),
        budget: args.budget.or(study.budget),
        left_out: LeftOut::default(),
    })
}

/// Why the images of a study are not here.
fn not_fetched(error: &RuntimeError, console: Console) -> Stop {
    let help = match error {
        RuntimeError::Stopped { .. } => {
            console.error("interrupted while an image was fetched", "the same command fetches it again");
            return Stop::Said(exit::INCOMPLETE);
        }
        RuntimeError::Unreachable { .. } => "the same command goes on once it can be reached",
        RuntimeError::NoRoom { .. } => "make room; the same command goes on",
        RuntimeError::Late { .. } => "see that its service runs; the same command goes on",
        RuntimeError::NoImage { .. } => {
            let help = "see that the name of the image is right, and that you may fetch it";
            return (error.to_string(), help).into();
        }
        RuntimeError::Start { .. } | RuntimeError::Refused { .. } => {
            return (error.to_string(), "see that its service runs and that you may use it").into();
        }
    };
    console.error(&error.to_string(), help);
    Stop::Said(exit::INCOMPLETE)
}

/// Every profile that the study measures.
fn profiles(study: &Study) -> impl Iterator<Item = &String> {
    let elsewhere = study.require.iter().filter_map(|r| r.on.as_ref());
    study.objective.iter().flat_map(|o| &o.profiles).chain(&study.confirm).chain(elsewhere)
}

/// Engines run in the study file's directory.
pub fn study_dir(file: &Path) -> PathBuf {
    let dir = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    dir.canonicalize().unwrap_or_else(|_| dir.to_owned())
}

fn carry_out(args: &ExecArgs, x: &mut Execution<'_>, aside: &Aside, console: Console) -> u8 {
    if budget::is_long(x, || aside.leaves(x)) {
        let named = profiles(x.study).filter_map(|name| x.program.profiles.get(name));
        x.client = client_test::before(x, named.map(AsRef::as_ref), x.yard.client_cores(), console);
    }
    // before there are other threads: they stay where this one is
    x.yard.keep_client_apart();
    let mut progress = match Progress::new(console, args.events.as_deref(), &x.dir) {
        Ok(p) => p,
        Err(e) => {
            console.error(&e, "give another path to `--events`");
            return exit::INPUT;
        }
    };
    let workers = x.yard.workers();
    let runtime =
        match tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build() {
            Ok(r) => r,
            Err(e) => {
                console.error(&format!("no runtime: {e}"), "free some threads or memory");
                return exit::INCOMPLETE;
            }
        };
    // as late as can be: what is put aside is to be measured
    if let Err(e) = aside.put(x) {
        console.error(&e.to_string(), "the journal is as it was; mend it, and say it again");
        return exit::INPUT;
    }
    if let Some(said) = aside.said() {
        console.say(&said);
    }
    let killed = std::sync::Arc::new(std::sync::atomic::AtomicU8::new(0));
    let before = x.journal.history().launches().len();
    let ended = runtime.block_on(async {
        let (first, second) = (progress.notice(), killed.clone());
        x.signals.listen(
            move || first("stopping; once more kills at once"),
            move |code| second.store(code, std::sync::atomic::Ordering::SeqCst),
        );
        execute(x, &mut progress).await
    });
    closing::keep_on(x.signals.first.is_cancelled());
    // prompts that are still being made have no reader any more
    runtime.shutdown_background();
    progress.finish();
    let code = killed.load(std::sync::atomic::Ordering::SeqCst);
    if code != 0 {
        // who kills at once waits for nothing
        progress.ended(code, notify::outcome(code));
        return code;
    }
    let launched = x.journal.history().launches().len() > before;
    let ending = ending::of(args, x, ended, launched);
    let status = ending.status;
    progress.ended(status, notify::outcome(status));
    closing::while_printing(|| (ending.say)(console));
    if let Some(command) = &args.notify {
        let document = ending::document(args, x);
        let recommended = document.recommended.as_ref().filter(|_| args.only.is_none());
        let recommended = recommended.map(report::with_environment);
        let notice =
            Notice { study: &x.study.name, status, dir: &x.dir, recommended: recommended.as_deref() };
        notify::notify(command, &notice, console);
    }
    status
}

/// What helps where a journal cannot be read.
pub const KEPT_JOURNAL: &str = "the journal is kept as it is; put a copy of it back, move it away to begin anew, or use another `--dir DIR`";

/// What helps where somebody emptied one.
const EMPTIED: &str = "nothing of it counts without its journal: put a copy of that back (`journal.kept.jsonl` may be one), or remove the \
                       empty file to begin anew, which overwrites the report";

/// A study as its journal alone tells of it, for the other commands.
pub struct Recorded {
    pub report: report::Report,
    /// params that its last invocation set
    pub set: IndexMap<String, String>,
    /// the file that the directory belongs to, if that is another; a sentence
    pub of_another: Option<String>,
}

/// Reads the journal. `named` is the state directory that the user named.
pub fn recorded(
    file: &Path,
    program: &Program,
    study: &Study,
    named: Option<&Path>,
    checks: crate::judge::Checks,
) -> Result<Recorded, String> {
    let dir = state::directory(file, &study.name, named, false);
    let history = journal::read(&dir.join(journal::FILE), requests(study)).map_err(|e| e.to_string())?;
    let of_another = state::of_another(file, &study.name, named, &history);
    let shown = still::shown(file, program, study, &history, checks);
    let setup = Setup::new(program, study, &shown.results, checks, false);
    let (walk, _) = Grid.next(&setup);
    let file = file.to_string_lossy();
    let report = report::build(&Material {
        setup: &setup,
        walk: &walk,
        history: &history,
        file: &file,
        recording: None,
        warnings: run::shown_as_was(&shown.outdated, &walk),
        again: shown.again,
    });
    let set = history.sessions().last().map(|s| s.set.clone()).unwrap_or_default();
    Ok(Recorded { report, set, of_another })
}

/// What of the journal the study reads.
pub fn requests(study: &Study) -> Requests {
    let rules = study.prune.iter().map(|p| &p.when).chain(study.require.iter().map(|r| &r.expr));
    let guards = study.steps.iter().filter_map(|s| s.when.as_ref()).map(|g| &g.expr);
    let objective = study.objective.iter().map(|o| &o.expr);
    let mut goodput = false;
    for e in rules.chain(guards).chain(objective) {
        e.walk(&mut |e| goodput |= matches!(e, Expr::Goodput { .. }));
    }
    if goodput { Requests::Kept } else { Requests::LeftOut }
}
