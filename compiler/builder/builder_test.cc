#include "compiler/builder/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/builder/testing.h"

namespace intent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// out[:] = a[:] * 2 + b[:]
TEST(KernelBuilder, MakesAVerifiedModuleOfAnElementwiseKernel) {
  KernelBuilder b;
  const Extent n = b.SymbolExtent("N");
  const Operand x = b.AddView("x", DType::kF32, {n}, Access::kIn, {});
  const Operand y = b.AddView("y", DType::kF32, {n}, Access::kIn, {});
  const Operand out = b.AddView("out", DType::kF32, {n}, Access::kOut, {});
  const Operand doubled = b.Binary(BinaryKind::kMul, b.Load(x, {}), Int(2));
  b.Store(out, {}, b.Binary(BinaryKind::kAdd, doubled, b.Load(y, {})));
  SourceMap map;
  const auto module = b.Finish(&map);
  EXPECT_THAT(Messages(b), ElementsAre());
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(Kinds(*module),
            "view_load constant broadcast binary view_load binary view_store return");
  EXPECT_THAT(map.parameter_names, ElementsAre("x", "y", "out"));
}

}  // namespace
}  // namespace intent
