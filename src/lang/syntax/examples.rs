//! A right line for each setting and declaration, as help shows it.

pub(super) const AXIS: &str = "axis seqs = --max-num-seqs=[256, 512]";

/// A line or declaration that begins with a word, as it may be written.
pub fn example(word: &str) -> Option<&'static str> {
    Some(match word {
        "use" => "use std/engines { vllm, sglang }",
        "param" => "param ctx = 32Ki",
        "engine" => "engine NAME \"Title\" = vllm { … }",
        "axis" => AXIS,
        "profile" => "profile NAME = sharegpt { … }",
        "metric" => "metric per_gpu = total_tps / gpus",
        "prune" => "prune slow \"users wait\" when p99(ttft) > 2s",
        "study" => "study NAME \"Title\" { … }",
        "site" => "site lab { … }",
        "version" => "version \"0.17.1\"",
        "serve" => "serve \"vllm serve {model} --host {host} --port {port}\"",
        "image" => "image \"vllm/vllm-openai:v{version}\"",
        "probe" => "probe \"vllm --version\"",
        "api" => "api openai",
        "args" => "args joined",
        "ready" => "ready get \"/health\" within 20min",
        "metrics" => "metrics get \"/metrics\"",
        "reset" => "reset post \"/reset_prefix_cache\"",
        "stop" => "stop sigterm within 30s",
        "key" => "key --api-key env MY_API_KEY",
        "failure" => "failure \"out of memory\" when log matches \"CUDA out of memory\"",
        "flag" => "flag --max-num-seqs int 1.. default 256",
        "publish" => "publish --tool-call-parser=hermes because \"clients send tools\"",
        "env" => "env NAME=value",
        "model" => "model \"Qwen/Qwen3-8B\"",
        "unset" => "unset --flag",
        "raw" => "raw --flag=value",
        "gpus" => "gpus 8 of \"H100\"",
        "baseline" => "baseline ENGINE",
        "maximize" => "maximize total_tps on chat",
        "minimize" => "minimize p99(ttft) on chat",
        "require" => "require p99(ttft) <= 500ms",
        "adopt" => "adopt gain >= 1%",
        "repeat" => "repeat 3",
        "confirm" => "confirm on chat, summarize",
        "curve" => "curve on chat_curve",
        "budget" => "budget 6 gpu_hours",
        "note" => "note \"text\"",
        "step" => "step seqs \"Title\" { vary seqs }",
        "track" => "track ENGINE \"Title\" { … }",
        "data" => "data random",
        "input" => "input 1024",
        "output" => "output 128",
        "rate" => "rate 8/s",
        "arrivals" => "arrivals gamma 0.5",
        "concurrency" => "concurrency 64",
        "requests" => "requests 1000",
        "duration" => "duration 5min",
        "warmup" => "warmup 16",
        "timeout" => "timeout 60s",
        "seed" => "seed 42",
        "temperature" => "temperature 0",
        "ignore_eos" => "ignore_eos true",
        "stream" => "stream false",
        "vary" => "vary seqs * batched",
        "pick" => "pick quant[fp8] because \"…\"",
        _ => return None,
    })
}

/// A site's line that begins with a word.
pub fn site_example(word: &str) -> Option<&'static str> {
    Some(match word {
        "engine" => "engine vllm \"0.17.1\" via venv \"~/venvs/vllm-0.17.1\"",
        "model" => "model \"Qwen/Qwen3-8B\" at \"~/models/qwen3-8b\"",
        "data" => "data sharegpt at \"~/data/sharegpt.json\"",
        "env" => "env HF_HOME=\"~/hf\"",
        "price" => "price 2.99usd/h",
        "runner" => "runner slurm { node \"h100\" }",
        _ => return None,
    })
}
