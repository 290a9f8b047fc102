// Checked runs: one kernel for each error, which sits on the line marked `// <-`, and a twin beside
// it without one (errors.def). `// other` marks the other side of a conflict.

#include <gmock/gmock.h>

#include <limits>

#include "compiler/interp/marked_kernel.h"

namespace intent::interp::testing {
namespace {

using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// The bad kernel reports `kind`, the good one nothing.
void Expect(ErrorKind kind, const std::string& signature, const std::string& bad,
            const std::string& good, const std::vector<Argument>& arguments,
            const std::string& message = "", Options options = {}) {
  const auto error = RunChecked(signature, bad, arguments, options);
  ASSERT_TRUE(error) << "no report of " << NameOf(kind);
  EXPECT_EQ(NameOf(error->kind), NameOf(kind)) << error->message;
  EXPECT_NE(CodeOf(kind), "");
  EXPECT_THAT(error->message, HasSubstr(message));
  const auto none = RunChecked(signature, good, arguments, options);
  EXPECT_FALSE(none) << NameOf(none->kind) << ": " << none->message;
}

TEST(CheckedArithmetic, DivisionShiftAndPower) {
  const std::string body = R"(
    %v = view_load %x [:] : tensor<i8, [3]>
    %w = view_load %z [:] : tensor<i8, [3]>
    %r = binary OP %v, %w : tensor<i8, [3]> // <-
    view_store %y [:] = %r)";
  struct Case {
    const char* op;
    int8_t lhs, rhs;
    ErrorKind kind;
    const char* message;
  };
  for (const Case& c : {Case{"floordiv", 7, 0, ErrorKind::kDivisionByZero, "7 // 0 at [1]"},
                        Case{"mod", -7, 0, ErrorKind::kDivisionByZero, "-7 % 0 at [1]"},
                        Case{"floordiv", -128, -1, ErrorKind::kDivisionOverflow, "-128 // -1"},
                        Case{"shl", 1, 8, ErrorKind::kShiftAmount, "by 8"},
                        Case{"shr", 1, -1, ErrorKind::kShiftAmount, "by -1"},
                        Case{"pow", 2, -1, ErrorKind::kNegativeExponent, "2 ** -1"}}) {
    std::vector<int8_t> x{4, c.lhs, 6}, z{3, c.rhs, 1}, y(3), fine{3, 1, 1};
    const std::string text = Replaced(body, "OP", c.op);
    const std::string signature =
        "%x: view<in, i8, [3]>, %z: view<in, i8, [3]>, %y: view<out, i8, [3]>";
    const auto error = RunChecked(signature, text, {View(x), View(z), View(y)});
    ASSERT_TRUE(error) << c.op;
    EXPECT_EQ(NameOf(error->kind), NameOf(c.kind));
    EXPECT_THAT(error->message, HasSubstr(c.message));
    EXPECT_FALSE(RunChecked(signature, text, {View(x), View(fine), View(y)})) << c.op;
  }
}

TEST(CheckedArithmetic, TheLeastIntegerModuloMinusOneIsZero) {
  std::vector<int32_t> x{INT32_MIN}, y(1);
  EXPECT_FALSE(RunChecked("%x: view<in, i32, [1]>, %y: view<out, i32, [1]>", R"(
    %v = view_load %x [:] : tensor<i32, [1]>
    %m = constant -1 : i32
    %b = broadcast %m : tensor<i32, [1]>
    %r = binary mod %v, %b : tensor<i32, [1]>
    view_store %y [:] = %r)",
                          {View(x), View(y)}));
}

