//! The load of a profile: its rate or concurrency and how requests come, ranges that rise, curves without repeats, caps where there is
//! something to cap.

use super::check::Checker;
use super::program::{Arrivals, Data, Load, Profile};
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, one_of};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{Literal, Number, WordLine, WordValue};
use crate::lang::units::Dim;

const ARRIVALS: [&str; 5] = ["poisson", "constant", "gamma", "ramp", "steps"];

/// How the requests of a load come, where it says so.
pub(super) fn arrivals(load: &Load) -> Option<Arrivals> {
    match load {
        Load::Rate { arrivals, .. } | Load::RateRange { arrivals, .. } | Load::Rates(_, arrivals) => {
            Some(arrivals.clone())
        }
        _ => None,
    }
}

/// Lets requests come as the parent's did, where the load has a rate; what goes through a range goes with the range.
pub(super) fn come(load: &mut Load, how: Arrivals) {
    let through = matches!(how, Arrivals::Ramp | Arrivals::Steps);
    let ranges = matches!(load, Load::RateRange { to: Some(_), .. });
    if let Load::Rate { arrivals, .. } | Load::RateRange { arrivals, .. } | Load::Rates(_, arrivals) = load
        && (ranges || !through)
    {
        *arrivals = how;
    }
}

/// The lowest of its rates that are known, requests per second.
pub(super) fn least_rate(load: &Load) -> Option<f64> {
    match load {
        Load::Rate { per_s, .. } => Some(*per_s),
        Load::Rates(all, _) => all.iter().copied().reduce(f64::min),
        _ => None,
    }
}

/// Whether so many clients each wait for their answers.
pub(super) fn closed(load: &Load) -> bool {
    matches!(load, Load::Concurrency(_) | Load::Concurrencies(_) | Load::ConcurrencyRange { .. })
}

/// What a load is called elsewhere that sends all requests at once.
const NO_LIMIT: [&str; 6] = ["inf", "infinity", "infinite", "unlimited", "maximum", "maximal"];

