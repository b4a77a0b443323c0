//! Islands: GPUs that reach each other by NVLink, directly or through others. An engine that is split over GPUs should not leave one.

/// The islands among GPUs of these indices, each sorted, by their first member. A GPU without links is one of its own.
pub fn islands(indices: &[u32], links: &[(u32, u32)]) -> Vec<Vec<u32>> {
    let mut left: Vec<u32> = indices.to_vec();
    left.sort_unstable();
    let mut out = Vec::new();
    while let Some(first) = left.first().copied() {
        let mut island = vec![first];
        let mut next = 0;
        while let Some(here) = island.get(next).copied() {
            let others = links.iter().filter_map(|&(a, b)| match here {
                h if h == a => Some(b),
                h if h == b => Some(a),
                _ => None,
            });
            let new: Vec<u32> = others.filter(|o| left.contains(o) && !island.contains(o)).collect();
            for gpu in new {
                if !island.contains(&gpu) {
                    island.push(gpu);
                }
            }
            next += 1;
        }
        left.retain(|g| !island.contains(g));
        island.sort_unstable();
        out.push(island);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_join_and_their_absence_parts() {
        assert_eq!(islands(&[0, 1, 2, 3], &[(0, 1), (2, 3)]), [[0, 1], [2, 3]]);
        assert_eq!(islands(&[0, 1, 2, 3], &[(0, 2), (2, 3), (1, 3)]), [[0, 1, 2, 3]]);
        assert_eq!(islands(&[5, 2], &[]), [[2], [5]]);
        // a link to a GPU that may not be used joins nothing
        assert_eq!(islands(&[0, 2], &[(0, 1), (1, 2)]), [[0], [2]]);
        assert!(islands(&[], &[(0, 1)]).is_empty());
    }
}
