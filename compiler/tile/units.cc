#include "compiler/tile/units.h"

#include <algorithm>

namespace intent::tile {

int32_t MostLanes(const Program& program, const Block& block) {
  int32_t most = 1;
  for (const Op* op : block.ops) {
    for (const std::vector<Id>* ids : {&op->results, &op->operands}) {
      for (Id id : *ids) {
        if (!program.type(id).IsMem()) most = std::max(most, program.type(id).lanes);
      }
    }
    for (const auto& region : op->regions) most = std::max(most, MostLanes(program, *region));
  }
  return most;
}

namespace {

// A matrix product, or tasks of the task.
bool NeedsBlock(const Block& block) {
  return std::any_of(block.ops.begin(), block.ops.end(), [](const Op* op) {
    return op->kind == OpKind::kContract || op->kind == OpKind::kParallel ||
           std::any_of(op->regions.begin(), op->regions.end(),
                       [](const auto& region) { return NeedsBlock(*region); });
  });
}

}  // namespace

int UnitThreads(const Program& program, const Block& body, int block_threads) {
  if (NeedsBlock(body)) return block_threads;
  const int32_t lanes = MostLanes(program, body);
  return lanes == 1 ? 1 : lanes <= kMostWarpLanes ? kWarpThreads : block_threads;
}

}  // namespace intent::tile
