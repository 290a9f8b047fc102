#include <algorithm>
#include <set>

#include "compiler/plan/describe.h"

namespace intent::plan {
namespace {

// What a value is of the summary that a maximum begins.
enum class Role : uint8_t { kMaximum, kDifference, kExponential };

bool IsExponential(const Op& op) {
  return op.kind == OpKind::kUnary && (op.attr<UnaryAttr>().kind == UnaryKind::kExp ||
                                       op.attr<UnaryAttr>().kind == UnaryKind::kExp2);
}

bool IsMaximum(const Function& function, const Op& op) {
  return op.kind == OpKind::kReduce && op.attr<ReduceAttr>().combine == CombineKind::kMaximum &&
         function.type(op.operands[0]).IsTensor() && IsFloat(function.type(op.operands[0]).dtype());
}

class Finder {
 public:
  explicit Finder(const Function& function) : function_(function) {
    ForEachOp(function.body, [&](const Op& op) { order_.push_back(&op); });
  }

  std::vector<NormalizedSummary> Run() {
    for (const Op* op : order_) {
      if (IsMaximum(function_, *op)) {
        found_.push_back({op->ordinal, {}});
        roles_[op->result] = {{found_.size() - 1, Role::kMaximum}};
        continue;
      }
      Follow(*op);
    }
    std::erase_if(found_, [](const NormalizedSummary& summary) { return summary.sums.empty(); });
    return std::move(found_);
  }

 private:
  using Part = std::pair<size_t, Role>;  // of which summary
  // A value of more parts is followed no further: reports of hostile kernels stay cheap.
  static constexpr size_t kMostParts = 8;

  void Follow(const Op& op) {
    std::set<Part> mine;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const auto known = roles_.find(op.operands[i]);
      if (known == roles_.end()) continue;
      for (const auto& [summary, role] : known->second) {
        const bool sums =
            op.kind == OpKind::kContract ||
            (op.kind == OpKind::kReduce && op.attr<ReduceAttr>().combine == CombineKind::kAdd);
        if (role == Role::kExponential && sums && i < (op.kind == OpKind::kReduce ? 1u : 2u)) {
          found_[summary].sums.push_back(op.ordinal);
        } else if (role == Role::kMaximum && op.kind == OpKind::kBinary &&
                   op.attr<BinaryAttr>().kind == BinaryKind::kSub && i == 1) {
          mine.emplace(summary, Role::kDifference);
        } else if (role == Role::kDifference && IsExponential(op)) {
          mine.emplace(summary, Role::kExponential);
        } else if (IsLazy(function_, op)) {
          mine.emplace(summary, role);
        }
      }
    }
    if (!mine.empty() && mine.size() <= kMostParts) roles_[op.result] = std::move(mine);
  }

  const Function& function_;
  std::vector<const Op*> order_;
  std::vector<NormalizedSummary> found_;
  std::unordered_map<ValueId, std::set<Part>> roles_;
};

}  // namespace

std::vector<NormalizedSummary> FindNormalizedSummaries(const Function& function) {
  return Finder(function).Run();
}

}  // namespace intent::plan