TEST(CheckedArithmetic, InsideACombineThatRunsOnArraysAndInABranch) {
  std::vector<int32_t> x{1, 2, 3, 4, 5, 6, 7, 0}, y(1);
  Expect(ErrorKind::kDivisionByZero, "%x: view<in, i32, [8]>, %y: view<out, i32, []>", R"(
    %v = view_load %x [:] : tensor<i32, [8]>
    %0 = constant 0 : i32
    %r = reduce %v, %0 axes [0] combine (%a: i32, %b: i32) {
      %q = binary mod %a, %b : i32 // <-
      %s = binary add %a, %b : i32
      %t = binary add %s, %q : i32
      yield %t
    } : i32
    view_store %y [] = %r)",
         R"(
    %v = view_load %x [:] : tensor<i32, [8]>
    %0 = constant 0 : i32
    %r = reduce %v, %0 axes [0] combine (%a: i32, %b: i32) {
      %z = constant 0 : i32
      %nz = compare ne %b, %z : bool
      %p = if %nz {
        %q = binary mod %a, %b : i32
        yield %q
      } else {
        yield %a
      } : tuple<i32>
      %e = extract %p axis 0 : i32
      yield %e
    } : i32
    view_store %y [] = %r)",
         {View(x), View(y, {})});
}

TEST(CheckedCasts, FloatToInteger) {
  const std::string signature = "%x: view<in, f32, [2]>, %y: view<out, u8, [2]>";
  const std::string body = R"(
    %v = view_load %x [:] : tensor<f32, [2]>
    %r = cast %v : tensor<u8, [2]> // <-
    view_store %y [:] = %r)";
  for (const float bad : {kNan, kInf, -kInf, 256.0f, -1.0f, 1e30f}) {
    std::vector<float> x{1, bad}, fine{255.9f, -0.9f};
    std::vector<uint8_t> y(2);
    const auto error = RunChecked(signature, body, {View(x), View(y)});
    ASSERT_TRUE(error) << bad;
    EXPECT_EQ(error->kind, ErrorKind::kCastRange);
    EXPECT_THAT(error->message, HasSubstr("to u8, which holds [0, 255] at [1]"));
    EXPECT_FALSE(RunChecked(signature, body, {View(fine), View(y)}));
    EXPECT_FALSE(
        RunChecked(signature, Replaced(body, "cast", "saturating_cast"), {View(x), View(y)}));
  }
}

TEST(CheckedCasts, ToAFormatWithoutInfinities) {
  const std::string body = R"(
    %v = view_load %x [:] : tensor<f32, [2]>
    %r = cast %v : tensor<f8e4m3fn, [2]> // <-
    view_store %y [:] = %r)";
  const std::string signature = "%x: view<in, f32, [2]>, %y: view<out, f8e4m3fn, [2]>";
  std::vector<uint8_t> y(2);
  const auto out = View(y, {2}, {}, 0, DType::kF8E4M3FN);
  for (const float bad : {448.5f, -1e9f, kInf}) {
    std::vector<float> x{1, bad}, fine{448, kNan};
    const auto error = RunChecked(signature, body, {View(x), out});
    ASSERT_TRUE(error) << bad;
    EXPECT_EQ(error->kind, ErrorKind::kFloatRange);
    EXPECT_FALSE(RunChecked(signature, body, {View(fine), out}));
  }
  std::vector<int32_t> many{1, 449};
  const auto error = RunChecked("%x: view<in, i32, [2]>, %y: view<out, f8e4m3fn, [2]>", R"(
    %v = view_load %x [:] : tensor<i32, [2]>
    %r = cast %v : tensor<f8e4m3fn, [2]> // <-
    view_store %y [:] = %r)",
                                {View(many), out});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, ErrorKind::kFloatRange);
}

TEST(CheckedReads, OfABufferWhoseElementOneBranchOnlyWrites) {
  const std::string body = R"(
    %0 = constant 0 : index
    %1 = constant 1 : index
    %b = buffer : buffer<i32, [2]>
    %seven = constant 7 : i32
    %all = broadcast %seven : tensor<i32, [2]>
    if %p {
      buffer_store %b [:] = %all
      yield
    } else {
      buffer_store %b [%0] = %seven
      yield
    }
    %r = buffer_load %b [%1] : i32 // <-
    view_store %y [] = %r)";
  std::vector<int32_t> y(1);
  const std::string signature = "%p: bool, %y: view<out, i32, []>";
  const auto error = RunChecked(signature, body, {numerics::MakeBool(false), View(y, {})});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, ErrorKind::kUnwrittenRead);
  EXPECT_THAT(error->message, HasSubstr("element [1] of a buffer"));
  EXPECT_FALSE(RunChecked(signature, body, {numerics::MakeBool(true), View(y, {})}));
}

