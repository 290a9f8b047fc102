// Domains, control, helpers and products (language.md chapters 3, 5 and 11).

#include <gmock/gmock.h>

#include "compiler/interp/test_kernel.h"

namespace intent::interp::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

TEST(Control, OrderedSumIsSerial) {
  const Kernel kernel("%x: view<in, f32, [s0]>, %y: view<out, f32, []>", R"(
    %0 = constant 0 : index
    %1 = constant 1 : index
    %n = dim %x axis 0 : index
    %d = domain %0, %n, %1 : domain<[s0]>
    %z = constant 0.0 : f32
    %r = for %i = %d carry(%s = %z : f32) {
      %v = view_load %x [%i] : f32
      %t = binary add %s, %v : f32
      yield %t
    } : tuple<f32>
    %f = extract %r axis 0 : f32
    view_store %y [] = %f)");
  std::vector<float> x{16777216, 1, 1, -16777216}, y(1);
  kernel.Run({View(x), View(y, {})});
  EXPECT_EQ(y[0], 0);  // each 1 is lost to the serial accumulator
}

TEST(Control, WhileAndIf) {  // Collatz steps
  const Kernel kernel("%n: i64, %y: view<out, i64, []>", R"(
    %zero = constant 0 : i64
    %one = constant 1 : i64
    %two = constant 2 : i64
    %three = constant 3 : i64
    %r = while (%x = %n : i64, %k = %zero : i64) {
      %c = compare ne %x, %one : bool
      yield %c
    } do (%x2: i64, %k2: i64) {
      %m = binary mod %x2, %two : i64
      %even = compare eq %m, %zero : bool
      %b = if %even {
        %h = binary floordiv %x2, %two : i64
        yield %h
      } else {
        %t = binary mul %x2, %three : i64
        %u = binary add %t, %one : i64
        yield %u
      } : tuple<i64>
      %next = extract %b axis 0 : i64
      %more = binary add %k2, %one : i64
      yield %next, %more
    } : tuple<i64, i64>
    %f = extract %r axis 1 : i64
    view_store %y [] = %f)");
  std::vector<int64_t> y(1);
  kernel.Run({numerics::MakeInteger(DType::kI64, 27), View(y, {})});
  EXPECT_EQ(y[0], 111);
}

TEST(Control, ParallelOverAProductOfDomains) {
  const Kernel kernel("%y: view<out, index, [s0, s1]>", R"(
    %0 = constant 0 : index
    %1 = constant 1 : index
    %n = dim %y axis 0 : index
    %m = dim %y axis 1 : index
    %a = domain %0, %n, %1 : domain<[s0]>
    %b = domain %0, %m, %1 : domain<[s1]>
    %d = domain_product %a, %b : domain<[s0, s1]>
    parallel %i, %j = %d {
      %t = constant 10 : index
      %u = binary mul %i, %t : index
      %v = binary add %u, %j : index
      view_store %y [%i, %j] = %v
      yield
    })");
  std::vector<int64_t> y(6);
  const auto view = View(y, {2, 3}, {}, 0, DType::kIndex);
  kernel.Run({view});
  EXPECT_THAT(y, ElementsAre(0, 1, 2, 10, 11, 12));
  kernel.Run({View(y, {0, 3}, {}, 0, DType::kIndex)});
}

TEST(Domains, SubregionsKeepAbsoluteCoordinatesAndAreNotClamped) {
  const Kernel kernel("%x: view<in, f32, [s0]>, %b: index, %e: index, %y: view<out, index, [2]>",
                      R"(
    %0 = constant 0 : index
    %1 = constant 1 : index
    %n = dim %x axis 0 : index
    %d = domain %0, %n, %1 : domain<[s0]>
    %p = subregion %d [%b:%e] : domain<[%e - %b]>
    %i = indices %p : tensor<index, [%e - %b]>
    %s = reduce %i, %0 axes [0] combine add : index
    view_store %y [%0] = %s
    %last = region_end %p : index
    view_store %y [%1] = %last)");
  std::vector<float> x(10);
  std::vector<int64_t> y(2);
  const auto out = View(y, {2}, {}, 0, DType::kIndex);
  kernel.Run({View(x), Index(4), Index(7), out});
  EXPECT_THAT(y, ElementsAre(15, 7));
  kernel.Run({View(x), Index(10), Index(10), out});
  EXPECT_THAT(y, ElementsAre(0, 10));
  EXPECT_EQ(kernel.TryRun({View(x), Index(4), Index(11), out})->kind, ErrorKind::kSubregion);
  EXPECT_EQ(kernel.TryRun({View(x), Index(-1), Index(3), out})->kind, ErrorKind::kSubregion);
}

