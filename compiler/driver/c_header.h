#pragma once

// A C header for a CPU artifact: a typed structure of its arguments and a function that checks
// them, as bind_arguments.h does for other callers, and runs the kernel. A program needs the
// header, the artifact's shared object and libm, nothing else. Also for C++.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "intent/compile/v1/compile.pb.h"

namespace intent {

// How the author calls things. What is no identifier of C gets another name.
struct CHeaderNames {
  std::string kernel;
  std::vector<std::string> parameters;  // runtime parameters; missing ones are numbered
  std::vector<std::string> symbols;     // shape symbols, for comments
};

// kFailedPrecondition: not a CPU artifact. kInvalidArgument: a manifest or shared object of another
// origin.
absl::StatusOr<std::string> CHeader(const compile::v1::Manifest& manifest,
                                    std::string_view shared_object, const CHeaderNames& names);

}  // namespace intent
