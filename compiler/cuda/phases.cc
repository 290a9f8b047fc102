// Outside of `parallel` the whole grid computes the same, and the first block acts. What one phase
// wrote the next reads after a barrier of the grid; nothing is overwritten while a slow block may
// still read it.

#include "absl/strings/str_cat.h"
#include "compiler/cuda/emitter.h"

namespace intent::cuda {

using tile::Block;
using tile::Meet;
using tile::Op;
using tile::OpKind;

void Touched::Merge(const Touched& other) {
  read.insert(other.read.begin(), other.read.end());
  written.insert(other.written.begin(), other.written.end());
  one_thread = one_thread && other.one_thread;
}

void Emitter::Collect(const Op& op, Touched* touched) const {
  const auto add = [&](tile::Places* places) {
    places->merge(tile::PlacesOf(program_, op.operands[0]));
  };
  switch (op.kind) {
    case OpKind::kLoad:
    case OpKind::kGather:
      add(&touched->read);
      break;
    case OpKind::kStore:
      if (IsTile(op.operands[2])) touched->one_thread = false;
      add(&touched->written);
      break;
    case OpKind::kScatter:
      touched->one_thread = false;
      add(&touched->written);
      break;
    case OpKind::kAtomicLoad:
    case OpKind::kAtomicStore:
    case OpKind::kAtomicRmw:
    case OpKind::kAtomicCas:
      add(&touched->read);
      add(&touched->written);
      touched->written.insert(Touched::kBroadcast);
      touched->one_thread = false;
      break;
    case OpKind::kParallel:
    case OpKind::kContract:
      touched->one_thread = false;
      break;
    default:
      break;
  }
  for (const auto& region : op.regions) {
    for (const Op* inner : region->ops) Collect(*inner, touched);
  }
}

void Emitter::Barrier() {
  (in_detour_ ? detour_barriers_ : barriers_) = true;
  Line("if (grid_barrier(args.barrier, failed)) return;");
  touched_ = {};
}

void Emitter::EnterPhase(const Op& op) {
  // Loops and branches: their own operations are met one by one.
  if (op.kind == OpKind::kFor || op.kind == OpKind::kWhile || op.kind == OpKind::kIf) return;
  Touched next;
  Collect(op, &next);
  const bool after_write =
      Meet(next.read, touched_.written) || Meet(next.written, touched_.written);
  const bool same_thread = next.one_thread && touched_.one_thread && next.read.empty();
  if (Meet(next.written, touched_.read) || (after_write && !same_thread)) Barrier();
  touched_.Merge(next);
}

// An iteration begins after any other, too.
void Emitter::EnterLoop(const std::vector<const Block*>& bodies) {
  Touched any;
  for (const Block* body : bodies) {
    for (const Op* op : body->ops) Collect(*op, &any);
  }
  touched_.Merge(any);
}

}  // namespace intent::cuda
