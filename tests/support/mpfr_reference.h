#pragma once

// Test support: exact values of the language's floating functions, from MPFR, and distances to them
// in units in the last place of any format of KIR. MPFR has no i0: its power series is summed in
// the precision of the result and 40 bits more.

#include <mpfr.h>

#include "compiler/ir/op_attributes.h"

namespace intent::reference {

// A number of a fixed precision; owns it. Not thread-safe, not copyable.
class Real {
 public:
  explicit Real(int precision) { mpfr_init2(value_, precision); }
  ~Real() { mpfr_clear(value_); }
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;
  mpfr_ptr get() { return value_; }
  mpfr_srcptr get() const { return value_; }

 private:
  mpfr_t value_;
};

// Sets `result` to the function at `x`, rounded to the precision of `result`, with the special
// values of seed 000 chapter 5. Floating kinds only.
void Evaluate(UnaryKind kind, const Real& x, Real* result);
// `dtype` is the operands' format: float_floor_div is the floor of a quotient rounded to it
// (arithmetic.md).
void Evaluate(BinaryKind kind, DType dtype, const Real& x, const Real& y, Real* result);

// The value of a floating scalar, exactly.
void Set(const ScalarValue& x, Real* value);

// To the nearest value of the format, ties to even, by the rules of the ordinary cast (seed 000
// chapter 5.2).
ScalarValue Round(DType dtype, const Real& value);

// |got - exact| in units in the last place that the format has at `exact`. Overflow counts as the
// power of two above the largest number; NaN, infinity, the sign of zero and values that a format
// lacks must agree: otherwise 1e9.
double UlpError(const ScalarValue& got, const Real& exact);

}  // namespace intent::reference
