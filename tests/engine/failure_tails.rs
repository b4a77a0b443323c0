//! Ends of logs as engines, their libraries and machines write them, each with the class that it has to have. None of them is a recording
//! (those are in `failures`): they are written after the engines' sources and what their users report, prefixes and tracebacks included.

use perflab::engine::failure::{Nature, classify};

use super::failures::patterns_of;

/// Engine, log, class, and a part of the line that is shown.
type Tail = (&'static str, &'static str, &'static str, &'static str);

/// Findings: about the configuration on this machine, never tried again.
const FINDINGS: [Tail; 65] = [
    (
        "trtllm",
        "[02/01/2026-10:01:01] [TRT-LLM] [E] Failed to initialize executor on rank 0: [TensorRT-LLM][ERROR] Assertion failed: Impossible to fit any sequence in kvCache (/src/tensorrt_llm/cpp/tensorrt_llm/batch_manager/kvCacheManager.cpp:2130)\n\
         RuntimeError: Executor worker returned error\n",
        "out of GPU memory (KV cache)",
        "Impossible to fit any sequence in kvCache",
    ),
    (
        "trtllm",
        "[02/01/2026-10:01:01] [TRT-LLM] [E] Failed to initialize executor on rank 0: FP4 GEMM is only supported on Blackwell: [TensorRT-LLM][ERROR] Assertion failed: Unsupported SM version for FP4 GEMM: 90 (/src/tensorrt_llm/cpp/fp4Gemm.cpp:99)\n\
         RuntimeError: Executor worker returned error\n",
        "unsupported hardware",
        "Unsupported SM version for FP4 GEMM: 90",
    ),
    (
        "llama",
        "llama_init_from_model: quantized V cache requires flash_attn\ncommon_init_from_params: failed to create context with model 'm.gguf'\n\
         srv    load_model: failed to load model, 'm.gguf'\nmain: exiting due to model loading error\n",
        "bad configuration",
        "quantized V cache requires flash_attn",
    ),
    (
        "sglang",
        "[2026-02-01 10:01:02 TP0] Scheduler hit an exception: Traceback (most recent call last):\n    raise ValueError(\n\
         ValueError: Weight output_partition_size = 448 is not divisible by weight quantization block_n = 128. tp_size too large.\n\n\
         [2026-02-01 10:01:02] Received sigquit from a child process. It usually means the child failed.\n",
        "bad configuration",
        "output_partition_size = 448",
    ),
    (
        "sglang",
        "[2026-02-01 10:01:52] Scheduler hit an exception: Traceback (most recent call last):\n    assert self.max_running_requests > 0, \"max_running_request is zero\"\n\
         AssertionError: max_total_num_tokens is too small: max_running_request is zero\n\n\
         [2026-02-01 10:01:52] Received sigquit from a child process. It usually means the child failed.\n",
        "out of GPU memory (KV cache)",
        "max_total_num_tokens is too small",
    ),
    (
        "vllm",
        "(EngineCore pid=11) ERROR 05-12 09:01:44 [core.py:866] ValueError: moe_backend='flashinfer_cutlass' is not supported for unquantized MoE. Expected one of ['triton', 'aiter'].\n\
         (APIServer pid=9) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore': 1}\n",
        "bad configuration",
        "moe_backend='flashinfer_cutlass'",
    ),
    (
        "vllm",
        "(APIServer pid=9) ValueError: Tensor parallel size (8) cannot be larger than the number of available GPUs (4).\n",
        "bad configuration",
        "Tensor parallel size (8)",
    ),
    (
        "vllm",
        "(APIServer pid=9) ValueError: Loading lora mylora failed: No adapter found for /models/lora/mylora: [Errno 2] No such file or directory: '/models/lora/mylora/adapter_config.json'\n",
        "model missing",
        "No adapter found for /models/lora/mylora",
    ),
    (
        "vllm",
        "(EngineCore_DP0 pid=4121) INFO 11-21 05:45:41 [gpu_model_runner.py:2602] Starting to load model Qwen/Qwen3-32B...\n\
         (EngineCore_DP0 pid=4121) ERROR 11-21 05:46:02 [core.py:708] EngineCore failed to start.\n\
         (EngineCore_DP0 pid=4121) ERROR 11-21 05:46:02 [core.py:708] Traceback (most recent call last):\n\
         (EngineCore_DP0 pid=4121) ERROR 11-21 05:46:02 [core.py:708]   File \"/opt/vllm/v1/engine/core.py\", line 699, in run_engine_core\n\
         (EngineCore_DP0 pid=4121) ERROR 11-21 05:46:02 [core.py:708]     engine_core = EngineCoreProc(*args, **kwargs)\n\
         (EngineCore_DP0 pid=4121) ERROR 11-21 05:46:02 [core.py:708]   File \"/opt/vllm/v1/worker/gpu_model_runner.py\", line 2615, in load_model\n\
         (EngineCore_DP0 pid=4121) ERROR 11-21 05:46:02 [core.py:708]     self.model = model_loader.load_model(\n\
         (EngineCore_DP0 pid=4121) ERROR 11-21 05:46:02 [core.py:708]   File \"/opt/vllm/model_executor/layers/linear.py\", line 213, in create_weights\n\
         (EngineCore_DP0 pid=4121) ERROR 11-21 05:46:02 [core.py:708]     weight = Parameter(torch.empty(sum(output_partition_sizes),\n\
         (EngineCore_DP0 pid=4121) ERROR 11-21 05:46:02 [core.py:708] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 270.00 MiB. GPU 0 has a total capacity of 79.11 GiB of which 122.38 MiB is free. Including non-PyTorch memory, this process has 78.98 GiB memory in use.\n\
         (APIServer pid=4000) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n",
        "out of GPU memory (weights)",
        "Tried to allocate 270.00 MiB",
    ),
    (
        "vllm",
        "(EngineCore pid=81) ERROR 11-21 05:46:02 [core.py:946] ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (9.48 GiB). Based on the available memory, the estimated maximum model length is 77648. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.\n\
         (APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n",
        "out of GPU memory (KV cache)",
        "16.00 GiB KV cache is needed",
    ),
    (
        "vllm",
        "(EngineCore pid=81) INFO 11-21 05:45:41 [gpu_model_runner.py:3] Graph capturing is about to begin\n\
         (EngineCore pid=81) ERROR 11-21 05:46:02 [core.py:946]   File \"/v/v1/worker/gpu_model_runner.py\", line 4400, in capture_model\n\
         (EngineCore pid=81) ERROR 11-21 05:46:02 [core.py:946]     self._capture_cudagraphs(\n\
         (EngineCore pid=81) ERROR 11-21 05:46:02 [core.py:946]   File \"/v/compilation/cuda_graph.py\", line 176, in __call__\n\
         (EngineCore pid=81) ERROR 11-21 05:46:02 [core.py:946] torch.AcceleratorError: CUDA error: out of memory\n\
         (EngineCore pid=81) ERROR 11-21 05:46:02 [core.py:946] CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\n\
         (APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n",
        "out of GPU memory (graph capture)",
        "CUDA error: out of memory",
    ),
    (
        "vllm",
        "(EngineCore pid=81) ERROR 11-21 05:46:02 [dump_input.py:72] Dumping input data for V1 LLM engine (v0.17.1)\n\
         (EngineCore pid=81) ERROR 11-21 05:46:02 [core.py:1094] EngineCore encountered a fatal error.\n\
         (EngineCore pid=81) ERROR 11-21 05:46:02 [core.py:1094] Traceback (most recent call last):\n\
         (EngineCore pid=81) ERROR 11-21 05:46:02 [core.py:1094]   File \"/v/v1/executor/multiproc_executor.py\", line 262, in execute_model\n\
         (EngineCore pid=81) ERROR 11-21 05:46:02 [core.py:1094]     output = self.collective_rpc(\"execute_model\")\n\
         (EngineCore pid=81) ERROR 11-21 05:46:02 [core.py:1094] RuntimeError: Worker failed with error 'CUDA error: an illegal memory access was encountered\n\
         (EngineCore pid=81) ERROR 11-21 05:46:02 [core.py:1094] Search for `cudaErrorIllegalAddress' in https://docs.nvidia.com for more information.\n\
         (EngineCore pid=81) ERROR 11-21 05:46:02 [core.py:1094] ', please check the stack trace above for the root cause\n\
         (APIServer pid=1) ERROR 11-21 05:46:02 [async_llm.py:550] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.\n",
        "GPU error",
        "an illegal memory access was encountered",
    ),
    (
        "vllm",
        "(Worker_TP1 pid=91) ERROR 11-21 05:46:02 [multiproc_executor.py:772] torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:3690, unhandled cuda error (run with NCCL_DEBUG=INFO for details), NCCL version 2.27.5\n\
         (Worker_TP1 pid=91) ERROR 11-21 05:46:02 [multiproc_executor.py:772] ncclUnhandledCudaError: Call to CUDA function failed.\n\
         (EngineCore pid=81) ERROR 11-21 05:46:03 [core.py:946] Exception: WorkerProc initialization failed due to an exception in a background process. See stack trace for root cause.\n",
        "GPU error",
        "NCCL error in",
    ),
    (
        "sglang",
        "[rank1]:[E1121 05:46:11.216 ProcessGroupNCCL.cpp:683] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=4096, Timeout(ms)=600000) ran for 600017 milliseconds before timing out.\n\
         [2026-11-21 05:46:12 TP1] Scheduler hit an exception: Traceback (most recent call last):\n",
        "GPU error",
        "Watchdog caught collective operation timeout",
    ),
    (
        "vllm",
        "(EngineCore pid=81) ERROR 11-21 05:46:02 [core.py:946]   File \"/v/triton/compiler/compiler.py\", line 322, in compile\n\
         (EngineCore pid=81) ERROR 11-21 05:46:02 [core.py:946] triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 262144, Hardware limit: 232448. Reducing block sizes or `num_stages` may help.\n\
         (APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n",
        "unsupported hardware",
        "out of resource: shared memory",
    ),
    (
        "vllm",
        "(EngineCore pid=81) ERROR 11-21 05:46:02 [core.py:946] torch._inductor.exc.InductorError: RuntimeError: Failed to find C compiler. Please specify via CC environment variable or set triton.knobs.build.impl.\n\
         (APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n",
        "kernels not compiled",
        "Failed to find C compiler",
    ),
    (
        "sglang",
        "[2026-11-21 05:46:12] Scheduler hit an exception: Traceback (most recent call last):\n\
         \x20 File \"/s/flashinfer/jit/cpp_ext.py\", line 228, in run_ninja\n\
         \x20   raise RuntimeError(msg) from e\n\
         RuntimeError: Ninja build failed. Ninja output:\n\
         ninja: build stopped: subcommand failed.\n\
         /usr/local/cuda/bin/nvcc: not found\n\
         [2026-11-21 05:46:12] Received sigquit from a child process. It usually means the child failed.\n",
        "kernels not compiled",
        "Ninja build failed",
    ),
    (
        "vllm",
        "(EngineCore pid=81) ERROR 11-21 05:46:02 [core.py:946] RuntimeError: Could not find nvcc and default cuda_home='/usr/local/cuda' doesn't exist\n\
         (APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n",
        "kernels not compiled",
        "Could not find nvcc",
    ),
    (
        "vllm",
        "(APIServer pid=1) pydantic_core._pydantic_core.ValidationError: 1 validation error for VllmConfig\n\
         (APIServer pid=1)   Value error, The quantization method fp8 is not supported for the current GPU. Minimum capability: 89. Current capability: 80. [type=value_error, input_value=ArgsKwargs(()), input_type=ArgsKwargs]\n\
         (APIServer pid=1)     For further information visit https://errors.pydantic.dev/2.12/v/value_error\n",
        "unsupported hardware",
        "Minimum capability: 89",
    ),
    (
        "sglang",
        "Traceback (most recent call last):\n  File \"/s/sglang/srt/model_loader/loader.py\", line 180, in _get_quantization_config\n    raise ValueError(\nValueError: The quantization method modelopt_fp4 is not supported for the current GPU. Minimum capability: 100. Current capability: 90.\n",
        "unsupported hardware",
        "Minimum capability: 100",
    ),
    (
        "vllm",
        "(EngineCore pid=81) ERROR 11-21 05:46:02 [core.py:946] RuntimeError: FlashAttention only supports Ampere GPUs or newer.\n\
         (APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n",
        "unsupported hardware",
        "only supports Ampere GPUs or newer",
    ),
    (
        "vllm",
        "(APIServer pid=1) ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla T4 GPU has compute capability 7.5. You can use float16 instead by explicitly setting the `dtype` flag in CLI, for example: --dtype=half.\n",
        "unsupported hardware",
        "compute capability of at least 8.0",
    ),
    (
        "vllm",
        "RuntimeError: The NVIDIA driver on your system is too old (found version 12020). Please update your GPU driver by downloading and installing a new version from the URL: http://www.nvidia.com/Download/index.aspx\n",
        "unsupported hardware",
        "driver on your system is too old",
    ),
    (
        "trtllm",
        "[TensorRT-LLM] TensorRT LLM version: 1.2.0\n\
         RuntimeError: CUDA error: CUDA driver version is insufficient for CUDA runtime version\n",
        "unsupported hardware",
        "driver version is insufficient",
    ),
    (
        "llama",
        "ggml_cuda_init: failed to initialize CUDA: CUDA driver version is insufficient for CUDA runtime version\n\
         0.00.271.898 E main: exiting due to model loading error\n",
        "unsupported hardware",
        "driver version is insufficient",
    ),
    (
        "vllm",
        "(APIServer pid=1) OSError: Can't load tokenizer for '/models/qwen'. If you were trying to load it from 'https://huggingface.co/models', make sure you don't have a local directory with the same name. Otherwise, make sure '/models/qwen' is the correct path to a directory containing all relevant files for a Qwen2TokenizerFast tokenizer.\n",
        "model missing",
        "Can't load tokenizer for '/models/qwen'",
    ),
    (
        "vllm",
        "(APIServer pid=1) OSError: /models/qwen does not appear to have a file named config.json. Checkout 'https://huggingface.co//models/qwen/tree/main' for available files.\n",
        "model missing",
        "does not appear to have a file named config.json",
    ),
    (
        "sglang",
        "OSError: Qwen/Qwen3-8B does not appear to have a file named pytorch_model.bin or model.safetensors.\n",
        "model missing",
        "does not appear to have a file named",
    ),
    (
        "vllm",
        "(EngineCore pid=81) ERROR 11-21 05:46:02 [core.py:946] RuntimeError: Cannot find any model weights with `/models/qwen`\n\
         (APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n",
        "model missing",
        "Cannot find any model weights",
    ),
    (
        "vllm",
        "(APIServer pid=1) pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n\
         (APIServer pid=1)   Value error, The repository org/model contains custom code which must be executed to correctly load the model. You can inspect the repository content at https://hf.co/org/model.\n\
         (APIServer pid=1)  You can inspect the repository content at https://hf.co/org/model.\n\
         (APIServer pid=1) Please pass the argument `trust_remote_code=True` to allow custom code to be run. [type=value_error, input_value=ArgsKwargs(()), input_type=ArgsKwargs]\n",
        "bad configuration",
        "contains custom code",
    ),
    (
        "sglang",
        "ValueError: Loading org/model requires you to execute the configuration file in that repo on your local machine. Make sure you have read the code there to avoid malicious use, then set the option `trust_remote_code=True` to remove this error.\n",
        "bad configuration",
        "requires you to execute the configuration file",
    ),
    (
        "sglang",
        "huggingface_hub.errors.GatedRepoError: 401 Client Error. (Request ID: Root=1-69)\n\nCannot access gated repo for url https://huggingface.co/meta-llama/Llama-3.1-8B/resolve/main/config.json.\nAccess to model meta-llama/Llama-3.1-8B is restricted. You must have access to it and be authenticated to access it. Please log in.\n\nOSError: You are trying to access a gated repo.\nMake sure to have access to it at https://huggingface.co/meta-llama/Llama-3.1-8B.\n",
        "no access",
        "Cannot access gated repo for url",
    ),
    (
        "vllm",
        "huggingface_hub.errors.RepositoryNotFoundError: 401 Client Error. (Request ID: Root=1-69)\n\nRepository Not Found for url: https://huggingface.co/api/models/org/nothing.\nPlease make sure you specified the correct `repo_id` and `repo_type`.\nIf you are trying to access a private or gated repo, make sure you are authenticated.\n",
        "model missing",
        "Repository Not Found for url: https://huggingface.co/api/models/org/nothing.",
    ),
    (
        "vllm",
        "huggingface_hub.errors.LocalEntryNotFoundError: Cannot find an appropriate cached snapshot folder for the specified revision on the local disk and outgoing traffic has been disabled. To enable repo look-ups and downloads online, pass 'local_files_only=False' as input.\n",
        "model missing",
        "outgoing traffic has been disabled",
    ),
    (
        "sglang",
        "huggingface_hub.errors.OfflineModeIsEnabled: Cannot reach https://huggingface.co/Qwen/Qwen3-8B/resolve/main/config.json: offline mode is enabled. To disable it, please unset the `HF_HUB_OFFLINE` environment variable.\n\
         \n\
         The above exception was the direct cause of the following exception:\n\
         \n\
         OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached files.\n\
         Check your internet connection or see how to run the library in offline mode at 'https://huggingface.co/docs/transformers/installation#offline-mode'.\n",
        "model missing",
        "offline mode is enabled",
    ),
    (
        "vllm",
        "huggingface_hub.errors.LocalEntryNotFoundError: Cannot find the requested files in the disk cache and outgoing traffic has been disabled. To enable hf.co look-ups and downloads online, set 'local_files_only' to False.\n\
         OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached files.\n",
        "model missing",
        "outgoing traffic has been disabled",
    ),
    (
        "trtllm",
        "huggingface_hub.errors.LocalEntryNotFoundError: An error happened while trying to locate the file on the Hub and we cannot find the requested files in the local cache.\n",
        "model missing",
        "LocalEntryNotFoundError",
    ),
    (
        "vllm",
        "usage: vllm serve [model_tag] [options]\nvllm serve: error: argument --kv-cache-dtype: invalid choice: 'fp4' (choose from auto, bfloat16, fp8, fp8_e4m3, fp8_e5m2)\n",
        "bad value",
        "invalid choice: 'fp4'",
    ),
    (
        "sglang",
        "launch_server.py: error: argument --attention-backend: invalid choice: 'fa5' (choose from 'triton', 'fa3')\n",
        "bad value",
        "invalid choice: 'fa5'",
    ),
    (
        "trtllm",
        "Usage: trtllm-serve serve [OPTIONS] MODEL\nTry 'trtllm-serve serve --help' for help.\n\nError: Invalid value for '--backend': 'torch' is not one of 'pytorch', 'tensorrt', '_autodeploy'.\n",
        "bad value",
        "Invalid value for '--backend'",
    ),
    (
        "trtllm",
        "Usage: trtllm-serve serve [OPTIONS] MODEL\n\nError: No such option: --max_batch\n",
        "unknown flag",
        "--max_batch",
    ),
    (
        "trtllm",
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for TorchLlmArgs\nkv_cache_config.free_gpu_fraction\n  Extra inputs are not permitted [type=extra_forbidden, input_value=0.9, input_type=float]\n",
        "bad configuration",
        "kv_cache_config.free_gpu_fraction Extra inputs are not permitted",
    ),
    (
        "trtllm",
        "  what():  [TensorRT-LLM][ERROR] CUDA runtime error in cudaStreamSynchronize(stream): out of memory (/src/cudaStream.h:117)\n",
        "out of GPU memory",
        "out of memory",
    ),
    (
        "trtllm",
        "[11/21/2026-05:46:12] [TRT-LLM] [E] Failed to initialize executor on rank 0: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB\n\
         RuntimeError: Executor worker returned error\n",
        "out of GPU memory",
        "Tried to allocate 2.00 GiB",
    ),
    (
        "trtllm",
        "[11/21/2026-05:46:12] [TRT-LLM] [E] Failed to initialize executor on rank 0: [TensorRT-LLM][ERROR] CUDA runtime error in ::cudaMallocAsync(ptr, n, mMemPool->getPool(), mCudaStream->get()): out of memory (/src/tensorrt_llm/cpp/include/tensorrt_llm/runtime/tllmBuffers.h:232)\n\
         RuntimeError: Executor worker returned error\n",
        "out of GPU memory",
        "out of memory",
    ),
    (
        "sglang",
        "[2026-11-21 05:46:12] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/model_runner.py\", line 300, in init_memory_pool\n    raise RuntimeError(\nRuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: self.server_args.mem_fraction_static=0.5\n",
        "out of GPU memory (KV cache)",
        "--mem-fraction-static",
    ),
    (
        "sglang",
        "[2026-11-21 05:46:12 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/cuda_graph_runner.py\", line 300, in __init__\n    raise Exception(\nException: Capture cuda graph failed: CUDA out of memory. Tried to allocate 1.16 GiB. GPU 0 has a total capacity of 79.11 GiB of which 713.00 MiB is free.\nPossible solutions:\n1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)\n2. set --cuda-graph-max-bs to a smaller value (e.g., 16)\n",
        "out of GPU memory (graph capture)",
        "Capture cuda graph failed",
    ),
    (
        "llama",
        "0.05.271.898 E ggml_backend_cuda_buffer_type_alloc_buffer: allocating 20480.00 MiB on device 0: cudaMalloc failed: out of memory\n\
         0.05.271.899 E alloc_tensor_range: failed to allocate CUDA0 buffer of size 21474836480\n\
         0.05.271.900 E llama_model_load: error loading model: unable to allocate CUDA0 buffer\n\
         0.05.271.901 E llama_model_load_from_file_impl: failed to load model\n",
        "out of GPU memory (weights)",
        "allocating 20480.00 MiB on device 0",
    ),
    (
        "llama",
        "load_tensors: offloaded 33/33 layers to GPU\n\
         ggml_backend_cuda_buffer_type_alloc_buffer: allocating 4096.00 MiB on device 0: cudaMalloc failed: out of memory\n\
         alloc_tensor_range: failed to allocate CUDA0 buffer of size 4294967296\n\
         llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache\n",
        "out of GPU memory (KV cache)",
        "allocating 4096.00 MiB on device 0",
    ),
    (
        "vllm",
        "(EngineCore_DP0 pid=811) ERROR 11-28 01:00:30 [core.py:708] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 594.00 MiB.\n\
         (EngineCore_DP0 pid=811) ERROR 11-28 01:00:30 [core.py:708] The above exception was the direct cause of the following exception:\n\
         (EngineCore_DP0 pid=811) ERROR 11-28 01:00:30 [core.py:708] RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine.\n\
         (APIServer pid=700) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n",
        "out of GPU memory",
        "warming up sampler with 1024 dummy requests",
    ),
    (
        "vllm",
        "usage: vllm serve [model_tag] [options]\nvllm: error: ambiguous option: --max-num could match --max-num-seqs, --max-num-batched-tokens\n",
        "unknown flag",
        "--max-num could match",
    ),
    (
        "vllm",
        "(APIServer pid=700)   File \"/x/vllm/engine/arg_utils.py\", line 1400, in create_speculative_config\n\
         (APIServer pid=700) TypeError: SpeculativeConfig.__init__() got an unexpected keyword argument 'num_tokens'\n",
        "bad configuration",
        "'num_tokens'",
    ),
    (
        "sglang",
        "Traceback (most recent call last):\n  File \"<frozen runpy>\", line 198, in _run_module_as_main\n\
         \x20 File \"/sgl/python/sglang/launch_server.py\", line 24, in <module>\n    server_args = prepare_server_args(sys.argv[1:])\n\
         AssertionError: chunked_prefill_size must be divisible by page_size\n",
        "bad configuration",
        "chunked_prefill_size must be divisible by page_size",
    ),
    (
        "llama",
        "0.05.271.898 E ggml_gallocr_reserve_n_impl: failed to allocate CUDA0 buffer of size 4294967296\n\
         0.05.271.899 E graph_reserve: failed to allocate compute buffers\n\
         0.05.271.900 E llama_init_from_model: failed to initialize the context: failed to allocate compute pp buffers\n",
        "out of GPU memory",
        "failed to allocate",
    ),
    (
        "llama",
        "/build/ggml/src/ggml-cuda/ggml-cuda.cu:88: CUDA error\nCUDA error: an illegal memory access was encountered\n  current device: 0, in function ggml_backend_cuda_synchronize at /build/ggml/src/ggml-cuda/ggml-cuda.cu:2916\n",
        "GPU error",
        "an illegal memory access",
    ),
    (
        "llama",
        "/build/ggml/src/ggml.c:3412: GGML_ASSERT(ggml_can_mul_mat(a, b)) failed\n[New LWP 412]\n",
        "engine assertion",
        "GGML_ASSERT(ggml_can_mul_mat(a, b)) failed",
    ),
    (
        "llama",
        "0.05.271.898 E llama_model_load: error loading model: error loading model architecture: unknown model architecture: 'qwen9'\n",
        "unsupported model",
        "qwen9",
    ),
    (
        "vllm",
        "(APIServer pid=1) ValueError: Model architectures ['Qwen9ForCausalLM'] are not supported for now. Supported architectures: dict_keys(['AfmoeForCausalLM'])\n",
        "unsupported model",
        "Qwen9ForCausalLM",
    ),
    (
        "vllm",
        "(APIServer pid=1)   Value error, The checkpoint you are trying to load has model type `qwen9` but Transformers does not recognize this architecture. This could be because of an issue with the checkpoint, or because your version of Transformers is out of date. [type=value_error]\n",
        "unsupported model",
        "qwen9",
    ),
    (
        "vllm",
        "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n*** SIGABRT received at time=1763703972 on cpu 3 ***\n",
        "out of host memory",
        "bad_alloc",
    ),
    (
        "sglang",
        "OSError: [Errno 24] Too many open files: '/dev/shm/sem.x'\n",
        "too many open files",
        "Too many open files",
    ),
    (
        "vllm",
        "(EngineCore pid=81) ERROR 11-21 05:46:02 [core.py:946] safetensors_rust.SafetensorError: Error while deserializing header: incomplete metadata, file not fully covered\n\
         (APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n",
        "model broken",
        "incomplete metadata",
    ),
    (
        "vllm",
        "(EngineCore pid=81) ERROR 11-21 05:46:02 [core.py:946] ValueError: There is no module or parameter named 'lm_head.scales' in Qwen3ForCausalLM\n\
         (APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n",
        "model broken",
        "no module or parameter named",
    ),
    (
        "vllm",
        "(APIServer pid=1) ImportError: libcudart.so.12: cannot open shared object file: No such file or directory\n",
        "missing file",
        "libcudart.so.12",
    ),
    (
        "vllm",
        "(APIServer pid=1) ValueError: World size (8) is larger than the number of available GPUs (4) in this node. If this is intentional and you are using multiple nodes\n",
        "bad configuration",
        "World size (8)",
    ),
];

