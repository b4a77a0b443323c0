//! Failures that look the same whatever the engine: what Python, CUDA, NCCL, the kernel and common command lines say.
//!
//! An engine's own patterns are asked first. New rules belong where the more exact one stands above the less exact.

use std::sync::LazyLock;

use super::class;
use super::pattern::FailurePattern;

/// Broken machines: asked before an engine's own patterns, which would see only what follows from them.
const MACHINE: [(&str, &str); 10] = [
    (
        class::GPU_LOST,
        r"GPU (?:has )?fallen off the bus|GPU is lost|Unable to determine the device handle for GPU|uncorrectable ECC error|cudaErrorECCUncorrectable",
    ),
    // several GPUs are one machine only once its fabric manager runs
    (
        class::GPU_NOT_READY,
        r"Error 802: system not yet initialized|cudaErrorSystemNotReady|CUDA_ERROR_SYSTEM_NOT_READY",
    ),
    (
        class::SHARED_MEMORY,
        r"/dev/shm.*No space left on device|No space left on device.*(?:/dev/shm|/psm_|shm_open)|while (?:creating|attaching to) shared memory segment|insufficient shared memory|DataLoader worker.* out of shared memory",
    ),
    // PyTorch's name for what its processes share
    (class::SHARED_MEMORY, r"</torch_[^>]*>.*No space left on device"),
    (class::DISK_FULL, r"No space left on device|Disk quota exceeded"),
    (
        class::STORAGE,
        r"Stale (?:NFS )?file handle|Input/output error|Remote I/O error|Transport endpoint is not connected|Read-only file system",
    ),
    (
        class::THREADS,
        r"can't start new thread|(?:pthread_create|fork|clone|(?:start|create|spawn) (?:a )?(?:new )?(?:thread|process)|[Tt]hread creation failed)\b.*[Rr]esource temporarily unavailable|unable to create (?:new )?native thread|^\S+: (?:line )?\d+: Cannot fork$",
    ),
    // what C++ and Python throw where a fork or a thread was refused; Python says the same of files that would have to be waited for
    (
        class::THREADS,
        r"(what\(\): +(?:thread\b.*: )?Resource temporarily unavailable)$|\b(?:os\.fork|_?fork_exec)\(.*\n(?:[ \t].*\n){0,16}?(BlockingIOError: \[Errno 11\].*)$",
    ),
    (
        class::GPU_MEMORY_TAKEN,
        r"memory capacity is unbalanced|Error in memory profiling\. .*other processes|CUDA-capable device\(s\) is/are busy or unavailable",
    ),
    // a hub that is overloaded, or that has had enough of this address
    (
        class::NETWORK,
        r"\b429 Client Error|\b5\d\d Server Error|Server error '5\d\d |Client error '429 |HTTP status (?:server error \(5\d\d|client error \(429)",
    ),
];

