#include "compiler/tile/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/tile/print.h"

namespace intent::tile {
namespace {

using testing::HasSubstr;

// In the printer's own numbering.
constexpr char kEveryShape[] = R"(tile {
  view f32 rank 2 read
  view f32 rank 1 read write
  scalar i32
  %0: mem<f32> = view_base {view=0} @3
  %1: index = view_extent {view=0 axis=1}
  %2: index = view_stride {view=1 axis=0}
  %3: i32 = scalar_arg {scalar=0}
  %4: bool = overlap {view=0 other=1}
  %5: index = const 0
  %6: index = const -7
  %7: f32 = const 0x3f800000
  %8: u64x4 = const 18446744073709551615
  %9: mem<f32> = alloc(%1)
  %10: mem<bool> = stack_alloc {count=64}
  %11: boolx8 = const 1
  %12: f32x8 = splat(%7)
  %13: f32x8 = load(%0, %5, %2, %11, %12) {strided mask fill}
  store(%9, %5, %13, %11) {stride=1 mask}
  %14: f32x8 = unary.exp2(%13) {approximate flush_to_zero}
  %15: f32x8 = binary.maximum_num(%13, %14)
  %16: boolx8 = compare.lt(%13, %15)
  %17: f32x4 = shuffle(%15) {lanes=[0, 2, 4, 6]}
  %18: f32 = extract_lane(%17) {lane=3}
  %19: f32 = reduce_lanes.add(%17)
  %20: f32, %21: index = for(%5, %1, %6, %19, %5) {unroll} (%22: index, %23: f32, %24: index) {
    %25: f32 = fma(%23, %23, %7)
    yield(%25, %22)
  }
  %26: index = while(%5) (%27: index) {
    %28: bool = compare.lt(%27, %1)
    yield(%28)
  } (%29: index) {
    yield(%1)
  }
  parallel(%5, %1, %6) (%30: index, %31: index) {
    guard(%4, %30, %31) {status=1 parameter=1 axis=0} @12
    poll
    yield
  }
  if(%4) () {
    yield
  } () {
    yield
  }
  %32: mem<u32> = mem_cast(%0)
  %33: u32 = atomic_load(%32, %5) {order=acquire}
  atomic_store(%32, %5, %33) {order=release} @4
  %34: u32 = atomic_rmw.max(%32, %5, %33) {order=relaxed}
  %35: u32, %36: bool = atomic_cas(%32, %5, %33, %34) {order=acq_rel}
  %37: f32 = binary.mul(%7, %7) {rounds}
  contract(%5, %1, %1, %6) @7 (%38: index, %39: index, %40: index) {
    yield(%7)
  } (%41: index, %42: index, %43: index) {
    yield(%7)
  } (%44: index, %45: index, %46: index, %47: f32) {
    store(%9, %45, %47) {stride=0}
    yield
  }
}
)";

TEST(ParseTest, TextRoundTrips) {
  const auto program = Parse(kEveryShape);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(Print(**program), kEveryShape);
}

TEST(ParseTest, FloatsMayBeWrittenInDecimal) {
  const auto program = Parse("tile { %a: f32 = const 1.5 %b: f64 = const -inf }");
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_THAT(Print(**program), HasSubstr("const 0x3fc00000"));
  EXPECT_THAT(Print(**program), HasSubstr("const 0xfff0000000000000"));
}

TEST(ParseTest, MistakesNameTheirLine) {
  const auto expect = [](std::string_view text, const char* part) {
    const auto program = Parse(text);
    ASSERT_FALSE(program.ok()) << text;
    EXPECT_EQ(program.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(program.status().message()), HasSubstr(part)) << text;
  };
  expect("tile {\n  %0: f33 = const 1\n}", "line 2: 'f33' is not a dtype");
  expect("tile {\n\n  frobnicate\n}", "line 3: unknown operation");
  expect("tile { store(%0) }", "'%0' is not defined here");
  expect("tile { %0: index = const 1 %0: index = const 2 }", "defined twice");
  expect("tile { %0: f32 = unary.frob(%0) }", "not defined");
  expect("tile { poll", "expected '}'");
  expect("tile { poll } poll", "text after the end");
  expect("", "expected 'tile'");
  expect("tile { %0: f16 = const 1.5 }", "as bits");
  expect("tile { %0: i8 = const 0x }", "bad bits");
  expect("tile { poll {colour=1} }", "unknown attribute");
  expect("tile { poll {order=later} }", "unknown order 'later'");
  expect("tile { %i: index = const 0 %a: index = atomic_rmw.sub(%i, %i, %i) }", "unknown kind");
}

TEST(ParseTest, NestingIsBounded) {
  std::string text = "tile { %c: bool = const 1 ";
  for (int i = 0; i < 100'000; ++i) text += "if(%c) () { ";
  EXPECT_THAT(std::string(Parse(text).status().message()), HasSubstr("nested too deeply"));
}

TEST(ParseTest, EveryPrefixIsAnError) {
  const std::string text = kEveryShape;
  for (size_t size = 0; size + 2 < text.size(); ++size) {
    EXPECT_FALSE(Parse(std::string_view(text).substr(0, size)).ok()) << size;
  }
}

}  // namespace
}  // namespace intent::tile