TEST(Domains, ReachEitherEndOfIndexButSpanNoMoreThanItCounts) {
  const Kernel kernel("%b: index, %e: index, %y: view<out, index, [2]>", R"(
    %0 = constant 0 : index
    %1 = constant 1 : index
    %w = constant 4611686018427387904 : index
    %d = domain %b, %e, %w : domain<[max(0, ceildiv(%e - %b, 4611686018427387904))]>
    %r = for %i = %d carry(%k = %0 : index) {
      view_store %y [%k] = %i
      %next = binary add %k, %1 : index
      yield %next
    } : tuple<index>)");
  std::vector<int64_t> y(2);
  const auto view = View(y, {2}, {}, 0, DType::kIndex);
  kernel.Run({Index(INT64_MIN), Index(-1), view});
  EXPECT_THAT(y, ElementsAre(INT64_MIN, INT64_MIN / 2));
  kernel.Run({Index(0), Index(INT64_MAX), view});
  EXPECT_THAT(y, ElementsAre(0, -(INT64_MIN / 2)));
  const auto error = kernel.TryRun({Index(INT64_MIN), Index(0), view});
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->kind, ErrorKind::kBadShape);
  EXPECT_EQ(kernel.TryRun({Index(INT64_MAX), Index(INT64_MIN), view}), std::nullopt);
}

TEST(Helpers, BindTheirOwnSymbolsAtEachCall) {
  const Kernel kernel("%x: view<in, f32, [s0]>, %w: view<in, f32, [s1]>, %y: view<out, f32, [2]>",
                      R"(
    %a = view_load %x [:] : tensor<f32, [s0]>
    %b = view_load %w [:] : tensor<f32, [s1]>
    %0 = constant 0 : index
    %1 = constant 1 : index
    %s = call f0 %a : record<total: f32, count: index>
    %t = call f0 %b : record<total: f32, count: index>
    %st = extract %s axis 0 : f32
    %tt = extract %t axis 0 : f32
    %n = extract %t axis 1 : index
    %k = cast %n : f32
    %u = binary mul %tt, %k : f32
    view_store %y [%0] = %st
    view_store %y [%1] = %u)",
                      R"(
fn f0(%v: tensor<f32, [s0]>) -> record<total: f32, count: index> {
    %z = constant 0.0 : f32
    %one = full %z : tensor<f32, [s0]>
    %sum = binary add %v, %one : tensor<f32, [s0]>
    %r = reduce %sum, %z axes [0] combine add : f32
    %n = dim %one axis 0 : index
    %p = make_record %r, %n : record<total: f32, count: index>
    return %p
}
)");
  std::vector<float> x{1, 2, 3}, w{4, 5}, y(2);
  kernel.Run({View(x), View(w), View(y)});
  EXPECT_THAT(y, ElementsAre(6, 18));
}

