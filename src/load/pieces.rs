//! The text of tokens, put together from the text of each: a tokenizer that decodes a prompt looks each of them up anew.

use foldhash::HashMap;
use tokenizers::Tokenizer;

/// So many tokens are decoded together and compared with what is put together.
const TRIED: usize = 256;

/// What each of some tokens adds to a text.
#[derive(Debug)]
pub(super) struct Pieces(HashMap<u32, Piece>);

#[derive(Debug)]
struct Piece {
    /// at the beginning of a text
    first: Box<str>,
    /// behind other tokens
    later: Box<str>,
}

impl Pieces {
    /// Those of some tokens; none where a token's text hangs on its neighbours.
    pub(super) fn of(tokenizer: &Tokenizer, ids: &[u32]) -> Option<Self> {
        let decode = |ids: &[u32]| tokenizer.decode(ids, false).ok();
        let piece = |id: u32| {
            let (first, twice) = (decode(&[id])?, decode(&[id, id])?);
            let later = twice.strip_prefix(&*first)?.into();
            Some((id, Piece { first: first.into(), later }))
        };
        let all = Self(ids.iter().map(|id| piece(*id)).collect::<Option<_>>()?);
        let sample = &ids[..ids.len().min(TRIED)];
        (all.text(sample)? == decode(sample)?).then_some(all)
    }

    /// What the tokens say; `None` where one of them is not known.
    pub(super) fn text(&self, ids: &[u32]) -> Option<String> {
        // words of five or six letters and a space
        let mut text = String::with_capacity(8 * ids.len());
        for (n, id) in ids.iter().enumerate() {
            let Piece { first, later } = self.0.get(id)?;
            text.push_str(if n == 0 { first } else { later });
        }
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    fn tokenizer(decoder: &str) -> Tokenizer {
        Tokenizer::from_str(&format!(
            r###"{{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,
            "decoder":{decoder},"model":{{"type":"WordLevel","vocab":{{"▁one":0,"▁two":1,"##s":2}},"unk_token":"▁one"}}}}"###
        ))
        .expect("a tokenizer")
    }

    #[test]
    fn tokens_say_together_what_they_say_one_by_one() {
        let words = r#"{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}"#;
        for decoder in ["null", words, r#"{"type":"Fuse"}"#] {
            let tokenizer = tokenizer(decoder);
            let pieces = Pieces::of(&tokenizer, &[0, 1]).expect("words stand for themselves");
            for ids in [&[1, 0, 0, 1][..], &[0], &[]] {
                assert_eq!(pieces.text(ids), tokenizer.decode(ids, false).ok(), "{decoder} {ids:?}");
            }
            assert_eq!(pieces.text(&[0, 2]), None, "that one was not asked for");
        }
    }

    #[test]
    fn tokens_whose_text_hangs_on_their_neighbours_have_none() {
        let decoder = r#"{"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Replace","pattern":{"String":"one▁two"},"content":"!"}]}"#;
        assert!(Pieces::of(&tokenizer(decoder), &[0, 1]).is_none());
    }
}
