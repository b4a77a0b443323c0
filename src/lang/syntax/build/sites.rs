//! Sites: one line for each fact of a machine.

use pest::iterators::Pair;

use super::{Builder, kids, skip};
use crate::lang::syntax::ast::{ChangeKind, Name, Site, SiteLine, SiteLineKind, Text};
use crate::lang::syntax::blocks::Block;
use crate::lang::syntax::grammar::Rule;

impl<'a> Builder<'a, '_> {
    pub(super) fn site(&mut self, pair: Pair<'a, Rule>) -> Option<Site> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        skip(&mut k, Rule::k_site);
        let name = self.maybe_name(&mut k)?;
        let (lines, _) = self.lines(k, Block::Site, |b, line| b.site_line(line));
        Some(Site { name, lines, span })
    }

    fn site_line(&mut self, pair: Pair<'a, Rule>) -> Option<SiteLine> {
        let span = self.span(&pair);
        let kind = match pair.as_rule() {
            Rule::l_engine => self.site_engine(pair)?,
            Rule::l_model => {
                let mut texts = self.texts(pair).into_iter();
                SiteLineKind::Model { model: texts.next()?, at: texts.next()? }
            }
            Rule::l_data => {
                let data = kids(pair.clone()).find(|p| p.as_rule() == Rule::name).map(|p| self.name(&p))?;
                SiteLineKind::Data { data, at: self.texts(pair).into_iter().next()? }
            }
            Rule::env => match self.bare_change(pair)?.kind {
                ChangeKind::Env { name, value } => SiteLineKind::Env { name, value },
                _ => return None,
            },
            Rule::l_price => {
                let number = kids(pair).find(|p| p.as_rule() == Rule::number)?;
                SiteLineKind::Price(self.number(&number))
            }
            _ => self.runner(pair)?,
        };
        Some(SiteLine { kind, span })
    }

    fn site_engine(&self, pair: Pair<'a, Rule>) -> Option<SiteLineKind> {
        let mut k = kids(pair);
        skip(&mut k, Rule::k_engine);
        let name = self.maybe_name(&mut k)?;
        let version = self.maybe_text(&mut k);
        skip(&mut k, Rule::k_via);
        let via = self.maybe_name(&mut k)?;
        Some(SiteLineKind::Engine { name, version, via, argument: self.maybe_text(&mut k) })
    }

    fn runner(&mut self, pair: Pair<'a, Rule>) -> Option<SiteLineKind> {
        let mut k = kids(pair);
        skip(&mut k, Rule::k_runner);
        let name: Name = self.maybe_name(&mut k)?;
        let (lines, _) = self.lines(k, Block::Runner, |b, line| b.word_line(line));
        Some(SiteLineKind::Runner { name, lines })
    }

    fn texts(&self, pair: Pair<'a, Rule>) -> Vec<Text> {
        kids(pair).filter(|p| p.as_rule() == Rule::string).map(|p| self.text(&p)).collect()
    }
}
