#include "tests/differential/coverage.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace intent::testing {
namespace {

constexpr const char* kClassNames[kStrideClasses] = {
    "none", "dense", "permuted", "gapped", "negative", "zero", "overlapping", "empty", "rank 0"};

uint32_t Bit(StrideClass c) { return 1u << static_cast<int>(c); }

// The classes of a layout; one may be several.
uint32_t ClassesOf(const ViewPlace& place) {
  if (place.extents.empty()) return Bit(StrideClass::kRankZero);
  std::vector<std::pair<int64_t, int64_t>> axes;  // |stride|, extent
  uint32_t classes = 0;
  int64_t outer = INT64_MAX;
  bool permuted = false;
  for (size_t axis = 0; axis < place.extents.size(); ++axis) {
    const int64_t extent = place.extents[axis], stride = place.strides[axis];
    if (extent == 0) return Bit(StrideClass::kEmpty);
    if (extent == 1) continue;
    if (stride == 0) {
      classes |= Bit(StrideClass::kZero);
      continue;
    }
    if (stride < 0) classes |= Bit(StrideClass::kNegative);
    permuted = permuted || std::abs(stride) > outer;
    outer = std::abs(stride);
    axes.emplace_back(std::abs(stride), extent);
  }
  if (permuted) classes |= Bit(StrideClass::kPermuted);
  std::sort(axes.begin(), axes.end());
  int64_t reach = 0, count = 1;
  for (const auto& [stride, extent] : axes) {
    if (stride <= reach) classes |= Bit(StrideClass::kOverlapping);
    reach += stride * (extent - 1);
    count *= extent;
  }
  if (reach + 1 > count) classes |= Bit(StrideClass::kGapped);
  return classes == 0 ? Bit(StrideClass::kDense) : classes;
}

std::string Mode(const StaticInt& approximate, const StaticInt& flush) {
  if (approximate.value == 0) return "";
  return flush.value != 0 ? " approximate flush" : " approximate";
}

std::string_view NameOfFormat(ScaledFormat format) {
  switch (format) {
    case ScaledFormat::kE2M1E8M0:
      return "e2m1/e8m0";
    case ScaledFormat::kE2M1E4M3:
      return "e2m1/e4m3";
    case ScaledFormat::kE4M3E8M0:
      return "e4m3/e8m0";
    case ScaledFormat::kE4M3E4M3:
      return "e4m3/e4m3";
  }
  return "";
}

std::string Words(std::string_view a, std::string_view b) {
  return std::string(a) + " " + std::string(b);
}

// The operation with its kind: what must not be at zero.
std::string NameOfOp(const Function& function, const Op& op) {
  const std::string_view name = InfoOf(op.kind).name;
  switch (op.kind) {
    case OpKind::kUnary: {
      const auto& attr = op.attr<UnaryAttr>();
      return Words(name, NameOf(attr.kind)) + Mode(attr.approximate, attr.flush_to_zero);
    }
    case OpKind::kBinary: {
      const auto& attr = op.attr<BinaryAttr>();
      return Words(name, NameOf(attr.kind)) + Mode(attr.approximate, attr.flush_to_zero);
    }
    case OpKind::kCompare:
      return Words(name, NameOf(op.attr<CompareAttr>().kind));
    case OpKind::kReduce:
    case OpKind::kScan: {
      const bool reduce = op.kind == OpKind::kReduce;
      const CombineKind kind = reduce ? op.attr<ReduceAttr>().combine : op.attr<ScanAttr>().combine;
      std::string text = Words(name, NameOf(kind));
      if (kind == CombineKind::kRegion) {
        const Type* state = &function.type(op.regions[0]->arguments[0]);
        while (state->IsProduct()) state = &state->fields()[0];
        if (state->IsTensor()) text += " of slices";
      }
      if (reduce) return text;
      const auto& attr = op.attr<ScanAttr>();
      text += attr.inclusive.value != 0 ? " inclusive" : " exclusive";
      return text + (attr.reverse.value != 0 ? " reverse" : " forward");
    }
    case OpKind::kScatterReduce:
      return Words(name, NameOf(op.attr<ScatterReduceAttr>().combine));
    case OpKind::kAtomicLoad:
    case OpKind::kAtomicStore:
    case OpKind::kAtomicCas:
      return Words(name, NameOf(op.attr<AtomicAttr>().order));
    case OpKind::kAtomicRmw:
      return Words(name, NameOf(op.attr<AtomicAttr>().rmw));
    case OpKind::kScaledContract: {
      const auto& attr = op.attr<ScaledAttr>();
      return Words(name, NameOfFormat(attr.lhs)) + " by " + std::string(NameOfFormat(attr.rhs));
    }
    case OpKind::kSparseContract:
      return Words(name, op.attr<SparseAttr>().format == SparseFormat::kOneOfTwo ? "one_of_two"
                                                                                 : "two_of_four");
    case OpKind::kContract:
      return op.attr<ContractAttr>().batch.empty() ? std::string(name) : Words(name, "batched");
    case OpKind::kViewLoad:
    case OpKind::kBufferLoad:
    case OpKind::kGather:
    case OpKind::kScatterUnique:
      return op.attr<IndexAttr>().has_valid ? Words(name, "valid") : std::string(name);
    default:
      return std::string(name);
  }
}

DType DTypeOf(const Function& function, const Op& op) {
  const auto leaf = [](const Type& type) -> std::optional<DType> {
    const Type* t = &type;
    while (t->IsProduct() && !t->fields().empty()) t = &t->fields()[0];
    if (t->IsElementwise() || t->IsResource()) return t->dtype();
    return std::nullopt;
  };
  for (const ValueId operand : op.operands) {
    if (const auto dtype = leaf(function.type(operand))) return *dtype;
  }
  return leaf(function.type(op.result)).value_or(DType::kIndex);
}

std::vector<std::string> Expected() {
  std::vector<std::string> names;
  const auto add = [&](std::string_view op, std::string_view kind) {
    names.push_back(Words(op, kind));
  };
#define INTENT_UNARY(name, text) add("unary", text);
#define INTENT_BINARY(name, text) add("binary", text);
#define INTENT_COMPARE(name, text) add("compare", text);
#define INTENT_RMW(name, text) add("atomic_rmw", text);
#define INTENT_ORDER(name, text) add("atomic_cas", text);
#define INTENT_COMBINE(name, text)                                                             \
  add("reduce", text);                                                                         \
  for (const char* variant :                                                                   \
       {"inclusive forward", "inclusive reverse", "exclusive forward", "exclusive reverse"}) { \
    add("scan", std::string(text) + " " + variant);                                            \
  }                                                                                            \
  if (CombineKind::name != CombineKind::kArgMax) add("scatter_reduce", text);
#include "compiler/ir/kinds.def"
#undef INTENT_UNARY
#undef INTENT_BINARY
#undef INTENT_COMPARE
#undef INTENT_RMW
#undef INTENT_ORDER
#undef INTENT_COMBINE
  for (const char* name :
       {"unary exp2 approximate", "unary exp2 approximate flush", "unary tanh approximate",
        "binary div approximate", "binary div approximate flush", "reduce region of slices",
        "scan region of slices inclusive forward", "scan region of slices exclusive reverse",
        "atomic_load relaxed", "atomic_load acquire", "atomic_store relaxed",
        "atomic_store release", "sparse_contract one_of_two", "sparse_contract two_of_four",
        "contract batched", "view_load valid", "buffer_load valid", "gather valid",
        "scatter_unique valid"}) {
    names.push_back(name);
  }
  for (int lhs = 0; lhs < 4; ++lhs) {
    for (int rhs = 0; rhs < 4; ++rhs) {
      add("scaled_contract", std::string(NameOfFormat(static_cast<ScaledFormat>(lhs))) + " by " +
                                 std::string(NameOfFormat(static_cast<ScaledFormat>(rhs))));
    }
  }
  return names;
}

void PrintRow(std::string* text, const std::string& name, const std::vector<int64_t>& cells) {
  char cell[64];
  std::snprintf(cell, sizeof cell, "%-44s", name.c_str());
  *text += name.size() > 43 ? name + " " : std::string(cell);
  for (const int64_t count : cells) {
    std::snprintf(cell, sizeof cell, " %9lld", static_cast<long long>(count));
    *text += cell;
  }
  *text += "\n";
}

}  // namespace

