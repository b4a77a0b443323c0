//! Lines of a block that begin with no setting, as other languages and tools would write them: shell variables, YAML keys, dashes of
//! a word processor, declarations in the wrong place.

use super::blocks::Block;
use super::words;
use crate::lang::of_launch::OF_THE_LAUNCH;

/// What was meant by a line, in words; where there is no doubt, also the line as it should be.
pub type Meant = (Option<String>, String);

/// What other tools call the flags of a server.
pub(super) const LISTS_OF_FLAGS: [&str; 6] =
    ["flags", "extra_args", "extra_flags", "server_args", "cmd", "command"];

/// What a line of axes alone can be in the step that it stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axes {
    /// what the step varies
    Varied,
    /// more of it: the step says already what it varies
    More,
    /// nothing: no axis is called so
    NoAxis,
    /// the same, beside what the step varies
    Stray,
}

/// What a line was meant to be that begins with no setting of its block.
pub fn line(block: Block, text: &str, as_axes: Axes) -> Option<Meant> {
    let line = text.lines().next().unwrap_or_default().trim_end();
    let comment = line.find(" #").unwrap_or(line.len());
    let line = line[..comment].trim_end();
    leading_operator(line)
        .map(|help| (None, help))
        .or_else(|| key_of_an_object(block, line))
        .or_else(|| dashes(line))
        .or_else(|| matches!(block, Block::Engine | Block::Site).then(|| variable(line))?)
        .or_else(|| (block == Block::Engine).then(|| flag(line))?)
        .or_else(|| (block == Block::Step).then(|| axes(line, as_axes))?)
        .or_else(|| (block == Block::Profile).then(|| load(line))?)
        .or_else(|| (block == Block::Study).then(|| profile_first(line))?)
        .or_else(|| misplaced(block, line, as_axes))
}

/// `"repeat": 1,`, `'repeat': 1,`, `"repeat" 1`: a setting as a key of an object.
fn key_of_an_object(block: Block, line: &str) -> Option<Meant> {
    let key = quoted_setting(block, line)?;
    let value = line[key.len() + 2..].trim_start_matches([' ', '\t', ':']).trim_end_matches(',').trim_end();
    let inner =
        value.strip_prefix('\'').and_then(|v| v.strip_suffix('\'')).filter(|v| !v.contains(['"', '\'']));
    let value = inner.map_or_else(|| value.to_owned(), |inner| format!("\"{inner}\""));
    let right = format!("{key} {value}");
    (!value.is_empty() && !value.ends_with('{'))
        .then(|| (Some(right.clone()), format!("a setting is no key of an object: write `{right}`")))
}

/// The setting that a line begins with in quotes, with something behind it.
pub fn quoted_setting(block: Block, line: &str) -> Option<&str> {
    let quote = line.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (key, rest) = line[1..].split_once(quote)?;
    let (_, known) = block.settings();
    let behind = rest.lines().next().unwrap_or_default().trim_start();
    (known.contains(&key) && !behind.is_empty() && !behind.starts_with('#')).then_some(key)
}

/// `on chat maximize total_tps`
fn profile_first(line: &str) -> Option<Meant> {
    let rest = line.strip_prefix("on ")?;
    let begins = |word: &&str| rest.find(&format!(" {word} "));
    let at = ["maximize", "minimize", "require", "confirm", "curve"].iter().filter_map(begins).min()?;
    let (profiles, asked) = (rest[..at].trim(), rest[at..].trim());
    Some((None, format!("the profile stands behind what is asked of it: write `{asked} on {profiles}`")))
}

/// Operators that begin no line.
pub(super) const LEADING_OPERATORS: [&str; 12] =
    ["*", "+", "/", "and", "or", "<", "<=", ">", ">=", "==", "!=", "divides"];

/// A line that begins with an operator goes on from the one before, which must say so.
pub fn leading_operator(line: &str) -> Option<String> {
    let word = line.split_whitespace().next().unwrap_or_default();
    let goes_on = LEADING_OPERATORS.contains(&word) && line.len() > word.len();
    goes_on.then(|| behind_its_operator(word))
}

pub(super) fn behind_its_operator(sign: &str) -> String {
    format!("an expression goes on behind its operator: end the line before with `{sign}`")
}

