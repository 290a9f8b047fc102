#pragma once

// A finished kernel: its bytes, and the map that joins ordinals with the author's places.

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "compiler/ir/module.h"

namespace intent::python {

struct Program {
  std::unique_ptr<Module> module;
  SourceMap map;
};

void BindProgram(nanobind::module_& module);

}  // namespace intent::python