TEST(CheckedReads, ABufferIsFreshInEachIteration) {
  Expect(ErrorKind::kUnwrittenRead, "%y: view<out, i32, [3]>", R"(
    %0 = constant 0 : index
    %1 = constant 1 : index
    %3 = constant 3 : index
    %five = constant 5 : i32
    %d = domain %0, %3, %1 : domain<[3]>
    for %i = %d {
      %b = buffer : buffer<i32, [1]>
      %first = compare eq %i, %0 : bool
      if %first {
        buffer_store %b [%0] = %five
        yield
      } else {
        yield
      }
      %r = buffer_load %b [%0] : i32 // <-
      view_store %y [%i] = %r
      yield
    })",
         R"(
    %0 = constant 0 : index
    %1 = constant 1 : index
    %3 = constant 3 : index
    %five = constant 5 : i32
    %d = domain %0, %3, %1 : domain<[3]>
    for %i = %d {
      %b = buffer %five : buffer<i32, [1]>
      %r = buffer_load %b [%0] : i32
      view_store %y [%i] = %r
      yield
    })",
         {[] {
           static std::vector<int32_t> y(3);
           return View(y);
         }()});
}

TEST(CheckedReads, AnElementOfOutThatWasNotWritten) {
  std::vector<float> y(6), z(1);
  const std::string signature = "%y: view<out, f32, [2, 3]>, %z: view<out, f32, []>";
  const std::string body = R"(
    %0 = constant 0 : index
    %1 = constant 1 : index
    %f = constant 2.0 : f32
    %column = broadcast %f : tensor<f32, [2]>
    view_store %y [:, %0] = %column
    %v = view_load %y [%1, %COLUMN] : f32 // <-
    view_store %z [] = %v)";
  Expect(ErrorKind::kUnwrittenRead, signature, Replaced(body, "COLUMN", "1"),
         Replaced(body, "COLUMN", "0"), {View(y, {2, 3}), View(z, {})},
         "element [1, 1] of parameter 0");
  // Column-major, reversed: elements keep their coordinates in messages.
  Expect(ErrorKind::kUnwrittenRead, signature, Replaced(body, "COLUMN", "1"),
         Replaced(body, "COLUMN", "0"), {View(y, {2, 3}, {1, -2}, 4), View(z, {})},
         "element [1, 1] of parameter 0");
}

TEST(CheckedReads, MembersThatAreNotActiveReadNothing) {
  std::vector<float> y(3), z(3);
  std::vector<uint8_t> on{1, 0, 0}, both{1, 1, 0};
  const std::string signature =
      "%on: view<in, bool, [3]>, %y: view<out, f32, [3]>, %z: view<out, f32, [3]>";
  const std::string body = R"(
    %0 = constant 0 : index
    %f = constant 2.0 : f32
    view_store %y [%0] = %f
    %m = view_load %on [:] : tensor<bool, [3]>
    %v = view_load %y [:] valid %m : tensor<f32, [3]> // <-
    view_store %z [:] = %v)";
  EXPECT_FALSE(RunChecked(signature, body, {Bools(on, {3}), View(y), View(z)}));
  const auto error = RunChecked(signature, body, {Bools(both, {3}), View(y), View(z)});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, ErrorKind::kUnwrittenRead);
}

