// Mutated tile programs: whatever still parses and verifies must compile, or be refused by name.
// Nothing may crash, and LLVM must accept what the emitter builds.

#include <gtest/gtest.h>

#include <random>

#include "compiler/cpu/kernel_fixture.h"
#include "compiler/tile/parse.h"
#include "compiler/tile/verify_tile.h"

namespace intent::cpu {
namespace {

constexpr char kSeedText[] = R"(tile {
  view f32 rank 2 read
  view i64 rank 1 read write
  scalar bool
  %0: mem<f32> = view_base {view=0}
  %1: mem<i64> = view_base {view=1}
  %2: index = view_extent {view=0 axis=1}
  %3: bool = scalar_arg {scalar=0}
  %4: index = const 0
  %5: index = const 3
  %6: f32x8 = const 0x3f800000
  %7: boolx8 = const 1
  %8: mem<f32> = alloc(%2)
  %9: f32x8 = load(%0, %4, %2, %7, %6) {strided mask fill}
  %10: f32x8 = unary.exp(%9)
  %11: f32x8 = binary.maximum(%9, %10)
  %12: boolx8 = compare.lt(%9, %11)
  %13: f32x8 = select(%12, %9, %11)
  store(%8, %4, %13, %7) {stride=1 mask}
  %14: f32x4 = shuffle(%13) {lanes=[0, 2, 4, 6]}
  %15: f32 = reduce_lanes.add(%14)
  %16: i64 = saturating_cast(%15)
  %17: i64, %18: i64 = for(%4, %2, %5, %16, %16) (%19: index, %20: i64, %21: i64) {
    %22: i64 = binary.floordiv(%20, %21)
    %23: i64 = if(%3) () { yield(%22) } () { yield(%20) }
    yield(%23, %21)
  }
  parallel(%4, %2, %5) (%24: index, %25: index) {
    guard(%3, %24, %25) {status=1 parameter=0 axis=1} @7
    %26: f64 = cast(%15)
    %27: f16 = cast(%26)
    %28: i64 = cast(%27)
    store(%1, %24, %28) {stride=1}
    yield
  }
  %29: indexx4 = iota
  scatter(%8, %29, %14)
}
)";

TEST(MutationTest, WhatVerifiesCompilesOrIsRefused) {
  const std::vector<std::string> words = {
      "f32",      "f64",  "f16",  "bf16", "i8",      "u64",     "bool",      "index",
      "f8e4m3fn", "i128", "x8",   "x1",   "x3",      "%4",      "%9",        "%0",
      "%13",      "sin",  "pow",  "add",  "exp",     "minimum", "stride=-1", "stride=0",
      "strided",  "mask", "fill", "cast", "bitcast", "gather",  "load",      "store"};
  std::mt19937 random(11);
  std::vector<std::pair<size_t, size_t>> tokens;  // begin, length
  const std::string seed = kSeedText;
  for (size_t i = 0; i < seed.size();) {
    size_t end = i;
    while (end < seed.size() && (std::isalnum(static_cast<unsigned char>(seed[end])) ||
                                 seed[end] == '%' || seed[end] == '_' || seed[end] == '=')) {
      ++end;
    }
    if (end > i) tokens.emplace_back(i, end - i);
    i = end + 1;
  }
  int verified = 0, compiled = 0;
  for (int round = 0; round < 6000; ++round) {
    std::string text = seed;
    const auto& [begin, length] = tokens[random() % tokens.size()];
    const auto& [other, other_length] = tokens[random() % tokens.size()];
    text.replace(
        begin, length,
        random() % 2 == 0 ? words[random() % words.size()] : seed.substr(other, other_length));
    const auto program = tile::Parse(text);
    if (!program.ok() || !tile::VerifyTile(**program).ok()) continue;
    if (++verified % 4 != 0) continue;
    const auto object = EmitObject(**program, HostTarget(), {});
    if (object.ok()) {
      ++compiled;
    } else {
      EXPECT_EQ(object.status().code(), absl::StatusCode::kUnimplemented) << object.status() << "\n"
                                                                          << text;
    }
  }
  EXPECT_GT(verified, 100);
  EXPECT_GT(compiled, 20);
}

}  // namespace
}  // namespace intent::cpu
