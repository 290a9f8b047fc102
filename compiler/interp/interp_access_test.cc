// Views, buffers, index relations and their errors (language.md chapter 4, seed 000 chapters 8-11).

#include <gmock/gmock.h>

#include <cfenv>
#include <numeric>

#include "compiler/interp/test_kernel.h"

namespace intent::interp::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<float> Iota(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

TEST(Views, SaxpyWithStridesOfBothSigns) {
  const Kernel kernel("%x: view<in, f32, [s0]>, %a: f32, %y: view<inout, f32, [s0]>", R"(
    %1 = view_load %x [:] : tensor<f32, [s0]>
    %2 = broadcast %a : tensor<f32, [s0]>
    %3 = binary mul %2, %1 : tensor<f32, [s0]>
    %4 = view_load %y [:] : tensor<f32, [s0]>
    %5 = binary add %3, %4 : tensor<f32, [s0]>
    view_store %y [:] = %5)");
  std::vector<float> x = Iota(5), y{10, 20, 30, 40, 50};
  kernel.Run({View(x, {3}, {-2}, 4), F32(2), View(y, {3}, {2})});
  EXPECT_THAT(y, ElementsAre(18, 20, 34, 40, 50));
  kernel.Run({View(x, {3}, {0}, 1), F32(1), View(y, {3})});
  EXPECT_THAT(y, ElementsAre(19, 21, 35, 40, 50));
}

TEST(Views, AnAssignmentReadsBeforeItWrites) {
  const Kernel kernel("%x: view<in, f32, [s0]>, %y: view<inout, f32, [s0]>", R"(
    %1 = view_load %x [:] : tensor<f32, [s0]>
    view_store %y [:] = %1)");
  std::vector<float> data = Iota(6);
  kernel.Run({View(data, {5}), View(data, {5}, {}, 1)});
  EXPECT_THAT(data, ElementsAre(0, 0, 1, 2, 3, 4));
  data = Iota(6);
  kernel.Run({View(data, {6}, {-1}, 5), View(data, {6})});
  EXPECT_THAT(data, ElementsAre(5, 4, 3, 2, 1, 0));
}

TEST(Views, BoolsAreReadAsNonZeroAndWrittenAsOne) {
  const Kernel kernel("%x: view<in, bool, [s0]>, %y: view<out, bool, [s0]>", R"(
    %1 = view_load %x [:] : tensor<bool, [s0]>
    view_store %y [:] = %1)");
  std::vector<uint8_t> x{0, 1, 7, 255}, y(4, 9);
  kernel.Run({Bools(x, {4}), Bools(y, {4})});
  EXPECT_THAT(y, ElementsAre(0, 1, 1, 1));
}

TEST(Views, EveryKindOfTerm) {
  const Kernel kernel(
      "%x: view<in, f32, [4, 6]>, %i: index, %rows: view<out, f32, [2, 1, 3]>,"
      "%row: view<out, f32, [6]>, %one: view<out, f32, []>",
      R"(
    %c1 = constant 1 : index
    %c2 = constant 2 : index
    %c6 = constant 6 : index
    %c4 = constant 4 : index
    %c3 = constant 3 : index
    %d = domain %c1, %c6, %c2 : domain<[3]>
    %1 = view_load %x [%c1:%c3, new, region %d] : tensor<f32, [2, 1, 3]>
    view_store %rows [:, :, :] = %1
    %2 = view_load %x [%i, :] : tensor<f32, [6]>
    view_store %row [:] = %2
    %3 = view_load %x [3, %c4] : f32
    view_store %one [] = %3)");
  std::vector<float> x = Iota(24), rows(6), row(6), one(1);
  kernel.Run({View(x, {4, 6}), Index(2), View(rows, {2, 1, 3}), View(row), View(one, {})});
  EXPECT_THAT(rows, ElementsAre(7, 9, 11, 13, 15, 17));
  EXPECT_THAT(row, ElementsAre(12, 13, 14, 15, 16, 17));
  EXPECT_THAT(one, ElementsAre(22));
}

TEST(Views, IndexTensorsPairUpWhereTheFirstStood) {
  const Kernel kernel(
      "%x: view<in, f32, [3, 2, 4]>, %a: view<in, i32, [2]>, %b: view<in, u8, [2]>,"
      "%out: view<out, f32, [2, 2]>, %crossed: view<out, f32, [2, 2]>",
      R"(
    %1 = view_load %a [:] : tensor<i32, [2]>
    %2 = view_load %b [:] : tensor<u8, [2]>
    %3 = view_load %x [%1, :, %2] : tensor<f32, [2, 2]>
    view_store %out [:, :] = %3
    %4 = reshape %1 : tensor<i32, [2, 1]>
    %5 = view_load %x [%4, 1, %2] : tensor<f32, [2, 2]>
    view_store %crossed [:, :] = %5)");
  std::vector<float> x = Iota(24), out(4), crossed(4);
  std::vector<int32_t> a{2, 0};
  std::vector<uint8_t> b{3, 1};
  kernel.Run({View(x, {3, 2, 4}), View(a), View(b), View(out, {2, 2}), View(crossed, {2, 2})});
  EXPECT_THAT(out, ElementsAre(19, 23, 1, 5));
  EXPECT_THAT(crossed, ElementsAre(23, 21, 7, 5));
}

TEST(Views, ActiveAccessesOutOfBoundsEndTheCallBeforeAnythingIsTouched) {
  const Kernel kernel("%x: view<inout, f32, [s0, s1]>, %i: index", R"(
    %1 = constant 7.0 : f32
    %2 = constant 0 : index
    view_store %x [%2, %i] = %1)");
  std::vector<float> x(6);
  for (int64_t bad : {int64_t{3}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
    const auto error = kernel.TryRun({View(x, {2, 3}), Index(bad)});
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind, ErrorKind::kOutOfBounds);
    EXPECT_EQ(error->parameter, 0);
    EXPECT_EQ(error->axis, 1);
    EXPECT_EQ(error->ordinal, 2u);
    EXPECT_EQ(error->value, bad);
    EXPECT_EQ(error->limit, 3);
    EXPECT_THAT(error->message, HasSubstr("axis 1 of parameter 0, whose extent is 3"));
  }
  EXPECT_THAT(x, ElementsAre(0, 0, 0, 0, 0, 0));
}

TEST(Views, WithoutElementsStridesMayBeOfAnySize) {
  const Kernel kernel("%x: view<in, f32, [s0, s1]>, %at: view<in, i64, [3]>", R"(
    %1 = view_load %at [:] : tensor<i64, [3]>
    %2 = view_load %x [0, %1] : tensor<f32, [3]>)");
  std::vector<float> none;
  std::vector<int64_t> at{4, 0, 3};
  const auto error = kernel.TryRun({View(none, {0, 5}, {1, INT64_MAX}), View(at)});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, ErrorKind::kOutOfBounds);
  EXPECT_EQ(error->axis, 0);
}

