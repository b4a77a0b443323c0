//! Slips in the lines of studies, rules, profiles and sites that leave out or add a word of the language.

use std::ops::Range;

use super::at::{Line, mend, only};
use super::hints::Hint;

/// The remedy for a token (of the chunk, a place in it) in such a line.
pub fn slip(chunk: &str, token: &Range<usize>, word: &str) -> Option<Hint> {
    let line = Line::of(chunk, token, word);
    line.patience()
        .or_else(|| line.times())
        .or_else(|| line.range())
        .or_else(|| line.gpu_hours())
        .or_else(|| line.trials())
        .or_else(|| line.budget_of_each())
        .or_else(|| line.named_by_kind())
        .or_else(|| line.named_as_engine())
        .or_else(|| line.picked())
        .or_else(|| line.over())
        .or_else(|| line.via())
        .or_else(|| line.branch())
        .or_else(|| line.required_if())
        .or_else(|| line.adopted_when())
        .or_else(|| line.ratio())
        .or_else(|| line.profile_within())
        .or_else(|| line.required_beside())
}

impl Line<'_> {
    /// `ready get "/health" within 10 minutes`
    fn patience(&self) -> Option<Hint> {
        let unit = match self.word {
            "s" | "sec" | "secs" | "second" | "seconds" => "s",
            "m" | "min" | "mins" | "minute" | "minutes" => "min",
            "h" | "hour" | "hours" => "h",
            "ms" | "milliseconds" => "ms",
            _ => return None,
        };
        let (_, number) = self.before.rsplit_once([' ', '\t'])?;
        let plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let within = self.before.contains(" within ") && plain;
        within.then(|| {
            let help = format!("a unit is glued to its number: write `{number}{unit}`");
            mend(help, self.end..self.token.end, unit)
        })
    }

    /// `p99(ttft) > 2x best.p99(ttft)`
    fn times(&self) -> Option<Hint> {
        let number = self.before.strip_suffix('x').filter(|n| n.ends_with(|c: char| c.is_ascii_digit()))?;
        let named = ["best.", "baseline."].iter().any(|w| self.rest.starts_with(w));
        let value = number.rsplit(|c: char| !(c.is_ascii_digit() || c == '.')).next()?;
        named.then(|| mend(format!("write `{value} * {}`", self.word), self.end - 1..self.end, " *"))
    }

    /// `input [256, 1024]`
    fn range(&self) -> Option<Hint> {
        let (list, _) = self.rest.strip_prefix('[')?.split_once(']')?;
        let (low, high) = list.split_once(',')?;
        let digits = |t: &str| {
            t.starts_with(|c: char| c.is_ascii_digit()) && t.bytes().all(|b| b.is_ascii_alphanumeric())
        };
        let (low, high) = (low.trim(), high.trim());
        let right = format!("{low} .. {high}");
        let drawn = matches!(self.before, "input" | "output") && digits(low) && digits(high);
        drawn.then(|| {
            mend(
                format!("a range to draw from is written `{} {right}`", self.before),
                self.token.start..self.token.start + list.len() + 2,
                &right,
            )
        })
    }

    /// `budget 60 trials per step`
    fn budget_of_each(&self) -> Option<Hint> {
        let of = self.rest.trim_start_matches("for").trim_start();
        let each = ["per ", "each ", "every ", "in each "].iter().find_map(|w| of.strip_prefix(w))?;
        let block = matches!(each, "step" | "track" | "study" | "engine" | "candidate" | "launch" | "run");
        (self.first() == "budget" && self.end > "budget".len() && block).then(|| {
            mend(
                format!(
                    "a budget counts for the block that it stands in, and each step or track may have its own: remove `{}`",
                    self.rest
                ),
                self.end..self.token.start + self.rest.len(),
                "",
            )
        })
    }

    /// `budget 6 GPU hours`
    fn gpu_hours(&self) -> Option<Hint> {
        const SPELLED: [&str; 4] = ["gpu hours", "gpu-hours", "gpuh", "gpu hour"];
        let rest = self.rest.to_ascii_lowercase();
        let spelled = SPELLED.iter().find(|s| rest == **s)?;
        (self.first() == "budget").then(|| {
            mend(
                "write `gpu_hours`".to_owned(),
                self.token.start..self.token.start + spelled.len(),
                "gpu_hours",
            )
        })
    }

    /// `budget 20 runs`
    fn trials(&self) -> Option<Hint> {
        const SPELLED: [&str; 9] = [
            "trial",
            "runs",
            "run",
            "launches",
            "configs",
            "configurations",
            "candidates",
            "experiments",
            "tests",
        ];
        let spelled = self.first() == "budget" && self.rest == self.word && SPELLED.contains(&self.word);
        spelled.then(|| self.write(self.word.len(), "trials"))
    }

    /// `step again from step both {`, `maximize total_tps on profile chat`, `engine big = engine vllm {`
    fn named_by_kind(&self) -> Option<Hint> {
        let (before, kind) = self.before.rsplit_once([' ', '\t'])?;
        let (_, last) = before.trim_end().rsplit_once([' ', '\t'])?;
        let named = match last {
            "from" => matches!(kind, "step" | "engine" | "track"),
            "on" => matches!(kind, "profile" | "profiles"),
            // of a list behind `on`
            _ if last.ends_with(',') => kind == "profile" && before.contains(" on "),
            "=" => kind == self.first() && matches!(kind, "engine" | "profile"),
            _ => false,
        };
        let name = self.word.starts_with(|c: char| c.is_ascii_lowercase())
            && self.word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        (named && name).then(|| {
            mend(
                format!("the name is enough: write `{last} {}`", self.word),
                self.end - kind.len()..self.token.start,
                "",
            )
        })
    }

    /// `baseline engine here`, `baseline engine[here]`
    fn named_as_engine(&self) -> Option<Hint> {
        let kind = self.before.strip_prefix("baseline ")?.trim_start();
        let listed = self.rest.strip_prefix('[').and_then(|r| r.split_once(']')).map(|(name, _)| name.trim());
        let name = listed.unwrap_or(self.word);
        let plain = name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        (kind == "engine" && plain).then(|| {
            let start = self.end - kind.len();
            let help = format!("the name is enough: write `baseline {name}`");
            match listed {
                Some(_) => {
                    mend(help, start..self.token.start + self.rest.find(']').map_or(0, |n| n + 1), name)
                }
                None => mend(help, start..self.token.start, ""),
            }
        })
    }

    /// `vary over seqs`, `vary axis seqs`
    fn over(&self) -> Option<Hint> {
        let (before, extra) = self.before.rsplit_once(' ')?;
        let varies = before.trim_end().ends_with("vary") && matches!(extra, "over" | "axis" | "axes");
        let name = self.word.starts_with(|c: char| c.is_ascii_lowercase());
        (varies && name).then(|| {
            let help = format!("`vary` stands alone before what it varies: remove `{extra}`");
            mend(help, self.end - extra.len()..self.token.start, "")
        })
    }

    /// `pick threads=32`, `vary threads=32`
    fn picked(&self) -> Option<Hint> {
        let last = self.before.rsplit([' ', '{']).next()?;
        let name = !last.is_empty() && last.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let of_axes = self.before.contains("pick ") || self.before.contains("vary ");
        let value = self.rest.strip_prefix('=')?.trim_start();
        let len = value.find([' ', '}', ',']).unwrap_or(value.len());
        let plain = len > 0 && value[..len].chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
        (name && of_axes && plain).then(|| {
            let right = format!("[{}]", &value[..len]);
            let end = self.token.start + self.rest.len() - value.len() + len;
            mend(
                format!("points are picked in brackets: write `{last}{right}`"),
                self.token.start..end,
                &right,
            )
        })
    }

    /// `engine vllm "0.17.1" venv "/opt/vllm"` of a site
    fn via(&self) -> Option<Hint> {
        let method = matches!(self.word, "venv" | "docker" | "podman" | "url" | "path");
        (self.first() == "engine" && method && !self.before.ends_with(" via"))
            .then(|| mend(format!("write `via {}`", self.word), self.token.start..self.token.start, "via "))
    }

    /// `step a { … } else { … }`
    fn branch(&self) -> Option<Hint> {
        matches!(self.word, "else" | "elif" | "otherwise").then(|| {
            only("there are no branches: each step has its own condition in its first line, `step NAME when p50(tpot) > 15ms { … }`")
        })
    }

    /// `require if p99(ttft) <= 3s`
    fn required_if(&self) -> Option<Hint> {
        let extra = self.before.strip_prefix("require ")?.trim_start();
        let condition = matches!(extra, "if" | "that" | "when" | "where") && !self.word.is_empty();
        condition.then(|| {
            let help = format!("`require` stands alone before what must hold: remove `{extra}`");
            mend(help, self.end - extra.len()..self.token.start, "")
        })
    }

    /// `adopt when gain >= 2% and tail < 20`
    fn adopted_when(&self) -> Option<Hint> {
        let from = self.rest.strip_prefix(self.word)?.trim_start();
        let (gain, rest) = from.split_once(" and ").filter(|_| self.before == "adopt")?;
        let when = matches!(self.word, "when" | "if" | "where");
        let right = format!("{gain}\n    require {rest}");
        (when && gain.starts_with("gain") && !rest.contains(" and ") && !rest.starts_with("gain")).then(|| {
            mend(
                format!("adoption asks for the gain alone: write `adopt {gain}`, and `require {rest}` on a line of its own"),
                self.token.start..self.token.start + self.rest.len(),
                right,
            )
        })
    }

    /// `adopt gain > 1.03`: one above the other, not how much is gained
    fn ratio(&self) -> Option<Hint> {
        let number = self.rest.strip_prefix('>').filter(|_| self.before.ends_with("gain"))?.trim();
        let times = number.parse::<f64>().ok().filter(|n| *n > 1.0 && *n < 2.0)?;
        let right = format!(">= {}%", ((times - 1.0) * 1e4).round() / 1e2);
        (self.first() == "adopt").then(|| {
            let place = self.token.start..self.token.start + self.rest.len();
            mend(format!("a gain is what is above the same: write `adopt gain {right}`"), place, right)
        })
    }

    /// `require p99(ttft) on chat <= 2s`
    fn profile_within(&self) -> Option<Hint> {
        let (metric, profile) = self.before.rsplit_once(" on ")?;
        let sign = matches!(self.word, "<" | "<=" | ">" | ">=" | "==" | "!=");
        let name = profile.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        (self.first() == "require" && sign && name && !self.rest.contains(" and ")).then(|| {
            let (limit, profile) = (self.rest, profile.trim());
            let metric = metric.split_whitespace().collect::<Vec<_>>().join(" ");
            mend(
                format!("the profile stands last: write `{metric} {limit} on {profile}`"),
                self.end - profile.len() - " on".len() - 1..self.token.start + self.rest.len(),
                format!(" {limit} on {profile}"),
            )
        })
    }

    /// `require success_rate >= 99% on chat and tail < 20`
    fn required_beside(&self) -> Option<Hint> {
        let more = self.rest.strip_prefix("and ").or_else(|| self.rest.strip_prefix("&& "))?.trim();
        let compares = more.contains(['<', '>', '=']);
        (self.first() == "require" && self.before.contains(" on ") && compares).then(|| {
            mend(
                format!("what else is required stands on a line of its own: write `require {more}`"),
                self.end..self.token.start + self.rest.len(),
                format!("\n    require {more}"),
            )
        })
    }
}
