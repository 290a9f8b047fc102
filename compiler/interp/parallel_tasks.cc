#include "compiler/interp/parallel_tasks.h"

#include <limits>

namespace intent::interp {
namespace {

// A vector's element with its share of the vector's spare room; an entry of a hash table.
template <typename T>
constexpr int64_t kElement = 2 * static_cast<int64_t>(sizeof(T));
constexpr int64_t kEntry = 64;

}  // namespace

ParallelTasks::ParallelTasks(MemoryBudget* budget) : budget_(budget) {
  tasks_.push_back({0, 0, 0, 0});
  stack_.push_back(0);
}

ParallelTasks::~ParallelTasks() { budget_->Give(taken_); }

bool ParallelTasks::Take(int64_t bytes) {
  if (!budget_->Take(bytes)) return false;
  taken_ += bytes;
  return true;
}

void ParallelTasks::Forget() {
  first_record_ += static_cast<uint32_t>(records_.size());
  if (first_record_ > std::numeric_limits<uint32_t>::max() / 2) {
    first_record_ = 1;
    ++generation_;
  }
  loops_.clear();
  records_.clear();
  tasks_.resize(1);
  location_of_.clear();
  locations_.clear();
  acquired_.clear();
  checked_task_ = 0;
  budget_->Give(taken_);
  taken_ = 0;
}

bool ParallelTasks::EnterLoop(const Domain& domain) {
  if (!Take(kElement<Loop> +
            kElement<Domain::Range> * static_cast<int64_t>(domain.ranges.size()))) {
    return false;
  }
  loop_stack_.push_back(static_cast<uint32_t>(loops_.size()));
  loops_.push_back({domain});
  return true;
}

bool ParallelTasks::BeginIteration(int64_t ordinal) {
  if (!Take(kElement<Task>) || tasks_.size() == std::numeric_limits<uint32_t>::max()) return false;
  if (stack_.size() > loop_stack_.size()) stack_.pop_back();
  const uint32_t parent = stack_.back();
  stack_.push_back(static_cast<uint32_t>(tasks_.size()));
  tasks_.push_back({parent, loop_stack_.back(), tasks_[parent].depth + 1, ordinal});
  checked_task_ = 0;
  return true;
}

void ParallelTasks::LeaveLoop() {
  if (stack_.size() > loop_stack_.size()) stack_.pop_back();
  loop_stack_.pop_back();
  checked_task_ = 0;
  if (loop_stack_.empty()) Forget();
}

bool ParallelTasks::BeginAccess(uint32_t ordinal) {
  const uint64_t next = uint64_t{first_record_} + records_.size();
  if (next >= std::numeric_limits<uint32_t>::max() || !Take(kElement<Record>)) return false;
  records_.push_back({stack_.back(), ordinal});
  return true;
}

std::optional<ParallelTasks::Fork> ParallelTasks::ForkOf(uint32_t record) const {
  uint32_t task = RecordOf(record).task, below = 0;
  while (tasks_[task].depth >= stack_.size() || stack_[tasks_[task].depth] != task) {
    below = task;
    task = tasks_[task].parent;
  }
  if (below == 0) return std::nullopt;  // an enclosing iteration, or the running one
  const uint32_t depth = tasks_[below].depth;
  if (depth >= stack_.size()) return std::nullopt;  // of an inner loop that has ended
  const uint32_t running = stack_[depth];
  if (tasks_[below].loop != tasks_[running].loop) return std::nullopt;  // loops one after another
  return Fork{below, running};
}

bool ParallelTasks::Unordered(uint32_t record) {
  if (!IsLive(record)) return false;
  const uint32_t task = RecordOf(record).task;
  if (task != checked_task_) {
    checked_task_ = task;
    checked_unordered_ = ForkOf(record).has_value();
  }
  return checked_unordered_ && !IsPublished(record);
}

std::optional<ParallelTasks::Conflict> ParallelTasks::Note(AccessKind kind,
                                                           AccessHistory* history) {
  const auto conflict = [&](uint32_t record, AccessKind earlier) -> std::optional<Conflict> {
    if (!Unordered(record)) return std::nullopt;
    const Fork fork = *ForkOf(record);
    return Conflict{RecordOf(record).ordinal, earlier, PlaceOf(fork.earlier),
                    PlaceOf(fork.running)};
  };
  const bool writes = kind == AccessKind::kWrite || kind == AccessKind::kAtomicWrite;
  const bool plain = kind == AccessKind::kRead || kind == AccessKind::kWrite;
  std::optional<Conflict> found = conflict(history->writer, AccessKind::kWrite);
  if (!found && plain) found = conflict(history->atomic_writer, AccessKind::kAtomicWrite);
  if (!found && writes) found = conflict(history->reader, AccessKind::kRead);
  if (!found && kind == AccessKind::kWrite) {
    found = conflict(history->atomic_reader, AccessKind::kAtomicRead);
  }
  if (found) return found;
  const uint32_t now = first_record_ + static_cast<uint32_t>(records_.size()) - 1;
  uint32_t* last = kind == AccessKind::kRead         ? &history->reader
                   : kind == AccessKind::kWrite      ? &history->writer
                   : kind == AccessKind::kAtomicRead ? &history->atomic_reader
                                                     : &history->atomic_writer;
  // An unordered access of a kind that does not conflict with itself stays: whatever comes after
  // this one and is unordered with it is unordered with that one too.
  if (kind == AccessKind::kWrite || !Unordered(*last)) *last = now;
  return std::nullopt;
}

bool ParallelTasks::Synchronize(const std::byte* address, bool acquires, bool releases) {
  if (!Inside() || !(acquires || releases)) return true;
  const auto [found, inserted] =
      location_of_.try_emplace(address, static_cast<uint32_t>(locations_.size()));
  if (inserted) {
    if (!Take(kEntry + kElement<Location>)) return false;
    locations_.emplace_back();
  }
  const uint32_t number = found->second;
  const uint32_t now = first_record_ + static_cast<uint32_t>(records_.size()) - 1;
  for (size_t level = 1; level < stack_.size(); ++level) {
    const uint32_t task = stack_[level];
    if (acquires) {
      if (!Take(kEntry)) return false;
      std::vector<uint32_t>& locations = acquired_[task];
      if (locations.empty() || locations.back() != number) locations.push_back(number);
    }
    if (releases) {
      Location& location = locations_[number];
      if (!Take(kEntry)) return false;
      location.released[task] = now;
      const auto acquired = acquired_.find(task);
      if (acquired == acquired_.end()) continue;
      for (uint32_t source : acquired->second) {
        if (source == number) continue;
        if (!location.sources.empty() && location.sources.back() == source) continue;
        if (!Take(kElement<uint32_t>)) return false;
        location.sources.push_back(source);
      }
    }
  }
  return true;
}

bool ParallelTasks::IsPublished(uint32_t record) const {
  if (locations_.empty()) return false;
  std::vector<uint32_t> open;
  std::vector<bool> seen(locations_.size());
  const auto add = [&](const std::vector<uint32_t>& locations) {
    for (uint32_t location : locations) {
      if (seen[location]) continue;
      seen[location] = true;
      open.push_back(location);
    }
  };
  for (uint32_t task : stack_) {
    if (const auto found = acquired_.find(task); found != acquired_.end()) add(found->second);
  }
  while (!open.empty()) {
    const Location& location = locations_[open.back()];
    open.pop_back();
    for (uint32_t task = RecordOf(record).task; task != 0; task = tasks_[task].parent) {
      const auto released = location.released.find(task);
      if (released != location.released.end() && released->second >= record) return true;
    }
    add(location.sources);
  }
  return false;
}

std::string ParallelTasks::PlaceOf(uint32_t task) const {
  const Domain& domain = loops_[tasks_[task].loop].domain;
  int64_t rest = tasks_[task].iteration;
  Shape coordinates(domain.ranges.size());
  for (size_t axis = coordinates.size(); axis-- > 0;) {
    const Domain::Range& range = domain.ranges[axis];
    coordinates[axis] = range.At(rest % range.Count());
    rest /= range.Count();
  }
  return ShapeText(coordinates);
}

}  // namespace intent::interp
