//! Numbers as written to quantities in base units, and what to say when a unit is missing, unknown or of another kind.

use super::check::Checker;
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, Edit, did_you_mean, nearest, one_of};
use crate::lang::syntax::ast::Number;
use crate::lang::unit_slips;
use crate::lang::units::{self, Dim};

/// What else than the usual unit a number without any may have been meant in. Tokens come in one unit alone; bytes in two kinds of gigabytes.
fn others(dim: Dim) -> &'static [&'static str] {
    match dim {
        d if d == Dim::RATE => &["/min"],
        d if d == Dim::TIME => &["s"],
        _ => &[],
    }
}

/// `J/tok` for `Jtok`: a unit per another one, without its sign.
fn per_unit(written: &str, asked: Option<Dim>) -> Option<String> {
    let places = (1..written.len()).filter(|at| written.is_char_boundary(*at));
    let mut units = places.map(|at| format!("{}/{}", &written[..at], &written[at..]));
    let fits = |dim: Dim| dim != Dim::PLAIN && asked.is_none_or(|asked| asked == dim);
    units.by_ref().take(LONGEST_UNIT).find(|unit| units::unit(unit).is_some_and(|(_, dim)| fits(dim)))
}

/// No unit has more letters.
const LONGEST_UNIT: usize = 16;

/// The unit that was nearly written; where one kind is asked for, of several that are as near none.
fn near_unit(written: &str, asked: Option<Dim>) -> Option<String> {
    let long = |u: &&str| u.len() > 1;
    let Some(asked) = asked else {
        return did_you_mean(written, units::UNITS.iter().copied().filter(long)).map(str::to_owned);
    };
    let fits = |u: &&str| units::unit(u).is_some_and(|(_, dim)| dim == asked);
    let mut once: Vec<char> = written.chars().collect();
    once.dedup();
    let once: String = once.into_iter().collect();
    if once != written && fits(&once.as_str()) {
        return Some(once);
    }
    match nearest(written, units::UNITS.iter().copied().filter(long).filter(fits)).as_slice() {
        [only] => Some((*only).to_owned()),
        _ => None,
    }
}

/// How to write a number that lacks the unit of its kind: with the factor that it has, and no share becomes a quantity.
pub(super) fn without_unit(d: Diagnostic, n: &Number, dim: Dim, unit: Option<&str>) -> Diagnostic {
    let d = d.label("without a unit");
    let Some(unit_there) = unit else {
        return d.help(format!("{dim} has no written unit: only `*` and `/` combine it with a number"));
    };
    if n.unit == "%" && dim == Dim::RATE {
        return d.help(format!(
            "a share is a plain number, as `goodput(…) / request_rate` is; a rate is given in `{unit_there}`"
        ));
    }
    if n.unit == "%" {
        return d.help(format!("give it in `{unit_there}`: a share is a plain number"));
    }
    let in_bytes = |unit: &str| dim == Dim::BYTES && ["Ki", "Mi", "Gi", "k", "M"].contains(&unit);
    let fixed = if in_bytes(&n.unit) {
        format!("{}{}B", n.value, n.unit)
    } else {
        unit_slips::in_unit(n.value, &n.unit, unit_there)
    };
    let usual = unit == dim.usual_unit();
    let counted = dim == Dim::RATE || dim == Dim::TOKEN_RATE || dim == Dim::TOKENS;
    if let ([other], true) = (others(dim), usual && (n.unit.is_empty() || counted)) {
        let other = unit_slips::in_unit(n.value, &n.unit, other);
        return d.help(format!("write `{fixed}` or `{other}`, whichever is meant"));
    }
    let d = if usual && counted { d.edit(n.span, &*fixed) } else { d };
    d.help(format!("write for example `{fixed}`"))
}

/// The units that there are, of one dimension alone where it is asked for.
fn units_of(asked: Option<Dim>) -> String {
    let fits = |u: &&&str| asked.is_none_or(|dim| units::unit(u).is_some_and(|(_, of)| of == dim));
    let all: Vec<&str> = units::UNITS.iter().filter(fits).copied().collect();
    match (asked, all.as_slice()) {
        (None, _) | (_, []) => format!("units are {}", units::UNITS.join(", ")),
        (_, [only]) => format!("give it in `{only}`"),
        (_, several) => format!("the units here are {}", several.join(", ")),
    }
}

/// The factor in a unit of bytes, which is all that a count takes of it.
fn factor(unit: &str) -> &str {
    unit.strip_suffix('B').filter(|factor| ["k", "M", "Ki", "Mi", "Gi"].contains(factor)).unwrap_or("")
}

