#pragma once

// CPU artifacts in this process: their code mapped here, called on the caller's own memory. Nothing
// is copied and no service is asked.

#include <nanobind/nanobind.h>

namespace intent::python {

// `LocalKernel`, `LocalCall` and `missing_on_host`; see intent/local.py, which is their only
// caller.
void BindLocalKernel(nanobind::module_& module);

}  // namespace intent::python
