//! Logs, and what they are called.

use super::*;
use crate::engine::failure::class::is_consequence;
use crate::engine::failure::{Nature, classify};

#[test]
fn a_program_that_is_not_there_is_an_engine_that_is_not_there() {
    let logs = [
        "Error: runc: runc create failed: unable to start container process: exec: \"vllm\": executable file not found in $PATH: OCI \
         runtime attempted to invoke a command that was not found",
        "Error: crun: executable file `vllm` not found in $PATH: No such file or directory: OCI runtime attempted to invoke a command \
         that was not found",
        "./serve.sh: line 5: vllm: command not found\n",
        "/srv/lab/serve.sh: line 4: exec: my-vllm: not found\n",
        "/srv/lab/serve.sh: 4: exec: my-vllm: not found\n",
    ];
    for log in logs {
        let found = classify(log, &[]).expect(log);
        assert_eq!(found.class, "engine not found", "{log}");
    }
}

#[test]
fn whoever_starts_a_program_in_the_place_of_its_own_tells_that_it_is_not_there() {
    for log in [
        "timeout: failed to run command 'vllm-bin': No such file or directory",
        "timeout: failed to run command ‘vllm-bin’: No such file or directory\n",
        "nohup: ignoring input\nnohup: failed to run command 'vllm-bin': No such file or directory\n",
        "stdbuf: failed to run command 'vllm-bin': No such file or directory",
        "env: ‘vllm-bin’: No such file or directory",
        "/usr/bin/env: 'vllm-bin': No such file or directory\n/usr/bin/env: use -[v]S to pass options in shebang lines\n",
        "nice: 'vllm-bin': No such file or directory",
        "numactl: execution of `vllm-bin': No such file or directory",
        "setsid: failed to execute vllm-bin: No such file or directory",
        "taskset: failed to execute vllm-bin: No such file or directory",
        "/usr/bin/time: cannot run vllm-bin: No such file or directory",
        "sudo: vllm-bin: command not found",
        "[FATAL tini (7)] exec vllm-bin failed: No such file or directory",
    ] {
        let found = classify(log, &[]).expect(log);
        assert_eq!(found.class, "engine not found", "{log}");
        assert!(found.line.contains("vllm-bin"), "{found:?}");
    }
    // one of a tool that the script did without, and what such a program says of something else
    let tool = "timeout: failed to run command 'nvidia-smi': No such file or directory\na\nb\nc\n";
    let lock = "flock: cannot open lock file /x/y: No such file or directory\n";
    for log in [tool, lock] {
        assert_eq!(classify(log, &[]), None, "{log}");
    }
}

#[test]
fn whoever_starts_a_program_in_the_place_of_its_own_tells_that_it_cannot_be_run() {
    for log in [
        "timeout: failed to run command './vllm': Permission denied",
        "timeout: failed to run command './vllm': Exec format error",
        "setsid: failed to execute ./vllm: Exec format error",
        "/usr/bin/env: 'python3\\r': No such file or directory\n/usr/bin/env: use -[v]S to pass options in shebang lines\n",
        "start.sh: line 2: $'\\r': command not found\n",
    ] {
        let found = classify(log, &[]).expect(log);
        assert_eq!(found.class, "engine cannot be run", "{log}");
    }
}

#[test]
fn what_a_script_asks_for_and_ends_without_is_no_finding() {
    let daemon = "docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?.\nSee \
                  'docker run --help'.\n";
    let curl = "curl: (7) Failed to connect to 127.0.0.1 port 9 after 0 ms: Couldn't connect to server\n";
    for log in [
        daemon,
        curl,
        "Cannot connect to Podman. Please verify your connection to the Linux system\n",
        "Connecting to 127.0.0.1:9... failed: Connection refused.\n",
        "Could not connect to Redis at 127.0.0.1:6379: Connection refused\n",
    ] {
        let found = classify(log, &[]).expect(log);
        assert_eq!((found.class.as_str(), found.nature), (class::SERVICE, Nature::Infrastructure), "{log}");
        assert_eq!(found.line, log.lines().next().unwrap());
    }
    // it was waited for, and something else came of it
    let waited = format!("{curl}{curl}starting\nloading\nno such preset\n");
    assert_eq!(classify(&waited, &[]), None);
    let other = classify(&format!("{curl}RuntimeError: CUDA error: no\n"), &[]).unwrap();
    assert_eq!(other.class, class::GPU_ERROR);
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
        let found = classify(log, &[]).expect(log);
        assert_eq!(found.class, "engine cannot be run", "{log}");
    }
}

