// What a region operation's slices may tell: the compiler chooses where it cuts, so a slice's
// extent shapes values, but nothing follows from its value (language.md 8 and 16).

#include "compiler/verify/verify_internal.h"

namespace intent::verify {
namespace {

// Regions that slices are passed to.
constexpr size_t kSummarize = 0;
constexpr size_t kEmit = 3;

// Operations that make another extent or domain of extents and domains.
bool Forwards(const Function& function, const Op& op) {
  switch (op.kind) {
    case OpKind::kUnary:
    case OpKind::kBinary:
      return function.type(op.result).IsScalar(DType::kIndex);
    case OpKind::kDomain:
    case OpKind::kDomainProduct:
    case OpKind::kSubregion:
    case OpKind::kRegionEnd:
    case OpKind::kDim:
      return true;
    default:
      return false;
  }
}

// One summarize or emit, and the callbacks inside it. Values that stand for the extent of a slice
// are scalars of index and domains; types name them freely.
class SliceExtents {
 public:
  SliceExtents(const Function& function, const Op& owner, DiagnosticSink* sink)
      : function_(function), owner_(owner), sink_(sink) {
    symbols_.insert(owner.attr<RegionAttr>().slice_symbol);
  }

  void Run(const Block& block) {
    ForEachOp(block, [&](const Op& op) { Visit(op); });
  }

 private:
  void Visit(const Op& op) {
    if (op.kind == OpKind::kRegionFold || op.kind == OpKind::kRegionScan) {
      symbols_.insert(op.attr<RegionAttr>().slice_symbol);
    }
    bool told = op.kind == OpKind::kDim && TellsOf(op);
    for (const ValueId operand : op.operands) {
      if (!values_.contains(operand)) continue;
      if (!Forwards(function_, op)) {
        Diagnostic& error =
            sink_->Error(DiagnosticCode::kRegionExtent, op.ordinal,
                         std::string(InfoOf(op.kind).name) +
                             " uses the extent of a slice; it may shape values, but what is "
                             "computed does not depend on where the compiler cuts");
        error.notes.push_back({owner_.ordinal, "the slice is one of this operation"});
        return;
      }
      told = true;
    }
    if (told) values_.insert(op.result);
  }

  // Whether dim reads an extent that depends on a slice's.
  bool TellsOf(const Op& op) const {
    if (op.operands.empty()) return false;  // reported as bad structure
    const StaticInt& axis = op.attr<AxisAttr>().axis;
    const std::vector<Extent>& shape = function_.type(op.operands[0]).shape();
    bool tells = false;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (axis.resolved() && axis.value != static_cast<int64_t>(i)) continue;
      shape[i].ForEachLeaf([&](AtomKind kind, uint32_t index) {
        tells = tells || (kind == AtomKind::kSymbol && symbols_.contains(index)) ||
                (kind == AtomKind::kValue && values_.contains(index));
      });
    }
    return tells;
  }

  const Function& function_;
  const Op& owner_;
  DiagnosticSink* sink_;
  std::unordered_set<uint32_t> symbols_;
  std::unordered_set<ValueId> values_;
};

}  // namespace

void VerifySlices(const Function& function, DiagnosticSink* sink) {
  std::unordered_set<const Op*> inner;  // in the callbacks of an operation that was looked at
  ForEachOp(function.body, [&](const Op& op) {
    if ((op.kind != OpKind::kRegionFold && op.kind != OpKind::kRegionScan) || inner.contains(&op)) {
      return;
    }
    for (const size_t region : {kSummarize, kEmit}) {
      if (region >= op.regions.size()) continue;
      ForEachOp(*op.regions[region], [&](const Op& nested) { inner.insert(&nested); });
      SliceExtents(function, op, sink).Run(*op.regions[region]);
    }
  });
}

}  // namespace intent::verify