/// Causes, then consequences, each from the exact to the vague. The names of consequences are in [`class`].
const TABLE: [(&str, &str); 62] = [
    ("unknown flag", r"error: unrecognized arguments: (.+)"),
    ("unknown flag", r"error: unexpected argument '(-\S+)' found"),
    ("unknown flag", r"No such option:? (.+)"),
    (
        "bad value",
        r"error: argument (-\S+): (?:invalid .+ value|invalid choice|expected .+ argument|Value .* cannot be converted)",
    ),
    ("unknown flag", r"error: unknown argument: (\S+)"),
    // Go's own flags, and those of its most common library
    ("unknown flag", r"^flag provided but not defined: (-\S+)"),
    ("unknown flag", r"^Error: unknown (?:shorthand )?flag: (.+)"),
    ("unknown flag", r"error: (ambiguous option: .+)"),
    ("bad value", r"Error: Invalid value for '([^']+)'|error: invalid value '[^']*' for '([^']+)'"),
    ("bad value", r"Unknown quantization method: (.+)"),
    (
        class::PORT,
        r"\[Errno 98\].*ddress already in use|Address already in use \(os error 98\)|EADDRINUSE|bind\(\) failed.*ddress already in use|ZMQError: Address already in use|kind: AddrInUse\b|BindException: Address already in use|bind: address already in use|[Bb]ind for \S+ failed: port is already allocated",
    ),
    ("unsupported hardware", r"Driver/library version mismatch"),
    (
        "unsupported hardware",
        r"compiled with an unsupported toolchain|no supported CUTLASS kernel|no kernel image is available for execution on the device|No supported CUDA architectures found|NVIDIA driver on your system is too old|CUDA driver version is insufficient|Found no NVIDIA driver|No CUDA GPUs are available|Failed to infer device type|invalid device ordinal",
    ),
    (
        "unsupported hardware",
        r"only supported on GPUs? with compute capability|requires? (?:a )?(?:GPU with )?compute capability|on Ampere/Ada cards only|only supports \w+ GPUs or newer|not supported (?:on this (?:GPU|device|platform|hardware)|for the current GPU)|OutOfResources: out of resource|not supported (?:in|on) this architecture|[Rr]equires SM ?[<>=]=? ?\d+|[Mm]inimum capability: \d+|No valid attention backend found",
    ),
    (
        "unsupported model",
        r"Model architectures \[.+\] (?:are|is) not supported|does not recognize this architecture|unknown model architecture|has no vLLM implementation|Unsupported architectures?:|Unknown architecture for \w+: ",
    ),
    ("out of GPU memory (graph capture)", r"Capture cuda graph failed: .*(?:out of memory|OutOfMemory)"),
    (
        "out of GPU memory (weights)",
        r"Failed to load model - not enough GPU memory|insufficient memory to allocate the weight",
    ),
    (
        "out of GPU memory (KV cache)",
        r"No available memory for the cache blocks|Insufficient (?:GPU |free )?memory (?:for|to allocate) KV cache|larger than the available KV cache memory|larger than the maximum number of tokens that can be stored in KV cache|size of (?:the )?KV cache.* is too small",
    ),
    // a Java machine's heap, whose error has the name of PyTorch's
    (class::HOST_MEMORY, r"java\.lang\.OutOfMemoryError"),
    // what NCCL met comes last of what it says
    (
        "out of GPU memory",
        r"NCCL error.*\n(?:.*\n){0,6}?.*Last error:\s*((?:Cuda|CUDA|HIP|Hip) failure.*out of memory.*)$",
    ),
    (
        "out of GPU memory",
        r"(?:CUDA|HIP|XPU) out of memory|(?:Prefill|Decode) out of memory|\bOut of memory\. Try to lower your batch size|CUDA error: out of memory|\bOutOfMemoryError|cudaErrorMemoryAllocation|CUBLAS_STATUS_ALLOC_FAILED|cudaMalloc failed: out of memory|CUDA runtime error in .+: out of memory",
    ),
    (
        class::HOST_MEMORY,
        r"can't allocate memory: you tried to allocate|std::bad_alloc|^(?:.*[ \t])?MemoryError(?:: .*)?$|[Cc]annot allocate memory",
    ),
    (
        class::GPU_ERROR,
        r"CUDA error: (.+)|CUDA runtime error in .+: (.+)|CUDNN_STATUS_\w+|CUBLAS_STATUS_\w+|HIP error: (.+)",
    ),
    (class::GPU_ERROR, r"NCCL error.*\n(?:.*\n){0,6}?.*Last error:\s*(\S.*)$"),
    (
        class::GPU_ERROR,
        r"NCCL error|ncclUnhandledCudaError|ncclSystemError|ncclInternalError|ncclRemoteError|Watchdog caught collective operation timeout",
    ),
    // the number of an answer says less than what was asked for
    (
        "model missing",
        r"(?:Repository|Revision|Entry)NotFoundError: 40\d Client Error.*\n(?:.*\n){0,3}?.*((?:Repository|Revision|Entry) Not Found for url: .*)$",
    ),
    (
        "model missing",
        r"(?:HFValidation|OS)Error: Repo id must be|RepositoryNotFoundError|RevisionNotFoundError|is not a local folder and is not a valid model identifier",
    ),
    (
        "model missing",
        r"Can't load (?:the configuration of|tokenizer for|image processor for|feature extractor for) '([^']+)'",
    ),
    (
        "model missing",
        r"does not appear to have (?:a file|files) named|Cannot find any (?:model weights|safetensors)|EntryNotFoundError: 404",
    ),
    // perflab fetches models itself, so that engines run offline
    ("model missing", r"outgoing traffic has been disabled|OfflineModeIsEnabled|offline mode is enabled"),
    // libraries that were built for each other no more
    (class::ENGINE_NOT_RUN, r"undefined symbol: |numpy\.core\.multiarray failed to import"),
    // a script whose interpreter is gone
    (class::ENGINE_NOT_RUN, r"cannot execute: required file not found|: bad interpreter: "),
    // an image of another processor, or without what its program begins with: said by whoever starts a container's first process
    (
        class::ENGINE_NOT_RUN,
        r#"(version `GLIBC_[\d.]+' not found(?: \(required by [^)]+\))?|exec (?:/\S+|user process caused|container process `[^`]+`):? ?"?(?i:exec format error|no such file or directory)|exec: "[^"]+": permission denied)"#,
    ),
    // what was to become the engine, and is not one that can be run: the last word of whoever was to do so
    (
        class::ENGINE_NOT_RUN,
        r"^(\S*\b(?:timeout|nohup|stdbuf|env|nice|setsid|taskset|ionice|chrt|numactl|prlimit|setpriv|flock|unshare|chroot|runuser|time|xargs): (?:failed to (?:run command|execute) |execution of |cannot run )?[`'‘]?[^\s:]+?['’]?: (?:Permission denied|Exec format error)|\S*\benv: \S+\\r\S*: No such file or directory|.*\$'(?:[^']*)\\r': command not found)$(?:\n.*){0,2}\s*\z",
    ),
    ("no access", r"GatedRepoError: 40[13] Client Error.*\n(?:.*\n){0,3}?(.*\bgated repo\b.*)$"),
    ("no access", r"(\bYou are trying to access a gated repo\..*(?:\n.*https?://\S+.*)?)$"),
    ("no access", r"GatedRepoError|40[13] Client Error|PermissionError: (.+)|[Pp]ermission denied"),
    (
        class::NETWORK,
        r"Max retries exceeded with url|Temporary failure in name resolution|Name or service not known|Network is unreachable|No route to host|HTTPSConnectionPool\(.*Read timed out|IncompleteRead\(|Cannot assign requested address \(addr='tcp://(?:127\.|localhost|\[::1\])",
    ),
    ("model missing", r"LocalEntryNotFoundError"),
    (class::NETWORK, r"couldn't connect to 'https?://"),
    (
        "model broken",
        r"SafetensorError|Error while deserializing header|invalid magic|json\.decoder\.JSONDecodeError: |There is no module or parameter named",
    ),
    ("bad configuration", r"ValidationError: \d+ validation errors? for \w+\n.*?(Value error, .+)"),
    // of which field, and what is wrong with it
    ("bad configuration", r"ValidationError: \d+ validation errors? for \w+\n(.+\n.+\[type=\w+)"),
    ("bad configuration", r"ValidationError: \d+ validation errors? for (\w+)"),
    (
        "bad configuration",
        r"must be divisible by (?:the )?(?:tensor|pipeline|tp|TP)|pass the argument `trust_remote_code=True`|set the option `trust_remote_code=True`|contains custom code which must be executed|World size \(\d+\) is larger than the number of available GPUs|LoRA rank \d+ is greater than max_lora_rank",
    ),
    (
        "bad configuration",
        r"V cache quantization requires flash_attn|quantized V cache was requested|Selected backend \S+ is not valid for this configuration|max_num_batched_tokens \(\d+\) is smaller than max_model_len|greater than the derived context_length|_size \d+ must divide|invalid tool call parser|[Rr]easoning parser '[^']*' not found|Cannot find the config file for|Cannot re-initialize CUDA in forked subprocess|unsupported cache type",
    ),
    // what a compiler or its linker misses; whoever called it knows only that it failed
    (
        "kernels not compiled",
        r"fatal error: '?[^\s']+\.(?:h|hpp|hh|cuh|inc)'?(?:: No such file or directory| file not found)|\bld: cannot find -l\S+",
    ),
    (
        "kernels not compiled",
        r"Ninja build failed|NVCC compilation failed|ninja: build stopped|Failed to find C compiler|Could not find nvcc|nvcc fatal|nvrtc: error|PTXAS error|CompilationError: ",
    ),
    (
        "engine assertion",
        r"GGML_ASSERT\(.+\) failed|GGML_ABORT|\[TensorRT-LLM\]\[ERROR\] Assertion failed: (.+)",
    ),
    (
        "too many open files",
        r"(?:^|[^`])(OSError: \[Errno 24\].*)|Too many open files \(os error 24\)|ZMQError: Too many open files",
    ),
    // an image without the program, a script that becomes a program which is not there
    (
        class::ENGINE_NOT_FOUND,
        r"(exec: .+: executable file not found in \$PATH|executable file .+ not found in \$PATH)|\bexec: [^:]+: not found$|\b(?:vllm|sglang|trtllm-serve|llama-server): (?:command )?not found$",
    ),
    (
        class::ENGINE_NOT_FOUND,
        r"^(\S*\b(?:timeout|nohup|stdbuf|env|nice|setsid|taskset|ionice|chrt|numactl|prlimit|setpriv|flock|unshare|chroot|runuser|time|xargs): (?:failed to (?:run command|execute) |execution of |cannot run )?[`'‘]?[^\s:]+?['’]?: No such file or directory|sudo: \S+: command not found|.*\btini\b.* exec \S+ failed: No such file or directory)$(?:\n.*){0,2}\s*\z",
    ),
    (
        class::MISSING_FILE,
        r"FileNotFoundError: (.+)|chat template string \(.+\) appears path-like, but doesn't exist|error while loading shared libraries: (.+)|version `GLIBC\w*[\d.]+' not found|ModuleNotFoundError: (.+)|ImportError: (.+: cannot open shared object file.*)|failed to be opened\. Reason: (.*No such file.*)|\b\w+ is not installed\. Please install|can't open file '([^']+)'|command not found|: not found$",
    ),
    (class::WORKER_LOST, r"(?:Engine core|Worker) proc \S+ died unexpectedly"),
    (class::WORKER_LOST, r"EngineDeadError|WorkerLostError|BrokenProcessPool"),
    (class::WORKER_LOST, r"(?:RayActor|ActorDied|WorkerCrashed)Error|The actor died unexpectedly"),
    (class::WORKER_LOST, r"Watchdog timeout \(|Hang detected on rank \d+"),
    (class::WORKER_LOST, r"MPI_ABORT was invoked on rank \d+"),
    (
        class::SERVICE,
        r"ConnectionRefusedError: |\[Errno 111\] Connection refused|Connection refused \(os error 111\)|\bECONNREFUSED\b|connect: connection refused",
    ),
    // what a script asks for before it starts an engine, and what it ends with then: one that waits for another says the same, and goes on
    (
        class::SERVICE,
        r"^(.*(?:Cannot connect to the Docker daemon|[Cc]annot connect to Podman|curl: \(7\) |[Cc]ould not connect to Redis at |nc: connect to .* failed|failed: Connection refused\.$).*)$(?:\n.*){0,2}\s*\z",
    ),
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
#[path = "general_tests.rs"]
mod tests;