TEST(Shapes, ReshapeTransposeJoinBroadcast) {
  const Kernel kernel(
      "%x: view<in, i32, [2, 3]>, %t: view<out, i32, [3, 2]>, %r: view<out, i32, [6]>,"
      "%j: view<out, i32, [3, 2]>, %b: view<out, i32, [2, 3]>",
      R"(
    %v = view_load %x [:, :] : tensor<i32, [2, 3]>
    %1 = transpose %v axes [1, 0] : tensor<i32, [3, 2]>
    view_store %t [:, :] = %1
    %2 = reshape %1 : tensor<i32, [6]>
    view_store %r [:] = %2
    %3 = view_load %x [0, :] : tensor<i32, [3]>
    %4 = view_load %x [1, :] : tensor<i32, [3]>
    %5 = join %3, %4 : tensor<i32, [3, 2]>
    view_store %j [:, :] = %5
    %c = constant 0 : index
    %d = constant 1 : index
    %6 = view_load %x [:, %c:%d] : tensor<i32, [2, 1]>
    %7 = broadcast %6 : tensor<i32, [2, 3]>
    view_store %b [:, :] = %7)");
  std::vector<int32_t> x{1, 2, 3, 4, 5, 6}, t(6), r(6), j(6), b(6);
  kernel.Run({View(x, {2, 3}), View(t, {3, 2}), View(r), View(j, {3, 2}), View(b, {2, 3})});
  EXPECT_THAT(t, ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(r, ElementsAreArray(t));
  EXPECT_THAT(j, ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(b, ElementsAre(1, 1, 1, 4, 4, 4));
}

TEST(Shapes, WithoutElementsExtentsMayBeOfAnySize) {
  const Kernel kernel("%x: view<in, f32, [s0, s1, s2]>, %y: view<out, f32, [s0, s1, s2, 2]>", R"(
    %v = view_load %x [:, :, :] : tensor<f32, [s0, s1, s2]>
    %j = join %v, %v : tensor<f32, [s0, s1, s2, 2]>
    view_store %y [:, :, :, :] = %j)");
  std::vector<float> none;
  const int64_t vast = int64_t{1} << 62;
  kernel.Run({View(none, {0, 3, vast}), View(none, {0, 3, vast, 2})});
}

TEST(Shapes, AReshapeThatLosesElementsAtRunTimeIsAnError) {
  const Kernel kernel("%x: view<in, i32, [s0]>, %n: index, %m: index", R"(
    %v = view_load %x [:] : tensor<i32, [s0]>
    %1 = reshape %v : tensor<i32, [max(0, %n), max(0, %m)]>)");
  std::vector<int32_t> x(12);
  kernel.Run({View(x), Index(3), Index(4)});
  EXPECT_EQ(kernel.TryRun({View(x), Index(5), Index(2)})->kind, ErrorKind::kBadShape);
}

TEST(Shapes, AScalarIsReshapedToOneElementOnly) {
  const Kernel kernel("%x: index, %n: index", R"(
    %1 = reshape %x : tensor<index, [1, max(0, %n)]>)");
  kernel.Run({Index(7), Index(1)});
  EXPECT_EQ(kernel.TryRun({Index(7), Index(3)})->kind, ErrorKind::kBadShape);
  EXPECT_EQ(kernel.TryRun({Index(7), Index(0)})->kind, ErrorKind::kBadShape);
}

TEST(Pointwise, SelectMaskCastAndComparisons) {
  const Kernel kernel("%x: view<in, f32, [s0]>, %y: view<out, i8, [s0]>, %z: view<out, f32, [s0]>",
                      R"(
    %v = view_load %x [:] : tensor<f32, [s0]>
    %0 = constant 0.0 : f32
    %f = broadcast %0 : tensor<f32, [s0]>
    %c = compare lt %v, %f : tensor<bool, [s0]>
    %n = unary negate %v : tensor<f32, [s0]>
    %a = select %c, %n, %v : tensor<f32, [s0]>
    %i = cast %a : tensor<i8, [s0]>
    view_store %y [:] = %i
    %m = mask %v, %c, %f : tensor<f32, [s0]>
    view_store %z [:] = %m)");
  std::vector<float> x{-1.5f, 2.75f, -0.25f}, z(3);
  std::vector<int8_t> y(3);
  kernel.Run({View(x), View(y), View(z)});
  EXPECT_THAT(y, ElementsAre(1, 2, 0));
  EXPECT_THAT(z, ElementsAre(-1.5f, 0, -0.25f));
}

TEST(Random, BitsAreThoseOfPhilox) {
  const Kernel kernel("%seed: u64, %at: view<in, u64, [s0]>, %y: view<out, u32, [s0]>", R"(
    %c = view_load %at [:] : tensor<u64, [s0]>
    %b = random_bits %seed, %c : tensor<u32, [s0]>
    view_store %y [:] = %b)");
  // Random123's known answers for key 0 counter 0, and for all bits set in the key and the
  // counter's low half.
  std::vector<uint64_t> at{0, 1, 2, 3};
  std::vector<uint32_t> y(4);
  kernel.Run({numerics::MakeInteger(DType::kU64, 0), View(at), View(y)});
  EXPECT_THAT(y, ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
}

TEST(Speed, ALongScalarLoopTakesWellUnderASecond) {
  const Kernel kernel("%y: view<out, i64, []>", R"(
    %0 = constant 0 : index
    %1 = constant 1 : index
    %n = constant 360000 : index
    %d = domain %0, %n, %1 : domain<[360000]>
    %z = constant 1 : i64
    %r = for %i = %d carry(%s = %z : i64) {
      %a = cast %i : i64
      %b = binary mul %s, %a : i64
      %c = binary add %b, %z : i64
      %e = binary xor %c, %s : i64
      %f = binary add %e, %a : i64
      yield %f
    } : tuple<i64>
    %g = extract %r axis 0 : i64
    view_store %y [] = %g)");
  std::vector<int64_t> y(1);
  kernel.Run({View(y, {})});
  uint64_t expected = 1;
  for (uint64_t i = 0; i < 360000; ++i) expected = ((expected * i + 1) ^ expected) + i;
  EXPECT_EQ(static_cast<uint64_t>(y[0]), expected);
}

}  // namespace
}  // namespace intent::interp::testing
