#include "compiler/tile/verify_tile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/tile/parse.h"

namespace intent::tile {
namespace {

// A matrix product with these elements and this store.
std::string Contract(const std::string& left, const std::string& right, const std::string& sum,
                     const std::string& store) {
  return "contract(%i, %i, %i, %i) (%a: index, %b: index, %e: index) { " + left +
         " } (%f: index, %g: index, %h: index) { " + right +
         " } (%o: index, %r: index, %q: index, %s: " + sum + ") { " + store + " }";
}

// A head that bad operations may build on.
constexpr char kHead[] = R"(tile {
  view f32 rank 1 read write
  scalar f32
  %m: mem<f32> = view_base {view=0}
  %i: index = const 3
  %c: bool = const 1
  %x: f32 = const 1.0
  %v: f32x4 = splat(%x)
  %p: boolx4 = splat(%c)
  %k: i32x4 = const 2
  %u: u32 = const 2
  %w: mem<u32> = mem_cast(%m)
)";

absl::Status Check(const std::string& tail) {
  const auto program = Parse(kHead + tail + "\n}");
  EXPECT_TRUE(program.ok()) << program.status() << "\n" << tail;
  return program.ok() ? VerifyTile(**program) : absl::OkStatus();
}

TEST(VerifyTileTest, GoodPrograms) {
  for (const char* tail :
       {"", "%a: f32x4 = load(%m, %i) {stride=1}", "store(%m, %i, %v, %p) {stride=-1 mask}",
        "%a: f32x4 = load(%m, %i, %p, %v) {stride=1 mask fill}", "%a: f32x4 = select(%c, %v, %v)",
        "%a: mem<f32> = select(%c, %m, %m)",
        "%a: f32 = for(%i, %i, %i, %x) (%j: index, %y: f32) { yield(%y) }", "%a: i64x4 = cast(%v)",
        "%a: f32x4 = bitcast(%k)", "%a: index = bounded(%i, %i)",
        "%a: f32x2 = shuffle(%v) {lanes=[3, 3]}",
        "parallel(%i, %i, %i) (%b: index, %e: index) { yield }", "%a: mem<i32> = mem_cast(%m)",
        "%a: f32x4 = binary.mul(%v, %v) {rounds}", "%a: u32 = atomic_load(%w, %i) {order=acquire}",
        "atomic_store(%w, %i, %u) {order=release}",
        "%a: u32 = atomic_rmw.xor(%w, %i, %u) {order=acq_rel}",
        "%a: u32, %b: bool = atomic_cas(%w, %i, %u, %u) {order=release}"}) {
    EXPECT_TRUE(Check(tail).ok()) << tail << "\n" << Check(tail);
  }
  const std::string load = "%y: f32 = load(%m, %h) {stride=0} yield(%y)";
  const std::string store = "store(%m, %r, %s) {stride=0} yield";
  EXPECT_EQ(Check(Contract("yield(%x)", load, "f32", store)), absl::OkStatus());
  EXPECT_EQ(
      Check(Contract("%l: i8 = cast(%x) yield(%l)", "%y: u8 = cast(%x) yield(%y)", "i32", "yield")),
      absl::OkStatus());
  EXPECT_EQ(Check(Contract("%l: bf16 = cast(%x) yield(%l)", "%y: bf16 = cast(%x) yield(%y)", "f32",
                           "yield")),
            absl::OkStatus());
}

TEST(VerifyTileTest, EveryRuleHasABadProgram) {
  for (const char* tail : {
           "%a: f32 = scalar_arg {scalar=1}",
           "%a: f64 = scalar_arg {scalar=0}",
           "%a: mem<f64> = view_base {view=0}",
           "%a: mem<f32> = view_base {view=1}",
           "%a: index = view_extent {view=0 axis=1}",
           "%a: i64 = view_extent {view=0 axis=0}",
           "%a: bool = overlap {view=0 other=1}",
           "%a: mem<f32> = stack_alloc {count=0}",
           "%a: mem<f32> = alloc(%x)",
           "%a: mem<f64> = mem_offset(%m, %i)",
           "%a: mem<u16> = mem_cast(%m)",
           "%a: mem<f32> = mem_cast(%i)",
           "%a: u32 = atomic_load(%w, %i) {order=release}",
           "%a: f32 = atomic_load(%m, %i) {order=relaxed}",
           "%a: i32 = atomic_load(%w, %i) {order=relaxed}",
           "%a: u32 = atomic_load(%w, %u) {order=relaxed}",
           "atomic_store(%w, %i, %u) {order=acquire}",
           "atomic_store(%w, %i, %x) {order=relaxed}",
           "atomic_store(%w, %i) {order=relaxed}",
           "%a: u32 = atomic_rmw.add(%w, %i, %i) {order=relaxed}",
           "%a: f32 = atomic_rmw.add(%m, %i, %x) {order=relaxed}",
           "atomic_rmw.add(%w, %i, %u) {order=relaxed}",
           "%a: u32 = atomic_cas(%w, %i, %u, %u) {order=relaxed}",
           "%a: u32, %b: u32 = atomic_cas(%w, %i, %u, %u) {order=relaxed}",
           "%a: u32, %b: bool = atomic_cas(%w, %i, %u) {order=relaxed}",
           "%a: f64x4 = load(%m, %i) {stride=1}",
           "%a: f32x4 = load(%m, %x) {stride=1}",
           "%a: f32x4 = load(%m, %i, %c) {stride=1 mask}",
           "%a: f32x4 = load(%m, %i, %v) {stride=1 fill}",
           "%a: f32x4 = load(%m, %i, %p, %x) {stride=1 mask fill}",
           "store(%m, %i, %k) {stride=1}",
           "store(%m, %i) {stride=1}",
           "%a: f32x4 = gather(%m, %i)",
           "%a: f32x4 = splat(%i)",
           "%a: f32x4 = binary.add(%v, %x)",
           "%a: f32x4 = binary.and(%v, %v)",
           "%a: i32x4 = binary.div(%k, %k)",
           "%a: f32x4 = binary.mod(%v, %v)",
           "%a: boolx4 = binary.add(%p, %p)",
           "%a: i32x4 = unary.exp(%k)",
           "%a: f32x4 = unary.not(%v)",
           "%a: f32x4 = compare.lt(%v, %v)",
           "%a: bool = compare.lt(%v, %v)",
           "%a: i32x4 = fma(%k, %k, %k)",
           "%a: f32 = select(%p, %x, %x)",
           "%a: f64x4 = bitcast(%v)",
           "%a: f32x8 = cast(%v)",
           "%a: f32 = bounded(%x, %i)",
           "%a: index = bounded(%i)",
           "%a: f32x2 = shuffle(%v) {lanes=[0, 4]}",
           "%a: f32x2 = shuffle(%v) {lanes=[0]}",
           "%a: f32 = extract_lane(%v) {lane=4}",
           "%a: f32 = reduce_lanes.and(%v)",
           "%a: f32 = reduce_lanes.region(%v)",
           "%a: f32x2 = reduce_lanes.add(%v)",
           "%a: f32 = for(%i, %i, %i, %x) (%j: index) { yield(%x) }",
           "%a: f32 = for(%i, %i, %i, %x) (%j: index, %y: f32) { yield }",
           "%a: f32 = for(%i, %i, %i, %x) (%j: index, %y: f32) { yield(%i) }",
           "%a: f32 = for(%i, %i, %i, %x) (%j: index, %y: f32) { poll }",
           "for(%i, %i, %x) (%j: index) { yield }",
           "if(%i) () { yield } () { yield }",
           "%a: f32 = if(%c) () { yield(%x) } () { yield }",
           "if(%c) () { yield poll } () { yield }",
           "%a: f32 = while(%x) (%y: f32) { yield(%y) } (%z: f32) { yield(%z) }",
           "parallel(%i, %i, %i) (%b: index) { yield }",
           "guard(%c, %i, %i)",
           "guard(%p, %i, %i) {status=1}",
           "yield",
           // A value of a region is invisible after it.
           "if(%c) () { %a: index = const 1 yield } () { yield } %b: f32x4 = load(%m, %a) "
           "{stride=1}",
       }) {
    EXPECT_EQ(Check(tail).code(), absl::StatusCode::kInternal) << tail;
  }
}

TEST(VerifyTileTest, MatrixProductsHaveElementsThatMeetInTheSum) {
  const std::string one = "yield(%x)";
  for (const std::string& tail : {
           Contract("yield", one, "f32", "yield"),
           Contract("yield(%x, %x)", one, "f32", "yield"),
           Contract(one, one, "f64", "yield"),
           Contract(one, one, "f16", "yield"),
           Contract("yield(%v)", one, "f32", "yield"),
           Contract("yield(%m)", one, "f32", "yield"),
           Contract("yield(%i)", "yield(%i)", "index", "yield"),
           Contract("%l: f16 = cast(%x) yield(%l)", "%y: bf16 = cast(%x) yield(%y)", "f32",
                    "yield"),
           Contract("%l: i8 = cast(%x) yield(%l)", "%y: i32 = cast(%x) yield(%y)", "i32", "yield"),
           // Elements have no effects, and no tiles.
           Contract("store(%m, %b, %x) {stride=0} yield(%x)", one, "f32", "yield"),
           Contract("poll yield(%x)", one, "f32", "yield"),
           Contract(one, one, "f32", "fence yield"),
           Contract("%l: f32x4 = load(%m, %b) {stride=1} yield(%x)", one, "f32", "yield"),
           Contract(one, one, "f32", "yield(%s)"),
           std::string("contract(%i, %i, %i) (%a: index, %b: index, %e: index) { yield(%x) } "
                       "(%f: index, %g: index, %h: index) { yield(%x) } "
                       "(%o: index, %r: index, %q: index, %s: f32) { yield }"),
       }) {
    EXPECT_EQ(Check(tail).code(), absl::StatusCode::kInternal) << tail;
  }
}

// As the body of a parallel of so many levels.
std::string InTasks(const std::string& body, int levels) {
  std::string text = body;
  for (int level = 0; level < levels; ++level) {
    const std::string name = std::to_string(level);
    text = "parallel(%i, %i, %i) (%begin" + name + ": index, %end" + name + ": index) { " + text +
           " yield }";
  }
  return text;
}

TEST(VerifyTileTest, ATaskHasTasksThatAreNoMore) {
  const std::string product = Contract("yield(%x)", "yield(%x)", "f32", "yield");
  const std::string alloc = "%n: mem<f32> = alloc(%i)",
                    slot = "%n: mem<f32> = stack_alloc {count=4}";
  EXPECT_EQ(Check(InTasks("", 2)), absl::OkStatus());
  EXPECT_EQ(Check(InTasks(product, 1)), absl::OkStatus());
  EXPECT_EQ(
      Check(InTasks(alloc + " parallel(%i, %i, %i) (%b: index, %e: index) { fence yield }", 1)),
      absl::OkStatus());
  EXPECT_EQ(Check(InTasks(slot, 1)), absl::OkStatus());
  for (const std::string& tail :
       {InTasks("", 3), InTasks(product, 2), InTasks(alloc, 2), InTasks(slot, 2),
        InTasks("if(%c) () { " + alloc + " yield } () { yield }", 2)}) {
    EXPECT_EQ(Check(tail).code(), absl::StatusCode::kInternal) << tail;
  }
}

TEST(VerifyTileTest, MessagesShowTheOperation) {
  EXPECT_THAT(std::string(Check("%a: i32x4 = binary.div(%k, %k) @9").message()),
              testing::HasSubstr("binary.div(i32x4, i32x4) -> i32x4 @9: not defined on the dtype"));
}

}  // namespace
}  // namespace intent::tile
