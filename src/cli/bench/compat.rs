//! The block that `--compat` adds to the table: what other tools would have printed, a column each.

use std::fmt::Write as _;

use super::args::Percentile;
use crate::load::{Column, Columns, Dist};

/// Wide enough for the longest line of the block, and for a column.
const LABEL: usize = 32;
const CELL: usize = 14;

/// One of a tool's distributions.
type Quantity = fn(&Column) -> Option<&Dist>;

/// The block; empty where there is no column.
pub(super) fn block(columns: &Columns, percentiles: &[Percentile]) -> String {
    if columns.is_empty() {
        return String::new();
    }
    // vLLM's stand first
    let mut columns: Vec<(&str, &Column)> = columns.iter().map(|(name, column)| (&**name, column)).collect();
    columns.sort_by_key(|(name, _)| (!name.starts_with("vllm"), *name));
    let width = LABEL + CELL * columns.len();
    let mut lines = Lines(format!("{:-^width$}\n", "By the definitions of other tools"));
    lines.row("", columns.iter().map(|(name, _)| Some((*name).to_owned())));
    let mut row = |label: &str, of: &dyn Fn(&Column) -> Option<String>| {
        lines.row(label, columns.iter().map(|(_, c)| of(c)));
    };
    row("Successful requests:", &|c| Some(c.completed.to_string()));
    row("Duration (s):", &|c| Some(shown(c.duration_s)));
    row("Total input tokens:", &|c| Some(c.input_tokens.to_string()));
    row("Total generated tokens:", &|c| Some(c.output_tokens.to_string()));
    row("Request throughput (req/s):", &|c| Some(shown(c.request_rate)));
    row("Output throughput (tok/s):", &|c| c.output_tps.map(shown));
    row("Total throughput (tok/s):", &|c| c.total_tps.map(shown));
    let quantities: [(&str, Quantity); 4] = [
        ("TTFT", |c| c.ttft_ms.as_ref()),
        ("TPOT", |c| c.tpot_ms.as_ref()),
        ("ITL", |c| c.itl_ms.as_ref()),
        ("E2EL", |c| c.latency_ms.as_ref()),
    ];
    for (name, dist) in quantities {
        row(&format!("Mean {name} (ms):"), &|c| dist(c).map(|d| shown(d.mean)));
        row(&format!("Median {name} (ms):"), &|c| dist(c).map(|d| shown(d.p50)));
        for percentile in percentiles.iter().filter(|p| p.name() != "50") {
            row(&format!("P{} {name} (ms):", percentile.name()), &|c| {
                dist(c).map(|d| shown(percentile.of(d)))
            });
        }
    }
    let _ = writeln!(lines.0, "{:=<width$}", "");
    lines.0
}

fn shown(number: f64) -> String {
    format!("{number:.2}")
}

struct Lines(String);

impl Lines {
    fn row(&mut self, label: &str, cells: impl Iterator<Item = Option<String>>) {
        // writing to a string cannot fail
        let _ = write!(self.0, "{label:<LABEL$}");
        for cell in cells {
            let _ = write!(self.0, "{:>CELL$}", cell.as_deref().unwrap_or("-"));
        }
        self.0.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_fits_and_what_a_tool_does_not_tell_is_a_dash() {
        let dist = Dist::of(vec![123_456.789, 2.0]);
        let column = |tps| Column {
            completed: 1_000_000,
            failed: 0,
            duration_s: 3_600.0,
            input_tokens: 123_456_789,
            output_tokens: 123_456_789,
            request_rate: 12.345,
            output_tps: tps,
            total_tps: tps,
            ttft_ms: dist,
            tpot_ms: dist,
            itl_ms: None,
            latency_ms: dist,
        };
        let all = [("guidellm-0.5", None), ("vllm-0.11", Some(1e7)), ("vllm-0.33", Some(2e7))];
        let columns = all.map(|(name, tps)| (name.to_owned(), column(tps))).into();
        let block = block(&columns, &[Percentile::P50, Percentile::P999]);
        assert!(block.lines().all(|line| line.len() <= 80), "{block}");
        let found = |label: &str| -> Vec<&str> {
            let line = block.lines().find_map(|line| line.strip_prefix(label)).expect(label);
            line.split_whitespace().collect()
        };
        assert_eq!(found("Total throughput (tok/s):"), ["10000000.00", "20000000.00", "-"]);
        assert_eq!((found("Mean ITL (ms):"), found("P99.9 TTFT (ms):").len()), (vec!["-"; 3], 3));
        assert_eq!(block.matches("Median TTFT").count(), 1, "{block}");
        assert_eq!(super::block(&Columns::new(), &[]), "");
    }
}
