#pragma once

// Enumerators of KIR to and from the numbers that kir.proto fixes, tied by name. Part of the codec;
// only its files include it. Thread-safe.

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "compiler/ir/kind_names.h"
#include "intent/kir/v1/kir.pb.h"

namespace intent::wire {

namespace pb = ::intent::kir::v1;

// The descriptor and the prefix of names of each enum.
struct EnumInfo {
  const google::protobuf::EnumDescriptor* descriptor;
  std::string_view prefix;
};
template <typename E>
EnumInfo InfoOfEnum();

// clang-format off
template <> inline EnumInfo InfoOfEnum<OpKind>() { return {pb::OpKind_descriptor(), "OP_"}; }
template <> inline EnumInfo InfoOfEnum<DType>() { return {pb::DType_descriptor(), "DTYPE_"}; }
template <> inline EnumInfo InfoOfEnum<UnaryKind>() { return {pb::UnaryKind_descriptor(), "UNARY_"}; }
template <> inline EnumInfo InfoOfEnum<BinaryKind>() { return {pb::BinaryKind_descriptor(), "BINARY_"}; }
template <> inline EnumInfo InfoOfEnum<CompareKind>() { return {pb::CompareKind_descriptor(), "COMPARE_"}; }
template <> inline EnumInfo InfoOfEnum<RmwKind>() { return {pb::RmwKind_descriptor(), "RMW_"}; }
template <> inline EnumInfo InfoOfEnum<MemoryOrder>() { return {pb::MemoryOrder_descriptor(), "ORDER_"}; }
template <> inline EnumInfo InfoOfEnum<CombineKind>() { return {pb::CombineKind_descriptor(), "COMBINE_"}; }
template <> inline EnumInfo InfoOfEnum<TypeKind>() { return {pb::TypeKind_descriptor(), "TYPE_"}; }
template <> inline EnumInfo InfoOfEnum<Access>() { return {pb::Access_descriptor(), "ACCESS_"}; }
template <> inline EnumInfo InfoOfEnum<ConstexprKind>() { return {pb::ConstexprKind_descriptor(), "CONSTEXPR_"}; }
template <> inline EnumInfo InfoOfEnum<ConstexprOp>() { return {pb::ConstexprOp_descriptor(), "CONSTEXPR_OP_"}; }
template <> inline EnumInfo InfoOfEnum<ScaledFormat>() { return {pb::ScaledFormat_descriptor(), "SCALED_"}; }
template <> inline EnumInfo InfoOfEnum<SparseFormat>() { return {pb::SparseFormat_descriptor(), "SPARSE_"}; }
template <> inline EnumInfo InfoOfEnum<QuantFormat>() { return {pb::QuantizedFormat_descriptor(), "QUANTIZED_"}; }
template <> inline EnumInfo InfoOfEnum<IndexTermKind>() { return {pb::IndexTermKind_descriptor(), "INDEX_"}; }
// clang-format on

class EnumTable {
 public:
  EnumTable(EnumInfo info, std::span<const std::string_view> names);

  int ToWire(size_t kind) const { return to_wire_[kind]; }
  // nullopt: unspecified or unknown.
  std::optional<size_t> FromWire(int number) const;

 private:
  std::vector<int> to_wire_;
  std::vector<int> from_wire_;  // -1: none
};

template <typename E>
const EnumTable& TableOf() {
  static const EnumTable* const table = new EnumTable(InfoOfEnum<E>(), NamesOf<E>());
  return *table;
}

template <typename E>
int ToWire(E kind) {
  return TableOf<E>().ToWire(static_cast<size_t>(kind));
}

template <typename E>
std::optional<E> FromWire(int number) {
  const std::optional<size_t> kind = TableOf<E>().FromWire(number);
  if (!kind) return std::nullopt;
  return static_cast<E>(*kind);
}

}  // namespace intent::wire
