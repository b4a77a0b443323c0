//! `perflab std`: what the standard library holds, as text; and `std learn`, a schema from an installed engine.

use std::path::Path;

use super::args::{LearnArgs, LearnSource, StdArgs, StdCommand};
use super::console::Console;
use super::exit;
use super::installed::{self, From};
use crate::lang::learn;
use crate::lang::sema::program::Engine;
use crate::lang::source::NoFiles;
use crate::lang::stdlib::{self, Item};
use crate::lang::{analyze, diag::did_you_mean, fmt};

pub fn run(args: &StdArgs, console: Console) -> u8 {
    if let Some(StdCommand::Learn(learn)) = &args.command {
        return match learned(learn, console) {
            Ok(()) => exit::DONE,
            Err((message, help)) => {
                console.error(&message, &help);
                exit::INPUT
            }
        };
    }
    let shown = match (&args.module, &args.item) {
        (None, _) => Ok(listed()),
        (Some(module), None) => whole(module),
        (Some(module), Some(item)) => one(module, item),
    };
    match shown {
        Ok(text) => {
            console.print_file(&text);
            exit::DONE
        }
        Err((message, help)) => {
            console.error(&message, &help);
            exit::INPUT
        }
    }
}

type Wrong = (String, String);

/// Every module, and a line for each of its items.
fn listed() -> String {
    let mut out = String::new();
    for module in stdlib::LIBRARIES {
        let items = stdlib::items(module);
        out.extend(["std/", module, "\n"]);
        let width = items.iter().map(|i| i.name.len()).max().unwrap_or(0);
        for item in items {
            out.push_str(format!("  {:width$}  {}", item.name, item.about).trim_end());
            out.push('\n');
        }
        out.push('\n');
    }
    out.push_str(
        "`perflab std MODULE [NAME]` prints the text; `use std/MODULE { NAME }` takes an item into a file.\n",
    );
    out
}

fn module_of(name: &str) -> Result<Vec<stdlib::Part>, Wrong> {
    let module = name.strip_prefix("std/").unwrap_or(name);
    stdlib::parts(module, &[]).ok_or_else(|| {
        let near = did_you_mean(module, stdlib::LIBRARIES.iter().copied());
        let near = near.map(|n| format!("did you mean `{n}`? ")).unwrap_or_default();
        let help = format!("{near}there is {}", stdlib::LIBRARIES.join(", "));
        (format!("the standard library has no module `{module}`"), help)
    })
}

fn whole(module: &str) -> Result<String, Wrong> {
    module_of(module)?;
    let module = module.strip_prefix("std/").unwrap_or(module);
    let items = stdlib::items(module);
    let names: Vec<&str> = items.iter().map(|i| i.name.as_str()).collect();
    let parts = stdlib::parts(module, &names).unwrap_or_default();
    Ok(parts.iter().map(|p| p.text).collect::<Vec<_>>().join("\n"))
}

fn one(module: &str, name: &str) -> Result<String, Wrong> {
    module_of(module)?;
    let module = module.strip_prefix("std/").unwrap_or(module);
    let items: Vec<Item> = stdlib::items(module);
    if let Some(item) = items.iter().find(|i| i.name == name) {
        return Ok(item.text.clone());
    }
    let near = did_you_mean(name, items.iter().map(|i| i.name.as_str()));
    let near = near.map(|n| format!("did you mean `{n}`? ")).unwrap_or_default();
    let all: Vec<&str> = items.iter().map(|i| i.name.as_str()).collect();
    Err((format!("std/{module} has no `{name}`"), format!("{near}it has {}", all.join(", "))))
}

/// The engine of the standard library.
pub fn root_engine(name: &str) -> Option<std::sync::Arc<Engine>> {
    let file = format!("use std/engines {{ {name} }}\n");
    analyze(&NoFiles, "learn.plab", &file).program.engines.get(name).cloned()
}

fn learned(args: &LearnArgs, console: Console) -> Result<(), Wrong> {
    let known: Vec<String> = stdlib::items("engines").into_iter().map(|i| i.name).collect();
    let Some(engine) = known.contains(&args.engine).then(|| root_engine(&args.engine)).flatten() else {
        return Err((
            format!("no engine is called `{}`", args.engine),
            format!("there is {}", known.join(", ")),
        ));
    };
    let from = source(args)?;
    console.say(&format!("asking {} for its flags; this may take a minute", engine.title));
    let answer = installed::ask(&engine, &from).map_err(|e| {
        let help = "vllm and sglang are asked by the program that serves, or in their virtual environment, llama_cpp \
                    by its llama-server: `--from venv DIR`, where DIR/bin holds it, or `--from path`";
        (e.to_string(), help.to_owned())
    })?;
    let version = answer.version.split('+').next().unwrap_or(&answer.version);
    let schema = learn::schema(&answer.rows, version, &engine.schema);
    let name = format!("{}_{}", args.engine, version.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
    let described = match &from {
        From::Path => "the PATH".to_owned(),
        From::Venv(dir) => dir.display().to_string(),
    };
    let text = learn::written(&name, &engine, version, &schema, &described);
    let checked = analyze(&NoFiles, &name, &text);
    if let Some(wrong) = checked.diagnostics.iter().find(|d| d.is_error()) {
        return Err((
            format!("the engine's flags make no schema: {}", wrong.message),
            "please report this".to_owned(),
        ));
    }
    // as `perflab fmt` has it
    let text = fmt::format(&text).unwrap_or(text);
    let path = args.output.clone().unwrap_or_else(|| format!("{name}.plab").into());
    write(&path, &text, args.force)?;
    let count = schema.specs().len();
    console.say(&format!("{}: {count} flags of {} {version}", path.display(), engine.title));
    let file = path.file_name().unwrap_or(path.as_os_str()).display();
    console.say(&format!("take it into a study beside it: use \"./{file}\" {{ {name} }}"));
    Ok(())
}

fn source(args: &LearnArgs) -> Result<From, Wrong> {
    match (args.from.as_slice(), LearnSource::of(&args.from)) {
        (_, Some(LearnSource::Path)) => Ok(From::Path),
        (_, Some(LearnSource::Venv(dir))) if Path::new(&dir).is_dir() => Ok(From::Venv(dir.into())),
        (_, Some(LearnSource::Venv(dir))) => {
            Err((format!("{dir} is no directory"), "give the folder of the virtual environment".to_owned()))
        }
        (given, None) => Err((
            format!("`--from {}` names no place", given.join(" ")),
            "write `--from venv DIR` or `--from path`".to_owned(),
        )),
    }
}

fn write(path: &Path, text: &str, force: bool) -> Result<(), Wrong> {
    if path.exists() && !force {
        let help = "--force writes it anew, --output names another".to_owned();
        return Err((format!("{} is there already", path.display()), help));
    }
    std::fs::write(path, text)
        .map_err(|e| (format!("{} cannot be written: {e}", path.display()), String::new()))
}
