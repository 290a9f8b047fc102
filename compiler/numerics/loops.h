#pragma once

// Pointwise operations over arrays of stored elements. Elements lie StorageBytes(dtype) apart and
// are aligned for their size. A stride is 1, or 0 for one element that serves all. An output may be
// the same array as an input of equal element size and stride 1, and overlaps inputs in no other
// way.
//
// A kind that the language does not define for the dtype is a broken invariant of the caller: ask
// IsDefined first where the module is not verified. Invalid arithmetic input (seed 000 chapters 4
// and 5.2) yields some value of the type. Functions are pure and safe in many threads.

#include <cstddef>

#include "compiler/ir/op_attributes.h"

namespace intent::numerics {

bool IsDefined(UnaryKind kind, DType dtype);
bool IsDefined(BinaryKind kind, DType dtype);
bool IsDefined(CompareKind kind, DType dtype);

// approximate and flush_to_zero change f32 exp2, tanh and div only (seed 000 chapter 5.1).
struct Approximation {
  bool approximate = false;
  bool flush_to_zero = false;
};

void UnaryLoop(UnaryKind kind, DType dtype, Approximation mode, const void* in, void* out,
               size_t count);
void BinaryLoop(BinaryKind kind, DType dtype, Approximation mode, const void* lhs, int lhs_stride,
                const void* rhs, int rhs_stride, void* out, size_t count);
// Writes bools, one byte 0 or 1 each.
void CompareLoop(CompareKind kind, DType dtype, const void* lhs, int lhs_stride, const void* rhs,
                 int rhs_stride, void* out, size_t count);

// Seed 000 chapter 5.2 and language.md chapter 16. Every pair of dtypes.
void CastLoop(DType from, DType to, const void* in, void* out, size_t count);
void SaturatingCastLoop(DType from, DType to, const void* in, void* out, size_t count);

}  // namespace intent::numerics
