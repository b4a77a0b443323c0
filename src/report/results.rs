//! The results on the page: every step with its table, its candidates' commands and result blocks, and the summary.

use super::command::wrapped_text;
use super::document::{Direction, Role, Row, Step};
use super::evidence::{Level, Trial};
use super::format::{decimals_for, fixed};
use super::lookup::{Lookup, mean, row};
use super::markdown::{COMMAND_WIDTH, Page};
use super::md::{code, escape};
use super::phrases;
use super::result_block::result_block;

impl<'a> Page<'a> {
    /// The baseline, then every step.
    pub(super) fn results(&mut self) {
        let report = self.lookup.report;
        self.heading(2, "Experiment Results");
        let baseline = format!("Baseline: {}", self.lookup.label(&report.baseline));
        self.heading(3, &baseline);
        if let Some(trial) = self.lookup.trial(&report.baseline).filter(|trial| !trial.outcome.is_valid()) {
            let why = trial.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
            self.md.block(&escape(&format!("Outcome: {}{why}.", trial.outcome.word())));
        }
        self.trials(&report.baseline, &baseline, "Benchmark result");
        for (i, step) in report.steps.iter().enumerate() {
            let before = i.checked_sub(1).and_then(|i| report.steps.get(i));
            self.track(step, before);
            let level = if step.track.is_some() { 4 } else { 3 };
            self.heading(level, &format!("{}. {}", i + 1, self.lookup.step_title(step)));
            self.step(step, level);
        }
    }

    /// What is said once of a track, before its first step.
    fn track(&mut self, step: &'a Step, before: Option<&Step>) {
        let Some(track) = self.lookup.track(step) else { return };
        if before.is_some_and(|b| b.track == step.track) {
            return;
        }
        self.heading(3, &track.title);
        self.md.block(&escape(&format!("{}.", phrases::track(self.lookup.report, track))));
        self.md.list(&track.notes, false);
    }

    fn step(&mut self, step: &'a Step, level: usize) {
        if !step.rows.is_empty() {
            self.step_table(step);
        }
        let decision = phrases::capital(&phrases::decision(&self.lookup, step));
        self.md.block(&format!("**Result:** {}.", escape(decision.trim_end_matches('.'))));
        self.ranking(step);
        self.md.list(&step.notes, false);
        for row in step.rows.iter().filter(|row| row.role == Role::Candidate) {
            self.candidate(row, level + 1);
        }
    }

    fn step_table(&mut self, step: &'a Step) {
        let unit = self.lookup.report.objective.as_ref().and_then(|o| o.unit.as_deref());
        let name = self.lookup.report.objective.as_ref().map_or("total_tps", |o| o.expr.as_str());
        let value = format!("{name}{}", unit.map_or_else(String::new, |unit| format!(" ({unit})")));
        let gain = self.gain_head("Gain");
        let each: Vec<String> =
            self.lookup.each_profile().map(|p| format!("on {}", self.lookup.profile_title(p))).collect();
        let mut names = vec!["Candidate", "Changes", &value];
        names.extend(each.iter().map(String::as_str));
        names.extend([
            "Launches: min – max",
            &gain,
            "Between (95 %)",
            "Mean TTFT (ms)",
            "Mean TPOT (ms)",
            "Outcome",
        ]);
        let head = self.head(&names);
        // ten thousand rows are made twice rather than kept
        let lookup = &self.lookup;
        let rows = || step.rows.iter().map(|row| step_row(lookup, step, row));
        let stays = not_empty(&head, rows(), &["Launches: min – max", "Between (95 %)"]);
        self.md.table(&picked(head, &stays), rows().map(|row| picked(row, &stays)));
    }

