//! The KV cache as a pool of blocks. A freed block keeps its content until somebody needs the room, oldest first;
//! until then whoever asks for its name gets it back. One mechanism so gives prefix caching and the cheap return of
//! preempted requests.

use foldhash::{HashMap, HashMapExt as _};

/// Index of a block in its pool.
pub type BlockId = u32;

const NONE: BlockId = BlockId::MAX;

#[derive(Debug, Clone)]
struct Block {
    holders: u32,
    name: Option<u64>,
    /// Neighbours in the free list, which runs from the block to be reused first to the one freed last.
    older: BlockId,
    newer: BlockId,
}

/// All blocks of one engine.
#[derive(Debug, Clone)]
pub struct BlockPool {
    blocks: Vec<Block>,
    oldest: BlockId,
    newest: BlockId,
    free: u32,
    /// Where the content of that name is; `None` when prefix caching is off.
    named: Option<HashMap<u64, BlockId>>,
}

impl BlockPool {
    /// A pool of `total` free blocks.
    pub fn new(total: u32, prefix_caching: bool) -> Self {
        let mut pool = Self {
            blocks: vec![Block { holders: 0, name: None, older: NONE, newer: NONE }; total as usize],
            oldest: NONE,
            newest: NONE,
            free: 0,
            named: prefix_caching.then(HashMap::new),
        };
        (0..total).for_each(|block| pool.append_free(block));
        pool
    }

