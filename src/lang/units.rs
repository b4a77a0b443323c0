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
        let parts = [
            ("tok", self.tokens),
            ("B", self.bytes),
            ("J", self.energy),
            ("usd", self.money),
            ("s", self.time),
        ];
        let shown: Vec<_> = parts
            .iter()
            .filter(|(_, p)| *p != 0)
            .map(|(u, p)| if *p == 1 { (*u).to_owned() } else { format!("{u}^{p}") })
            .collect();
        write!(f, "a quantity in {}", shown.join("·"))
    }
}

/// A unit as written: how many base units it is, and of what dimension.
pub fn unit(text: &str) -> Option<(f64, Dim)> {
    if let Some(per) = text.strip_prefix('/') {
        let (scale, dim) = simple(per).filter(|(_, d)| *d == Dim::TIME)?;
        return Some((1.0 / scale, Dim::PLAIN.per(dim)));
    }
    if let Some((over, under)) = text.split_once('/') {
        let (a, x) = simple(over)?;
        let (b, y) = simple(under)?;
        return Some((a / b, x.per(y)));
    }
    simple(text)
}

fn simple(text: &str) -> Option<(f64, Dim)> {
    const KI: f64 = 1024.0;
    Some(match text {
        "" => (1.0, Dim::PLAIN),
        "%" => (0.01, Dim::PLAIN),
        "k" => (1e3, Dim::PLAIN),
        "M" => (1e6, Dim::PLAIN),
        "Ki" => (KI, Dim::PLAIN),
        "Mi" => (KI * KI, Dim::PLAIN),
        "us" => (1e-6, Dim::TIME),
        "ms" => (1e-3, Dim::TIME),
        "s" => (1.0, Dim::TIME),
        "min" => (60.0, Dim::TIME),
        "h" => (3600.0, Dim::TIME),
        "tok" => (1.0, Dim::TOKENS),
        "B" => (1.0, Dim::BYTES),
        "KiB" => (KI, Dim::BYTES),
        "kB" => (1e3, Dim::BYTES),
        "MiB" => (KI * KI, Dim::BYTES),
        "MB" => (1e6, Dim::BYTES),
        "GiB" => (KI * KI * KI, Dim::BYTES),
        "GB" => (1e9, Dim::BYTES),
        "J" => (1.0, Dim::ENERGY),
        "kJ" => (1e3, Dim::ENERGY),
        "W" => (1.0, Dim::POWER),
        "kW" => (1e3, Dim::POWER),
        "usd" => (1.0, Dim::MONEY),
        _ => return None,
    })
}

/// Every unit that can stand alone, for did-you-mean.
pub const UNITS: &[&str] = &[
    "%", "k", "M", "Ki", "Mi", "us", "ms", "s", "min", "h", "/s", "tok", "tok/s", "B", "kB", "KiB", "MB",
    "MiB", "GB", "GiB", "J", "kJ", "W", "kW", "usd", "usd/h",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_scale_to_base_units() {
        assert_eq!(unit("Ki"), Some((1024.0, Dim::PLAIN)));
        assert_eq!(unit("/s"), Some((1.0, Dim::RATE)));
        assert_eq!(unit("tok/s"), Some((1.0, Dim::TOKEN_RATE)));
        let (scale, dim) = unit("usd/h").expect("known");
        assert_eq!(dim, Dim::MONEY_RATE);
        assert!((scale * 3600.0 - 1.0).abs() < 1e-12);
        assert_eq!(unit("K"), None);
    }
}
