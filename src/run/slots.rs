//! Slots: disjoint sets of GPUs, so that launches run side by side and no two share one.
//!
//! Whatever joins GPUs by NVLink is kept whole as far as it goes: a slot leaves an island only where no island is large enough, and
//! then it is made of whole ones. The same GPUs give the same slots, whoever asks.

use crate::gpu::{Gpu, islands};

/// The slots of so many GPUs each. None of them is in two; some may be in none.
pub fn slots(gpus: &[Gpu], links: &[(u32, u32)], size: usize) -> Vec<Vec<Gpu>> {
    let indices: Vec<u32> = gpus.iter().map(|g| g.index).collect();
    let islands = islands(&indices, links);
    let largest = islands.iter().map(Vec::len).max().unwrap_or(0);
    let chosen = match size {
        0 => Vec::new(),
        fits if fits <= largest => islands.iter().flat_map(|i| cut(i, size)).collect(),
        _ => joined(&islands, size),
    };
    let gpu = |index: &u32| gpus.iter().find(|g| g.index == *index).cloned();
    chosen.iter().map(|slot| slot.iter().filter_map(gpu).collect()).collect()
}

/// Pieces of one island; what is left over is nobody's.
fn cut(island: &[u32], size: usize) -> impl Iterator<Item = Vec<u32>> {
    island.chunks_exact(size).map(<[u32]>::to_vec)
}

/// Whole islands until there are enough GPUs; the rest of the last one is nobody's.
fn joined(islands: &[Vec<u32>], size: usize) -> Vec<Vec<u32>> {
    let (mut out, mut open) = (Vec::new(), Vec::new());
    for island in islands {
        open.extend(island);
        if open.len() >= size {
            open.truncate(size);
            out.push(std::mem::take(&mut open));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn machine(count: u32) -> Vec<Gpu> {
        let gpu = |index: u32| Gpu {
            index,
            uuid: format!("GPU-{index}"),
            name: "NVIDIA H100 80GB HBM3".to_owned(),
            memory_total: None,
            memory_used: None,
        };
        (0..count).map(gpu).collect()
    }

    fn chosen(count: u32, links: &[(u32, u32)], size: usize) -> Vec<Vec<u32>> {
        let slots = slots(&machine(count), links, size);
        slots.iter().map(|s| s.iter().map(|g| g.index).collect()).collect()
    }

    #[test]
    fn pairs_of_bridges_are_kept_and_a_switch_is_cut() {
        let bridges = [(0, 2), (1, 3)];
        assert_eq!(chosen(4, &bridges, 2), [[0, 2], [1, 3]]);
        assert_eq!(chosen(4, &bridges, 1), [[0], [2], [1], [3]]);
        // larger than a bridge: whole bridges
        assert_eq!(chosen(4, &bridges, 3), [[0, 2, 1]]);
        assert_eq!(chosen(4, &bridges, 4), [[0, 2, 1, 3]]);
        let switch: Vec<(u32, u32)> = (0..8).flat_map(|a| (a + 1..8).map(move |b| (a, b))).collect();
        assert_eq!(chosen(8, &switch, 4), [[0, 1, 2, 3], [4, 5, 6, 7]]);
        assert_eq!(chosen(8, &switch, 3), [[0, 1, 2], [3, 4, 5]]);
    }

    #[test]
    fn without_links_any_gpus_do_and_too_few_give_none() {
        assert_eq!(chosen(4, &[], 2), [[0, 1], [2, 3]]);
        assert_eq!(chosen(3, &[], 2), [[0, 1]]);
        assert!(chosen(1, &[], 2).is_empty() && chosen(2, &[], 0).is_empty());
    }

    fn worlds() -> impl proptest::strategy::Strategy<Value = (u32, Vec<(u32, u32)>, usize)> {
        (1..10_u32).prop_flat_map(|count| {
            let link = (0..count, 0..count);
            (Just(count), proptest::collection::vec(link, 0..12), 1..10_usize)
        })
    }

    proptest! {
        /// Slots are disjoint, of the size that was asked for, there if they can be, and leave an island only where none is large enough.
        #[test]
        fn slots_are_disjoint_whole_and_there((count, links, size) in worlds()) {
            let found = chosen(count, &links, size);
            let all: Vec<u32> = found.iter().flatten().copied().collect();
            prop_assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
            prop_assert!(found.iter().all(|s| s.len() == size));
            prop_assert_eq!(found.is_empty(), size > count as usize);
            let islands = islands(&(0..count).collect::<Vec<_>>(), &links);
            if islands.iter().any(|i| i.len() >= size) {
                let inside = |s: &Vec<u32>| islands.iter().any(|i| s.iter().all(|g| i.contains(g)));
                prop_assert!(found.iter().all(inside));
                let most: usize = islands.iter().map(|i| i.len() / size).sum();
                prop_assert_eq!(found.len(), most);
            } else {
                // no island serves two
                for island in &islands {
                    prop_assert!(found.iter().filter(|s| s.iter().any(|g| island.contains(g))).count() <= 1);
                }
            }
        }

        /// In which order links are told changes nothing.
        #[test]
        fn slots_do_not_hang_on_the_order_of_links((count, mut links, size) in worlds()) {
            let before = chosen(count, &links, size);
            links.reverse();
            let turned: Vec<(u32, u32)> = links.iter().map(|&(a, b)| (b, a)).collect();
            prop_assert_eq!(chosen(count, &turned, size), before);
        }
    }
}
