#pragma once

// Arguments of one call made from the command line: arrays from files, filled or generated ones,
// scalars. Shapes that nobody gives follow from the symbols of those that somebody gives.
// Deterministic: equal flags give equal bytes.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cpp/client.h"
#include "client/cpp/intentc/npy.h"
#include "intent/compile/v1/compile.pb.h"
#include "intent/execute/v1/execute.pb.h"

namespace intent::client {

struct ArgumentFlags {
  std::map<std::string, std::string> values;  // by name or position: argument_spec.h
  std::map<std::string, int64_t> sizes;       // by symbol's name
};

struct ArgumentNames {
  std::vector<std::string> parameters;  // of runtime parameters; missing ones are numbered
  std::vector<std::string> symbols;     // missing ones are s0, s1, ...
};

class KernelArguments {
 public:
  // InvalidArgument, in the author's names, when a flag fits no parameter or two shapes disagree.
  static absl::StatusOr<KernelArguments> Make(const compile::v1::Manifest& manifest,
                                              const ArgumentNames& names,
                                              const ArgumentFlags& flags);

  struct Parameter {
    std::string name;
    bool is_view = false;
    bool written = false;  // Out or InOut
    DType dtype = DType::kBool;
    Array array;  // of views
  };
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const std::vector<execute::v1::Argument>& arguments() const { return arguments_; }

  // One per view, in order; they point into the arrays.
  std::vector<HostAllocation> Allocations();

 private:
  std::vector<Parameter> parameters_;
  std::vector<execute::v1::Argument> arguments_;
};

}  // namespace intent::client
