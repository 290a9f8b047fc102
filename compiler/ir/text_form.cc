#include "compiler/ir/text_form.h"

#include <algorithm>

#include "compiler/ir/index_operands.h"

namespace intent {
namespace {

// As many regions as the combine asks for.
bool FitsCombine(const Op& op, CombineKind combine) {
  return op.regions.size() == (combine == CombineKind::kRegion ? 1 : 0);
}

bool AreIndices(const Function& function, std::span<const ValueId> arguments) {
  return std::all_of(arguments.begin(), arguments.end(),
                     [&](ValueId id) { return function.type(id).IsScalar(DType::kIndex); });
}

bool FitsLoop(const Function& function, const Op& op) {
  if (op.regions.size() != 1 || op.operands.empty()) return false;
  const std::vector<ValueId>& arguments = op.regions[0]->arguments;
  const size_t inits = op.operands.size() - 1;
  if (op.kind == OpKind::kParallel && inits != 0) return false;
  return arguments.size() >= inits &&
         AreIndices(function, std::span(arguments).first(arguments.size() - inits));
}

bool FitsBranches(const Op& op, size_t operands) {
  return op.operands.size() == operands && op.regions.size() == 2 &&
         op.regions[0]->arguments.empty() && op.regions[1]->arguments.empty();
}

bool FitsIndexed(const Op& op) {
  const IndexAttr& index = *IndexOf(op);
  const size_t operands = LeadingOperands(op.kind) + IndexOperands(index.terms) +
                          (index.has_valid ? 1 : 0) + (index.has_fill ? 1 : 0);
  if (op.kind == OpKind::kScatterReduce) {
    return FitsCombine(op, op.attr<ScatterReduceAttr>().combine) && op.operands.size() >= operands;
  }
  return op.regions.empty() && op.operands.size() == operands;
}

}  // namespace

const IndexAttr* IndexOf(const Op& op) {
  if (const auto* index = std::get_if<IndexAttr>(&op.attributes)) return index;
  if (const auto* scatter = std::get_if<ScatterReduceAttr>(&op.attributes)) return &scatter->index;
  if (const auto* atomic = std::get_if<AtomicAttr>(&op.attributes)) return &atomic->index;
  return nullptr;
}

size_t LeadingOperands(OpKind kind) {
  switch (kind) {
    case OpKind::kViewStore:
    case OpKind::kBufferStore:
    case OpKind::kScatterUnique:
    case OpKind::kScatterReduce:
    case OpKind::kAtomicStore:
    case OpKind::kAtomicRmw:
      return 2;
    case OpKind::kAtomicCas:
      return 3;
    default:
      return 1;
  }
}

std::span<const std::string_view> RegionKeywords(OpKind kind) {
  static constexpr std::string_view kCombine[] = {"combine"};
  static constexpr std::string_view kFold[] = {"summarize", "combine"};
  static constexpr std::string_view kScan[] = {"summarize", "combine", "apply", "emit"};
  switch (kind) {
    case OpKind::kReduce:
    case OpKind::kScan:
    case OpKind::kScatterReduce:
      return kCombine;
    case OpKind::kRegionFold:
      return kFold;
    case OpKind::kRegionScan:
      return kScan;
    default:
      return {};
  }
}

bool FitsForm(const Function& function, const Op& op) {
  if (IndexOf(op) != nullptr) return FitsIndexed(op);
  switch (op.kind) {
    case OpKind::kConstant:
    case OpKind::kConstexpr:
      return op.operands.empty() && op.regions.empty();
    case OpKind::kSubregion: {
      const SubregionAttr& attr = op.attr<SubregionAttr>();
      return op.regions.empty() && op.operands.size() == 1u + attr.has_start + attr.has_stop;
    }
    case OpKind::kParallel:
    case OpKind::kFor:
      return FitsLoop(function, op);
    case OpKind::kIf:
      return FitsBranches(op, 1);
    case OpKind::kConstexprIf:
      return FitsBranches(op, 0);
    case OpKind::kWhile:
      return op.regions.size() == 2 && op.regions[0]->arguments.size() == op.operands.size();
    case OpKind::kReduce:
      return FitsCombine(op, op.attr<ReduceAttr>().combine);
    case OpKind::kScan:
      return FitsCombine(op, op.attr<ScanAttr>().combine);
    case OpKind::kRegionFold:
    case OpKind::kRegionScan:
      return op.regions.size() == RegionKeywords(op.kind).size();
    default:
      return op.regions.empty();
  }
}

}  // namespace intent
