//! Secrets on lines that are not of the language: diagnostics quote such lines, and none may show what it states.

use crate::support::Lab;

/// Lines with a secret, each wrong in its own way; `hunter2` is a part of every secret.
const LINES: [&str; 38] = [
    "engine e = vllm { env HF_TOKEN = hunter2hunter2 }",
    "engine e = vllm { env HF_TOKEN hunter2hunter2 }",
    "engine e = vllm { env HF_TOKEN=\"hunter2hunter2 }",
    "engine e = vllm { env HF_TOKEN='hunter2hunter2' }",
    "engine e = vllm { --api-key hunter2hunter2 }",
    "engine e = vllm { --api-key = hunter2hunter2 }",
    "engine e = vllm { --api-key: hunter2hunter2 }",
    "engine e = vllm { --api-key=\"hunter2 hunter2\" ",
    "engine e = vllm { --api-key='hunter2 hunter2' }",
    "api_key: hunter2hunter2",
    "api_key hunter2hunter2",
    "export HF_TOKEN=hunter2hunter2",
    "engine e = vllm { serve \"vllm serve {model} --api-key hunter2hunter2",
    "engine e = vllm { --speculative-config={\"api_key\": hunter2hunter2} }",
    "engine e = vllm { --speculative-config={\"api_key\": \"hunter2hunter2\" }",
    "engine e = vllm { --headers={\"Authorization\": \"Bearer hunter2hunter2\" }",
    "engine e = vllm { --url=http://user:hunter2hunter2@host/ ",
    "engine e = vllm { url http://user:hunter2hunter2@host/ ",
    "param token = hunter2hunter2",
    "param hf_token \"hunter2hunter2\"",
    "axis k = --api-key=[hunter2a, hunter2b",
    "axis k = --api-key=[\"hunter2a\" \"hunter2b\"]",
    "axis k = --api-key = [hunter2hunter2a, hunter2b]",
    "engine e = vllm { env PASSWORD = \"hunter2",
    "engine e = vllm { env PASSWORD == hunter2 }",
    "engine e = vllm { env PASSWORD:=hunter2 }",
    "engine e = vllm { env PASSWORD=hunter2\"more\" }",
    "engine e = vllm { env PASSWORD=“hunter2 and hunter2” }",
    "engine e = vllm { --api-key hunter2hunter2 --x }",
    "engine e = vllm { --hf-token \"hunter2 hunter2\" }",
    "engine e = vllm { HF_TOKEN=\"hunter2hunter2\" }",
    "engine e = vllm { env { HF_TOKEN hunter2hunter2 } }",
    "engine e = vllm { env HF_TOKEN, hunter2hunter2 }",
    "engine e = vllm { env HF_TOKEN\n hunter2hunter2 }",
    "env: HF_TOKEN -> hunter2hunter2",
    "engine e = vllm { env SECRET_KEY=\"more\nhunter2hunter2 line\" }",
    "engine e = vllm { --api-key={\"hunter2hunter2\"} }",
    "curl -H 'Authorization: Bearer hunter2hunter2' http://x",
];

#[test]
fn no_diagnostic_shows_what_a_broken_line_states() {
    let lab = Lab::new();
    for line in LINES {
        lab.write("study.plab", line);
        for args in [
            &["check", "study.plab"][..],
            &["check", "study.plab", "--format", "json"],
            &["check", "study.plab", "--format", "github"],
            &["plan", "study.plab"],
            &["exec", "study.plab"],
            &["fmt", "--check", "study.plab"],
        ] {
            let out = lab.run(args);
            assert!(out.code == 1, "{args:?} of {line}: {}", out.code);
            let said = out.stdout + &out.stderr;
            assert!(!said.contains("hunter2"), "{args:?} of {line}:\n{said}");
        }
    }
}

#[test]
fn what_only_sounds_like_a_secret_is_shown() {
    let lab = Lab::with(
        "// the tokens that count\naxis token_budget = --max-num-seqs=[8 16]\nmetric token_cost = gpu_power / total_tps tps\n",
    );
    let said = lab.run(&["check", "study.plab"]).expect_code(1).stderr;
    assert!(said.contains("--max-num-seqs=[8 16]") && !said.contains("***"), "{said}");
}