TEST(CheckedReads, WhatAnInViewCoversIsWritten) {
  std::vector<float> x{1, 2, 3, 4}, z(1);
  const std::string body = R"(
    %3 = constant 3 : index
    %f = constant 2.0 : f32
    %0 = constant 0 : index
    view_store %y [%0] = %f
    %v = view_load %y [%3] : f32 // <-
    view_store %z [] = %v)";
  const std::string signature =
      "%x: view<in, f32, [s0]>, %y: view<out, f32, [4]>, %z: view<out, f32, []>";
  EXPECT_FALSE(RunChecked(signature, body, {View(x), View(x), View(z, {})}));
  // The In view covers every other element only: not the last.
  const auto error = RunChecked(signature, body, {View(x, {2}, {2}), View(x), View(z, {})});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, ErrorKind::kUnwrittenRead);
}

TEST(CheckedReads, UpdatesReadTheirElement) {
  std::vector<int32_t> y(2);
  for (const std::string update : {"scatter_reduce %y [%v] = %one combine add // <-",
                                   "%r = atomic_rmw add %y [%0] = %c order "
                                   "relaxed : i32 // <-",
                                   "%r = atomic_load %y [%0] order relaxed : i32 // <-"}) {
    const std::string body = R"(
    %0 = constant 0 : index
    %1 = constant 1 : index
    %c = constant 1 : i32
    %two = constant 2 : index
    %d = domain %0, %two, %1 : domain<[2]>
    %v = indices %d : tensor<index, [2]>
    %one = broadcast %c : tensor<i32, [2]>
    view_store %y [%PLACE] = %VALUE
    )" + update;
    const std::string all = Replaced(Replaced(body, "%PLACE", ":"), "VALUE", "one");
    const std::string part = Replaced(Replaced(body, "PLACE", "1"), "VALUE", "c");
    const auto error = RunChecked("%y: view<out, i32, [2]>", part, {View(y)});
    ASSERT_TRUE(error) << update;
    EXPECT_EQ(error->kind, ErrorKind::kUnwrittenRead) << error->message;
    EXPECT_FALSE(RunChecked("%y: view<out, i32, [2]>", all, {View(y)})) << update;
  }
}

TEST(CheckedAccess, AssumptionsThatDoNotHold) {
  const std::string body = R"(
    %at = view_load %i [:] : tensor<i32, [3]>
    assume_in_bounds %at, %x axis 0 // <-
    %m = view_load %on [:] : tensor<bool, [3]>
    %v = view_load %x [%at] valid %m : tensor<f32, [3]>
    view_store %y [:] = %v)";
  const std::string signature =
      "%x: view<in, f32, [s0]>, %i: view<in, i32, [3]>, %on: view<in, bool, [3]>, %y: view<out, "
      "f32, [3]>";
  std::vector<float> x{1, 2, 3}, y(3);
  std::vector<uint8_t> on{1, 1, 0};
  std::vector<int32_t> good{0, 2, 1};
  for (const int32_t bad : {-1, 3, INT32_MIN}) {
    std::vector<int32_t> at{0, 2, bad};
    const auto error = RunChecked(signature, body, {View(x), View(at), Bools(on, {3}), View(y)});
    ASSERT_TRUE(error) << bad;
    EXPECT_EQ(error->kind, ErrorKind::kAssumption);
  }
  EXPECT_FALSE(RunChecked(signature, body, {View(x), View(good), Bools(on, {3}), View(y)}));
}

TEST(CheckedAccess, OutOfBoundsIsFoundBeforeAnythingElse) {
  const std::string body = R"(
    %at = view_load %i [:] : tensor<i32, [2]>
    %v = view_load %i [:] : tensor<i32, [2]>
    view_store %y [%at] = %v // <-)";
  std::vector<int32_t> bad{0, 4}, good{0, 3}, y(4);
  const std::string signature = "%i: view<in, i32, [2]>, %y: view<out, i32, [4]>";
  const auto error = RunChecked(signature, body + "\n", {View(bad), View(y)});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, ErrorKind::kOutOfBounds);
  EXPECT_FALSE(RunChecked(signature, body + "\n", {View(good), View(y)}));
}

