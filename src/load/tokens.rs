//! Text of exactly so many tokens under a given tokenizer. Random tokens are decoded, the text is encoded
//! again, and it is repaired until the count is right: a prompt that is a few tokens off would shift every
//! throughput.

use std::num::NonZero;
use std::path::Path;

use tokenizers::{Model, Tokenizer};

use super::error::LoadError;
use super::pieces::Pieces;
use crate::data::{Around, DataError, TemplateTokens};

/// As many tokens as are drawn from; more would not make the text more random.
const POOL: usize = 8192;
/// A pool of words must have this many, else other tokens are taken too.
const FEW: usize = 64;
const ATTEMPTS: usize = 32;

/// A tokenizer, and those of its tokens that make stable text.
#[derive(Debug)]
pub(super) struct ExactTokens {
    tokenizer: Tokenizer,
    pool: Vec<u32>,
    /// The text of each of the pool.
    pieces: Option<Pieces>,
    /// Tokens that the server will add in front or behind, and that a prompt has room for.
    added: u32,
    /// What a chat template puts around a text whose length counts it.
    around: Option<Around>,
}

impl ExactTokens {
    /// Reads `tokenizer.json`, given as the file or as the folder that holds it. `with_added` says whether
    /// the server will add the tokenizer's special tokens to the text as it is (it does not inside a chat
    /// template).
    pub(super) fn load(path: &Path, with_added: bool) -> Result<Self, LoadError> {
        let file = if path.is_dir() { path.join("tokenizer.json") } else { path.to_path_buf() };
        let refuse = |message: String| LoadError::Tokenizer { path: file.clone(), message };
        let tokenizer = Tokenizer::from_file(&file).map_err(|e| refuse(e.to_string()))?;
        Self::new(tokenizer, with_added).map_err(refuse)
    }

    /// The same for a tokenizer at hand; the error says why no prompts can be made with it.
    pub(super) fn new(mut tokenizer: Tokenizer, with_added: bool) -> Result<Self, String> {
        // the file may ask for a fixed length, which would make every count that length
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(|e| e.to_string())?;
        let pool = pool(&tokenizer);
        if pool.len() < 2 {
            return Err("it has no two tokens that survive decoding and encoding".to_owned());
        }
        let added =
            if with_added { tokenizer.encode("", true).map_err(|e| e.to_string())?.len() as u32 } else { 0 };
        let pieces = Pieces::of(&tokenizer, &pool);
        Ok(Self { tokenizer, pool, pieces, added, around: None })
    }

    /// What a chat template adds to a text; where it is to be counted, texts are as much shorter from now on.
    pub(super) fn within(&mut self, around: Around, counted: bool) -> Result<TemplateTokens, LoadError> {
        let count = |text: &str| -> Result<u32, DataError> {
            let encoded = self.tokenizer.encode_fast(text, false);
            let encoded = encoded.map_err(|e| DataError::Tokenizing(format!("encode a text: {e}")))?;
            Ok(u32::try_from(encoded.len()).unwrap_or(u32::MAX))
        };
        let sample = self.tokenizer.decode(&self.pool[..2], false);
        let sample = sample.map_err(|e| DataError::Tokenizing(format!("decode tokens: {e}")))?;
        let tokens = TemplateTokens::of(&around, &sample, count)?;
        if counted {
            (self.added, self.around) = (tokens.added, Some(around));
        }
        Ok(tokens)
    }

    /// How many tokens a text has where a server sees it; `None` where its own are all that count.
    fn within_template(&self, text: &str) -> Option<usize> {
        let whole = self.tokenizer.encode_fast(self.around.as_ref()?.whole(text), false);
        whole.ok().map(|encoded| encoded.len())
    }

