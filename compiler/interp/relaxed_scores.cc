#include "compiler/interp/relaxed_scores.h"

#include <vector>

namespace intent::interp {
namespace {

class Finder {
 public:
  explicit Finder(const Function& function) : function_(function) {
    users_.resize(function.value_count());
    ForEachOp(function.body, [&](const Op& op) {
      for (ValueId id : op.operands) users_[id].push_back(&op);
    });
  }

  RelaxedScores Run() {
    ForEachOp(function_.body, [&](const Op& op) {
      if (op.kind != OpKind::kUnary) return;
      const UnaryKind kind = op.attr<UnaryAttr>().kind;
      if (kind != UnaryKind::kExp && kind != UnaryKind::kExp2) return;
      const Op* difference = DifferenceBelow(op.operands[0]);
      if (difference == nullptr) return;
      AddScores(*difference);
      AddWeighted(op);
    });
    return std::move(found_);
  }

 private:
  const Op* Definition(ValueId id) const { return function_.value(id).op; }

  bool IsConstant(ValueId id) const {
    const Op* op = Definition(id);
    while (op != nullptr && (op->kind == OpKind::kBroadcast || op->kind == OpKind::kFull ||
                             op->kind == OpKind::kCast)) {
      op = Definition(op->operands[0]);
    }
    return op != nullptr && op->kind == OpKind::kConstant;
  }

  // The value below shape operations, casts and scaling by constants.
  ValueId Below(ValueId id) const {
    while (true) {
      const Op* op = Definition(id);
      if (op == nullptr) return id;
      switch (op->kind) {
        case OpKind::kBroadcast:
        case OpKind::kReshape:
        case OpKind::kTranspose:
        case OpKind::kCast:
          id = op->operands[0];
          continue;
        case OpKind::kBinary:
          if (op->attr<BinaryAttr>().kind != BinaryKind::kMul) return id;
          if (IsConstant(op->operands[1])) {
            id = op->operands[0];
          } else if (IsConstant(op->operands[0])) {
            id = op->operands[1];
          } else {
            return id;
          }
          continue;
        default:
          return id;
      }
    }
  }

  // s - max(s) below the operand of an exponential.
  const Op* DifferenceBelow(ValueId id) const {
    const Op* op = Definition(Below(id));
    if (op == nullptr || op->kind != OpKind::kBinary) return nullptr;
    if (op->attr<BinaryAttr>().kind != BinaryKind::kSub) return nullptr;
    const Op* greatest = Definition(Below(op->operands[1]));
    if (greatest == nullptr || greatest->kind != OpKind::kReduce) return nullptr;
    if (greatest->attr<ReduceAttr>().combine != CombineKind::kMaximum) return nullptr;
    return Below(greatest->operands[0]) == Below(op->operands[0]) ? op : nullptr;
  }

  void AddScores(const Op& difference) {
    const Op* made = Definition(Below(difference.operands[0]));
    if (made != nullptr && made->kind == OpKind::kSelect && IsConstant(made->operands[2])) {
      found_.operands[made] = {.position = 1, .valid = 0};
    } else if (made != nullptr && made->kind == OpKind::kMask && IsConstant(made->operands[2])) {
      found_.operands[made] = {.position = 0, .valid = 1};
    } else {
      found_.operands[&difference] = {.position = 0};
    }
  }

  bool IsSummed(const Op& product) const {
    for (const Op* user : users_[product.result]) {
      if (user->kind == OpKind::kReduce && user->attr<ReduceAttr>().combine == CombineKind::kAdd) {
        return true;
      }
    }
    return false;
  }

  // What the exponential weights, following it pointwise.
  void AddWeighted(const Op& exponential) {
    std::vector<bool> follows(function_.value_count());
    std::vector<ValueId> open{exponential.result};
    follows[exponential.result] = true;
    while (!open.empty()) {
      const ValueId id = open.back();
      open.pop_back();
      for (const Op* user : users_[id]) {
        switch (user->kind) {
          case OpKind::kContract: {
            const size_t other = user->operands[0] == id ? 1 : 0;
            found_.operands[user] = {.position = other, .is_score = false};
            continue;
          }
          case OpKind::kBinary: {
            const size_t other = user->operands[0] == id ? 1 : 0;
            if (user->attr<BinaryAttr>().kind == BinaryKind::kMul && IsSummed(*user) &&
                !follows[user->operands[other]]) {
              found_.operands[user] = {.position = other, .is_score = false};
              continue;
            }
            break;
          }
          case OpKind::kUnary:
          case OpKind::kSelect:
          case OpKind::kMask:
          case OpKind::kCast:
          case OpKind::kBroadcast:
          case OpKind::kReshape:
          case OpKind::kTranspose:
            break;
          default:
            continue;
        }
        if (follows[user->result]) continue;
        follows[user->result] = true;
        open.push_back(user->result);
      }
    }
  }

  const Function& function_;
  std::vector<std::vector<const Op*>> users_;
  RelaxedScores found_;
};

}  // namespace

RelaxedScores FindRelaxedScores(const Module& module) {
  return Finder(module.kernel_function()).Run();
}

}  // namespace intent::interp
