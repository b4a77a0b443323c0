//! The report on a terminal: what was asked, a table for every step, what came of it, what it cost.

use std::io;
use std::path::Path;

use super::document::{Objective, Recommended, Report, Row, Step, Verdict};
use super::entries::Entries;
use super::evidence::{Outcome, Trial};
use super::format::{decimals_for, grouped};
use super::lookup::{Lookup, mean};
use super::phrases;
use super::sink::Sink;
use super::style::{Style, Tone};
use super::table::{Column, Kind, Table};
use super::wrap::{clean, hanging, wrap};
use super::{asking, command, each};

/// Outcomes that take more lines than this in their column stand under the table instead.
const TALLEST: usize = 5;
/// An objective stands over its column in lines of this width at most, as far as its words let it.
const WIDEST_HEAD: usize = 18;

/// The whole report as lines for a terminal of that style, with a final newline. `files` is the directory in which
/// its files lie, if they do.
pub fn terminal(report: &Report, style: Style, files: Option<&Path>) -> String {
    page(report, style, files, Sink::default()).held()
}

/// The same as it is made.
pub fn write_terminal(
    report: &Report,
    style: Style,
    files: Option<&Path>,
    to: &mut dyn io::Write,
) -> io::Result<()> {
    page(report, style, files, Sink::to(to)).end()
}

fn page<'w>(report: &Report, style: Style, files: Option<&Path>, out: Sink<'w>) -> Sink<'w> {
    let mut page = Page { lookup: Lookup::new(report), style, out };
    page.header();
    for (i, step) in report.steps.iter().enumerate() {
        let before = i.checked_sub(1).and_then(|i| report.steps.get(i));
        page.track(step, before);
        page.step(i + 1, step);
    }
    page.baseline();
    page.confirm();
    page.recommendation();
    page.again();
    page.cost();
    page.files(files);
    page.out
}

pub(super) struct Page<'a, 'w> {
    pub(super) lookup: Lookup<'a>,
    style: Style,
    out: Sink<'w>,
}

impl Page<'_, '_> {
    fn header(&mut self) {
        let report = self.lookup.report;
        self.heading(&report.title);
        self.facts(&[("study", format!("{}, {}, perflab {}", report.study, report.file, report.perflab))]);
        for line in phrases::banner(report) {
            self.paragraph("", &line, Tone::Caution);
        }
        if !report.complete {
            self.paragraph("", &format!("incomplete: {}", phrases::goes_on(report)), Tone::Caution);
        }
        self.line("");
        let objective = |o: &Objective| {
            let meaning = phrases::meaning(o).map_or_else(String::new, |meaning| format!("; {meaning}"));
            format!("{}{meaning}", phrases::objective(o))
        };
        let loads: Vec<String> = report.profiles.iter().map(|p| format!("{}: {}", p.title, p.load)).collect();
        self.facts(&[
            ("model", report.model.clone()),
            ("GPUs", phrases::gpus(report).unwrap_or_default()),
            ("engines", phrases::engines(report).join(", ")),
            ("objective", report.objective.as_ref().map_or_else(|| "none".to_owned(), objective)),
            ("requires", report.require.join("; ")),
            ("baseline", self.lookup.label(&report.baseline).to_owned()),
            ("loads", loads.join("; ")),
        ]);
        let differences = report.replay.iter().flat_map(|replay| &replay.differences);
        for difference in differences {
            self.paragraph("differs: ", difference, Tone::Caution);
        }
        for warning in &report.warnings {
            self.paragraph("warning: ", warning, Tone::Caution);
        }
        for note in &report.notes {
            self.paragraph("note: ", note, Tone::Plain);
        }
    }

    /// What is said once of a track, before its first step.
    fn track(&mut self, step: &Step, before: Option<&Step>) {
        let Some(track) = self.lookup.track(step) else { return };
        if before.is_some_and(|b| b.track == step.track) {
            return;
        }
        self.line("");
        self.heading(&phrases::track(self.lookup.report, track));
        for note in &track.notes {
            self.paragraph("  note: ", note, Tone::Plain);
        }
    }

