#include "compiler/tile/statistics.h"

#include <gtest/gtest.h>

#include "compiler/tile/fuse_multiply_add.h"
#include "compiler/tile/parse.h"

namespace intent::tile {
namespace {

TEST(StatisticsTest, EveryKindIsCountedOnceWhereverItStands) {
  auto program = Parse(R"(tile {
    view f32 rank 1 read write
    scalar index
    %m: mem<f32> = view_base {view=0}
    %n: index = scalar_arg {scalar=0}
    %z: index = const 0
    %one: index = const 1
    %hundred: index = const 100
    %fixed: mem<f32> = alloc(%hundred)
    %open: mem<f64> = alloc(%n)
    %stack: mem<f32> = stack_alloc {count=4}
    for(%z, %n, %one) (%i: index) {
      %x: f32x8 = load(%m, %i) {stride=1}
      %p: f32x8 = binary.mul(%x, %x)
      %s: f32x8 = binary.add(%p, %x)
      store(%m, %i, %s) {stride=1}
      yield()
    }
  })");
  ASSERT_TRUE(program.ok()) << program.status();
  Statistics before = StatisticsOf(**program);
  EXPECT_EQ(before.loops, 1);
  EXPECT_EQ(before.parallel_loops, 0);
  EXPECT_EQ(before.most_lanes, 8);
  EXPECT_EQ(before.separate, 1);
  EXPECT_EQ(before.fused, 0);
  EXPECT_EQ(before.allocations, 2);
  EXPECT_EQ(before.fixed_bytes, 400);
  EXPECT_EQ(before.unknown_sizes, 1);
  EXPECT_EQ(before.stack_bytes, 16);
  FuseMultiplyAdd(program->get());
  const Statistics after = StatisticsOf(**program);
  EXPECT_EQ(after.separate, 0);
  EXPECT_EQ(after.fused, 1);
}

}  // namespace
}  // namespace intent::tile
