//! Which part of an engine had too little memory: CUDA says that there is none left, and the traceback before it says for what.

use std::sync::LazyLock;

use regex::Regex;

use super::class::GPU_MEMORY;

/// How far before an exception its traceback may begin, in bytes: those of compiled graphs are long.
const FURTHEST: usize = 32 << 10;

/// Names of functions, and what is done in them.
const PARTS: [(&str, &str); 4] = [
    // what a trial run needs is the engine's, whatever calls it
    ("profile_run|determine_available_memory|determine_num_available_blocks|profile_max_num_token", ""),
    (
        "capture_model|capture_graphs?|_?capture_cudagraphs?|_?capture_cuda_graphs?|capture_one_batch_size|init_device_graphs|init_cuda_graphs",
        " (graph capture)",
    ),
    (
        "_?allocate_kv_cache(?:_tensors)?|initialize_kv_cache(?:_tensors)?|_?create_kv_buffers?|_?create_buffers|init_memory_pool|_?allocate_buffer",
        " (KV cache)",
    ),
    ("load_weights|load_model|create_weights|initialize_model|process_weights_after_loading", " (weights)"),
];

static FRAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?m), line \d+, in (?:\w+\.)*(?<function>\w+)\s*$|(?<begins>Traceback \(most recent call last\))",
    )
    .ok()
});
static NAMES: LazyLock<Option<Vec<(Regex, &'static str)>>> = LazyLock::new(|| {
    let compiled =
        PARTS.iter().map(|(names, part)| Some((Regex::new(&format!("^(?:{names})$")).ok()?, *part)));
    compiled.collect()
});

/// The class of a failure that `class` was matched for at a byte of the log, with the part if the innermost frame that tells names one.
pub(super) fn named(class: &str, log: &str, at: usize) -> String {
    let part = if class == GPU_MEMORY { of_traceback(log, at) } else { None };
    format!("{class}{}", part.unwrap_or_default())
}

fn of_traceback(log: &str, at: usize) -> Option<&'static str> {
    let from = (at.saturating_sub(FURTHEST)..=at).find(|i| log.is_char_boundary(*i))?;
    let before = log.get(from..at)?;
    let frames: Vec<_> = FRAME.as_ref()?.captures_iter(before).collect();
    let own = frames.iter().rev().take_while(|f| f.name("begins").is_none());
    let names = NAMES.as_ref()?;
    own.filter_map(|f| f.name("function")).find_map(|function| {
        names.iter().find(|(name, _)| name.is_match(function.as_str())).map(|(_, part)| *part)
    })
}

#[cfg(test)]
mod tests {
    use super::super::classify;

    fn class(frames: &[&str]) -> String {
        const SAYS: &str = "(EngineCore pid=7) ERROR 11-21 05:45:41 [core.py:946]";
        let frame = |f: &&str| {
            [format!("{SAYS}   File \"/v/x.py\", line 300, in {f}\n"), format!("{SAYS}     call(x)\n")]
        };
        let frames: String = frames.iter().flat_map(frame).collect();
        let log = format!(
            "(EngineCore pid=7) ERROR 11-21 05:45:41 [core.py:946] Traceback (most recent call last):\n{frames}\
             (EngineCore pid=7) ERROR 11-21 05:45:41 [core.py:946] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
        );
        classify(&log, &[]).expect("a class").class
    }

    #[test]
    fn the_innermost_frame_that_tells_names_the_part() {
        assert_eq!(
            class(&["run_engine_core", "load_model", "create_weights"]),
            "out of GPU memory (weights)"
        );
        let capture =
            ["compile_or_warm_up_model", "capture_model", "_capture_cudagraphs", "_dummy_run", "forward"];
        assert_eq!(class(&capture), "out of GPU memory (graph capture)");
        let cache = ["initialize_from_config", "initialize_kv_cache", "_allocate_kv_cache_tensors"];
        assert_eq!(class(&cache), "out of GPU memory (KV cache)");
        assert_eq!(class(&["determine_available_memory", "profile_run", "forward"]), "out of GPU memory");
        assert_eq!(
            class(&["Scheduler.__init__", "ModelRunner.init_memory_pool"]),
            "out of GPU memory (KV cache)"
        );
        assert_eq!(class(&[]), "out of GPU memory");
    }

    #[test]
    fn another_traceback_tells_nothing_of_this_one() {
        let log = "Traceback (most recent call last):\n  File \"x.py\", line 3, in load_model\nValueError: no\n\
                   Traceback (most recent call last):\n  File \"x.py\", line 3, in forward\ntorch.OutOfMemoryError: CUDA out of memory.\n";
        assert_eq!(classify(log, &[]).expect("a class").class, "out of GPU memory");
    }
}