    /// A text of `tokens` tokens, those that the server adds included; `draw` says for a place in the text which of so many tokens
    /// stands there.
    pub(super) fn text(
        &self,
        tokens: u32,
        draw: &mut impl FnMut(usize, usize) -> usize,
    ) -> Result<String, LoadError> {
        let mut wanted = tokens.saturating_sub(self.added) as usize;
        let impossible = |nearest| LoadError::Prompt { wanted: tokens, nearest };
        if wanted == 0 {
            return Err(impossible(self.added as usize));
        }
        let mut ids = Vec::with_capacity(wanted);
        let mut nearest = 0;
        for tried in 0..ATTEMPTS {
            while ids.len() < wanted {
                ids.push(self.pool[draw(ids.len(), self.pool.len())]);
            }
            ids.truncate(wanted);
            let Some(text) = self.decoded(&ids) else { break };
            let Ok(encoded) = self.tokenizer.encode_fast(text.as_str(), false) else { break };
            nearest = encoded.len();
            if nearest != wanted {
                ids = encoded.get_ids().to_vec();
                continue;
            }
            let whole = self.within_template(&text).unwrap_or(tokens as usize);
            if whole == tokens as usize {
                return Ok(text);
            }
            // a template may leave a blank out, or stand close to the text, so that tokens become more or fewer there
            wanted = (wanted + tokens as usize).saturating_sub(whole).max(1);
            ids = if tried < ATTEMPTS / 2 { encoded.get_ids().to_vec() } else { Vec::new() };
        }
        Err(impossible(nearest))
    }

    fn decoded(&self, ids: &[u32]) -> Option<String> {
        let known = self.pieces.as_ref().and_then(|pieces| pieces.text(ids));
        known.or_else(|| self.tokenizer.decode(ids, false).ok())
    }
}

/// The tokens to draw from: lower-case words that stand apart from their neighbours, for these never merge;
/// else all that survive a round trip.
fn pool(tokenizer: &Tokenizer) -> Vec<u32> {
    let is_word =
        |word: Option<&str>| word.is_some_and(|w| w.len() > 1 && w.bytes().all(|b| b.is_ascii_lowercase()));
    let words = taken(tokenizer, &|pair| {
        let mut words = pair.split_ascii_whitespace();
        is_word(words.next()) && is_word(words.next()) && words.next().is_none()
    });
    if words.len() >= FEW { words } else { taken(tokenizer, &|pair| !pair.contains(['\u{fffd}', '\0'])) }
}

/// The first stable tokens by their numbers that make a text to keep, looked for on all cores and no further than there are enough.
fn taken(tokenizer: &Tokenizer, keep: &(dyn Fn(&str) -> bool + Sync)) -> Vec<u32> {
    const AT_ONCE: usize = 2048;
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let stable = |part: &[u32]| -> Vec<u32> {
        part.iter().copied().filter(|id| is_stable(tokenizer, *id, keep)).collect()
    };
    let size = u32::try_from(tokenizer.get_vocab_size(false)).unwrap_or(u32::MAX);
    let model = tokenizer.get_model();
    let mut dense = (0..size).filter(|id| model.id_to_token(*id).is_some());
    let (mut all, mut seen, mut beyond) = (Vec::new(), 0, None);
    while all.len() < POOL {
        let mut ids: Vec<u32> = dense.by_ref().take(AT_ONCE * cores).collect();
        seen += ids.len();
        if ids.is_empty() && seen < size as usize {
            // numbers with gaps go on beyond the number of tokens
            let rest = beyond.get_or_insert_with(|| numbers_from(tokenizer, size));
            ids = rest.drain(..rest.len().min(AT_ONCE * cores)).collect();
        }
        if ids.is_empty() {
            break;
        }
        std::thread::scope(|scope| {
            let begin = |part| {
                let thread = std::thread::Builder::new().spawn_scoped(scope, move || stable(part));
                thread.map_err(|_| part)
            };
            let parts: Vec<_> = ids.chunks(AT_ONCE).map(begin).collect();
            for part in parts {
                match part.map(std::thread::ScopedJoinHandle::join) {
                    Ok(Ok(part)) => all.extend(part),
                    // a pool without a part of it would make other texts
                    Ok(Err(panic)) => std::panic::resume_unwind(panic),
                    // a machine may be out of threads
                    Err(part) => all.extend(stable(part)),
                }
            }
        });
    }
    all.truncate(POOL);
    all
}

/// The numbers of tokens from one on, ascending.
fn numbers_from(tokenizer: &Tokenizer, from: u32) -> Vec<u32> {
    let mut ids: Vec<u32> = tokenizer.get_vocab(false).into_values().filter(|id| *id >= from).collect();
    ids.sort_unstable();
    ids
}

