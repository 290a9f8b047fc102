#pragma once

// Typed attributes of operations. An attribute integer or flag may be a literal or refer to a
// constexpr expression of the module; specialisation replaces the references (decisions.md A.4).

#include <cstdint>
#include <variant>
#include <vector>

#include "compiler/ir/dtype.h"

namespace intent {

using ConstexprId = uint32_t;  // index into Module::constexpr_nodes
inline constexpr ConstexprId kNoConstexpr = 0xffffffffu;

enum class UnaryKind : uint8_t {
#define INTENT_UNARY(name, text) name,
#include "compiler/ir/kinds.def"
#undef INTENT_UNARY
};
enum class BinaryKind : uint8_t {
#define INTENT_BINARY(name, text) name,
#include "compiler/ir/kinds.def"
#undef INTENT_BINARY
};
enum class CompareKind : uint8_t {
#define INTENT_COMPARE(name, text) name,
#include "compiler/ir/kinds.def"
#undef INTENT_COMPARE
};
enum class RmwKind : uint8_t {
#define INTENT_RMW(name, text) name,
#include "compiler/ir/kinds.def"
#undef INTENT_RMW
};
enum class MemoryOrder : uint8_t {
#define INTENT_ORDER(name, text) name,
#include "compiler/ir/kinds.def"
#undef INTENT_ORDER
};
enum class CombineKind : uint8_t {
#define INTENT_COMBINE(name, text) name,
#include "compiler/ir/kinds.def"
#undef INTENT_COMBINE
};

// The low bits hold the value in its storage encoding (bool 0 or 1; integers two's complement;
// floats their format's bits), zero above BitWidth(dtype).
struct ScalarValue {
  DType dtype = DType::kBool;
  unsigned __int128 bits = 0;
  bool operator==(const ScalarValue&) const = default;
};

// An integer or flag that may be a constexpr reference.
struct StaticInt {
  int64_t value = 0;
  ConstexprId expr = kNoConstexpr;  // if set, `value` has no meaning yet
  StaticInt() = default;
  StaticInt(int64_t v) : value(v) {}  // NOLINT: a literal is a static integer
  static StaticInt Ref(ConstexprId id) {
    StaticInt i;
    i.expr = id;
    return i;
  }
  bool resolved() const { return expr == kNoConstexpr; }
  bool operator==(const StaticInt&) const = default;
};

struct NoAttr {
  bool operator==(const NoAttr&) const = default;
};
struct ConstantAttr {
  ScalarValue value;
  bool operator==(const ConstantAttr&) const = default;
};
struct ConstexprAttr {
  ConstexprId expr = kNoConstexpr;
  bool operator==(const ConstexprAttr&) const = default;
};
struct AxisAttr {
  StaticInt axis;
  bool operator==(const AxisAttr&) const = default;
};
struct AxesAttr {
  std::vector<StaticInt> axes;
  bool operator==(const AxesAttr&) const = default;
};
struct SubregionAttr {
  bool has_start = false;
  bool has_stop = false;
  bool operator==(const SubregionAttr&) const = default;
};
struct CallAttr {
  uint32_t function = 0;  // index into Module::functions
  bool operator==(const CallAttr&) const = default;
};
struct UnaryAttr {
  UnaryKind kind = UnaryKind::kNegate;
  StaticInt approximate = 0;
  StaticInt flush_to_zero = 0;
  bool operator==(const UnaryAttr&) const = default;
};
struct BinaryAttr {
  BinaryKind kind = BinaryKind::kAdd;
  StaticInt approximate = 0;
  StaticInt flush_to_zero = 0;
  bool operator==(const BinaryAttr&) const = default;
};
struct CompareAttr {
  CompareKind kind = CompareKind::kEq;
  bool operator==(const CompareAttr&) const = default;
};
struct ReduceAttr {
  std::vector<StaticInt> axes;  // non-negative after specialisation, ascending
  CombineKind combine = CombineKind::kRegion;
  bool operator==(const ReduceAttr&) const = default;
};
struct ScanAttr {
  StaticInt axis;
  CombineKind combine = CombineKind::kRegion;
  StaticInt inclusive = 1;
  StaticInt reverse = 0;
  bool operator==(const ScanAttr&) const = default;
};
struct RegionAttr {
  StaticInt axis;
  uint32_t slice_symbol =
      0;  // the fresh shape symbol of a slice's extent inside summarize and emit
  bool operator==(const RegionAttr&) const = default;
};
struct AxisPair {
  StaticInt lhs, rhs;
  bool operator==(const AxisPair&) const = default;
};
struct ContractAttr {
  std::vector<AxisPair> reduce;  // nonempty
  std::vector<AxisPair> batch;
  bool operator==(const ContractAttr&) const = default;
};
enum class ScaledFormat : uint8_t { kE2M1E8M0, kE2M1E4M3, kE4M3E8M0, kE4M3E4M3 };  // element, scale
struct ScaledAttr {
  ScaledFormat lhs = ScaledFormat::kE2M1E8M0;
  ScaledFormat rhs = ScaledFormat::kE2M1E8M0;
  StaticInt group_size;
  bool operator==(const ScaledAttr&) const = default;
};
enum class SparseFormat : uint8_t { kOneOfTwo, kTwoOfFour };
struct SparseAttr {
  SparseFormat format = SparseFormat::kOneOfTwo;
  StaticInt compression_axis;
  ContractAttr
      contract;  // the logical extent is the extent of the paired axis of the dense operand
  bool operator==(const SparseAttr&) const = default;
};
enum class QuantFormat : uint8_t { kQ4K, kQ8K };
struct FormatAttr {
  QuantFormat lhs = QuantFormat::kQ8K;  // quantize: the result's format
  QuantFormat rhs = QuantFormat::kQ8K;
  bool operator==(const FormatAttr&) const = default;
};

// One term per source axis, in order, plus new axes anywhere (language.md chapter 4).
// Result axes: kFull, kRegion, kSlice and kNewAxis give one each, in place; all tensor-valued
// kValue terms broadcast jointly and their merged axes stand where the first of them stood; scalars
// drop the axis.
enum class IndexTermKind : uint8_t {
  kFull,     // the whole axis
  kStatic,   // `position`: a literal or constexpr coordinate, non-negative
  kValue,    // one operand: scalar or tensor of an integer dtype
  kRegion,   // one operand: a domain or subregion of rank 1
  kSlice,    // two operands: start, stop (index scalars), step 1
  kNewAxis,  // no source axis; an axis of extent 1
};
struct IndexTerm {
  IndexTermKind kind = IndexTermKind::kFull;
  StaticInt position;
  bool operator==(const IndexTerm&) const = default;
};
struct IndexAttr {
  std::vector<IndexTerm> terms;
  bool has_valid = false;  // operand after the indices: bool, broadcast to the result shape
  bool has_fill =
      false;  // last operand: scalar or tensor of the result shape; absent: zero of the dtype
  bool operator==(const IndexAttr&) const = default;
};
struct ScatterReduceAttr {
  IndexAttr index;
  CombineKind combine = CombineKind::kRegion;
  bool operator==(const ScatterReduceAttr&) const = default;
};
struct AtomicAttr {
  IndexAttr index;
  RmwKind rmw = RmwKind::kExchange;  // atomic_rmw only
  MemoryOrder order = MemoryOrder::kRelaxed;
  bool operator==(const AtomicAttr&) const = default;
};

using Attributes =
    std::variant<NoAttr, ConstantAttr, ConstexprAttr, AxisAttr, AxesAttr, SubregionAttr, CallAttr,
                 UnaryAttr, BinaryAttr, CompareAttr, ReduceAttr, ScanAttr, RegionAttr, ContractAttr,
                 ScaledAttr, SparseAttr, FormatAttr, IndexAttr, ScatterReduceAttr, AtomicAttr>;

}  // namespace intent
