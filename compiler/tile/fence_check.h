#pragma once

// Finds the fences that a tile program for units of many threads lacks (docs/decisions/0013). It
// looks on while the tile interpreter runs the program, gives every access to the threads that
// would make it on the device, and notes conflicts:
//
//   inside a task    a thread reads what another wrote, or overwrites what another wrote or read,
//                    without a fence between; a release, or what follows an acquire, without one;
//   between tasks    one writes what another accesses, atomics apart, and likewise between tasks of
//                    a task. Of a `contract` every element and every store is a task: some threads
//                    compute elements while others store sums;
//   outside          two threads write the same element in one operation. All else there the
//                    emitter separates by barriers of the grid (compiler/cuda/phases.cc).
//
// Writes of equal bytes do not conflict with each other.
//
// Only what a run touches is checked. A unit of one thread has no races. Beside `fence`, these
// synchronise because the emitter makes them: the end of a loop's iteration whose bodies allocate,
// in units of a block the operations that pass values through shared memory, and both ends of an
// operation with tasks. Where the emitter fences on account of where it placed a static slot, the
// checker does not: a program is right wherever slots lie.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "compiler/driver/intent_call.h"
#include "compiler/tile/interp_observer.h"
#include "compiler/tile/tile_ir.h"

namespace intent::tile {

// Looks on at one call. Not thread-safe.
class FenceChecker : public InterpObserver {
 public:
  // The program was lowered for blocks of so many threads. Both arguments outlive the checker.
  FenceChecker(const Program& program, const intent_call* call, int block_threads);

  // The first conflict, in words: both operations with their ordinals, the threads or tasks and
  // the memory. Nullopt: none.
  const std::optional<std::string>& conflict() const { return conflict_; }

  void Reach(const Op& op) override;
  void Access(const Op& op, int32_t lane, int32_t lanes, const char* address,
              int64_t bytes) override;
  void Allocate(const Op& op, const char* memory, int64_t bytes) override;
  void EndIteration(const Op& loop) override;
  void BeginTask(const Op& op) override;
  void Joined(const Op& op) override;

 private:
  // Who accesses: a thread or a task, or several that do the same.
  using Actor = int64_t;
  static constexpr Actor kNobody = -1, kSeveral = -2;
  enum class How : uint8_t { kRead, kWrite, kAtomic };
  struct Trace {
    Actor actor = kNobody;
    const Op* op = nullptr;
  };
  // What happened to a byte in one era: between two fences, or in one operation with tasks.
  struct History {
    int64_t era = -1;
    Trace read, written, atomic;
    char value = 0;  // that was written
    // Notes an access that left the byte with a value. The earlier one that it conflicts with; of
    // nobody if there is none.
    Trace Add(int64_t now, How how, Trace access, char left);
  };
  struct Byte {
    History in_task, in_inner, in_parallel;
  };
  struct Memory {
    uintptr_t end = 0;
    const Op* op = nullptr;
    bool of_task = false;
  };

  // An operation whose tasks run.
  struct Tasks {
    const Op* op = nullptr;
    int64_t era = 0;
    Actor task = 0;
    int unit_threads = 0;  // before it
  };

  bool InTask() const { return outer_.op != nullptr; }
  void Begin(const Op& op, Tasks* level);
  void Synchronise();
  const Memory* MemoryAt(uintptr_t address) const;
  std::string Place(uintptr_t address) const;
  void Report(const Trace& earlier, const Trace& access, const std::string& actors,
              const std::string& missing, uintptr_t address);

  const Program& program_;
  const intent_call* call_;
  const int block_threads_;
  std::optional<std::string> conflict_;
  Tasks outer_, inner_;  // the second inside a task of the first
  int unit_threads_;
  int64_t fence_era_ = 0;
  // Since the last fence, in memory that other tasks see: an access by others than the first
  // thread, and an acquire.
  Trace spread_, acquire_;
  std::map<uintptr_t, Memory> memories_;  // what was allocated, by where it begins
  std::unordered_map<uintptr_t, Byte> bytes_;
};

}  // namespace intent::tile
