//! `--budget`: what a study may cost, and the question before one that costs much.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use super::again::Aside;
use super::console::Console;
use super::guess::{self, SLOW_TPS};
use crate::judge::forecast::{Costs, Forecast, forecast};
use crate::judge::{Grid, Next, Results, Setup, Strategy as _};
use crate::lang::sema::program::Budget;
use crate::run::Execution;

/// From here on a study without a budget is asked about. GPU hours.
const CONSENT_FROM: f64 = 8.0;
/// From here on a study is long: what a short trial of the load generator can save is worth it. GPU hours.
const LONG_FROM: f64 = 1.0;

/// `6h`, `90min`, `6gpu_hours`, `20usd`, `48trials`, with or without a space.
pub fn parse(text: &str) -> Result<Budget, String> {
    let text = text.trim();
    let at = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let wrong = || "write for example 6h, 90min, 6gpu_hours, 20usd or 48trials".to_owned();
    let unit = unit.trim().to_ascii_lowercase();
    let amount: f64 = number.parse().map_err(|_| wrong())?;
    if !(amount.is_finite() && amount > 0.0) {
        return Err("a budget is above zero".to_owned());
    }
    Ok(match unit.as_str() {
        "s" => Budget::Seconds(amount),
        "min" | "minutes" => Budget::Seconds(amount * 60.0),
        "h" | "hours" => Budget::Seconds(amount * 3600.0),
        "m" => return Err(format!("`m` is no unit: minutes are written {number}min")),
        "gpu_hours" | "gpu_hour" | "gpu-hours" | "gpuh" => Budget::GpuSeconds(amount * 3600.0),
        "usd" => Budget::Usd(amount),
        "trials" | "trial" if amount.fract() == 0.0 => Budget::Trials(amount),
        "trials" | "trial" => return Err("a budget counts whole trials".to_owned()),
        _ => return Err(wrong()),
    })
}

/// What keeps a budget from being held here: a message and its help.
pub fn trouble(x: &Execution<'_>) -> Option<(String, &'static str)> {
    let study = x.study;
    let own = study.steps.iter().filter_map(|s| s.budget).chain(study.tracks.iter().filter_map(|t| t.budget));
    let no_gpus = study.gpus.is_none();
    for budget in x.budget.into_iter().chain(own) {
        match budget {
            Budget::Usd(_) if x.site.price_per_s.is_none() => {
                let message = format!("a budget of {budget} needs the price of a GPU hour");
                return Some((message, "write for example `price 2.99usd/h` in the site"));
            }
            Budget::GpuSeconds(_) | Budget::Usd(_) if no_gpus => {
                let message = format!("a budget of {budget} is never spent: the study asks for no GPUs");
                return Some((message, "state `gpus N` in the study, or a budget in hours"));
            }
            _ => {}
        }
    }
    None
}

/// Why nothing is to be put aside: no budget has room for a launch that would measure it again. A message and its help.
pub fn no_room(x: &Execution<'_>, aside: &Aside) -> Option<(String, &'static str)> {
    if !aside.is_any() {
        return None;
    }
    let results = aside.leaves(x);
    let setup = Setup::new(x.program, x.study, &results, x.checks, false);
    let (walk, next) = Grid.next(&setup);
    let Next::Run(wanted) = next else { return None };
    let refused = crate::run::refused(x, &setup, &walk, &wanted, &[]);
    let (_, why) = refused.first().filter(|_| refused.len() == wanted.len())?;
    let message = format!("nothing would be measured again: {why}");
    Some((message, "give a larger budget; what was measured stays as it is until then"))
}

/// Asks before a study that is predicted to cost much and has no budget. False: nothing is to be launched.
pub fn consents(x: &Execution<'_>, results: impl Fn() -> Results, yes: bool, console: Console) -> bool {
    let predicted = predicted_gpu_hours(x, results).filter(|p| needs_consent(p.hours, x.budget.is_some()));
    let Some(Predicted { hours, known }) = predicted else { return true };
    if yes {
        return true;
    }
    let usd = x.site.price_per_s.map(|price| format!(" ({:.0} USD)", hours * 3600.0 * price));
    let usd = usd.unwrap_or_default();
    let what = if known {
        format!("the study is predicted to take up to {hours:.1} GPU hours{usd} and has no budget")
    } else {
        format!(
            "how long launches of this engine take is not known; with the whole patience of each start and {SLOW_TPS} tokens a \
             second for each client the study takes {hours:.1} GPU hours{usd}, and it has no budget"
        )
    };
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        console.error(&what, "`--yes` goes ahead, `--budget 8gpu_hours` bounds it");
        return false;
    }
    let _ = write!(std::io::stderr(), "{what}. Go ahead? [y/N] ");
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    let agreed = read.is_ok() && ["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str());
    if !agreed {
        console.say("nothing was launched");
    }
    agreed
}

/// Whether what is still to come is predicted to be long; where nothing is known, whether it would be asked about.
pub fn is_long(x: &Execution<'_>, results: impl Fn() -> Results) -> bool {
    let bar = |known| if known { LONG_FROM } else { CONSENT_FROM };
    predicted_gpu_hours(x, results).is_some_and(|p| p.hours > bar(p.known))
}

fn needs_consent(gpu_hours: f64, has_budget: bool) -> bool {
    gpu_hours > CONSENT_FROM && !has_budget
}

/// What everything that is still to come may take.
struct Predicted {
    hours: f64,
    /// from launches or by the simulator; else it is reckoned for a slow server
    known: bool,
}

/// Simulated studies hold no GPU, and of studies without GPUs no results are gathered: there may be many.
fn predicted_gpu_hours(x: &Execution<'_>, results: impl Fn() -> Results) -> Option<Predicted> {
    x.study.gpus.as_ref()?;
    let results = results();
    let setup = Setup::new(x.program, x.study, &results, x.checks, false);
    let (walk, _) = Grid.next(&setup);
    let (baseline, _) = walk.baseline.as_ref()?;
    if baseline.engine.simulated() {
        return None;
    }
    let predicted = |Forecast { gpu_s, .. }: Forecast, known| Predicted { hours: gpu_s / 3600.0, known };
    let costs = x.journal.history().costs(x.guess.clone());
    if let Some(found) = forecast(&setup, &walk, &costs) {
        return Some(predicted(found, true));
    }
    let costs = Costs::guessed(guess::at_most(x.program, x.study, baseline));
    Some(predicted(forecast(&setup, &walk, &costs)?, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_read_as_people_write_them() {
        for (text, expected) in [
            ("6h", Budget::Seconds(21_600.0)),
            ("90min", Budget::Seconds(5_400.0)),
            ("1.5 h", Budget::Seconds(5_400.0)),
            ("6 hours", Budget::Seconds(21_600.0)),
            ("20 USD", Budget::Usd(20.0)),
            ("6gpu_hours", Budget::GpuSeconds(21_600.0)),
            ("6 gpu_hours", Budget::GpuSeconds(21_600.0)),
            ("20usd", Budget::Usd(20.0)),
            ("48 trials", Budget::Trials(48.0)),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
        for text in ["", "6", "h", "0h", "-1h", "6 days", "2.5 trials", "1e999h", "6.h.h"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(parse("1m"), Err("`m` is no unit: minutes are written 1min".to_owned()));
    }

    #[test]
    fn consent_is_asked_for_above_eight_gpu_hours_without_a_budget() {
        assert!(needs_consent(8.1, false) && !needs_consent(8.1, true) && !needs_consent(8.0, false));
    }
}
