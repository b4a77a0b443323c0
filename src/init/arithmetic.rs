//! Whole numbers in a shell's `$(( ))`: sums, products and brackets of numbers and variables.

use std::iter::Peekable;
use std::str::Chars;

/// What an expression comes to; `None` where it is more than that, or no number.
pub fn value(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Option<i64> {
    let mut reader = Reader { chars: text.chars().peekable(), variable, depth: 0 };
    let value = reader.sum()?;
    reader.sign().is_none().then_some(value)
}

/// Brackets in brackets beyond this are nobody's.
const DEEPEST: usize = 32;

struct Reader<'a> {
    chars: Peekable<Chars<'a>>,
    variable: &'a dyn Fn(&str) -> Option<String>,
    depth: usize,
}

impl Reader<'_> {
    /// The next character that is no blank.
    fn sign(&mut self) -> Option<char> {
        while self.chars.next_if(|c| c.is_whitespace()).is_some() {}
        self.chars.peek().copied()
    }

    fn sum(&mut self) -> Option<i64> {
        let mut value = self.product()?;
        while let Some(sign @ ('+' | '-')) = self.sign() {
            self.chars.next();
            let next = self.product()?;
            value = if sign == '+' { value.checked_add(next)? } else { value.checked_sub(next)? };
        }
        Some(value)
    }

    fn product(&mut self) -> Option<i64> {
        let mut value = self.single()?;
        while let Some(sign @ ('*' | '/' | '%')) = self.sign() {
            self.chars.next();
            let next = self.single()?;
            value = match sign {
                '*' => value.checked_mul(next)?,
                '/' => value.checked_div(next)?,
                _ => value.checked_rem(next)?,
            };
        }
        Some(value)
    }

    fn single(&mut self) -> Option<i64> {
        match self.sign()? {
            '(' if self.depth < DEEPEST => {
                self.chars.next();
                self.depth += 1;
                let value = self.sum()?;
                self.depth -= 1;
                (self.sign()? == ')').then(|| self.chars.next())?;
                Some(value)
            }
            '$' => {
                self.chars.next();
                self.word()
            }
            _ => self.word(),
        }
    }

    /// A number, or a variable that holds one.
    fn word(&mut self) -> Option<i64> {
        let more = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
        let word: String = std::iter::from_fn(|| self.chars.next_if(more)).collect();
        // a shell reads `010` as eight
        let number = |text: &str| text.parse().ok().filter(|_| text == "0" || !text.starts_with('0'));
        number(&word).or_else(|| number((self.variable)(&word)?.trim()))
    }
}
