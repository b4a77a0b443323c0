//! Engines: their settings, flags and what they set.

use pest::iterators::Pair;

use super::{Builder, Kids, kids, skip};
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::source::Span;
use crate::lang::syntax::ast::{
    Engine, EngineLine, EngineLineKind, FlagDecl, FlagKind, KeyDecl, KeySource, LimitsRequests, Text,
    UsesGpus,
};
use crate::lang::syntax::blocks::Block;
use crate::lang::syntax::grammar::Rule;

impl<'a> Builder<'a, '_> {
    pub(super) fn engine(&mut self, pair: Pair<'a, Rule>) -> Option<Engine> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        skip(&mut k, Rule::k_engine);
        let name = self.maybe_name(&mut k)?;
        let title = self.maybe_text(&mut k);
        let parent = self.maybe_name(&mut k);
        let (lines, unread) = self.lines(k, Block::Engine, |b, line| b.engine_line(line));
        let unread_flags = std::mem::take(&mut self.unread_flags);
        Some(Engine { name, title, parent, lines, unread, unread_flags, span })
    }

    pub(super) fn engine_line(&mut self, pair: Pair<'a, Rule>) -> Option<EngineLine> {
        let span = self.span(&pair);
        let rule = pair.as_rule();
        let mut k = kids(pair);
        let kind = match rule {
            Rule::e_changes => EngineLineKind::Changes(self.changes(k)),
            Rule::e_text => {
                let keyword = k.next()?.as_rule();
                let text = self.maybe_text(&mut k)?;
                match keyword {
                    Rule::k_version => EngineLineKind::Version(text),
                    Rule::k_serve => EngineLineKind::Serve(text),
                    Rule::k_image => EngineLineKind::Image(text),
                    _ => EngineLineKind::Probe(text),
                }
            }
            Rule::e_versions => {
                k.next();
                EngineLineKind::Versions(k.map(|p| self.text(&p)).collect())
            }
            Rule::e_flag => {
                k.next();
                EngineLineKind::Flag(Box::new(self.flag_decl(k, span)?))
            }
            Rule::e_publish => {
                k.next();
                let mut changes = Vec::new();
                while let Some(c) = k.next_if(|p| p.as_rule() == Rule::change) {
                    changes.extend(self.change(c));
                }
                EngineLineKind::Publish { changes, because: self.because(&mut k)? }
            }
            _ => self.engine_setting(rule, k)?,
        };
        Some(EngineLine { kind, span })
    }

    pub(super) fn engine_setting(&mut self, rule: Rule, mut k: Kids<'a>) -> Option<EngineLineKind> {
        k.next();
        Some(match rule {
            Rule::e_api => EngineLineKind::Api(self.maybe_name(&mut k)?),
            Rule::e_args => EngineLineKind::Args { joined: k.next()?.as_rule() == Rule::k_joined },
            Rule::e_ready => {
                k.next();
                EngineLineKind::Ready { path: self.maybe_text(&mut k)?, within: self.within(&mut k) }
            }
            Rule::e_metrics => {
                k.next();
                EngineLineKind::Metrics(self.maybe_text(&mut k)?)
            }
            Rule::e_reset => {
                let post = k.next()?.as_rule() == Rule::k_post;
                EngineLineKind::Reset { post, path: self.maybe_text(&mut k)? }
            }
            Rule::e_variables => {
                let prefix = self.maybe_text(&mut k)?;
                let (since, until) = self.releases(&mut k);
                EngineLineKind::Variables { prefix, since, until, names: self.list(k.next()?) }
            }
            Rule::e_refuses => {
                let reason = self.maybe_text(&mut k)?;
                let (since, until) = self.releases(&mut k);
                let when = k.find(|p| p.as_rule() == Rule::expr)?;
                EngineLineKind::Refuses { reason, since, until, when: self.whole_expr(when)? }
            }
            Rule::e_stop => {
                EngineLineKind::Stop { signal: self.maybe_name(&mut k)?, within: self.within(&mut k) }
            }
            Rule::e_key => {
                let mut sources = Vec::new();
                while let Some(p) = k.next() {
                    sources.push(match p.as_rule() {
                        Rule::k_env => KeySource::Env(self.name(&k.next()?)),
                        _ => KeySource::Flag(self.name(&p)),
                    });
                }
                EngineLineKind::Key(sources)
            }
            Rule::e_failure => {
                let name = self.maybe_text(&mut k)?;
                let pattern = k.find(|p| p.as_rule() == Rule::string)?;
                // a pattern is text as it stands: only the quotes and their escapes are ours
                EngineLineKind::Failure { name, pattern: self.text(&pattern) }
            }
            _ => return None,
        })
    }

    /// `since "…" until "…"`, either of them or none.
    fn releases(&self, k: &mut Kids<'a>) -> (Option<Text>, Option<Text>) {
        let mut release = |keyword: Rule| {
            k.next_if(|p| p.as_rule() == keyword)?;
            self.maybe_text(k)
        };
        (release(Rule::k_since), release(Rule::k_until))
    }

    pub(super) fn flag_decl(&mut self, mut k: Kids<'a>, span: Span) -> Option<FlagDecl> {
        let mut names = Vec::new();
        while let Some(p) = k.next_if(|p| p.as_rule() == Rule::flag_name) {
            names.push(self.name(&p));
        }
        let kind = self.flag_kind(k.next()?)?;
        let mut decl = FlagDecl {
            names,
            kind,
            default: None,
            since: None,
            until: None,
            negated: Vec::new(),
            uses_gpus: None,
            limits_requests: None,
            known: Vec::new(),
            keys: Vec::new(),
            twice: None,
            span,
        };
        for pair in k {
            self.attribute(pair, &mut decl)?;
        }
        Some(decl)
    }

    pub(super) fn flag_kind(&self, pair: Pair<'a, Rule>) -> Option<FlagKind> {
        let mut k = kids(pair);
        let keyword = k.next()?.as_rule();
        Some(match keyword {
            Rule::k_switch => FlagKind::Switch,
            Rule::k_path => FlagKind::Path,
            Rule::k_json => FlagKind::Json,
            Rule::k_json_file => FlagKind::JsonFile,
            Rule::k_words => FlagKind::Words,
            Rule::k_repeated => FlagKind::Repeated,
            Rule::k_int => FlagKind::Int(k.next().and_then(|p| self.range(p))),
            Rule::k_float => FlagKind::Float(k.next().and_then(|p| self.range(p))),
            Rule::k_one_of => FlagKind::OneOf(self.list(k.next()?)),
            _ => FlagKind::Text,
        })
    }

    pub(super) fn attribute(&mut self, pair: Pair<'a, Rule>, decl: &mut FlagDecl) -> Option<()> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        let keyword = k.next()?.as_rule();
        let stated = match keyword {
            Rule::k_default => decl.default.is_some(),
            Rule::k_since => decl.since.is_some(),
            Rule::k_until => decl.until.is_some(),
            Rule::k_negated => !decl.negated.is_empty(),
            Rule::k_limits => decl.limits_requests.is_some(),
            Rule::k_known => !decl.known.is_empty(),
            Rule::k_keys => !decl.keys.is_empty(),
            _ => decl.uses_gpus.is_some(),
        };
        if stated {
            decl.twice.get_or_insert(span);
        }
        match keyword {
            Rule::k_default => decl.default = self.single(k.next()?),
            Rule::k_since => decl.since = self.maybe_text(&mut k),
            Rule::k_until => decl.until = self.maybe_text(&mut k),
            Rule::k_limits => {
                let mut flags = k.filter(|p| p.as_rule() == Rule::flag_name).map(|p| self.name(&p));
                let (per, unless) = (flags.next(), flags.next());
                decl.limits_requests = Some(LimitsRequests { per, unless });
            }
            Rule::k_known => decl.known = self.list(k.next()?),
            Rule::k_keys => {
                decl.keys = kids(k.next()?).filter_map(|p| self.json_key(p)).collect();
                self.keys_with_colons(&mut decl.keys);
            }
            Rule::k_negated => decl.negated = k.map(|p| self.name(&p)).collect(),
            _ => {
                let unless = k.find(|p| p.as_rule() == Rule::flag_name).map(|p| self.name(&p));
                decl.uses_gpus = Some(UsesGpus { adds: keyword == Rule::k_adds, unless });
            }
        }
        Some(())
    }

    fn json_key(&self, pair: Pair<'a, Rule>) -> Option<KeyDecl> {
        let mut k = kids(pair);
        let name = self.name(&k.next()?);
        let kind = k.next().and_then(|p| self.flag_kind(p));
        let inner = k.find(|p| p.as_rule() == Rule::json_keys);
        let keys = inner.map(|p| kids(p).filter_map(|p| self.json_key(p)).collect()).unwrap_or_default();
        Some(KeyDecl { name, kind, keys })
    }

    /// `keys [depth: int, kind: text]`, as in JSON: told once of a list, and read without.
    fn keys_with_colons(&mut self, keys: &mut [KeyDecl]) {
        let colons = colons_of(keys);
        let Some(first) = colons.first() else { return };
        let d = Diagnostic::new(Code::Unexpected, *first, "`:` was not expected here");
        let d = d.label("a key and its type are separated by a space").help("remove the colons");
        self.sink.push(colons.iter().fold(d, |d, at| d.edit(*at, "")));
    }
}

/// The colons at the ends of keys, and of those in them, which are taken away.
fn colons_of(keys: &mut [KeyDecl]) -> Vec<Span> {
    let mut colons = Vec::new();
    for key in keys {
        if key.name.value.len() > 1 && key.name.value.ends_with(':') {
            key.name.value.pop();
            key.name.span.end -= 1;
            let at = key.name.span.end;
            colons.push(Span { start: at, end: at + 1, ..key.name.span });
        }
        colons.extend(colons_of(&mut key.keys));
    }
    colons
}
