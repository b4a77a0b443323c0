//! Prometheus' text form, as far as servers' pages of metrics need it.

/// The sum of a series over what it is broken down by: replicas, models, kinds of memory. One that is itself a total counts alone.
pub fn sum(page: &str, name: &str) -> Option<f64> {
    let totals = samples(page, name).filter(|(labels, _)| labels.contains("=\"total\""));
    let all = samples(page, name).map(|(_, value)| value);
    totals.map(|(_, value)| value).reduce(|a, b| a + b).or_else(|| all.reduce(|a, b| a + b))
}

/// The highest value of a series.
pub(super) fn highest(page: &str, name: &str) -> Option<f64> {
    samples(page, name).map(|(_, value)| value).reduce(f64::max)
}

fn samples<'p>(page: &'p str, name: &str) -> impl Iterator<Item = (&'p str, f64)> {
    let said = page.lines().filter_map(move |line| sample(line.strip_prefix(name)?));
    // what is not known yet is written as one that no quantity of ours can be
    said.filter(|(_, value)| value.is_finite() && *value >= 0.0)
}

/// A line's series with its labels, and its value.
pub(super) fn parsed(line: &str) -> Option<(&str, f64)> {
    let end = line.rfind('}').map(|at| at + 1).or_else(|| line.find(' '))?;
    let (series, rest) = line.split_at(end);
    Some((series, rest.split_whitespace().next()?.parse().ok()?))
}

/// Labels and value of what follows a series' name.
fn sample(rest: &str) -> Option<(&str, f64)> {
    let (labels, value) = match rest.strip_prefix('{') {
        Some(inner) => inner.rsplit_once('}')?,
        None => ("", rest.strip_prefix(' ')?),
    };
    Some((labels, value.split_whitespace().next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_summed_over_its_labels_and_no_other_is() {
        let page = "# TYPE a gauge\na{x=\"{0}\"} 1.5\na{x=\"1\"} 2 1795235710\na_total 9\nab 9\na 4e0\n";
        assert_eq!((sum(page, "a"), highest(page, "a"), sum(page, "b")), (Some(7.5), Some(4.0), None));
        let parts = "c{source=\"total\"} 5\nc{source=\"device\"} 3\nc{source=\"host\"} 2\n";
        assert_eq!(sum(parts, "c"), Some(5.0));
        assert_eq!(sum("d\nd{\nd{} x\nd ", "d"), None);
        let unknown = "e{x=\"0\"} NaN\ne{x=\"1\"} +Inf\ne{x=\"2\"} -1\n";
        assert_eq!((sum(unknown, "e"), highest(unknown, "e")), (None, None));
        assert_eq!(sum(&format!("{unknown}e 3\n"), "e"), Some(3.0));
    }
}