impl Checker<'_> {
    /// The number in base units and its dimension; an unknown unit is reported.
    pub fn quantity(&mut self, n: &Number) -> Option<(f64, Dim)> {
        self.quantity_of(n, None)
    }

    /// The same where one dimension is asked for, so that only its units help.
    pub(super) fn quantity_of(&mut self, n: &Number, asked: Option<Dim>) -> Option<(f64, Dim)> {
        if let Some((scale, dim)) = units::unit(&n.unit) {
            let value = scale.apply(n.value);
            if value.is_finite() {
                return Some((value, dim));
            }
            let d = Diagnostic::new(Code::OutOfRange, n.span, "the number is too big").label("out of range");
            self.sink.push(d.help("write a smaller one"));
            return None;
        }
        let message = format!("`{}` is no unit", n.unit);
        let d = Diagnostic::new(Code::UnknownUnit, n.span, message);
        let meant = unit_slips::suggest(n.value, &n.unit);
        let near: Vec<_> = meant.iter().map(|meant| format!("`{meant}`")).collect();
        self.sink.push(if let "trials" | "gpu_hours" = n.unit.as_str() {
            let right = format!("{} {}", n.value, n.unit);
            let d = d.label("unknown unit").help(format!("a space stands before it: write `{right}`"));
            d.edit(n.span, right)
        } else if near.is_empty() {
            let d = match per_unit(&n.unit, asked).or_else(|| near_unit(&n.unit, asked)) {
                Some(unit) => d.suggest(&format!("{}{unit}", n.value)),
                None => d.label("unknown unit"),
            };
            d.help(units_of(asked))
        } else {
            let d = match unit_slips::mended(&format!("{}{}", n.value, n.unit)) {
                Some(fixed) => d.edit(n.span, fixed),
                None => d,
            };
            let d = d.label("unknown unit").help(format!("write {}", one_of(&near)));
            Diagnostic { suggested: meant, ..d }
        });
        None
    }

    /// The number in base units, if it has the dimension that `what` takes.
    pub fn number_of(&mut self, n: &Number, dim: Dim, what: &str) -> Option<f64> {
        self.number_in(n, dim, what, dim.usual_unit())
    }

    /// The same, with the unit that suggests itself there.
    fn number_in(&mut self, n: &Number, dim: Dim, what: &str, unit: Option<&str>) -> Option<f64> {
        let (value, found) = self.quantity_of(n, Some(dim))?;
        if found == dim {
            return Some(value);
        }
        let d = if found == Dim::PLAIN {
            let share = n.unit.contains('/');
            let has = if share { "is a plain number" } else { "has no unit" };
            let message = format!("{what} is {dim}, and `{}{}` {has}", n.value, n.unit);
            let d = Diagnostic::new(Code::MissingUnit, n.span, message);
            match unit {
                // `us/h` is a number: one time in another
                Some(unit) if share => {
                    d.label("another unit").help(format!("write for example `{}{unit}`", n.value))
                }
                _ => without_unit(d, n, dim, unit),
            }
        } else if dim == Dim::PLAIN {
            let message = format!("{what} is a plain number, and `{}{}` is {found}", n.value, n.unit);
            let help = match what.contains("gain") {
                // `500tok/s` is no share that anybody means
                true if value > 10.0 => "it is relative to the base: write for example `1%`".to_owned(),
                true => format!("write `{}%`", n.value),
                false => format!("write `{}{}`", n.value, factor(&n.unit)),
            };
            Diagnostic::new(Code::MissingUnit, n.span, message).label("has a unit").help(help)
        } else {
            let message = format!("{what} is {dim}, and `{}{}` is {found}", n.value, n.unit);
            let d = Diagnostic::new(Code::Dimension, n.span, message).label("of another kind");
            d.help(format!("give it in `{}`", unit.unwrap_or("the right unit")))
        };
        self.sink.push(d);
        None
    }

    /// `2 .. 20/s`, `1, 5/s`: the unit that stands beside a number without one is meant for both. To be asked where that was just told.
    pub(super) fn in_unit_of(&mut self, n: &Number, others: &[Number]) {
        let mut units = others.iter().map(|o| o.unit.as_str()).filter(|u| !u.is_empty());
        let Some(unit) = units.next().filter(|u| n.unit.is_empty() && units.all(|o| o == *u)) else { return };
        let right = format!("{}{unit}", n.value);
        let told = self.sink.each_mut().find(|d| d.code == Code::MissingUnit && d.span == n.span);
        if let Some(d) = told.filter(|d| d.edits.is_empty()) {
            d.help = Some(format!("write `{right}`, as beside it"));
            d.edits.push(Edit { span: n.span, text: right });
        }
    }

    /// A plain whole number within bounds.
    pub fn whole(&mut self, n: &Number, min: u64, max: u64, what: &str) -> Option<u64> {
        let value = self.number_of(n, Dim::PLAIN, what)?;
        if n.unit == "%" {
            let message = format!("{what} is a count, and `{}%` is a share", n.value);
            let help = format!("write a whole number, for example `{}`", min.max(1));
            self.sink.push(Diagnostic::new(Code::OutOfRange, n.span, message).label("a share").help(help));
            return None;
        }
        if value.fract() == 0.0 && value >= min as f64 && value <= max as f64 {
            return Some(value as u64);
        }
        let message = format!("{what} is a whole number from {min} to {max}");
        let near = (value as u64).clamp(min.max(1), max);
        let help = format!("write a whole number, for example `{near}`");
        self.sink.push(Diagnostic::new(Code::OutOfRange, n.span, message).label("out of range").help(help));
        None
    }

    /// A number above zero of a dimension.
    pub fn positive(&mut self, n: &Number, dim: Dim, what: &str) -> Option<f64> {
        // latencies are milliseconds; what a file sets is longer
        let unit = if dim == Dim::TIME { Some("s") } else { dim.usual_unit() };
        let value = self.number_in(n, dim, what, unit)?;
        if value > 0.0 && value.is_finite() {
            return Some(value);
        }
        let message = format!("{what} is above zero");
        let help = format!("write for example `1{}`", unit.unwrap_or_default());
        self.sink.push(Diagnostic::new(Code::OutOfRange, n.span, message).label("out of range").help(help));
        None
    }
}
