//! Mistakes that follow from another one, taken back once everything was looked at: a point that is not there because its axis is broken,
//! a flag that is too new for the engine that is left, a release that nobody has.

use foldhash::{HashMap, HashSet};

use super::check::Checker;
use super::schema::key;
use super::scope::Kind;
use super::torn_axes::lacks_point;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, Edit};
use crate::lang::source::{FileId, Span};
use crate::lang::stdlib;
use crate::lang::syntax::UNNAMED;
use crate::lang::syntax::ast::{Axis, AxisBody, Engine, Item};

impl Checker<'_> {
    /// Takes back what follows from something else that was said.
    pub(super) fn forget_what_follows(&mut self) {
        if !self.sink.has_errors() {
            return;
        }
        self.values_by_type();
        self.points_of_broken_axes();
        self.beside_a_misspelt_word();
        self.of_a_misspelt_flag();
        self.searched_for_want_of_a_range();
        self.inserted_once_more();
        self.inserted_wrongly();
        self.params_right_elsewhere();
        self.params_of_a_wrong_kind();
        self.names_of_nobody();
        self.releases_of_nobody();
        self.doubled_for_want_of_a_value();
        self.valueless_behind_a_gap();
        self.split_flags();
        self.flags_split_before_their_value();
        self.doubled_unchecked();
        self.called_like_a_built_in();
        self.default_of_a_torn_flag();
        self.doubled_for_a_slip();
        self.made_of_a_guess();
        self.switches_set_apart();
        self.reserved_with_a_gap();
        self.unknown_to_several();
        self.guessed_wrongly();
    }

    /// A flag that the engines of one step and those of another do not know: told once, by what suggests something.
    fn unknown_to_several(&mut self) {
        let mut best: HashMap<Span, (bool, usize)> = HashMap::default();
        for (at, d) in self.sink.found().enumerate().filter(|(_, d)| d.code == Code::UnknownFlag) {
            let suggests = !d.suggested.is_empty() || !d.edits.is_empty();
            let entry = best.entry(d.span).or_insert((suggests, at));
            if suggests && !entry.0 {
                *entry = (true, at);
            }
        }
        let mut places = 0..;
        self.sink.forget(|d| {
            let at = places.next();
            d.code == Code::UnknownFlag && best.get(&d.span).is_some_and(|(_, kept)| Some(*kept) != at)
        });
    }

    /// `vary seqz` over an engine that does not take what `seqs` sets: that is not what was meant.
    fn guessed_wrongly(&mut self) {
        let sets = |d: &Diagnostic, axis: &str| {
            d.code == Code::UnknownFlag && matches!(&d.about, About::SetBy { axis: a } if a == axis)
        };
        let guess =
            |d: &&Diagnostic| d.code == Code::UnknownName && d.about.missing_kind() == Some(Kind::Axis);
        let guesses: Vec<(Span, String)> = self
            .sink
            .found()
            .filter(guess)
            .filter_map(|d| Some((d.span, d.edits.first()?.text.clone())))
            .collect();
        for (at, axis) in guesses {
            let modules = self.modules;
            let follows = |d: &Diagnostic| sets(d, &axis) && modules.slice(d.span) != axis;
            if !self.sink.found().any(follows) {
                continue;
            }
            self.sink.forget(follows);
            for d in self.sink.each_mut().filter(|d| d.code == Code::UnknownName && d.span == at) {
                d.edits.clear();
                "not declared".clone_into(&mut d.label);
                d.suggested.clear();
            }
        }
    }

    /// `seqs * seqz`, `seqz[512]`: what a misspelt name is read as is a guess, of which nothing else is wrong.
    fn made_of_a_guess(&mut self) {
        let guesses = self.sink.found().filter(|d| d.code == Code::UnknownName && !d.suggested.is_empty());
        let guesses: Vec<Span> = guesses.map(|d| d.span).collect();
        let modules = self.modules;
        let axes: Vec<&str> = guesses.iter().map(|s| modules.slice(*s)).collect();
        let lines: Vec<Span> = guesses.iter().map(|s| self.line(*s)).collect();
        let in_line =
            |s: Span| lines.iter().any(|l| l.file == s.file && l.range().contains(&(s.start as usize)));
        self.sink.forget(|d| match d.code {
            Code::UnknownPoint => lacks_point(d).is_some_and(|axis| axes.contains(&axis)),
            Code::FlagClash => in_line(d.span),
            _ => false,
        });
    }

    /// `basline a` beside `baseline a`: the misspelt one is the mistake.
    fn doubled_for_a_slip(&mut self) {
        let slips = self.sink.found().filter(|d| d.code == Code::UnknownSetting && !d.edits.is_empty());
        let slips: Vec<(FileId, u32)> = slips.map(|d| (d.span.file, d.span.start)).collect();
        let at = |s: &Span| slips.contains(&(s.file, s.start));
        // other tools cap a rate by what would be a closed load here
        let both = |d: &Diagnostic| d.about == About::TwoLoads;
        self.sink.forget(|d| {
            (d.code == Code::SettingTwice || both(d)) && (at(&d.span) || d.related.iter().any(|(s, _)| at(s)))
        });
    }

    /// `--no-cache=false`: that it does what is done anyhow depends on how it is mended.
    fn default_of_a_torn_flag(&mut self) {
        let torn = self.sink.found().filter(|d| d.code == Code::FlagNeedsValue);
        let torn: Vec<Span> = torn.map(|d| d.span).collect();
        let holds =
            |outer: Span, s: &Span| outer.file == s.file && outer.range().contains(&(s.start as usize));
        self.sink.forget(|d| d.code == Code::AaPair && torn.iter().any(|s| holds(d.span, s)));
    }

    /// `--max-model -len=4096`: two flags that there are not, and one with a space in it that there is.
    fn split_flags(&mut self) {
        let modules = self.modules;
        let unknown: Vec<Span> =
            self.sink.found().filter(|d| d.code == Code::UnknownFlag).map(|d| d.span).collect();
        let mut second: HashSet<Span> = HashSet::default();
        for d in self.sink.each_mut().filter(|d| d.code == Code::UnknownFlag) {
            let behind = |s: &&Span| s.file == d.span.file && s.start == d.span.end + 1;
            let Some(next) = unknown.iter().find(behind) else { continue };
            let whole = format!("{}{}", modules.slice(d.span), modules.slice(*next));
            if !d.edits.iter().any(|e| e.text == whole) && !d.suggested.contains(&whole) {
                continue;
            }
            second.insert(*next);
            let span = d.span.to(*next);
            *d = one_flag(span, modules.slice(span), whole);
        }
        self.sink.forget(|d| d.code == Code::UnknownFlag && second.contains(&d.span));
    }

    /// `--max-mod el-len=4096`: what looks like a flag and its value is a flag with a space in it, if there is such a one.
    fn flags_split_before_their_value(&mut self) {
        let spaced: Vec<Span> =
            self.sink.found().filter(|d| d.code == Code::SpacedFlag).map(|d| d.span).collect();
        for at in spaced {
            let text = self.modules.slice(at);
            let Some((begin, end)) = text.split_once([' ', '\t']) else { continue };
            let end = end.trim_start_matches([' ', '\t']);
            let whole = format!("{begin}{end}");
            let name = whole.split('=').next().unwrap_or_default();
            // of a JSON flag the key may be the one with the space
            let (flag, own) = (name.split('.').next().unwrap_or_default(), begin.split('.').next());
            let in_key = begin.contains('.') && end.contains('=') && !end.starts_with(['=', '"', '{', '[']);
            if !self.is_flag(flag) || own == Some(flag) && !in_key {
                continue;
            }
            let split = &text[..text.len() - (whole.len() - name.len())];
            let d = one_flag(at, split, whole);
            self.sink.forget(|d| {
                matches!(d.code, Code::SpacedFlag | Code::UnknownFlag)
                    && d.span.file == at.file
                    && d.span.start == at.start
            });
            self.sink.push(d);
        }
    }

    /// `--seqs --seqs=5`: the one without its value is the mistake.
    fn doubled_for_want_of_a_value(&mut self) {
        let wanting = self.sink.found().filter(|d| d.code == Code::FlagNeedsValue);
        let wanting: Vec<Span> = wanting.map(|d| d.span).collect();
        let at =
            |s: &Span| wanting.iter().any(|w| w.file == s.file && s.range().contains(&(w.start as usize)));
        self.sink
            .forget(|d| d.code == Code::FlagTwice && (at(&d.span) || d.related.iter().any(|(s, _)| at(s))));
    }

    /// `raw --fork --fork=4`: the second one is too many, whether or not it is known.
    fn doubled_unchecked(&mut self) {
        let modules = self.modules;
        let first_is_raw = |d: &Diagnostic| {
            let mut first = d.related.iter().map(|(at, _)| modules.slice(*at));
            first.any(|text| text.split_whitespace().next() == Some("raw"))
        };
        let twice = self.sink.found().filter(|d| d.code == Code::FlagTwice && first_is_raw(d));
        let places: Vec<Span> = twice.map(|d| d.span).collect();
        self.sink.forget(|d| {
            d.code == Code::UnknownFlag
                && places.iter().any(|p| p.file == d.span.file && p.start == d.span.start)
        });
    }

    /// `metric total_tps = …` where `per_joule` is named and nothing declares it: that is what the metric is called elsewhere.
    fn called_like_a_built_in(&mut self) {
        let items = self.modules.root().file.items.iter();
        let metrics = items.filter_map(|i| if let Item::Metric(m) = i { Some(m.name.span) } else { None });
        let metrics: HashSet<Span> = metrics.collect();
        let built_in = |d: &&Diagnostic| d.code == Code::BuiltIn && metrics.contains(&d.span);
        let unknown = |d: &&Diagnostic| {
            d.code == Code::UnknownMetric
                && d.suggested.is_empty()
                && d.edits.is_empty()
                && d.about.missing_kind() == Some(Kind::Metric)
        };
        let taken: Vec<Span> = self.sink.found().filter(built_in).map(|d| d.span).collect();
        let lost: Vec<Span> = self.sink.found().filter(unknown).map(|d| d.span).collect();
        let names: HashSet<&str> = lost.iter().map(|s| self.modules.slice(*s)).collect();
        let ([taken], [first, ..], 1) = (taken.as_slice(), lost.as_slice(), names.len()) else { return };
        let name = self.modules.slice(*first);
        let told = self.sink.each_mut().find(|d| d.code == Code::BuiltIn && d.span == *taken);
        if let Some(told) = told {
            told.help = Some(format!(
                "choose another name: `{name}` is named below and not declared, is it this one?"
            ));
            told.related.push((*first, "named here".to_owned()));
        }
        self.sink.forget(|d| d.code == Code::UnknownMetric && lost.contains(&d.span));
    }

    /// `engnie == vllm`: with the word as it was meant, the engine's name is right.
    fn beside_a_misspelt_word(&mut self) {
        let engine =
            |d: &&Diagnostic| d.code == Code::UnknownMetric && d.edits.iter().any(|e| e.text == "engine");
        let lines: Vec<Span> = self.sink.found().filter(engine).map(|d| self.line(d.span)).collect();
        let modules = self.modules;
        self.sink.forget(|d| {
            d.code == Code::UnknownMetric
                && lines.iter().any(|l| l.file == d.span.file && l.range().contains(&(d.span.start as usize)))
                && modules.root().find(Kind::Engine, modules.slice(d.span)).is_some()
        });
    }

    /// A flag that is misspelt where it is set or taken away: that the other place has none, or one of another release, follows.
    fn of_a_misspelt_flag(&mut self) {
        let unknown: Vec<&Diagnostic> = self.sink.found().filter(|d| d.code == Code::UnknownFlag).collect();
        let meant = |d: &Diagnostic| match &d.about {
            About::Opposite(flag) => key(flag),
            _ => d.suggested.first().map(|flag| key(flag)).unwrap_or_default(),
        };
        let unknown_meant: Vec<String> = unknown.iter().map(|d| meant(d)).collect();
        let places: Vec<Span> = unknown.iter().map(|d| d.span).collect();
        let modules = self.modules;
        let before = |s: Span| modules.text_of(s.file).get(..s.start as usize).unwrap_or_default().trim_end();
        let taken_away = |s: Span| before(s).ends_with("unset");
        let kin: Vec<(Span, String)> = places.iter().copied().zip(unknown_meant).collect();
        let follows: Vec<Span> = self
            .sink
            .found()
            .filter(|d| match d.code {
                Code::UnsetNothing => places.contains(&d.span),
                Code::FlagVersion => {
                    let flag = key(modules.slice(d.span).split('=').next().unwrap_or_default());
                    kin.iter().any(|(at, meant)| {
                        *meant == flag
                            && (taken_away(*at) || taken_away(d.span))
                            && self.derive_from_each_other(*at, d.span)
                    })
                }
                _ => false,
            })
            .map(|d| d.span)
            .collect();
        self.sink.forget(|d| {
            matches!(d.code, Code::UnsetNothing | Code::FlagVersion) && follows.contains(&d.span)
        });
    }

    /// Whether two places stand in engines of one line of descent.
    fn derive_from_each_other(&self, a: Span, b: Span) -> bool {
        let items = self.modules.root().file.items.iter();
        let engines = items.filter_map(|i| if let Item::Engine(e) = i { Some(e) } else { None });
        let holds =
            |e: &&Engine, s: Span| e.span.file == s.file && e.span.range().contains(&(s.start as usize));
        let at = |s: Span| engines.clone().find(|e| holds(e, s)).map(|e| &e.name.value);
        let (Some(a), Some(b)) = (at(a), at(b)) else { return false };
        let mut known = self.engines.values().flatten();
        known.any(|e| (e.name == *a || e.name == *b) && e.ancestry.contains(a) && e.ancestry.contains(b))
    }

    /// These axes and all that are made of them.
    pub(super) fn made_of<'a>(
        &'a self,
        torn: Vec<&'a str>,
        axes: impl Iterator<Item = &'a Axis>,
    ) -> HashSet<&'a str> {
        let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
        let mut users: HashMap<&str, Vec<&str>> = HashMap::default();
        for axis in axes.filter(|a| matches!(a.body, AxisBody::Algebra(_))) {
            for part in self.modules.slice(axis.span).split(word) {
                users.entry(part).or_default().push(&axis.name.value);
            }
        }
        let (mut names, mut next) = (HashSet::default(), torn);
        while let Some(name) = next.pop() {
            if names.insert(name) {
                next.extend(users.get(name).into_iter().flatten());
            }
        }
        names
    }

    /// `rate 2/s .. 20/s` with arrivals that are misspelt, `maximize raet`: a range that nothing searches may be gone through.
    fn searched_for_want_of_a_range(&mut self) {
        let objective = |d: &&Diagnostic| {
            d.code == Code::UnknownMetric
                && d.edits.iter().any(|e| matches!(e.text.as_str(), "rate" | "concurrency"))
        };
        let arrivals = |d: &&Diagnostic| {
            let line = self.modules.slice(self.line(d.span)).trim_start();
            matches!(d.code, Code::ProfileSetting | Code::UnknownSetting) && line.starts_with("arriv")
        };
        let lines: Vec<Span> = self.sink.found().filter(objective).map(|d| self.line(d.span)).collect();
        let places: Vec<Span> = self.sink.found().filter(arrivals).map(|d| d.span).collect();
        let modules = self.modules;
        let profiles = || {
            let items = modules.root().file.items.iter();
            items.filter_map(|i| if let Item::Profile(p) = i { Some(p) } else { None })
        };
        let holds = |outer: Span, inner: Span| {
            outer.file == inner.file && outer.range().contains(&(inner.start as usize))
        };
        let misread = |name: &str| {
            let own = profiles().filter(|p| p.name.value == name);
            let parents = own.clone().filter_map(|p| {
                profiles().find(|o| p.parent.as_ref().is_some_and(|n| n.value == o.name.value))
            });
            own.chain(parents).any(|p| places.iter().any(|s| holds(p.span, *s)))
        };
        let within = |d: &Diagnostic| lines.iter().any(|l| holds(*l, d.span));
        self.sink.forget(|d| d.about == About::Unsearched && (within(d) || misread(modules.slice(d.span))));
    }

    /// A param that is called otherwise than it is declared, in each text that inserts it: told at the first, mended at all.
    fn inserted_once_more(&mut self) {
        let param = |d: &&Diagnostic| d.code == Code::UnknownParam && d.edits.len() == 1;
        let all: Vec<(Span, String)> = self
            .sink
            .found()
            .filter(param)
            .map(|d| (d.span, self.modules.slice(d.span).to_owned()))
            .collect();
        for (i, (first, text)) in all.iter().enumerate() {
            let others =
                || all[i + 1..].iter().filter(|(s, t)| t == text && s.file == first.file).map(|(s, _)| *s);
            let others: Vec<Span> = others().collect();
            if others.is_empty() || all[..i].iter().any(|(s, t)| t == text && s.file == first.file) {
                continue;
            }
            self.sink.forget(|d| d.code == Code::UnknownParam && others.contains(&d.span));
            if let Some(d) = self.sink.each_mut().find(|d| d.code == Code::UnknownParam && d.span == *first)
                && let [edit] = d.edits.as_slice()
            {
                let right = edit.text.clone();
                d.edits.extend(others.into_iter().map(|span| Edit { span, text: right.clone() }));
            }
        }
    }

    /// Names that stand for those that blocks lack are not to be read in the file, nor told.
    fn names_of_nobody(&mut self) {
        let text = self.modules.root_text();
        let begin = format!(" `{UNNAMED}");
        let without = |said: &str| {
            let (before, behind) = said.split_once(begin.as_str())?;
            let (number, after) = behind.split_once('`')?;
            (!text.contains(&format!("{UNNAMED}{number}"))).then(|| format!("{before}{after}"))
        };
        for d in self.sink.each_mut() {
            for said in [Some(&mut d.message), Some(&mut d.label), d.help.as_mut()].into_iter().flatten() {
                while let Some(right) = without(said) {
                    *said = right;
                }
            }
        }
    }

    fn line(&self, at: Span) -> Span {
        at.line_in(self.modules.text_of(at.file))
    }

    /// A flag `since` a release that the schema does not have, which was said of the `since`.
    fn releases_of_nobody(&mut self) {
        let beyond = self.sink.found().filter(|d| d.about == About::BeyondVersions);
        let modules = self.modules;
        let said: Vec<&str> = beyond.map(|d| modules.slice(d.span).trim_matches('"')).collect();
        self.sink.forget(|d| match &d.about {
            About::Release { since: Some(since), .. } => {
                d.code == Code::FlagVersion && said.contains(&since.as_str())
            }
            _ => false,
        });
    }

    /// Whether an engine may be meant that is not known here, and another one of the library has the flag: that the known one lacks it
    /// in its release is then no mistake for certain.
    pub(super) fn may_be_anothers(&self, flag: &str) -> bool {
        let flag = key(flag.split('.').next().unwrap_or(flag));
        stdlib::engine_texts().filter(|text| super::lost::declares_flag(text, &flag)).count() > 1
            && (self.engine_lost() || self.sink.found().any(|d| self.hides_engine(d)))
    }

    /// Whether a diagnostic is about a line that names engines.
    fn hides_engine(&self, d: &Diagnostic) -> bool {
        if d.span.file != FileId::default() || !d.is_error() {
            return false;
        }
        let text = self.modules.root_text();
        let before = d.span.before_in(text);
        let line = &text[before.rfind('\n').map_or(0, |n| n + 1)..];
        let word = line.split_whitespace().next().unwrap_or_default();
        let names = matches!(word, "use" | "engine" | "baseline" | "track" | "step" | "vary");
        d.about.missing_kind() == Some(Kind::Engine) || d.code.id().starts_with("E1") && names
    }
}

/// What is said of a flag that is written as two.
fn one_flag(span: Span, written: &str, whole: String) -> Diagnostic {
    let d = Diagnostic::new(Code::UnknownFlag, span, format!("`{written}` is one flag"));
    d.label("a space stands in it").help(format!("write {whole}")).edit(span, whole)
}
