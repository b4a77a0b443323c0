//! The files that a bench leaves: their places are looked at before the load, and each is written whatever becomes of the others. One that
//! was there before stays until the new one is whole.

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

use super::args::BenchArgs;
use super::{documents, stated};
use crate::cli::console::Console;
use crate::disk;
use crate::load::{LoadOutcome, LoadSpec, RequestRecord};
use crate::run::write_requests;
use crate::secrets;

/// Whether the document goes to stdout, which then has nothing else.
pub(super) fn is_stdout(json: Option<&Path>) -> bool {
    json == Some(Path::new("-"))
}

/// The files that were asked for; that of a date which is not known yet with a word in its place.
fn asked(args: &BenchArgs, spec: &LoadSpec) -> Vec<PathBuf> {
    let results = args.save_result.then(|| result_file(args, spec, "DATE"));
    let files = [args.json.clone(), results, args.save_requests.clone()];
    files.into_iter().flatten().filter(|file| !is_stdout(Some(file))).collect()
}

/// What two options write to.
pub(super) fn named_twice(args: &BenchArgs, spec: &LoadSpec) -> Option<String> {
    let files = asked(args, spec);
    let twice = files.iter().enumerate().find(|(n, file)| files[..*n].contains(file))?.1;
    let why = "two options name it, and the later one would replace what the other writes";
    Some(format!("{}: {why}", twice.display()))
}

/// Why a file would not find its place, as far as that is known before a load. Folders that are missing are made when there is something
/// to write.
pub(super) fn look(args: &BenchArgs, spec: &LoadSpec) -> Result<(), String> {
    let looked_at = |file: &PathBuf| room(file).map_err(|e| format!("{}: {e}", file.display()));
    asked(args, spec).iter().try_for_each(looked_at)
}

fn room(file: &Path) -> io::Result<()> {
    if file.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if file.exists() {
        return Ok(access(file, AccessFlags::W_OK)?);
    }
    let folders =
        file.ancestors().skip(1).map(|dir| if dir.as_os_str().is_empty() { Path::new(".") } else { dir });
    let there = folders.into_iter().find(|dir| dir.exists()).unwrap_or(Path::new("."));
    if !there.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    access(there, AccessFlags::W_OK | AccessFlags::X_OK)?;
    // rights are not all: a file system of the kernel's takes no file from anybody
    let tried = there.join(format!(".perflab.{}", std::process::id()));
    OpenOptions::new().write(true).create_new(true).open(&tried)?;
    fs::remove_file(tried)
}

/// Makes a file's folder.
fn made(file: &Path) -> io::Result<()> {
    file.parent().filter(|dir| !dir.as_os_str().is_empty()).map_or(Ok(()), fs::create_dir_all)
}

/// Writes what was asked for; says what could not be written.
pub(super) fn write(
    (args, spec): (&BenchArgs, &LoadSpec),
    outcome: &LoadOutcome,
    console: Console,
) -> Vec<String> {
    let mut written = Vec::new();
    if let Some(file) = &args.json {
        let document = format!("{:#}\n", documents::own(args, spec, outcome));
        if is_stdout(Some(file)) {
            console.print(&document);
        } else {
            written.push(text(file, &document));
        }
    }
    if args.save_result {
        let date = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string();
        let file = result_file(args, spec, &date);
        let done = text(&file, &documents::vllm(args, spec, outcome, &date).to_string());
        if done.is_ok() {
            console.say(&format!("written: {}", file.display()));
        }
        written.push(done);
    }
    if let Some(file) = &args.save_requests {
        written.push(requests(file, &outcome.records).map_err(|e| format!("{}: {e}", file.display())));
    }
    written.into_iter().filter_map(Result::err).collect()
}

/// The name that `vllm bench serve` gives it.
fn result_file(args: &BenchArgs, spec: &LoadSpec, date: &str) -> PathBuf {
    let name = args.result_filename.clone().unwrap_or_else(|| {
        let label = args.label.as_deref().unwrap_or(documents::backend(args.endpoint));
        let offered = stated::offered(spec);
        let rate = documents::python_float(offered.rate);
        let at_once = offered.cap.map_or_else(String::new, |n| format!("-concurrency{n}"));
        let model = args.model.rsplit('/').next().unwrap_or(&args.model);
        format!("{label}-{rate}qps{at_once}-{model}-{date}.json").into()
    });
    args.result_dir.as_deref().unwrap_or(Path::new("")).join(name)
}

fn text(file: &Path, text: &str) -> Result<(), String> {
    let text = secrets::mask_document(text);
    let written = made(file).and_then(|()| disk::put_by(file, |into| into.write_all(text.as_bytes())));
    written.map_err(|e| format!("{}: {e}", file.display()))
}

/// Compressed where the file is called `.gz`.
fn requests(file: &Path, records: &[RequestRecord]) -> io::Result<()> {
    made(file)?;
    let packed = file.extension().is_some_and(|ending| ending == "gz");
    disk::put_by(file, |into| write_requests(BufWriter::new(into), records, packed))
}
