//! JSON over several lines: each line as it is spelled, without the spaces around it, and how deep it stands.

/// One line of a JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonLine {
    pub depth: usize,
    pub code: String,
    pub comment: Option<String>,
}

/// The lines of a JSON value; blank ones are kept one at a time.
pub fn lines(json: &str) -> Vec<JsonLine> {
    let mut found: Vec<JsonLine> = Vec::new();
    let mut depth = 0_usize;
    for line in json.replace("\r\n", "\n").split(['\n', '\r']).map(str::trim) {
        let (code, comment) = split_comment(line);
        let closers = code.bytes().take_while(|b| matches!(b, b'}' | b']')).count();
        let blank_twice =
            code.is_empty() && comment.is_none() && found.last().is_some_and(JsonLine::is_blank);
        if !blank_twice {
            found.push(JsonLine {
                depth: depth.saturating_sub(closers),
                code: code.to_owned(),
                comment: comment.map(str::to_owned),
            });
        }
        depth = depth_after(code, depth);
    }
    found
}

impl JsonLine {
    pub fn is_blank(&self) -> bool {
        self.code.is_empty() && self.comment.is_none()
    }
}

/// What stands outside of strings: byte offsets and bytes.
fn outside(line: &str) -> impl Iterator<Item = (usize, u8)> + '_ {
    let (mut inside, mut escaped) = (false, false);
    line.bytes().enumerate().filter(move |&(_, b)| {
        if inside {
            let ends = b == b'"' && !escaped;
            escaped = b == b'\\' && !escaped;
            inside = !ends;
            return false;
        }
        inside = b == b'"';
        !inside
    })
}

fn split_comment(line: &str) -> (&str, Option<&str>) {
    match outside(line).find(|(_, b)| *b == b'#') {
        Some((at, _)) => (line[..at].trim_end(), Some(&line[at..])),
        None => (line, None),
    }
}

fn depth_after(code: &str, depth: usize) -> usize {
    outside(code).fold(depth, |depth, (_, b)| match b {
        b'{' | b'[' => depth + 1,
        b'}' | b']' => depth.saturating_sub(1),
        _ => depth,
    })
}
