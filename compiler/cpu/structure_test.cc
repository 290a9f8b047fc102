// Loops, branches, parallel bodies, guards and scratch: compiled code against the tile interpreter.

#include <gtest/gtest.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <cstring>

#include "compiler/cpu/kernel_fixture.h"
#include "compiler/tile/tile_interp.h"

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

// Sums i * i over odd i below the extent; carries of two types; a while loop; a branch.
TEST(StructureTest, ControlFlow) {
  const char* text = R"(tile {
    view i64 rank 1 read write
    scalar index
    %m: mem<i64> = view_base {view=0}
    %n: index = scalar_arg {scalar=0}
    %zero: index = const 0
    %one: index = const 1
    %two: index = const 2
    %init: i64 = const 0
    %yes: bool = const 1
    %sum: i64, %even: bool = for(%zero, %n, %one, %init, %yes) (%i: index, %acc: i64, %e: bool) {
      %square: index = binary.mul(%i, %i)
      %wide: i64 = cast(%square)
      %next: i64 = if(%e) () { yield(%acc) } () { %t: i64 = binary.add(%acc, %wide) yield(%t) }
      %flip: bool = unary.not(%e)
      yield(%next, %flip)
    }
    store(%m, %zero, %sum) {stride=1}
    %count: index, %left: index = while(%zero, %n) (%c: index, %l: index) {
      %more: bool = compare.gt(%l, %one)
      yield(%more)
    } (%c2: index, %l2: index) {
      %c3: index = binary.add(%c2, %one)
      %l3: index = binary.floordiv(%l2, %two)
      yield(%c3, %l3)
    }
    %bits: i64 = cast(%count)
    store(%m, %one, %bits) {stride=1}
    %flag: i64 = cast(%even)
    store(%m, %two, %flag) {stride=1}
  })";
  for (uint64_t n : {0, 1, 2, 9, 1000}) {
    ExpectSame(text, {Contiguous(BytesOf(std::vector<int64_t>(4, -1)), 8)}, {n});
  }
}

// Trips whose next value would leave the range of index.
TEST(StructureTest, LoopsToTheEndOfTheRange) {
  const char* text = R"(tile {
    view i64 rank 1 read write
    scalar index
    scalar index
    scalar index
    %m: mem<i64> = view_base {view=0}
    %lo: index = scalar_arg {scalar=0}
    %hi: index = scalar_arg {scalar=1}
    %step: index = scalar_arg {scalar=2}
    %zero: index = const 0
    %init: i64 = const 0
    %one: i64 = const 1
    %n: i64 = for(%lo, %hi, %step, %init) (%i: index, %c: i64) {
      %d: i64 = binary.add(%c, %one)
      yield(%d)
    }
    store(%m, %zero, %n) {stride=1}
    %by8: index = const 8
    %k: i64 = for(%lo, %hi, %by8, %init) (%j: index, %e: i64) {
      %f: i64 = binary.add(%e, %one)
      yield(%f)
    }
    %at1: index = const 1
    store(%m, %at1, %k) {stride=1}
  })";
  const uint64_t top = INT64_MAX, bottom = static_cast<uint64_t>(INT64_MIN);
  const auto views = {Contiguous(BytesOf(std::vector<int64_t>(4, -1)), 8)};
  ExpectSame(text, views, {top - 20, top, 7});
  ExpectSame(text, views, {top - 20, top, top});
  ExpectSame(text, views, {bottom, bottom + 9, 3});
  ExpectSame(text, views, {bottom, bottom, 1});
  ExpectSame(text, views, {5, bottom, 1});
}

constexpr char kScratch[] = R"(tile {
  view f32 rank 1 read write
  scalar index
  %m: mem<f32> = view_base {view=0}
  %n: index = view_extent {view=0 axis=0}
  %size: index = scalar_arg {scalar=0}
  %zero: index = const 0
  %one: index = const 1
  %outer: mem<f32> = alloc(%n)
  for(%zero, %n, %one) (%i: index) {
    %x: f32 = load(%m, %i) {stride=1}
    store(%outer, %i, %x) {stride=1}
    yield
  }
  parallel(%zero, %n, %one) (%b: index, %e: index) {
    for(%b, %e, %one) (%j: index) {
      %tmp: mem<f32> = alloc(%size)
      %y: f32 = load(%outer, %j) {stride=1}
      store(%tmp, %zero, %y) {stride=1}
      %slot: mem<f32> = stack_alloc {count=4}
      %z: f32 = load(%tmp, %zero) {stride=1}
      store(%slot, %one, %z) {stride=1}
      %w: f32 = load(%slot, %one) {stride=1}
      %s: f32 = binary.add(%w, %w)
      store(%m, %j, %s) {stride=1}
      yield
    }
    yield
  }
})";

