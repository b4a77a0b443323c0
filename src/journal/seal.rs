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
    line.extend_from_slice(format!("{sum:08x}").as_bytes());
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
    if format!("{:08x}", crc32(text)).as_bytes() == digits { Seal::Whole } else { Seal::Broken }
}

/// CRC-32 as of gzip and Ethernet: finds every change of up to 32 neighbouring bits.
fn crc32(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    let (chunks, rest) = bytes.as_chunks::<8>();
    for chunk in chunks {
        let eight = (u64::from_le_bytes(*chunk) ^ u64::from(sum)).to_le_bytes();
        sum = eight.iter().zip(TABLES.iter().rev()).fold(0, |x, (byte, table)| x ^ table[usize::from(*byte)]);
    }
    let one = |sum: u32, byte: &u8| TABLES[0][usize::from(sum as u8 ^ byte)] ^ (sum >> 8);
    !rest.iter().fold(sum, one)
}

/// The n-th table moves a byte on by n more: eight bytes are taken at a time.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut i = 0;
    while i < 256 {
        let (mut sum, mut bit) = (i as u32, 0);
        while bit < 8 {
            sum = if sum & 1 == 1 { 0xedb8_8320 ^ (sum >> 1) } else { sum >> 1 };
            bit += 1;
        }
        tables[0][i] = sum;
        i += 1;
    }
    let mut n = 1;
    while n < 8 {
        let mut i = 0;
        while i < 256 {
            let before: u32 = tables[n - 1][i];
            tables[n][i] = tables[0][(before & 0xff) as usize] ^ (before >> 8);
            i += 1;
        }
        n += 1;
    }
    tables
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
