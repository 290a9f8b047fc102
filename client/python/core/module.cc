// The extension module intent._core: the compiler's core for the Python package.

#include <nanobind/nanobind.h>

#include "client/python/core/builder_bindings.h"
#include "client/python/core/cuda_launch.h"
#include "client/python/core/interpret.h"
#include "client/python/core/local_kernel.h"
#include "client/python/core/program.h"
#include "client/python/core/types.h"

NB_MODULE(_core, module) {
  // Threads that run until the process ends may hold objects then.
  nanobind::set_leak_warnings(false);
  module.doc() = "The compiler's core: KernelBuilder, KIR's wire and text forms, kernels in this process";
  intent::python::BindTypes(module);
  intent::python::BindProgram(module);
  intent::python::BindBuilder(module);
  intent::python::BindInterpret(module);
  intent::python::BindLocalKernel(module);
  intent::python::BindCudaLaunch(module);
}