/// `–max-num-seqs=512`: a word processor made one long dash of two short ones.
fn dashes(line: &str) -> Option<Meant> {
    let rest = line.trim_start_matches(['–', '—', '−', '-']);
    let name = rest.starts_with(|c: char| c.is_ascii_lowercase());
    let long = line.starts_with(['–', '—', '−']) && name;
    let right = format!("--{rest}");
    long.then(|| (Some(right.clone()), format!("write `{right}`, with two plain hyphens")))
}

/// `VLLM_USE_V1=1`, `export VLLM_USE_V1=1`, `-e VLLM_USE_V1=1`.
fn variable(line: &str) -> Option<Meant> {
    let words = ["export ", "set ", "ENV ", "-e "];
    let bare = words.iter().find_map(|w| line.strip_prefix(w)).unwrap_or(line).trim_start();
    let (name, value) = bare.split_once(['=', ':'])?;
    let named = name.trim_end();
    let upper = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    if named.is_empty() || !named.starts_with(|c: char| c.is_ascii_uppercase() || c == '_') {
        return None;
    }
    if !named.chars().all(upper) {
        return None;
    }
    if let Some((_, why, instead)) = OF_THE_LAUNCH.iter().find(|(n, ..)| *n == named) {
        return Some((None, format!("{why}: leave `{named}` out; {instead}")));
    }
    let value = value.trim();
    // a comma is no part of a plain value
    let listed =
        value.contains(',') && !value.contains(|c: char| c.is_whitespace() || "\"'[](){}\\".contains(c));
    let value = if listed { format!("\"{value}\"") } else { value.to_owned() };
    let right = format!("env {named}={value}");
    // `NAME=1 --flag`: as before a command
    let first = value.split(' ').next().unwrap_or_default();
    let flags = value[first.len()..].trim_start().starts_with("--") && is_word(first) && named == name;
    let whole = !value.is_empty() && (is_word(&value) || is_text(&value) || flags);
    let help =
        format!("a variable is set by `env`: write `{}`", if whole { &right } else { "env NAME=value" });
    Some((whole.then_some(right), help))
}

/// `max_num_seqs: 256`, `max-num-seqs = 256`, `max_num_seqs 256`, `"max_num_seqs": 256,`, `enforce-eager` in an engine.
fn flag(line: &str) -> Option<Meant> {
    let key = line.strip_prefix('"').and_then(|l| l.split_once("\":"));
    let unquoted = key.map(|(key, value)| format!("{key}:{}", value.trim_end().trim_end_matches(',')));
    let line = unquoted.as_deref().unwrap_or(line);
    if LISTS_OF_FLAGS.contains(&super::blocks::first_word(line)) {
        return None;
    }
    let in_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
    if line.contains(['-', '_'])
        && line.starts_with(|c: char| c.is_ascii_lowercase())
        && line.chars().all(in_name)
    {
        let right = format!("--{}", line.replace('_', "-"));
        return Some((Some(right.clone()), format!("a flag is typed as in a shell: `{right}`")));
    }
    let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')))?;
    let (name, rest) = line.split_at(end);
    let value = rest.trim_start_matches([' ', '\t', ':', '=']).trim();
    let glued = rest.starts_with('=') && !rest[1..].starts_with(['=', ' ']);
    let compound = (name.contains(['_', '-']) || glued) && name.starts_with(|c: char| c.is_ascii_lowercase());
    let whole = is_word(value) || is_text(value);
    if !compound || !whole || rest == value {
        return None;
    }
    let flag = name.replace('_', "-");
    Some(match value {
        "true" | "True" => (Some(format!("--{flag}")), format!("a flag is typed as in a shell: `--{flag}`")),
        _ => {
            let right = format!("--{flag}={value}");
            (Some(right.clone()), format!("a flag is typed as in a shell: `{right}`"))
        }
    })
}

/// `step a { seqs * batched }`.
fn axes(line: &str, as_axes: Axes) -> Option<Meant> {
    let right = of_axes(line)?;
    match as_axes {
        Axes::Varied => Some((Some(right.clone()), format!("a step varies axes: write `{right}`"))),
        Axes::More => Some((
            None,
            "a step varies one product of axes: join the two by `*`, or write two steps".to_owned(),
        )),
        Axes::NoAxis | Axes::Stray => None,
    }
}

