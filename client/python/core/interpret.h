#pragma once

#include <nanobind/nanobind.h>

namespace intent::python {

// `interpret`: runs a traced kernel in this process by the reference interpreter.
void BindInterpret(nanobind::module_& module);

}  // namespace intent::python
