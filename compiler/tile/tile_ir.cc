#include "compiler/tile/tile_ir.h"

namespace intent::tile {
namespace {

struct Info {
  std::string_view name;
  int regions;
};
constexpr Info kInfo[] = {
#define INTENT_TILE_OP(name, text, regions) {text, regions},
#include "compiler/tile/tile_ops.def"
#undef INTENT_TILE_OP
};

}  // namespace

std::string_view NameOf(OpKind kind) { return kInfo[static_cast<size_t>(kind)].name; }
int RegionsOf(OpKind kind) { return kInfo[static_cast<size_t>(kind)].regions; }

std::string Type::ToString() const {
  const std::string name(DTypeName(dtype));
  if (IsMem()) return "mem<" + name + ">";
  return lanes == 1 ? name : name + "x" + std::to_string(lanes);
}

Op* Program::NewOp(OpKind kind, std::vector<Id> operands, const std::vector<Type>& results) {
  ops_.emplace_back();
  Op* op = &ops_.back();
  op->kind = kind;
  op->operands = std::move(operands);
  AddResults(op, results);
  for (int i = 0; i < RegionsOf(kind); ++i) op->regions.push_back(std::make_unique<Block>());
  return op;
}

void Program::AddResults(Op* op, const std::vector<Type>& results) {
  for (const Type& type : results) {
    op->results.push_back(static_cast<Id>(types_.size()));
    types_.push_back(type);
    definitions_.push_back(op);
  }
}

Id Program::NewArgument(Block* block, Type type) {
  const Id id = static_cast<Id>(types_.size());
  types_.push_back(type);
  definitions_.push_back(nullptr);
  block->arguments.push_back(id);
  return id;
}

}  // namespace intent::tile
