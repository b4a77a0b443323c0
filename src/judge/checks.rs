//! The validity checks: one ordered registry. A check that lacks what it reads says so, and the report names it as not checked.

use std::sync::Arc;

use crate::lang::sema::Stat;
use crate::lang::sema::program::{Data, Load, Profile};
use crate::lang::sema::schema::Value;
use crate::plan::{Config, limits};

use super::device_checks;
use super::metrics::Metrics;
use super::prefix;
use super::results::Run;

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Flag,
    Refuse,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub check: &'static str,
    pub level: Level,
    pub text: Arc<str>,
}

/// What the study reads of a result, and so claims: a percentile far out, or times between tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Claims {
    /// the percentile furthest out, of those that take many requests
    pub far_out: Option<Stat>,
    pub gaps: bool,
}

/// What a check reads: one run, the load that it ran, the configuration that served it.
pub struct Subject<'a> {
    pub run: &'a Run,
    pub profile: &'a Profile,
    pub config: &'a Config,
    /// the incumbent, if it is compared with one
    pub against: Option<&'a Config>,
    pub claims: Claims,
    /// the profiles that it is judged on together, and what bounds the requests in flight on each
    pub caps: &'a [(String, Option<u32>)],
}

/// What a check says.
pub enum Said {
    Fine,
    Found(Level, String),
    /// it needs something that this result does not hold
    Unchecked,
}

