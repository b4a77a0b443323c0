#!/usr/bin/env bash
# Proves on a machine with an NVIDIA card what the scripted GPUs of tests/gpus.rs can only play. Offline; needs python3 and a perflab.
#
#   tests/gpu/run.sh          both parts, each within 8 minutes
#   tests/gpu/run.sh 1        what launches do to a GPU     (about 4 minutes)
#   tests/gpu/run.sh 2        what others on a GPU do to us (about 5 minutes: one wait of 120 s is for real)
#
# Exit status: 0 all hold, 1 some do not, 77 no NVIDIA card here. PERFLAB names the binary; else target/release, then target/debug.
set -u
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
part=${1:-all}

if [ "$part" = all ]; then
    worst=0
    for one in 1 2; do
        timeout --foreground 480 bash "${BASH_SOURCE[0]}" "$one"
        code=$?
        [ $code = 124 ] && echo "part $one took longer than 8 minutes"
        [ $code = 77 ] && exit 77
        [ $code != 0 ] && worst=1
    done
    exit $worst
fi

binary=${PERFLAB:-}
for candidate in "${CARGO_TARGET_DIR:-$root/target}"/{release,debug}/perflab; do
    [ -z "$binary" ] && [ -x "$candidate" ] && binary=$candidate
done
if [ -z "$binary" ]; then
    echo "no perflab: cargo build --release, or PERFLAB=/path/to/perflab" >&2
    exit 1
fi
binary=$(realpath "$binary")
unset PERFLAB_GPUS

work=$(mktemp -d)
holders=()
end() {
    for pid in "${holders[@]:-}"; do [ -n "$pid" ] && kill "$pid" 2>/dev/null; done
    rm -rf "$work"
}
trap end EXIT
cd "$work" || exit 1
cp "$root"/tests/gpu/{hold.py,engine.sh,study.plab} . && ln -s "$binary" perflab