/// Whether a token, twice in a row, gives a text that `keep` accepts and that is encoded as the same two
/// tokens.
fn is_stable(tokenizer: &Tokenizer, id: u32, keep: &dyn Fn(&str) -> bool) -> bool {
    let Ok(text) = tokenizer.decode(&[id, id], false) else { return false };
    !text.trim().is_empty()
        && keep(&text)
        && tokenizer.encode_fast(text.as_str(), false).is_ok_and(|encoded| encoded.get_ids() == [id, id])
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::str::FromStr;

    use sha2::Digest as _;

    use super::super::late::LateTokens;
    use super::super::pantry;
    use super::super::prompts::PromptMaker;
    use super::super::seeds::Purpose;
    use super::super::spec::Shared;
    use super::*;

    /// Words, and a start token that the tokenizer adds.
    fn word_level() -> Tokenizer {
        let words = (0..100).map(|i| format!("\"w{}{}\":{}", letter(i / 10), letter(i % 10), i + 2));
        let vocab: Vec<String> =
            ["\"[UNK]\":0".to_owned(), "\"[BOS]\":1".to_owned()].into_iter().chain(words).collect();
        parse(&format!(
            r#"{{"version":"1.0","truncation":null,"padding":null,
            "added_tokens":[{{"id":1,"content":"[BOS]","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}}],
            "normalizer":null,"pre_tokenizer":{{"type":"Whitespace"}},
            "post_processor":{{"type":"TemplateProcessing","single":[{{"SpecialToken":{{"id":"[BOS]","type_id":0}}}},{{"Sequence":{{"id":"A","type_id":0}}}}],
            "pair":[{{"Sequence":{{"id":"A","type_id":0}}}},{{"Sequence":{{"id":"B","type_id":0}}}}],
            "special_tokens":{{"[BOS]":{{"id":"[BOS]","ids":[1],"tokens":["[BOS]"]}}}}}},
            "decoder":null,"model":{{"type":"WordLevel","vocab":{{{}}},"unk_token":"[UNK]"}}}}"#,
            vocab.join(",")
        ))
    }

    /// Byte pairs over three letters without any spaces: neighbours merge, so that most texts need repair.
    fn merging() -> Tokenizer {
        parse(
            r#"{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":null,
            "post_processor":null,"decoder":{"type":"Fuse"},
            "model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,
            "fuse_unk":false,"byte_fallback":false,"ignore_merges":false,
            "vocab":{"a":0,"b":1,"c":2,"ab":3,"bc":4,"abc":5},"merges":["a b","b c","ab c"]}}"#,
        )
    }

    /// A word that is one token behind a blank, and two where a template has left that out.
    fn spaced() -> Tokenizer {
        parse(
            r#"{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":null,
            "post_processor":null,"decoder":{"type":"Fuse"},
            "model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,
            "fuse_unk":false,"byte_fallback":false,"ignore_merges":false,
            "vocab":{"a":0,"b":1," ":2," a":3," ab":4},"merges":[[" ","a"],[" a","b"]]}}"#,
        )
    }

    fn letter(i: u8) -> char {
        char::from(b'a' + i)
    }

    fn parse(json: &str) -> Tokenizer {
        Tokenizer::from_str(json).expect("a sound tokenizer")
    }

    fn exact(tokenizer: Tokenizer, with_added: bool) -> ExactTokens {
        ExactTokens::new(tokenizer, with_added).expect("a usable tokenizer")
    }

    fn check(
        tokenizer: &Tokenizer,
        with_added: bool,
        lengths: std::ops::RangeInclusive<u32>,
    ) -> HashSet<String> {
        let tokens = Some(LateTokens::ready(exact(tokenizer.clone(), with_added)));
        let maker = PromptMaker { input: lengths, output: 1..=1, tokenizer: tokens, shared: None, seed: 9 };
        let prompts = (0..200).map(|i| maker.make(Purpose::Load, i).expect("an exact prompt"));
        prompts
            .map(|prompt| {
                let count = tokenizer.encode(prompt.text.as_str(), with_added).expect("encodes").len();
                assert_eq!(count, prompt.tokens as usize, "{}", prompt.text);
                prompt.text
            })
            .collect()
    }

    #[test]
    fn prompts_are_exact_with_and_without_the_tokens_that_the_server_adds() {
        assert_eq!(check(&word_level(), false, 30..=60).len(), 200);
        assert_eq!(check(&word_level(), true, 30..=60).len(), 200);
        assert_eq!(
            check(&word_level(), true, 2..=2).len(),
            50,
            "one free token, half of the pool for the load"
        );
    }

    #[test]
    fn texts_within_a_template_are_as_long_as_the_server_sees_them() {
        let cases = [
            (word_level(), "waa wab ", " wac", false),
            (merging(), "aa", "cc", false),
            (spaced(), "a", " b", true),
            (spaced(), "a", " b", false),
        ];
        for (tokenizer, before, after, trims) in cases {
            let around = || Around { before: before.to_owned(), after: after.to_owned(), trims };
            let mut told = exact(tokenizer.clone(), false);
            let added = told.within(around(), false).expect("counted").added;
            let mut counted = exact(tokenizer.clone(), false);
            assert_eq!(counted.within(around(), true).expect("counted").added, added);
            let length = |tokens: ExactTokens, within: bool| {
                let input = 20..=20;
                let tokenizer_too = tokenizer.clone();
                let maker = PromptMaker {
                    input,
                    output: 1..=1,
                    tokenizer: Some(LateTokens::ready(tokens)),
                    shared: None,
                    seed: 9,
                };
                (0..50).for_each(|i| {
                    let prompt = maker.make(Purpose::Load, i).expect("an exact prompt");
                    let text = if within { around().whole(&prompt.text) } else { prompt.text };
                    assert_eq!(tokenizer_too.encode(text, false).expect("encodes").len(), 20);
                });
            };
            length(told, false);
            length(counted, true);
        }
    }

    #[test]
    fn words_are_found_wherever_their_numbers_lie() {
        let words: Vec<String> = (0..100)
            .map(|i| format!("\"w{}{}\":{}", letter(i / 10), letter(i % 10), 7 + 900 * u32::from(i)))
            .collect();
        let tokenizer = parse(&format!(
            r#"{{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,
            "pre_tokenizer":{{"type":"Whitespace"}},"post_processor":null,"decoder":null,
            "model":{{"type":"WordLevel","vocab":{{"[UNK]":0,{}}},"unk_token":"[UNK]"}}}}"#,
            words.join(",")
        ));
        assert_eq!(pool(&tokenizer), (0..100).map(|i| 7 + 900 * i).collect::<Vec<u32>>());
    }

    #[test]
    fn texts_whose_tokens_merge_are_repaired() {
        assert!(check(&merging(), false, 20..=50).len() > 190);
    }

    /// Fails where other texts are made than before: raise the generation of kept prompts, and put in what is made now.
    #[test]
    fn what_is_made_is_what_was_made_before() {
        let mut sum = sha2::Sha256::new();
        for tokenizer in [word_level(), merging()] {
            let tokens = Some(LateTokens::ready(exact(tokenizer, false)));
            let shared = Some(Shared { tokens: 3, groups: 2 });
            let maker = PromptMaker { input: 20..=40, output: 1..=9, tokenizer: tokens, shared, seed: 9 };
            for (purpose, index) in [(Purpose::Load, 0), (Purpose::Load, 7), (Purpose::Warmup, 7)] {
                sum.update(pantry::record(&maker.make(purpose, index).expect("a prompt")));
            }
        }
        assert_eq!(crate::disk::hex(&sum.finalize()[..8]), "d7c0886f8db75093");
    }

    #[test]
    fn a_length_without_room_is_refused() {
        let maker = PromptMaker {
            input: 1..=1,
            output: 1..=1,
            tokenizer: Some(LateTokens::ready(exact(word_level(), true))),
            shared: None,
            seed: 9,
        };
        assert!(matches!(maker.make(Purpose::Load, 0), Err(LoadError::Prompt { wanted: 1, nearest: 1 })));
    }

    #[test]
    fn warm_up_begins_with_other_tokens() {
        let maker = PromptMaker {
            input: 5..=5,
            output: 1..=1,
            tokenizer: Some(LateTokens::ready(exact(word_level(), false))),
            shared: None,
            seed: 9,
        };
        let first = |purpose| -> HashSet<String> {
            let texts = (0..200).map(|i| maker.make(purpose, i).expect("a prompt").text);
            texts.filter_map(|text| text.split(' ').next().map(str::to_owned)).collect()
        };
        assert!(first(Purpose::Load).is_disjoint(&first(Purpose::Warmup)));
    }

    #[test]
    fn a_folder_or_a_file_is_read_and_a_missing_one_named() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("tokenizer.json");
        assert!(
            matches!(ExactTokens::load(dir.path(), false), Err(LoadError::Tokenizer { path, .. }) if path == file)
        );
        word_level().save(&file, false).expect("saved");
        assert!(ExactTokens::load(dir.path(), false).is_ok());
        assert!(ExactTokens::load(&file, false).is_ok());
    }
}