/// What is varied by a line that names axes and has no word for it, or one that is glued to it.
fn of_axes(line: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_*+[](),. ".contains(c);
    let first = line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap_or_default();
    let alone = line.len() == first.len();
    let algebra = line.contains(['*', '+', '[']);
    let glued = ["vary", "pick"].iter().find_map(|w| Some((w, line.strip_prefix(w)?)));
    let glued = glued.filter(|(_, rest)| rest.starts_with(|c: char| c.is_ascii_alphabetic()));
    let right = glued.map_or_else(|| format!("vary {line}"), |(word, rest)| format!("{word} {rest}"));
    // words are joined by an operator
    let joined =
        line.split(['*', '+', '(', ')', '[', ']', ',']).all(|part| part.split_whitespace().count() < 2);
    let near = crate::lang::diag::did_you_mean(first, words::STEP_SETTINGS.iter().copied()).is_some();
    (!line.is_empty() && line.chars().all(plain) && (alone || algebra && joined) && !near).then_some(right)
}

/// `max-concurrency 64`, `--request-rate=8`: the number goes with the setting that is meant.
fn load(line: &str) -> Option<Meant> {
    let end = line.find([' ', '\t', '=', ':']).unwrap_or(line.len());
    let (setting, example) = super::bench::load_setting(&line[..end])?;
    let value = line[end..].trim_start_matches([' ', '\t', '=', ':']).trim_end();
    let unit = |c: char| c.is_ascii_alphabetic() || matches!(c, '%' | '/');
    let digits = value.trim_end_matches(unit);
    let of_numbers = !matches!(setting, "arrivals" | "data");
    if !of_numbers || digits.parse::<f64>().is_err() {
        return Some((None, format!("it is called `{example}` here")));
    }
    // as those tools count it
    let unit = match setting {
        "rate" if digits == value => "/s",
        "duration" if digits == value => "s",
        _ => "",
    };
    let right = format!("{setting} {value}{unit}");
    Some((Some(right.clone()), format!("it is called `{right}` here")))
}

