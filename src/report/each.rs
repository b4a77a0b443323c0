//! What each row of a step reaches on each profile of an objective over several: the mean alone hides which of them moved.

use super::document::Step;
use super::entries::Entries;
use super::format::number;
use super::phrases;
use super::style::Tone;
use super::table::Column;
use super::terminal::{Page, aligned};
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
