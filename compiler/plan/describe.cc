#include "compiler/plan/describe.h"

#include <algorithm>

#include "compiler/plan/arithmetic.h"

namespace intent::plan {
namespace {

// Lazy operations whose computation is worth a word.
bool Computes(const Op& op) { return IsArithmetic(op) || op.kind == OpKind::kGather; }

std::string_view ReasonText(MemoryReason reason) {
  switch (reason) {
    case MemoryReason::kPlain:
      return "in memory: nothing is fused at this setting";
    case MemoryReason::kLarge:
      return "in memory: the expression below it has grown too large for one place";
    case MemoryReason::kShared:
      return "in memory: several stages need it, and computing it anew costs more";
    case MemoryReason::kContracted:
      return "in memory: a matrix product reads its elements many times";
    case MemoryReason::kHoisted:
      return "in memory: hoisted, it does not change in the loop that needs it";
  }
  return "";
}

class Describer {
 public:
  Describer(const Plan& plan, const Function& function) : plan_(plan), function_(function) {
    ForEachOp(function.body, [&](const Op& op) { order_.push_back(&op); });
  }

  Report Run() {
    FindStages();
    for (const Op* op : order_) {
      DescribeValue(*op);
      DescribeFused(*op);
    }
    for (const Op* op : order_) {
      for (const auto& region : op->regions) DescribeGroups(*region);
    }
    DescribeGroups(function_.body);
    return std::move(report_);
  }

 private:
  static constexpr size_t kMostStages = 9;
  static constexpr size_t kMostListed = 8;

  bool IsComputedAtUse(const Op& op) const {
    return IsLazy(function_, op) && !plan_.materialize.contains(op.result);
  }

  void Say(const Op& op, ReportTopic topic, const std::string& text) {
    report_.push_back({topic, op.ordinal, Label(op) + ": " + text});
  }

  // Every user of a value comes after its definition in pre-order.
  void FindStages() {
    std::unordered_map<ValueId, std::vector<const Op*>> users;
    for (const Op* op : order_) {
      for (ValueId operand : op->operands) users[operand].push_back(op);
    }
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      const Op* op = *it;
      if (!IsComputedAtUse(*op)) continue;
      std::vector<const Op*>& mine = stages_[op];
      for (const Op* user : users[op->result]) {
        const std::vector<const Op*> one{user};
        for (const Op* stage : IsComputedAtUse(*user) ? stages_[user] : one) {
          if (mine.size() < kMostStages &&
              std::find(mine.begin(), mine.end(), stage) == mine.end()) {
            mine.push_back(stage);
          }
        }
      }
      if (!Computes(*op)) continue;
      for (const Op* stage : mine) fused_[stage].push_back(op);
    }
  }

  void DescribeValue(const Op& op) {
    if (const auto found = plan_.materialize.find(op.result);
        found != plan_.materialize.end() && IsLazy(function_, op)) {
      Say(op, ReportTopic::kMemory, std::string(ReasonText(found->second)));
      return;
    }
    if (!Computes(op) || !IsComputedAtUse(op) || stages_[&op].size() < 2) return;
    std::vector<uint32_t> stages;
    for (const Op* stage : stages_[&op]) stages.push_back(stage->ordinal);
    std::sort(stages.begin(), stages.end());
    Say(op, ReportTopic::kFusion, "computed anew for each of " + OpList(stages) + ": it is cheap");
  }

  void DescribeFused(const Op& stage) {
    const auto found = fused_.find(&stage);
    if (found == fused_.end()) return;
    std::string text = "fused into its loops: ";
    size_t listed = 0;
    for (auto it = found->second.rbegin(); it != found->second.rend() && listed < kMostListed;
         ++it) {
      text += (listed++ == 0 ? "" : ", ") + Label(**it) + " (op " + std::to_string((*it)->ordinal) +
              ")";
    }
    if (found->second.size() > listed) {
      text += " and " + std::to_string(found->second.size() - listed) + " more";
    }
    Say(stage, ReportTopic::kFusion, text);
  }

  void DescribeGroups(const Block& block) {
    const auto found = plan_.groups.find(&block);
    if (found == plan_.groups.end()) return;
    for (const RowGroup& group : found->second) {
      std::vector<uint32_t> others;
      for (size_t stage : group.stages) others.push_back(block.ops[stage]->ordinal);
      others.erase(others.begin());
      Say(*block.ops[group.stages[0]], ReportTopic::kFusion,
          "shares its rows with " + OpList(others) + ": a row passes through all of them at once");
    }
  }

  const Plan& plan_;
  const Function& function_;
  std::vector<const Op*> order_;
  std::unordered_map<const Op*, std::vector<const Op*>> stages_;  // of lazy operations
  // By stage, the last operation first.
  std::unordered_map<const Op*, std::vector<const Op*>> fused_;
  Report report_;
};

}  // namespace

std::string Label(const Op& op) {
  if (op.kind == OpKind::kUnary) return std::string(NameOf(op.attr<UnaryAttr>().kind));
  if (op.kind == OpKind::kBinary) return std::string(NameOf(op.attr<BinaryAttr>().kind));
  return std::string(InfoOf(op.kind).name);
}

Report Describe(const Plan& plan, const Function& function) {
  return Describer(plan, function).Run();
}

}  // namespace intent::plan