/// Declarations inside of a block, and what newcomers look for in a study.
fn misplaced(block: Block, line: &str, as_axes: Axes) -> Option<Meant> {
    let word = super::blocks::first_word(line);
    if block == Block::Study && word == "gain" {
        let number = line[word.len()..].trim_start_matches([' ', '\t', '>', '=', ':']);
        let plain = number.trim_end_matches('%').parse::<f64>().is_ok();
        let right = format!("adopt gain >= {number}");
        let help = format!(
            "the gain from which a step adopts: write `{}`",
            if plain { &right } else { "adopt gain >= 2%" }
        );
        return Some((plain.then_some(right), help));
    }
    let help = match (block, word) {
        (_, "") if line.starts_with("//") || line.starts_with("-- ") => {
            return Some((Some(format!("#{}", &line[2..])), "comments begin with `#`".to_owned()));
        }
        (_, "") if line.starts_with("/*") => "comments begin with `#`",
        (Block::Engine, "") if line.starts_with("\"-") => {
            let bare =
                line[1..].trim_end_matches(',').strip_suffix('"').filter(|flag| !flag.contains(['"', '\\']));
            let help = "flags stand as they are typed in a shell, without quotes";
            return Some((bare.map(str::to_owned), help.to_owned()));
        }
        (Block::Engine, "vllm" | "python" | "python3" | "sglang" | "docker" | "trtllm") => {
            "an engine is its flags, one after another, as `perflab init -- vllm serve …` writes them; host, port and model \
             are perflab's"
        }
        (Block::Engine, "environment" | "envs" | "export") => "a variable is set by `env NAME=value`",
        (Block::Study, "base" | "reference" | "control" | "start_from") => {
            let engine = line[word.len()..].trim_start_matches([' ', '\t', '=', ':']);
            let right = format!("baseline {engine}");
            let named = is_word(engine);
            let help = if named {
                format!("write `{right}`")
            } else {
                "the engine that a study starts from is its baseline: `baseline ENGINE`".to_owned()
            };
            return Some((named.then_some(right), help));
        }
        (Block::Engine, "") if line.starts_with("{\"") => {
            "flags stand as they are typed in a shell: `--max-num-seqs=256`"
        }
        (Block::Study, "num_gpus" | "n_gpus" | "gpu_count") => {
            let count = line[word.len()..].trim_start_matches([' ', '\t', '=', ':']);
            let right = format!("gpus {count}");
            let counted = count.parse::<u32>().is_ok();
            let help =
                if counted { format!("write `{right}`") } else { "write `gpus N of \"H100\"`".to_owned() };
            return Some((counted.then_some(right), help));
        }
        (
            Block::Study,
            "runs" | "n_runs" | "num_runs" | "repeats" | "repetitions" | "iterations" | "launches" | "trials",
        ) => {
            let count = line[word.len()..].trim_start_matches([' ', '\t', '=', ':']);
            let counted = count.parse::<u32>().is_ok();
            let right = format!("repeat {}", if counted { count } else { "N" });
            let help = format!("how often each candidate is launched: write `{right}`");
            if word == "trials" {
                // it may be a bound of all of them
                return Some((None, format!("{help}; what the study may cost: `budget {count} trials`")));
            }
            return Some((counted.then_some(right), help));
        }
        (Block::Study, "subject" | "such") if line[word.len()..].trim_start().starts_with('t') => {
            let condition = line[word.len()..].trim_start();
            let right = format!("require {}", condition.split_once(' ').map_or("", |(_, c)| c.trim()));
            return Some((Some(right.clone()), format!("what must hold is required: write `{right}`")));
        }
        (Block::Study, "slo" | "sla" | "constraint" | "assert") => {
            "what must hold is `require p99(ttft) <= 500ms`"
        }
        (Block::Profile, "slo" | "sla" | "constraint" | "assert") => {
            "what must hold is required in the study: `require p99(ttft) <= 500ms on PROFILE`"
        }
        (Block::Study, "stage" | "phase" | "tune") => "write `step NAME \"Title\" { vary AXIS }`",
        (Block::Step, "sweep" | "try" | "explore" | "grid" | "tune") => {
            if let Some(right) = axes(line[word.len()..].trim_start(), as_axes) {
                return Some(right);
            }
            "a step varies axes: `vary seqs * batched`"
        }
        (Block::Study, "engine") => {
            "the engine that a study starts from is its `baseline`: `baseline ENGINE`"
        }
        (Block::Study, "profile" | "profiles" | "workload" | "load") => {
            "the load stands behind `on`: `maximize total_tps on PROFILE`; declare profiles at the top of the file"
        }
        (Block::Study, "vary" | "pick") => "it stands in a step: `step NAME { vary AXIS }`",
        (Block::Study, "axis" | "axes") | (Block::Track | Block::Step, "axis") => {
            "declare axes at the top of the file, and vary them in a step: `step NAME { vary AXIS }`"
        }
        (Block::Study, "metric" | "objective" | "goal" | "optimize") => {
            "the objective is `maximize METRIC on PROFILE` or `minimize …`; metrics are declared at the top of the file"
        }
        (Block::Study, "name" | "title" | "description") => {
            "the title stands behind the name: `study NAME \"Title\" { … }`; `note \"…\"` is printed"
        }
        (Block::Study, "flags" | "args" | "env") | (Block::Step | Block::Track, "env" | "flags") => {
            "flags and variables stand in an engine or in an axis"
        }
        (Block::Engine, "flags") if line[word.len()..].trim_start().starts_with('-') => {
            return Some((
                Some(format!("flag{}", &line[word.len()..])),
                "each flag is declared by a line of its own: write `flag`".to_owned(),
            ));
        }
        (Block::Engine, word) if LISTS_OF_FLAGS.contains(&word) => {
            "flags stand in the engine as they are typed in a shell: `--max-num-seqs=512`"
        }
        (Block::Engine, "parent" | "extends" | "base" | "from" | "type" | "inherits") => {
            "an engine derives from another before its braces: `engine NAME = vllm { … }`"
        }
        (Block::Profile, "parent" | "extends" | "base" | "from" | "inherits") => {
            "a profile derives from another before its braces: `profile NAME = sharegpt { … }`"
        }
        (_, word) if words::DECLARATIONS.contains(&word) => {
            "it is declared at the top of the file, outside of all braces"
        }
        _ => return None,
    };
    Some((None, help.to_owned()))
}

fn is_word(value: &str) -> bool {
    let out = |c: char| c.is_whitespace() || "\"',[](){}".contains(c);
    !value.is_empty() && !value.contains(out)
}

fn is_text(value: &str) -> bool {
    value.len() > 1
        && value.starts_with('"')
        && value.ends_with('"')
        && !value[1..value.len() - 1].contains(['"', '{', '}', '\\'])
}
