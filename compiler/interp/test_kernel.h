#pragma once

// Kernels in textual KIR for tests: parsed, verified and run on vectors.

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/interp/interp.h"
#include "compiler/interp/strided.h"
#include "compiler/ir/parse.h"
#include "compiler/numerics/scalar.h"
#include "compiler/verify/verify.h"

namespace intent::interp::testing {

template <typename T>
constexpr DType DTypeOf() {
  if constexpr (std::is_same_v<T, float>) return DType::kF32;
  if constexpr (std::is_same_v<T, double>) return DType::kF64;
  if constexpr (std::is_same_v<T, int8_t>) return DType::kI8;
  if constexpr (std::is_same_v<T, int16_t>) return DType::kI16;
  if constexpr (std::is_same_v<T, int32_t>) return DType::kI32;
  if constexpr (std::is_same_v<T, int64_t>) return DType::kI64;
  if constexpr (std::is_same_v<T, uint8_t>) return DType::kU8;
  if constexpr (std::is_same_v<T, uint16_t>) return DType::kU16;
  if constexpr (std::is_same_v<T, uint32_t>) return DType::kU32;
  if constexpr (std::is_same_v<T, uint64_t>) return DType::kU64;
}

// A view of a vector, dense unless strides are given. `dtype` may differ from T where T holds bits.
template <typename T>
ViewArgument View(std::vector<T>& data, std::vector<int64_t> extents,
                  std::vector<int64_t> strides = {}, int64_t offset = 0,
                  DType dtype = DTypeOf<T>()) {
  if (strides.empty()) strides = DenseStrides(extents);
  return {.dtype = dtype,
          .allocation = data.data(),
          .allocation_bytes = static_cast<int64_t>(data.size() * sizeof(T)),
          .offset = offset,
          .extents = std::move(extents),
          .strides = std::move(strides)};
}
template <typename T>
ViewArgument View(std::vector<T>& data) {
  return View(data, {static_cast<int64_t>(data.size())});
}
// Bytes as bools.
inline ViewArgument Bools(std::vector<uint8_t>& data, std::vector<int64_t> extents) {
  return View(data, std::move(extents), {}, 0, DType::kBool);
}

inline ScalarValue Index(int64_t value) { return numerics::MakeIndex(value); }
inline ScalarValue F32(double value) { return numerics::MakeFloat(DType::kF32, value); }

class Kernel {
 public:
  // `signature` stands in the parentheses of the kernel, `body` in its braces without the return.
  Kernel(const std::string& signature, const std::string& body, const std::string& helpers = "")
      : Kernel(helpers + "kernel (" + signature + ") {\n" + body + "\nreturn\n}\n") {}
  explicit Kernel(const std::string& text) {
    ParsedModule parsed = ParseModule(text);
    for (const Diagnostic& diagnostic : parsed.diagnostics) ADD_FAILURE() << ToString(diagnostic);
    module_ = std::move(parsed.module);
    if (module_ == nullptr) return;
    for (const Diagnostic& diagnostic : Verify(*module_)) ADD_FAILURE() << ToString(diagnostic);
  }

  std::optional<RuntimeError> TryRun(const std::vector<Argument>& arguments,
                                     const Options& options = {}) const {
    if (module_ == nullptr || ::testing::Test::HasFailure()) {
      return RuntimeError{.message = "the kernel does not verify"};
    }
    return interp::Run(*module_, arguments, options);
  }
  void Run(const std::vector<Argument>& arguments) const {
    const auto error = TryRun(arguments);
    if (error) ADD_FAILURE() << NameOf(error->kind) << ": " << error->message;
  }

 private:
  std::unique_ptr<Module> module_;
};

}  // namespace intent::interp::testing
