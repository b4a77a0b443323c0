//! Units and dimensions: what a number means, and which numbers may meet.
//!
//! A quantity is kept in base units (seconds, tokens, bytes, joules, US dollars); counts, percent, requests and GPUs are plain numbers.

use std::fmt;

/// Powers of the base units. All zero is a plain number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dim {
    pub time: i8,
    pub tokens: i8,
    pub bytes: i8,
    pub energy: i8,
    pub money: i8,
}

impl Dim {
    pub const PLAIN: Dim = Dim { time: 0, tokens: 0, bytes: 0, energy: 0, money: 0 };
    pub const TIME: Dim = Dim { time: 1, ..Self::PLAIN };
    pub const RATE: Dim = Dim { time: -1, ..Self::PLAIN };
    pub const TOKENS: Dim = Dim { tokens: 1, ..Self::PLAIN };
    pub const TOKEN_RATE: Dim = Dim { tokens: 1, time: -1, ..Self::PLAIN };
    pub const BYTES: Dim = Dim { bytes: 1, ..Self::PLAIN };
    pub const ENERGY: Dim = Dim { energy: 1, ..Self::PLAIN };
    pub const POWER: Dim = Dim { energy: 1, time: -1, ..Self::PLAIN };
    pub const MONEY: Dim = Dim { money: 1, ..Self::PLAIN };
    pub const MONEY_RATE: Dim = Dim { money: 1, time: -1, ..Self::PLAIN };
    pub const TOKENS_PER_JOULE: Dim = Dim { tokens: 1, energy: -1, ..Self::PLAIN };

    #[must_use]
    pub fn times(self, o: Dim) -> Dim {
        self.combine(o, 1)
    }

    #[must_use]
    pub fn per(self, o: Dim) -> Dim {
        self.combine(o, -1)
    }

    fn combine(self, o: Dim, sign: i8) -> Dim {
        let add = |a: i8, b: i8| a.saturating_add(b.saturating_mul(sign));
        Dim {
            time: add(self.time, o.time),
            tokens: add(self.tokens, o.tokens),
            bytes: add(self.bytes, o.bytes),
            energy: add(self.energy, o.energy),
            money: add(self.money, o.money),
        }
    }

    /// The unit in which quantities of it are kept: `tok/s`, `tok/J`, `usd·s`. `None` for a plain number.
    pub fn base_unit(self) -> Option<String> {
        let parts = [
            ("tok", self.tokens),
            ("B", self.bytes),
            ("J", self.energy),
            ("usd", self.money),
            ("s", self.time),
        ];
        let power = |unit: &str, p: i8| if p == 1 { unit.to_owned() } else { format!("{unit}^{p}") };
        let over = parts.iter().filter(|(_, p)| *p > 0).map(|(u, p)| power(u, *p));
        let under = parts.iter().filter(|(_, p)| *p < 0).map(|(u, p)| power(u, p.saturating_neg()));
        let (over, under) = (over.collect::<Vec<_>>().join("·"), under.collect::<Vec<_>>());
        match (over.is_empty(), under.as_slice()) {
            (true, []) => None,
            (_, []) => Some(over),
            (_, [one]) => Some(format!("{over}/{one}")),
            (_, many) => Some(format!("{over}/({})", many.join("·"))),
        }
    }

    /// The usual unit, or two that one word makes of it: `tok/J`.
    pub fn written_unit(self) -> Option<String> {
        let made = || self.base_unit().filter(|made| unit(made).is_some_and(|(_, dim)| dim == self));
        self.usual_unit().map(str::to_owned).or_else(made)
    }

    /// A unit that a user would write for it, for suggestions.
    pub fn usual_unit(self) -> Option<&'static str> {
        Some(match self {
            d if d == Self::TIME => "ms",
            d if d == Self::RATE => "/s",
            d if d == Self::TOKENS => "tok",
            d if d == Self::TOKEN_RATE => "tok/s",
            d if d == Self::BYTES => "GiB",
            d if d == Self::ENERGY => "J",
            d if d == Self::POWER => "W",
            d if d == Self::MONEY => "usd",
            d if d == Self::MONEY_RATE => "usd/h",
            _ => return None,
        })
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match *self {
            d if d == Self::PLAIN => "a plain number",
            d if d == Self::TIME => "a time",
            d if d == Self::RATE => "a rate per second",
            d if d == Self::TOKENS => "a number of tokens",
            d if d == Self::TOKEN_RATE => "tokens per second",
            d if d == Self::BYTES => "a size in bytes",
            d if d == Self::ENERGY => "an energy",
            d if d == Self::POWER => "a power",
            d if d == Self::MONEY => "an amount of money",
            d if d == Self::MONEY_RATE => "a price per hour",
            _ => return self.powers(f),
        };
        f.write_str(name)
    }
}

impl Dim {
    fn powers(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a quantity in {}", self.base_unit().unwrap_or_default())
    }
}

/// What a number with a unit is multiplied by. Powers of ten move the decimal point, so that `99.9%` is exactly what `0.999` is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    ten: i32,
    times: f64,
    over: f64,
}

impl Scale {
    const ONE: Self = Self::ten(0);

