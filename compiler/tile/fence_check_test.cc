#include "compiler/tile/fence_check.h"

#include <gtest/gtest.h>

#include "compiler/tile/parse.h"
#include "compiler/tile/tile_interp.h"
#include "compiler/tile/verify_tile.h"

namespace intent::tile {
namespace {

// The conflict of a program that is called on one f32 view of 512 elements; empty if there is none.
std::string ConflictOf(const std::string& body) {
  const auto program = Parse(R"(tile {
    view f32 rank 1 read write
    %m: mem<f32> = view_base {view=0}
    %0: index = const 0
    %1: index = const 1
    %2: index = const 2
    %8: index = const 8
    %x: f32 = const 0x3f800000
    %w: f32x64 = const 0x3f800000
    %b: f32x512 = const 0x3f800000
    )" + body + "}");
  EXPECT_TRUE(program.ok()) << program.status();
  if (!program.ok()) return "";
  EXPECT_TRUE(VerifyTile(**program).ok()) << VerifyTile(**program);
  std::vector<float> data(512, 1);
  const int64_t extent = 512, stride = 1;
  const intent_view view = {data.data(), &extent, &stride, 0, extent * 4};
  intent_error error = {};
  const intent_call call = {&view, nullptr, nullptr, nullptr, &error};
  FenceChecker checker(**program, &call, 256);
  EXPECT_EQ(Interpret(**program, &call, &checker), INTENT_OK);
  return checker.conflict().value_or("");
}

// In the only task of one unit.
std::string InTask(const std::string& body) {
  return ConflictOf("parallel(%0, %1, %1) (%begin: index, %end: index) {" + body + " yield }");
}

constexpr char kWarpStores[] = "store(%m, %0, %w) {stride=1} @3 ";

TEST(FenceCheckTest, WhatAnotherThreadWroteIsReadAfterAFence) {
  // Every thread has two lanes, and their neighbours are another's.
  const std::string neighbours = "%r: f32x64 = load(%m, %2) {stride=1} @4 ";
  EXPECT_EQ(InTask(kWarpStores + neighbours),
            "race of threads, no fence between: store @3 by number 1, then load @4 by number 0, at "
            "byte 8 of view 0");
  EXPECT_EQ(InTask(kWarpStores + ("fence " + neighbours)), "");
}

TEST(FenceCheckTest, AThreadSeesWhatItWroteItself) {
  EXPECT_EQ(InTask(std::string(kWarpStores) + "%r: f32x64 = load(%m, %0) {stride=1}" + kWarpStores),
            "");
}

TEST(FenceCheckTest, ScalarsAreStoredByOneThreadAndLoadedByAll) {
  const std::string store = "store(%m, %0, %x) {stride=0} @3 ", load = "%r: f32 = load(%m, %0) @4 ";
  EXPECT_EQ(InTask(store + load), "") << "a unit of one thread";
  const std::string wide = "%s: f32x64 = splat(%x) ";
  EXPECT_EQ(InTask(wide + store + load),
            "race of threads, no fence between: store @3 by number 0, then load @4 by several, at "
            "byte 0 of view 0");
  EXPECT_EQ(InTask(wide + store + "fence " + load), "");
}

TEST(FenceCheckTest, WhatAnotherThreadHasStillToReadIsOverwrittenAfterAFence) {
  const std::string wide = "%s: f32x64 = splat(%x) %r: f32 = load(%m, %0) @3 ";
  const std::string store = "store(%m, %0, %x) {stride=0} @4 ";
  EXPECT_EQ(InTask(wide + store),
            "race of threads, no fence between: load @3 by several, then store @4 by number 0, at "
            "byte 0 of view 0");
  EXPECT_EQ(InTask(wide + "fence " + store), "");
}

TEST(FenceCheckTest, LanesThatAreFewerThanThreadsAreReadByEveryCopy) {
  const std::string wide = "%s: f32x64 = splat(%x) %f: f32x8 = const 0 ";
  const std::string load = "%r: f32x8 = load(%m, %0) {stride=1} ";
  const std::string store = "store(%m, %0, %f) {stride=1} ";
  EXPECT_NE(InTask(wide + load + store), "");
  EXPECT_EQ(InTask(wide + load + "fence " + store), "");
}

TEST(FenceCheckTest, TwoLanesThatStoreOneElementConflict) {
  const std::string numbers = "%l: indexx64 = iota %f: f32x64 = cast(%l) ";
  EXPECT_NE(InTask(numbers + "store(%m, %0, %f) {stride=0}"), "");
  EXPECT_NE(ConflictOf(numbers + "store(%m, %0, %f) {stride=0}"), "") << "outside of tasks, too";
  EXPECT_EQ(InTask("store(%m, %0, %w) {stride=0}"), "") << "of one value";
}

TEST(FenceCheckTest, ValuesThatTravelThroughSharedMemorySynchronise) {
  const std::string neighbours = "%r: f32x512 = load(%m, %0) {stride=0} ";
  const std::string store = "store(%m, %0, %b) {stride=1} ";
  const std::string sum = "%q: f32 = reduce_lanes.add(%b) ",
                    first = "%p: f32 = extract_lane(%b) {lane=0} ";
  EXPECT_NE(InTask(store + neighbours), "");
  EXPECT_EQ(InTask(store + sum + neighbours), "");
  EXPECT_EQ(InTask(store + first + neighbours), "");
  // A warp passes them in registers.
  const std::string warp = "%r: f32x64 = load(%m, %0) {stride=0} ";
  EXPECT_NE(InTask(kWarpStores + ("%q: f32 = reduce_lanes.add(%w) " + warp)), "");
}

TEST(FenceCheckTest, AnIterationThatAllocatesEndsWithAFence) {
  const auto loop = [](const std::string& body) {
    return InTask("for(%0, %2, %1) (%i: index) {" + body + kWarpStores +
                  "fence %r: f32x64 = load(%m, %2) {stride=1} yield }");
  };
  EXPECT_NE(loop(""), "") << "the next iteration stores what others have still to read";
  EXPECT_EQ(loop("%s: mem<f32> = alloc(%8) "), "");
}

TEST(FenceCheckTest, NewMemoryHasNoPast) {
  EXPECT_EQ(InTask("%s: f32x64 = splat(%x) for(%0, %8, %1) (%i: index) {"
                   "%a: mem<f32> = alloc(%8) store(%a, %0, %x) {stride=0} fence "
                   "%r: f32 = load(%a, %0) yield }"),
            "");
}

TEST(FenceCheckTest, TasksKeepApart) {
  const auto tasks = [](const std::string& body) {
    return ConflictOf("parallel(%0, %2, %1) (%begin: index, %end: index) {" + body + " yield }");
  };
  EXPECT_EQ(tasks("store(%m, %begin, %x) {stride=0}"), "");
  EXPECT_EQ(tasks("%r: f32 = load(%m, %0)"), "");
  EXPECT_EQ(tasks("%y: f32 = cast(%begin) store(%m, %0, %y) {stride=0} @5"),
            "race of tasks, of one parallel: store @5 by number 1, then store @5 by number 2, at "
            "byte 2 of view 0")
      << "the first byte that differs";
  EXPECT_NE(tasks("%r: f32 = load(%m, %1) store(%m, %begin, %x) {stride=0}"), "");
  EXPECT_EQ(tasks("%s: mem<f32> = stack_alloc {count=4} store(%s, %0, %x) {stride=0}"), "")
      << "a slot is the unit's own";
}

// 2 x 2 sums over 8 members; the view holds the left side from 0 on, the right from 16 on, and sums
// may go from 32 on.
std::string Product(const std::string& store) {
  return "%16: index = const 16 %32: index = const 32 %3: index = const 3 "
         "contract(%1, %2, %2, %8) @7 (%p: index, %r: index, %k: index) {"
         "%a: index = binary.mul(%r, %8) %i: index = binary.add(%a, %k) "
         "%l: f32 = load(%m, %i) yield(%l) } (%p2: index, %c: index, %k2: index) {"
         "%a2: index = binary.mul(%c, %8) %b2: index = binary.add(%a2, %k2) "
         "%i2: index = binary.add(%b2, %16) %l2: f32 = load(%m, %i2) yield(%l2) }"
         "(%p3: index, %r3: index, %c3: index, %s: f32) {"
         "%t: index = binary.mul(%r3, %2) %u: index = binary.add(%t, %c3) "
         "%at: index = binary.add(%u, %32) " +
         store + " yield }";
}

TEST(FenceCheckTest, MatrixProductsStoreWhatNothingElseTouches) {
  for (const auto& run : {ConflictOf, InTask}) {
    const auto product = [&](const std::string& store) { return run(Product(store)); };
    EXPECT_EQ(product("store(%m, %at, %s) {stride=0}"), "");
    EXPECT_EQ(product("%o: f32 = load(%m, %at) %n: f32 = binary.add(%o, %s) "
                      "store(%m, %at, %n) {stride=0}"),
              "")
        << "a sum adds to what lies at its place";
    EXPECT_EQ(product("store(%m, %u, %s) {stride=0} @9"),
              "race of tasks, of one contract: load by number 1, then store @9 by number 33, at "
              "byte 0 of view 0")
        << "an element of the left side";
    EXPECT_NE(product("%n: f32 = cast(%u) store(%m, %32, %n) {stride=0}"), "")
        << "one place for all";
    EXPECT_NE(product("%v: index = binary.sub(%3, %u) %w3: index = binary.add(%v, %32) "
                      "%o: f32 = load(%m, %w3) store(%m, %at, %o) {stride=0} "
                      "store(%m, %at, %s) {stride=0}"),
              "")
        << "another sum's place";
  }
}

TEST(FenceCheckTest, AProductInATaskStandsBetweenItsThreadsAccesses) {
  const std::string sums = Product("store(%m, %at, %s) {stride=0}");
  const std::string reads = "%r0: f32x64 = load(%m, %2) {stride=1}";
  EXPECT_EQ(InTask(kWarpStores + sums + reads), "");
}

TEST(FenceCheckTest, WhatATaskDividesKeepsApart) {
  const auto parts = [](const std::string& body, const std::string& after = "") {
    return InTask(kWarpStores + ("parallel(%0, %2, %1) @6 (%low: index, %high: index) {" + body) +
                  " yield }" + after);
  };
  const std::string reads = "%r: f32x64 = load(%m, %2) {stride=1} @4 ";
  EXPECT_EQ(parts(reads, "%r2: f32x64 = load(%m, %8) {stride=1}"), "")
      << "barriers stand before and behind";
  EXPECT_EQ(parts("store(%m, %low, %x) {stride=0}", reads), "");
  EXPECT_EQ(parts("%y: f32 = cast(%low) store(%m, %0, %y) {stride=0} @5"),
            "race of tasks, of one parallel: store @5 by number 1, then store @5 by number 2, at "
            "byte 2 of view 0");
  EXPECT_NE(parts("%y: f32 = cast(%low) fence store(%m, %0, %y) {stride=0}"), "")
      << "a fence is the warp's own";
  EXPECT_NE(parts("store(%m, %low, %w) {stride=1} " + reads), "") << "threads of one warp";
  EXPECT_NE(
      parts("%y: f32 = cast(%low) %z: f32x64 = splat(%y) store(%m, %0, %z) {stride=1} fence " +
            reads),
      "");
  const std::string scratch = "%n: mem<f32> = alloc(%8) ";
  EXPECT_NE(InTask(scratch + "parallel(%0, %2, %1) (%low: index, %high: index) {"
                             "%y: f32 = cast(%low) store(%n, %0, %y) {stride=0} yield }"),
            "")
      << "memory of the task is its parts' together";
}

TEST(FenceCheckTest, AtomicsOfTasksDoNotConflict) {
  const std::string atomic =
      "%u: mem<i32> = mem_cast(%m) %one: i32 = const 1 "
      "%old: i32 = atomic_rmw.add(%u, %0, %one) {order=relaxed} ";
  const auto tasks = [](const std::string& body) {
    return ConflictOf("parallel(%0, %2, %1) (%begin: index, %end: index) {" + body + " yield }");
  };
  EXPECT_EQ(tasks(atomic), "");
  EXPECT_NE(tasks(atomic + "store(%m, %0, %x) {stride=0}"), "");
}

TEST(FenceCheckTest, ReleasesAndAcquiresNeedFences) {
  const std::string flag = "%u: mem<i32> = mem_cast(%m) %one: i32 = const 1 ";
  const std::string release = "atomic_store(%u, %8, %one) {order=release} @8 ";
  const std::string stores = "store(%m, %0, %b) {stride=1} ";
  const std::string far = "%far: index = const 64 store(%m, %far, %w) {stride=1} @7 ";
  EXPECT_EQ(InTask(flag + far + release),
            "race of threads, no fence before the release: store @7 by number 31, then "
            "atomic_store @8 by number 0, at byte 32 of view 0");
  EXPECT_EQ(InTask(flag + far + "fence " + release), "");
  const std::string acquire = "%old: i32 = atomic_load(%u, %8) {order=acquire} @6 ";
  EXPECT_NE(InTask(flag + acquire + far), "");
  EXPECT_EQ(InTask(flag + acquire + "fence " + far), "");
}

TEST(FenceCheckTest, OutsideOfTasksPhasesAreTheEmittersMatter) {
  EXPECT_EQ(ConflictOf(std::string(kWarpStores) + "%r: f32x64 = load(%m, %2) {stride=1}"), "");
}

}  // namespace
}  // namespace intent::tile