TEST(StructureTest, ScratchLivesForAnIteration) {
  ExpectSame(kScratch, {Floats(37)}, {16});
  const auto program = ParseOrDie(kScratch);
  RunCompiled(*program, {Floats(200)}, {16}, "native", 2, ThreadedRuntime());
  EXPECT_EQ(ArenaBytesInUse(), 0);
}

TEST(StructureTest, RefusedScratchEndsTheCallAndGivesBackTheRest) {
  const auto program = ParseOrDie(kScratch);
  for (uint64_t size : {uint64_t{1} << 40, ~uint64_t{0}, uint64_t{INT64_MAX}, uint64_t{1} << 62}) {
    const Outcome outcome = RunCompiled(*program, {Floats(37)}, {size});
    EXPECT_EQ(outcome.status, INTENT_NO_MEMORY);
    EXPECT_EQ(outcome.error.status, INTENT_NO_MEMORY);
    EXPECT_EQ(ArenaBytesInUse(), 0);
  }
}

constexpr char kGuarded[] = R"(tile {
  view f32 rank 1 read write
  %m: mem<f32> = view_base {view=0}
  %n: index = view_extent {view=0 axis=0}
  %zero: index = const 0
  %one: index = const 1
  %limit: index = const 10
  %x: f32 = const 1.0
  parallel(%zero, %n, %one) (%b: index, %e: index) {
    for(%b, %e, %one) (%i: index) {
      %good: bool = compare.lt(%i, %limit)
      guard(%good, %i, %limit) {status=1 parameter=0 axis=0} @77
      store(%m, %i, %x) {stride=1}
      yield
    }
    yield
  }
})";

TEST(StructureTest, AFailedGuardEndsTheCall) {
  ExpectSame(kGuarded, {Floats(10)});
  ExpectSame(kGuarded, {Floats(14)});
  const auto program = ParseOrDie(kGuarded);
  const Outcome outcome = RunCompiled(*program, {Floats(64)}, {}, "native", 2, ThreadedRuntime());
  EXPECT_EQ(outcome.status, INTENT_OUT_OF_BOUNDS);
  EXPECT_EQ(outcome.error.status, INTENT_OUT_OF_BOUNDS);
  EXPECT_EQ(outcome.error.ordinal, 77u);
  EXPECT_EQ(outcome.error.limit, 10);
  EXPECT_GE(outcome.error.value, 10);
}

TEST(StructureTest, CancelledCallsEnd) {
  const auto program = ParseOrDie(R"(tile {
    view f32 rank 1 read
    %yes: bool = const 1
    while() () { yield(%yes) } () { poll yield }
  })");
  const Outcome outcome = RunCompiled(*program, {Floats(1)}, {}, "native", 2, SerialRuntime(), 1);
  EXPECT_EQ(outcome.status, INTENT_CANCELLED);
}

TEST(StructureTest, NestedParallelBodiesSeeOuterValues) {
  ExpectSame(
      R"(tile {
    view i32 rank 1 read write
    %m: mem<i32> = view_base {view=0}
    %zero: index = const 0
    %one: index = const 1
    %four: index = const 4
    %three: i32x4 = const 3
    parallel(%zero, %four, %one) (%b: index, %e: index) {
      for(%b, %e, %one) (%i: index) {
        %base: index = binary.mul(%i, %four)
        %v: i32x4 = load(%m, %base) {stride=1}
        %mask: boolx4 = compare.gt(%v, %three)
        parallel(%zero, %one, %one) (%c: index, %d: index) {
          %w: i32x4 = select(%mask, %v, %three)
          store(%m, %base, %w) {stride=1}
          yield
        }
        yield
      }
      yield
    }
  })",
      {Contiguous(BytesOf(std::vector<int32_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6}),
                  4)});
}

TEST(StructureTest, LanesShuffleAndReduce) {
  for (const char* lanes : {"2", "3", "5", "8", "16", "31"}) {
    const std::string n = lanes;
    ExpectSame(
        "tile { view f32 rank 1 read view f32 rank 1 read write "
        "%a: mem<f32> = view_base {view=0} %o: mem<f32> = view_base {view=1} "
        "%z: index = const 0 %i1: index = const 1 %i2: index = const 2 %i3: index = const 3 "
        "%i4: index = const 4 %v: f32x" +
            n +
            " = load(%a, %z) {stride=1} "
            "%s: f32 = reduce_lanes.add(%v) store(%o, %z, %s) {stride=1} "
            "%t: f32 = reduce_lanes.maximum(%v) store(%o, %i1, %t) {stride=1} "
            "%u: f32 = reduce_lanes.minimum(%v) store(%o, %i2, %u) {stride=1} "
            "%w: f32 = extract_lane(%v) {lane=1} store(%o, %i3, %w) {stride=1} "
            "%x: f32x4 = shuffle(%v) {lanes=[1, 0, 1, 0]} store(%o, %i4, %x) {stride=1} }",
        {Floats(40), Floats(8)});
  }
}

