#pragma once

// Test support: runs one tile program by the tile interpreter and by compiled code on equal data,
// and compares every byte of every view. Views lie inside larger allocations whose rest is
// compared too, so that a stray write shows.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/cpu/emit.h"
#include "compiler/cpu/loader.h"
#include "compiler/driver/intent_call.h"
#include "compiler/tile/tile_ir.h"

namespace intent::cpu {

// A serial runtime with a growing arena, and one whose parallel_for splits into uneven chunks on
// threads.
const intent_runtime& SerialRuntime();
const intent_runtime& ThreadedRuntime();

// Bytes that arenas hold right now, over all threads: 0 between calls.
int64_t ArenaBytesInUse();

// One view argument: a whole allocation, and the view's place in it.
struct ViewArgument {
  std::vector<uint8_t> allocation;
  int64_t offset = 0;  // of the element at coordinates 0, in elements
  std::vector<int64_t> extents;
  std::vector<int64_t> strides;
};

ViewArgument Contiguous(std::vector<uint8_t> bytes, int element_bytes);
template <typename T>
std::vector<uint8_t> BytesOf(const std::vector<T>& values) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
  return std::vector<uint8_t>(bytes, bytes + values.size() * sizeof(T));
}
template <typename T>
std::vector<T> ValuesOf(const std::vector<uint8_t>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::copy(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(values.size() * sizeof(T)),
            reinterpret_cast<uint8_t*>(values.data()));
  return values;
}

struct Outcome {
  int32_t status = 0;
  intent_error error = {};
  std::vector<std::vector<uint8_t>> allocations;  // one per view, after the call
};

std::unique_ptr<tile::Program> ParseOrDie(const std::string& text);
Outcome RunInterpreted(const tile::Program& program, const std::vector<ViewArgument>& views,
                       const std::vector<uint64_t>& scalars = {}, int32_t cancel = 0);
Outcome RunCompiled(const tile::Program& program, const std::vector<ViewArgument>& views,
                    const std::vector<uint64_t>& scalars = {}, const std::string& target = "native",
                    int opt_level = 2, const intent_runtime& runtime = SerialRuntime(),
                    int32_t cancel = 0);

// An object for this host, linked and loaded.
absl::StatusOr<std::unique_ptr<LoadedKernel>> LinkAndLoad(const CpuObject& object);

// The CPU targets that this host can run.
std::vector<std::string> RunnableTargets();

// Expects equal outcomes of the interpreter and of compiled code, for every runnable target and
// level.
void ExpectSame(const std::string& text, const std::vector<ViewArgument>& views,
                const std::vector<uint64_t>& scalars = {});

}  // namespace intent::cpu