    /// "SGLang (8403.97 tok/s) > vLLM (6595.66 tok/s)", best first.
    fn ranking(&mut self, step: &Step) {
        let Some(objective) = &self.lookup.report.objective else { return };
        let mut ranked: Vec<(&Row, f64)> = step
            .rows
            .iter()
            .filter(|row| row.outcome.is_valid())
            .filter_map(|row| Some((row, row.objective?)))
            .collect();
        ranked.sort_by(|(_, a), (_, b)| match objective.direction {
            Direction::Maximize => b.total_cmp(a),
            Direction::Minimize => a.total_cmp(b),
        });
        ranked.dedup_by(|(a, _), (b, _)| a.trial == b.trial);
        if ranked.len() < 2 {
            return;
        }
        let unit = objective.unit.as_ref().map_or_else(String::new, |unit| format!(" {unit}"));
        let ranked: Vec<String> = ranked
            .iter()
            .map(|(row, value)| format!("{} ({}{unit})", row.label, significant(*value)))
            .collect();
        self.md.block(&format!("Best first: {}", escape(&ranked.join(", then "))));
    }

    fn candidate(&mut self, row: &'a Row, level: usize) {
        self.heading(level, &row.label);
        if !row.outcome.is_valid() {
            self.md.block(&format!("Outcome: {}.", escape(phrases::outcome(row).trim_end_matches('.'))));
        }
        self.trials(&row.trial, &row.label, "Benchmark result");
    }

    /// A configuration's serve command and its results on every profile of the objective.
    fn trials(&mut self, id: &'a str, heading: &str, title: &str) {
        if let Some(place) = self.shown.get(id) {
            self.md.block(&escape(&format!("Command and result stand above, under \"{place}\".")));
            return;
        }
        self.shown.insert(id, heading.to_owned());
        for (i, trial) in self.lookup.on_objective(id).into_iter().enumerate() {
            if i == 0 {
                self.md.fence("bash", &wrapped_text(&trial.command, COMMAND_WIDTH, "    "));
            }
            self.trial(trial, title);
        }
    }

    /// A trial's block, and what the checks say of it.
    fn trial(&mut self, trial: &Trial, title: &str) {
        if let Some(block) = result_block(trial, self.tag) {
            let tag = self.tag.map_or_else(String::new, |tag| format!(" ({tag})"));
            self.md.folded(&format!("{title}, {}{tag}", self.load_title(trial)), &block);
        }
        for run in trial.runs.iter().filter(|run| !run.log_tail.is_empty()) {
            let launch = run.launch.as_deref().unwrap_or_default();
            self.md.folded(&format!("Last lines of the log, {launch}"), &run.log_tail.join("\n"));
        }
        let level = |level| match level {
            Level::Note => "note",
            Level::Flag => "flagged",
            Level::Refuse => "refused",
        };
        let findings =
            trial.findings.iter().map(|f| format!("{} by check {}: {}", level(f.level), f.check, f.text));
        self.md.list(&findings.collect::<Vec<_>>(), false);
    }

    /// The steps at a glance.
    pub(super) fn summary(&mut self) {
        if self.lookup.report.steps.is_empty() {
            return;
        }
        self.heading(3, "Summary of Optimization Options");
        let head =
            self.head(&["Optimization Option", "Best Candidate", &self.gain_head("Improvement"), "Adopted"]);
        let rows: Vec<Vec<String>> =
            self.lookup.report.steps.iter().map(|step| self.summary_row(step)).collect();
        self.md.table(&head, rows);
    }

    fn summary_row(&self, step: &Step) -> Vec<String> {
        let best = step.best.as_ref().and_then(|best| row(step, best));
        let figures = best.map(|row| match self.lookup.trial(&row.trial) {
            Some(trial) => format!("{}<br>{}", escape(&row.label), self.figures(trial, row.objective, None)),
            None => escape(&row.label),
        });
        let gain = step.gain.as_ref().map(|gain| {
            format!("{}{}", phrases::gain_words(self.lookup.report, gain), phrases::interval(gain))
        });
        let adopted = match (&step.skipped, step.adopted) {
            (Some(_), _) => "skipped".to_owned(),
            (None, true) => format!("yes: {}", self.lookup.label_in(step, &step.incumbent_after)),
            (None, false) => "no".to_owned(),
        };
        vec![
            escape(&self.lookup.step_title(step)),
            figures.unwrap_or_else(|| "–".to_owned()),
            gain.unwrap_or_else(|| "–".to_owned()),
            escape(&adopted),
        ]
    }

