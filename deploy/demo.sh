#!/usr/bin/env bash
# The demo: installs what is needed, builds, and classifies handwritten digits with kernels that a
# daemon compiles. See deploy/demo/main.py.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\n\033[1m== %s\033[0m\n' "$*"; }

say "Installing what is missing"
./deploy/install-deps.sh

say "Building (build/bin)"
cmake --preset release -Wno-dev >build/demo-configure.log 2>&1 || { cat build/demo-configure.log; exit 1; }
cmake --build --preset release --target intent-compiled intent-worker intent_python

exec build/venv/bin/python deploy/demo/main.py
