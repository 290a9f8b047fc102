#pragma once

// The text of every enumerator of KIR, by position: what the text form prints and what names in
// kir.proto are made of (upper case, behind a prefix). Constant tables; thread-safe.

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "compiler/ir/module.h"

namespace intent {

// Names in order of the enumerators of E.
template <typename E>
std::span<const std::string_view> NamesOf();

template <typename E>
std::string_view KindName(E kind) {
  return NamesOf<E>()[static_cast<size_t>(kind)];
}

// nullopt: no enumerator of that name.
template <typename E>
std::optional<E> KindFromName(std::string_view name) {
  const std::span<const std::string_view> names = NamesOf<E>();
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<E>(i);
  }
  return std::nullopt;
}

// clang-format off
template <> std::span<const std::string_view> NamesOf<OpKind>();
template <> std::span<const std::string_view> NamesOf<DType>();
template <> std::span<const std::string_view> NamesOf<UnaryKind>();
template <> std::span<const std::string_view> NamesOf<BinaryKind>();
template <> std::span<const std::string_view> NamesOf<CompareKind>();
template <> std::span<const std::string_view> NamesOf<RmwKind>();
template <> std::span<const std::string_view> NamesOf<MemoryOrder>();
template <> std::span<const std::string_view> NamesOf<CombineKind>();
template <> std::span<const std::string_view> NamesOf<TypeKind>();
template <> std::span<const std::string_view> NamesOf<Access>();
template <> std::span<const std::string_view> NamesOf<ConstexprKind>();
template <> std::span<const std::string_view> NamesOf<ConstexprOp>();
template <> std::span<const std::string_view> NamesOf<ScaledFormat>();
template <> std::span<const std::string_view> NamesOf<SparseFormat>();
template <> std::span<const std::string_view> NamesOf<QuantFormat>();
template <> std::span<const std::string_view> NamesOf<IndexTermKind>();
// clang-format on

}  // namespace intent
