#include "compiler/interp/liveness.h"

namespace intent::interp {
namespace {

// A block on the path from the function's body to the operation being visited.
struct Level {
  const Block* block;
  const Op* op = nullptr;  // the current operation, and
  size_t next_op = 0;
  size_t next_region = 0;  // its first region not visited yet
};

bool IsLarge(const Type& type) { return type.IsTensor() || type.IsProduct() || type.IsBuffer(); }

}  // namespace

std::vector<std::vector<ValueId>> LastUses(const Function& function) {
  const size_t count = function.value_count();
  std::vector<size_t> depth_of(count, 0);  // of the defining block on the path
  std::vector<const Op*> last_use(count, nullptr);
  std::vector<Level> path{{&function.body}};
  while (!path.empty()) {
    Level& level = path.back();
    if (level.op != nullptr && level.next_region < level.op->regions.size()) {
      const Block* region = level.op->regions[level.next_region++].get();
      for (ValueId id : region->arguments) depth_of[id] = path.size();
      path.push_back({region});
      continue;
    }
    if (level.next_op == level.block->ops.size()) {
      path.pop_back();
      continue;
    }
    level.op = level.block->ops[level.next_op++];
    level.next_region = 0;
    depth_of[level.op->result] = path.size() - 1;
    last_use[level.op->result] = level.op;
    for (ValueId id : level.op->operands) last_use[id] = path[depth_of[id]].op;
  }
  std::vector<std::vector<ValueId>> released(count);
  for (ValueId id = 0; id < count; ++id) {
    const Op* op = last_use[id];
    if (op == nullptr || !IsLarge(function.type(id))) continue;
    if (InfoOf(op->kind).effect != Effect::kTerminator) released[op->result].push_back(id);
  }
  return released;
}

}  // namespace intent::interp