TEST(CheckedStores, RepeatedDestinations) {
  const std::string signature =
      "%i: view<in, i32, [3]>, %v: view<in, i32, [3]>, %y: view<inout, i32, [4]>";
  const std::string unique = R"(
    %at = view_load %i [:] : tensor<i32, [3]>
    %w = view_load %v [:] : tensor<i32, [3]>
    scatter_unique %y [%at] = %w // <-
    )";
  const std::string plain = Replaced(unique, "scatter_unique", "view_store");
  std::vector<int32_t> apart{0, 3, 1}, meet{0, 3, 0}, values{1, 2, 3}, same{1, 2, 1}, y(4);
  for (const std::string& body : {unique, plain}) {
    const auto error = RunChecked(signature, body, {View(meet), View(values), View(y)});
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind, ErrorKind::kRepeatedDestination);
    EXPECT_THAT(error->message,
                HasSubstr("positions [0] and [2] of one store both write element [0]"));
    EXPECT_FALSE(RunChecked(signature, body, {View(apart), View(values), View(y)}));
  }
  // A plain store may write one value twice; a unique one promises that it does not.
  EXPECT_FALSE(RunChecked(signature, plain, {View(meet), View(same), View(y)}));
  EXPECT_TRUE(RunChecked(signature, unique, {View(meet), View(same), View(y)}));
}

TEST(CheckedStores, MembersThatAreNotActiveDoNotMeet) {
  const std::string body = R"(
    %at = view_load %i [:] : tensor<i32, [3]>
    %m = view_load %on [:] : tensor<bool, [3]>
    scatter_unique %y [%at] = %at valid %m // <-
    )";
  const std::string signature =
      "%i: view<in, i32, [3]>, %on: view<in, bool, [3]>, %y: view<inout, i32, [4]>";
  std::vector<int32_t> meet{2, 3, 2}, y(4);
  std::vector<uint8_t> all{1, 1, 1}, some{1, 1, 0};
  EXPECT_TRUE(RunChecked(signature, body, {View(meet), Bools(all, {3}), View(y)}));
  EXPECT_FALSE(RunChecked(signature, body, {View(meet), Bools(some, {3}), View(y)}));
}

TEST(CheckedStores, ThroughStridesThatCollide) {
  const std::string signature = "%x: view<in, f32, [3]>, %y: view<out, f32, [3]>";
  const std::string body = R"(
    %v = view_load %x [:] : tensor<f32, [3]>
    view_store %y [:] = %v // <-
    )";
  std::vector<float> different{1, 2, 3}, same{1, 1, 1}, y(3);
  const auto error = RunChecked(signature, body, {View(different), View(y, {3}, {0})});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, ErrorKind::kCollidingStrides);
  EXPECT_FALSE(RunChecked(signature, body, {View(different), View(y)}));
  EXPECT_FALSE(RunChecked(signature, body, {View(same), View(y, {3}, {0})}));
  // Rows that overlap: [0, 2] and [1, 0] are one element.
  const std::string square = "%x: view<in, f32, [2, 3]>, %y: view<out, f32, [2, 3]>";
  const std::string whole = R"(
    %v = view_load %x [:, :] : tensor<f32, [2, 3]>
    view_store %y [:, :] = %v // <-
    )";
  std::vector<float> six{1, 2, 3, 4, 5, 6}, z(6);
  EXPECT_TRUE(RunChecked(square, whole, {View(six, {2, 3}), View(z, {2, 3}, {2, 1})}));
  EXPECT_FALSE(RunChecked(square, whole, {View(six, {2, 3}), View(z, {2, 3}, {3, 1})}));
  EXPECT_FALSE(RunChecked(square, whole, {View(six, {2, 3}), View(z, {2, 3}, {1, 2})}));
}

