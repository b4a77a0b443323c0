//! The seal of a journal's line: a checksum over everything before it, as the line's last field. A disk, a copy or an editor that changes a
//! digit of a result leaves JSON that reads well; the seal is what tells.

/// `,"sum":"1a2b3c4d"}`
const BEFORE: &[u8] = b",\"sum\":\"";
const AFTER: &[u8] = b"\"}";
const DIGITS: usize = 8;

/// Seals one JSON object that stands on a line.
pub fn seal(line: &mut Vec<u8>) {
    if line.pop_if(|last| *last == b'}').is_none() {
        return;
    }
    let sum = crc32(line);
    line.extend_from_slice(BEFORE);
    line.extend_from_slice(&hex(sum));
    line.extend_from_slice(AFTER);
}

/// What a line's seal tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seal {
    /// it is as it was written
    Whole,
    /// it is not
    Broken,
    /// it has none, as before version 5
    Missing,
}

/// Looks at the seal of a line.
pub fn check(line: &[u8]) -> Seal {
    let Some(rest) = line.strip_suffix(AFTER) else { return Seal::Missing };
    let Some((rest, digits)) = rest.split_at_checked(rest.len().saturating_sub(DIGITS)) else {
        return Seal::Missing;
    };
    let Some(text) = rest.strip_suffix(BEFORE) else { return Seal::Missing };
    if hex(crc32(text)) == digits { Seal::Whole } else { Seal::Broken }
}

fn hex(sum: u32) -> [u8; DIGITS] {
    std::array::from_fn(|i| b"0123456789abcdef"[(sum >> (4 * (DIGITS - 1 - i)) & 15) as usize])
}

/// CRC-32 as of gzip and Ethernet: finds every change of up to 32 neighbouring bits.
fn crc32(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_gzip_s() {
        assert_eq!(crc32(b""), 0);
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b"The quick brown fox jumps over the lazy dog"), 0x414f_a339);
    }

    #[test]
    fn every_bit_that_flips_is_seen() {
        let mut line = br#"{"v":5,"seq":1,"kind":{"end":{"complete":true}}}"#.to_vec();
        assert_eq!(check(&line), Seal::Missing);
        seal(&mut line);
        assert_eq!(check(&line), Seal::Whole);
        assert!(serde_json::from_slice::<serde_json::Value>(&line).is_ok());
        for bit in 0..line.len() * 8 {
            let mut flipped = line.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(check(&flipped), Seal::Whole, "bit {bit}");
        }
    }
}
