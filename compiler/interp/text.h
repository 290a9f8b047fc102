#pragma once

// Values and places as error messages show them.

#include <cstdint>
#include <span>
#include <string>

#include "compiler/interp/value.h"

namespace intent::interp {

std::string Text(__int128 value);
// "-7", "1.5", "nan", "true".
std::string Text(const ScalarValue& value);
// The coordinates of a row-major position: "[1, 2]".
std::string PlaceText(const Shape& shape, int64_t position);
// Scalars and elements of a product's leaves, the first few: "(1.5, [1, 2, 3, ...])".
std::string Shortened(std::span<const RuntimeValue> leaves);
// "parameter 2" or "a buffer".
std::string OwnerText(const Resource& resource);
// The element at an offset from the origin, in elements: "element [1, 2] of parameter 0".
std::string ElementText(const Resource& resource, int64_t offset);

}  // namespace intent::interp
