//! `perflab check`: every diagnostic of every file.

use serde_json::Value as Json;

use super::args::{CheckArgs, CheckFormat};
use super::console::Console;
use super::{exit, files};
use crate::lang::render;

pub fn run(args: &CheckArgs, console: Console) -> u8 {
    let mut code = exit::DONE;
    let mut entries: Vec<Json> = Vec::new();
    for path in &args.files {
        let Some(analysis) = files::analysis(path, &args.set, console) else {
            code = exit::INPUT;
            continue;
        };
        if analysis.has_errors() {
            code = exit::INPUT;
        }
        match args.format {
            CheckFormat::Text => console.diagnostics(&analysis.diagnostics, &analysis.sources),
            CheckFormat::Json => {
                let mut document = render::json(&analysis.diagnostics, &analysis.sources);
                if let Some(found) = document["diagnostics"].as_array_mut() {
                    entries.append(found);
                }
            }
        }
        if args.format == CheckFormat::Text && !analysis.has_errors() {
            console.say(&format!("{}: no errors", path.display()));
        }
    }
    if args.format == CheckFormat::Json {
        let document = serde_json::json!({"schema": "perflab.diagnostics/1", "diagnostics": entries});
        console.print(&format!("{document:#}\n"));
    }
    code
}
