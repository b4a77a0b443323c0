//! What a study says while it works, drawn by a thread of its own: a terminal that takes nothing, stopped with Ctrl-S or at the end of
//! a connection that hangs, must hold up neither the study nor the signals that end it.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::console::Console;

/// Words that wait to be drawn, at most: what comes while nobody takes any is not drawn.
const WAITING: usize = 4096;
/// So long the end waits for the last words.
const PATIENCE: Duration = Duration::from_secs(2);

/// When a live display begins, and how often it is drawn anew.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    pub after: Duration,
    pub every: Duration,
}

/// That of a study.
const AT_ONCE: Pace = Pace { after: Duration::ZERO, every: Duration::from_millis(200) };

enum Word {
    Line(String),
    /// said however quiet it is to be
    Warning(String),
    /// where the study is, and what it does there
    Show(String, String),
    Finish,
}

/// A live display on a terminal, lines elsewhere.
pub struct Screen {
    words: SyncSender<Word>,
    done: Receiver<()>,
}

impl Screen {
    pub fn new(console: Console) -> Self {
        Self::paced(console, AT_ONCE)
    }

    /// A display of something that may be over before there is anything to be shown.
    pub fn paced(console: Console, pace: Pace) -> Self {
        let (words, heard) = sync_channel(WAITING);
        let (finished, done) = channel();
        // without a thread for it nothing is shown
        let _ = thread::Builder::new().spawn(move || {
            draw(console, &heard, pace);
            let _ = finished.send(());
        });
        Self { words, done }
    }

    pub fn line(&self, text: &str) {
        let _ = self.words.try_send(Word::Line(text.to_owned()));
    }

    pub fn warning(&self, text: &str) {
        let _ = self.words.try_send(Word::Warning(text.to_owned()));
    }

    pub fn show(&self, place: String, message: String) {
        let _ = self.words.try_send(Word::Show(place, message));
    }

    /// Says lines from elsewhere.
    pub fn notice(&self) -> impl FnOnce(&str) + Send + 'static {
        let words = self.words.clone();
        move |text: &str| drop(words.try_send(Word::Line(text.to_owned())))
    }

    /// Takes the display away, once everything is said that can be.
    pub fn finish(&self) {
        if self.words.try_send(Word::Finish).is_ok() {
            let _ = self.done.recv_timeout(PATIENCE);
        }
    }
}

fn draw(console: Console, heard: &Receiver<Word>, when: Pace) {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix}\n  {wide_msg}") {
        bar.set_style(style);
    }
    let began = Instant::now();
    let mut hidden = console.live();
    loop {
        let left = when.after.saturating_sub(began.elapsed());
        if hidden && left.is_zero() {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            bar.enable_steady_tick(when.every);
            hidden = false;
        }
        let word = if hidden { heard.recv_timeout(left) } else { heard.recv().map_err(Into::into) };
        match word {
            Ok(Word::Line(text)) => bar.suspend(|| console.say(&text)),
            Ok(Word::Warning(text)) => bar.suspend(|| console.warn(&text)),
            Ok(Word::Show(place, message)) => {
                bar.set_prefix(place);
                bar.set_message(message);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Ok(Word::Finish) | Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    bar.finish_and_clear();
}