TEST(StructureTest, OverlapIsByBytes) {
  const auto program = ParseOrDie(R"(tile {
    view f32 rank 1 read
    view f32 rank 1 read
    view bool rank 1 write
    %o: mem<bool> = view_base {view=2}
    %zero: index = const 0
    %one: index = const 1
    %meet: bool = overlap {view=0 other=1}
    %same: bool = same_view {view=0 other=1}
    store(%o, %zero, %meet) {stride=1}
    store(%o, %one, %same) {stride=1}
  })");
  const auto object = EmitObject(*program, HostTarget(), {});
  ASSERT_TRUE(object.ok()) << object.status();
  const auto kernel = LinkAndLoad(*object);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  std::vector<float> data(100);
  const auto classify = [&](int64_t at, int64_t n, int64_t stride, int64_t at2, int64_t n2,
                            int64_t stride2) {
    const int64_t unit = 1;
    uint8_t out[2] = {9, 9};
    const auto view = [&](int64_t first, const int64_t& count, const int64_t& step) {
      const int64_t reach = 4 * (count - 1) * step;
      return intent_view{&data[static_cast<size_t>(first)], &count, &step,
                         count == 0 ? 0 : std::min<int64_t>(reach, 0),
                         count == 0 ? 0 : std::max<int64_t>(reach, 0) + 4};
    };
    const intent_view views[] = {
        view(at, n, stride), view(at2, n2, stride2), {out, &unit, &unit, 0, 2}};
    intent_error error = {};
    const intent_call call = {views, nullptr, &SerialRuntime(), nullptr, &error};
    EXPECT_EQ((*kernel)->entry()(&call), 0);
    EXPECT_EQ(tile::Interpret(*program, &call), 0);
    const int interpreted = out[0] + 2 * out[1];
    EXPECT_EQ((*kernel)->entry()(&call), 0);
    EXPECT_EQ(out[0] + 2 * out[1], interpreted);
    return interpreted;
  };
  EXPECT_EQ(classify(0, 10, 1, 10, 10, 1), 0);
  EXPECT_EQ(classify(0, 10, 1, 9, 10, 1), 1);
  EXPECT_EQ(classify(5, 10, 1, 5, 10, 1), 3);
  EXPECT_EQ(classify(5, 1, 7, 5, 1, 1), 3);
  EXPECT_EQ(classify(20, 10, -1, 10, 1, 1), 0);
  EXPECT_EQ(classify(20, 10, -1, 11, 1, 1), 1);
  EXPECT_EQ(classify(5, 0, 1, 5, 0, 1), 2);
}

TEST(StructureTest, MatrixProductsOfUnitsAreRefused) {
  const auto program = ParseOrDie(R"(tile {
    view f32 rank 1 read
    %m: mem<f32> = view_base {view=0}
    %one: index = const 1
    %yes: bool = const 1
    if(%yes) () {
      contract(%one, %one, %one, %one) (%p: index, %r: index, %k: index) {
        %x: f32 = load(%m, %k) {stride=0}
        yield(%x)
      } (%p2: index, %c: index, %k2: index) {
        %y: f32 = load(%m, %k2) {stride=0}
        yield(%y)
      } (%p3: index, %r3: index, %c3: index, %s: f32) {
        yield
      }
      yield
    } () {
      yield
    }
  })");
  const auto object = EmitObject(*program, HostTarget(), {});
  EXPECT_EQ(object.status().code(), absl::StatusCode::kInternal);
  EXPECT_NE(object.status().message().find("for units of threads"), std::string::npos)
      << object.status();
}

TEST(StructureTest, TheFloatEnvironmentIsOursAndRestored) {
#if defined(__x86_64__)
  const auto program = ParseOrDie(kSaxpy);
  std::vector<float> tiny(9, 1e-40f);
  const unsigned hostile = 0x1f80 | 0x8040 | 0x6000;  // flush, subnormals are zero, toward zero
  const unsigned before = _mm_getcsr();
  const std::vector<ViewArgument> views = {Contiguous(BytesOf(tiny), 4),
                                           Contiguous(BytesOf(tiny), 4)};
  const Outcome expected = RunCompiled(*program, views, {BitsOf(1.5f)});
  const auto object = EmitObject(*program, HostTarget(), {});
  const auto kernel = LinkAndLoad(*object);
  std::vector<float> out = tiny;
  const int64_t extent = 9, stride = 1;
  const intent_view raw[] = {{tiny.data(), &extent, &stride, 0, 36},
                             {out.data(), &extent, &stride, 0, 36}};
  const uint64_t scalar = BitsOf(1.5f);
  intent_error error = {};
  const intent_call call = {raw, &scalar, &SerialRuntime(), nullptr, &error};
  _mm_setcsr(hostile);
  const int32_t status = (*kernel)->entry()(&call);
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(after & ~0x3fu, hostile & ~0x3fu);
  EXPECT_EQ(BytesOf(out), expected.allocations[1]);
#else
  GTEST_SKIP() << "x86-64 only";
#endif
}

}  // namespace
}  // namespace intent::cpu
