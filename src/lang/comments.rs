//! Where a line's comment begins: a `#` outside of double quotes.

/// The place of the `#`.
pub fn start_of_comment(line: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    line.bytes().position(|byte| {
        let starts = byte == b'#' && !quoted;
        quoted ^= byte == b'"' && !escaped;
        escaped = byte == b'\\' && quoted && !escaped;
        starts
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_within_quotes_begins_none() {
        assert_eq!(start_of_comment(r##"env A="# \" #"  # b "##), Some(16));
        assert_eq!(start_of_comment("a # b # c"), Some(2));
        assert_eq!(start_of_comment(r##"a "#"##), None);
    }
}