TEST(Views, DomainsThatLeaveAViewAreFoundAtEitherEnd) {
  const Kernel kernel("%x: view<in, f32, [s0]>, %b: index, %e: index, %y: view<out, f32, [s1]>", R"(
    %1 = constant 3 : index
    %2 = domain %b, %e, %1 : domain<[max(0, ceildiv(%e - %b, 3))]>
    %3 = view_load %x [region %2] : tensor<f32, [max(0, ceildiv(%e - %b, 3))]>
    %4 = constant 0.0 : f32
    %5 = reduce %3, %4 axes [0] combine add : f32
    %6 = constant 0 : index
    view_store %y [%6] = %5)");
  std::vector<float> x = Iota(10), y(1);
  kernel.Run({View(x), Index(0), Index(12), View(y)});  // 0, 3, 6, 9
  EXPECT_EQ(y[0], 18);
  const auto high = kernel.TryRun({View(x), Index(1), Index(11), View(y)});
  ASSERT_TRUE(high);
  EXPECT_THAT(high->message, HasSubstr("index 10 "));
  const auto low = kernel.TryRun({View(x), Index(-4), Index(5), View(y)});
  ASSERT_TRUE(low);
  EXPECT_THAT(low->message, HasSubstr("index -4 "));
  EXPECT_FALSE(kernel.TryRun({View(x), Index(50), Index(50), View(y)}));  // empty: no access
}

