#pragma once

// CPU artifacts in this process: their code mapped here, called on the caller's own memory. Nothing
// is copied and no service is asked.

#include <nanobind/nanobind.h>

namespace intent::python {

// `LocalKernel`, `LocalCall` and `missing_on_host`, for intent/local.py, and `c_header`.
void BindLocalKernel(nanobind::module_& module);

}  // namespace intent::python
