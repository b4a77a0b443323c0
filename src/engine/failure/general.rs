//! Failures that look the same whatever the engine: what Python, CUDA, NCCL, the kernel and common command lines say.
//!
//! An engine's own patterns are asked first. New rules belong where the more exact one stands above the less exact.

use std::sync::LazyLock;

use super::class;
use super::pattern::FailurePattern;

/// Broken machines: asked before an engine's own patterns, which would see only what follows from them.
const MACHINE: [(&str, &str); 8] = [
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
        r"/dev/shm.*No space left on device|No space left on device.*(?:/dev/shm|/psm_|shm_open)|while (?:creating|attaching to) shared memory segment|insufficient shared memory",
    ),
    (class::DISK_FULL, r"No space left on device|Disk quota exceeded"),
    (
        class::STORAGE,
        r"Stale (?:NFS )?file handle|Input/output error|Remote I/O error|Transport endpoint is not connected|Read-only file system",
    ),
    (
        class::THREADS,
        r"can't start new thread|(?:pthread_create|fork|clone|(?:start|create|spawn) (?:a )?(?:new )?(?:thread|process))\b.*Resource temporarily unavailable|unable to create (?:new )?native thread",
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
const TABLE: [(&str, &str); 50] = [
    ("unknown flag", r"error: unrecognized arguments: (.+)"),
    ("unknown flag", r"error: unexpected argument '(-\S+)' found"),
    ("unknown flag", r"No such option:? (.+)"),
    (
        "bad value",
        r"error: argument (-\S+): (?:invalid .+ value|invalid choice|expected .+ argument|Value .* cannot be converted)",
    ),
    ("unknown flag", r"error: unknown argument: (\S+)"),
    ("bad value", r"Error: Invalid value for '([^']+)'|error: invalid value '[^']*' for '([^']+)'"),
    ("bad value", r"Unknown quantization method: (.+)"),
    (
        class::PORT,
        r"\[Errno 98\].*ddress already in use|Address already in use \(os error 98\)|EADDRINUSE|bind\(\) failed.*ddress already in use|ZMQError: Address already in use|kind: AddrInUse\b|BindException: Address already in use|bind: address already in use",
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
        r"(?:CUDA|HIP|XPU) out of memory|(?:Prefill|Decode) out of memory|\bOut of memory\. Try to lower your batch size|CUDA error: out of memory|\bOutOfMemoryError|cudaErrorMemoryAllocation|CUBLAS_STATUS_ALLOC_FAILED|cudaMalloc failed: out of memory",
    ),
    (
        class::HOST_MEMORY,
        r"can't allocate memory: you tried to allocate|std::bad_alloc|^(?:.*[ \t])?MemoryError(?:: .*)?$|[Cc]annot allocate memory",
    ),
    (class::GPU_ERROR, r"CUDA error: (.+)|CUDNN_STATUS_\w+|CUBLAS_STATUS_\w+|HIP error: (.+)"),
    (class::GPU_ERROR, r"NCCL error.*\n(?:.*\n){0,6}?.*Last error:\s*(\S.*)$"),
    (
        class::GPU_ERROR,
        r"NCCL error|ncclUnhandledCudaError|ncclSystemError|ncclInternalError|ncclRemoteError|Watchdog caught collective operation timeout",
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
    ("engine cannot be run", r"undefined symbol: |numpy\.core\.multiarray failed to import"),
    // an image of another processor, or without what its program begins with: said by whoever starts a container's first process
    (
        "engine cannot be run",
        r#"(version `GLIBC_[\d.]+' not found(?: \(required by [^)]+\))?|exec (?:/\S+|user process caused|container process `[^`]+`):? ?"?(?i:exec format error|no such file or directory)|exec: "[^"]+": permission denied)"#,
    ),
    ("no access", r"GatedRepoError: 40[13] Client Error.*\n(?:.*\n){0,3}?(.*\bgated repo\b.*)$"),
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
    ("bad configuration", r"ValidationError: \d+ validation errors? for (\w+)"),
    (
        "bad configuration",
        r"must be divisible by (?:the )?(?:tensor|pipeline|tp|TP)|pass the argument `trust_remote_code=True`|set the option `trust_remote_code=True`|contains custom code which must be executed|World size \(\d+\) is larger than the number of available GPUs|LoRA rank \d+ is greater than max_lora_rank",
    ),
    (
        "bad configuration",
        r"V cache quantization requires flash_attn|quantized V cache was requested|Selected backend \S+ is not valid for this configuration|max_num_batched_tokens \(\d+\) is smaller than max_model_len|greater than the derived context_length|_size \d+ must divide|invalid tool call parser|[Rr]easoning parser '[^']*' not found|Cannot find the config file for|Cannot re-initialize CUDA in forked subprocess|unsupported cache type",
    ),
    (
        "kernels not compiled",
        r"Ninja build failed|NVCC compilation failed|ninja: build stopped|Failed to find C compiler|Could not find nvcc|nvcc fatal|nvrtc: error|PTXAS error|CompilationError: ",
    ),
    (
        "engine assertion",
        r"GGML_ASSERT\(.+\) failed|GGML_ABORT|\[TensorRT-LLM\]\[ERROR\] Assertion failed: (.+)",
    ),
    ("too many open files", r"(?:^|[^`])OSError: \[Errno 24\]|Too many open files \(os error 24\)"),
    // an image without the program
    (
        class::ENGINE_NOT_FOUND,
        r"(exec: .+: executable file not found in \$PATH|executable file .+ not found in \$PATH)",
    ),
    (
        "missing file",
        r"FileNotFoundError: (.+)|chat template string \(.+\) appears path-like, but doesn't exist|error while loading shared libraries: (.+)|version `GLIBC\w*[\d.]+' not found|ModuleNotFoundError: (.+)|ImportError: (.+: cannot open shared object file.*)|failed to be opened\. Reason: (.*No such file.*)|\b\w+ is not installed\. Please install|can't open file '([^']+)'|command not found|: not found$",
    ),
    (class::WORKER_LOST, r"(?:Engine core|Worker) proc \S+ died unexpectedly"),
    (class::WORKER_LOST, r"EngineDeadError|WorkerLostError|BrokenProcessPool"),
    (class::WORKER_LOST, r"(?:RayActor|ActorDied|WorkerCrashed)Error|The actor died unexpectedly"),
    (class::WORKER_LOST, r"Watchdog timeout \(|Hang detected on rank \d+"),
    (class::WORKER_LOST, r"MPI_ABORT was invoked on rank \d+"),
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
    fn an_image_without_the_program_is_an_engine_that_is_not_there() {
        let logs = [
            "Error: runc: runc create failed: unable to start container process: exec: \"vllm\": executable file not found in $PATH: OCI \
             runtime attempted to invoke a command that was not found",
            "Error: crun: executable file `vllm` not found in $PATH: No such file or directory: OCI runtime attempted to invoke a command \
             that was not found",
        ];
        for log in logs {
            let found = crate::engine::failure::classify(log, &[]).expect(log);
            assert_eq!(found.class, "engine not found", "{log}");
        }
    }

    #[test]
    fn an_image_whose_program_cannot_be_run_says_nothing_of_the_engine_s_flags() {
        for log in [
            "exec /usr/bin/python3: exec format error",
            "{\"msg\":\"exec container process `/usr/bin/vllm`: Exec format error\",\"level\":\"error\"}",
            "WARNING: The requested image's platform (linux/arm64) does not match the detected host platform (linux/amd64/v3)\n\
             exec /usr/bin/bash: exec format error",
            "standard_init_linux.go:228: exec user process caused: exec format error",
            "standard_init_linux.go:228: exec user process caused \"no such file or directory\"",
            "exec /opt/venv/bin/vllm: no such file or directory",
            "Error: runc: runc create failed: unable to start container process: exec: \"/opt/vllm\": permission denied: OCI permission denied",
        ] {
            let found = crate::engine::failure::classify(log, &[]).expect(log);
            assert_eq!(found.class, "engine cannot be run", "{log}");
        }
    }

    #[test]
    fn what_other_languages_and_the_machine_say_is_understood() {
        for (log, class, line) in [
            (
                "thread 'main' panicked at src/main.rs:4:5:\ncalled `Result::unwrap()` on an `Err` value: Os { code: 98, kind: AddrInUse, \
                 message: \"Address already in use\" }\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
                class::PORT,
                "AddrInUse",
            ),
            (
                "Exception in thread \"main\" java.lang.OutOfMemoryError: Java heap space\n\tat Foo.main(Foo.java:3)\n",
                class::HOST_MEMORY,
                "Java heap space",
            ),
            ("RuntimeError: can't start new thread\n", class::THREADS, "new thread"),
            (
                "OpenBLAS blas_thread_init: pthread_create failed for thread 3 of 64: Resource temporarily unavailable\n",
                class::THREADS,
                "thread 3",
            ),
            ("OSError: [Errno 30] Read-only file system: '/srv/cache'\n", class::STORAGE, "Read-only"),
            (
                "./server: /lib/libc.so.6: version `GLIBC_2.38' not found (required by ./server)\n",
                "engine cannot be run",
                "GLIBC_2.38",
            ),
            (
                "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:268, unhandled system error\n\
                 ncclSystemError: System call or external library call failed or device error.\nLast error:\n\
                 socketStartConnect: Connect to 10.0.0.3<41234> failed : Connection refused\nERROR engine core initialization failed.\n",
                class::GPU_ERROR,
                "socketStartConnect",
            ),
            ("torch.cuda.OutOfMemoryError: no\n", "out of GPU memory", "no"),
        ] {
            let found = crate::engine::failure::classify(log, &[]).expect(log);
            assert_eq!(found.class, class, "{log}");
            assert!(found.line.contains(line), "{}", found.line);
        }
    }

    #[test]
    fn engines_and_their_libraries_are_understood_and_the_line_is_the_one_that_tells() {
        let nccl = "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:77, unhandled cuda error, NCCL version 2.26.2\n\
                    ncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\nCuda failure 2 'out of memory'\n";
        let v_cache = "llama_init_from_model: V cache quantization requires flash_attn\ncommon_init_from_params: failed to create context \
                       with model 'm.gguf'\nmain: exiting due to model loading error\n";
        let gated = "huggingface_hub.errors.GatedRepoError: 401 Client Error. (Request ID: Root=1-6)\n\nCannot access gated repo for url \
                     https://huggingface.co/org/m/resolve/main/config.json.\nAccess to model org/m is restricted.\n";
        let triton = "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 147456, Hardware limit: 101376. \
                      Reducing block sizes or `num_stages` may help.\n";
        let nvml = "Failed to initialize NVML: Driver/library version mismatch\nRuntimeError: Failed to infer device type\n";
        let fabric = "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized\n";
        let ray = "ray.exceptions.RayActorError: The actor died unexpectedly before finishing this task.\n\tclass_name: Wrapper\n";
        for (log, class, line) in [
            (nccl, "out of GPU memory", "Cuda failure 2"),
            (v_cache, "bad configuration", "V cache quantization"),
            (gated, "no access", "org/m/resolve"),
            (triton, "unsupported hardware", "out of resource"),
            (nvml, "unsupported hardware", "NVML"),
            (fabric, class::GPU_NOT_READY, "802"),
            (ray, class::WORKER_LOST, "actor died"),
            (
                "MPI_ABORT was invoked on rank 0 in communicator X\nwith errorcode 1.\n",
                class::WORKER_LOST,
                "rank 0",
            ),
            (
                "torch.AcceleratorError: CUDA error: the provided PTX was compiled with an unsupported toolchain.\n",
                "unsupported hardware",
                "toolchain",
            ),
            (
                "RuntimeError: Out of memory. Try to lower your batch size.\nTry to allocate 128 tokens.\n",
                "out of GPU memory",
                "lower your",
            ),
            (
                "[2026-11-20 10:05:00 TP0] Watchdog timeout (self.watchdog_timeout=300)\nPyspy dump for PID 812:\n\
                 [2026-11-20 10:05:05] SIGQUIT received. signum=None, frame=None. It usually means one child failed.\n",
                class::WORKER_LOST,
                "Watchdog timeout",
            ),
            (
                "ValueError: Unknown architecture for AutoModelForCausalLM: Qwen9ForCausalLM\n\nTraceback (most recent call last):\n  \
                 File \"/x/proxy.py\", line 300, in start\nRuntimeError: Executor worker returned error\n",
                "unsupported model",
                "Qwen9",
            ),
            (
                "RuntimeError: Runtime error (/x/compiler.hpp:142): NVCC compilation failed\nRuntimeError: Engine core initialization \
                 failed. See root cause above.\n",
                "kernels not compiled",
                "NVCC",
            ),
            (
                "ImportError: DeepEP is not installed. Please install DeepEP package.\n",
                "missing file",
                "DeepEP",
            ),
            (
                "torch._dynamo.exc.Unsupported: Attempted to call function marked as skipped\nRuntimeError: Engine core initialization \
                 failed. See root cause above.\n",
                class::DID_NOT_START,
                "_dynamo.exc.Unsupported",
            ),
            (
                "ValueError: type fp8e4nv not supported in this architecture.\n",
                "unsupported hardware",
                "fp8e4nv",
            ),
            (
                "AssertionError: FlashAttention v3 Backend requires SM>=80 and SM<=90. Please use another.\n",
                "unsupported hardware",
                "v3",
            ),
            (
                "RuntimeError: Prefill out of memory. Try to lower your batch size.\n",
                "out of GPU memory",
                "Prefill",
            ),
            (
                "ValueError: Selected backend AttentionBackendEnum.FLASHMLA is not valid for this configuration.\n",
                "bad configuration",
                "FLASHMLA",
            ),
            (
                "ValueError: max_num_batched_tokens (512) is smaller than max_model_len (4096).\n",
                "bad configuration",
                "512",
            ),
            (
                "ValueError: The supplied chat template string (/x/t.jinja) appears path-like, but doesn't exist!\n",
                "missing file",
                "t.jinja",
            ),
        ] {
            let found = crate::engine::failure::classify(log, &[]).expect(log);
            assert_eq!(found.class, class, "{log}");
            assert!(found.line.contains(line), "{}", found.line);
        }
    }

    #[test]
    fn every_pattern_is_one_and_causes_come_first() {
        assert_eq!((patterns().len(), of_machine().len()), (TABLE.len(), MACHINE.len()));
        let firsts = TABLE.iter().position(|(name, _)| is_consequence(name)).unwrap();
        assert!(TABLE[firsts..].iter().all(|(name, _)| is_consequence(name)));
    }
}
