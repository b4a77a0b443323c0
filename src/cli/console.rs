//! The two streams: results to stdout, diagnostics and progress to stderr; width and colour of each.

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::errno::Errno;

use super::args::Color;
use crate::lang::render::Look;
use crate::lang::source::Sources;
use crate::lang::{Diagnostic, render, stdlib};
use crate::report::Style;
use crate::report::wrap::hanging;
use crate::secrets::{self, DocumentWriter, MaskedWriter};

/// Where nobody says how wide the page is.
const DEFAULT_WIDTH: usize = 100;

#[derive(Debug, Clone, Copy)]
pub struct Console {
    color: Color,
    pub quiet: bool,
}

/// A reader that closes our stdout, as `head` does, ends us as it ends every Unix tool.
pub fn restore_sigpipe() {
    use nix::sys::signal::{SigHandler, Signal, signal};
    // SAFETY: the default action is installed before any thread exists
    let _ = unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl) };
}

/// A file that may not grow (`ulimit -f`) is for us what a full disk is: the write fails. Those that we start get the default back.
pub fn outlive_file_limits() {
    use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
    extern "C" fn nothing(_: nix::libc::c_int) {}
    // not ignored: that would be inherited
    let action = SigAction::new(SigHandler::Handler(nothing), SaFlags::SA_RESTART, SigSet::empty());
    // SAFETY: the handler does nothing
    let _ = unsafe { sigaction(Signal::SIGXFSZ, &action) };
}

static LOST: OnceLock<String> = OnceLock::new();

/// Why a result could not be printed whole, if that is so: half a document must not pass for one.
pub fn output_lost() -> Option<&'static str> {
    LOST.get().map(String::as_str)
}

/// Standard output was closed when this process began. What is opened in its place before `main` takes everything, so it is looked at
/// before that.
static CLOSED: AtomicBool = AtomicBool::new(false);

#[used]
// SAFETY: the loader calls the functions of this section once, before there are threads
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: asks for a flag of a number that may be no descriptor
    let flags = unsafe { nix::libc::fcntl(nix::libc::STDOUT_FILENO, nix::libc::F_GETFD) };
    CLOSED.store(flags == -1, Ordering::Relaxed);
}

fn note_loss(written: io::Result<()>) {
    if CLOSED.load(Ordering::Relaxed) {
        let _ = LOST.set("it is closed".to_owned());
    }
    let Err(error) = written else { return };
    // a reader that has seen enough, or a terminal that was closed, wants no more
    let unwanted =
        error.kind() == io::ErrorKind::BrokenPipe || error.raw_os_error() == Some(Errno::EIO as i32);
    if !unwanted {
        let _ = LOST.set(error.to_string());
    }
}

impl Console {
    pub fn new(color: Color, quiet: bool) -> Self {
        Self { color, quiet }
    }

