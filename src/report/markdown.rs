//! `report.md`: the page that people publish, from its conclusion to every candidate's serve command and result.

use std::collections::HashMap;
use std::io;

use super::asking;
use super::command::wrapped_behind;
use super::document::{Direction, Recommended, Report};
use super::evidence::Trial;
use super::format::{fixed, number, percent};
use super::lookup::{Lookup, mean};
use super::md::{Markdown, cell, code, escape};
use super::phrases;
use crate::judge::scale;

/// Commands longer than this are broken at their flags.
pub(super) const COMMAND_WIDTH: usize = 100;

/// What a reader must not conclude.
const GENERAL: [&str; 2] = [
    "The steps are taken one after another from the best so far. That finds a good configuration, not surely the best \
     of all combinations.",
    "The numbers hold for this hardware, these versions and these loads.",
];

/// The whole page.
pub fn markdown(report: &Report) -> String {
    page(report, Markdown::default()).finish()
}

/// The same as it is made.
pub fn write_markdown(report: &Report, to: &mut dyn io::Write) -> io::Result<()> {
    page(report, Markdown::to(to)).end()
}

fn page<'a>(report: &'a Report, md: Markdown<'a>) -> Markdown<'a> {
    let mut page = Page { lookup: Lookup::new(report), tag: report.tag(), md, shown: HashMap::new() };
    page.heading(1, &report.title);
    for line in phrases::banner(report) {
        page.md.block(&format!("> **{}.**", escape(&phrases::capital(&line))));
    }
    page.conclusion();
    page.objective();
    page.setup();
    page.results();
    page.summary();
    page.other_cases();
    page.cost();
    page.not_checked();
    page.md
}

/// A page that is being written; its results are in `results.rs`.
pub(super) struct Page<'a> {
    pub(super) lookup: Lookup<'a>,
    pub(super) tag: Option<&'static str>,
    pub(super) md: Markdown<'a>,
    /// The heading under which a trial's command and result already stand.
    pub(super) shown: HashMap<&'a str, String>,
}