TEST(Gather, InvalidMembersTouchNoMemoryAndGiveTheFill) {
  const Kernel kernel(
      "%x: view<in, f32, [s0]>, %at: view<in, i64, [s1]>, %ok: view<in, bool, [s1]>,"
      "%out: view<out, f32, [s1]>, %filled: view<out, f32, [s1]>",
      R"(
    %1 = view_load %x [:] : tensor<f32, [s0]>
    %2 = view_load %at [:] : tensor<i64, [s1]>
    %3 = view_load %ok [:] : tensor<bool, [s1]>
    %4 = gather %1 [%2] valid %3 : tensor<f32, [s1]>
    view_store %out [:] = %4
    %5 = constant -99.0 : f32
    %6 = view_load %x [%2] valid %3 fill %5 : tensor<f32, [s1]>
    view_store %filled [:] = %6)");
  std::vector<float> x = Iota(4), out(3), filled(3);
  std::vector<int64_t> at{3, INT64_MIN, 1};
  std::vector<uint8_t> ok{1, 0, 1};
  const std::vector<Argument> arguments{View(x), View(at), Bools(ok, {3}), View(out), View(filled)};
  kernel.Run(arguments);
  EXPECT_THAT(out, ElementsAre(3, 0, 1));
  EXPECT_THAT(filled, ElementsAre(3, -99, 1));
  ok[1] = 1;
  EXPECT_EQ(kernel.TryRun(arguments)->kind, ErrorKind::kOutOfBounds);
}

TEST(Scatter, UniqueReduceAndAtomics) {
  const Kernel kernel(
      "%to: view<in, i64, [3]>, %x: view<in, i32, [3]>, %on: view<in, bool, [3]>,"
      "%placed: view<inout, i32, [4]>, %total: view<inout, i32, [4]>",
      R"(
    %1 = view_load %to [:] : tensor<i64, [3]>
    %2 = view_load %x [:] : tensor<i32, [3]>
    %3 = view_load %on [:] : tensor<bool, [3]>
    scatter_unique %placed [%1] = %2 valid %3
    scatter_reduce %total [%1] = %2 combine add
    %4 = constant 10 : i32
    scatter_reduce %total [%1] = %2 captures(%4) combine (%a: i32, %b: i32, %c: i32) {
      %5 = binary mul %b, %c : i32
      %6 = binary add %a, %5 : i32
      yield %6
    }
    %7 = constant 1 : index
    %8 = atomic_rmw max %total [%7] = %4 order relaxed : i32
    %9 = atomic_cas %placed [%7] = %8, %4 order acq_rel : record<old_value: i32, success: bool>)");
  std::vector<int64_t> to{3, 0, 3};
  std::vector<int32_t> x{1, 2, 4}, placed(4), total(4);
  std::vector<uint8_t> on{0, 1, 1};
  kernel.Run({View(to), View(x), Bools(on, {3}), View(placed), View(total)});
  EXPECT_THAT(placed, ElementsAre(2, 10, 0, 4));
  EXPECT_THAT(total, ElementsAre(22, 10, 0, 55));
}

TEST(FloatMode, OfTheCallerIsSetAsideAndRestored) {
  const Kernel kernel("%x: f32, %y: view<out, f32, []>", R"(
    %1 = binary add %x, %x : f32
    %2 = constant 3.0 : f32
    %3 = binary div %1, %2 : f32
    view_store %y [] = %3)");
  std::vector<float> y(1);
  const ScalarValue tiny = F32(0x1p-140);
  std::fenv_t before;
  std::fegetenv(&before);
  std::fesetround(FE_UPWARD);
  kernel.Run({tiny, View(y, {})});
  const int mode = std::fegetround();
  std::fesetenv(&before);
  EXPECT_EQ(mode, FE_UPWARD);
  EXPECT_EQ(y[0], 0x1.55p-141f);  // 341.33 units of 2^-149 round down
}

TEST(Buffers, AreFreshAtEachExecution) {
  const Kernel kernel("%y: view<out, i32, [3]>", R"(
    %0 = constant 0 : index
    %1 = constant 1 : index
    %3 = constant 3 : index
    %d = domain %0, %3, %1 : domain<[3]>
    %five = constant 5 : i32
    %init = full %five : tensor<i32, [4]>
    for %i = %d {
      %b = buffer %init : buffer<i32, [4]>
      %old = buffer_load %b [%i] : i32
      %new = binary add %old, %old : i32
      buffer_store %b [%i] = %new
      %at = binary mod %i, %1 : index
      %read = buffer_load %b [%at] : i32
      view_store %y [%i] = %read
      yield
    })");
  std::vector<int32_t> y(3);
  kernel.Run({View(y)});
  EXPECT_THAT(y, ElementsAre(10, 5, 5));
}

