#include "compiler/tile/statistics.h"

#include <algorithm>
#include <vector>

namespace intent::tile {
namespace {

bool IsProduct(const Program& program, Id id) {
  const Op* op = program.definition(id);
  return op != nullptr && op->kind == OpKind::kBinary && op->binary == BinaryKind::kMul;
}

void CountSum(const Program& program, const Op& op, Statistics* statistics) {
  if (op.binary != BinaryKind::kAdd && op.binary != BinaryKind::kSub) return;
  const DType dtype = program.type(op.results[0]).dtype;
  if (!IsFloat(dtype)) return;
  for (Id operand : op.operands) {
    if (!IsProduct(program, operand)) continue;
    if (op.rounds || program.definition(operand)->rounds) {
      ++statistics->bound_to_round;
    } else if (dtype == DType::kF32 || dtype == DType::kF64) {
      ++statistics->separate;
    } else {
      ++statistics->narrow;
    }
  }
}

// Bytes of `count` elements, if that is a constant.
void CountScratch(const Program& program, const Op& op, Statistics* statistics) {
  ++statistics->allocations;
  const Op* count = program.definition(op.operands[0]);
  if (count == nullptr || count->kind != OpKind::kConst) {
    ++statistics->unknown_sizes;
    return;
  }
  statistics->fixed_bytes +=
      static_cast<int64_t>(count->constant.bits) * StorageBytes(program.type(op.results[0]).dtype);
}

void CountOp(const Program& program, const Op& op, Statistics* statistics) {
  for (Id result : op.results) {
    if (!program.type(result).IsMem()) {
      statistics->most_lanes = std::max(statistics->most_lanes, program.type(result).lanes);
    }
  }
  if (op.kind == OpKind::kFor || op.kind == OpKind::kWhile) ++statistics->loops;
  if (op.kind == OpKind::kParallel) ++statistics->parallel_loops;
  if (op.kind == OpKind::kGuard) ++statistics->guards;
  if (op.kind == OpKind::kFma) ++statistics->fused;
  if (op.kind == OpKind::kBinary) CountSum(program, op, statistics);
  if (op.kind == OpKind::kAlloc) CountScratch(program, op, statistics);
  if (op.kind == OpKind::kStackAlloc) {
    statistics->stack_bytes += op.index * StorageBytes(program.type(op.results[0]).dtype);
  }
}

}  // namespace

Statistics StatisticsOf(const Program& program) {
  Statistics statistics;
  std::vector<const Block*> blocks{&program.body};
  while (!blocks.empty()) {
    const Block* block = blocks.back();
    blocks.pop_back();
    for (const Op* op : block->ops) {
      CountOp(program, *op, &statistics);
      for (const auto& region : op->regions) blocks.push_back(region.get());
    }
  }
  return statistics;
}

}  // namespace intent::tile
