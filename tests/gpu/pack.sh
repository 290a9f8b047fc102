#!/usr/bin/env bash
# Fills a folder with what tests/gpu/run.sh needs on a machine with a GPU, beside a copy of the repository: the
# bundle, tests that run kernels in their own process, and the shared cases.
#
#   tests/gpu/pack.sh [FOLDER]     by default .gpu/bundle, which git should ignore: .git/info/exclude
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=${1:-.gpu/bundle}
cases=$(cd .. && pwd)/shared/cases
say() { printf '\033[1m[pack]\033[0m %s\n' "$*" >&2; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

deploy/bundle.sh --level 1 --output "$scratch/bundle.tar.zst" >/dev/null
tar -C "$scratch" --zstd -xf "$scratch/bundle.tar.zst"
bundle=$(echo "$scratch"/intent-*)

say "tests"
cmake --build --preset release --target differential_for_gpu conformance_for_gpu >&2
mkdir -p "$bundle/tests"
install -s build/gpu/{differential_test,conformance_test} "$bundle/tests/"
for program in "$bundle"/tests/*; do
  patchelf --force-rpath --set-rpath '$ORIGIN/../lib' "$program"
  if ldd "$program" | grep 'not found'; then exit 1; fi
done

# Three programs carry LLVM: a window that reaches from one to the next finds it again.
say "packing"
mkdir -p "$folder"
rm -f "$folder"/intent-*
tar -C "$scratch" -cf - "$(basename "$bundle")" | xz -T1 --lzma2=preset=2,dict=256MiB >"$folder/intent.tar.xz"

if [ -d "$cases" ]; then
  rm -rf "$folder/cases"
  cp -R "$cases" "$folder/cases"
  chmod -R u+w "$folder/cases"
  find "$folder/cases" -name __pycache__ -prune -exec rm -rf {} +
else
  say "no shared cases: ../shared/cases is not there"
fi
say "$folder: $(du -sh "$folder" | cut -f1)"