    /// Baseline and recommendation on every profile of `confirm on`.
    pub(super) fn other_cases(&mut self) {
        if self.lookup.report.confirm.is_empty() {
            return;
        }
        self.heading(3, "Other Benchmark Cases");
        let report = self.lookup.report;
        for confirm in &report.confirm {
            let title = self.lookup.trial(&confirm.baseline).map(|trial| self.load_title(trial));
            let title = title.unwrap_or_else(|| self.lookup.profile_title(&confirm.profile).to_owned());
            self.heading(4, &title);
            let gain = confirm.gain.as_ref().map_or_else(String::new, |gain| {
                format!(
                    ", {}{}. {}",
                    phrases::gain_words(report, gain),
                    phrases::interval(gain),
                    phrases::confirmed(report, confirm, gain)
                )
            });
            self.md.block(&format!("Verdict: {}{}", confirm.verdict.word(), escape(&gain)));
            self.side(&confirm.baseline, "Baseline", &title);
            self.side(&confirm.recommended, "Optimized", &title);
        }
    }

    fn side(&mut self, id: &'a str, side: &str, title: &str) {
        self.md.block(&format!("{side}:"));
        if let Some(place) = self.shown.get(id) {
            self.md.block(&escape(&format!("Command and result stand above, under \"{place}\".")));
            return;
        }
        let Some(trial) = self.lookup.trial(id) else { return };
        self.shown.insert(id, title.to_owned());
        self.md.fence("bash", &wrapped_text(&trial.command, COMMAND_WIDTH, "    "));
        self.trial(trial, &format!("{side} benchmark result"));
    }
}

/// A value of the objective: two decimals, more for what would vanish.
fn significant(value: f64) -> String {
    fixed(value, decimals_for([value]).max(2))
}

/// One row of a step's table.
fn step_row(lookup: &Lookup<'_>, step: &Step, row: &Row) -> Vec<String> {
    let trial = lookup.trial(&row.trial);
    let with_objective = lookup.report.objective.is_some();
    let value = if with_objective { row.objective } else { trial.and_then(|t| t.metrics.get("total_tps")) };
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| fixed(value, 2));
    let mean = |metric| number(trial.and_then(|trial| mean(trial, metric)));
    let mut cells = vec![
        escape(&phrases::row_label(row)),
        row.changes.iter().map(|change| code(change)).collect::<Vec<_>>().join(" "),
        value.map_or_else(String::new, significant),
    ];
    cells.extend(lookup.each_value(row).map(|value| value.map_or_else(String::new, significant)));
    cells.extend([
        phrases::spread(row, &[value]),
        phrases::row_gain_words(step, row),
        phrases::row_interval(row),
        mean("ttft_ms"),
        mean("tpot_ms"),
        escape(&phrases::outcome(row)),
    ]);
    cells
}

/// Which columns stay: all but those that may go and have nothing in any row.
fn not_empty(head: &[String], rows: impl Iterator<Item = Vec<String>>, may_go: &[&str]) -> Vec<bool> {
    let mut stays: Vec<bool> = head.iter().map(|name| !may_go.contains(&name.as_str())).collect();
    for row in rows {
        for (stays, cell) in stays.iter_mut().zip(&row) {
            *stays |= !cell.is_empty();
        }
    }
    stays
}

fn picked(cells: Vec<String>, stays: &[bool]) -> Vec<String> {
    cells.into_iter().zip(stays).filter_map(|(cell, stays)| stays.then_some(cell)).collect()
}
