#pragma once

#include <nanobind/nanobind.h>

namespace intent::python {

// The classes Type and Operand.
void BindTypes(nanobind::module_& module);

}  // namespace intent::python
