#!/usr/bin/env bash
# Fills a folder with what tests/gpu/run.sh needs on a machine with a GPU, beside a copy of the repository.
#
#   tests/gpu/pack.sh [FOLDER]     by default .gpu/bundle, which git should ignore: .git/info/exclude
#
# The bundle, the shared cases, and random kernels compiled here (INTENT_SEEDS, by default 1:1001), so that the
# machine with the GPU need not.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=${1:-.gpu/bundle}
cases=$(cd .. && pwd)/shared/cases
seeds=${INTENT_SEEDS:-1:1001}
say() { printf '\033[1m[pack]\033[0m %s\n' "$*" >&2; }

mkdir -p "$folder"
say "the bundle"
rm -f "$folder"/intent-*
deploy/bundle.sh --level 2 --output "$folder/intent-bundle.tar.xz" >/dev/null

if [ -d "$cases" ]; then
  say "the shared cases"
  rm -rf "$folder/cases"
  cp -R "$cases" "$folder/cases"
  chmod -R u+w "$folder/cases"
  find "$folder/cases" -name __pycache__ -prune -exec rm -rf {} +
else
  say "no shared cases: ../shared/cases is not there"
fi

du -sh "$folder" | cut -f1 >&2