pub struct Check {
    pub name: &'static str,
    /// what it would find, for the list of what was not checked
    pub about: &'static str,
    run: fn(&Subject<'_>) -> Said,
}

/// The check that also compares with the incumbent.
pub const COMPARED: &str = "NONBINDING";

/// All checks, in the order in which their findings are shown.
pub const CHECKS: &[Check] = &[
    Check { name: "THROUGHPUT_ID", about: "tokens / duration = throughput", run: throughput_identity },
    Check { name: "TOKENS_OUT", about: "as many tokens as asked for", run: tokens_out },
    Check { name: "TOKENS_IN", about: "prompts as long as asked for", run: tokens_in },
    Check { name: "LATENCY_ID", about: "TTFT + TPOT × (tokens − 1) = latency", run: latency_identity },
    Check { name: "NO_FIRST_TOKEN", about: "every stream shows its first token", run: first_token },
    Check { name: "ITL_DEGENERATE", about: "chunks arrive one by one", run: degenerate_itl },
    Check { name: "RATE", about: "the offered rate was sent", run: offered_rate },
    Check { name: "CLIENT_SAT", about: "the client kept up", run: client_saturated },
    Check {
        name: "P_SUPPORT",
        about: "enough requests for the percentiles that are shown",
        run: percentile_support,
    },
    Check { name: COMPARED, about: "the flag under test can bind", run: nonbinding },
    Check { name: "PREFIX", about: "no prompt was in the prefix cache before it was sent", run: prefix_hits },
    Check { name: "GPU_FOREIGN", about: "nobody else used the GPUs", run: device_checks::foreign },
    Check { name: "CLOCK", about: "no GPU was held back", run: device_checks::clock },
    Check { name: "THERMAL", about: "no GPU grew warm and slow under the load", run: device_checks::thermal },
];

/// Checks that are part of the promise and not made by this version.
pub const NOT_MADE: &[&str] = &[
    "TPOT_FLOOR and PEAK_ROOF: against the hardware's limits",
    "LITTLE, STEADY, DRAIN, OVERSAT: whether the load had a steady state",
    "WARMUP: compilation inside the measured window",
    "QUALITY: whether the outputs are still right",
];

/// Runs every check on a subject: what was found, and what could not be checked.
pub fn check(subject: &Subject<'_>) -> (Vec<Finding>, Vec<&'static str>) {
    let (mut found, mut unchecked) = (Vec::new(), Vec::new());
    for check in CHECKS {
        match (check.run)(subject) {
            Said::Fine => {}
            Said::Found(level, text) => found.push(Finding { check: check.name, level, text: text.into() }),
            Said::Unchecked => unchecked.push(check.name),
        }
    }
    (found, unchecked)
}

fn throughput_identity(s: &Subject<'_>) -> Said {
    let m = &s.run.metrics;
    let (Some(tps), Some(input), Some(output), Some(duration)) =
        (m.number("total_tps"), m.number("input_tokens"), m.number("output_tokens"), m.number("duration_s"))
    else {
        return Said::Unchecked;
    };
    if duration <= 0.0 {
        return Said::Found(Level::Refuse, "the run has no duration".to_owned());
    }
    let real = (input + output) / duration;
    let off = tps / real - 1.0;
    if off.abs() <= 0.005 {
        return Said::Fine;
    }
    let text =
        format!("total throughput {tps:.2} tok/s is {:+.1} % off tokens / duration, {real:.2}", off * 100.0);
    Said::Found(Level::Refuse, text)
}

/// The share of tokens without text from which on a server's count says nothing of what it did.
const UNSEEN_REFUSED: f64 = 0.75;

fn tokens_out(s: &Subject<'_>) -> Said {
    // the heavier of both: a count that is off in part takes no weight from lengths that are wrong
    match (tokens_asked(s), tokens_seen(s)) {
        (Said::Found(asked, text), Said::Found(seen, _)) if asked >= seen => Said::Found(asked, text),
        (_, seen @ Said::Found(..)) => seen,
        (asked, _) => asked,
    }
}

/// Whether the text that came has room for the tokens that the server counts.
fn tokens_seen(s: &Subject<'_>) -> Said {
    let m = &s.run.metrics;
    let (Some(unseen), Some(output)) = (m.number("unseen_tokens"), m.number("output_tokens")) else {
        return Said::Fine;
    };
    let level = if unseen > output * UNSEEN_REFUSED { Level::Refuse } else { Level::Flag };
    let text = format!(
        "the server counts {output:.0} tokens, and the text that came has no room for {unseen:.0} of them"
    );
    Said::Found(level, text)
}

fn tokens_asked(s: &Subject<'_>) -> Said {
    let m = &s.run.metrics;
    let Some((from, to)) = s.profile.output else { return Said::Unchecked };
    if matches!(s.profile.data, Some(Data::Jsonl(_))) {
        // each line may say another length
        return Said::Unchecked;
    }
    let (Some(output), Some(completed)) = (m.number("output_tokens"), m.number("completed")) else {
        return Said::Unchecked;
    };
    if completed <= 0.0 {
        return Said::Unchecked;
    }
    let (low, mean) = (completed * f64::from(from) * 0.99, output / completed);
    if output >= low && mean <= f64::from(to) * 1.01 {
        return Said::Fine;
    }
    let text = format!("{mean:.1} tokens came on average where {from} were asked for");
    Said::Found(Level::Refuse, text)
}

fn tokens_in(s: &Subject<'_>) -> Said {
    let m = &s.run.metrics;
    if let (Some(words), Some(input)) = (m.number("input_words"), m.number("input_tokens")) {
        let text = format!("the server counts {input:.0} tokens in prompts of {words:.0} words");
        return Said::Found(Level::Refuse, text);
    }
    let (Some((from, to)), Some(input), Some(completed)) =
        (s.profile.prompt_tokens(), m.number("input_tokens"), m.number("completed"))
    else {
        return Said::Unchecked;
    };
    // without a tokenizer prompts are counted in words, and only the server knows its tokens
    if completed <= 0.0 || (s.profile.tokenizer.is_none() && m.number("client_input_tokens").is_none()) {
        return Said::Unchecked;
    }
    let mean = input / completed;
    // a chat template adds a few tokens to each prompt
    let (low, high) = (f64::from(from) * 0.99, f64::from(to) * 1.01 + 32.0);
    if mean >= low && mean <= high {
        return Said::Fine;
    }
    Said::Found(Level::Refuse, format!("prompts had {mean:.1} tokens on average where {from} were asked for"))
}

fn latency_identity(s: &Subject<'_>) -> Said {
    let m = &s.run.metrics;
    let mean = |name: &str| m.distribution(name).and_then(|d| d.mean);
    let (Some(ttft), Some(tpot), Some(latency), Some(output), Some(completed)) = (
        mean("ttft_ms"),
        mean("tpot_ms"),
        mean("latency_ms"),
        m.number("output_tokens"),
        m.number("completed"),
    ) else {
        return Said::Unchecked;
    };
    let tokens = output / completed;
    if tokens <= 1.0 || latency <= 0.0 {
        return Said::Unchecked;
    }
    let implied = ttft + tpot * (tokens - 1.0);
    let off = implied / latency - 1.0;
    // means of products differ from products of means when lengths vary
    let fixed = s.profile.output.is_some_and(|(a, b)| a == b);
    let bound = if fixed { 0.05 } else { 0.5 };
    if off.abs() <= bound {
        return Said::Fine;
    }
    let text = format!(
        "TTFT + TPOT × (tokens − 1) is {implied:.0} ms, the mean latency {latency:.0} ms ({:+.0} %)",
        off * 100.0
    );
    Said::Found(Level::Refuse, text)
}

fn first_token(s: &Subject<'_>) -> Said {
    let Some(ttft) = s.run.metrics.distribution("ttft_ms") else { return Said::Unchecked };
    match ttft.p50 {
        Some(p50) if p50 <= 0.0 => {
            Said::Found(Level::Refuse, "the median TTFT is zero: first tokens were not seen".to_owned())
        }
        Some(_) => Said::Fine,
        None => Said::Unchecked,
    }
}

fn degenerate_itl(s: &Subject<'_>) -> Said {
    let m = &s.run.metrics;
    // our own runs keep the gaps between chunks apart; a recording has one column
    let gaps = m.distribution("icl_ms").or_else(|| m.distribution("itl_ms"));
    match gaps.and_then(|d| d.p50) {
        Some(p50) if p50 < 0.2 => {
            // throughput does not hang on it; what is said of single tokens does
            let level = if s.claims.gaps { Level::Refuse } else { Level::Flag };
            Said::Found(
                level,
                format!(
                    "the median gap between chunks is {p50:.2} ms: tokens came in lumps or were not seen"
                ),
            )
        }
        Some(_) => Said::Fine,
        None => Said::Unchecked,
    }
}

/// Shares of the offered rate below which a load was not the one that was asked for, and below which that is to be known.
const RATE_REFUSED: f64 = 0.95;
const RATE_FLAGGED: f64 = 0.98;

/// What there is to say of a rate that was not reached; `certain` where nothing of the load's own held it back.
#[must_use]
pub fn missed_rate((achieved, offered): (f64, f64), what: &str, certain: bool) -> Option<(Level, String)> {
    let text = || format!("{achieved:.2} requests/s {what} of {offered} offered");
    match achieved / offered {
        x if x < RATE_REFUSED && certain => Some((Level::Refuse, text())),
        x if x < RATE_FLAGGED => Some((Level::Flag, text())),
        _ => None,
    }
}

/// Sends are compared with what was offered. A recording prints completions only: they may end long after the last send, so they
/// flag and do not refuse; nor does a cap on requests in flight, which is part of the load.
fn offered_rate(s: &Subject<'_>) -> Said {
    let Some(Load::Rate { per_s, .. }) = &s.profile.load else { return Said::Fine };
    let sent = s.run.metrics.number("send_rate");
    let Some(achieved) = sent.or_else(|| s.run.metrics.number("request_rate")) else {
        return Said::Unchecked;
    };
    let what = if sent.is_some() { "were sent" } else { "were completed" };
    let certain = sent.is_some() && s.profile.in_flight.is_none();
    let missed = missed_rate((achieved, *per_s), what, certain);
    missed.map_or(Said::Fine, |(level, text)| Said::Found(level, text))
}

/// A client whose event loop lags more than this (p99, milliseconds) measured itself.
const CLIENT_LAG_REFUSED_MS: f64 = 20.0;
const CLIENT_LAG_FLAGGED_MS: f64 = 5.0;
/// A client that stood still so long at one time (milliseconds), by a stop signal or because it was starved, measured that.
const CLIENT_STALL_REFUSED_MS: f64 = 1000.0;

/// How long this machine held a client up, where that is more than a measurement may have.
#[must_use]
pub fn held_up(lag_p99_ms: Option<f64>, stall_ms: Option<f64>) -> Option<String> {
    let over = |ms: Option<f64>, limit: f64| ms.filter(|ms| *ms > limit);
    let lag = over(lag_p99_ms, CLIENT_LAG_REFUSED_MS).map(|lag| format!("for {lag:.0} ms (p99)"));
    lag.or_else(|| {
        over(stall_ms, CLIENT_STALL_REFUSED_MS).map(|stall| format!("for {:.1} s at one time", stall / 1e3))
    })
}

fn client_saturated(s: &Subject<'_>) -> Said {
    client_lag(&s.run.metrics)
}

/// Whether this machine kept the client from its work.
pub(super) fn client_lag(metrics: &Metrics) -> Said {
    if let Some(stall) = metrics.number("client_stall_ms").filter(|ms| *ms > CLIENT_STALL_REFUSED_MS) {
        return Said::Found(
            Level::Refuse,
            format!("the client stood still for {:.1} s at one time", stall / 1e3),
        );
    }
    match metrics.number("client_lag_p99_ms") {
        Some(lag) if lag > CLIENT_LAG_REFUSED_MS => {
            Said::Found(Level::Refuse, format!("the client's event loop lagged {lag:.1} ms (p99)"))
        }
        Some(lag) if lag > CLIENT_LAG_FLAGGED_MS => {
            Said::Found(Level::Flag, format!("the client's event loop lagged {lag:.1} ms (p99)"))
        }
        Some(_) => Said::Fine,
        None => Said::Unchecked,
    }
}

fn percentile_support(s: &Subject<'_>) -> Said {
    let Some(completed) = s.run.metrics.number("completed") else { return Said::Unchecked };
    let claimed = s.claims.far_out.and_then(|stat| Some((stat.name(), limits::far_out_needs(stat)?)));
    match claimed {
        Some((read, needs)) if completed < needs as f64 => {
            let text = format!("{read} is claimed from {completed} requests; it needs {needs}");
            Said::Found(Level::Flag, text)
        }
        _ => Said::Fine,
    }
}

fn prefix_hits(s: &Subject<'_>) -> Said {
    let (Some(Data::Random), Some(input)) = (&s.profile.data, s.profile.input) else {
        return Said::Unchecked;
    };
    if s.profile.prefix.is_some() {
        return Said::Unchecked;
    }
    let counted = s.profile.tokenizer.is_some();
    match prefix::unplanned_share_of(&s.run.metrics, input, counted) {
        Some(share) if share > prefix::TOLERATED => {
            let percent = share * 100.0;
            let text = format!(
                "{percent:.1} % of the prompt tokens came from the prefix cache, of prompts that share nothing"
            );
            Said::Found(Level::Refuse, text)
        }
        Some(_) => Said::Fine,
        None => Said::Unchecked,
    }
}

fn nonbinding(s: &Subject<'_>) -> Said {
    let at_default = at_defaults_alone(s);
    if !at_default.is_empty() {
        let are = if at_default.len() == 1 { "is set to its default" } else { "are set to their defaults" };
        let text = format!("{} {are}: an A/A pair, not another configuration", at_default.join(" and "));
        return Said::Found(Level::Flag, text);
    }
    if let Some(text) = above_cap(s) {
        return Said::Found(Level::Flag, text);
    }
    Said::Fine
}

/// The flags at their defaults, where nothing else tells a configuration from what it is compared with. A point that also changes
/// something is no A/A pair.
fn at_defaults_alone<'a>(s: &Subject<'a>) -> Vec<&'a str> {
    let Some(other) = s.against.filter(|o| s.config.does_the_same(o)) else { return Vec::new() };
    let new = s.config.flags().filter(|f| !other.flags().any(|o| o.canonical == f.canonical));
    new.filter(|f| s.config.is_at_default(f)).map(|f| f.spelled.as_str()).collect()
}

/// A batch limit at or above what the client keeps in flight decides nothing. It may on another profile, where more are in flight.
fn above_cap(s: &Subject<'_>) -> Option<String> {
    let own = limits::most_in_flight(s.profile)?;
    let others: Option<Vec<u32>> = s.caps.iter().map(|(_, cap)| *cap).collect();
    let cap = others?.into_iter().fold(own, u32::max);
    let declared = s.config.engine.flags.iter();
    let seqs = s.config.flags().find(|f| f.canonical == limits::BATCH)?;
    if declared.into_iter().any(|d| d == seqs) {
        return None;
    }
    match seqs.value {
        Value::Int(n) if limits::never_binds(n, cap) => {
            let most = match s.caps {
                [] | [_] => format!("{cap} requests in flight"),
                [(first, most), rest @ ..] => {
                    let on =
                        |(name, cap): &(String, Option<u32>)| format!(", {} on {name}", cap.unwrap_or(own));
                    let rest: String = rest.iter().map(on).collect();
                    format!("{} requests in flight on {first}{rest}", most.unwrap_or(own))
                }
            };
            Some(format!("{}={n} cannot bind: the client keeps at most {most}", limits::BATCH))
        }
        _ => None,
    }
}
