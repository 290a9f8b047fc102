#pragma once

// Random kernels that are well typed and valid, with arguments to call them with.
//
// A seed gives the same kernel on every machine. Kernels use every operation of KIR on every dtype
// that it admits, but never input whose result is unspecified. Floating values are kept to whole
// numbers small enough that sums and products are exact in any order and with or without fused
// multiply-adds; correctly rounded operations may follow where no freedom of order is left; library
// functions go to views of their own, which are compared within a tolerance. So every way to run
// the kernel must give the same bytes.

#include <cstdint>
#include <memory>

#include "compiler/ir/module.h"
#include "tests/support/kernel_runner.h"

namespace intent::testing {

struct GeneratedKernel {
  std::unique_ptr<Module> module;  // null: the generator wrote a kernel that the builder refused
  std::string refusal;
  bool may_fail = false;  // the last statement breaks a guarded rule, if it has any member
  CallData data;
};

GeneratedKernel GenerateKernel(uint64_t seed);

}  // namespace intent::testing
