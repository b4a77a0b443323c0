//! The sentences that every rendering shares, so that the terminal, the page and the script say the same of a gain.

use super::document::{
    By, Checks, Confirm, Direction, Gain, Objective, Proof, Recommended, Report, Role, Row, Step, Track,
};
use super::evidence::{Cost, Outcome};
use super::format::{decimals_for, duration, energy, grouped, percent, share};
use super::gains::over;
pub use super::gains::{gain, gain_words, interval, row_gain, row_gain_words};
use super::lookup::{Lookup, row};

/// What the numbers are not, where they are not our own measurements.
pub fn banner(report: &Report) -> Vec<String> {
    let simulated = "simulated: every number comes from a model of the engine, none from a GPU".to_owned();
    let replayed = report.replay.as_ref().map(|replay| {
        let tool = replay.measured_with.as_ref().map_or_else(String::new, |tool| format!(" with {tool}"));
        let on = if replay.hardware.is_empty() { String::new() } else { format!(" on {}", replay.hardware) };
        let measured =
            if tool.is_empty() && on.is_empty() { String::new() } else { format!("; measured{tool}{on}") };
        format!("replay of {}: recorded, not measured by perflab{measured}", replay.recording)
    });
    let unchecked =
        "validity checks only warn here: numbers count as printed, whatever the checks say of them"
            .to_owned();
    let unchecked = (report.checks == Checks::Warn).then_some(unchecked);
    report.simulated.then_some(simulated).into_iter().chain(replayed).chain(unchecked).collect()
}

/// "maximize total_tps on sharegpt".
pub fn objective(objective: &Objective) -> String {
    let verb = match objective.direction {
        Direction::Maximize => "maximize",
        Direction::Minimize => "minimize",
    };
    format!("{verb} {} on {}", objective.expr, objective.profiles.join(", "))
}

/// "good is goodput(ttft <= 0.5 s)", where the objective is written with the file's own names.
pub fn meaning(objective: &Objective) -> Option<String> {
    objective.means.as_ref().map(|means| format!("{} is {means}", objective.expr))
}

/// "vLLM 0.17.1, SGLang 0.5.9".
pub fn engines(report: &Report) -> Vec<String> {
    let name = |engine: &super::document::Engine| match &engine.version {
        // a title may have it already
        Some(version) if !engine.title.contains(version.as_str()) => format!("{} {version}", engine.title),
        _ => engine.title.clone(),
    };
    report.engines.iter().map(name).collect()
}

/// "1 × H100 80GB HBM3".
pub fn gpus(report: &Report) -> Option<String> {
    let gpus = report.gpus.as_ref()?;
    Some(gpus.of.as_ref().map_or_else(|| gpus.count.to_string(), |of| format!("{} × {of}", gpus.count)))
}

/// "Track Optimizing SGLang: from SGLang 0.5.9 as declared, apart from the other engines".
pub fn track(report: &Report, track: &Track) -> String {
    let engine = report.engines.iter().find(|e| e.name == track.name);
    let title = engine.map_or(track.name.as_str(), |e| e.title.as_str());
    let version = engine.and_then(|e| e.version.as_ref()).filter(|v| !title.contains(v.as_str()));
    let version = version.map_or_else(String::new, |v| format!(" {v}"));
    // many call their tracks so
    let word = if track.title.starts_with("Track ") { "" } else { "Track " };
    format!("{word}{}: from {title}{version} as declared, apart from the best so far", track.title)
}

/// What a step decided, and why or why not.
pub fn decision(lookup: &Lookup, step: &Step) -> String {
    if let Some(why) = &step.skipped {
        return format!("skipped: {why}");
    }
    if lookup.report.objective.is_none() {
        return "nothing adopted: the study has no objective".to_owned();
    }
    let stays = lookup.label_before(step);
    match (step.by, step.adopted) {
        (By::Hand, true) => by_hand(lookup, step),
        (By::Hand, false) if step.chosen.is_none() => {
            format!("nothing adopted: {stays} stays{}", reason(step))
        }
        (By::Hand, false) => format!("picked by hand: {stays} stays{}", because(step)),
        (By::Rule, true) => adopted(lookup, step),
        (By::Rule, false) => not_adopted(lookup, step, stays),
    }
}

fn by_hand(lookup: &Lookup, step: &Step) -> String {
    let gain = chosen_row(step)
        .and_then(|row| row.gain)
        .map_or_else(String::new, |gain| format!(" at {}", percent(gain)));
    let row = chosen_row(step);
    format!(
        "picked by hand: {}{gain}{}{}",
        lookup.label_in(step, &step.incumbent_after),
        how_sure(step, row),
        because(step)
    )
}

fn adopted(lookup: &Lookup, step: &Step) -> String {
    let before = lookup.label_before(step);
    let after = lookup.label_in(step, &step.incumbent_after);
    let of_row = chosen_row(step).and_then(|row| row.gain).map(Some);
    let gain = of_row.or(step.gain.as_ref().map(|gain| gain.value));
    let gain = gain.map_or_else(String::new, |gain| format!(", {}", over(lookup.report, gain, "", before)));
    format!("adopted: {after}{gain}{}{}", how_sure(step, chosen_row(step)), reason(step))
}

