#include "client/python/core/arrays.h"

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>

namespace intent::python {

namespace nb = nanobind;

namespace {

bool Matches(PyArray_Descr* found, const nb::object& wanted) {
  auto* descr = reinterpret_cast<PyArray_Descr*>(wanted.ptr());
  return found == descr || PyArray_EquivTypes(found, descr) != 0;
}

// What an array's memory belongs to.
const PyObject* OwnerOf(PyObject* array) {
  while (true) {
    PyObject* const base = PyArray_BASE(reinterpret_cast<PyArrayObject*>(array));
    if (base == nullptr) return array;
    if (!PyArray_Check(base)) return base;
    array = base;
  }
}

}  // namespace

void LoadNumpy() {
  static bool loaded = false;  // under the GIL
  if (loaded) return;
  if (_import_array() < 0) throw nb::python_error();
  loaded = true;
}

std::optional<ArrayView> ReadArray(PyObject* value, const ArrayRules& rules, bool subclasses) {
  if (!PyArray_CheckExact(value) && !(subclasses && PyArray_Check(value))) return std::nullopt;
  auto* array = reinterpret_cast<PyArrayObject*>(value);
  PyArray_Descr* const descr = PyArray_DESCR(array);
  if (!Matches(descr, rules.dtype) && (rules.carrier.is_none() || !Matches(descr, rules.carrier))) {
    return std::nullopt;
  }
  const int rank = PyArray_NDIM(array);
  if (static_cast<size_t>(rank) != rules.rank) return std::nullopt;
  if (rules.written && !PyArray_ISWRITEABLE(array)) return std::nullopt;
  const npy_intp* extents = PyArray_DIMS(array);
  const npy_intp* strides = PyArray_STRIDES(array);
  const bool empty = std::find(extents, extents + rank, 0) != extents + rank;
  if (!empty && !PyArray_ISALIGNED(array)) return std::nullopt;

  const int64_t item_bytes = PyArray_ITEMSIZE(array);
  ArrayView view;
  view.data = view.low = PyArray_BYTES(array);
  view.high = empty ? view.low : view.low + item_bytes;
  view.extents.assign(extents, extents + rank);
  view.strides.assign(static_cast<size_t>(rank), 0);
  view.owner = OwnerOf(value);
  if (empty) return view;
  for (int axis = 0; axis < rank; ++axis) {
    if (extents[axis] <= 1) continue;
    if (strides[axis] % item_bytes != 0) return std::nullopt;
    view.strides[static_cast<size_t>(axis)] = strides[axis] / item_bytes;
    // NumPy keeps within the address space whatever an array spans.
    const int64_t span = (extents[axis] - 1) * strides[axis];
    (span < 0 ? view.low : view.high) += span;
  }
  return view;
}

nb::object NewArray(const ArrayRules& rules, const std::vector<int64_t>& extents) {
  auto* descr = reinterpret_cast<PyArray_Descr*>(rules.dtype.inc_ref().ptr());  // Zeros takes it
  const std::vector<npy_intp> shape(extents.begin(), extents.end());
  PyObject* array = PyArray_Zeros(static_cast<int>(shape.size()),
                                  const_cast<npy_intp*>(shape.data()), descr, /*fortran=*/0);
  if (array == nullptr) throw nb::python_error();
  return nb::steal(array);
}

}  // namespace intent::python
