#include "compiler/ir/kind_names.h"

namespace intent {
namespace {

constexpr std::string_view kOps[] = {
#define INTENT_OP(name, text, attr, effect, omin, omax, rmin, rmax) text,
#include "compiler/ir/ops.def"
#undef INTENT_OP
};
constexpr std::string_view kDTypes[] = {
#define INTENT_DTYPE(name, text, bits, bytes, cls) text,
#include "compiler/ir/dtypes.def"
#undef INTENT_DTYPE
};
constexpr std::string_view kUnary[] = {
#define INTENT_UNARY(name, text) text,
#include "compiler/ir/kinds.def"
#undef INTENT_UNARY
};
constexpr std::string_view kBinary[] = {
#define INTENT_BINARY(name, text) text,
#include "compiler/ir/kinds.def"
#undef INTENT_BINARY
};
constexpr std::string_view kCompare[] = {
#define INTENT_COMPARE(name, text) text,
#include "compiler/ir/kinds.def"
#undef INTENT_COMPARE
};
constexpr std::string_view kRmw[] = {
#define INTENT_RMW(name, text) text,
#include "compiler/ir/kinds.def"
#undef INTENT_RMW
};
constexpr std::string_view kOrder[] = {
#define INTENT_ORDER(name, text) text,
#include "compiler/ir/kinds.def"
#undef INTENT_ORDER
};
constexpr std::string_view kCombine[] = {
#define INTENT_COMBINE(name, text) text,
#include "compiler/ir/kinds.def"
#undef INTENT_COMBINE
};
constexpr std::string_view kTypes[] = {"none",   "scalar", "tensor", "tuple",
                                       "record", "view",   "buffer", "domain"};
constexpr std::string_view kAccess[] = {"in", "out", "inout"};
constexpr std::string_view kConstexprKinds[] = {"int", "float", "bool", "enum"};
constexpr std::string_view kConstexprOps[] = {
    "parameter", "literal", "negate",  "not", "add", "sub",   "mul", "floordiv",
    "mod",       "pow",     "truediv", "min", "max", "eq",    "ne",  "lt",
    "le",        "gt",      "ge",      "and", "or",  "select"};
constexpr std::string_view kScaled[] = {"e2m1_e8m0", "e2m1_e4m3", "e4m3_e8m0", "e4m3_e4m3"};
constexpr std::string_view kSparse[] = {"one_of_two", "two_of_four"};
constexpr std::string_view kQuantized[] = {"q4_k", "q8_k"};
constexpr std::string_view kIndexTerms[] = {"full",   "static", "value",
                                            "region", "slice",  "new_axis"};

}  // namespace

// clang-format off
template <> std::span<const std::string_view> NamesOf<OpKind>() { return kOps; }
template <> std::span<const std::string_view> NamesOf<DType>() { return kDTypes; }
template <> std::span<const std::string_view> NamesOf<UnaryKind>() { return kUnary; }
template <> std::span<const std::string_view> NamesOf<BinaryKind>() { return kBinary; }
template <> std::span<const std::string_view> NamesOf<CompareKind>() { return kCompare; }
template <> std::span<const std::string_view> NamesOf<RmwKind>() { return kRmw; }
template <> std::span<const std::string_view> NamesOf<MemoryOrder>() { return kOrder; }
template <> std::span<const std::string_view> NamesOf<CombineKind>() { return kCombine; }
template <> std::span<const std::string_view> NamesOf<TypeKind>() { return kTypes; }
template <> std::span<const std::string_view> NamesOf<Access>() { return kAccess; }
template <> std::span<const std::string_view> NamesOf<ConstexprKind>() { return kConstexprKinds; }
template <> std::span<const std::string_view> NamesOf<ConstexprOp>() { return kConstexprOps; }
template <> std::span<const std::string_view> NamesOf<ScaledFormat>() { return kScaled; }
template <> std::span<const std::string_view> NamesOf<SparseFormat>() { return kSparse; }
template <> std::span<const std::string_view> NamesOf<QuantFormat>() { return kQuantized; }
template <> std::span<const std::string_view> NamesOf<IndexTermKind>() { return kIndexTerms; }
// clang-format on

}  // namespace intent
