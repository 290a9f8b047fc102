#!/usr/bin/env bash
# Runs the GPU's tests on a machine that has one; tests/gpu/run.py says how.
exec python3 -B "$(dirname "$0")/run.py" "$@"
