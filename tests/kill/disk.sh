#!/usr/bin/env bash
# Lets the disk of a small simulated study be full at each of its writes, once for every write, and resumes it: bash tests/kill/disk.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
PERFLAB_EVERY_WRITE=1 exec cargo test --test perflab -- --nocapture full_at_any_single_write
