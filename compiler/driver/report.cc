#include "compiler/driver/report.h"

#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/plan/contract_products.h"
#include "compiler/plan/describe.h"
#include "compiler/tile/statistics.h"

namespace intent {
namespace {

class Composer {
 public:
  Composer(const Module& module, const CompileInput& input, const lower::LowerOptions& lowering,
           const lower::Lowered& lowered)
      : function_(module.kernel_function()),
        input_(input),
        lowering_(lowering),
        statistics_(tile::StatisticsOf(*lowered.program)),
        report_(lowered.report) {
    for (const ReportLine& line : report_) {
      if (line.topic == ReportTopic::kMemory) in_memory_.insert(line.ordinal);
    }
  }

  Report Run() {
    Options();
    OnlineReduction();
    ContractionAdds();
    MultiplyReductions();
    MultiplyAdds();
    Code();
    return Ordered(std::move(report_));
  }

 private:
  void Say(ReportTopic topic, const std::string& text) {
    report_.push_back({topic, kNoOrdinal, text});
  }
  void Say(const Op& op, const std::string& text) {
    report_.push_back({ReportTopic::kNumerics, op.ordinal, plan::Label(op) + ": " + text});
  }

  void Options() {
    const CompileOptions& options = input_.options;
    Say(ReportTopic::kOptions,
        absl::StrCat("target ", input_.target.ToString(), ", opt_level=", options.opt_level,
                     ", numerics=",
                     options.numerics == Numerics::kSource ? "source" : "relaxed_normalization",
                     ", bounds=", options.bounds == Bounds::kGuard ? "guard" : "trust"));
    if (!options.disabled_passes.empty()) {
      Say(ReportTopic::kOptions,
          absl::StrCat("disabled: ", absl::StrJoin(options.disabled_passes, ", ")));
    }
  }

  // Seed 000 chapter 5.6. No target of ours rewrites yet: enabling the rewrite promises no
  // adoption.
  void OnlineReduction() {
    const std::vector<plan::NormalizedSummary> found = plan::FindNormalizedSummaries(function_);
    if (input_.options.numerics == Numerics::kSource) {
      if (!found.empty()) {
        Say(ReportTopic::kOptions, "the online rewrite is not licensed: numerics=source");
      }
      return;
    }
    if (!input_.options.online_reduction) {
      Say(ReportTopic::kOptions, "the online rewrite is forbidden: online_reduction=False");
      return;
    }
    if (found.empty()) {
      Say(ReportTopic::kOptions,
          "the online rewrite finds no maximum whose exponentials are summed or contracted");
    }
    for (const plan::NormalizedSummary& summary : found) {
      report_.push_back({ReportTopic::kNumerics, summary.maximum,
                         absl::StrCat("the online rewrite with ", OpList(summary.sums),
                                      " is licensed, not adopted: this back end keeps the maximum "
                                      "of all members and reads them again")});
    }
  }

  // Seed 000 chapter 5.3.
  void ContractionAdds() {
    std::unordered_map<ValueId, std::vector<const Op*>> users;
    ForEachOp(function_.body, [&](const Op& op) {
      for (ValueId operand : op.operands) users[operand].push_back(&op);
    });
    ForEachOp(function_.body, [&](const Op& op) {
      if (op.kind != OpKind::kContract || users[op.result].size() != 1) return;
      const Op& user = *users[op.result][0];
      if (user.kind == OpKind::kBinary && user.attr<BinaryAttr>().kind == BinaryKind::kAdd) {
        Say(op, absl::StrCat("contraction-add fusion is not adopted: the sums round before op ",
                             user.ordinal, " adds to them"));
      }
    });
  }

