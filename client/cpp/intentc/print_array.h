#pragma once

// Arrays as people read them.

#include <string>

#include "client/cpp/intentc/npy.h"

namespace intent::client {

// "f32 [ 2 3 ] 1.0 2.0 3.0 ...": dtype, shape and the first elements on one line.
std::string Summarize(const Array& array, DType dtype);

// Every element in nested brackets, a row on a line; beyond `max_elements` what is left is counted.
std::string FormatArray(const Array& array, DType dtype, size_t max_elements = 10'000);

}  // namespace intent::client
