#!/usr/bin/env bash
# An engine for tests/gpu/run.sh: holds GPU memory as weights would, then serves as the simulated engine does.
#   engine.sh MODEL HOST PORT [--hold=MIB] [--worker]     --worker: the memory is held by a process of another session, without parent
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
model=$1 host=$2 port=$3
shift 3
mib=0 worker=no
for word; do
    case $word in
        --hold=*) mib=${word#--hold=} ;;
        --worker) worker=yes ;;
    esac
done
echo "GPUs: ${CUDA_VISIBLE_DEVICES-all}"
said=$TMPDIR/held
if [ "$worker" = yes ]; then
    (setsid python3 "$here/hold.py" "$mib" >"$said" 2>&1 &)
else
    python3 "$here/hold.py" "$mib" >"$said" 2>&1 &
fi
for _ in $(seq 600); do
    if grep -q held "$said" 2>/dev/null; then break; fi
    if grep -q Error "$said" 2>/dev/null; then
        cat "$said"
        exit 1
    fi
    sleep 0.1
done
# run.sh puts it here: an engine inherits no variable that could say where it is
exec "$here/perflab" sim --model "$model" --host "$host" --port "$port"
