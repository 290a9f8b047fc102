#!/usr/bin/env bash
# Installs what is needed, builds and runs every test. The last line is 'N passed, N failed'; the
# exit status is 0 only when none failed.
#
#   tests/run.sh                   everything
#   tests/run.sh --sanitize asan   C++ tests and shared cases under a sanitizer: asan, ubsan or tsan
#
# Binaries of a release lie in build/bin. The service tests make workers fail on purpose, which only
# a daemon with failpoints does: build/failpoints/bin. Results lie in build/results.
set -uo pipefail
cd "$(dirname "$0")/.."

cases=$(cd .. && pwd)/shared/cases
python=build/venv/bin/python
jobs=$(nproc)
started=$SECONDS

say() { printf '\n\033[1m== [%d:%02d] %s\033[0m\n' $(((SECONDS - started) / 60)) $(((SECONDS - started) % 60)) "$*"; }

# What everything after it needs.
must() {
  "$@" && return
  say "failed: $*"
  echo "0 passed, 1 failed"
  exit 1
}

build() { # preset, targets...
  local preset=$1
  shift
  say "Building: preset $preset"
  must cmake --preset "$preset" -Wno-dev
  must cmake --build --preset "$preset" --parallel "$jobs" ${1:+--target "$@"}
}

# Runs a suite; summarise.py finds its status beside its results.
suite() { # name, command...
  local name=$1
  shift
  say "$name"
  "$@"
  echo $? >"$results/$name.status"
}

unit_tests() { # folder of a build, arguments of ctest...
  local folder=$1
  shift
  mkdir -p "$results/unit"
  GTEST_OUTPUT=xml:$results/unit/ GTEST_BRIEF=1 ctest --test-dir "$folder" --output-on-failure \
    --parallel "$jobs" --output-junit "$results/ctest.xml" "$@"
}

shared_cases() { # folder of a build
  local target
  if [ ! -d "$cases" ]; then
    say "SKIPPED: the shared acceptance cases, because ../shared/cases is not there"
    return
  fi
  for target in interp cpu; do
    suite "cases-$target" env INTENT_BUILD="$1" "$python" tests/shared_cases.py --cases "$cases" \
      --target "$target" --junit "$results/cases-$target.xml"
  done
}

finish() {
  say "Results"
  "$python" tests/summarise.py "$results"
  exit
}

everything() {
  build release
  # The service tests have a suite of their own, on binaries that can be made to fail.
  suite unit unit_tests build --exclude-regex '^service_test$'
  suite python "$python" -m pytest client/python/tests -q --junitxml="$results/python.xml"
  suite service env INTENT_BUILD=build "$python" -m pytest tests -q \
    --junitxml="$results/service.xml"
  shared_cases build
  suite demo ./deploy/demo.sh
}

sanitized() { # preset
  build "$1" intent_tests intent-compiled intent-worker intentc intent_proto_python
  # What LLVM and gRPC allocate for the life of a process is no leak of ours to find here.
  export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
  suite unit unit_tests "build/$1"
  if [ -d build/python/intent ]; then
    shared_cases "build/$1"
  else
    say "SKIPPED: the shared acceptance cases, because the Python package is not built (preset release)"
  fi
}

say "Installing what is missing"
must ./deploy/install-deps.sh
case "${1:-}" in
  "")
    results=$PWD/build/results
    rm -rf "$results" && mkdir -p "$results"
    everything
    ;;
  --sanitize)
    results=$PWD/build/results-${2:?asan, ubsan or tsan}
    rm -rf "$results" && mkdir -p "$results"
    sanitized "$2"
    ;;
  *)
    sed -n '2,9p' "$0"
    exit 2
    ;;
esac
finish
