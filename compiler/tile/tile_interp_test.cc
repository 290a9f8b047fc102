#include "compiler/tile/tile_interp.h"

#include <gtest/gtest.h>

#include <cstring>

#include "compiler/tile/parse.h"
#include "compiler/tile/verify_tile.h"

namespace intent::tile {
namespace {

// A program called on one f32 view of rank 1.
struct Call {
  std::vector<float> data;
  int64_t extent, stride = 1;
  intent_error error = {};
  volatile int32_t cancel = 0;

  explicit Call(std::vector<float> values)
      : data(std::move(values)), extent(static_cast<int64_t>(data.size())) {}

  int32_t operator()(const char* text) {
    const auto program = Parse(text);
    EXPECT_TRUE(program.ok()) << program.status();
    EXPECT_TRUE(VerifyTile(**program).ok()) << VerifyTile(**program);
    const intent_view view = {data.data(), &extent, &stride, 0, extent * 4};
    const intent_call call = {&view, nullptr, nullptr, &cancel, &error};
    return Interpret(**program, &call);
  }
};

TEST(TileInterpTest, LoopsCarryAndMasksKeepAway) {
  Call run({1, 2, 3, 4, 5});
  EXPECT_EQ(run(R"(tile {
    view f32 rank 1 read write
    %m: mem<f32> = view_base {view=0}
    %n: index = view_extent {view=0 axis=0}
    %zero: index = const 0
    %four: index = const 4
    %init: f32x4 = const 0.0
    %sum: f32x4 = for(%zero, %n, %four, %init) (%i: index, %acc: f32x4) {
      %lanes: indexx4 = iota
      %at: indexx4 = splat(%i)
      %place: indexx4 = binary.add(%lanes, %at)
      %end: indexx4 = splat(%n)
      %mask: boolx4 = compare.lt(%place, %end)
      %x: f32x4 = load(%m, %i, %mask) {stride=1 mask}
      %next: f32x4 = binary.add(%acc, %x)
      yield(%next)
    }
    %total: f32 = reduce_lanes.add(%sum)
    store(%m, %zero, %total) {stride=1}
  })"),
            INTENT_OK);
  EXPECT_EQ(run.data, (std::vector<float>{15, 2, 3, 4, 5}));
}

TEST(TileInterpTest, AFailedGuardEndsTheCallAndSaysWhy) {
  Call run({7});
  EXPECT_EQ(run(R"(tile {
    view f32 rank 1 read write
    %m: mem<f32> = view_base {view=0}
    %zero: index = const 0
    %five: index = const 5
    %no: bool = const 0
    %x: f32 = const 0.0
    %one: index = const 1
    parallel(%zero, %five, %one) (%b: index, %e: index) {
      guard(%no, %five, %one) {status=1 parameter=0 axis=2} @42
      store(%m, %zero, %x) {stride=1}
      yield
    }
  })"),
            INTENT_OUT_OF_BOUNDS);
  EXPECT_EQ(run.data[0], 7);
  EXPECT_EQ(run.error.ordinal, 42u);
  EXPECT_EQ(run.error.axis, 2);
  EXPECT_EQ(run.error.value, 5);
  EXPECT_EQ(run.error.limit, 1);
}

TEST(TileInterpTest, APollEndsEndlessLoops) {
  Call run({0});
  run.cancel = 1;
  EXPECT_EQ(run(R"(tile {
    view f32 rank 1 read
    %yes: bool = const 1
    while() () { yield(%yes) } () { poll yield }
  })"),
            INTENT_CANCELLED);
}

TEST(TileInterpTest, AtomicsGiveTheOldElement) {
  Call run({0, 0, 0, 0});
  EXPECT_EQ(run(R"(tile {
    view f32 rank 1 read write
    %f: mem<f32> = view_base {view=0}
    %m: mem<i32> = mem_cast(%f)
    %0: index = const 0
    %1: index = const 1
    %2: index = const 2
    %3: index = const 3
    %five: i32 = const 5
    %low: i32 = const -2
    atomic_store(%m, %0, %five) {order=release}
    %a: i32 = atomic_rmw.min(%m, %0, %low) {order=acq_rel}
    %b: i32, %yes: bool = atomic_cas(%m, %0, %low, %five) {order=acquire}
    %c: i32, %no: bool = atomic_cas(%m, %0, %low, %low) {order=relaxed}
    %d: i32 = atomic_load(%m, %0) {order=acquire}
    %sum: i32 = binary.add(%a, %b)
    %s: i32 = cast(%yes)
    %t: i32 = cast(%no)
    %both: i32 = binary.sub(%s, %t)
    atomic_store(%m, %1, %sum) {order=relaxed}
    atomic_store(%m, %2, %both) {order=relaxed}
    %e: i32 = atomic_rmw.exchange(%m, %3, %d) {order=relaxed}
    %g: i32 = atomic_rmw.xor(%m, %3, %c) {order=relaxed}
  })"),
            INTENT_OK);
  std::vector<int32_t> got(4);
  std::memcpy(got.data(), run.data.data(), 16);
  EXPECT_EQ(got, (std::vector<int32_t>{5, 3, 1, 0}));
}

TEST(TileInterpTest, MatrixProductsStoreEverySumOfEveryPoint) {
  // Two points of 2 x 1 results over two members, behind the operands.
  Call run({1, 2, 3, 4, 5, 6, 7, 8, 10, 100, 0, 0, 0, 0});
  EXPECT_EQ(run(R"(tile {
    view f32 rank 1 read write
    %m: mem<f32> = view_base {view=0}
    %1: index = const 1
    %2: index = const 2
    %4: index = const 4
    %8: index = const 8
    %10: index = const 10
    contract(%2, %2, %1, %2) (%p: index, %r: index, %k: index) {
      %a: index = binary.mul(%p, %4)
      %b: index = binary.mul(%r, %2)
      %c: index = binary.add(%a, %b)
      %d: index = binary.add(%c, %k)
      %x: f32 = load(%m, %d) {stride=0}
      yield(%x)
    } (%q: index, %c2: index, %k2: index) {
      %e: index = binary.add(%8, %k2)
      %y: f32 = load(%m, %e) {stride=0}
      yield(%y)
    } (%s: index, %r3: index, %c3: index, %sum: f32) {
      %f: index = binary.mul(%s, %2)
      %g: index = binary.add(%f, %r3)
      %h: index = binary.add(%g, %10)
      store(%m, %h, %sum) {stride=0}
      yield
    }
  })"),
            INTENT_OK);
  EXPECT_EQ(std::vector<float>(run.data.begin() + 10, run.data.end()),
            (std::vector<float>{210, 430, 650, 870}));
}

TEST(TileInterpTest, HostileAllocationsAreRefused) {
  Call run({0});
  EXPECT_EQ(run(R"(tile {
    view f32 rank 1 read
    %n: index = const 9223372036854775807
    %m: mem<f64> = alloc(%n)
  })"),
            INTENT_NO_MEMORY);
  EXPECT_EQ(run.error.axis, -1);
}

}  // namespace
}  // namespace intent::tile
