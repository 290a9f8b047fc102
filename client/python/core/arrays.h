#pragma once

// NumPy arrays as memory that kernels use, and back. The one unit that knows NumPy's C interface.
// All of it needs the GIL, and LoadNumpy first.

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "compiler/ir/dtype.h"

namespace intent::python {

// Imports NumPy. Raises what the import raises.
void LoadNumpy();

// The memory of an array. Whoever uses it keeps the array, and the view where that has a keeper.
struct ArrayView {
  char* data = nullptr;  // the element at coordinates 0, 0, ...
  char* low = nullptr;   // [low, high): what its elements span
  char* high = nullptr;
  absl::InlinedVector<int64_t, 4> extents;
  absl::InlinedVector<int64_t, 4> strides;  // in elements; 0 along axes of at most one element
  const void* owner = nullptr;              // the object whose memory it is; only to be compared
  nanobind::object keeper;                  // of memory that an exporter lends
};

// What an array must be for a view parameter.
struct ArrayRules {
  DType element = DType::kBool;
  nanobind::object dtype;    // a numpy.dtype
  nanobind::object carrier;  // another that is as good, or None
  size_t rank = 0;
  bool written = false;
};

// The memory of a NumPy array that keeps the rules; nothing for everything else. With `subclasses`,
// arrays of subclasses are arrays, too.
std::optional<ArrayView> ReadArray(PyObject* value, const ArrayRules& rules, bool subclasses);

// A new array of zeros; raises what NumPy raises.
nanobind::object NewArray(const ArrayRules& rules, const std::vector<int64_t>& extents);

}  // namespace intent::python
