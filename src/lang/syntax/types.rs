//! The types of flags as other languages call them.

/// The types of a flag that a word of other languages may stand for.
pub(super) fn known(chunk: &str, word: &str) -> Option<&'static [&'static str]> {
    if !chunk.starts_with("flag ") {
        return None;
    }
    Some(match word {
        "integer" | "uint" | "long" => &["int"],
        "number" | "double" | "real" | "decimal" => &["float"],
        "string" | "str" => &["text"],
        "bool" | "boolean" | "toggle" => &["switch"],
        "enum" | "choice" | "choices" | "oneof" => &["one_of"],
        "file" | "dir" | "directory" => &["path"],
        "object" | "dict" => &["json"],
        // both take several values, and make different commands of them
        "list" | "array" => &["words", "repeated"],
        _ => return None,
    })
}

/// The type that is meant, where it is the only one.
pub(super) fn sure(types: &'static [&'static str]) -> Option<&'static str> {
    if let [only] = types { Some(only) } else { None }
}

/// What to write for such types.
pub(super) fn to_write(types: &[&str]) -> String {
    match types {
        [one, other] => format!(
            "write the type as `{one}` for a flag that stands once before all its values, as `{other}` for one that stands before each"
        ),
        _ => format!("write the type as `{}`", types.concat()),
    }
}