# json FILE EXPRESSION: a Python expression over the document `d`
json() { python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"; }
# journal EXPRESSION: over the list `j` of the journal's events, each {kind: {…}}
journal() {
    python3 -c 'import json,sys
j=[json.loads(l)["kind"] for l in open("state/journal.jsonl")]
print(eval(sys.argv[1]))' "$1"
}

if ! command -v python3 >/dev/null; then
    echo "python3 is needed" >&2
    exit 1
fi
"$binary" doctor --format json >doctor.json 2>doctor.err
cards=$(json doctor.json 'len([g for g in d["gpus"] if g["usable"]])' 2>/dev/null || echo 0)
if [ "$cards" = 0 ]; then
    echo "no NVIDIA card that can be used here: nothing of tests/gpu was tried"
    json doctor.json '"\n".join("  " + l["text"] for l in d["lines"] if l["topic"] == "gpus")' 2>/dev/null
    exit 77
fi

failed=0
rows=()
# row NAME CONDITION DETAIL
row() {
    local result=ok
    [ "$2" = yes ] || { result=FAILED failed=1; }
    rows+=("$(printf '%-7s %-46s %s' "$result" "$1" "$3")")
    printf '%s\n' "${rows[-1]}" >&2
}
yes_if() { if "$@" >/dev/null 2>&1; then echo yes; else echo no; fi; }
is() { [ "$(python3 -c "print(int(bool($1)))")" = 1 ] && echo yes || echo no; }
used() { "$binary" doctor --format json 2>/dev/null >now.json; json now.json 'next(g for g in d["gpus"] if g["usable"])["memory_used"] // 2**20'; }
exec_study() { "$binary" exec study.plab --dir state --events events.jsonl --format json "$@" >report.json 2>stderr.txt; }
# the same beside us; $perflab is its process, and none of a shell around it
start_study() {
    "$binary" exec study.plab --dir state --events events.jsonl --format json "$@" >report.json 2>stderr.txt &
    perflab=$!
}
wait_for_event() { for _ in $(seq 600); do grep -q "\"event\":\"$1\"" events.jsonl 2>/dev/null && return 0; sleep 0.1; done; return 1; }
hold() { rm -f held.txt; python3 hold.py "$@" >held.txt & holder=$!; holders+=("$holder"); for _ in $(seq 200); do grep -q held held.txt && return; sleep 0.1; done; }
uuid=$(json doctor.json 'next(g for g in d["gpus"] if g["usable"])["uuid"]')
hidden=$(json doctor.json 'any("hidden by a container" in l["text"] for l in d["lines"])')
idle=$(used)

part_1() {
    row "doctor names card and driver" "$(is "'$(json doctor.json 'd["driver"]')' != 'None'")" \
        "$(json doctor.json 'd["gpus"][0]["name"] + ", driver " + str(d["driver"])')"

    SECONDS=0
    exec_study --checks warn
    code=$?
    row "a study of four launches" "$(is "$code == 0")" "exit $code after $SECONDS s"
    row "every engine was given its GPU by UUID" \
        "$(is "$(grep -rl "GPUs: $uuid" state/trials | wc -l) >= 4")" "$uuid"
    peak=$(journal 'max(e["run"]["run"]["devices"]["gpus"][0]["memory_max"] for e in j if "run" in e and e["run"]["run"].get("devices")) // 2**20')
    row "samples see the memory that the engine holds" "$(is "$peak >= $idle + 4000")" "peak $peak MiB, idle $idle MiB"
    power=$(journal '[e["run"]["run"]["metrics"]["numbers"].get("gpu_power") for e in j if "run" in e]')
    row "power is sampled" "$(is "any(${power})")" "W: $power"
    row "energy is in the bill" "$(is "$(json report.json 'd["cost"]["energy_j"] or 0') > 0")" "$(json report.json 'd["cost"]["energy_j"]') J"
    row "clocks and foreign processes are checked" \
        "$(is "not $(json report.json 'any(c.startswith(("CLOCK", "GPU_FOREIGN")) for c in d["not_checked"])')")" ""
    row "out of memory is a finding, and the study goes on" \
        "$(json report.json '"yes" if any("out of GPU memory" in (t["reason"] or "") for t in d["trials"]) and d["complete"] else "no"')" \
        "$(json report.json '[t["outcome"] for t in d["trials"]]')"
    row "nothing of ours holds the GPU afterwards" "$(is "abs($(used) - $idle) <= 256")" "$(used) MiB"
    slow=$(journal 'max(e["gone"]["times"]["own_s"] for e in j if "gone" in e)')
    row "perflab's own time between launches <= 0.5 s" "$(is "$slow <= 0.5")" "$slow s at most"

    rm -rf state events.jsonl
    start_study --checks warn
    wait_for_event load
    kill -9 "$perflab"
    wait "$perflab" 2>/dev/null
    SECONDS=0
    for _ in $(seq 100); do [ "$(used)" -le $((idle + 256)) ] && break; sleep 0.1; done
    row "kill -9 of perflab frees the GPU" "$(is "$(used) <= $idle + 256")" "after $SECONDS s"
    exec_study --checks warn
    code=$?
    row "and the same command continues" "$(is "$code == 0")" "exit $code"

    sed 's/gpus     1/gpus     64/' study.plab >many.plab
    "$binary" exec many.plab --dir many >/dev/null 2>stderr.txt
    code=$?
    row "more GPUs than there are: nothing starts" "$(is "$code == 1")" "$(grep -m1 error stderr.txt)"
    CUDA_VISIBLE_DEVICES=63 "$binary" exec study.plab --dir other >/dev/null 2>stderr.txt
    code=$?
    row "CUDA_VISIBLE_DEVICES that names none" "$(is "$code == 1")" "$(grep -m1 error stderr.txt)"
}

# a study with these candidates; the launches that there are stay measured, so that only the last one is made
candidates() { sed "s/\[4000, 4000000\]/[$1]/; /axis worker/d; /step worker/d" "$root/tests/gpu/study.plab" >study.plab; }

part_2() {
    # sees the GPU before anybody else does: in a container others' memory cannot be told from idle memory later
    candidates 4000
    exec_study --checks warn
    code=$?
    row "a study of two launches" "$(is "$code == 0")" "exit $code"

    candidates "4000, 4001"
    hold 3000 15
    exec_study --checks warn
    code=$?
    waited=$(journal '[e["gone"]["times"]["drain_s"] for e in j if "gone" in e][-1]')
    row "somebody who leaves is waited for" "$(is "$code == 0 and $waited > 5")" "exit $code, waited $waited s"

    candidates "4000, 4001, 4002"
    if [ "$hidden" = True ]; then
        row "somebody under load refuses the result" yes "not tried: process ids are hidden here"
    else
        rm -f events.jsonl
        start_study
        wait_for_event load
        hold 1000 30
        wait "$perflab"
        row "somebody under load refuses the result" "$(yes_if grep -q 'another process ran on GPU' report.json)" \
            "$(json report.json '[t["reason"] for t in d["trials"]][-1]')"
        kill "$holder" 2>/dev/null
        wait "$holder" 2>/dev/null
    fi

    candidates "4000, 4001, 4002, 4003"
    rm -f events.jsonl
    hold 3000
    start_study --checks warn
    wait_for_event gpu_wait
    SECONDS=0
    kill -TERM "$perflab"
    wait "$perflab"
    code=$?
    row "a signal ends the wait" "$(is "$code == 75 and $SECONDS < 10")" "exit $code after $SECONDS s"

    SECONDS=0
    exec_study --checks warn
    code=$?
    row "somebody who stays ends the study after 120 s" "$(is "$code == 75 and 115 <= $SECONDS <= 140")" \
        "exit $code after $SECONDS s"
    if [ "$hidden" = True ]; then who="GiB more than before"; else who="$holder (.*user $(id -un)).*GiB"; fi
    row "and is named with user and amount" "$(yes_if grep -q "$who" stderr.txt)" "$(grep -m1 error stderr.txt)"
    row "and is left alone" "$(yes_if kill -0 "$holder")" "pid $holder"
    kill "$holder"
    wait "$holder" 2>/dev/null
    exec_study --checks warn
    code=$?
    row "and the same command continues without him" "$(is "$code == 0")" "exit $code"
}

"part_$part" || exit 1
printf '\npart %s on %s\n' "$part" "$(json doctor.json 'd["gpus"][0]["name"] + ", driver " + str(d["driver"])')"
printf '%s\n' "${rows[@]}"
exit $failed
