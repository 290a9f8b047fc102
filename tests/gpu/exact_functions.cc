#include <iostream>

#include "tests/gpu/function_runner.h"
#include "tests/gpu/functions_check.h"

namespace intent::gpu_test {
namespace {

constexpr DType kDTypes[] = {
#define INTENT_DTYPE(name, text, bits, bytes, cls) DType::name,
#include "compiler/ir/dtypes.def"
#undef INTENT_DTYPE
};

struct Result {
  const cuda::DeviceFunction* function;
  const cuda::DeviceOperands* operands;
  std::vector<uint8_t> got;
};

}  // namespace

void CheckExactFunctions(const DeviceSession& session, const Images& images, Tally* tally) {
  for (Conversions conversions : {Conversions::kNative, Conversions::kPortable}) {
    const std::string how = conversions == Conversions::kPortable ? " (portable)" : "";
    for (DType dtype : kDTypes) {
      FunctionRunner runner(session, images, dtype, conversions);
      std::vector<Result> results;
      const cuda::DeviceOperands* uploaded = nullptr;
      for (size_t k = 0; k < runner.functions().size(); ++k) {
        const cuda::DeviceFunction& function = runner.functions()[k];
        if (!function.IsExact()) continue;
        const cuda::DeviceOperands& operands = cuda::OperandsOf(function);
        if (&operands != uploaded) runner.SetOperands(operands);
        uploaded = &operands;
        results.push_back({&function, &operands, runner.Run(k)});
      }
      InParallel(results.size(), [&](size_t i) {
        const Result& r = results[i];
        const std::string failure = cuda::FirstDifference(*r.function, *r.operands, r.got);
        tally->Add(failure.empty() ? "" : failure + how);
      });
    }
  }
}

}  // namespace intent::gpu_test
