#pragma once

// What casts give, in exact integer arithmetic on decoded values (seed 000 chapter 5.2, language.md
// chapter 16, arithmetic.md). Written for tests from the specification alone: nothing here is
// shared with compiler/numerics.

#include <optional>

#include "compiler/ir/dtype.h"

namespace intent::oracle {

using Bits = unsigned __int128;

// A value of any dtype: a special one, or (-1)^negative * significand * 2^exponent.
struct Exact {
  enum class Kind : uint8_t { kNumber, kInfinity, kNan } kind = Kind::kNumber;
  bool negative = false;  // of zero and infinity, too
  Bits significand = 0;
  int exponent = 0;
};

// The value of `code`, whose bits beyond the dtype's width are zero.
Exact Decode(DType dtype, Bits code);

struct Expectation {
  bool any = false;  // the input is invalid: any value of the dtype will do
  bool nan = false;  // any NaN of the dtype
  Bits code = 0;

  bool Admits(DType dtype, Bits got) const;
};

Expectation Cast(DType from, DType to, Bits code);
// Neither dtype is bool.
Expectation SaturatingCast(DType from, DType to, Bits code);

}  // namespace intent::oracle