TEST(Arguments, EqualSymbolsAndStaticExtentsAreChecked) {
  const Kernel kernel("%x: view<in, f32, [s0, 3]>, %y: view<out, f32, [s0]>", "");
  std::vector<float> x(12), y(4);
  kernel.Run({View(x, {4, 3}), View(y)});
  const auto symbols = kernel.TryRun({View(x, {3, 3}), View(y)});
  ASSERT_TRUE(symbols);
  EXPECT_EQ(symbols->message,
            "axis 0 of parameter 1 is 4, axis 0 of parameter 0 is 3: they must be equal");
  const auto fixed = kernel.TryRun({View(x, {4, 2}), View(y)});
  ASSERT_TRUE(fixed);
  EXPECT_EQ(fixed->message, "axis 1 of parameter 0 is 2 where the kernel takes 3");
  const auto count = kernel.TryRun({View(x, {4, 3})});
  ASSERT_TRUE(count);
  EXPECT_EQ(count->kind, ErrorKind::kBadArguments);
  std::vector<double> wide(12);
  EXPECT_TRUE(kernel.TryRun({View(wide, {4, 3}), View(y)}));
}

TEST(Arguments, ViewsMayNotLeaveTheirAllocation) {
  const Kernel kernel("%x: view<in, f32, [s0]>", "");
  std::vector<float> x(8);
  EXPECT_FALSE(kernel.TryRun({View(x, {8}, {-1}, 7)}));
  EXPECT_FALSE(kernel.TryRun({View(x, {1000}, {0}, 7)}));
  EXPECT_FALSE(kernel.TryRun({View(x, {0}, {1}, 100)}));
  EXPECT_TRUE(kernel.TryRun({View(x, {8}, {-1}, 6)}));
  EXPECT_TRUE(kernel.TryRun({View(x, {5}, {2}, 0)}));
  EXPECT_TRUE(kernel.TryRun({View(x, {INT64_MAX}, {INT64_MAX}, 0)}));
}

TEST(Limits, MemoryStepsAndCancel) {
  const Kernel kernel("%n: index, %y: view<inout, f32, [1]>", R"(
    %0 = constant 0.0 : f32
    %i = constant 0 : index
    %t = full %0 : tensor<f32, [max(0, %n)]>
    %s = reduce %t, %0 axes [0] combine add : f32
    view_store %y [%i] = %s)");
  std::vector<float> y(1);
  kernel.Run({Index(1000), View(y)});
  for (int64_t n : {int64_t{1} << 29, INT64_MAX}) {
    const auto error = kernel.TryRun({Index(n), View(y)});
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind, ErrorKind::kMemoryLimit);
  }
  const Kernel endless("%y: view<inout, f32, [1]>", R"(
    %t = constant true : bool
    while () {
      yield %t
    } do () {
      yield
    })");
  EXPECT_EQ(endless.TryRun({View(y)}, {.max_steps = 1000})->kind, ErrorKind::kStepLimit);
  const std::atomic<bool> cancel = true;
  EXPECT_EQ(endless.TryRun({View(y)}, {.cancel = &cancel})->kind, ErrorKind::kCancelled);
}

TEST(Limits, TemporariesAreDroppedAfterTheirLastUse) {
  std::string body = "%0 = view_load %x [:] : tensor<f32, [s0]>\n";
  for (int i = 0; i < 100; ++i) {
    body += "%" + std::to_string(i + 1) + " = unary negate %" + std::to_string(i) +
            " : tensor<f32, [s0]>\n";
  }
  const Kernel kernel("%x: view<inout, f32, [s0]>", body + "view_store %x [:] = %100");
  std::vector<float> x(1 << 16, 1.0f);
  EXPECT_FALSE(kernel.TryRun({View(x)}, {.memory_limit = 1 << 20}));
  EXPECT_EQ(kernel.TryRun({View(x)}, {.memory_limit = 300'000})->kind, ErrorKind::kMemoryLimit);
}

TEST(Limits, LongChainsOfHelpersEndInAnErrorNotInTheStack) {
  std::string helpers = "fn f0(%a: f32) -> f32 {\n return %a\n}\n";
  for (int i = 1; i < 1000; ++i) {
    helpers += "fn f" + std::to_string(i) + "(%a: f32) -> f32 {\n %b = call f" +
               std::to_string(i - 1) + " %a : f32\n return %b\n}\n";
  }
  for (const auto& [last, works] : {std::pair{20, true}, std::pair{999, false}}) {
    const Kernel kernel("%a: f32, %y: view<out, f32, []>",
                        "%b = call f" + std::to_string(last) + " %a : f32\nview_store %y [] = %b",
                        helpers);
    std::vector<float> y(1);
    const auto error = kernel.TryRun({F32(3), View(y, {})});
    EXPECT_EQ(!error, works);
    if (error) {
      EXPECT_EQ(error->kind, ErrorKind::kDepthLimit);
    }
  }
}

}  // namespace
}  // namespace intent::interp::testing
