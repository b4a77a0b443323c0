//! Whatever is pasted gives an error or a file that checks: commands made of pieces that hurt, and plain noise.

use proptest::prelude::*;

use super::{Asked, Command, from_command};
use crate::lang::analyze;
use crate::lang::diag::Severity;
use crate::lang::source::NoFiles;

/// Pieces of commands, sound and broken.
const PIECES: [&str; 64] = [
    "vllm serve",
    "org/m",
    "sglang serve --model-path",
    "trtllm-serve",
    "llama-server -m",
    "perflab sim --model",
    "python3 -m sglang.launch_server --model-path",
    "python -m vllm.entrypoints.openai.api_server --model",
    "docker run --gpus 2 vllm/vllm-openai:v0.17.1",
    "docker run lmsysorg/sglang:v0.5.9",
    "podman run -e A=1",
    "--max-num-seqs",
    "256",
    "=",
    "--max-num-seqs=0",
    "--max-num-batched-tokens=64",
    "-tp",
    "2",
    "--tp-size=8",
    "-tp=99999999999",
    "--max-model-len",
    "32K",
    "1",
    "--gpu-memory-utilization",
    "0.9",
    "--kv-cache-dtype=fp8",
    "--enable-prefix-caching",
    "--no-enable-prefix-caching",
    "--speculative-config",
    "'{\"method\": \"mtp\", \"num_speculative_tokens\": 3}'",
    "--speculative-config.method=mtp",
    "--hf-overrides={\"a\":{\"b\":[1,\"{\"]}}",
    "--unknown",
    "--unknown=\"a, b\"",
    "--ünï=x",
    "-",
    "--",
    "---",
    "--1",
    "-O3",
    "\\\n",
    "\n",
    "\r\n",
    "\t",
    "# comment",
    "'",
    "\"",
    "`",
    "$X",
    "${X:-1}",
    "A=b",
    "export A=b;",
    "CUDA_VISIBLE_DEVICES=0,1",
    "&&",
    "|",
    ">",
    "2>&1",
    "<x>",
    "{model}",
    "}}",
    "\"a\\\\b\"",
    "\u{0}",
    "\u{7}",
    "é…\u{2028}",
];

/// The study, if there is one, has no error but of flags that it is told to have as they were typed, and no warning but a doubt about
/// its version.
fn holds(text: &str, version: Option<&str>) -> Result<(), TestCaseError> {
    let asked = Asked { version: version.map(str::to_owned), variables: Vec::new() };
    let Ok(written) = from_command(Command::Text(text), &asked) else { return Ok(()) };
    let analysis = analyze(&NoFiles, "study.plab", &written.text);
    for d in &analysis.diagnostics {
        let version = d.severity() == Severity::Warning
            && written.text[d.span.range()].contains(|c: char| c.is_ascii_digit());
        let start = written.text[..d.span.start as usize].rfind(' ').map_or(0, |at| at + 1);
        let flag = written.text[start..].split([' ', '=', '\n']).next().unwrap_or_default();
        let told = |n: &&String| n.starts_with(flag) && n.contains("as it was typed");
        let typed = flag.starts_with('-') && written.notes.iter().any(|n| told(&n));
        prop_assert!(
            d.severity() == Severity::Note || version || typed,
            "{}: {}\n{text:?}\n{}",
            d.code.id(),
            d.message,
            written.text
        );
    }
    let formatted =
        crate::lang::fmt::format(&written.text).map_err(|_| TestCaseError::fail("not formatted"))?;
    prop_assert_eq!(formatted, written.text);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn commands_of_any_pieces(
        serves in prop::sample::select(PIECES[..11].to_vec()),
        pieces in prop::collection::vec((prop::sample::select(PIECES.to_vec()), prop::bool::weighted(0.9)), 0..14),
        version in prop::option::of(prop::sample::select(vec!["0.11.0", "0.17.1", "0.5.9", "99.1", "1.2.0rc1"])),
    ) {
        let mut text = format!("{serves} ");
        for (piece, space) in pieces {
            text.push_str(piece);
            text.push_str(if space { " " } else { "" });
        }
        holds(&text, version)?;
    }

    #[test]
    fn noise_behind_a_serve_command(noise in "\\PC{0,80}") {
        holds(&format!("vllm serve org/m {noise}"), Some("0.17.1"))?;
        holds(&noise, None)?;
    }

    #[test]
    fn yaml_of_any_form(text in "[ -~\n]{0,120}") {
        let _ = super::yaml::tree(&text);
    }
}
