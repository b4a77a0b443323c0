//! A report document, read back: trials, steps and rows by what they are called.

use serde_json::Value;

/// A report document.
#[derive(Debug, Clone, PartialEq)]
pub struct Report(pub Value);

impl Report {
    #[track_caller]
    pub fn trial(&self, id: &str) -> &Value {
        let found = self.0["trials"].as_array().expect("trials").iter().find(|t| t["id"] == id);
        found.unwrap_or_else(|| panic!("no trial {id}"))
    }

    #[track_caller]
    pub fn step(&self, name: &str) -> &Value {
        let found = self.0["steps"].as_array().expect("steps").iter().find(|s| s["name"] == name);
        found.unwrap_or_else(|| panic!("no step {name} in {}", self.0["steps"]))
    }

    /// The row of a candidate.
    #[track_caller]
    pub fn row(&self, step: &str, label: &str) -> &Value {
        let rows = self.step(step)["rows"].as_array().expect("rows");
        let found = rows.iter().find(|r| r["role"] == "candidate" && r["label"] == label);
        found.unwrap_or_else(|| panic!("no row {label} in {rows:?}"))
    }

    #[track_caller]
    pub fn outcome(&self, step: &str, label: &str) -> &str {
        self.row(step, label)["outcome"].as_str().expect("an outcome")
    }

    #[track_caller]
    pub fn reason(&self, step: &str, label: &str) -> &str {
        self.row(step, label)["reason"].as_str().unwrap_or_default()
    }

    /// A trial's engine and flags in normal form: `toy --a=1 --fast=true`.
    #[track_caller]
    pub fn config(&self, id: &Value) -> String {
        let config = &self.trial(id.as_str().expect("an id"))["config"];
        let flags = config["flags"].as_array().expect("flags").iter();
        let flags = flags.map(|f| format!(" {}={}", f["name"].as_str().expect("a name"), f["value"]));
        config["engine"].as_str().expect("an engine").to_owned() + &flags.collect::<String>()
    }

    /// The configuration that the study goes on with after a step.
    #[track_caller]
    pub fn after(&self, step: &str) -> String {
        self.config(&self.step(step)["incumbent_after"])
    }

    #[track_caller]
    pub fn adopted(&self, step: &str) -> bool {
        self.step(step)["adopted"].as_bool().expect("adopted")
    }

    /// The step's gain as a fraction.
    #[track_caller]
    pub fn gain(&self, step: &str) -> f64 {
        self.step(step)["gain"]["value"].as_f64().unwrap_or_else(|| panic!("no gain in {}", self.step(step)))
    }

    /// The recommended command.
    pub fn recommended(&self) -> Option<&str> {
        self.0["recommended"]["command"].as_str()
    }
}
