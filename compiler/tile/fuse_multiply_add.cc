#include "compiler/tile/fuse_multiply_add.h"

#include <vector>

namespace intent::tile {
namespace {

// The multiplication that defines a value, if fusing it is allowed.
const Op* ProductOf(const Program& program, Id id) {
  const Op* op = program.definition(id);
  if (op == nullptr || op->kind != OpKind::kBinary || op->binary != BinaryKind::kMul ||
      op->rounds) {
    return nullptr;
  }
  return op;
}

class Fuser {
 public:
  explicit Fuser(Program* program) : program_(program) {}

  void Run(Block* block) {
    std::vector<Op*> ops;
    ops.swap(block->ops);
    for (Op* op : ops) {
      for (auto& region : op->regions) Run(region.get());
      Fuse(op, block);
      block->ops.push_back(op);
    }
  }

 private:
  void Fuse(Op* op, Block* block) {
    if (op->kind != OpKind::kBinary || op->rounds) return;
    if (op->binary != BinaryKind::kAdd && op->binary != BinaryKind::kSub) return;
    const DType dtype = program_->type(op->results[0]).dtype;
    if (dtype != DType::kF32 && dtype != DType::kF64) return;
    const bool subtract = op->binary == BinaryKind::kSub;
    const Op* product = ProductOf(*program_, op->operands[0]);
    const bool left = product != nullptr;
    if (!left) product = ProductOf(*program_, op->operands[1]);
    if (product == nullptr) return;
    Id a = product->operands[0];
    Id c = op->operands[left ? 1 : 0];
    if (subtract && left) c = Negate(c, op, block);
    if (subtract && !left) a = Negate(a, op, block);
    op->kind = OpKind::kFma;
    op->operands = {a, product->operands[1], c};
  }

  Id Negate(Id id, const Op* user, Block* block) {
    Op* op = program_->NewOp(OpKind::kUnary, {id}, {program_->type(id)});
    op->unary = UnaryKind::kNegate;
    op->ordinal = user->ordinal;
    block->ops.push_back(op);
    return op->results[0];
  }

  Program* program_;
};

}  // namespace

void FuseMultiplyAdd(Program* program) { Fuser(program).Run(&program->body); }

}  // namespace intent::tile
