#!/usr/bin/env bash
# Installs what is needed, builds and runs every test. The last line is 'N passed, N failed'; the
# exit status is 0 only when none failed.
#
#   tests/run.sh                         everything, with the core, the cache and the shared cases
#                                        a second time under sanitizers
#   tests/run.sh --sanitize [PRESET]     every C++ test and the shared cases under sanitizers, by the
#                                        preset sanitize (address and undefined), asan, ubsan or tsan
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
  cmake --preset "$preset" -Wno-dev &&
    cmake --build --preset "$preset" --parallel "$jobs" ${1:+--target "$@"}
}

# Runs a suite; summarise.py finds its status beside its results.
suite() { # name, command...
  local name=$1 status
  shift
  say "$name"
  "$@"
  status=$?
  echo $status >"$results/$name.status"
  return $status
}

unit_tests() { # suite, folder of a build, arguments of ctest...
  local name=$1 folder=$2
  shift 2
  mkdir -p "$results/$name"
  suite "$name" env GTEST_OUTPUT="xml:$results/$name/" GTEST_BRIEF=1 ctest --test-dir "$folder" \
    --output-on-failure --parallel "$jobs" --output-junit "$results/$name.ctest.xml" "$@"
}

shared_cases() { # prefix of the suites, folder of a build, regex, ways of running (target:execute)...
  local prefix=$1 folder=$2 only=$3 way
  shift 3
  if [ ! -d "$cases" ]; then
    say "SKIPPED: the shared acceptance cases, because ../shared/cases is not there"
    return
  fi
  for way; do
    suite "$prefix-${way//:/-}" env INTENT_BUILD="$folder" "$python" tests/shared_cases.py --only "$only" \
      --cases "$cases" --target "${way%:*}" --execute "${way##*:}" --junit "$results/$prefix-${way//:/-}.xml"
  done
}

finish() {
  say "Results"
  "$python" tests/summarise.py "$results"
  exit
}

everything() {
  must build release
  # The service tests have a suite of their own, with reports by test.
  unit_tests unit build --exclude-regex '^service_test$'
  suite python "$python" -m pytest client/python/tests -q --junitxml="$results/python.xml"
  suite service env INTENT_BUILD=build "$python" -m pytest tests -q \
    --junitxml="$results/service.xml"
  shared_cases cases build . interp:remote cpu:remote cpu:local
  # The software GPU (tests/support/software_gpu) would take minutes for large ones.
  INTENT_NVRTC=$PWD/build/software_gpu LD_LIBRARY_PATH=$PWD/build/fake_cuda \
    shared_cases cases build '^(?!large)' cuda:sm_90a:remote
  suite demo ./deploy/demo.sh
}

# What reads untrusted bytes or gives programs their meaning.
core='^(arithmetic|builder|cache_.*|canonical_key|cast|float_.*|interp_.*|ir_.*|kir|runtime|tile_.*|verify_.*|wire)_test$'

sanitized() { # preset, tests (a regular expression)
  local preset=$1 tests=$2 names
  # What LLVM and gRPC allocate for the life of a process is no leak to find here.
  export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
  cmake --preset "$preset" -Wno-dev >"$results/$preset.log"
  names=$(ctest --test-dir "build/$preset" -N --tests-regex "$tests" --exclude-regex '^service_test$' |
    sed -n 's/^ *Test *#[0-9]*: //p')
  suite "$preset-build" build "$preset" $names intent-compiled intent-worker intent_proto_python ||
    return
  unit_tests "$preset-unit" "build/$preset" --tests-regex "$tests" --exclude-regex '^service_test$'
  # Instrumented is what the daemon runs, not this Python's own process.
  shared_cases "$preset-cases" "build/$preset" . interp:remote cpu:remote
}

say "Installing what is missing"
must ./deploy/install-deps.sh --bundle
# The NVRTC that came from PyPI, where the machine has none.
for folder in "$PWD"/build/venv/lib/python3*/site-packages/nvidia/cu13/lib; do
  if [ -d "$folder" ]; then export INTENT_NVRTC=${INTENT_NVRTC:-$folder}; fi
done
results=$PWD/build/results
rm -rf "$results" && mkdir -p "$results"
case "${1:-}" in
  "")
    everything
    sanitized sanitize "$core"
    ;;
  --sanitize)
    must build release intent_python
    sanitized "${2:-sanitize}" .
    ;;
  *)
    sed -n '2,12p' "$0"
    exit 2
    ;;
esac
finish
