// Loops, branches, parallel bodies, guards and scratch: compiled code against the tile interpreter.

#include <gtest/gtest.h>

#include <cstring>

#include "compiler/cpu/kernel_fixture.h"

namespace intent::cpu {
namespace {

std::vector<float> Numbers(int count) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) values.push_back(0.25f * static_cast<float>(i * i % 101 - 50));
  return values;
}

ViewArgument Floats(int count) { return Contiguous(BytesOf(Numbers(count)), 4); }

// y = x * a + y, in vectors with a masked tail.
constexpr char kSaxpy[] = R"(tile {
  view f32 rank 1 read
  view f32 rank 1 read write
  scalar f32
  %x: mem<f32> = view_base {view=0}
  %y: mem<f32> = view_base {view=1}
  %n: index = view_extent {view=0 axis=0}
  %a: f32 = scalar_arg {scalar=0}
  %zero: index = const 0
  %grain: index = const 64
  parallel(%zero, %n, %grain) (%b: index, %e: index) {
    %step: index = const 8
    for(%b, %e, %step) (%i: index) {
      %lanes: indexx8 = iota
      %at: indexx8 = splat(%i)
      %place: indexx8 = binary.add(%lanes, %at)
      %end: indexx8 = splat(%e)
      %mask: boolx8 = compare.lt(%place, %end)
      %xs: f32x8 = load(%x, %i, %mask) {stride=1 mask}
      %ys: f32x8 = load(%y, %i, %mask) {stride=1 mask}
      %as: f32x8 = splat(%a)
      %p: f32x8 = binary.mul(%xs, %as)
      %s: f32x8 = binary.add(%p, %ys)
      store(%y, %i, %s, %mask) {stride=1 mask}
      yield
    }
    yield
  }
})";

uint64_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

TEST(StructureTest, SaxpyOfEveryTail) {
  for (int count : {0, 1, 7, 8, 9, 64, 65, 130}) {
    ExpectSame(kSaxpy, {Floats(count), Floats(count)}, {BitsOf(1.5f)});
  }
}

TEST(StructureTest, ThreadsGiveTheSameAnswer) {
  const auto program = ParseOrDie(kSaxpy);
  const std::vector<ViewArgument> views = {Floats(1000), Floats(1000)};
  const Outcome serial = RunCompiled(*program, views, {BitsOf(3.0f)});
  const Outcome threaded =
      RunCompiled(*program, views, {BitsOf(3.0f)}, "native", 2, ThreadedRuntime());
  EXPECT_EQ(serial.allocations, threaded.allocations);
}

}  // namespace
}  // namespace intent::cpu