    fn step(&mut self, number: usize, step: &Step) {
        let count = self.lookup.report.steps.len();
        self.line("");
        self.heading(&format!("{number}/{count}  {}", self.lookup.step_title(step)));
        if self.lookup.compares_loads() {
            self.on_each_load(step);
        } else if !step.rows.is_empty() {
            let mut each = self.each_profile(step);
            let mut table = self.step_table(step, &each, phrases::outcome);
            // some of the profiles alone would tell less than all of them below
            if !each.is_empty() && !table.keeps(each::HEAD, self.style.width()) {
                each.clear();
                table = self.step_table(step, &each, phrases::outcome);
            }
            let below = each.is_empty();
            let tallest = table.tallest(table.columns.len() - 1, self.style.width());
            if tallest <= TALLEST && !(tallest > 1 && leaves_out_alike(step)) {
                self.table(&table);
            } else {
                drop(table);
                let short = self.step_table(step, &each, |row| row.outcome.word().to_owned());
                self.table(&short);
                self.reasons(step);
            }
            if below {
                self.each_below(step);
            }
        }
        let tone = if step.adopted { Tone::Good } else { Tone::Plain };
        let decision = phrases::decision(&self.lookup, step);
        self.paragraph("→ ", &decision, tone);
        for note in &step.notes {
            self.paragraph("  note: ", note, Tone::Plain);
        }
    }

    /// The outcomes of a table that has no room for them; rows with the same one share a line.
    fn reasons(&mut self, step: &Step) {
        let mut said: Vec<(String, Vec<String>, Tone)> = Vec::new();
        for row in step.rows.iter().filter(|row| row.reason.is_some() || row.same_as.is_some()) {
            let (text, label) = (clean(&phrases::outcome(row)), clean(&phrases::row_label(row)));
            match said.iter_mut().find(|(t, _, _)| *t == text) {
                Some((_, labels, _)) => labels.push(label),
                None => said.push((text, vec![label], tone_of(step, row))),
            }
        }
        for (text, labels, tone) in said {
            self.paragraph("  • ", &format!("{}: {text}", labels.join(", ")), tone);
        }
    }

    fn step_table(&self, step: &Step, each: &[(Column, Entries)], outcome: impl Fn(&Row) -> String) -> Table {
        let trials: Vec<Option<&Trial>> = step.rows.iter().map(|row| self.lookup.trial(&row.trial)).collect();
        let rows = || step.rows.iter().zip(&trials);
        let values: Vec<Option<f64>> = rows().map(|(row, trial)| self.value(row, *trial)).collect();
        let means =
            |name| -> Vec<Option<f64>> { trials.iter().map(|t| t.and_then(|t| mean(t, name))).collect() };
        let (ttft, tpot) = (means("ttft_ms"), means("tpot_ms"));
        let text = |of: &dyn Fn(&Row) -> String| -> Entries { step.rows.iter().map(of).collect() };
        let mut columns = vec![
            (self.first_column("candidate"), text(&|row| clean(&phrases::row_label(row)))),
            (Column::text(&["changes"], 1), text(&|row| clean(&row.changes.join(" ")))),
            (self.value_column(), aligned(&values)),
        ];
        columns.extend(each.iter().cloned());
        if self.lookup.report.objective.is_some() {
            let spreads = text(&|row| phrases::spread(row, &values));
            columns.push((Column::text(&["launches,", "min – max"], 0), spreads));
            let gains = text(&|row| phrases::row_gain_words(step, row));
            let head = if self.lookup.report.repeat == Some(1) { &["gain", "1 run"][..] } else { &["gain"] };
            columns.push((Column::number(head, 0), gains));
            columns.push((Column::text(&["between", "(95 %)"], 0), text(&phrases::row_interval)));
        }
        columns.push((Column::number(&["TTFT", "mean ms"], 2), aligned(&ttft)));
        columns.push((Column::number(&["TPOT", "mean ms"], 3), aligned(&tpot)));
        columns.push((Column::text(&["outcome"], 0), text(&|row| clean(&outcome(row)))));
        assemble(columns, step.rows.iter().map(|row| tone_of(step, row)).collect())
    }

    /// A row's value on the objective; without one, its total throughput.
    fn value(&self, row: &Row, trial: Option<&Trial>) -> Option<f64> {
        match self.lookup.report.objective {
            Some(_) => row.objective,
            None => trial.and_then(|trial| trial.metrics.get("total_tps")),
        }
    }

    fn value_column(&self) -> Column {
        match &self.lookup.report.objective {
            Some(objective) => {
                // a long expression takes no room from what is under other headings
                let mut head = wrap(&objective.expr, WIDEST_HEAD);
                head.extend(objective.unit.clone().filter(|unit| !unit.is_empty()));
                Column { head, kind: Kind::Number, spare: 0 }
            }
            None => Column::number(&["total_tps", "tok/s"], 0),
        }
    }

    /// The first column's heading carries the word that says what kind of numbers stand in the table.
    pub(super) fn first_column(&self, head: &str) -> Column {
        match self.lookup.report.tag() {
            Some(tag) => Column::text(&[head, &format!("({tag})")], 0),
            None => Column::text(&[head], 0),
        }
    }