/// Of the machine at that moment: no results, tried again.
const OF_THE_MACHINE: [Tail; 29] = [
    (
        "sglang",
        "[2026-11-21 05:46:12 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/model_runner.py\", line 700, in init_torch_distributed\n    raise ValueError(\nValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes. pre_model_load_memory=20.1, local_gpu_memory=78.8, local_gpu_memory * 0.9=70.9\n",
        "GPU memory taken by others",
        "memory capacity is unbalanced",
    ),
    (
        "vllm",
        "(EngineCore pid=81) ERROR 11-21 05:46:02 [core.py:946] AssertionError: Error in memory profiling. Initial free memory 60.2 GiB, current free memory 75.9 GiB. This happens when other processes sharing the same container release GPU memory while vLLM is profiling during initialization. To fix this, ensure consistent GPU memory allocation or isolate vLLM in its own container.\n\
         (APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n",
        "GPU memory taken by others",
        "Error in memory profiling",
    ),
    (
        "vllm",
        "RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable\nCUDA kernel errors might be asynchronously reported at some other API call\n",
        "GPU memory taken by others",
        "busy or unavailable",
    ),
    (
        "vllm",
        "(EngineCore pid=81) ERROR 11-21 05:46:02 [core.py:946] zmq.error.ZMQError: Address already in use (addr='tcp://127.0.0.1:5557')\n\
         (APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n",
        "port in use",
        "Address already in use (addr='tcp://127.0.0.1:5557')",
    ),
    (
        "sglang",
        "  File \"zmq/backend/cython/_zmq.py\", line 179, in zmq.backend.cython._zmq._check_rc\nzmq.error.ZMQError: Address already in use (addr='ipc:///tmp/tmpx')\n",
        "port in use",
        "Address already in use",
    ),
    (
        "vllm",
        "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use\n",
        "port in use",
        "EADDRINUSE",
    ),
    ("trtllm", "OSError: [Errno 98] Address already in use\n", "port in use", "[Errno 98]"),
    ("vllm", "OSError: [Errno 101] Network is unreachable\n", "network", "Network is unreachable"),
    (
        "sglang",
        "torch.distributed.DistNetworkError: The client socket has failed to connect to any network address of (127.0.0.1, 29501). The client socket has failed to connect to 127.0.0.1:29501 (errno: 101 - Network is unreachable).\n",
        "network",
        "Network is unreachable",
    ),
    (
        "vllm",
        "zmq.error.ZMQError: Cannot assign requested address (addr='tcp://127.0.0.1:5557')\n",
        "network",
        "Cannot assign requested address",
    ),
    (
        "sglang",
        "huggingface_hub.errors.HfHubHTTPError: 429 Client Error: Too Many Requests for url: https://huggingface.co/api/models/Qwen/Qwen3-8B (Request ID: Root=1-69)\n\nWe had to rate limit your IP.\n",
        "network",
        "429 Client Error",
    ),
    (
        "vllm",
        "requests.exceptions.HTTPError: 503 Server Error: Service Unavailable for url: https://huggingface.co/Qwen/Qwen3-8B/resolve/main/model.safetensors\n",
        "network",
        "503 Server Error",
    ),
    (
        "trtllm",
        "huggingface_hub.errors.HfHubHTTPError: 504 Server Error: Gateway Time-out for url: https://huggingface.co/api/models/Qwen/Qwen3-8B/tree/main\n",
        "network",
        "504 Server Error",
    ),
    (
        "vllm",
        "httpx.HTTPStatusError: Server error '502 Bad Gateway' for url 'https://huggingface.co/api/models/Qwen/Qwen3-8B'\n",
        "network",
        "502 Bad Gateway",
    ),
    (
        "vllm",
        "RuntimeError: Data processing error: CAS service error : Reqwest Error: HTTP status server error (500 Internal Server Error), domain: https://cas-server.xethub.hf.co\n",
        "network",
        "500 Internal Server Error",
    ),
    (
        "vllm",
        "requests.exceptions.ConnectionError: (MaxRetryError('HTTPSConnectionPool(host=\\'huggingface.co\\', port=443): Max retries exceeded with url: /Qwen/Qwen3-8B/resolve/main/config.json (Caused by NewConnectionError(\"Failed to establish a new connection: [Errno 101] Network is unreachable\"))'), '(Request ID: 1)')\n\
         \n\
         The above exception was the direct cause of the following exception:\n\
         \n\
         huggingface_hub.errors.LocalEntryNotFoundError: An error happened while trying to locate the file on the Hub and we cannot find the requested files in the local cache. Please check your connection and try again or make sure your Internet connection is on.\n\
         OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached files.\n",
        "network",
        "Max retries exceeded",
    ),
    (
        "sglang",
        "httpx.ConnectError: [Errno -3] Temporary failure in name resolution\n",
        "network",
        "Temporary failure in name resolution",
    ),
    (
        "vllm",
        "requests.exceptions.ReadTimeout: (ReadTimeoutError(\"HTTPSConnectionPool(host='huggingface.co', port=443): Read timed out. (read timeout=10)\"), '(Request ID: 1)')\n",
        "network",
        "Read timed out",
    ),
    (
        "vllm",
        "urllib3.exceptions.IncompleteRead: IncompleteRead(1048576 bytes read, 4294967296 more expected)\nrequests.exceptions.ChunkedEncodingError: ('Connection broken: IncompleteRead(1048576 bytes read, 4294967296 more expected)')\n",
        "network",
        "IncompleteRead",
    ),
    (
        "vllm",
        "(EngineCore pid=81) ERROR 11-21 05:46:02 [core.py:946] OSError: [Errno 116] Stale file handle: '/nfs/models/qwen/model-00001-of-00002.safetensors'\n\
         (APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n",
        "storage failed",
        "Stale file handle",
    ),
    (
        "sglang",
        "OSError: [Errno 5] Input/output error: '/nfs/models/qwen/config.json'\n",
        "storage failed",
        "Input/output error",
    ),
    (
        "llama",
        "0.05.271.898 E llama_model_load: error loading model: read error: Input/output error\n0.05.271.899 E llama_model_load_from_file_impl: failed to load model\n",
        "storage failed",
        "Input/output error",
    ),
    (
        "vllm",
        "safetensors_rust.SafetensorError: Error while deserializing header: I/O error: Transport endpoint is not connected (os error 107)\n",
        "storage failed",
        "Transport endpoint is not connected",
    ),
    (
        "vllm",
        "RuntimeError: unable to write to file </torch_4121_2>: No space left on device (28)\nERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).\n",
        "shared memory full",
        "insufficient shared memory",
    ),
    (
        "sglang",
        "[2026-11-21 05:46:12] torch.distributed.DistBackendError: NCCL error in: /pytorch/ProcessGroupNCCL.cpp:3690, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.27.5\nncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.\nLast error:\nError while creating shared memory segment /dev/shm/nccl-x1 (size 33030528), error: No space left on device (28)\n",
        "shared memory full",
        "shared memory segment",
    ),
    (
        "vllm",
        "(Worker_TP0 pid=9) ERROR 03-11 10:12:44 [multiproc_executor.py:597] RuntimeError: unable to write to file </torch_123_456_0>: No space \
         left on device (28)\n(APIServer pid=70) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n",
        "shared memory full",
        "torch_123_456_0",
    ),
    (
        "vllm",
        "RuntimeError: CUDA error: uncorrectable ECC error encountered\n",
        "GPU lost",
        "uncorrectable ECC error",
    ),
    (
        "vllm",
        "(EngineCore pid=81) ERROR 11-21 05:46:02 [core.py:946] torch.AcceleratorError: CUDA error: unspecified launch failure\n\
         NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.\n",
        "GPU lost",
        "fallen off the bus",
    ),
    (
        "trtllm",
        "[11/21/2026-05:46:12] [TRT-LLM] [E] OSError: [Errno 28] No space left on device: '/home/user/.cache/tensorrt_llm/x.engine'\n",
        "disk full",
        "No space left on device",
    ),
];

