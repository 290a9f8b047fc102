// Emitted CUDA C++ is accepted by NVRTC. Without libnvrtc the compilations skip and say so.

#include "compiler/cuda/emit_cuda.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/cuda/nvrtc_fixture.h"
#include "compiler/tile/parse.h"
#include "compiler/tile/verify_tile.h"

namespace intent::cuda {
namespace {

using testing::HasSubstr;

absl::StatusOr<CudaSource> Emit(const std::string& text) {
  const auto program = tile::Parse(text);
  EXPECT_TRUE(program.ok()) << program.status();
  EXPECT_TRUE(tile::VerifyTile(**program).ok()) << tile::VerifyTile(**program);
  return EmitCuda(**program);
}

void ExpectCubin(const std::string& text) {
  const auto source = Emit(text);
  ASSERT_TRUE(source.ok()) << source.status();
  const Nvrtc* nvrtc = NvrtcForTests();
  if (nvrtc == nullptr) GTEST_SKIP() << "no libnvrtc on this machine: nothing was compiled";
  const auto result = nvrtc->Compile({.source = source->text, .architecture = "sm_80"});
  ASSERT_TRUE(result.ok()) << result.status() << "\n" << source->text;
  EXPECT_EQ(result->cubin.substr(1, 3), "ELF");
  EXPECT_THAT(result->cubin, HasSubstr("intent_kernel"));
}

// y = sigmoid(x) * a, guarded, in f16.
constexpr char kElementwise[] = R"(tile {
  view f16 rank 1 read
  view f16 rank 1 write
  scalar f16
  %x: mem<f16> = view_base {view=0}
  %y: mem<f16> = view_base {view=1}
  %n: index = view_extent {view=0 axis=0}
  %limit: index = view_extent {view=1 axis=0}
  %stride: index = view_stride {view=0 axis=0}
  %a: f16 = scalar_arg {scalar=0}
  %zero: index = const 0
  %grain: index = const 1024
  parallel(%zero, %n, %grain) (%b: index, %e: index) {
    %one: index = const 1
    for(%b, %e, %one) (%i: index) {
      %in: bool = compare.lt(%i, %limit)
      guard(%in, %i, %limit) {status=1 parameter=1 axis=0} @5
      %at: index = binary.mul(%i, %stride)
      %v: f16 = load(%x, %at, %in) {stride=1 mask}
      %s: f16 = unary.sigmoid(%v)
      %p: f16 = binary.mul(%s, %a)
      %m: f16 = binary.maximum(%p, %v)
      store(%y, %i, %m) {stride=1}
      yield
    }
    yield
  }
})";

// Sums and maxima of rows, several accumulators.
constexpr char kReduction[] = R"(tile {
  view f32 rank 2 read
  view f32 rank 1 write
  view i64 rank 1 write
  %x: mem<f32> = view_base {view=0}
  %y: mem<f32> = view_base {view=1}
  %k: mem<i64> = view_base {view=2}
  %rows: index = view_extent {view=0 axis=0}
  %columns: index = view_extent {view=0 axis=1}
  %pitch: index = view_stride {view=0 axis=0}
  %zero: index = const 0
  %one: index = const 1
  %two: index = const 2
  %start: f32 = const 0.0
  %none: i64 = const 0
  parallel(%zero, %rows, %one) (%b: index, %e: index) {
    for(%b, %e, %one) (%r: index) {
      %base: index = binary.mul(%r, %pitch)
      %row: mem<f32> = mem_offset(%x, %base)
      %s0: f32, %s1: f32, %c: i64 = for(%zero, %columns, %two, %start, %start, %none) (%i: index, %a0: f32, %a1: f32, %n: i64) {
        %v: f32 = load(%row, %i) {stride=1}
        %next: index = binary.add(%i, %one)
        %inside: bool = compare.lt(%next, %columns)
        %w: f32 = load(%row, %next, %inside) {stride=1 mask}
        %b0: f32 = fma(%v, %v, %a0)
        %b1: f32 = binary.add(%a1, %w)
        %wide: i64 = cast(%i)
        %sum: i64 = binary.add(%n, %wide)
        %m: i64 = if(%inside) () { yield(%sum) } () { yield(%n) }
        yield(%b0, %b1, %m)
      }
      %total: f32 = binary.add(%s0, %s1)
      store(%y, %r, %total) {stride=1}
      store(%k, %r, %c) {stride=1}
      yield
    }
    yield
  }
})";

TEST(EmitCudaTest, ElementwiseKernelCompiles) { ExpectCubin(kElementwise); }
TEST(EmitCudaTest, ReductionKernelCompiles) { ExpectCubin(kReduction); }