    /// Number of blocks.
    pub fn total(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// Blocks that nobody holds.
    pub fn free(&self) -> u32 {
        self.free
    }

    /// Blocks that somebody holds.
    pub fn used(&self) -> u32 {
        self.total() - self.free
    }

    /// The longest run of `names`, from the first on, whose content is there.
    pub fn find_prefix(&self, names: &[u64]) -> Vec<BlockId> {
        let Some(content) = &self.named else { return Vec::new() };
        names.iter().map_while(|name| content.get(name).copied()).collect()
    }

    /// Takes the `found` blocks and `fresh` empty ones, or nothing at all when there is not enough room.
    pub fn take(&mut self, found: &[BlockId], fresh: u32) -> Option<Vec<BlockId>> {
        let revived = found.iter().filter(|&&block| self.block(block).holders == 0).count() as u32;
        if revived + fresh > self.free {
            return None;
        }
        for &block in found {
            self.hold(block);
        }
        let mut taken = found.to_vec();
        taken.extend((0..fresh).map_while(|_| self.take_oldest()));
        Some(taken)
    }

    /// Gives a held block's content a name under which others find it; a name that is taken stays where it is.
    pub fn publish(&mut self, block: BlockId, name: u64) {
        let Some(named) = &mut self.named else { return };
        if let std::collections::hash_map::Entry::Vacant(entry) = named.entry(name) {
            entry.insert(block);
            self.blocks[block as usize].name = Some(name);
        }
    }

    /// Lets go of one holder's blocks, given in the order of the text: its end is forgotten first, because a
    /// beginning is worth more.
    pub fn release(&mut self, held: &[BlockId]) {
        for &block in held.iter().rev() {
            let entry = &mut self.blocks[block as usize];
            entry.holders = entry.holders.saturating_sub(1);
            if entry.holders == 0 {
                self.append_free(block);
            }
        }
    }

    /// Forgets all content. Refused (false) while blocks are held, as their names are in use.
    pub fn forget(&mut self) -> bool {
        if self.used() > 0 {
            return false;
        }
        self.blocks.iter_mut().for_each(|block| block.name = None);
        if let Some(named) = &mut self.named {
            named.clear();
        }
        true
    }

    fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id as usize]
    }

    fn hold(&mut self, block: BlockId) {
        if self.block(block).holders == 0 {
            self.remove_free(block);
        }
        self.blocks[block as usize].holders += 1;
    }

    fn take_oldest(&mut self) -> Option<BlockId> {
        let block = self.oldest;
        if block == NONE {
            return None;
        }
        self.hold(block);
        let name = self.blocks[block as usize].name.take();
        if let (Some(name), Some(named)) = (name, &mut self.named) {
            named.remove(&name);
        }
        Some(block)
    }

    fn append_free(&mut self, block: BlockId) {
        let older = self.newest;
        let entry = &mut self.blocks[block as usize];
        (entry.older, entry.newer) = (older, NONE);
        match older {
            NONE => self.oldest = block,
            older => self.blocks[older as usize].newer = block,
        }
        self.newest = block;
        self.free += 1;
    }

    fn remove_free(&mut self, block: BlockId) {
        let Block { older, newer, .. } = *self.block(block);
        match older {
            NONE => self.oldest = newer,
            older => self.blocks[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.blocks[newer as usize].older = older,
        }
        self.free -= 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filled(pool: &mut BlockPool, names: &[u64]) -> Vec<BlockId> {
        let blocks = pool.take(&[], names.len() as u32).unwrap_or_default();
        blocks.iter().zip(names).for_each(|(&block, &name)| pool.publish(block, name));
        blocks
    }

    #[test]
    fn freed_content_is_found_until_the_room_is_needed() {
        let mut pool = BlockPool::new(4, true);
        let held = filled(&mut pool, &[1, 2, 3]);
        pool.release(&held);
        assert_eq!(pool.find_prefix(&[1, 2, 3, 4]), held);
        // the fourth, never used, goes first; then the end of the text
        assert!(pool.take(&[], 2).is_some());
        assert_eq!(pool.find_prefix(&[1, 2, 3]), held[..2]);
    }

    #[test]
    fn taking_is_all_or_nothing_and_counts_revived_blocks() {
        let mut pool = BlockPool::new(3, true);
        let held = filled(&mut pool, &[1, 2]);
        pool.release(&held);
        let found = pool.find_prefix(&[1, 2]);
        assert_eq!(pool.take(&found, 2), None);
        assert_eq!(pool.free(), 3);
        assert_eq!(pool.take(&found, 1).map(|taken| taken.len()), Some(3));
        assert_eq!(pool.free(), 0);
    }

    #[test]
    fn without_prefix_caching_nothing_is_found() {
        let mut pool = BlockPool::new(2, false);
        let held = filled(&mut pool, &[1]);
        assert!(pool.find_prefix(&[1]).is_empty());
        pool.release(&held);
        assert!(pool.find_prefix(&[1]).is_empty());
    }

    #[test]
    fn forgetting_waits_for_the_holders() {
        let mut pool = BlockPool::new(2, true);
        let held = filled(&mut pool, &[1]);
        assert!(!pool.forget());
        pool.release(&held);
        assert!(pool.forget());
        assert!(pool.find_prefix(&[1]).is_empty());
    }

    proptest! {
        /// Whatever is taken, shared and released: every block is held or in the free list, which has no loop.
        #[test]
        fn no_block_is_lost(steps in prop::collection::vec((0u64..4, 1usize..6, any::<bool>()), 1..80)) {
            let mut pool = BlockPool::new(12, true);
            let mut holders: Vec<Vec<BlockId>> = Vec::new();
            for (text, length, release) in steps {
                if release && !holders.is_empty() {
                    let held = holders.remove(text as usize % holders.len());
                    pool.release(&held);
                }
                let names: Vec<u64> = (0..length as u64).map(|n| text * 100 + n).collect();
                let found = pool.find_prefix(&names);
                if let Some(taken) = pool.take(&found, (length - found.len()) as u32) {
                    taken.iter().zip(&names).for_each(|(&block, &name)| pool.publish(block, name));
                    holders.push(taken);
                }
                let mut distinct: Vec<BlockId> = holders.iter().flatten().copied().collect();
                distinct.sort_unstable();
                distinct.dedup();
                prop_assert_eq!(distinct.len() as u32, pool.used());
                prop_assert_eq!(free_list(&pool).len() as u32, pool.free());
            }
            for held in &holders {
                pool.release(held);
            }
            prop_assert_eq!(pool.used(), 0);
        }
    }

    fn free_list(pool: &BlockPool) -> Vec<BlockId> {
        let next = |&block: &BlockId| Some(pool.block(block).newer).filter(|&newer| newer != NONE);
        let first = Some(pool.oldest).filter(|&oldest| oldest != NONE);
        std::iter::successors(first, next).take(pool.blocks.len() + 1).collect()
    }
}
