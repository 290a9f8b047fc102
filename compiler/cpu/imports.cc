#include "compiler/cpu/imports.h"

#include <cmath>
#include <cstring>

namespace intent::cpu {
namespace {

using Real = double (*)(double);
using Real2 = double (*)(double, double);

void* Of(Real function) { return reinterpret_cast<void*>(function); }
void* Of(Real2 function) { return reinterpret_cast<void*>(function); }

}  // namespace

const std::vector<Import>& AllowedImports() {
  static const auto* const kImports = new std::vector<Import>{
      {"asin", Of(::asin)},
      {"cos", Of(::cos)},
      {"erf", Of(::erf)},
      {"erfc", Of(::erfc)},
      {"exp", Of(::exp)},
      {"exp2", Of(::exp2)},
      {"fma", reinterpret_cast<void*>(static_cast<double (*)(double, double, double)>(::fma))},
      {"fmod", Of(::fmod)},
      {"log", Of(::log)},
      {"log1p", Of(::log1p)},
      {"memcpy", reinterpret_cast<void*>(&::memcpy)},
      {"memmove", reinterpret_cast<void*>(&::memmove)},
      {"memset", reinterpret_cast<void*>(&::memset)},
      {"pow", Of(::pow)},
      {"sin", Of(::sin)},
      {"tanh", Of(::tanh)},
  };
  return *kImports;
}

}  // namespace intent::cpu