fn not_adopted(lookup: &Lookup, step: &Step, stays: &str) -> String {
    let (Some(best), Some(gain)) = (&step.best, &step.gain) else {
        let open = step.rows.iter().any(|r| r.role == Role::Candidate && r.outcome == Outcome::Missing);
        return if open {
            format!(
                "not decided yet: not every candidate is measured, {stays} stays until then{}",
                reason(step)
            )
        } else {
            format!("nothing adopted: no candidate is valid, {stays} stays{}", reason(step))
        };
    };
    if *best == step.incumbent_before {
        return format!("nothing adopted: no candidate is better than {stays}{}", reason(step));
    }
    let asked = if gain.value.is_some_and(|value| value < lookup.report.adopt) {
        format!(", below the {} that adoption asks for", percent(lookup.report.adopt))
    } else {
        String::new()
    };
    let sure = how_sure(step, row(step, best));
    let best = lookup.label_in(step, best);
    format!(
        "not adopted: the best is {best} with {}{}{asked}; {stays} stays{}",
        gain_words(lookup.report, gain),
        sure,
        reason(step)
    )
}

fn chosen_row(step: &Step) -> Option<&Row> {
    row(step, step.chosen.as_deref()?)
}

fn reason(step: &Step) -> String {
    step.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"))
}

fn because(step: &Step) -> String {
    step.reason.as_ref().map_or_else(String::new, |reason| format!(", because {reason}"))
}

fn how_sure(step: &Step, row: Option<&Row>) -> String {
    match (step.gain.as_ref().map(|gain| gain.by), row.map(row_interval)) {
        (Some(Proof::SingleRun), _) => " (single run)".to_owned(),
        (Some(Proof::Repeats), Some(between)) if !between.is_empty() => format!(" ({between})"),
        _ => String::new(),
    }
}

/// "+1.20 % to +2.98 %" of a row's gain; nothing without repeats or where the row gains nothing.
pub fn row_interval(row: &Row) -> String {
    match (row_gain(row), row.gain_low, row.gain_high) {
        (Some(_), Some(low), Some(high)) => format!("{} to {}", percent(low), percent(high)),
        _ => String::new(),
    }
}

/// "3: 98.1 – 102.4", how often a row's configuration ran and how far its launches lie apart; nothing for a single one. Decimals are those
/// of the column of values.
pub fn spread(row: &Row, values: &[Option<f64>]) -> String {
    let decimals = decimals_for(values.iter().copied().flatten());
    row.spread.as_ref().map_or_else(String::new, |s| {
        format!("{}: {} – {}", s.runs, grouped(s.min, decimals), grouped(s.max, decimals))
    })
}

/// How sure a gain is, as a sentence.
pub fn certainty(report: &Report, gain: &Gain) -> String {
    let noise = match report.noise {
        Some(noise) => format!("the noise from run to run is {} (standard deviation)", share(noise)),
        None => "the noise from run to run is not known".to_owned(),
    };
    match gain.by {
        Proof::SingleRun => format!("This is a single run of each, not a proof: {noise}."),
        Proof::Repeats => {
            let between = match (gain.low, gain.high) {
                (Some(_), Some(_)) => {
                    "the interval holds 95 %, and does not know that the best of several was chosen; "
                }
                _ => "",
            };
            format!(
                "From repeated launches, those that chose it included, not a fresh proof: {between}{noise}."
            )
        }
        Proof::Proven => "Proven on fresh launches of both, made for that alone.".to_owned(),
        Proof::None => "There is no difference to be sure of.".to_owned(),
    }
}

/// What the interval of a confirmed gain says, else why there is none: logarithms know no 0, and runs that all agree no noise.
fn interval_of(confirm: &Confirm, gain: &Gain) -> &'static str {
    let positive = |value: Option<f64>| value.is_some_and(|value| value > 0.0);
    if gain.low.is_some() {
        "intervals hold 95 %"
    } else if positive(confirm.baseline_objective) && positive(confirm.recommended_objective) {
        "no interval, as nothing differs from run to run"
    } else {
        "no interval, as a value is 0"
    }
}

/// How sure the gain on a profile of `confirm on` is: its launches chose nothing, where they were made for this alone.
pub fn confirmed(report: &Report, confirm: &Confirm, gain: &Gain) -> String {
    match gain.by {
        Proof::Repeats => {
            let from = if confirm.of_the_steps {
                "The recording has no launches made for this alone: these are the runs that the steps used, those that chose it \
                 included"
            } else {
                "From launches made for this alone, which chose nothing"
            };
            format!("{from}; {}.", interval_of(confirm, gain))
        }
        _ => certainty(report, gain),
    }
}

