//! What each row of a step reaches on each of several profiles: of an objective over them the mean alone hides which moved, and without
//! one nothing stands for all.

use super::document::{Row, Step};
use super::entries::Entries;
use super::evidence::Trial;
use super::format::number;
use super::lookup::mean;
use super::phrases;
use super::style::Tone;
use super::table::Column;
use super::terminal::{Page, aligned, assemble, tone_of};
use super::wrap::clean;

/// The first line of such a column's heading; the second is the profile's title.
pub(super) const HEAD: &str = "on";

impl Page<'_, '_> {
    /// A column for each of the profiles; none of an objective over one, or where nothing was measured.
    pub(super) fn each_profile(&self, step: &Step) -> Vec<(Column, Entries)> {
        let rows: Vec<Vec<Option<f64>>> =
            step.rows.iter().map(|row| self.lookup.each_value(row).collect()).collect();
        if rows.iter().flatten().all(Option::is_none) {
            return Vec::new();
        }
        let profiles = self.lookup.each_profile().enumerate();
        let column = |(i, profile)| {
            let values: Vec<Option<f64>> = rows.iter().map(|row| row[i]).collect();
            let title = clean(self.lookup.profile_title(profile));
            (Column::number(&[HEAD, &title], 2), aligned(&values))
        };
        profiles.map(column).collect()
    }

    /// A table for each load of a study without an objective.
    pub(super) fn on_each_load(&mut self, step: &Step) {
        for profile in &self.lookup.report.profiles {
            let on = |row: &Row| {
                let first = self.lookup.trial(&row.trial)?;
                if *first.profile == *profile.name {
                    Some(first)
                } else {
                    self.lookup.same_config(first, &profile.name)
                }
            };
            let trials: Vec<Option<&Trial>> = step.rows.iter().map(on).collect();
            if trials.iter().all(Option::is_none) {
                continue;
            }
            let of = |name: &str| aligned(&trials.iter().map(|t| mean((*t)?, name)).collect::<Vec<_>>());
            let total: Vec<Option<f64>> = trials.iter().map(|t| (*t)?.metrics.get("total_tps")).collect();
            let text = |of: &dyn Fn(&Row) -> String| -> Entries { step.rows.iter().map(of).collect() };
            let outcome = |t: Option<&Trial>| {
                t.map_or_else(String::new, |t| clean(t.reason.as_deref().unwrap_or(t.outcome.word())))
            };
            let columns = vec![
                (self.first_column("candidate"), text(&|row| clean(&phrases::row_label(row)))),
                (Column::text(&["changes"], 1), text(&|row| clean(&row.changes.join(" ")))),
                (Column::number(&["total_tps", "tok/s"], 0), aligned(&total)),
                (Column::number(&["TTFT", "mean ms"], 1), of("ttft_ms")),
                (Column::number(&["TPOT", "mean ms"], 1), of("tpot_ms")),
                (Column::text(&["outcome"], 0), trials.iter().copied().map(outcome).collect()),
            ];
            let table = assemble(columns, step.rows.iter().map(|row| tone_of(step, row)).collect());
            self.paragraph("", &clean(&profile.title), Tone::Strong);
            self.table(&table);
        }
    }

    /// The same under a table that has no room for it.
    pub(super) fn each_below(&mut self, step: &Step) {
        let mut lines = Vec::new();
        for row in &step.rows {
            let named = self.lookup.each_profile().zip(self.lookup.each_value(row));
            let values = named.filter_map(|(profile, value)| {
                Some(format!("{} on {}", number(value?), self.lookup.profile_title(profile)))
            });
            let values = values.collect::<Vec<_>>().join(", ");
            if !values.is_empty() {
                lines.push(clean(&format!("{}: {values}", phrases::row_label(row))));
            }
        }
        for line in &lines {
            self.paragraph("  • ", line, Tone::Plain);
        }
    }
}