    const fn ten(power: i32) -> Self {
        Self { ten: power, times: 1.0, over: 1.0 }
    }

    const fn times(times: f64) -> Self {
        Self { ten: 0, times, over: 1.0 }
    }

    fn per(self, under: Self) -> Self {
        Self { ten: self.ten - under.ten, times: self.times * under.over, over: self.over * under.times }
    }

    /// A number of this unit in base units.
    pub fn apply(self, number: f64) -> f64 {
        let moved = if self.ten == 0 { number } else { moved(number, self.ten) };
        moved * self.times / self.over
    }
}

/// A number with its decimal point moved: multiplying by a hundredth, which no float is, would miss by the last digit.
fn moved(number: f64, places: i32) -> f64 {
    format!("{number}e{places}").parse().unwrap_or(number)
}

/// A unit as written: how many base units it is, and of what dimension.
pub fn unit(text: &str) -> Option<(Scale, Dim)> {
    if let Some(per) = text.strip_prefix('/') {
        let (scale, dim) = simple(per).filter(|(_, d)| *d == Dim::TIME)?;
        return Some((Scale::ONE.per(scale), Dim::PLAIN.per(dim)));
    }
    if let Some((over, under)) = text.split_once('/') {
        let (a, x) = simple(over)?;
        let (b, y) = simple(under)?;
        return Some((a.per(b), x.per(y)));
    }
    simple(text)
}

fn simple(text: &str) -> Option<(Scale, Dim)> {
    const KI: f64 = 1024.0;
    let (ten, times) = (Scale::ten, Scale::times);
    Some(match text {
        "" => (Scale::ONE, Dim::PLAIN),
        "%" => (ten(-2), Dim::PLAIN),
        "k" => (ten(3), Dim::PLAIN),
        "M" => (ten(6), Dim::PLAIN),
        "Ki" => (times(KI), Dim::PLAIN),
        "Mi" => (times(KI * KI), Dim::PLAIN),
        "Gi" => (times(KI * KI * KI), Dim::PLAIN),
        "us" => (ten(-6), Dim::TIME),
        "ms" => (ten(-3), Dim::TIME),
        "s" => (Scale::ONE, Dim::TIME),
        "min" => (times(60.0), Dim::TIME),
        "h" => (times(3600.0), Dim::TIME),
        "tok" => (Scale::ONE, Dim::TOKENS),
        "B" => (Scale::ONE, Dim::BYTES),
        "KiB" => (times(KI), Dim::BYTES),
        "kB" => (ten(3), Dim::BYTES),
        "MiB" => (times(KI * KI), Dim::BYTES),
        "MB" => (ten(6), Dim::BYTES),
        "GiB" => (times(KI * KI * KI), Dim::BYTES),
        "GB" => (ten(9), Dim::BYTES),
        "J" => (Scale::ONE, Dim::ENERGY),
        "kJ" => (ten(3), Dim::ENERGY),
        "W" => (Scale::ONE, Dim::POWER),
        "kW" => (ten(3), Dim::POWER),
        "usd" => (Scale::ONE, Dim::MONEY),
        _ => return None,
    })
}

/// Every unit that can stand alone, for did-you-mean.
pub const UNITS: &[&str] = &[
    "%", "k", "M", "Ki", "Mi", "Gi", "us", "ms", "s", "min", "h", "/s", "/min", "/h", "tok", "tok/s", "B",
    "kB", "KiB", "MB", "MiB", "GB", "GiB", "J", "kJ", "W", "kW", "usd", "usd/h",
];

/// The units that quantities of a kind are given in.
pub fn of(dim: Dim) -> impl Iterator<Item = &'static str> {
    UNITS.iter().copied().filter(move |u| unit(u).is_some_and(|(_, d)| d == dim))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(number: f64, written: &str) -> (f64, Dim) {
        let (scale, dim) = unit(written).expect("known");
        (scale.apply(number), dim)
    }

    #[test]
    fn units_scale_to_base_units() {
        assert_eq!(base(1.0, "Ki"), (1024.0, Dim::PLAIN));
        assert_eq!(base(20.0, "Gi"), (20.0 * 1_073_741_824.0, Dim::PLAIN));
        assert_eq!(base(8.0, "/s"), (8.0, Dim::RATE));
        assert_eq!(base(3.0, "tok/s"), (3.0, Dim::TOKEN_RATE));
        assert_eq!(base(90.0, "usd/h"), (0.025, Dim::MONEY_RATE));
        assert_eq!(base(30.0, "/min"), (0.5, Dim::RATE));
        assert_eq!(unit("K"), None);
    }

    #[test]
    fn what_is_the_same_in_decimals_is_the_same_number() {
        assert_eq!(base(99.9, "%").0.to_bits(), 0.999_f64.to_bits());
        for tenths in 0..=1000 {
            let written: f64 = format!("{}.{}", tenths / 10, tenths % 10).parse().expect("a number");
            let fraction: f64 = format!("{tenths}e-3").parse().expect("a number");
            assert_eq!(base(written, "%").0.to_bits(), fraction.to_bits(), "{written}%");
            assert_eq!(base(f64::from(tenths), "ms").0.to_bits(), fraction.to_bits(), "{tenths}ms");
        }
    }
}
