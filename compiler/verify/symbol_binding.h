#pragma once

// The shape symbols of a helper at one call, bound by matching its parameters' types with the
// arguments' types. A plain symbol binds at its first occurrence; other extents must then agree.

#include <optional>
#include <unordered_map>

#include "compiler/ir/type.h"

namespace intent {

class SymbolBinding {
 public:
  // False if the argument does not have the parameter's type. The access of views is not compared.
  bool Match(const Type& parameter, const Type& argument);

  // Symbols replaced; one that no parameter has bound gives an invalid extent.
  Type Apply(const Type& type) const;
  Extent Find(uint32_t symbol) const;

 private:
  bool MatchExtent(const Extent& parameter, const Extent& argument);

  std::unordered_map<uint32_t, Extent> symbols_;
};

}  // namespace intent
