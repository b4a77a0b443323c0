//! What a terminal, a wiki or a chat puts around a command: prompts, output between commands, code fences.

use std::sync::LazyLock;

use regex::Regex;

/// `$ `, `(venv) $ `, `me@box:~/x$ `, `root@4f1:/workspace# `, `[me@box x]$ `, `% `, `❯ `, `PS C:\> `.
static PROMPT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^\s*(?:\([\w.+-]+\)\s*)?(?:\[?[\w.-]+@[\w.-]+[^\n$#%❯'\x22]*?\]?[$#%❯]|[$%❯]|PS [A-Za-z]:\\[^>\n]*>)\s+").ok()
});

/// The commands of a pasted text, without what is around them. Where lines have a prompt, the others are output.
pub fn commands_only(text: &str) -> String {
    if let Some(started) = of_a_unit(text) {
        return started;
    }
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim_start().starts_with("```")).collect();
    let prompted = lines.iter().any(|l| prompt(l).is_some());
    let mut kept: Vec<&str> = Vec::new();
    let mut open = false;
    for line in lines {
        let line = if open { line.strip_prefix("> ").unwrap_or(line) } else { line };
        match prompt(line) {
            Some(rest) if !open => kept.push(rest),
            _ if open || !prompted => kept.push(line),
            _ => continue,
        }
        open = goes_on(&kept);
    }
    kept.join("\n")
}

/// What a unit of systemd starts, with its variables as a shell has them.
fn of_a_unit(text: &str) -> Option<String> {
    const START: &str = "ExecStart=";
    text.lines().find(|l| l.trim_start().starts_with(START))?;
    let mut kept = String::new();
    let mut open = false;
    for line in text.lines() {
        let line = line.trim();
        let of_unit = if let Some(variables) = line.strip_prefix("Environment=") {
            Some(format!("export {variables}"))
        } else {
            // signs before the program say how systemd runs it
            line.strip_prefix(START).map(|c| c.trim_start_matches(['-', '@', ':', '+', '!']).to_owned())
        };
        if let Some(kept_line) = of_unit.or_else(|| open.then(|| line.to_owned())) {
            open = kept_line.ends_with('\\');
            kept.push_str(&kept_line);
            kept.push('\n');
        }
    }
    Some(kept.trim_end().to_owned())
}

fn prompt(line: &str) -> Option<&str> {
    let found = PROMPT.as_ref()?.find(line)?;
    Some(&line[found.end()..])
}

/// Whether the next line belongs to the last one: a backslash at its end, the backtick of PowerShell, or a quote that is still open.
fn goes_on(kept: &[&str]) -> bool {
    let last = kept.last().map_or("", |l| l.trim_end());
    let quotes: usize = kept.iter().map(|l| l.matches('\'').count()).sum();
    let backtick = last.ends_with('`') && last.matches('`').count() % 2 == 1;
    last.ends_with('\\') || backtick || quotes % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_and_output_go() {
        let cases = [
            ("vllm serve x", "vllm serve x"),
            ("$ vllm serve x\nINFO ready\n$ ls", "vllm serve x\nls"),
            ("(venv) me@box:~/w$ vllm serve x \\\n>   --a 1\nINFO", "vllm serve x \\\n  --a 1"),
            ("root@4f1:/workspace# vllm serve x", "vllm serve x"),
            ("[me@box w]$ vllm serve x", "vllm serve x"),
            ("# a comment\nvllm serve x", "# a comment\nvllm serve x"),
            ("```bash\nvllm serve x\n```", "vllm serve x"),
            (
                "[Service]\nEnvironment=\"A=1 2\" B=3\nExecStart=-/opt/vllm serve x \\\n  --y 1\nRestart=always",
                "export \"A=1 2\" B=3\n/opt/vllm serve x \\\n--y 1",
            ),
            ("$ vllm serve x --c '{\n \"a\": 1}'\nINFO", "vllm serve x --c '{\n \"a\": 1}'"),
        ];
        for (text, expected) in cases {
            assert_eq!(commands_only(text), expected, "{text}");
        }
    }
}