/// More findings: causes that a consequence follows, and what single libraries say.
const CAUSES: [Tail; 18] = [
    (
        "trtllm",
        "[11/20/2026-10:00:09] [TRT-LLM] [E] Failed to initialize executor on rank 0: Unknown architecture for AutoModelForCausalLM: NewForCausalLM\n\
         [11/20/2026-10:00:09] [TRT-LLM] [E] Traceback (most recent call last):\n  File \"/x/tensorrt_llm/executor/worker.py\", line 360, in worker_main\n    \
         worker: GenerationExecutorWorker = worker_cls(\nValueError: Unknown architecture for AutoModelForCausalLM: NewForCausalLM\n\n\
         Traceback (most recent call last):\n  File \"/usr/local/bin/trtllm-serve\", line 8, in <module>\n    sys.exit(main())\n\
         RuntimeError: Executor worker returned error\n",
        "unsupported model",
        "NewForCausalLM",
    ),
    (
        "trtllm",
        "Traceback (most recent call last):\n  File \"/x/worker.py\", line 33, in build\nAttributeError: no quantization of this kind\n\nThe above \
         exception was the direct cause of the following exception:\n\nTraceback (most recent call last):\n  File \"/x/trtllm-serve\", line 8, \
         in <module>\nRuntimeError: Executor worker returned error\n",
        "did not start",
        "no quantization of this kind",
    ),
    (
        "trtllm",
        "[11/20/2026-10:00:09] [TRT-LLM] [E] Hang detected on rank 0 in PyExecutor.\n\
         [11/20/2026-10:00:09] [TRT-LLM] [E] Hang detected, shutting down immediately.\n",
        "worker lost",
        "on rank 0",
    ),
    (
        "llama_cpp",
        "main: loading model\nclip_init: failed to load model '/m/mmproj.gguf': operator(): unable to find tensor v.patch_embd.weight\n\
         mtmd_init_from_file: error: Failed to load CLIP model from /m/mmproj.gguf\nsrv    load_model: failed to load multimodal model, \
         '/m/mmproj.gguf'\nmain: exiting due to model loading error\n",
        "model broken",
        "v.patch_embd.weight",
    ),
    (
        "llama_cpp",
        "common_speculative_are_compatible: draft vocab type must match target vocab type to use speculation but vocab_type_dft = 1 while \
         vocab_type_tgt = 2\nsrv    load_model: the draft model '/m/d.gguf' is not compatible with the target model '/m/t.gguf'\n\
         main: exiting due to model loading error\n",
        "bad configuration",
        "draft vocab type",
    ),
    (
        "llama_cpp",
        "srv    load_model: loading model 'm.gguf'\ninit: chat template parsing error: Unknown statement type: generation\ninit: please consider \
         disabling jinja via --no-jinja, or use a custom chat template via --chat-template\nmain: exiting due to model loading error\n",
        "bad configuration",
        "Unknown statement type",
    ),
    (
        "llama_cpp",
        "llama_adapter_lora_init: failed to apply lora adapter: model arch and LoRA arch mismatch\ncommon_init_from_params: failed to apply lora \
         adapter 'l.gguf'\nsrv    load_model: failed to load model, 'm.gguf'\nmain: exiting due to model loading error\n",
        "bad configuration",
        "arch mismatch",
    ),
    (
        "llama_cpp",
        "CUDA error: out of memory\n  current device: 0, in function alloc at /src/ggml/src/ggml-cuda/ggml-cuda.cu:420\n  cuMemCreate(&handle, \
         reserve_size, &prop, 0)\n/src/ggml/src/ggml-cuda/ggml-cuda.cu:84: CUDA error\n",
        "out of GPU memory",
        "CUDA error: out of memory",
    ),
    (
        "llama_cpp",
        "srv    load_model: something new went wrong: could not map the cache\nmain: exiting due to model loading error\n",
        "did not start",
        "could not map the cache",
    ),
    (
        "sglang",
        "[2026-11-20 10:00:30 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/x/sglang/srt/mem_cache/common.py\", \
         line 310, in alloc_token_slots\n    raise RuntimeError(error_msg)\nRuntimeError: Out of memory. Try to lower your batch size.\n\
         Try to allocate 128 tokens.\n\n[2026-11-20 10:00:30] SIGQUIT received. signum=None, frame=None. It usually means one child failed.\n",
        "out of GPU memory",
        "lower your batch size",
    ),
    (
        "sglang",
        "[2026-11-20 10:05:00 TP0] Watchdog timeout (self.watchdog_timeout=300)\n[2026-11-20 10:05:00 TP0] Pyspy dump for PID 812:\n\
         Thread 812 (idle): \"MainThread\"\n[2026-11-20 10:05:05] SIGQUIT received. signum=None, frame=None. It usually means one child failed.\n",
        "worker lost",
        "Watchdog timeout",
    ),
    (
        "sglang",
        "ValueError: User-specified context_length (131072) is greater than the derived context_length (40960). This may lead to incorrect model \
         outputs or CUDA errors.\n",
        "bad configuration",
        "131072",
    ),
    (
        "vllm",
        "(Worker_TP1 pid=23) ERROR 11-20 10:05:50 [multiproc_executor.py:671] torch.AcceleratorError: CUDA error: the provided PTX was compiled \
         with an unsupported toolchain.\n",
        "unsupported hardware",
        "unsupported toolchain",
    ),
    (
        "vllm",
        "(EngineCore_DP0 pid=22) ERROR 11-20 10:05:50 [core.py:710] torch._dynamo.exc.Unsupported: Attempted to call function marked as skipped\n\
         (APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n",
        "did not start",
        "marked as skipped",
    ),
    (
        "vllm",
        "/tmp/tmpx/main.c:5:10: fatal error: Python.h: No such file or directory\n    5 | #include <Python.h>\n      |          ^~~~~~~~~~\n\
         compilation terminated.\n(EngineCore_DP0 pid=77) ERROR 03-11 10:12:44 [core.py:708] subprocess.CalledProcessError: Command \
         '['/usr/bin/gcc', '/tmp/tmpx/main.c', '-O3']' returned non-zero exit status 1.\n\
         (APIServer pid=70) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n",
        "kernels not compiled",
        "fatal error: Python.h",
    ),
    (
        "vllm",
        "(EngineCore_DP0 pid=77) INFO 03-11 10:12:40 [backends.py:548] Using cache directory: /root/.cache/vllm/torch_compile_cache/ab\n\
         /tmp/tmp3k/cuda_utils.c:6:10: fatal error: Python.h: No such file or directory\n    6 | #include <Python.h>\ncompilation terminated.\n\
         (EngineCore_DP0 pid=77) ERROR 03-11 10:12:44 [core.py:708] EngineCore failed to start.\n\
         (EngineCore_DP0 pid=77) ERROR 03-11 10:12:44 [core.py:708] Traceback (most recent call last):\n\
         (EngineCore_DP0 pid=77) ERROR 03-11 10:12:44 [core.py:708]   File \"/opt/triton/runtime/build.py\", line 50, in _build\n\
         (EngineCore_DP0 pid=77) ERROR 03-11 10:12:44 [core.py:708] torch._inductor.exc.InductorError: CalledProcessError: Command \
         '['/usr/bin/gcc', '/tmp/tmp3k/cuda_utils.c']' returned non-zero exit status 1.\n\
         (APIServer pid=70) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n",
        "kernels not compiled",
        "fatal error: Python.h",
    ),
    (
        "vllm",
        "Traceback (most recent call last):\n  File \"/opt/hf/utils/_http.py\", line 409, in hf_raise_for_status\n    response.raise_for_status()\n\
         requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: https://huggingface.co/org/m/resolve/main/config.json\n\n\
         The above exception was the direct cause of the following exception:\n\nTraceback (most recent call last):\n\
         \x20 File \"/opt/transformers/utils/hub.py\", line 533, in cached_files\n    raise OSError(\n\
         OSError: You are trying to access a gated repo.\nMake sure to have access to it at https://huggingface.co/org/m.\n\
         403 Client Error. (Request ID: Root=1-67d)\n",
        "no access",
        "You are trying to access a gated repo. Make sure to have access to it at https://huggingface.co/org/m.",
    ),
    (
        "vllm",
        "(APIServer pid=1) KeyError: \"invalid tool call parser: qwen9 (chose from { deepseek_v3,granite,hermes })\"\n",
        "bad configuration",
        "qwen9",
    ),
];

#[test]
fn ends_of_logs_have_their_classes_and_their_lines() {
    let mut wrong = Vec::new();
    let kinds = [
        (&FINDINGS[..], Nature::Finding),
        (&CAUSES[..], Nature::Finding),
        (&OF_THE_MACHINE[..], Nature::Infrastructure),
    ];
    for (tails, nature) in kinds {
        for (engine, log, class, line) in tails {
            // by the engine's own patterns, and by the general ones where an engine has none
            let patterns = patterns_of(engine);
            assert!(!patterns.is_empty(), "{engine}");
            let found = classify(log, &patterns);
            let is = found.as_ref().is_some_and(|f| {
                f.class == *class && f.nature == nature && f.line.contains(line) && !f.line.contains("pid=")
            });
            if !is {
                wrong.push(format!("{engine}: {class}, {line}: {found:?}\n{log}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}