TEST(CheckedViews, NoaliasThatDoesNotHold) {
  std::vector<float> x(4);
  const std::string signature = "%x: view<in, f32, [2]>, %y: view<out, f32, [2]> noalias";
  const std::string body = R"(
    %v = view_load %x [:] : tensor<f32, [2]>
    view_store %y [:] = %v)";
  const auto error = RunChecked(signature, body, {View(x, {2}), View(x, {2}, {1}, 1)});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, ErrorKind::kOverlap);
  EXPECT_EQ(error->parameter, 1);
  EXPECT_FALSE(RunChecked(signature, body, {View(x, {2}), View(x, {2}, {1}, 2)}));
}

TEST(CheckedShapes, NegativeExtentsAndSubregionsOutOfOrder) {
  const std::string full = R"(
    %f = constant 1.0 : f32
    %t = full %f : tensor<f32, [%n]> // <-
    )";
  const auto negative = RunChecked("%n: index", full, {Index(-1)});
  ASSERT_TRUE(negative);
  EXPECT_EQ(negative->kind, ErrorKind::kNegativeExtent);
  EXPECT_FALSE(RunChecked("%n: index", full, {Index(0)}));
  const std::string part = R"(
    %0 = constant 0 : index
    %1 = constant 1 : index
    %9 = constant 9 : index
    %d = domain %0, %9, %1 : domain<[9]>
    %p = subregion %d [%b:%e] : domain<[%e - %b]> // <-
    )";
  for (const auto& [begin, end] : {std::pair(5, 4), std::pair(-1, 3), std::pair(2, 10)}) {
    const auto error = RunChecked("%b: index, %e: index", part, {Index(begin), Index(end)});
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind, ErrorKind::kSubregion);
  }
  EXPECT_FALSE(RunChecked("%b: index, %e: index", part, {Index(4), Index(4)}));
}

TEST(CheckedShapes, ReshapesThatDoNotFit) {
  std::vector<int32_t> x(12);
  const std::string body = R"(
    %v = view_load %x [:] : tensor<i32, [s0]>
    %1 = reshape %v : tensor<i32, [max(0, %n), 4]> // <-
    )";
  const auto error = RunChecked("%x: view<in, i32, [s0]>, %n: index", body, {View(x), Index(2)});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, ErrorKind::kBadShape);
  EXPECT_FALSE(RunChecked("%x: view<in, i32, [s0]>, %n: index", body, {View(x), Index(3)}));
}

TEST(CheckedFormats, Histograms) {
  const std::string body = R"(
    %v = view_load %x [:] : tensor<i16, [3]>
    %m = view_load %ok [:] : tensor<bool, [3]>
    %h = histogram %v, %b, %m : tensor<i32, [%b]> // <-
    )";
  std::vector<int16_t> x{0, 3, -1};
  std::vector<uint8_t> all{1, 1, 1}, some{1, 1, 0};
  const std::string plain = "%x: view<in, i16, [3]>, %ok: view<in, bool, [3]>, %b: index";
  const auto value = RunChecked(plain, body, {View(x), Bools(all, {3}), Index(4)});
  ASSERT_TRUE(value);
  EXPECT_EQ(value->kind, ErrorKind::kHistogramValue);
  EXPECT_THAT(value->message, HasSubstr("value -1 "));
  const auto bins = RunChecked(plain, body, {View(x), Bools(some, {3}), Index(0)});
  ASSERT_TRUE(bins);
  EXPECT_EQ(bins->kind, ErrorKind::kHistogramBins);
  EXPECT_FALSE(RunChecked(plain, body, {View(x), Bools(some, {3}), Index(4)}));
}

TEST(CheckedFormats, RandomCounters) {
  const std::string body = R"(
    %c = view_load %x [:] : tensor<index, [2]>
    %b = random_bits %seed, %c : tensor<u32, [2]> // <-
    )";
  const std::string signature = "%seed: u64, %x: view<in, index, [2]>";
  std::vector<int64_t> bad{0, -3}, good{0, 3};
  const ScalarValue seed = numerics::MakeInteger(DType::kU64, 1);
  const auto error = RunChecked(signature, body, {seed, View(bad, {2}, {}, 0, DType::kIndex)});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, ErrorKind::kNegativeCounter);
  EXPECT_THAT(error->message, HasSubstr("-3 at [1]"));
  EXPECT_FALSE(RunChecked(signature, body, {seed, View(good, {2}, {}, 0, DType::kIndex)}));
}