/// Why there is no recommendation.
pub fn nothing(lookup: &Lookup) -> String {
    let report = lookup.report;
    if let Some(why) = &report.no_recommendation {
        return why.clone();
    }
    if report.objective.is_none() {
        return "the study has no objective".to_owned();
    }
    match lookup.trial(&report.baseline) {
        Some(trial) if !trial.outcome.is_valid() => {
            let why = trial.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
            let verb = if trial.outcome == Outcome::Failed { "" } else { "is " };
            format!("the baseline {verb}{}{why}", trial.outcome.word())
        }
        _ if !report.complete => "the study is not finished".to_owned(),
        _ => "no configuration meets the constraints".to_owned(),
    }
}

/// Engines kill themselves when a part of theirs is lost, and so does who wants the machine for something else: perflab sees the same.
const KILLED: &str = "Of SIGKILL nobody tells who sent it: the engine itself, or somebody on this machine; where it was somebody, \
                      that is no finding, and `--again` is how to say so.";

/// How what failed is measured again once its cause is mended; `None` where nothing did.
pub fn again(report: &Report) -> Option<String> {
    let failed = || report.trials.iter().filter(|t| t.outcome == Outcome::Failed);
    if report.replay.is_some() || failed().next().is_none() {
        return None;
    }
    let killed = failed().any(|t| t.reason.as_ref().is_some_and(|why| why.contains("(SIGKILL)")));
    let killed = if killed { format!(" {KILLED}") } else { String::new() };
    Some(format!(
        "What failed stays so until perflab sees its cause change, but for what the machine failed at (a full disk, a taken port), \
         which the next `exec` tries again. `exec --again failed` measures all of it again, `exec --again CANDIDATE` one of them.{killed}"
    ))
}

/// What is to be said beside the recommended command.
pub fn caveats(lookup: &Lookup, recommended: &Recommended) -> Vec<String> {
    let mut out = Vec::new();
    if recommended.partial {
        out.push("Partial: not everything that the study asks for was measured; a better one may be among the rest.".to_owned());
    }
    if !recommended.published.added.is_empty() {
        out.push(format!("Added without having been measured: {}.", recommended.published.added.join(" ")));
    }
    if !recommended.published.hidden.is_empty() {
        out.push(format!("Measured with, and left out here: {}.", recommended.published.hidden.join(" ")));
    }
    for confirm in &lookup.report.confirm {
        if let Some(why) = &confirm.baseline_failed {
            let profile = lookup.profile_title(&confirm.profile);
            out.push(format!(
                "The baseline failed on {profile} in a launch that was to confirm ({why}): nothing there compares the two."
            ));
        }
        if let Some(gain) = confirm.gain.as_ref().filter(|gain| gain.value.is_some_and(|v| v < LOSS)) {
            let profile = lookup.profile_title(&confirm.profile);
            out.push(format!(
                "Worse than the baseline on {profile}: {}{}.",
                gain_words(lookup.report, gain),
                interval(gain)
            ));
        }
    }
    out
}

/// A loss beyond this on a confirmed profile is named in the recommendation.
const LOSS: f64 = -0.02;

/// The parts of the bill, by name.
pub fn cost(cost: &Cost) -> Vec<(&'static str, String)> {
    let own = if cost.wall_s > 0.0 {
        format!("{} ({} of the wall time)", duration(cost.own_s), share(cost.own_s / cost.wall_s))
    } else {
        duration(cost.own_s)
    };
    let energy = cost.energy_j.map(|joules| ("GPU energy", energy(joules)));
    let wait = (cost.drain_s > 0.0).then(|| ("wait for clean GPUs", duration(cost.drain_s)));
    let money = cost.usd.map(|usd| ("GPU cost", format!("{usd:.2} usd")));
    let checks = match cost.checks {
        0 => String::new(),
        n => format!(", {n} of them for the A/A check of neighbours"),
    };
    let runs = if cost.runs > cost.trials { format!(" in {} runs", cost.runs) } else { String::new() };
    let parts = [
        ("launches", format!("{}{checks}", cost.launches)),
        ("trials", format!("{}{runs}", cost.trials)),
        ("wall time", duration(cost.wall_s)),
        ("GPU time", duration(cost.gpu_s)),
    ];
    parts.into_iter().chain(energy).chain(wait).chain(money).chain([("perflab's own", own)]).collect()
}

/// How a study that is not complete goes on.
pub fn goes_on(report: &Report) -> &str {
    report.goes_on.as_deref().unwrap_or("the same command continues it")
}

/// A row's outcome with its reason, as tables show it.
pub fn outcome(row: &Row) -> String {
    let word = row.outcome.word();
    let reason = row.reason.as_ref().map_or_else(|| word.to_owned(), |reason| format!("{word}: {reason}"));
    row.same_as.as_ref().map_or_else(|| reason.clone(), |same| format!("{reason}; same trial as {same}"))
}

/// The first letter in upper case.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// What a row is called in its table.
pub fn row_label(row: &Row) -> String {
    match row.role {
        Role::Incumbent => format!("{} (so far)", row.label),
        Role::Base => format!("{} (base)", row.label),
        Role::Candidate => row.label.to_string(),
    }
}
