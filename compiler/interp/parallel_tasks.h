#pragma once

// Which iterations of parallel loops are unordered (seed 000 chapters 10 and 11), while the
// interpreter runs them one after another.
//
// Each iteration is a task; its parent is the task that runs its loop. Two accesses are unordered
// if their tasks lie below different iterations of one loop. Programs of nested loops are series-
// parallel and run depth first here, so one earlier access of each kind per cell finds a race if
// the cell has one: being unordered carries over from the access that is kept to those that follow
// it.
//
// Atomic operations with release and acquire order what is before the one and after the other. That
// is tracked by location: an iteration that acquires is ordered after everything that its releasers
// did before their last release there. This may take too much as ordered, never too little, so what
// is reported is a race.
//
// When the outermost loop ends, all of it is forgotten: what follows is ordered after it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/interp/shadow_memory.h"
#include "compiler/interp/value.h"

namespace intent::interp {

enum class AccessKind : uint8_t { kRead, kWrite, kAtomicRead, kAtomicWrite };

class ParallelTasks {
 public:
  explicit ParallelTasks(MemoryBudget* budget);
  ~ParallelTasks();
  ParallelTasks(const ParallelTasks&) = delete;
  ParallelTasks& operator=(const ParallelTasks&) = delete;

  // A loop of the running task; its iterations by row-major ordinal, in increasing order. False:
  // beyond the budget.
  bool EnterLoop(const Domain& domain);
  bool BeginIteration(int64_t ordinal);
  void LeaveLoop();

  // True while a parallel loop runs. Otherwise no access can race.
  bool Inside() const { return stack_.size() > 1; }
  uint32_t generation() const { return generation_; }

  // The operation whose accesses Note takes next. False: beyond the budget.
  bool BeginAccess(uint32_t ordinal);

  struct Conflict {
    uint32_t earlier;  // ordinal of the other operation
    AccessKind earlier_kind;
    std::string earlier_place, place;  // coordinates of the two iterations: "[3]"
  };
  // Enters an access of the running task, or says what it conflicts with.
  std::optional<Conflict> Note(AccessKind kind, AccessHistory* history);

  // An atomic operation of the running task on the element at `address`. False: beyond the budget.
  bool Synchronize(const std::byte* address, bool acquires, bool releases);

 private:
  struct Loop {
    Domain domain;
  };
  struct Task {
    uint32_t parent, loop, depth;
    int64_t iteration;
  };
  struct Record {
    uint32_t task, ordinal;
  };
  // What synchronises at one location.
  struct Location {
    std::unordered_map<uint32_t, uint32_t> released;  // by task: its last record before
    std::vector<uint32_t> sources;                    // locations that releasers had acquired
  };

  bool Take(int64_t bytes);
  void Forget();
  bool IsLive(uint32_t record) const { return record >= first_record_; }
  const Record& RecordOf(uint32_t number) const { return records_[number - first_record_]; }
  // The unordered pair of iterations above an earlier record and the running task, if there is one.
  struct Fork {
    uint32_t earlier, running;  // tasks of one loop
  };
  std::optional<Fork> ForkOf(uint32_t record) const;
  bool Unordered(uint32_t record);
  bool IsPublished(uint32_t record) const;
  std::string PlaceOf(uint32_t task) const;

  MemoryBudget* budget_;
  int64_t taken_ = 0;
  uint32_t generation_ = 1;
  uint32_t first_record_ = 1;
  std::vector<Loop> loops_;
  std::vector<Task> tasks_;
  std::vector<Record> records_;
  std::vector<uint32_t> stack_;       // running tasks, outermost first; [0] is the kernel
  std::vector<uint32_t> loop_stack_;  // loops that run
  uint32_t checked_task_ = 0;         // the answer for this task, and
  bool checked_unordered_ = false;    // whether the running task is unordered with it
  std::unordered_map<const std::byte*, uint32_t> location_of_;
  std::vector<Location> locations_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> acquired_;  // locations by task
};

}  // namespace intent::interp
