//! Numbers as engineers read them: four to five significant digits, thousands apart, percents with their sign,
//! durations in two units. What is not finite was not measured and is a dash.

/// Stands for a value that is not there.
pub const NONE: &str = "–";

/// A lone number: 11,527 · 6,499.4 · 51.350 · 0.33125 · 1.2346e-7.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    if value != 0.0 && !(1e-4..1e15).contains(&value.abs()) {
        return format!("{value:.4e}");
    }
    let text = grouped(value, significant(value, 5));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A number with that many decimals and no separators, as benchmark tools print it.
pub fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    without_negative_zero(format!("{value:.decimals$}"))
}

/// A number with that many decimals and its thousands apart: 11,527.14.
pub fn grouped(value: f64, decimals: usize) -> String {
    let text = fixed(value, decimals);
    let (sign, rest) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
    let (whole, fraction) = rest.split_once('.').map_or((rest, ""), |(whole, fraction)| (whole, fraction));
    if !whole.bytes().all(|b| b.is_ascii_digit()) {
        return text;
    }
    let mut out = sign.to_owned();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// The decimals that a column of such values shares, so that its points stand under each other: the largest keeps
/// four significant digits, the smallest at least two.
pub fn decimals_for(values: impl IntoIterator<Item = f64>) -> usize {
    let sizes = values.into_iter().filter(|v| v.is_finite() && *v != 0.0).map(f64::abs);
    let Some((least, most)) = sizes.fold(None, |range, v| match range {
        None => Some((v, v)),
        Some((least, most)) => Some((v.min(least), v.max(most))),
    }) else {
        return 0;
    };
    significant(most, 4).max(significant(least, 2)).min(6)
}

/// A gain with its sign: 0.0209 is "+2.09 %"; what rounds to nothing has none.
pub fn percent(fraction: f64) -> String {
    let text = share_with(fraction, percent_decimals(fraction));
    let is_zero = !text.bytes().any(|b| (b'1'..=b'9').contains(&b));
    if !fraction.is_finite() || is_zero || text.starts_with('-') { text } else { format!("+{text}") }
}

/// A share without a sign: 0.515 is "51.5 %".
pub fn share(fraction: f64) -> String {
    if !fraction.is_finite() {
        return NONE.to_owned();
    }
    let text = fixed(fraction * 100.0, 2);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Seconds in at most two units: "820 ms", "53.7 s", "1 min 12 s", "3 h 05 min", "2 d 04 h".
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() {
        return NONE.to_owned();
    }
    if seconds < 0.0 {
        return format!("-{}", duration(-seconds));
    }
    if seconds == 0.0 {
        return "0 s".to_owned();
    }
    if seconds < 0.9995 {
        return if seconds < 0.01 {
            format!("{:.2} ms", seconds * 1e3)
        } else {
            format!("{:.0} ms", seconds * 1e3)
        };
    }
    if seconds < 59.95 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round();
    if whole < 3600.0 {
        return two_units(whole / 60.0, 60.0, "min", "s");
    }
    let minutes = (seconds / 60.0).round();
    if minutes < 48.0 * 60.0 {
        return two_units(minutes / 60.0, 60.0, "h", "min");
    }
    two_units((seconds / 3600.0).round() / 24.0, 24.0, "d", "h")
}

/// Joules as watt hours, the unit of the bill.
pub fn energy(joules: f64) -> String {
    let hours = joules / 3600.0;
    if hours.abs() < 1000.0 {
        format!("{} Wh", number(hours))
    } else {
        format!("{} kWh", number(hours / 1000.0))
    }
}

/// Decimals that leave `digits` significant ones.
fn significant(value: f64, digits: i32) -> usize {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    let mut magnitude = value.abs().log10().floor() as i32;
    // 9,999.96 becomes 10,000 when rounded: one decimal fewer
    let decimals = digits - 1 - magnitude;
    if (0..=12).contains(&decimals) {
        let scale = 10f64.powi(decimals);
        if (value.abs() * scale).round() >= 10f64.powi(digits) {
            magnitude += 1;
        }
    }
    usize::try_from(digits - 1 - magnitude).unwrap_or(0)
}

fn percent_decimals(fraction: f64) -> usize {
    match (fraction * 100.0).abs() {
        p if p < 100.0 => 2,
        p if p < 10_000.0 => 1,
        _ => 0,
    }
}

fn share_with(fraction: f64, decimals: usize) -> String {
    if !fraction.is_finite() {
        return NONE.to_owned();
    }
    format!("{} %", grouped(fraction * 100.0, decimals))
}

fn without_negative_zero(text: String) -> String {
    match text.strip_prefix('-') {
        Some(rest) if !rest.bytes().any(|b| (b'1'..=b'9').contains(&b)) => rest.to_owned(),
        _ => text,
    }
}

fn two_units(value: f64, per: f64, big: &str, small: &str) -> String {
    let all = (value * per).round();
    let (high, low) = ((all / per).floor(), all % per);
    if low == 0.0 { format!("{high} {big}") } else { format!("{high} {big} {low:02} {small}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (11_527.14, "11,527"),
            (-11_527.14, "-11,527"),
            (6499.41, "6,499.4"),
            (9999.96, "10,000"),
            (99_999.6, "100,000"),
            (51.35, "51.35"),
            (0.331_25, "0.33125"),
            (1.0, "1"),
            (1_234_567.0, "1,234,567"),
            (1.234_56e-7, "1.2346e-7"),
            (2e18, "2.0000e18"),
            (f64::NAN, "–"),
            (f64::INFINITY, "–"),
        ];
        for (value, expected) in cases {
            assert_eq!(number(value), expected);
        }
    }

    #[test]
    fn percents() {
        let cases = [
            (0.0209, "+2.09 %"),
            (-0.0262, "-2.62 %"),
            (0.0, "0.00 %"),
            (-0.000_01, "0.00 %"),
            (0.000_05, "+0.01 %"),
            (1.913, "+191.3 %"),
            (123.456, "+12,346 %"),
            (-1.0, "-100.0 %"),
            (f64::NAN, "–"),
        ];
        for (value, expected) in cases {
            assert_eq!(percent(value), expected);
        }
        assert_eq!(share(0.515), "51.5 %");
        assert_eq!(share(1.0), "100 %");
        assert_eq!(share(0.005), "0.5 %");
        assert_eq!(share(0.0), "0 %");
        assert_eq!(share(f64::NAN), "–");
    }

    #[test]
    fn durations() {
        let cases = [
            (0.0, "0 s"),
            (0.000_12, "0.12 ms"),
            (0.82, "820 ms"),
            (0.9996, "1.0 s"),
            (53.72, "53.7 s"),
            (59.96, "1 min"),
            (72.0, "1 min 12 s"),
            (3599.7, "1 h"),
            (11_100.0, "3 h 05 min"),
            (187_200.0, "2 d 04 h"),
            (-72.0, "-1 min 12 s"),
            (f64::NAN, "–"),
        ];
        for (value, expected) in cases {
            assert_eq!(duration(value), expected, "{value}");
        }
    }

    #[test]
    fn columns_share_their_decimals() {
        assert_eq!(decimals_for([11_527.14, 6499.41]), 0);
        assert_eq!(decimals_for([138.86, 15.12]), 1);
        assert_eq!(decimals_for([10_000.0, 0.33]), 2);
        assert_eq!(decimals_for([10_000.0, 1e-9]), 6);
        assert_eq!(decimals_for([0.0, f64::NAN]), 0);
        assert_eq!(decimals_for([]), 0);
    }

    #[test]
    fn groups_thousands() {
        assert_eq!(grouped(1_234_567.891, 2), "1,234,567.89");
        assert_eq!(grouped(-999.0, 0), "-999");
        assert_eq!(grouped(-0.001, 2), "0.00");
        assert_eq!(fixed(f64::NEG_INFINITY, 2), "–");
        assert_eq!(energy(3_600_000.0), "1 kWh");
        assert_eq!(energy(1800.0), "0.5 Wh");
    }
}
