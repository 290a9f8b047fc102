#include "tests/differential/shrink.h"

#include <algorithm>
#include <vector>

#include "compiler/numerics/scalar.h"
#include "compiler/specialize/specialize.h"
#include "compiler/verify/verify.h"
#include "tests/differential/call_data.h"

namespace intent::testing {
namespace {

// Where an operation stands.
struct Place {
  Block* block;
  size_t position;
};

std::vector<Place> Places(Function* function) {
  std::vector<Place> places;
  std::vector<Block*> open = {&function->body};
  while (!open.empty()) {
    Block* block = open.back();
    open.pop_back();
    for (size_t i = 0; i < block->ops.size(); ++i) {
      if (InfoOf(block->ops[i]->kind).effect == Effect::kTerminator) continue;
      places.push_back({block, i});
      for (auto& region : block->ops[i]->regions) open.push_back(region.get());
    }
  }
  return places;
}

void ReplaceUses(Block* block, ValueId from, ValueId to) {
  for (Op* op : block->ops) {
    std::replace(op->operands.begin(), op->operands.end(), from, to);
    for (auto& region : op->regions) ReplaceUses(region.get(), from, to);
  }
}

enum class Simplification { kDrop, kForward, kOne, kZero };

// Removes the operation; what used its result uses a number, or an operand of the same type.
bool Simplify(Function* function, const Place& place, Simplification how) {
  Op* op = place.block->ops[place.position];
  const Type type = function->type(op->result);
  auto& ops = place.block->ops;
  const auto at = ops.begin() + static_cast<ptrdiff_t>(place.position);
  const ValueId result = op->result;
  if (how == Simplification::kDrop) {
    if (!type.IsNone()) return false;
    ops.erase(at);
    return true;
  }
  if (how == Simplification::kForward) {
    for (ValueId operand : op->operands) {
      if (!(function->type(operand) == type) || type.IsNone()) continue;
      ops.erase(at);
      ReplaceUses(&function->body, result, operand);
      return true;
    }
    return false;
  }
  if (!type.IsElementwise() || op->kind == OpKind::kConstant || op->kind == OpKind::kFull) {
    return false;
  }
  const DType dtype = type.dtype();
  // An integer that becomes zero may divide.
  const bool zero = how == Simplification::kZero;
  if (zero && IsInteger(dtype) && dtype != DType::kIndex) return false;
  ScalarValue number = numerics::MakeZero(dtype);
  if (!zero)
    number = IsFloat(dtype) ? numerics::MakeFloat(dtype, 1) : numerics::MakeInteger(dtype, 1);
  Op* constant = function->NewOp(OpKind::kConstant, Type::Scalar(dtype), {}, ConstantAttr{number});
  ValueId replacement = constant->result;
  *at = constant;
  if (type.IsTensor()) {
    Op* full = function->NewOp(OpKind::kFull, type, {constant->result});
    ops.insert(ops.begin() + static_cast<ptrdiff_t>(place.position) + 1, full);
    replacement = full->result;
  }
  ReplaceUses(&function->body, result, replacement);
  return true;
}

bool IsUsed(const Block& block, ValueId value) {
  bool used = false;
  ForEachOp(block, [&](const Op& op) {
    used = used || std::find(op.operands.begin(), op.operands.end(), value) != op.operands.end();
  });
  return used;
}

// Without the parameter at `position`; false if something uses it.
bool DropParameter(Case* candidate, size_t position) {
  Function& kernel = candidate->module->kernel_function();
  if (IsUsed(kernel.body, kernel.body.arguments[position])) return false;
  const bool is_view = kernel.parameters[position].type.IsView();
  ptrdiff_t at = 0;
  for (size_t i = 0; i < position; ++i) at += kernel.parameters[i].type.IsView() == is_view;
  if (is_view) {
    candidate->data.views.erase(candidate->data.views.begin() + at);
  } else {
    candidate->data.scalars.erase(candidate->data.scalars.begin() + at);
  }
  kernel.parameters.erase(kernel.parameters.begin() + static_cast<ptrdiff_t>(position));
  auto& arguments = kernel.body.arguments;
  arguments.erase(arguments.begin() + static_cast<ptrdiff_t>(position));
  for (size_t i = position; i < arguments.size(); ++i) {
    kernel.value(arguments[i]).position = static_cast<uint32_t>(i);
  }
  return true;
}

class Shrinker {
 public:
  Shrinker(const Case& original, const std::function<bool(const Case&)>& fails, int candidates)
      : best_{Clone(*original.module), original.data}, fails_(fails), left_(candidates) {
    runs_ = Runs(best_);
  }

