#pragma once

// Random kernels that are well typed, in bounds and exact, with arguments to call them with.
//
// A seed gives the same kernel on every machine. Integer arithmetic is unrestricted, but never
// invalid input. Floating values are kept to whole numbers small enough that sums and products are
// exact in any order and with or without fused multiply-adds; correctly rounded operations may
// follow where no freedom of order is left; library functions go to views of their own, which are
// compared within a tolerance. So every way to run the kernel must give the same bytes.

#include <cstdint>
#include <memory>

#include "compiler/ir/module.h"
#include "tests/support/kernel_runner.h"

namespace intent::testing {

struct GeneratedKernel {
  std::unique_ptr<Module> module;  // null: the generator wrote a kernel that the builder refused
  std::string refusal;
  CallData data;
};

GeneratedKernel GenerateKernel(uint64_t seed);

}  // namespace intent::testing
