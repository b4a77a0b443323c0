//! How the terminal is: its width, and whether it shows colour. Passed down, so that nothing here asks the process.

use tabled::settings::Color;

/// Narrower than this, tables are drawn for this width all the same.
const NARROWEST: usize = 40;

/// What the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    width: usize,
    color: bool,
}

/// How loud a piece of text is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tone {
    #[default]
    Plain,
    /// Headings.
    Strong,
    /// What won.
    Good,
    /// What needs a look.
    Caution,
    /// What went wrong.
    Bad,
    /// What is not there.
    Quiet,
}

impl Style {
    /// A terminal of that many columns.
    pub fn new(width: usize, color: bool) -> Self {
        Self { width: width.max(NARROWEST), color }
    }

    /// Columns to fill, at least 40.
    pub fn width(self) -> usize {
        self.width
    }

    /// The text in that tone, or as it is where there is no colour.
    pub fn paint(self, tone: Tone, text: &str) -> String {
        match self.ansi(tone) {
            Some(color) => color.colorize(text),
            None => text.to_owned(),
        }
    }

    /// The terminal's code for that tone; none where there is no colour.
    pub fn ansi(self, tone: Tone) -> Option<Color> {
        if !self.color {
            return None;
        }
        match tone {
            Tone::Plain => None,
            Tone::Strong => Some(Color::BOLD),
            Tone::Good => Some(Color::FG_GREEN),
            Tone::Caution => Some(Color::FG_YELLOW),
            Tone::Bad => Some(Color::FG_RED),
            Tone::Quiet => Some(Color::new("\u{1b}[2m", "\u{1b}[22m")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_is_asked_for() {
        assert_eq!(Style::new(80, false).paint(Tone::Bad, "failed"), "failed");
        assert_eq!(Style::new(80, true).paint(Tone::Bad, "failed"), "\u{1b}[31mfailed\u{1b}[39m");
        assert_eq!(Style::new(80, true).paint(Tone::Plain, "ok"), "ok");
        assert_eq!(Style::new(0, false).width(), NARROWEST);
    }
}