  Case Run() {
    Case special = Copy();
    if (Specialize(special.module.get(), {}).empty()) Try(std::move(special));
    bool progress = true;
    while (progress && left_ > 0) {
      progress = DropOperations();
      progress = SimplifyCall() || progress;
      progress = DropParameters() || progress;
    }
    return std::move(best_);
  }

 private:
  Case Copy() const { return {Clone(*best_.module), best_.data}; }

  static bool Runs(const Case& candidate) {
    std::string error;
    const auto kernel = TestKernel::Make(*candidate.module, &error);
    return kernel != nullptr && !kernel->Interpret(candidate.data).failed;
  }

  // Keeps the candidate if it still fails.
  bool Try(Case candidate) {
    if (left_ <= 0 || !Verify(*candidate.module).empty()) return false;
    --left_;
    if (Runs(candidate) != runs_) return false;
    if (!fails_(candidate)) return false;
    best_ = std::move(candidate);
    return true;
  }

  // Many at once while that works, then one by one.
  bool DropOperations() {
    bool any = false;
    for (const auto how : {Simplification::kDrop, Simplification::kOne, Simplification::kZero,
                           Simplification::kForward}) {
      size_t count = Places(&best_.module->kernel_function()).size();
      for (size_t chunk = std::max<size_t>(count / 2, 1);; chunk /= 2) {
        for (size_t end = Places(&best_.module->kernel_function()).size(); end > 0;) {
          const size_t begin = end > chunk ? end - chunk : 0;
          Case candidate = Copy();
          Function* function = &candidate.module->kernel_function();
          bool changed = false;
          for (size_t i = end; i-- > begin;) {
            const std::vector<Place> places = Places(function);
            changed = (i < places.size() && Simplify(function, places[i], how)) || changed;
          }
          end = begin;
          if (!changed || !Verify(*candidate.module).empty()) continue;
          Canonicalize(candidate.module.get());
          any = Try(std::move(candidate)) || any;
        }
        if (chunk == 1) break;
      }
    }
    return any;
  }

  bool SimplifyCall() {
    bool any = false;
    if (!dense_) {
      Case candidate = Copy();
      candidate.data = Densified(candidate.data);
      dense_ = Try(std::move(candidate));
      any = dense_;
    }
    if (!dense_) return any;
    for (const auto& [symbol, value] : SymbolsOf(best_.module->kernel_function(), best_.data)) {
      for (const int64_t smaller : {int64_t{0}, int64_t{1}, int64_t{2}, int64_t{3}, int64_t{4},
                                    int64_t{8}, value / 2, value - 1}) {
        if (smaller < 0 || smaller >= value) continue;
        auto symbols = SymbolsOf(best_.module->kernel_function(), best_.data);
        symbols[symbol] = smaller;
        auto data = Resized(best_.module->kernel_function(), best_.data, symbols);
        if (!data) continue;
        Case candidate = Copy();
        candidate.data = *std::move(data);
        if (!Try(std::move(candidate))) continue;
        any = true;
        break;
      }
    }
    for (size_t i = 0; i < best_.data.allocations.size(); ++i) {
      Case candidate = Copy();
      Allocation& allocation = candidate.data.allocations[i];
      const DType dtype = allocation.dtype;
      const ScalarValue one =
          IsFloat(dtype) ? numerics::MakeFloat(dtype, 1) : numerics::MakeInteger(dtype, 1);
      const auto size = static_cast<size_t>(StorageBytes(dtype));
      const std::vector<uint8_t> before = allocation.bytes;
      for (size_t at = 0; at + size <= allocation.bytes.size(); at += size) {
        numerics::StoreScalar(one, allocation.bytes.data() + at);
      }
      if (allocation.bytes != before) any = Try(std::move(candidate)) || any;
    }
    return any;
  }

  bool DropParameters() {
    bool any = false;
    for (size_t i = best_.module->kernel_function().parameters.size(); i-- > 0;) {
      Case candidate = Copy();
      if (DropParameter(&candidate, i)) any = Try(std::move(candidate)) || any;
    }
    return any;
  }

  Case best_;
  const std::function<bool(const Case&)>& fails_;
  int left_;
  bool runs_ = false;
  bool dense_ = false;
};

}  // namespace

Case Shrink(const Case& original, const std::function<bool(const Case&)>& fails, int candidates) {
  return Shrinker(original, fails, candidates).Run();
}

}  // namespace intent::testing
