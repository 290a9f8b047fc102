#include "compiler/tile/fence_check.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compiler/tile/units.h"

namespace intent::tile {
namespace {

bool IsAtomic(const Op& op) {
  return op.kind == OpKind::kAtomicLoad || op.kind == OpKind::kAtomicStore ||
         op.kind == OpKind::kAtomicRmw || op.kind == OpKind::kAtomicCas;
}
bool Acquires(const Op& op) {
  return IsAtomic(op) && (op.order == MemoryOrder::kAcquire || op.order == MemoryOrder::kAcqRel);
}
bool Releases(const Op& op) {
  return IsAtomic(op) && (op.order == MemoryOrder::kRelease || op.order == MemoryOrder::kAcqRel);
}

// Memory that the emitter gives back after an iteration.
bool Allocates(const Block& block) {
  for (const Op* op : block.ops) {
    if (op->kind == OpKind::kAlloc) return true;
    if (op->kind != OpKind::kIf) continue;
    for (const auto& region : op->regions) {
      if (Allocates(*region)) return true;
    }
  }
  return false;
}

std::string Named(const Op& op) {
  return absl::StrCat(std::string(NameOf(op.kind)),
                      op.ordinal == kNoOrdinal ? "" : absl::StrCat(" @", op.ordinal));
}

}  // namespace

FenceChecker::Trace FenceChecker::History::Add(int64_t now, How how, Trace access, char left) {
  if (era != now) *this = {.era = now, .read = {}, .written = {}, .atomic = {}, .value = 0};
  Trace& own = how == How::kRead ? read : how == How::kWrite ? written : atomic;
  Trace conflict;
  for (const Trace* earlier : {&written, &atomic, &read}) {
    const bool harmless = earlier == &own && (how != How::kWrite || left == value);
    const bool ordered = earlier->actor == access.actor && access.actor != kSeveral;
    if (earlier->actor == kNobody || harmless || ordered) continue;
    conflict = *earlier;
    break;
  }
  const bool others = own.actor != kNobody && own.actor != access.actor;
  own = {others ? kSeveral : access.actor, access.op};
  if (how == How::kWrite) value = left;
  return conflict;
}

FenceChecker::FenceChecker(const Program& program, const intent_call* call, int block_threads)
    : program_(program), call_(call), block_threads_(block_threads), unit_threads_(block_threads) {}

void FenceChecker::Synchronise() {
  ++fence_era_;
  spread_ = {};
  acquire_ = {};
}

void FenceChecker::Begin(const Op& op, Tasks* level) {
  Synchronise();
  *level = {&op, level->era + 1, 0, unit_threads_};
  unit_threads_ =
      op.kind == OpKind::kContract ? 1 : UnitThreads(program_, *op.regions[0], block_threads_);
}

void FenceChecker::Reach(const Op& op) {
  const bool has_tasks = op.kind == OpKind::kParallel || op.kind == OpKind::kContract;
  if (!InTask()) {
    Synchronise();
    if (has_tasks) Begin(op, &outer_);
    return;
  }
  if (has_tasks) return Begin(op, &inner_);
  const bool block = unit_threads_ > kWarpThreads;
  switch (op.kind) {
    case OpKind::kFence:
      return Synchronise();
    case OpKind::kShuffle:
      if (unit_threads_ > 1) Synchronise();
      return;
    case OpKind::kExtractLane:
      if (block) Synchronise();
      return;
    case OpKind::kReduceLanes:
      if (block && program_.type(op.operands[0]).lanes > kWarpThreads) Synchronise();
      return;
    default:
      return;
  }
}

void FenceChecker::BeginTask(const Op& op) {
  Synchronise();
  ++(&op == inner_.op ? inner_ : outer_).task;
}

void FenceChecker::Joined(const Op& op) {
  Synchronise();
  Tasks& level = &op == inner_.op ? inner_ : outer_;
  level.op = nullptr;
  unit_threads_ = level.unit_threads;
}

void FenceChecker::EndIteration(const Op& loop) {
  if (std::any_of(loop.regions.begin(), loop.regions.end(),
                  [](const auto& body) { return Allocates(*body); })) {
    Synchronise();
  }
}

void FenceChecker::Allocate(const Op& op, const char* memory, int64_t bytes) {
  if (bytes <= 0) return;
  const auto begin = reinterpret_cast<uintptr_t>(memory),
             end = begin + static_cast<uintptr_t>(bytes);
  // What lay there is gone.
  auto after = memories_.lower_bound(end);
  while (after != memories_.begin() && std::prev(after)->second.end > begin)
    memories_.erase(std::prev(after));
  memories_[begin] = {end, &op, InTask()};
  if (static_cast<size_t>(bytes) > bytes_.size()) {
    std::erase_if(bytes_,
                  [&](const auto& byte) { return byte.first >= begin && byte.first < end; });
  } else {
    for (uintptr_t at = begin; at < end; ++at) bytes_.erase(at);
  }
}

const FenceChecker::Memory* FenceChecker::MemoryAt(uintptr_t address) const {
  const auto after = memories_.upper_bound(address);
  if (after == memories_.begin()) return nullptr;
  const Memory& memory = std::prev(after)->second;
  return address < memory.end ? &memory : nullptr;
}

void FenceChecker::Access(const Op& op, int32_t lane, int32_t lanes, const char* address,
                          int64_t bytes) {
  if (conflict_) return;
  const auto begin = reinterpret_cast<uintptr_t>(address);
  const Memory* memory = MemoryAt(begin);
  const bool shared = memory == nullptr || !memory->of_task;
  const bool atomic = IsAtomic(op);
  const How how = atomic                                                     ? How::kAtomic
                  : op.kind == OpKind::kStore || op.kind == OpKind::kScatter ? How::kWrite
                                                                             : How::kRead;
  // One of those that hold a lane writes it; all of them read it.
  const Holders holders = HoldersOf(lane, lanes, unit_threads_);
  const Trace thread = {how == How::kRead && !holders.only ? kSeveral : holders.first, &op};
  if (InTask() && shared) {
    if (Releases(op) && spread_.op != nullptr)
      return Report(spread_, thread, "threads", "no fence before the release", begin);
    if (acquire_.op != nullptr && thread.actor != 0)
      return Report(acquire_, thread, "threads", "no fence after the acquire", begin);
    if (thread.actor != 0) spread_ = thread;
    if (Acquires(op)) acquire_ = thread;
  }
  for (uintptr_t at = begin; at < begin + static_cast<uintptr_t>(bytes); ++at) {
    Byte& byte = bytes_[at];
    const char left = address[at - begin];
    const Trace before = byte.in_task.Add(fence_era_, how, thread, left);
    if (before.actor != kNobody) return Report(before, thread, "threads", "no fence between", at);
    const auto tasks_meet = [&](const Tasks& level, History* history) {
      const Trace task = {level.task, &op};
      const Trace other = history->Add(level.era, how, task, left);
      if (other.actor == kNobody) return false;
      Report(other, task, "tasks", absl::StrCat("of one ", std::string(NameOf(level.op->kind))),
             at);
      return true;
    };
    if (InTask() && shared && tasks_meet(outer_, &byte.in_parallel)) return;
    if (inner_.op != nullptr && tasks_meet(inner_, &byte.in_inner)) return;
  }
  // The old element travels to all threads through shared memory.
  if (atomic && op.kind != OpKind::kAtomicStore && unit_threads_ > kWarpThreads) Synchronise();
}

std::string FenceChecker::Place(uintptr_t address) const {
  if (const Memory* memory = MemoryAt(address)) {
    const auto begin = std::prev(memories_.upper_bound(address))->first;
    return absl::StrCat("byte ", address - begin, " of ", Named(*memory->op));
  }
  for (size_t i = 0; i < program_.views.size(); ++i) {
    const intent_view& view = call_->views[i];
    const auto data = reinterpret_cast<uintptr_t>(view.data);
    if (address >= data + static_cast<uintptr_t>(view.low) &&
        address < data + static_cast<uintptr_t>(view.high)) {
      return absl::StrCat("byte ", static_cast<int64_t>(address - data), " of view ", i);
    }
  }
  return "memory of nobody";
}

void FenceChecker::Report(const Trace& earlier, const Trace& access, const std::string& actors,
                          const std::string& missing, uintptr_t address) {
  const auto who = [&](const Trace& trace) {
    return absl::StrCat(Named(*trace.op), " by ",
                        trace.actor == kSeveral ? "several" : absl::StrCat("number ", trace.actor));
  };
  conflict_ = absl::StrCat("race of ", actors, ", ", missing, ": ", who(earlier), ", then ",
                           who(access), ", at ", Place(address));
}

}  // namespace intent::tile
