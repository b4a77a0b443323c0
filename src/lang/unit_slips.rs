//! Numbers whose unit there is not, as they were meant: `5sec`, `4ktok`, `32K`. A factor is never dropped, and no unit is taken for
//! another one of its kind because the two are spelled alike.

use super::diag::did_you_mean;
use super::units::{Dim, UNITS, unit};

/// A number as it may have been meant: `4000tok` for `4ktok`, `5min` or `5ms` for `5m`. Empty where nothing suggests itself.
pub fn suggest(value: f64, written: &str) -> Vec<String> {
    // `4OO`: letters for digits
    let digits = written.replace(['O', 'o'], "0");
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) && value.fract() == 0.0 {
        return vec![format!("{value}{digits}")];
    }
    // of a count, as there is no bigger factor
    if written == "Ti" {
        return vec![format!("{}Gi", round(value * 1024.0))];
    }
    if matches!(written, "d" | "day" | "days") {
        return vec![format!("{}h", round(value * 24.0))];
    }
    if matches!(written, "gpuh" | "gpu-h" | "gpu_h" | "GPUh" | "gpu_hours" | "gpuhours") {
        return vec![format!("{value} gpu_hours")];
    }
    let named = names(written);
    if named.is_empty() {
        return factors(written)
            .iter()
            .filter_map(|(factor, rest)| multiplied(value, *factor, rest))
            .collect();
    }
    named.iter().map(|u| format!("{value}{u}")).collect()
}

/// The same of a text, where one number alone suggests itself: `32K` is `32k` to some, and `32Ki` to others.
pub fn mended(text: &str) -> Option<String> {
    let at = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-')))?;
    let (digits, written) = text.split_at(at);
    // of tokens a flag counts plain ones
    if written == "tok" && digits.parse::<f64>().is_ok() {
        return Some(digits.to_owned());
    }
    if unit(written).is_some() {
        return None;
    }
    match suggest(digits.parse().ok()?, written).as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    }
}

/// A number without a unit, in a unit: `5k` is `5000tok/s`.
pub fn in_unit(value: f64, count: &str, unit_there: &str) -> String {
    let plain = unit(count).filter(|(_, dim)| *dim == Dim::PLAIN);
    format!("{}{unit_there}", round(plain.map_or(value, |(scale, _)| scale.apply(value))))
}

/// The units that are spelled, or called, otherwise.
pub fn names(text: &str) -> Vec<&'static str> {
    match text {
        "K" => vec!["Ki", "k"],
        "m" => vec!["min", "ms"],
        "sec" | "secs" | "second" | "seconds" | "S" => vec!["s"],
        "msec" | "MS" => vec!["ms"],
        "mins" | "minute" | "minutes" => vec!["min"],
        "hr" | "hrs" | "hour" | "hours" | "H" => vec!["h"],
        "G" | "g" => vec!["Gi", "GiB", "GB"],
        "gb" | "Gb" => vec!["GiB", "GB"],
        "KB" | "kb" | "Kb" => vec!["KiB", "kB"],
        "mb" | "Mb" => vec!["MiB", "MB"],
        "token" | "tokens" => vec!["tok"],
        "toks" => vec!["tok", "tok/s"],
        "rps" | "qps" | "req/s" | "/sec" | "/second" | "Hz" | "hz" | "HZ" => vec!["/s"],
        "/m" | "/minute" | "/mins" | "rpm" => vec!["/min"],
        "/hr" | "/hour" => vec!["/h"],
        "t/s" | "tps" | "tokens/s" | "toks/s" | "tokens/sec" | "tok/sec" | "tokens/second" | "tok/second"
        | "token/s" => vec!["tok/s"],
        "usd/hour" | "usd/hr" | "USD/h" | "USD/hour" | "$/h" | "$/hr" | "$/hour" | "dollars/hour"
        | "usd/gpuh" => {
            vec!["usd/h"]
        }
        "$" | "USD" | "dollar" | "dollars" => vec!["usd"],
        "watt" | "watts" | "Watt" | "Watts" => vec!["W"],
        "joule" | "joules" | "Joule" | "Joules" => vec!["J"],
        "byte" | "bytes" | "Byte" | "Bytes" => vec!["B"],
        "percent" | "pct" => vec!["%"],
        // `3x`, and `0f` as other languages write a number
        "x" | "f" => vec![""],
        // `GBytes`; a small letter in front of it may be either unit
        _ if bytes_of(text).is_some() => {
            let bytes = bytes_of(text).unwrap_or_default();
            UNITS.iter().copied().find(|u| *u == bytes).map_or_else(|| names(bytes), |unit| vec![unit])
        }
        _ => UNITS
            .iter()
            .copied()
            .find(|u| u.eq_ignore_ascii_case(text))
            .or_else(|| misspelled(text))
            .into_iter()
            .collect(),
    }
}

/// `GB` of `GBytes`.
fn bytes_of(text: &str) -> Option<&str> {
    let bytes = text.strip_suffix("ytes").or_else(|| text.strip_suffix("yte"))?;
    (bytes.len() > 1 && bytes.ends_with(['B', 'b'])).then_some(bytes)
}

