#!/usr/bin/env bash
# Kills perflab at many random instants of a small simulated study, resumes it, and looks what was lost: bash tests/kill/run.sh [KILLS] [SEED]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
PERFLAB_KILLS=${1:-200} PERFLAB_KILL_SEED=${2:-$RANDOM} exec cargo test --test perflab -- --nocapture killed_at_random_instants
