#pragma once

#include <cstdint>

#include "compiler/ir/module.h"

namespace intent {

// One constexpr parameter's value in a compile.
struct Binding {
  uint32_t parameter = 0;  // position among the module's constexpr parameters
  ConstexprValue value;
};

}  // namespace intent
