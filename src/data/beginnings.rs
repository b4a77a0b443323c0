//! What prompts begin with: a prefix cache that has seen the first block of a prompt answers for it.

use std::collections::HashSet;

use super::question::DataError;
use super::recipe::Random;
use super::vocabulary::Vocabulary;

/// First tokens of prompts that run through the vocabulary from a drawn offset on: two that begin with the same token are alike to the
/// end of the shorter.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Beginnings(HashSet<u32>);

impl Beginnings {
    /// Those of several loads, each drawn apart from the ones before it.
    ///
    /// # Errors
    /// Settings that a recipe refuses.
    pub fn of(loads: &[Random], vocabulary: &Vocabulary) -> Result<Self, DataError> {
        let mut all = Self::default();
        for load in loads.iter().filter(|load| load.lengths.prefix == 0) {
            let tokens = load.first_tokens(&all, vocabulary)?;
            all.0.extend(tokens);
        }
        Ok(all)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn holds(&self, token: u32) -> bool {
        self.0.contains(&token)
    }
}

#[cfg(test)]
mod tests {
    use super::super::question::Question;
    use super::super::recipe::{Lengths, Recipe};
    use super::super::set::{DataSet, Source};
    use super::super::vocabulary::small::vocabulary;
    use super::*;

    const RECIPES: [Recipe; 3] = [Recipe::Vllm, Recipe::Vllm011, Recipe::Sglang];

    fn load(recipe: Recipe, seed: u64, exact: bool) -> Random {
        let lengths = Lengths { input: 20, output: 4, range_ratio: 0.0, prefix: 0 };
        let range_ratio = if recipe == Recipe::Sglang { 1.0 } else { 0.0 };
        Random { recipe, lengths: Lengths { range_ratio, ..lengths }, count: 30, seed, exact }
    }

    fn beginnings(questions: &[Question]) -> HashSet<u64> {
        questions.iter().filter_map(|q| q.beginning).collect()
    }

    #[test]
    fn loads_of_one_seed_begin_apart_unless_their_own_bytes_are_asked_for() {
        let vocabulary = vocabulary();
        for recipe in RECIPES {
            let (first, second) = (load(recipe, 7, false), load(recipe, 7, false));
            let others = Beginnings::of(&[first], &vocabulary).expect("drawn");
            let one = beginnings(&first.questions(&vocabulary).expect("prompts"));
            let apart = second.apart_from(&others, &vocabulary).expect("prompts");
            assert!(one.is_disjoint(&beginnings(&apart)), "{recipe:?}");
            assert!(apart.iter().all(|q| q.tokens == 20 && q.beginning.is_some()), "{recipe:?}");
            let exact = load(recipe, 7, true).apart_from(&others, &vocabulary).expect("prompts");
            assert_eq!(exact, load(recipe, 7, true).questions(&vocabulary).expect("prompts"), "{recipe:?}");
            assert_eq!(beginnings(&exact), one, "{recipe:?}");
        }
    }

    #[test]
    fn three_loads_begin_apart_whichever_of_them_are_made() {
        let vocabulary = vocabulary();
        let all = [load(Recipe::Vllm, 1, false), load(Recipe::Vllm, 2, true), load(Recipe::Sglang, 3, false)];
        let made = |n: usize| {
            let others = Beginnings::of(&all[..n], &vocabulary).expect("drawn");
            beginnings(&all[n].apart_from(&others, &vocabulary).expect("prompts"))
        };
        assert!(made(0).is_disjoint(&made(2)) && made(1).is_disjoint(&made(2)));
        // what is asked for exactly may begin as another; the third keeps clear of both
        assert_eq!(made(1), beginnings(&all[1].questions(&vocabulary).expect("prompts")));
    }

    #[test]
    fn a_vocabulary_without_room_still_gives_prompts() {
        let vocabulary = vocabulary();
        let full: Vec<Random> = (0..40).map(|seed| load(Recipe::Vllm, seed, true)).collect();
        let others = Beginnings::of(&full, &vocabulary).expect("drawn");
        assert_eq!(
            load(Recipe::Vllm, 99, false).apart_from(&others, &vocabulary).expect("prompts").len(),
            30
        );
    }

    #[test]
    fn a_repeated_load_begins_apart_from_itself() {
        let set = |exact| DataSet {
            source: Source::Random(load(Recipe::Vllm, 5, exact)),
            tokenizer: None,
            apart_from: Vec::new(),
        };
        let again = set(false).again();
        let Source::Random(random) = again.source else { panic!("another source") };
        assert_eq!((random.seed, again.apart_from), (6, vec![load(Recipe::Vllm, 5, false)]));
        assert_eq!(set(true).again(), set(true));
        assert!(matches!(set(true).content(None, None), Err(DataError::NoTokenizer)));
    }
}
