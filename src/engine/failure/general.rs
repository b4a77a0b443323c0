//! Failures that look the same whatever the engine: what Python, CUDA, NCCL, the kernel and common command lines say.
//!
//! An engine's own patterns are asked first. New rules belong where the more exact one stands above the less exact.

use std::sync::LazyLock;

use super::class;
use super::pattern::FailurePattern;

/// Broken machines: asked before an engine's own patterns, which would see only what follows from them.
const MACHINE: [(&str, &str); 3] = [
    (
        class::GPU_LOST,
        r"GPU (?:has )?fallen off the bus|GPU is lost|Unable to determine the device handle for GPU|uncorrectable ECC error|cudaErrorECCUncorrectable",
    ),
    (
        class::SHARED_MEMORY,
        r"/dev/shm.*No space left on device|No space left on device.*(?:/dev/shm|/psm_|shm_open)|while (?:creating|attaching to) shared memory segment|insufficient shared memory",
    ),
    (class::DISK_FULL, r"No space left on device|Disk quota exceeded"),
];

/// Causes, then consequences, each from the exact to the vague. The names of consequences are in [`class`].
const TABLE: [(&str, &str); 31] = [
    ("unknown flag", r"error: unrecognized arguments: (.+)"),
    ("unknown flag", r"error: unexpected argument '(-\S+)' found"),
    ("unknown flag", r"No such option:? (.+)"),
    (
        "bad value",
        r"error: argument (-\S+): (?:invalid .+ value|invalid choice|expected .+ argument|Value .* cannot be converted)",
    ),
    ("bad value", r"Error: Invalid value for '([^']+)'|error: invalid value '[^']*' for '([^']+)'"),
    ("bad value", r"Unknown quantization method: (.+)"),
    (
        class::PORT,
        r"\[Errno 98\].*ddress already in use|Address already in use \(os error 98\)|EADDRINUSE|bind\(\) failed.*ddress already in use",
    ),
    (
        "unsupported hardware",
        r"no kernel image is available for execution on the device|No supported CUDA architectures found|NVIDIA driver on your system is too old|CUDA driver version is insufficient|Found no NVIDIA driver|No CUDA GPUs are available|Failed to infer device type|invalid device ordinal",
    ),
    (
        "unsupported hardware",
        r"only supported on GPUs? with compute capability|requires? (?:a )?(?:GPU with )?compute capability|on Ampere/Ada cards only|not supported on this (?:GPU|device|platform|hardware)|[Mm]inimum capability: \d+|No valid attention backend found",
    ),
    (
        "unsupported model",
        r"Model architectures \[.+\] (?:are|is) not supported|does not recognize this architecture|unknown model architecture|has no vLLM implementation|Unsupported architectures?:",
    ),
    ("out of GPU memory (graph capture)", r"Capture cuda graph failed: .*(?:out of memory|OutOfMemory)"),
    (
        "out of GPU memory (weights)",
        r"Failed to load model - not enough GPU memory|insufficient memory to allocate the weight",
    ),
    (
        "out of GPU memory (KV cache)",
        r"No available memory for the cache blocks|larger than the available KV cache memory|larger than the maximum number of tokens that can be stored in KV cache",
    ),
    (
        "out of GPU memory",
        r"(?:CUDA|HIP|XPU) out of memory|CUDA error: out of memory|OutOfMemoryError|cudaErrorMemoryAllocation|CUBLAS_STATUS_ALLOC_FAILED|cudaMalloc failed: out of memory",
    ),
    (
        class::HOST_MEMORY,
        r"can't allocate memory: you tried to allocate|std::bad_alloc|^(?:.*[ \t])?MemoryError(?:: .*)?$|[Cc]annot allocate memory",
    ),
    (class::GPU_ERROR, r"CUDA error: (.+)|CUDNN_STATUS_\w+|CUBLAS_STATUS_\w+|HIP error: (.+)"),
    (
        class::GPU_ERROR,
        r"NCCL error|ncclUnhandledCudaError|ncclSystemError|ncclInternalError|ncclRemoteError|Watchdog caught collective operation timeout",
    ),
    (
        "model missing",
        r"(?:HFValidation|OS)Error: Repo id must be|RepositoryNotFoundError|RevisionNotFoundError|is not a local folder and is not a valid model identifier",
    ),
    ("model missing", r"Can't load the configuration of '([^']+)'"),
    ("no access", r"GatedRepoError|40[13] Client Error|PermissionError: (.+)|[Pp]ermission denied"),
    (
        class::NETWORK,
        r"Max retries exceeded with url|Temporary failure in name resolution|Name or service not known|LocalEntryNotFoundError|couldn't connect to 'https?://",
    ),
    (
        "model broken",
        r"SafetensorError|Error while deserializing header|invalid magic|json\.decoder\.JSONDecodeError: ",
    ),
    ("bad configuration", r"ValidationError: \d+ validation errors? for \w+\n.*?(Value error, .+)"),
    ("bad configuration", r"ValidationError: \d+ validation errors? for (\w+)"),
    (
        "bad configuration",
        r"must be divisible by (?:the )?(?:tensor|pipeline|tp|TP)|pass the argument `trust_remote_code=True`|World size \(\d+\) is larger than the number of available GPUs|LoRA rank \d+ is greater than max_lora_rank",
    ),
    ("too many open files", r"(?:^|[^`])OSError: \[Errno 24\]|Too many open files \(os error 24\)"),
    (
        "missing file",
        r"FileNotFoundError: (.+)|error while loading shared libraries: (.+)|version `GLIBC\w*[\d.]+' not found|ModuleNotFoundError: (.+)|ImportError: (.+: cannot open shared object file.*)|failed to be opened\. Reason: (.*No such file.*)|can't open file '([^']+)'|command not found|: not found$",
    ),
    (class::WORKER_LOST, r"(?:Engine core|Worker) proc \S+ died unexpectedly"),
    (class::WORKER_LOST, r"EngineDeadError|WorkerLostError|BrokenProcessPool"),
    (class::DID_NOT_START, r"WorkerProc initialization failed"),
    (class::DID_NOT_START, r"Engine core initialization failed"),
];

static PATTERNS: LazyLock<Vec<FailurePattern>> = LazyLock::new(|| compiled(&TABLE));
static OF_MACHINE: LazyLock<Vec<FailurePattern>> = LazyLock::new(|| compiled(&MACHINE));

/// A pattern that does not compile is caught by the test below.
fn compiled(table: &[(&str, &str)]) -> Vec<FailurePattern> {
    table.iter().filter_map(|(name, pattern)| FailurePattern::new(*name, pattern).ok()).collect()
}

pub fn patterns() -> &'static [FailurePattern] {
    &PATTERNS
}

pub fn of_machine() -> &'static [FailurePattern] {
    &OF_MACHINE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::failure::class::is_consequence;

    #[test]
    fn every_pattern_is_one_and_causes_come_first() {
        assert_eq!((patterns().len(), of_machine().len()), (TABLE.len(), MACHINE.len()));
        let firsts = TABLE.iter().position(|(name, _)| is_consequence(name)).unwrap();
        assert!(TABLE[firsts..].iter().all(|(name, _)| is_consequence(name)));
    }
}