impl Page<'_> {
    pub(super) fn heading(&mut self, level: usize, text: &str) {
        self.md.heading(level, text, self.tag);
    }

    /// The heads of a table, the first with the word for what kind of numbers these are.
    pub(super) fn head(&self, names: &[&str]) -> Vec<String> {
        let first = |name: &str| self.tag.map_or_else(|| name.to_owned(), |tag| format!("{name} ({tag})"));
        names.iter().enumerate().map(|(i, name)| if i == 0 { first(name) } else { escape(name) }).collect()
    }

    /// A gain's head says when it rests on single runs.
    pub(super) fn gain_head(&self, name: &str) -> String {
        if self.lookup.report.repeat == Some(1) { format!("{name} (single run)") } else { name.to_owned() }
    }

    fn conclusion(&mut self) {
        let report = self.lookup.report;
        self.heading(2, "Conclusion");
        if !report.complete {
            let text = "not everything that the study asks for is measured";
            self.md.block(&format!("**Incomplete:** {text}; {}.", phrases::goes_on(report)));
        }
        match &report.recommended {
            Some(recommended) => self.recommended(recommended),
            None => self
                .md
                .block(&format!("**Nothing is recommended:** {}.", escape(&phrases::nothing(&self.lookup)))),
        }
        self.notes();
        if !report.warnings.is_empty() {
            self.md.block("Warnings:");
            self.md.list(&report.warnings, false);
        }
    }

    /// The study's own notes, then what holds for every recommendation that is found step by step.
    fn notes(&mut self) {
        let general: &[&str] = if self.lookup.report.recommended.is_some() { &GENERAL } else { &[] };
        let own = self.lookup.report.notes.iter().cloned();
        let notes: Vec<String> = own.chain(general.iter().map(ToString::to_string)).collect();
        if !notes.is_empty() {
            self.md.block("Notes:");
            self.md.list(&notes, true);
        }
    }

    fn recommended(&mut self, recommended: &Recommended) {
        let report = self.lookup.report;
        let on = phrases::gpus(report).map_or_else(String::new, |gpus| format!(" on {gpus}"));
        let what =
            report.objective.as_ref().map_or_else(String::new, |o| format!(" to {}", phrases::objective(o)));
        self.md.block(&escape(&format!("Recommended configuration of {}{on}{what}:", report.model)));
        let exports = asking::exports(&recommended.env);
        let command = wrapped_behind(&recommended.env, &recommended.argv, COMMAND_WIDTH, "    ");
        let lines: Vec<&str> = exports.iter().map(String::as_str).chain([command.as_str()]).collect();
        self.md.fence("bash", &lines.join("\n"));
        let mut gain = format!("**{}.**", escape(&phrases::capital(&phrases::gain(report, recommended))));
        if recommended.trial != report.baseline {
            gain.push(' ');
            gain.push_str(&escape(&phrases::certainty(report, &recommended.gain)));
        }
        self.md.block(&gain);
        self.md.list(&phrases::caveats(&self.lookup, recommended), false);
        self.cases(recommended);
    }

    /// Baseline against recommendation on the objective's profiles and on those of `confirm on`.
    fn cases(&mut self, recommended: &Recommended) {
        let lookup = &self.lookup;
        let confirm = &lookup.report.confirm;
        let after = lookup.on_objective(&recommended.trial);
        let mut rows: Vec<Vec<String>> = Vec::new();
        for before in lookup.on_objective(&lookup.report.baseline) {
            let is_confirmed = confirm.iter().any(|c| *c.profile == *before.profile);
            let optimized =
                after.iter().find(|after| after.profile == before.profile && after.id != before.id);
            if let (false, Some(after)) = (is_confirmed, optimized) {
                let values = (before.objective, after.objective);
                rows.push(self.case(before, after, values, self.ratio(before, after)));
            }
        }
        for confirm in confirm {
            if let (Some(before), Some(after)) =
                (lookup.trial(&confirm.baseline), lookup.trial(&confirm.recommended))
            {
                let values = (
                    confirm.baseline_objective.or(before.objective),
                    confirm.recommended_objective.or(after.objective),
                );
                rows.push(self.case(
                    before,
                    after,
                    values,
                    confirm.gain.as_ref().map(|gain| phrases::gain_words(lookup.report, gain)),
                ));
            }
        }
        if rows.is_empty() {
            return;
        }
        let baseline = format!("Baseline ({})", lookup.label(&lookup.report.baseline));
        let head = self.head(&["Benchmark Case", &baseline, "Optimized"]);
        self.md.block("Benchmark results before and after optimization:");
        self.md.table(&head, rows);
    }

    fn case(
        &self,
        before: &Trial,
        after: &Trial,
        (theirs, ours): (Option<f64>, Option<f64>),
        gain: Option<String>,
    ) -> Vec<String> {
        let name = format!("**{}**", escape(&self.load_title(before)));
        vec![name, self.figures(before, theirs, None), self.figures(after, ours, gain)]
    }

    /// How much better one trial is than another on the objective.
    fn ratio(&self, before: &Trial, after: &Trial) -> Option<String> {
        let (before, after) = (before.objective?, after.objective?);
        let maximize = self.lookup.report.objective.as_ref()?.direction == Direction::Maximize;
        let gain = Some(scale::gain(maximize, after, before)).filter(|gain| gain.is_finite());
        let no_ratio = if maximize { "from 0" } else { "to 0" };
        Some(gain.map_or_else(|| no_ratio.to_owned(), percent))
    }

    /// The profile's title, with the load where it has several.
    pub(super) fn load_title(&self, trial: &Trial) -> String {
        let load = trial.load.as_ref().map_or_else(String::new, |load| format!(", {load}"));
        format!("{}{load}", self.lookup.profile_title(&trial.profile))
    }

    /// "Total TPS: 11527.14 (+2.09 %)" over "Mean TPOT (ms): 15.12".
    pub(super) fn figures(&self, trial: &Trial, objective: Option<f64>, gain: Option<String>) -> String {
        let value = self.value(trial, objective).unwrap_or_else(|| trial.outcome.word().to_owned());
        let mut lines = vec![gain.map_or_else(|| value.clone(), |gain| format!("{value} ({gain})"))];
        lines.extend(mean(trial, "tpot_ms").map(|tpot| format!("Mean TPOT (ms): {}", fixed(tpot, 2))));
        cell(&lines)
    }

    /// The objective's value with its name; without an objective, the total throughput.
    fn value(&self, trial: &Trial, objective: Option<f64>) -> Option<String> {
        match &self.lookup.report.objective {
            Some(o) if o.expr != "total_tps" => {
                let unit = o.unit.as_ref().map_or_else(String::new, |unit| format!(" ({unit})"));
                objective.map(|value| format!("{}{unit}: {}", o.expr, number(value)))
            }
            Some(_) => objective.map(|value| format!("Total TPS: {}", fixed(value, 2))),
            None => trial.metrics.get("total_tps").map(|value| format!("Total TPS: {}", fixed(value, 2))),
        }
    }

    fn objective(&mut self) {
        let report = self.lookup.report;
        self.heading(2, "Optimization Objective");
        let Some(objective) = &report.objective else {
            self.md.block("None: the study measures and compares, and recommends nothing.");
            return;
        };
        let repeat = match report.repeat {
            Some(1) => "Every configuration was launched once: each gain is that of a single run.".to_owned(),
            Some(n) => format!("Every candidate was launched {n} times, unless it failed or was ruled out before: values are geometric means."),
            None => "Every candidate was launched once, near ties more often; the recommendation was proven afresh.".to_owned(),
        };
        let meaning =
            phrases::meaning(objective).map_or_else(String::new, |text| format!("; {}", code(&text)));
        self.md.block(&format!(
            "{}{meaning}. A step adopts its best valid candidate from {} on. {repeat}",
            code(&phrases::objective(objective)),
            percent(report.adopt)
        ));
        if !report.require.is_empty() {
            let all: Vec<String> = report.require.iter().map(|r| code(r)).collect();
            self.md.block(&format!("What breaks one of these is not valid: {}.", all.join("; ")));
        }
    }

    fn setup(&mut self) {
        let report = self.lookup.report;
        self.heading(2, "Experimental Setup");
        self.heading(3, "Model");
        self.md.block(&escape(&report.model));
        self.heading(3, "Hardware");
        self.md.block(&escape(
            &phrases::gpus(report).unwrap_or_else(|| "The study asks for no GPU.".to_owned()),
        ));
        self.heading(3, "Engine Version");
        self.md.list(&phrases::engines(report), false);
        self.heading(3, "Benchmark Profiles");
        let profiles: Vec<String> =
            report.profiles.iter().map(|p| format!("{} ({}): {}", p.title, p.name, p.load)).collect();
        self.md.list(&profiles, false);
        if let Some(replay) = &report.replay {
            self.heading(3, "Recording");
            let tool = replay.measured_with.as_deref().unwrap_or("a tool that it does not name");
            let text = format!(
                "{}: \"{}\", measured with {tool} on {}, not by perflab.",
                replay.recording, replay.title, replay.hardware
            );
            self.md.block(&escape(&text));
            if !replay.differences.is_empty() {
                self.md.block("It differs from the study:");
                self.md.list(&replay.differences, false);
            }
        }
    }

    fn cost(&mut self) {
        self.heading(3, "Cost");
        let parts = phrases::cost(&self.lookup.report.cost);
        let parts: Vec<String> = parts.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        self.md.list(&parts, false);
    }

    fn not_checked(&mut self) {
        if self.lookup.report.not_checked.is_empty() {
            return;
        }
        self.heading(3, "What Was Not Checked");
        self.md.list(&self.lookup.report.not_checked, false);
    }
}