    /// What a study without candidates measures: its baseline, on each profile.
    fn baseline(&mut self) {
        let report = self.lookup.report;
        let trials = self.lookup.on_objective(&report.baseline);
        if report.objective.is_some() || !report.steps.is_empty() || trials.is_empty() {
            return;
        }
        self.line("");
        self.heading("Baseline on each profile");
        let of = |name: &str| -> Vec<Option<f64>> { trials.iter().map(|t| mean(t, name)).collect() };
        let total: Vec<Option<f64>> = trials.iter().map(|t| t.metrics.get("total_tps")).collect();
        let names = trials.iter().map(|t| clean(self.lookup.profile_title(&t.profile)));
        let outcomes = trials.iter().map(|t| clean(t.reason.as_deref().unwrap_or(t.outcome.word())));
        let columns = vec![
            (self.first_column("profile"), names.collect()),
            (Column::number(&["total_tps", "tok/s"], 0), aligned(&total)),
            (Column::number(&["TTFT", "mean ms"], 1), aligned(&of("ttft_ms"))),
            (Column::number(&["TPOT", "mean ms"], 1), aligned(&of("tpot_ms"))),
            (Column::text(&["outcome"], 0), outcomes.collect()),
        ];
        let tones = trials.iter().map(|_| Tone::Plain).collect();
        self.table(&assemble(columns, tones));
    }

    fn confirm(&mut self) {
        let report = self.lookup.report;
        if report.confirm.is_empty() {
            return;
        }
        self.line("");
        self.heading("Baseline and recommendation on each profile");
        let rows = &report.confirm;
        let of =
            |id: &str| self.lookup.trial(id).and_then(|t| t.objective.or_else(|| t.metrics.get("total_tps")));
        // what the steps measured says nothing of what failed since
        let of_baseline = |row: &super::document::Confirm| {
            if row.baseline_failed.is_some() { None } else { of(&row.baseline) }
        };
        let baseline: Vec<Option<f64>> =
            rows.iter().map(|row| row.baseline_objective.or_else(|| of_baseline(row))).collect();
        let of_recommended = |row: &super::document::Confirm| {
            if row.verdict == Verdict::Failed { None } else { of(&row.recommended) }
        };
        let recommended: Vec<Option<f64>> =
            rows.iter().map(|row| row.recommended_objective.or_else(|| of_recommended(row))).collect();
        let unit = report.objective.as_ref().and_then(|o| o.unit.clone()).unwrap_or_default();
        let gain = |row: &super::document::Confirm| {
            row.gain.as_ref().map_or_else(String::new, |g| {
                format!("{}{}", phrases::gain_words(report, g), phrases::interval(g))
            })
        };
        let verdict = |row: &super::document::Confirm| row.verdict.word().to_owned();
        let columns = vec![
            (
                self.first_column("profile"),
                rows.iter().map(|r| clean(self.lookup.profile_title(&r.profile))).collect(),
            ),
            (Column::number(&["baseline", &unit], 0), aligned(&baseline)),
            (Column::number(&["recommended", &unit], 0), aligned(&recommended)),
            (Column::text(&["gain"], 0), rows.iter().map(gain).collect()),
            (Column::text(&["verdict"], 0), rows.iter().map(verdict).collect()),
        ];
        let tones: Vec<Tone> = rows.iter().map(|row| verdict_tone(row.verdict)).collect();
        self.table(&assemble(columns, tones));
        let sure: Vec<(&str, String)> = rows
            .iter()
            .filter_map(|row| Some((row, row.gain.as_ref()?)))
            .map(|(row, gain)| {
                (self.lookup.profile_title(&row.profile), phrases::confirmed(report, row, gain))
            })
            .collect();
        // what holds for all is said once
        if let Some((_, first)) = sure.first() {
            if sure.iter().all(|(_, sentence)| sentence == first) {
                self.paragraph("", first, Tone::Plain);
            } else {
                for (profile, sentence) in &sure {
                    self.paragraph("", &format!("{profile}: {sentence}"), Tone::Plain);
                }
            }
        }
    }

    fn recommendation(&mut self) {
        let report = self.lookup.report;
        self.line("");
        let tag = report.tag().map_or_else(String::new, |tag| format!(" ({tag})"));
        match &report.recommended {
            None => {
                self.heading(&format!("Recommendation{tag}"));
                let why = format!("nothing is recommended: {}", phrases::nothing(&self.lookup));
                self.paragraph("", &why, Tone::Bad);
            }
            Some(recommended) => self.recommended(recommended, &tag),
        }
    }

