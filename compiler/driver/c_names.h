#pragma once

// What C calls things.

#include <string>

#include "compiler/ir/dtype.h"

namespace intent {

// Whether a name is an identifier of C and C++ that neither keeps for itself.
bool IsIdentifier(const std::string& name);

// The type of elements in memory; formats that C lacks are their bits in unsigned integers. Null
// for dtypes that no array has.
const char* CType(DType dtype);

}  // namespace intent
