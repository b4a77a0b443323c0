//! Numbers and lists as other languages write them: `2,5%`, `32 * 1024`, `"3"`, `1s-5s`, `[128 256 512]`.

use std::ops::Range;

use super::at::{At, Line, mend, number_at_end, only};
use super::hints::Hint;
use super::signs::{grouped, is_round};
use crate::lang::units;

/// The remedy for a token (of the chunk, a place in it) in such a number.
pub fn slip(chunk: &str, token: &Range<usize>, word: &str, expected: &[String]) -> Option<Hint> {
    let (line, at) = (Line::of(chunk, token, word), At::new(chunk, token, word, expected));
    if line.first() == "versions" {
        return line.versions();
    }
    line.in_parts()
        .or_else(|| line.with_spaces())
        .or_else(|| line.currency())
        .or_else(|| line.price_of_one())
        .or_else(|| line.texts(&at))
        .or_else(|| line.unseparated(&at))
        .or_else(|| line.quoted(&at))
        .or_else(|| line.micro())
        .or_else(|| line.span(&at))
        .or_else(|| line.repeats())
        .or_else(|| line.with_comma())
        .or_else(|| line.product(chunk))
}

impl Line<'_> {
    /// `versions 1.0, 2.0`, `versions ["1.0", "2.0"]`
    fn versions(&self) -> Option<Hint> {
        let bare = self.rest.strip_prefix('[').and_then(|r| r.strip_suffix(']')).unwrap_or(self.rest);
        if self.before != "versions" || (bare.len() == self.rest.len() && self.word.starts_with('"')) {
            return None;
        }
        let each = bare.split(',').map(|version| version.trim().trim_matches('"'));
        let plain = |v: &str| {
            !v.is_empty()
                && v.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '_'))
        };
        let right: Vec<String> = each.clone().map(|version| format!("\"{version}\"")).collect();
        let help = format!("versions are texts: write `versions {}`", right.join(", "));
        each.into_iter()
            .all(plain)
            .then(|| mend(help, self.token.start..self.token.start + self.rest.len(), right.join(", ")))
    }

    /// `duration 1h 30min`
    fn in_parts(&self) -> Option<Hint> {
        let first = self.before.rsplit([' ', '\t']).next()?;
        let second = self.rest.split([' ', '\t', ',', ')', '}']).next()?;
        let ((long, ..), (short, one, unit)) = (time(first)?, time(second)?);
        let whole = (long + short) / one;
        let right = format!("{whole}{unit}");
        let place = self.end - first.len()..self.token.start + second.len();
        (long > short && whole.fract() == 0.0)
            .then(|| mend(format!("a time is one number: write `{right}`"), place, right))
    }

    /// `requests 6 000`, `[6 000, 12 000]`
    fn with_spaces(&self) -> Option<Hint> {
        let whole = number_at_end(self.before);
        let (mut right, mut len) = (whole.to_owned(), 0);
        for part in self.rest.split(' ') {
            let Some(unit) = part.strip_prefix("000") else { break };
            right.push_str("000");
            len += "000".len() + usize::from(len > 0);
            if !unit.is_empty() {
                if !unit.starts_with([',', ']', ')', '}']) {
                    return None;
                }
                break;
            }
        }
        let first = (1..=3).contains(&whole.len()) && whole.bytes().all(|b| b.is_ascii_digit());
        (first && whole != "0" && len > 0).then(|| {
            let place = self.end - whole.len()..self.token.start + len;
            mend(format!("a number holds no spaces: write `{right}`"), place, right)
        })
    }

    /// `budget 4 EUR`, `price 2 €/h`
    fn currency(&self) -> Option<Hint> {
        const OTHERS: [&str; 9] = ["EUR", "eur", "euro", "euros", "Euro", "€", "GBP", "£", "CHF"];
        let sign = self.rest.split([' ', '\t', '/']).next()?;
        let number = number_at_end(self.before);
        (OTHERS.contains(&sign) && !number.is_empty()).then(|| {
            let per = if self.first() == "price" { "/h" } else { "" };
            only(format!("money is counted in US dollars: convert it, and write it as in `{number}usd{per}`"))
        })
    }

    /// `price 0.35usd/gpu/h`, `price 0.35usd/h/gpu`
    fn price_of_one(&self) -> Option<Hint> {
        let said = [("/gpu", "/h"), ("/GPU", "/h"), ("/gpu", "/hour"), ("/h", "/gpu"), ("/h", "/GPU")];
        let amount = |(first, second): &(&str, &str)| {
            let amount = self.before.strip_suffix(first).filter(|_| self.rest == *second)?;
            amount.rsplit([' ', '\t']).next()
        };
        let amount =
            said.iter().find_map(amount).filter(|a| self.first() == "price" && a.ends_with("usd"))?;
        let right = format!("{amount}/h");
        let start = self.end - self.before.len() + self.before.rfind(amount)?;
        let place = start..self.token.start + self.rest.len();
        Some(mend(format!("a price is that of one GPU: write `{right}`"), place, right))
    }

    /// `["1 2 4", 1 2 4 8]`, `[1 2, 1 2 4]`: each value holds several words, and so all of these are one too
    fn texts(&self, at: &At<'_>) -> Option<Hint> {
        let open = self.before.rfind("=[").filter(|_| at.is("`,`"))? + 1;
        let (list, _) = at.chunk[self.start() + open + 1..].split(['\n', '#']).next()?.split_once(']')?;
        let mut values: Vec<Range<usize>> = Vec::new();
        for value in list.split(',') {
            let start = value.as_ptr() as usize - at.chunk.as_ptr() as usize;
            let shown = value.trim();
            let start = start + value.len() - value.trim_start().len();
            values.push(start..start + shown.len());
        }
        let written = |place: &Range<usize>| at.chunk[place.clone()].split_whitespace().collect::<Vec<_>>();
        let plain = |word: &&str| {
            word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/'))
        };
        let several = |place: &Range<usize>| written(place).len() > 1;
        let bare = |place: &Range<usize>| several(place) && written(place).iter().all(plain);
        let quoted = |place: &Range<usize>| several(place) && at.chunk[place.clone()].starts_with('"');
        let lists = values.len() > 1 && (values.iter().any(quoted) || values.iter().all(bare));
        let own =
            values.iter().find(|place| place.start <= self.token.start && self.token.end <= place.end)?;
        (lists && bare(own) && values.iter().all(|v| bare(v) || at.chunk[v.clone()].starts_with('"'))).then(
            || {
                let right = format!("\"{}\"", written(own).join(" "));
                mend(format!("a value of several words is quoted: write {right}"), own.clone(), right)
            },
        )
    }

    /// `[128 256 512]`, `[128. 256]`
    fn unseparated(&self, at: &At<'_>) -> Option<Hint> {
        let open = self.before.rfind('[').filter(|_| at.is("`,`"))?;
        let (before, (behind, _)) = (&self.before[open + 1..], self.rest.split_once(']')?);
        let value = |v: &str| {
            v.chars().any(|c| c.is_ascii_alphanumeric())
                && v.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '%'))
                // of a range it is not said which values it holds
                && !v.contains("..") && !matches!(v, "to" | "through" | "until")
        };
        let named = [" one_of", " known"].iter().any(|w| self.before[..open].trim_end().ends_with(w));
        // `[32. 64]`: a point in the place of the comma
        let pointed = |v: &str| v.strip_suffix('.').is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
        let shown = |v| if pointed(v) { v.trim_end_matches('.') } else { v };
        let all: Vec<&str> = before.split_whitespace().chain(behind.split_whitespace()).map(shown).collect();
        let each = all.iter().all(|v| value(v)) && (named || self.first() != "flag");
        let help = format!("values are separated by commas: write `[{}]`", all.join(", "));
        let more: Vec<&str> = behind.split_whitespace().map(shown).collect();
        let point = self.end - usize::from(pointed(before.rsplit([' ', '\t']).next()?));
        match more.as_slice() {
            [only] if each && behind.trim() == *only => Some(mend(help, point..self.end, ",")),
            [_, ..] if each => {
                let right = format!(", {}", more.join(", "));
                Some(mend(help, point..self.token.start + behind.trim_end().len(), right))
            }
            _ => None,
        }
    }

    /// `repeat "3"`, `gain >= "2%"`; `gpus "4090"` is a card
    fn quoted(&self, at: &At<'_>) -> Option<Hint> {
        let inner = self.word.strip_prefix('"')?.strip_suffix('"')?;
        let is_card = self.before == "gpus" && inner.len() > 2;
        (at.is("a number") && is_number(inner) && !is_card)
            .then(|| at.here(format!("a number stands without quotes: write `{inner}`"), inner))
    }

    /// `timeout 60µs`
    fn micro(&self) -> Option<Hint> {
        let sign = self.rest.chars().next().filter(|c| matches!(c, 'µ' | 'μ'))?;
        let seconds = self.rest[sign.len_utf8()..].starts_with('s')
            && self.before.ends_with(|c: char| c.is_ascii_digit());
        let place = self.token.start..self.token.start + sign.len_utf8();
        seconds.then(|| mend("microseconds are written `us`", place, "u"))
    }

    /// `think 1s-5s`, `input 128-512`, `rate 1/s to 9/s`, `output 8 … 16`, `input 1024:2048`
    fn span(&self, at: &At<'_>) -> Option<Hint> {
        let lengths = matches!(self.first(), "input" | "output" | "prefix");
        let high = self.rest.strip_prefix(['-', '–', '—', '…']).or_else(|| self.rest.strip_prefix("to "));
        let high = high.or_else(|| self.rest.strip_prefix(':').filter(|_| lengths))?.trim();
        let low = self.before.rsplit([' ', '\t']).next()?;
        let right = format!("{low} .. {high}");
        (at.is("`..`") && is_number(low) && is_number(high)).then(|| {
            let place = self.end..self.token.start + self.rest.len();
            mend(format!("a range is written `{right}`"), place, format!(" .. {high}"))
        })
    }

    /// `repeat 3..5`: the second point was read as the one of a decimal number
    fn repeats(&self) -> Option<Hint> {
        let number = self.before.strip_prefix("repeat ")?.trim().trim_end_matches('.');
        let range = self.word.starts_with('.') && number.bytes().all(|b| b.is_ascii_digit());
        range.then(|| {
            only(format!(
                "one number stands here, `repeat {number}`; `repeat auto` repeats until the result is sure"
            ))
        })
    }

    /// `adopt gain >= 2,5%`, `param ctx = 32,768`
    fn with_comma(&self) -> Option<Hint> {
        let whole = self.before.rsplit([' ', '\t', '=', '(']).next()?;
        let rest = self.rest.strip_prefix(',')?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let unit_len = rest[digits..].find([' ', '\t', ')', ',']).unwrap_or(rest.len() - digits);
        let unit = &rest[digits..digits + unit_len];
        let plain = !whole.is_empty() && whole.bytes().all(|b| b.is_ascii_digit()) && digits > 0;
        let lone = matches!(
            self.first(),
            "param" | "adopt" | "require" | "prune" | "budget" | "step" | "metric" | "price"
        );
        if !plain || !lone || !(unit.is_empty() || units::unit(unit).is_some()) {
            return None;
        }
        let written = format!("{whole},{}", &rest[..digits]);
        let place = self.end - whole.len()..self.token.start + 1 + digits + unit_len;
        let Some(thousands) = grouped(&written).filter(|_| whole != "0") else {
            let right = format!("{}{unit}", written.replace(',', "."));
            return Some(mend(format!("decimals stand behind a point: write `{right}`"), place, right));
        };
        // `1,000ms` may be one of them, or a thousand
        let sure = self.first() == "param" && unit.is_empty() && is_round(&thousands);
        let right = format!("{thousands}{unit}");
        let help = format!("a number holds no commas: write `{right}`");
        Some(if sure { mend(help, place, right) } else { only(help) })
    }

    /// `param ctx = 32 * 1024`
    fn product(&self, chunk: &str) -> Option<Hint> {
        let factor = self.rest.strip_prefix('*')?.trim();
        let first = self.before.rsplit_once('=')?.1.trim();
        let product = first.parse::<u64>().ok()?.checked_mul(factor.parse().ok()?)?;
        let place = self.end - first.len()..self.token.start + self.rest.len();
        chunk
            .starts_with("param ")
            .then(|| mend(format!("a param holds one number: write `{product}`"), place, product.to_string()))
    }
}

/// A time in seconds, how many one of its unit has, and that.
fn time(text: &str) -> Option<(f64, f64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (scale, dim) = units::unit(&text[digits..])?;
    let number: f64 = text[..digits].parse().ok()?;
    (dim == units::Dim::TIME).then(|| (scale.apply(number), scale.apply(1.0), &text[digits..]))
}

/// `500ms`, `2%`, `0.9`
fn is_number(text: &str) -> bool {
    let len = text.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
    let (number, unit) = text.split_at(len);
    number.parse::<f64>().is_ok() && (unit.is_empty() || units::unit(unit).is_some())
}
