//! The plan as JSON, written as it is made: laid out for people down to a step, then a line for each candidate, so that a plan of
//! tens of thousands is neither held in memory nor unreadable.

use std::io::{self, BufWriter, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use super::document::Plan;

/// Deeper than this everything stands on one line.
const OPEN: usize = 4;

/// Writes the document and a line end.
pub fn write(plan: &Plan<'_>, to: impl Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 17, to);
    plan.serialize(&mut Serializer::with_formatter(&mut out, Layout { depth: 0, filled: false }))?;
    out.write_all(b"\n")?;
    out.flush()
}

struct Layout {
    depth: usize,
    /// something stands in the bracket that is open
    filled: bool,
}

impl Layout {
    fn open<W: ?Sized + Write>(&mut self, to: &mut W, bracket: u8) -> io::Result<()> {
        self.depth += 1;
        self.filled = false;
        to.write_all(&[bracket])
    }

    fn close<W: ?Sized + Write>(&mut self, to: &mut W, bracket: u8) -> io::Result<()> {
        self.depth -= 1;
        if self.filled && self.depth < OPEN {
            line(to, self.depth)?;
        }
        self.filled = true;
        to.write_all(&[bracket])
    }

    fn next<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        if !first {
            to.write_all(b",")?;
        }
        if self.depth <= OPEN {
            return line(to, self.depth);
        }
        if first { Ok(()) } else { to.write_all(b" ") }
    }
}

fn line<W: ?Sized + Write>(to: &mut W, depth: usize) -> io::Result<()> {
    const BLANK: &[u8] = b"\n        ";
    to.write_all(&BLANK[..=2 * depth])
}

impl Formatter for Layout {
    fn begin_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.open(to, b'[')
    }

    fn end_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.close(to, b']')
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.next(to, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.open(to, b'{')
    }

    fn end_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.close(to, b'}')
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.next(to, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }
}