impl Checker<'_> {
    pub(super) fn rate(&mut self, line: &WordLine) -> Option<Load> {
        let poisson = Arrivals::Poisson;
        match &line.value {
            WordValue::Word { word, argument: None } if word.value == "max" => Some(Load::Max),
            WordValue::Word { word, argument: None } if NO_LIMIT.contains(&word.value.as_str()) => {
                let message = format!("`{}` is no rate", word.value);
                let d = Diagnostic::new(Code::ProfileSetting, word.span, message).label("all at once");
                self.sink
                    .push(d.help("write `rate max`: all requests are sent at once").edit(word.span, "max"));
                None
            }
            WordValue::Numbers(all) if all.len() == 1 => {
                let per_s = self.positive(&all[0], Dim::RATE, "`rate`")?;
                Some(Load::Rate { per_s, arrivals: poisson })
            }
            WordValue::Numbers(all) => {
                let rates = all.iter().enumerate().map(|(i, n)| {
                    let rate = self.positive(n, Dim::RATE, "`rate`");
                    if rate.is_none() {
                        self.in_unit_of(n, all);
                        self.may_be_a_decimal(n, all.get(i + 1));
                    }
                    rate
                });
                let rates = rates.collect::<Option<Vec<_>>>()?;
                self.each_once(all, &rates);
                Some(Load::Rates(rates, poisson))
            }
            WordValue::Range(r) => {
                let from = self.positive(&r.from, Dim::RATE, "`rate`");
                if from.is_none() {
                    self.in_unit_of(&r.from, r.to.as_slice());
                }
                let from = from?;
                let to = match &r.to {
                    Some(n) => Some(self.positive(n, Dim::RATE, "`rate`")?),
                    None => None,
                };
                self.rises(line, from, to);
                Some(Load::RateRange { from, to, arrivals: poisson })
            }
            _ => {
                self.wrong(line, "`max`, a rate such as `8/s`, or a range of rates");
                None
            }
        }
    }

    /// `rate 1,5/s`: one rate with a decimal comma, or two of which the first lacks its unit? Nobody knows, so that people say.
    fn may_be_a_decimal(&mut self, n: &Number, next: Option<&Number>) {
        let glued = next.filter(|next| n.unit.is_empty() && next.span.start == n.span.end + 1);
        let Some(next) = glued else { return };
        let (whole, part) = (self.source_text(n.span), self.source_text(next.span));
        let of_n = |d: &&mut Diagnostic| d.code == Code::MissingUnit && d.span == n.span;
        if let Some(d) = self.sink.each_mut().find(of_n) {
            d.edits.clear();
            d.help = Some(format!("write `{whole}.{part}`, or for two rates `{whole}/s, {part}`"));
        }
    }

    pub(super) fn concurrency(&mut self, line: &WordLine) -> Option<Load> {
        const MOST: u64 = 1_000_000;
        match &line.value {
            WordValue::Numbers(all) if all.len() == 1 => {
                self.whole(&all[0], 1, MOST, "`concurrency`").map(|n| Load::Concurrency(n as u32))
            }
            WordValue::Numbers(all) if self.loads_apart(all) => None,
            WordValue::Numbers(all) => {
                let each = |n: &Number| self.whole(n, 1, MOST, "`concurrency`").map(|n| n as u32);
                let loads = all.iter().map(each).collect::<Option<Vec<_>>>()?;
                self.each_once(all, &loads);
                Some(Load::Concurrencies(loads))
            }
            WordValue::Range(r) => {
                let from = self.whole(&r.from, 1, MOST, "`concurrency`")? as u32;
                let to = match &r.to {
                    Some(n) => Some(self.whole(n, 1, MOST, "`concurrency`")? as u32),
                    None => None,
                };
                self.rises(line, f64::from(from), to.map(f64::from));
                Some(Load::ConcurrencyRange { from, to })
            }
            _ => {
                self.wrong(line, "a number of requests in flight");
                None
            }
        }
    }

    pub(super) fn arrival(&mut self, line: &WordLine) -> Option<Arrivals> {
        let WordValue::Word { word, argument } = &line.value else {
            self.wrong(line, &one_of(&ARRIVALS));
            return None;
        };
        match (word.value.as_str(), argument) {
            ("poisson", None) => Some(Arrivals::Poisson),
            ("constant", None) => Some(Arrivals::Constant),
            ("ramp", None) => Some(Arrivals::Ramp),
            ("steps", None) => Some(Arrivals::Steps),
            ("gamma", Some(Literal::Number(n))) => {
                self.positive(n, Dim::PLAIN, "the burstiness").map(Arrivals::Gamma)
            }
            ("gamma", _) => {
                self.wrong(line, "a number, the burstiness, after `gamma`");
                None
            }
            (known, Some(_)) if ARRIVALS.contains(&known) => {
                self.wrong(line, &format!("nothing after `{known}`"));
                None
            }
            _ => {
                self.no_such("process of arrivals", word, &ARRIVALS);
                None
            }
        }
    }

    /// `arrivals` says how the requests of a `rate` come. `both`: one is stated beside what excludes it, which was told.
    pub(super) fn arrivals(&mut self, stated: Option<(Arrivals, Span)>, both: bool, p: &mut Profile) {
        let Some((how, span)) = stated else { return };
        let through = matches!(how, Arrivals::Ramp | Arrivals::Steps);
        if through
            && matches!(p.load, Some(Load::Rate { .. } | Load::Rates(..) | Load::RateRange { to: None, .. }))
        {
            let message = "`arrivals ramp` and `steps` go through a range of rates in one run";
            let d = Diagnostic::new(Code::ProfileSetting, span, message).label("without a range");
            self.sink.push(d.help("state the range, such as `rate 1/s .. 20/s`"));
            return;
        }
        if let Some(
            Load::Rate { arrivals, .. } | Load::RateRange { arrivals, .. } | Load::Rates(_, arrivals),
        ) = &mut p.load
        {
            *arrivals = how;
        } else if !both && (p.load.is_some() || matches!(p.data, Some(Data::Trace(_)))) {
            // without any load that is what is missing; a trace needs none
            let message = if p.load.is_some() {
                "`arrivals` says how the requests of a `rate` come, and there is none"
            } else {
                "`arrivals` says how the requests of a `rate` come, and those of a trace come when it says"
            };
            let d = Diagnostic::new(Code::ProfileSetting, span, message).label("without a rate");
            self.sink.push(d.help("state a rate, such as `rate 8/s`, or remove this line"));
        }
    }

    /// Of two settings that say the same in two ways, a profile states one.
    pub(super) fn either(&mut self, one: &str, other: &str, seen: &[(&str, Span)]) {
        let at = |word: &str| seen.iter().position(|s| s.0 == word);
        let (Some(a), Some(b)) = (at(one), at(other)) else { return };
        let ((first, first_span), (second, span)) = (seen[a.min(b)], seen[a.max(b)]);
        let (about, message, help) = if one == "rate" {
            (
                About::TwoLoads,
                "a load is open (`rate`) or closed (`concurrency`), not both",
                "; to cap an open load write `in_flight N`",
            )
        } else {
            (About::Plain, "a load ends after `requests` or after a `duration`, not both", "")
        };
        let d = Diagnostic::new(Code::ProfileSetting, span, message).about(about);
        let d = d.label(format!("and here {second}"));
        self.sink
            .push(d.related(first_span, format!("{first} is stated here")).help(format!("remove one{help}")));
    }

    /// A range goes from the smaller number to the bigger.
    /// Says that a range falls; it is a range all the same, and what needs one has it.
    pub(super) fn rises(&mut self, line: &WordLine, from: f64, to: Option<f64>) {
        if to.is_none_or(|to| to > from) {
            return;
        }
        let message = format!("`{}` takes a range from the smaller number to the bigger", line.word.value);
        let d = Diagnostic::new(Code::ProfileSetting, line.value.span(), message).label("holds nothing");
        self.sink.push(d.help("write the smaller number first, or one number alone"));
    }

    /// The loads of a curve have a row each.
    pub(super) fn each_once<T: PartialEq>(&mut self, written: &[Number], loads: &[T]) {
        for (i, load) in loads.iter().enumerate() {
            if let Some(first) = loads[..i].iter().position(|l| l == load) {
                let d =
                    Diagnostic::new(Code::ProfileSetting, written[i].span, "the curve has this load twice");
                let d = d.label("the second one").related(written[first].span, "the first one");
                self.sink.push(d.help("name each load once"));
            }
        }
    }

    /// `in_flight` caps an open load; a closed one is its own cap.
    pub(super) fn capped(&mut self, span: Span, p: &Profile) {
        if p.load.as_ref().is_some_and(closed) {
            let message = "`in_flight` caps the load of a `rate`, and this one is closed";
            let d = Diagnostic::new(Code::ProfileSetting, span, message).label("without a rate");
            self.sink
                .push(d.help("`concurrency` is the number in flight: state a rate, or remove this line"));
        }
    }
}
