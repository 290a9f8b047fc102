#include "tests/support/fake_cuda/fake_kernels.h"

#include <cstring>
#include <map>

#include "compiler/driver/intent_call.h"

namespace fake_cuda {
namespace {

constexpr int kSuccess = 0, kIllegalAddress = 700;
// A view of rank 1: address, extent, stride, first and last byte.
constexpr size_t kVectorWords = 5;
constexpr size_t kTrailingWords = 6;

// The trailing words of a launch.
struct Trailing {
  intent_error* error;
  uint32_t* barrier;
  char* scratch;
  uint64_t scratch_bytes;
  char* block_scratch;
  uint64_t block_scratch_bytes;
};
Trailing TrailingOf(const Launch& launch) {
  const uint64_t* last = launch.words.data() + launch.words.size() - kTrailingWords;
  return {reinterpret_cast<intent_error*>(last[0]), reinterpret_cast<uint32_t*>(last[1]),
          reinterpret_cast<char*>(last[2]),         last[3],
          reinterpret_cast<char*>(last[4]),         last[5]};
}

template <typename T>
T& At(const Launch& launch, size_t view, int64_t index) {
  const uint64_t* words = launch.words.data() + view * kVectorWords;
  return reinterpret_cast<T*>(words[0])[index * static_cast<int64_t>(words[2])];
}
int64_t Extent(const Launch& launch, size_t view) {
  return static_cast<int64_t>(launch.words[view * kVectorWords + 1]);
}

// y = x + 1 on f32 vectors.
int AddOne(const Launch& launch) {
  for (int64_t i = 0; i < Extent(launch, 0); ++i) {
    At<float>(launch, 1, i) = At<float>(launch, 0, i) + 1.0f;
  }
  return kSuccess;
}

// As a guard does that stops index 12 of axis 0 of the first view.
int OutOfBounds(const Launch& launch) {
  *TrailingOf(launch).error = {INTENT_OUT_OF_BOUNDS, 3, 0, 0, 12, 10};
  return kSuccess;
}

// Faults when the first element is negative, else as AddOne.
int FaultIfNegative(const Launch& launch) {
  return Extent(launch, 0) > 0 && At<float>(launch, 0, 0) < 0 ? kIllegalAddress : AddOne(launch);
}

int IllegalAddress(const Launch&) { return kIllegalAddress; }

// Runs until its process ends.
int Endless(const Launch&) { return kRunning; }

// What it was launched with, into a vector of 12 i64.
int Report(const Launch& launch) {
  const Trailing trailing = TrailingOf(launch);
  const int64_t facts[] = {launch.grid[0],
                           launch.grid[1],
                           launch.grid[2],
                           launch.block[0],
                           launch.block[1],
                           launch.block[2],
                           launch.shared_bytes,
                           launch.cooperative,
                           reinterpret_cast<int64_t>(trailing.barrier),
                           reinterpret_cast<int64_t>(trailing.scratch),
                           reinterpret_cast<int64_t>(trailing.block_scratch),
                           static_cast<int64_t>(trailing.block_scratch_bytes)};
  for (int64_t i = 0; i < Extent(launch, 0) && i < 12; ++i) At<int64_t>(launch, 0, i) = facts[i];
  return kSuccess;
}

// Fills all of its scratch memory; the launch's own ends where the blocks' begins. The vector gets
// how often the barrier's first counter had been raised before, and the first byte of scratch.
int UseScratch(const Launch& launch) {
  const Trailing trailing = TrailingOf(launch);
  At<int64_t>(launch, 0, 0) = trailing.barrier == nullptr ? -1 : trailing.barrier[0]++;
  At<int64_t>(launch, 0, 1) = trailing.scratch == nullptr ? -1 : trailing.scratch[0];
  if (trailing.scratch != nullptr) {
    std::memset(trailing.scratch, 0x5a, trailing.scratch_bytes);
  }
  if (trailing.block_scratch != nullptr) {
    std::memset(trailing.block_scratch, 0x5a, trailing.block_scratch_bytes * launch.grid[0]);
  }
  return kSuccess;
}

const std::map<std::string, Kernel>& Table() {
  static const auto* const kTable = new std::map<std::string, Kernel>{
      {"add_one", {2 * kVectorWords + kTrailingWords, AddOne}},
      {"out_of_bounds", {2 * kVectorWords + kTrailingWords, OutOfBounds}},
      {"fault_if_negative", {2 * kVectorWords + kTrailingWords, FaultIfNegative}},
      {"illegal_address", {2 * kVectorWords + kTrailingWords, IllegalAddress}},
      {"endless", {2 * kVectorWords + kTrailingWords, Endless}},
      {"report", {kVectorWords + kTrailingWords, Report}},
      {"use_scratch", {kVectorWords + kTrailingWords, UseScratch}},
  };
  return *kTable;
}

}  // namespace

std::optional<Kernel> FindKernel(const std::string& name) {
  const auto found = Table().find(name);
  if (found == Table().end()) return std::nullopt;
  return found->second;
}

}  // namespace fake_cuda