TEST(CheckedFormats, QuantisedActivations) {
  const std::string signature = "%x: view<in, f32, [2, 256]>, %y: view<out, u8, [2, 292]>";
  const std::string body = R"(
    %v = view_load %x [:, :] : tensor<f32, [2, 256]>
    %b = quantize %v lhs q8_k rhs q8_k : tensor<u8, [2, 292]> // <-
    view_store %y [:, :] = %b)";
  std::vector<uint8_t> y(2 * 292);
  std::vector<float> x(512, 0.0f);
  const std::vector<Argument> arguments{View(x, {2, 256}), View(y, {2, 292})};
  // -127 / 1e-36 is finite, -127 / 1e-37 is not.
  for (const float bad : {kNan, kInf, 1e-37f}) {
    x[256] = bad;
    const auto error = RunChecked(signature, body, arguments);
    ASSERT_TRUE(error) << bad;
    EXPECT_EQ(error->kind, ErrorKind::kQuantized);
    EXPECT_THAT(error->message, HasSubstr("record 1"));
  }
  x[256] = 1e-36f;
  EXPECT_FALSE(RunChecked(signature, body, arguments));
}

TEST(CheckedFormats, RecordsWhoseSumsAreWrong) {
  const std::string signature =
      "%w: view<in, u8, [1, 144]>, %q: view<in, u8, [1, 292]>, %y: view<out, f32, []>";
  const std::string body = R"(
    %a = view_load %w [:, :] : tensor<u8, [1, 144]>
    %b = view_load %q [:, :] : tensor<u8, [1, 292]>
    %r = quantized_dot %a, %b lhs q4_k rhs q8_k : tensor<f32, []> // <-
    view_store %y [] = %r)";
  std::vector<uint8_t> w(144), q(292);
  std::vector<float> y(1);
  const std::vector<Argument> arguments{View(w, {1, 144}), View(q, {1, 292}), View(y, {})};
  EXPECT_FALSE(RunChecked(signature, body, arguments));
  q[4 + 17] = 0xff;  // -1 in run 1
  const auto error = RunChecked(signature, body, arguments);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, ErrorKind::kQuantized);
  q[262] = q[263] = 0xff;
  EXPECT_FALSE(RunChecked(signature, body, arguments));
}

