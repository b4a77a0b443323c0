//! Texts that stand in a script and are no commands of it: `cat > extra.yml <<EOF`.

use super::error::InitError;
use super::shell::Reader;

/// A text that begins behind the line it is named in.
#[derive(Debug, Clone)]
pub struct Pending {
    delimiter: String,
    /// `<<-`: tabs before its lines are not of it
    indented: bool,
}

impl Reader<'_, '_> {
    /// Behind `<<`: the word that ends the text.
    pub(super) fn here_document(&mut self) -> Result<(), InitError> {
        let indented = self.chars.next_if_eq(&'-').is_some();
        while self.chars.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        let of_word = |c: &char| !c.is_whitespace() && !";&|<>()".contains(*c);
        let written: String = std::iter::from_fn(|| self.chars.next_if(of_word)).collect();
        let delimiter = written.replace(['\'', '"', '\\'], "");
        if delimiter.is_empty() {
            return Err(InitError::Shell("nothing says where the text of `<<` ends".to_owned()));
        }
        self.pending.push(Pending { delimiter, indented });
        Ok(())
    }

    /// At the end of a line: the texts that it names.
    pub(super) fn texts(&mut self) -> Result<Option<String>, InitError> {
        let mut last = None;
        for Pending { delimiter, indented } in std::mem::take(&mut self.pending) {
            let mut text = String::new();
            loop {
                if self.chars.peek().is_none() {
                    let why = format!("the text that begins at `<<{delimiter}` has no end");
                    return Err(InitError::Shell(why));
                }
                let line: String = std::iter::from_fn(|| self.chars.next_if(|c| *c != '\n')).collect();
                self.chars.next();
                let line = if indented { line.trim_start_matches('\t') } else { &line };
                if line.trim_end() == delimiter {
                    break;
                }
                text.push_str(line);
                text.push('\n');
            }
            self.vars.texts.push(text.clone());
            last = Some(text);
        }
        Ok(last)
    }
}
