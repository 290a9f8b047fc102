#pragma once

// What generated kernels cover: operation (with its kind) x dtype x stride class of the views that
// its operands come from. Not thread-safe.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "tests/support/kernel_runner.h"

namespace intent::testing {

enum class StrideClass : uint8_t {
  kNone,  // no view feeds it
  kDense,
  kPermuted,
  kGapped,
  kNegative,
  kZero,
  kOverlapping,
  kEmpty,
  kRankZero,
};
inline constexpr int kStrideClasses = 9;

class Coverage {
 public:
  void Add(const Module& module, const CallData& data);

  // Operations by dtype, then operations by stride class; counts are operations in kernels.
  std::string Tables() const;
  // Operations and kinds that every kernel lacks.
  std::vector<std::string> Missing() const;

 private:
  using Classes = std::array<int64_t, kStrideClasses>;

  void AddBlock(const Function& function, const Block& block, std::vector<uint32_t>* classes);

  std::map<std::string, std::map<DType, Classes>> counts_;
};

}  // namespace intent::testing
