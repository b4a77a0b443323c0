//! How the tokens that a server counted lie in the text that came.

use super::record::Chunk;

/// Tokens that an event with an empty text may stand for: several ends of sequence, or parts of one character, sent together.
const OF_A_BLANK: u32 = 64;

/// The most tokens that chunks with so many bytes of text hold: none has less than a byte, but for those that are no text, such as an end
/// of sequence, which some servers send as an empty one. One of those may have come with the reason for the end.
pub(super) fn room_for_tokens(text_bytes: &[u32]) -> u32 {
    let room = |bytes: &u32| if *bytes == 0 { OF_A_BLANK } else { *bytes };
    text_bytes.iter().map(room).fold(1, u32::saturating_add)
}

/// Sets the cumulated tokens of chunks so that the last has `total`, where the server merged tokens and told
/// only the total. A prefill yields one token, so the first chunk has one unless its text is clearly longer;
/// the rest goes by length of text, at least one each.
pub(super) fn spread(chunks: &mut [Chunk], text_bytes: &[u32], total: u32) {
    let count = chunks.len() as u64;
    let total = u64::from(total);
    if count == 0 || count == total {
        return;
    }
    if total < count {
        for (i, chunk) in (1_u64..).zip(chunks) {
            chunk.1 = (i * total).div_ceil(count) as u32;
        }
        return;
    }
    let bytes: Vec<u64> = text_bytes.iter().map(|bytes| u64::from(*bytes).max(1)).collect();
    let all: u64 = bytes.iter().sum();
    let by_length = (bytes[0] * total + all / 2) / all;
    let first = match by_length {
        _ if count == 1 => total,
        0..3 => 1,
        many => many.min(total - (count - 1)),
    };
    let (rest, surplus) = ((all - bytes[0]).max(1), total - first - (count - 1));
    let mut passed = 0;
    for (i, (chunk, bytes)) in (0_u64..).zip(chunks.iter_mut().zip(&bytes)) {
        passed += if i == 0 { 0 } else { *bytes };
        chunk.1 = (first + i + surplus * passed / rest) as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_a_byte_at_least_or_an_event_of_its_own() {
        assert_eq!(room_for_tokens(&[]), 1, "an end of sequence at once");
        assert_eq!(room_for_tokens(&[1]), 2);
        assert_eq!(room_for_tokens(&[4, 0, 5]), 1 + 4 + 64 + 5);
        assert_eq!(room_for_tokens(&[u32::MAX, 7]), u32::MAX);
    }
}