    fn colored(self, terminal: bool) -> bool {
        match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                terminal && !is_dumb() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
            }
        }
    }

    /// Whether a live display can be shown.
    pub fn live(self) -> bool {
        !self.quiet && io::stderr().is_terminal() && !is_dumb()
    }

    pub fn stdout_style(self) -> Style {
        Style::new(width(), self.colored(io::stdout().is_terminal()))
    }

    /// How wide a line of stdout may be: as the terminal is, or `COLUMNS` says. `None` for a pipe, whose lines are for other programs.
    #[expect(clippy::unused_self, reason = "everything about the streams is asked of the console")]
    pub fn line_width(self) -> Option<usize> {
        stated_width().or_else(terminal_width)
    }

    /// How wide a line of stderr may be, where it is a terminal.
    #[expect(clippy::unused_self, reason = "everything about the streams is asked of the console")]
    pub fn stderr_width(self) -> Option<usize> {
        let width = || console::Term::stderr().size_checked().map(|(_, columns)| usize::from(columns));
        if io::stderr().is_terminal() { stated_width().or_else(width) } else { None }
    }

    fn look(self) -> Look {
        let line = self.stderr_width().unwrap_or(width().max(LINE_WIDTH));
        Look { color: self.colored(io::stderr().is_terminal()), width: width(), line }
    }

    /// A result that is written as it is made. A reader that is gone ends it.
    #[expect(clippy::unused_self, reason = "everything that is written goes through the console")]
    pub fn stream(self, write: impl FnOnce(&mut MaskedWriter<io::StdoutLock<'static>>) -> io::Result<()>) {
        let mut out = MaskedWriter::new(io::stdout().lock());
        note_loss(write(&mut out).and_then(|()| out.finish()));
    }

    /// A document of JSON that is written as it is made.
    #[expect(clippy::unused_self, reason = "everything that is written goes through the console")]
    pub fn document(
        self,
        write: impl FnOnce(&mut DocumentWriter<io::StdoutLock<'static>>) -> io::Result<()>,
    ) {
        let mut out = DocumentWriter::new(io::stdout().lock());
        note_loss(write(&mut out).and_then(|()| out.finish()));
    }

    /// A result: always, also when progress is silenced.
    pub fn print(self, text: &str) {
        self.print_file(&secrets::mask_document(text));
    }

    /// A file of the user's, as it is.
    #[expect(clippy::unused_self, reason = "everything that is written goes through the console")]
    pub fn print_file(self, text: &str) {
        let mut out = io::stdout().lock();
        note_loss(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
    }

    pub fn diagnostics(self, found: &[Diagnostic], sources: &Sources) {
        learn_broken(found, sources);
        let text = render::text(found, sources, self.look());
        let shown: String = text.split_inclusive('\n').map(masked_line).collect();
        let _ = io::stderr().write_all(secrets::mask(&shown).as_bytes());
    }

    /// What went wrong outside of a study file, with how to go on.
    pub fn error(self, message: &str, help: &str) {
        let red = if self.look().color { ("\x1b[31m", "\x1b[0m") } else { ("", "") };
        let help = if help.is_empty() { String::new() } else { format!("  help: {help}\n") };
        let (message, help) = (secrets::mask(message), secrets::mask(&help));
        let _ = write!(io::stderr(), "{}error{}: {message}\n{help}", red.0, red.1);
    }

    /// What a user should know of, however quiet it is to be.
    #[expect(clippy::unused_self, reason = "everything that is written goes through the console")]
    pub fn warn(self, message: &str) {
        let _ = writeln!(io::stderr(), "warning: {}", secrets::mask(message));
    }

    /// A line that belongs to a result, however quiet it is to be.
    pub fn tell(self, message: &str) {
        let message = secrets::mask(message);
        let lines =
            self.stderr_width().map(|width| hanging("", &message, width.saturating_sub(2)).join("\n  "));
        let _ = writeln!(io::stderr(), "{}", lines.as_deref().unwrap_or(&message));
    }

    /// A line about what is going on.
    pub fn say(self, message: &str) {
        if !self.quiet {
            let _ = writeln!(io::stderr(), "{}", secrets::mask(message));
        }
    }
}

/// Takes what files with errors may state as a secret for one, before their lines are quoted.
pub fn learn_broken(found: &[Diagnostic], sources: &Sources) {
    if found.iter().any(Diagnostic::is_error) {
        let own = sources.iter().map(|(_, s)| s).filter(|s| !stdlib::is_part(&s.name));
        secrets::learn(own.flat_map(|s| secrets::in_broken_text(&s.text)).collect::<Vec<_>>());
    }
}

/// A line of a diagnostic; those of the user's file may say under its name what is too short to be masked elsewhere.
fn masked_line(line: &str) -> std::borrow::Cow<'_, str> {
    let of_file = line.contains('│') && !line.contains('╰');
    if of_file { secrets::mask_source(line).into() } else { line.into() }
}

/// A terminal that knows no escape sequences: it gets lines.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Columns of a file's lines where no terminal limits them.
const LINE_WIDTH: usize = 120;

/// The terminal's width, or the one that `COLUMNS` says.
fn width() -> usize {
    stated_width().or_else(terminal_width).unwrap_or(DEFAULT_WIDTH)
}

fn stated_width() -> Option<usize> {
    std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok())
}

fn terminal_width() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    let term = console::Term::stdout();
    term.size_checked().map(|(_, columns)| usize::from(columns))
}
