#pragma once

#include <nanobind/nanobind.h>

namespace intent::python {

// The class Builder, in three parts by kind of operation.
void BindBuilder(nanobind::module_& module);

}  // namespace intent::python