#[test]
fn usage_errors_of_programs_in_go_are_told_by_the_flag_and_not_by_the_help_behind_it() {
    for (log, line) in [
        (
            "flag provided but not defined: -batch\nUsage of srv:\n  -port int\n    \tport to listen on (default 8080)\n",
            "flag provided but not defined: -batch",
        ),
        (
            "Error: unknown flag: --batch\nUsage:\n  srv serve [flags]\n\nFlags:\n      --port int   port to listen on (default 8080)\n",
            "Error: unknown flag: --batch",
        ),
        ("Error: unknown shorthand flag: 'b' in -b\n", "Error: unknown shorthand flag: 'b' in -b"),
    ] {
        let found = classify(log, &[]).expect(log);
        assert_eq!((found.class.as_str(), found.line.as_str()), ("unknown flag", line));
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
        (
            "docker: Error response from daemon: driver failed programming external connectivity on endpoint vllm: Bind for 0.0.0.0:8000 \
             failed: port is already allocated.\n",
            class::PORT,
            "0.0.0.0:8000",
        ),
        (
            "RuntimeError: unable to open shared memory object </torch_9_1_0> in read-write mode: No space left on device (28)\n",
            class::SHARED_MEMORY,
            "torch_9_1_0",
        ),
        (
            "In file included from /x/main.cu:3:\n/x/main.cu:5:10: fatal error: 'cuda_runtime.h' file not found\nninja: build stopped: \
             subcommand failed.\n",
            "kernels not compiled",
            "cuda_runtime.h",
        ),
        (
            "/usr/bin/ld: cannot find -lcuda: No such file or directory\ncollect2: error: ld returned 1 exit status\n",
            "kernels not compiled",
            "-lcuda",
        ),
        ("RuntimeError: can't start new thread\n", class::THREADS, "new thread"),
        (
            "libgomp: Thread creation failed: Resource temporarily unavailable\n",
            class::THREADS,
            "Thread creation",
        ),
        (
            "terminate called after throwing an instance of 'std::system_error'\n  what():  Resource temporarily unavailable\n",
            class::THREADS,
            "what()",
        ),
        ("sh: 1: Cannot fork\n", class::THREADS, "Cannot fork"),
        (
            "Traceback (most recent call last):\n  File \"/x/popen_fork.py\", line 62, in _launch\n    self.pid = os.fork()\n               \
             ^^^^^^^^^\nBlockingIOError: [Errno 11] Resource temporarily unavailable\n",
            class::THREADS,
            "BlockingIOError",
        ),
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
        (
            "./run.sh: ./old/vllm: cannot execute: required file not found\n",
            "engine cannot be run",
            "old/vllm",
        ),
        (
            "Traceback (most recent call last):\n  File \"/s/serve.py\", line 3, in <module>\n    open('x')\n\
             OSError: [Errno 24] Too many open files: 'x'\n",
            "too many open files",
            "Errno 24",
        ),
        ("zmq.error.ZMQError: Too many open files\n", "too many open files", "ZMQError"),
        ("ConnectionRefusedError: [Errno 111] Connection refused\n", class::SERVICE, "Errno 111"),
        ("dial tcp 10.0.0.7:2379: connect: connection refused\n", class::SERVICE, "10.0.0.7:2379"),
        (
            "ConnectionRefusedError: [Errno 111] Connection refused\nEngine core proc EngineCore_0 died unexpectedly\n",
            class::WORKER_LOST,
            "refused",
        ),
    ] {
        let found = classify(log, &[]).expect(log);
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
    let fabric =
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized\n";
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
        ("ImportError: DeepEP is not installed. Please install DeepEP package.\n", "missing file", "DeepEP"),
        (
            "torch._dynamo.exc.Unsupported: Attempted to call function marked as skipped\nRuntimeError: Engine core initialization \
             failed. See root cause above.\n",
            class::DID_NOT_START,
            "_dynamo.exc.Unsupported",
        ),
        ("ValueError: type fp8e4nv not supported in this architecture.\n", "unsupported hardware", "fp8e4nv"),
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
        let found = classify(log, &[]).expect(log);
        assert_eq!(found.class, class, "{log}");
        assert!(found.line.contains(line), "{}", found.line);
    }
}

#[test]
fn what_follows_does_not_hide_the_cause_nor_a_class_of_settings_the_setting() {
    for (log, class, line) in [
        (
            "terminate called after throwing an instance of 'tensorrt_llm::common::TllmException'\n  what():  [TensorRT-LLM][ERROR] \
             CUDA runtime error in cudaStreamSynchronize(mStream->get()): an illegal memory access was encountered \
             (/src/cudaStream.h:117)\nMPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD\n",
            "GPU error",
            "illegal memory access",
        ),
        (
            "pydantic_core._pydantic_core.ValidationError: 1 validation error for TorchLlmArgs\nkv_cache_free\n  Extra inputs are not \
             permitted [type=extra_forbidden, input_value=0.9, input_type=float]\n",
            "bad configuration",
            "kv_cache_free",
        ),
    ] {
        let found = classify(log, &[]).expect(log);
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
