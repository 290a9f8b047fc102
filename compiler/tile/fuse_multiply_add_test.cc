#include "compiler/tile/fuse_multiply_add.h"

#include <gtest/gtest.h>

#include "compiler/tile/parse.h"
#include "compiler/tile/print.h"
#include "compiler/tile/tile_builder.h"
#include "compiler/tile/verify_tile.h"

namespace intent::tile {
namespace {

int CountOf(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

int FusedIn(const std::string& product, const std::string& sum) {
  const auto program = Parse("tile { %x: f32 = const 1.5 %y: f32 = const 2.5 %p: f32 = " + product +
                             " %s: f32 = " + sum + " }");
  EXPECT_TRUE(program.ok()) << program.status();
  FuseMultiplyAdd(program->get());
  EXPECT_TRUE(VerifyTile(**program).ok()) << VerifyTile(**program);
  return CountOf(Print(**program), "fma(");
}

TEST(FuseMultiplyAddTest, SumsAndDifferencesOfProductsFuse) {
  for (const char* sum :
       {"binary.add(%p, %y)", "binary.add(%y, %p)", "binary.sub(%p, %y)", "binary.sub(%y, %p)"}) {
    EXPECT_EQ(FusedIn("binary.mul(%x, %y)", sum), 1) << sum;
  }
}

TEST(FuseMultiplyAddTest, ARoundingBoundaryIsNotCrossed) {
  for (const char* kind : {"add", "sub"}) {
    const std::string left = "binary." + std::string(kind) + "(%p, %y)";
    const std::string right = "binary." + std::string(kind) + "(%y, %p)";
    EXPECT_EQ(FusedIn("binary.mul(%x, %y) {rounds}", left), 0);
    EXPECT_EQ(FusedIn("binary.mul(%x, %y) {rounds}", right), 0);
    EXPECT_EQ(FusedIn("binary.mul(%x, %y)", left + " {rounds}"), 0);
    EXPECT_EQ(FusedIn("binary.mul(%x, %y)", right + " {rounds}"), 0);
  }
}

// The same product rounded on its own for one use stays fusable for another.
TEST(FuseMultiplyAddTest, ARoundedProductIsNotSharedWithOthers) {
  Program program;
  TileBuilder b(&program);
  const Id x = b.Const({DType::kF32, 0x3fc00000}), y = b.Const({DType::kF32, 0x40200000});
  const Id rounded = b.Rounded(BinaryKind::kMul, x, y);
  const Id free = b.Mul(x, y);
  EXPECT_NE(rounded, free);
  EXPECT_EQ(rounded, b.Rounded(BinaryKind::kMul, x, y));
  b.Add(rounded, x);
  b.Add(free, x);
  FuseMultiplyAdd(&program);
  EXPECT_EQ(CountOf(Print(program), "fma("), 1);
}

}  // namespace
}  // namespace intent::tile
