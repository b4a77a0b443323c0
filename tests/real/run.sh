#!/usr/bin/env bash
# Meets real engines with the real perflab, on any machine with Linux on x86-64, without a GPU: installs each of them, carries out a
# study in which every candidate gets into trouble of its own (an unknown flag, a bad value, no model, a cache larger than the memory, a
# killed worker), and prints one table of what came of it.
#
#     tests/real/run.sh                   all: vllm-0.17.1 sglang-0.5.9 transformers-5.19.0 vllm-0.32.0
#     tests/real/run.sh vllm-0.17.1 …     these
#
# PERFLAB_REAL names the directory for engines and results, else /tmp/perflab-real. KEEP=1 leaves the engines there; otherwise each is
# removed before the next one is installed (2 to 5 GB each). Journals, logs and reports stay in results/. It takes about five minutes
# an engine, and what setup.sh asks for. The exit status is 0 if everything held for every engine.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
export PERFLAB_REAL=${PERFLAB_REAL:-/tmp/perflab-real}
[ $# -gt 0 ] || set -- vllm-0.17.1 sglang-0.5.9 transformers-5.19.0 vllm-0.32.0

# the test that is called like the engine
try() {
    local name=${1//[-.]/_}
    PERFLAB_NO_SKIP=1 cargo test --quiet --test perflab -- --exact "real::opted::$name"
}

worst=0 verdicts=()
for engine in "$@"; do
    if ! bash "$here/setup.sh" "$engine" "$PERFLAB_REAL"; then
        worst=1
        verdicts+=("$engine: NOT SET UP")
        continue
    fi
    if try "$engine"; then
        verdicts+=("$engine: all held")
    else
        worst=1
        verdicts+=("$engine: NOT ALL HELD, see $PERFLAB_REAL/results/$engine")
    fi
    [ "${KEEP:-}" = 1 ] || rm -rf "${PERFLAB_REAL:?}/$engine"
done

printf '\n| engine | candidate | what came of it | until ready, or its end | until nothing was left |\n| --- | --- | --- | --- | --- |\n'
for engine in "$@"; do
    cat "$PERFLAB_REAL/results/$engine/table.md" 2>/dev/null || true
done
printf '\n'
printf '%s\n' "${verdicts[@]}"
exit $worst
