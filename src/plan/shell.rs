//! Words as they are typed in a POSIX shell: quoted where they need it, and only there.

/// A word quoted for the shell, in single quotes where it needs any. Braces count as needing them: bash would expand
/// `--sizes={1,2}` into two flags.
pub fn quote(word: &str) -> String {
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    if is_file(word) {
        return word.to_owned();
    }
    // `--name=` stays readable in front of its quoted value
    match word.split_once('=') {
        Some((name, value)) if !name.is_empty() && name.chars().all(is_plain) && is_file(value) => {
            word.to_owned()
        }
        Some((name, value)) if !name.is_empty() && name.chars().all(is_plain) && !value.is_empty() => {
            format!("{name}={}", quote_all(value))
        }
        _ => quote_all(word),
    }
}

/// What stands in a command for a file that holds a text: bash and zsh make it when they run the command.
pub fn file_of(text: &str) -> String {
    format!("{FILE}{})", quote_all(text))
}

/// How the word begins that [`file_of`] makes.
const FILE: &str = "<(echo ";

fn is_file(word: &str) -> bool {
    word.starts_with(FILE) && word.ends_with(')')
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '@' | '%' | '+' | '=' | ':' | ',' | '.' | '/' | '-')
}

/// A whole text quoted, whatever it begins with.
pub fn quote_all(text: &str) -> String {
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
