#pragma once

// A kernel and its call as a section of tests/conformance/run, ready to paste.

#include <string>

#include "tests/support/kernel_runner.h"

namespace intent::testing {

// `remark` stands above the kernel. What the interpreter gives is what the section expects.
std::string SectionOf(const std::string& title, const std::string& remark, const Module& module,
                      const CallData& data);

}  // namespace intent::testing