// Operations of every dtype on one thread.
TEST(EmitCudaTest, EveryDTypeCompiles) {
  std::string body;
  std::string views;
  int view = 0;
  for (const char* dtype :
       {"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"}) {
    const std::string d = dtype, k = std::to_string(view);
    const bool is_float = d[0] == 'f' || d[0] == 'b';
    views += "view " + d + " rank 1 read write ";
    body += "%m" + k + ": mem<" + d + "> = view_base {view=" + k + "} %x" + k + ": " + d +
            " = load(%m" + k + ", %z) {stride=1} ";
    int next = 0;
    const auto use = [&](const std::string& operation) {
      const std::string name = "%r" + k + "_" + std::to_string(next++);
      body +=
          name + ": " + d + " = " + operation + " store(%m" + k + ", %z, " + name + ") {stride=1} ";
    };
    const std::string pair = "(%x" + k + ", %x" + k + ")", one = "(%x" + k + ")";
    for (const char* binary : {"add", "sub", "mul", "pow", "maximum", "minimum_num"}) {
      use("binary." + std::string(binary) + pair);
    }
    for (const char* binary : {"div", "float_floor_div"}) {
      if (is_float) use("binary." + std::string(binary) + pair);
    }
    for (const char* binary : {"floordiv", "mod", "and", "xor", "shl", "shr"}) {
      if (!is_float) use("binary." + std::string(binary) + pair);
    }
    for (const char* unary : {"exp", "exp2", "log", "log1p", "sin", "cos", "asin", "floor", "erf",
                              "erfc", "rsqrt", "sqrt", "tanh", "sigmoid", "lgamma", "i0"}) {
      if (is_float) use("unary." + std::string(unary) + one);
    }
    use("unary.negate" + one);
    use("unary.abs" + one);
    for (const char* to : {"i8", "u32", "f16", "f32", "f64"}) {
      const std::string name = "%c" + k + std::string(to);
      body += name + ": " + to + " = cast" + one + " ";
      use("cast(" + name + ")");
    }
    ++view;
  }
  ExpectCubin("tile { " + views + " %z: index = const 0 " + body + "}");
}

TEST(EmitCudaTest, AtomicsCompile) {
  std::string text = "tile { ";
  std::string body = "%z: index = const 0 ";
  int view = 0;
  for (const std::string d : {"i32", "u32", "i64", "u64", "index"}) {
    const std::string m = "%m" + std::to_string(view), p = m + "v";
    text += "view " + d + " rank 1 read write ";
    body += m + ": mem<" + d + "> = view_base {view=" + std::to_string(view++) + "} " + p + ": " +
            d + " = atomic_load(" + m + ", %z) {order=acquire} ";
    for (const char* kind : {"exchange", "add", "max", "min", "and", "or", "xor"}) {
      body += p + kind + ": " + d + " = atomic_rmw." + kind + "(" + m + ", %z, " + p +
              ") {order=acq_rel} ";
    }
    body += p + "c: " + d + ", " + p + "ok: bool = atomic_cas(" + m + ", %z, " + p + ", " + p +
            ") {order=release} atomic_store(" + m + ", %z, " + p + "c) {order=release} ";
  }
  ExpectCubin(text + body + "}");
}

TEST(EmitCudaTest, ProductsThatRoundAreKept) {
  const auto source = Emit("tile { %x: f32 = const 1.0 %y: f32 = binary.mul(%x, %x) {rounds} }");
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(source->text, HasSubstr("__fmul_rn("));
}

TEST(EmitCudaTest, TextIsReadable) {
  const auto source = Emit(kReduction);
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_TRUE(source->parallel);
  EXPECT_THAT(source->text, HasSubstr("extern \"C\" __global__ void intent_kernel"));
  EXPECT_THAT(source->text, HasSubstr("fmaf("));
}

TEST(EmitCudaTest, WhatIsNotServedIsNamed) {
  const auto refused = [](const std::string& body, const char* what) {
    const auto source = Emit(
        "tile { view f32 rank 1 read write %m: mem<f32> = view_base {view=0} "
        "%z: index = const 0 %x: f32 = const 1.0 " +
        body + "}");
    EXPECT_EQ(source.status().code(), absl::StatusCode::kUnimplemented) << body;
    EXPECT_THAT(std::string(source.status().message()), HasSubstr(what));
  };
  refused("%v: f32x4 = load(%m, %z) {stride=1}", "4 lanes");
  refused("%a: mem<f32> = alloc(%z)", "alloc");
  refused("store(%m, %z, %x) {stride=1} parallel(%z, %z, %z) (%b: index, %e: index) { yield }",
          "store beside a parallel body");
  refused(
      "parallel(%z, %z, %z) (%b: index, %e: index) { yield } "
      "parallel(%z, %z, %z) (%c: index, %d: index) { yield }",
      "second parallel body");
}

}  // namespace
}  // namespace intent::cuda
