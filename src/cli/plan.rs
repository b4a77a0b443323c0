//! `perflab plan`: the dry run, over what the journal already holds.

use super::args::{PlanArgs, PlanFormat};
use super::console::Console;
use super::{exit, files, replay, state};
use crate::journal;
use crate::judge::{Grid, Setup, Strategy};
use crate::report::preview;
use crate::run::{self, Host};

pub fn run(args: &PlanArgs, console: Console) -> u8 {
    let Some(analysis) = files::analysis(&args.file, &args.set, console) else { return exit::INPUT };
    if analysis.has_errors() {
        console.diagnostics(&analysis.diagnostics, &analysis.sources);
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
    let dir = state::directory(&args.file, &study.name, args.dir.as_deref(), false);
    let history = match journal::read(&dir.join(journal::FILE)) {
        Ok(h) => h,
        Err(e) => {
            console
                .error(&e.to_string(), "move the journal away, or name another directory with `--dir DIR`");
            return exit::INPUT;
        }
    };
    // a plan is made anywhere: where the study's GPUs are not, nothing measured elsewhere is found
    let host = Host::for_study(study.gpus.as_ref()).unwrap_or_default();
    let results = history.results(&run::serve_ids(program), &host.id());
    let setup = Setup::new(program, study, &results, replay::checks(args.checks), false);
    let (walk, next) = Grid.next(&setup);
    let plan = preview::plan(&setup, &walk, &next, &history, run::remaining(&walk, study));
    match args.format {
        PlanFormat::Json => {
            console.print(&format!("{:#}\n", serde_json::to_value(&plan).unwrap_or_default()));
        }
        PlanFormat::Tree => console.print(&preview::tree(&plan, console.stdout_style())),
    }
    exit::DONE
}
