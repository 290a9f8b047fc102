#include "compiler/tile/idle_memory.h"

#include <unordered_set>

#include "compiler/tile/places.h"

namespace intent::tile {
namespace {

bool IsAllocation(const Op& op) {
  return op.kind == OpKind::kAlloc || op.kind == OpKind::kStackAlloc;
}
bool OnlyWrites(const Op& op) { return op.kind == OpKind::kStore || op.kind == OpKind::kScatter; }

void NoteUsed(const Block& block, std::unordered_set<Id>* used) {
  for (const Op* op : block.ops) {
    for (size_t i = OnlyWrites(*op) ? 1 : 0; i < op->operands.size(); ++i)
      used->insert(op->operands[i]);
    for (const auto& region : op->regions) NoteUsed(*region, used);
  }
}

void RemoveUnused(const Program& program, const std::unordered_set<Id>& used, Block* block) {
  std::erase_if(block->ops, [&](const Op* op) {
    if (IsAllocation(*op)) return !used.contains(op->results[0]);
    if (!OnlyWrites(*op) || used.contains(op->operands[0])) return false;
    const Op* memory = program.definition(op->operands[0]);
    return memory != nullptr && IsAllocation(*memory);
  });
  for (Op* op : block->ops) {
    for (const auto& region : op->regions) RemoveUnused(program, used, region.get());
  }
}

struct Touched {
  Places read, written;

  void Merge(const Touched& other) {
    read.insert(other.read.begin(), other.read.end());
    written.insert(other.written.begin(), other.written.end());
  }
};

class FenceRemover {
 public:
  explicit FenceRemover(const Program& program) : program_(program) {}

  // Outside of tasks a fence is nothing.
  void Tasks(Block* block) {
    for (Op* op : block->ops) {
      for (const auto& region : op->regions) {
        if (op->kind == OpKind::kParallel) {
          Clean(region.get(), {}, /*task=*/true);
        } else {
          Tasks(region.get());
        }
      }
    }
  }

 private:
  // `before`: since the last fence. Returns the same at the end.
  Touched Clean(Block* block, Touched before, bool task) {
    std::vector<Op*> kept;
    for (size_t i = 0; i < block->ops.size(); ++i) {
      Op* op = block->ops[i];
      if (op->kind == OpKind::kFence) {
        const Touched behind = Behind(*block, i + 1, task);
        const bool separates = Meet(before.written, behind.written) ||
                               Meet(before.written, behind.read) ||
                               Meet(before.read, behind.written);
        if (!separates) continue;
        before = {};
      } else if (op->kind == OpKind::kIf) {
        Touched after;
        for (const auto& region : op->regions) after.Merge(Clean(region.get(), before, false));
        before = std::move(after);
      } else {
        // A loop's iteration begins after any other.
        Note(*op, &before);
        for (const auto& region : op->regions) Clean(region.get(), before, false);
      }
      kept.push_back(op);
    }
    block->ops = std::move(kept);
    return before;
  }

  // Up to the next fence of the block, or the end of the task.
  Touched Behind(const Block& block, size_t from, bool task) const {
    Touched behind;
    for (size_t i = from; i < block.ops.size(); ++i) {
      if (block.ops[i]->kind == OpKind::kFence) return behind;
      Note(*block.ops[i], &behind);
    }
    if (!task) behind = {{kAnywhere}, {kAnywhere}};
    return behind;
  }

  // With what is inside.
  void Note(const Op& op, Touched* touched) const {
    switch (op.kind) {
      case OpKind::kLoad:
      case OpKind::kGather:
        touched->read.merge(PlacesOf(program_, op.operands[0]));
        break;
      case OpKind::kStore:
      case OpKind::kScatter:
        touched->written.merge(PlacesOf(program_, op.operands[0]));
        break;
      case OpKind::kAtomicLoad:
      case OpKind::kAtomicStore:
      case OpKind::kAtomicRmw:
      case OpKind::kAtomicCas:
        // Others may see by it what was written before.
        touched->Merge({{kAnywhere}, {kAnywhere}});
        break;
      default:
        break;
    }
    for (const auto& region : op.regions) {
      for (const Op* inner : region->ops) Note(*inner, touched);
    }
  }

  const Program& program_;
};

}  // namespace

void RemoveUnreadMemory(Program* program) {
  std::unordered_set<Id> used;
  NoteUsed(program->body, &used);
  RemoveUnused(*program, used, &program->body);
}

void RemoveIdleFences(Program* program) { FenceRemover(*program).Tasks(&program->body); }

}  // namespace intent::tile