void Coverage::AddBlock(const Function& function, const Block& block,
                        std::vector<uint32_t>* classes) {
  for (const Op* op : block.ops) {
    uint32_t from = 0;
    for (const ValueId operand : op->operands) from |= (*classes)[operand];
    (*classes)[op->result] = from;
    Classes& counts = counts_[NameOfOp(function, *op)][DTypeOf(function, *op)];
    if (from == 0) ++counts[0];
    for (int c = 1; c < kStrideClasses; ++c) counts[static_cast<size_t>(c)] += from >> c & 1;
    for (const auto& region : op->regions) {
      for (const ValueId argument : region->arguments) (*classes)[argument] = from;
      AddBlock(function, *region, classes);
    }
  }
}

void Coverage::Add(const Module& module, const CallData& data) {
  for (const auto& function : module.functions) {
    std::vector<uint32_t> classes(function->value_count(), 0);
    size_t view = 0;
    for (size_t i = 0; function->is_kernel && i < function->parameters.size(); ++i) {
      if (!function->parameters[i].type.IsView()) continue;
      classes[function->body.arguments[i]] = ClassesOf(data.views[view++]);
    }
    AddBlock(*function, function->body, &classes);
  }
}

std::string Coverage::Tables() const {
  std::string text;
  char cell[64];
  std::snprintf(cell, sizeof cell, "%-44s", "operation x dtype");
  text += cell;
  for (int d = 0; d < kNumDTypes; ++d) {
    const std::string_view name = DTypeName(static_cast<DType>(d));
    std::snprintf(cell, sizeof cell, " %9.*s", static_cast<int>(std::min<size_t>(name.size(), 9)),
                  name.data());
    text += cell;
  }
  text += "\n";
  int64_t triples = 0;
  for (const auto& [name, dtypes] : counts_) {
    std::vector<int64_t> cells(kNumDTypes, 0);
    for (const auto& [dtype, classes] : dtypes) {
      // An operation is fed by several classes, or by one, or by none.
      cells[static_cast<size_t>(dtype)] = *std::max_element(classes.begin(), classes.end());
      for (const int64_t count : classes) triples += count > 0;
    }
    PrintRow(&text, name, cells);
  }
  std::snprintf(cell, sizeof cell, "\n%-44s", "operation x stride class");
  text += cell;
  for (const char* name : kClassNames) {
    std::snprintf(cell, sizeof cell, " %9.9s", name);
    text += cell;
  }
  text += "\n";
  for (const auto& [name, dtypes] : counts_) {
    std::vector<int64_t> cells(kStrideClasses, 0);
    for (const auto& [dtype, classes] : dtypes) {
      for (size_t c = 0; c < cells.size(); ++c) cells[c] += classes[c];
    }
    PrintRow(&text, name, cells);
  }
  return text + "\n" + std::to_string(triples) + " cells of operation x dtype x stride class\n";
}

std::vector<std::string> Coverage::Missing() const {
  std::vector<std::string> missing;
  for (const std::string& name : Expected()) {
    if (!counts_.contains(name)) missing.push_back(name);
  }
  // Operations without kinds, by their first word.
  const auto seen = [&](std::string_view op) {
    return std::any_of(counts_.begin(), counts_.end(), [&](const auto& entry) {
      return entry.first.substr(0, entry.first.find(' ')) == op;
    });
  };
#define INTENT_OP(name, text, attr, effect, omin, omax, rmin, rmax) \
  if (!seen(text)) missing.push_back(text);
#include "compiler/ir/ops.def"
#undef INTENT_OP
  return missing;
}

}  // namespace intent::testing
