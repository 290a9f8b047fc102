#pragma once

// Host memory of other libraries' arrays through DLPack, as memory that kernels use. The package's
// dlpack.py says why an array will not do; this unit only knows those that will.

#include <nanobind/nanobind.h>

#include <optional>

#include "client/python/core/arrays.h"

namespace intent::python {

// The memory of an object with __dlpack__ and without __array_interface__, kept by the view;
// nothing for everything else, and where an exporter cannot say that it may be written to. Needs
// the GIL.
std::optional<ArrayView> ReadDlpack(PyObject* value, const ArrayRules& rules);

}  // namespace intent::python
