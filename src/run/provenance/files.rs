//! A hash over what files hold.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use sha2::{Digest, Sha256};

/// A hash over the content of files, one after the other.
pub fn content<'a>(files: impl Iterator<Item = &'a Path>) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    for file in files {
        let mut file = File::open(file)?;
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                n => hash.update(&buffer[..n]),
            }
        }
    }
    let digest = hash.finalize();
    let bytes: [u8; 8] = std::array::from_fn(|i| digest.get(i).copied().unwrap_or_default());
    Ok(format!("{:016x}", u64::from_be_bytes(bytes)))
}
