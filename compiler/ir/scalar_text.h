#pragma once

// Constants as text and back, bit for bit. Thread-safe, independent of the locale.
//
//   bool: true, false. Integers: decimal. Floats: the shortest decimal that reads back to the same
//   value (of the value as f64, for formats narrower than f32), always with a point or an exponent;
//   inf, -inf; NaNs and whatever else has no decimal as bits(0x7fc00001).

#include <optional>
#include <string>
#include <string_view>

#include "compiler/ir/op_attributes.h"

namespace intent {

std::string ScalarToText(const ScalarValue& value);

// Also reads integers as floats, and decimals that are no value of the format, which round to
// nearest even (through f64 for formats narrower than f32). nullopt: not a literal, or out of the
// dtype's range.
std::optional<ScalarValue> ScalarFromText(DType dtype, std::string_view text);

}  // namespace intent
