//! Unplanned prefix-cache hits: tokens that a server did not have to compute because an earlier load had left them.

use super::metrics::Metrics;

/// A result with more of its prompt tokens from the cache than this is no result of its load.
pub const TOLERATED: f64 = 0.02;

/// Tokens that a chat template may put before every prompt, where our own count of the prompt is not there to tell. They are in the
/// cache from the second request on, and belong to the load.
const TEMPLATE_MOST: f64 = 64.0;

/// The share of a load's prompt tokens that came from the prefix cache beyond its chat template, from 0 to 1. `own` is the mean
/// length of the prompts by our own count, where they were counted. `None` where the server does not show its hits.
pub fn unplanned_share(m: &Metrics, own: Option<f64>) -> Option<f64> {
    let (hits, input) = (m.number("prefix_hit_tokens")?, m.number("input_tokens")?);
    let completed = m.number("completed").filter(|n| *n > 0.0)?;
    if input <= 0.0 {
        return None;
    }
    let template = own.map_or(TEMPLATE_MOST, |own| (input / completed - own).clamp(0.0, TEMPLATE_MOST));
    Some(((hits - template * completed) / input).max(0.0))
}

/// [`unplanned_share`] of a load that drew its prompts' lengths from a range; `counted` if by a tokenizer.
pub fn unplanned_share_of(m: &Metrics, input: (u32, u32), counted: bool) -> Option<f64> {
    let own = counted.then(|| f64::midpoint(f64::from(input.0), f64::from(input.1)));
    unplanned_share(m, own)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(hits: f64, own: Option<f64>) -> Option<f64> {
        let mut m = Metrics::default();
        m.set("prefix_hit_tokens", hits);
        m.set("input_tokens", 10_000.0);
        m.set("completed", 10.0);
        unplanned_share(&m, own)
    }

    #[test]
    fn hits_on_the_template_are_planned_and_others_are_not() {
        assert_eq!(share(0.0, None), Some(0.0));
        assert_eq!(share(640.0, None), Some(0.0), "64 of each prompt may be a template");
        assert_eq!(share(840.0, None), Some(0.02));
        // a prompt of 990 and a template of 10
        assert_eq!(share(100.0, Some(990.0)), Some(0.0));
        assert_eq!(share(600.0, Some(990.0)), Some(0.05));
        assert_eq!(share(600.0, Some(1100.0)), Some(0.06), "no template is shorter than nothing");
    }

    #[test]
    fn a_server_that_shows_no_hits_tells_nothing() {
        assert_eq!(unplanned_share(&Metrics::default(), None), None);
    }
}