    fn recommended(&mut self, recommended: &Recommended, tag: &str) {
        let report = self.lookup.report;
        self.heading(&format!("Recommended serve command{tag}"));
        self.line("");
        for export in asking::exports(&recommended.env) {
            self.line(&format!("    {export}"));
        }
        let width = self.style.width().saturating_sub(4);
        let command = command::wrapped_behind(&recommended.env, &recommended.argv, width, "        ");
        self.line(&self.style.paint(Tone::Strong, &format!("    {command}")));
        self.line("");
        self.paragraph("", &phrases::gain(report, recommended), Tone::Good);
        if recommended.trial != report.baseline {
            self.paragraph("", &phrases::certainty(report, &recommended.gain), Tone::Plain);
        }
        for caveat in phrases::caveats(&self.lookup, recommended) {
            self.paragraph("", &caveat, Tone::Caution);
        }
    }

    /// How a failure is measured again whose cause perflab does not see.
    fn again(&mut self) {
        if let Some(text) = phrases::again(self.lookup.report) {
            self.line("");
            self.paragraph("", &text, Tone::Plain);
        }
    }

    fn cost(&mut self) {
        let report = self.lookup.report;
        self.line("");
        let parts: Vec<String> =
            phrases::cost(&report.cost).iter().map(|(name, value)| format!("{name} {value}")).collect();
        self.paragraph("cost: ", &parts.join(", "), Tone::Plain);
        if !report.not_checked.is_empty() {
            self.paragraph("not checked: ", &report.not_checked.join("; "), Tone::Plain);
        }
    }

    fn files(&mut self, files: Option<&Path>) {
        let Some(dir) = files else { return };
        let script = if self.lookup.report.recommended.is_some() { ", recommended.sh" } else { "" };
        self.paragraph(
            "files: ",
            &format!("{} (report.md, report.json{script})", dir.display()),
            Tone::Plain,
        );
    }

    fn heading(&mut self, text: &str) {
        for line in hanging("", text, self.style.width()) {
            self.line(&self.style.paint(Tone::Strong, &line));
        }
    }

    /// Text under a prefix, wrapped to the terminal.
    pub(super) fn paragraph(&mut self, prefix: &str, text: &str, tone: Tone) {
        for line in hanging(prefix, text, self.style.width()) {
            self.line(&self.style.paint(tone, &line));
        }
    }

    /// Names and values under each other; what is empty is left out.
    fn facts(&mut self, facts: &[(&str, String)]) {
        for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
            self.paragraph(&format!("{name:<11}"), value, Tone::Plain);
        }
    }

    fn line(&mut self, text: &str) {
        self.out.line(text);
    }

    pub(super) fn table(&mut self, table: &Table) {
        let out = &mut self.out;
        table.draw(self.style, |line| out.line(line));
    }
}

/// A column of numbers with common decimals; empty where there is none.
pub(super) fn aligned(values: &[Option<f64>]) -> Entries {
    let decimals = decimals_for(values.iter().copied().flatten());
    values.iter().map(|value| value.map_or_else(String::new, |value| grouped(value, decimals))).collect()
}

/// A table of the columns in which something stands.
pub(super) fn assemble(mut columns: Vec<(Column, Entries)>, tones: Vec<Tone>) -> Table {
    columns.retain(|(_, entries)| entries.iter().any(|entry| !entry.is_empty()));
    Table { columns, tones }
}

pub(super) fn tone_of(step: &Step, row: &Row) -> Tone {
    match row.outcome {
        _ if step.adopted && *row.trial == *step.incumbent_after => Tone::Good,
        Outcome::Ok => Tone::Plain,
        Outcome::Flagged => Tone::Caution,
        Outcome::Refused | Outcome::Failed => Tone::Bad,
        Outcome::Pruned | Outcome::Missing => Tone::Quiet,
    }
}

/// Whether what a budget has no room for has one reason in several rows: it is read once, and not row by row.
fn leaves_out_alike(step: &Step) -> bool {
    let mut reasons = step.rows.iter().filter(|row| row.outcome == Outcome::Missing);
    let first = reasons.find_map(|row| row.reason.as_ref());
    first.is_some_and(|first| reasons.any(|row| row.reason.as_ref() == Some(first)))
}

fn verdict_tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Better => Tone::Good,
        Verdict::Same => Tone::Plain,
        Verdict::Worse | Verdict::Failed => Tone::Bad,
        Verdict::Unproven => Tone::Caution,
    }
}