  // Seed 000 chapter 5.4.
  void MultiplyReductions() {
    ForEachOp(function_.body, [&](const Op& op) {
      if (op.kind != OpKind::kReduce || op.attr<ReduceAttr>().combine != CombineKind::kAdd) return;
      const Op* product = ProductOf(op.operands[0]);
      if (product == nullptr) return;
      const DType dtype = function_.type(product->result).dtype();
      const std::string products = absl::StrCat("the products of op ", product->ordinal);
      if (dtype != DType::kF32 && dtype != DType::kF64) {
        Say(op, products + " keep their own rounding: sums of their dtype are not fused");
      } else if (!plan::ContractsProducts(function_, op)) {
        Say(op, products +
                    " round before they are summed: something else uses them, or the sum "
                    "does not start at zero");
      } else if (in_memory_.contains(product->ordinal)) {
        Say(op, products + " round before they are summed: they are in memory");
      } else if (lowering_.fuse_multiply_add) {
        Say(op, "multiply-reduction fusion: " + products + " join the sum with one rounding");
      } else {
        Say(op, products + " round before they are summed: " + WhyNotFused());
      }
    });
  }

  // The floating multiplication that a value is but for its shape.
  const Op* ProductOf(ValueId value) const {
    const Op* op = function_.value(value).op;
    while (op != nullptr && (op->kind == OpKind::kReshape || op->kind == OpKind::kTranspose ||
                             op->kind == OpKind::kBroadcast)) {
      op = function_.value(op->operands[0]).op;
    }
    const bool product = op != nullptr && op->kind == OpKind::kBinary &&
                         op->attr<BinaryAttr>().kind == BinaryKind::kMul &&
                         function_.type(op->result).IsTensor() &&
                         IsFloat(function_.type(op->result).dtype());
    return product ? op : nullptr;
  }

  std::string WhyNotFused() const {
    if (input_.options.opt_level == 0) return "opt_level=0";
    if (!FactsOf(input_.target).fma) {
      return input_.target.ToString() + " has no instruction that does both";
    }
    return "fuse_multiply_add is disabled";
  }

  void MultiplyAdds() {
    const tile::Statistics& s = statistics_;
    if (s.fused > 0) {
      Say(ReportTopic::kNumerics, absl::StrCat(s.fused, " multiply-adds round once"));
    }
    if (s.separate > 0) {
      Say(ReportTopic::kNumerics,
          absl::StrCat(s.separate, " products round before they are added: ", WhyNotFused()));
    }
    if (s.narrow > 0) {
      Say(ReportTopic::kNumerics,
          absl::StrCat(s.narrow, " products of narrow floats keep their own rounding"));
    }
    if (s.bound_to_round > 0) {
      Say(ReportTopic::kNumerics,
          absl::StrCat(s.bound_to_round,
                       " products keep the rounding that the language gives them"));
    }
  }

  void Code() {
    const tile::Statistics& s = statistics_;
    const int bits = lowering_.vector_bits;
    Say(ReportTopic::kCode,
        absl::StrCat(
            bits == 0 ? std::string("scalars") : absl::StrCat("vectors of ", bits, " bits"),
            ", at most ", s.most_lanes, " lanes; ", s.loops, " loops, ", s.parallel_loops,
            " of tasks; ", s.guards, " guards"));
    std::vector<std::string> scratch;
    if (s.stack_bytes > 0) scratch.push_back(absl::StrCat(s.stack_bytes, " bytes of stack"));
    if (const int64_t known = s.allocations - s.unknown_sizes; known > 0) {
      scratch.push_back(absl::StrCat(known, " allocations of ", s.fixed_bytes, " bytes in all"));
    }
    if (s.unknown_sizes > 0) {
      scratch.push_back(absl::StrCat(s.unknown_sizes, " allocations whose sizes the call gives"));
    }
    if (!scratch.empty()) {
      Say(ReportTopic::kCode, absl::StrCat("scratch: ", absl::StrJoin(scratch, ", ")));
    }
  }

  const Function& function_;
  const CompileInput& input_;
  const lower::LowerOptions& lowering_;
  const tile::Statistics statistics_;
  Report report_;
  std::set<uint32_t> in_memory_;  // ordinals
};

}  // namespace

Report CompileReport(const Module& module, const CompileInput& input,
                     const lower::LowerOptions& lowering, const lower::Lowered& lowered) {
  return Composer(module, input, lowering, lowered).Run();
}

Report InterpreterReport() {
  return {{ReportTopic::kOptions, kNoOrdinal,
           "interpreted: operations one by one, in the program's order"}};
}

}  // namespace intent