/// A unit with a slip in it. Only of units whose slips are no other unit: `kWh` is no `kW`, `TiB` no `GiB`, `tok/m` no `tok/s`.
fn misspelled(text: &str) -> Option<&'static str> {
    const LONG: [&str; 5] = ["min", "tok", "tok/s", "usd", "usd/h"];
    let near = did_you_mean(text, LONG)?;
    let under = |t: &str| t.split_once('/').map(|(_, per)| per.to_owned());
    let same = near.as_bytes().first() == text.as_bytes().first() && under(near) == under(text);
    (same && factors(text).iter().all(|(_, rest)| known(rest).is_none())).then_some(near)
}

/// A factor in front of a unit. A capital K is 1024 to some.
fn factors(text: &str) -> Vec<(f64, &str)> {
    const FACTORS: [(&str, &[f64]); 9] = [
        ("Ki", &[1024.0]),
        ("Mi", &[1_048_576.0]),
        ("Gi", &[1_073_741_824.0]),
        ("Ti", &[1_099_511_627_776.0]),
        ("k", &[1e3]),
        ("K", &[1e3, 1024.0]),
        ("M", &[1e6]),
        ("G", &[1e9]),
        ("T", &[1e12]),
    ];
    let found = FACTORS.iter().find_map(|(sign, factors)| Some((text.strip_prefix(sign)?, factors)));
    found.map_or_else(Vec::new, |(rest, factors)| factors.iter().map(|f| (*f, rest)).collect())
}

/// The unit behind a factor.
fn known(rest: &str) -> Option<&'static str> {
    let exact =
        UNITS.iter().copied().find(|u| *u == rest && !matches!(*u, "%" | "k" | "M" | "Ki" | "Mi" | "Gi"));
    exact.or_else(|| match names(rest).as_slice() {
        [only] if rest.len() > 1 => Some(*only),
        _ => None,
    })
}

fn multiplied(value: f64, factor: f64, rest: &str) -> Option<String> {
    Some(match (rest, factor) {
        ("B", 1e12) => format!("{}GB", round(value * 1e3)),
        ("B", 1_099_511_627_776.0) => format!("{}GiB", round(value * 1024.0)),
        ("J" | "W", _) if factor > 1e3 => format!("{}k{rest}", round(value * factor / 1e3)),
        ("Wh", _) => format!("{}kJ", round(value * factor * 3.6)),
        _ => format!("{}{}", round(value * factor), known(rest)?),
    })
}

/// Without the dust of a multiplication.
fn round(value: f64) -> f64 {
    let fine = (value * 1e6).round() / 1e6;
    if fine.is_finite() && fine != 0.0 { fine } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_may_be_written_out() {
        assert_eq!(suggest(150.0, "GBytes"), ["150GB"]);
        assert_eq!(suggest(1.0, "GiByte"), ["1GiB"]);
        assert_eq!(suggest(2.0, "Gbytes"), ["2GiB", "2GB"]);
    }

    #[test]
    fn only_what_is_sure_is_mended() {
        assert_eq!(mended("32K"), None);
        assert_eq!(mended("5sec").as_deref(), Some("5s"));
        assert_eq!(mended("5m"), None);
        assert_eq!(mended("80G"), None);
        assert_eq!(mended("32Ki"), None);
        assert_eq!(mended("K"), None);
    }

    #[test]
    fn no_factor_is_lost() {
        let one = |value, unit| suggest(value, unit).join(" or ");
        assert_eq!(one(4.0, "ktok"), "4000tok");
        assert_eq!(one(1.0, "Ktok"), "1000tok or 1024tok");
        assert_eq!(one(5.0, "Mtok/s"), "5000000tok/s");
        assert_eq!(one(5.0, "ktokens/s"), "5000tok/s");
        assert_eq!(one(5.0, "MJ"), "5000kJ");
        assert_eq!(one(5.0, "kWh"), "18000kJ");
        assert_eq!(one(1.0, "KW"), "1kW");
        assert_eq!(one(1.0, "MW"), "1000kW");
        assert_eq!(one(2.0, "TB"), "2000GB");
        assert_eq!(one(2.0, "TiB"), "2048GiB");
        assert_eq!(one(1.0, "Ti"), "1024Gi");
        assert_eq!(one(2.0, "krps"), "2000/s");
        assert_eq!(one(1.5, "days"), "36h");
        assert_eq!(one(2.0, "d"), "48h");
        assert_eq!(one(20.0, "gpuh"), "20 gpu_hours");
        assert_eq!(in_unit(5.0, "k", "tok/s"), "5000tok/s");
        assert_eq!(in_unit(2.0, "Ki", "/s"), "2048/s");
    }

    #[test]
    fn no_unit_is_taken_for_another_that_looks_alike() {
        for other in ["mW", "Wh", "tok/m", "eur", "ns", "nJ"] {
            assert_eq!(suggest(5.0, other), Vec::<String>::new(), "{other}");
        }
        assert_eq!(suggest(70.0, "GIB"), ["70GiB"]);
        assert_eq!(suggest(10.0, "hz"), ["10/s"]);
        assert_eq!(suggest(5.0, "tk/s"), ["5tok/s"]);
        assert_eq!(suggest(5.0, "m"), ["5min", "5ms"]);
    }
}
