#include "client/python/core/builder_bindings.h"

#include "client/python/core/builder_class.h"

namespace intent::python {

namespace nb = nanobind;

void BindBuilder(nb::module_& module) {
  nb::class_<RegionHandle>(module, "Region", "A finished block that no operation owns yet");
  BuilderClass builder(module, "Builder", "Makes the KIR of one kernel; see builder.h");
  BindFrame(builder);
  BindValues(builder);
  BindStructured(builder);
}

}  // namespace intent::python