TEST(CheckedRelaxed, ScoresAndWeightedValuesAreFinite) {
  const std::string signature =
      "%s: view<in, f32, [3]>, %ok: view<in, bool, [3]>, %v: view<in, f32, [3, 2]>, %y: view<out, "
      "f32, [2]>";
  const std::string body = R"(
    %scores = view_load %s [:] : tensor<f32, [3]>
    %m = view_load %ok [:] : tensor<bool, [3]>
    %values = view_load %v [:, :] : tensor<f32, [3, 2]>
    %low = constant -inf : f32
    %lows = broadcast %low : tensor<f32, [3]>
    %valid = select %m, %scores, %lows : tensor<f32, [3]> SCORE
    %top = reduce %valid, %low axes [0] combine maximum : f32
    %tops = broadcast %top : tensor<f32, [3]>
    %diff = binary sub %valid, %tops : tensor<f32, [3]>
    %p = unary exp %diff : tensor<f32, [3]>
    %o = contract %p, %values reduce [(0, 0)] : tensor<f32, [2]> VALUE
    view_store %y [:] = %o)";
  std::vector<float> fine{1, 2, 3}, bad{1, kInf, 3}, v(6, 1.0f), infinite(6, 1.0f), y(2);
  infinite[4] = kInf;  // of the third member, which is not valid: its weight is zero
  std::vector<uint8_t> all{1, 1, 1}, not_second{1, 0, 1}, not_third{1, 1, 0};
  const Options relaxed{.relaxed_normalization = true};
  const auto run = [&](std::vector<float>& s, std::vector<uint8_t>& ok, std::vector<float>& values,
                       const char* place, const Options& options) {
    std::string text = Replaced(body, "SCORE", std::string(place) == "score" ? "// <-" : "");
    text = Replaced(text, "VALUE", std::string(place) == "value" ? "// <-" : "");
    return RunChecked(signature, text, {View(s), Bools(ok, {3}), View(values, {3, 2}), View(y)},
                      options);
  };
  EXPECT_FALSE(run(fine, all, v, "", relaxed));
  const auto score = run(bad, all, v, "score", relaxed);
  ASSERT_TRUE(score);
  EXPECT_EQ(score->kind, ErrorKind::kRelaxed);
  EXPECT_THAT(score->message, HasSubstr("score inf at [1]"));
  EXPECT_FALSE(run(bad, not_second, v, "", relaxed));
  const auto value = run(fine, not_third, infinite, "value", relaxed);
  ASSERT_TRUE(value);
  EXPECT_EQ(value->kind, ErrorKind::kRelaxed);
  EXPECT_THAT(value->message, HasSubstr("value inf at [2, 0]"));
  // Without the permission there is no such precondition.
  EXPECT_FALSE(run(bad, all, v, "", {}));
  EXPECT_FALSE(run(fine, not_third, infinite, "", {}));
}

TEST(CheckedLimits, RecordsAreBounded) {
  const std::string body = R"(
    %0 = constant 0 : index
    %1 = constant 1 : index
    %n = constant 100000 : index
    %c = constant 1 : i32
    %d = domain %0, %n, %1 : domain<[100000]>
    parallel %i = %d {
      view_store %y [%i] = %c // <-
      yield
    })";
  std::vector<int32_t> y(100000);
  const auto error =
      RunChecked("%y: view<out, i32, [100000]>", body, {View(y)}, {.record_limit = 1'000'000});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, ErrorKind::kMemoryLimit);
  EXPECT_FALSE(RunChecked("%y: view<out, i32, [100000]>", body, {View(y)}));
}

TEST(CheckedLimits, BuffersGiveTheirRecordsBack) {
  std::vector<int32_t> y(1);
  EXPECT_FALSE(RunChecked("%y: view<out, i32, []>", R"(
    %0 = constant 0 : index
    %1 = constant 1 : index
    %n = constant 1000 : index
    %c = constant 1 : i32
    %all = broadcast %c : tensor<i32, [10000]>
    %d = domain %0, %n, %1 : domain<[1000]>
    for %i = %d {
      %b = buffer : buffer<i32, [10000]>
      buffer_store %b [:] = %all
      yield
    }
    view_store %y [] = %c)",
                          {View(y, {})}, {.record_limit = 1'000'000}));
}

TEST(CheckedLimits, EmptyViewsOfAnySize) {
  std::vector<float> none;
  const int64_t vast = int64_t{1} << 62;
  EXPECT_FALSE(RunChecked("%x: view<in, f32, [s0, s1, s2]>, %y: view<out, f32, [s0, s1, s2]>", R"(
    %v = view_load %x [:, :, :] : tensor<f32, [s0, s1, s2]>
    view_store %y [:, :, :] = %v)",
                          {View(none, {0, 3, vast}), View(none, {0, 3, vast})}));
}

TEST(UncheckedRuns, ReportNothingOfThis) {
  const Kernel kernel("%y: view<inout, i32, [4]>", kLoops + std::string(R"(
    %b = buffer : buffer<i32, [4]>
    %v = buffer_load %b [%0] : i32
    %q = binary floordiv %one, %v : i32
    parallel %i = %d {
      view_store %y [%0] = %q
      yield
    })"));
  std::vector<int32_t> y(4);
  kernel.Run({View(y)});
}

}  // namespace
}  // namespace intent::interp::testing
