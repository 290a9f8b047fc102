// Which axes bodies of `parallel` own, which they do not and why, and what loops over tiles of them
// are: KIR that verifies.

#include "compiler/plan/owned_axis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "compiler/plan/tile_parallel.h"
#include "compiler/specialize/specialize.h"
#include "compiler/verify/verify.h"

namespace intent::plan {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::unique_ptr<Module> Parse(const std::string& text) {
  ParsedModule parsed = ParseModule(text);
  EXPECT_TRUE(parsed.ok()) << text;
  if (!parsed.ok()) return nullptr;
  const std::vector<Diagnostic> found = Verify(*parsed.module);
  EXPECT_TRUE(found.empty()) << ToString(found[0]) << "\n" << text;
  EXPECT_TRUE(Specialize(parsed.module.get(), {}).empty());
  return std::move(parsed.module);
}

// Heads of queries %0, keys %1, scores %2, rows of numbers %4 and more; `body` runs for each %h.
std::string Loop(const std::string& body, const std::string& before = "") {
  return R"(kernel (%0: view<in, f32, [s0, s1, s2]>, %1: view<in, f32, [s0, s3, s2]>,
        %2: view<inout, f32, [s0, s1, s3]>, %3: view<in, i32, [s1]>,
        %4: view<inout, f32, [s0, s1]>, %5: view<inout, f32, [s1, s1]>,
        %6: view<inout, f32, [s0, s3]>, %7: index) symbols 6 {
  %zero = constant 0 : index
  %one = constant 1 : index
  %heads = dim %0 axis 0 : index
  %queries = dim %0 axis 1 : index
  %points = domain %zero, %heads, %one : domain<[s0]>
  %none = constant 0.0 : f32
  %all_queries = domain %zero, %queries, %one : domain<[s1]>
)" + before +
         "  parallel %h = %points {\n" + body + "    yield\n  }\n  return\n}\n";
}

constexpr char kScores[] = R"(
    %q = view_load %0 [%h, :, :] : tensor<f32, [s1, s2]>
    %k = view_load %1 [%h, :, :] : tensor<f32, [s3, s2]>
    %scores = contract %q, %k reduce [(1, 1)] batch [] : tensor<f32, [s1, s3]>
)";
constexpr char kStoreScores[] = "    view_store %2 [%h, :, :] = %scores\n";

const Op* LoopOf(const Module& module) {
  const Op* loop = nullptr;
  ForEachOp(module.kernel_function().body, [&](const Op& op) {
    if (op.kind == OpKind::kParallel && loop == nullptr) loop = &op;
  });
  return loop;
}

Ownership Find(const std::string& text) {
  const std::unique_ptr<Module> module = Parse(text);
  if (module == nullptr) return {};
  return FindOwnedAxis(module->kernel_function(), *LoopOf(*module));
}

std::string RefusalOf(const std::string& body, const std::string& before = "") {
  const Ownership ownership = Find(Loop(body, before));
  EXPECT_EQ(ownership.owned.has_value(), ownership.refusal.empty());
  return ownership.refusal;
}

// The kernel with its loop in tiles, which must verify.
std::string Tiled(const std::string& text, int64_t rows = 128) {
  const std::unique_ptr<Module> module = Parse(text);
  if (module == nullptr) return "";
  const TiledLoops loops =
      TileParallel(&module->kernel_function(), {.contractions = true, .rows = rows});
  EXPECT_EQ(loops.tiles.size(), 1u);
  for (const auto& [loop, why] : loops.whole) ADD_FAILURE() << why;
  const std::vector<Diagnostic> found = Verify(*module, {.specialized = true});
  const std::string printed = PrintModule(*module);
  EXPECT_TRUE(found.empty()) << ToString(found[0]) << "\n" << printed;
  return printed;
}

TEST(OwnedAxisTest, RowsOfAProductOfMatrices) {
  const Ownership ownership = Find(Loop(std::string(kScores) + kStoreScores));
  ASSERT_TRUE(ownership.owned) << ownership.refusal;
  EXPECT_EQ(ownership.owned->extent, Extent::Symbol(1));
  EXPECT_EQ(ownership.owned->store_axis, 1);
}

TEST(OwnedAxisTest, ColumnsWhereRowsAreNotOwned) {
  // The sum over queries needs all of them, and keeps the keys.
  const Ownership ownership = Find(Loop(std::string(kScores) + R"(
    %sums = reduce %scores, %none axes [0] combine add : tensor<f32, [s3]>
    %wide = broadcast %sums : tensor<f32, [s1, s3]>
    view_store %2 [%h, :, :] = %wide
)"));
  ASSERT_TRUE(ownership.owned) << ownership.refusal;
  EXPECT_EQ(ownership.owned->extent, Extent::Symbol(3));
  EXPECT_EQ(ownership.owned->store_axis, 2);
}

TEST(OwnedAxisTest, RowsOfASoftmaxAndAProduct) {
  const Ownership ownership = Find(Loop(std::string(kScores) + R"(
    %least = constant -inf : f32
    %peak = reduce %scores, %least axes [1] combine maximum : tensor<f32, [s1]>
    %down = reshape %peak : tensor<f32, [s1, 1]>
    %wide = broadcast %down : tensor<f32, [s1, s3]>
    %moved = binary sub %scores, %wide : tensor<f32, [s1, s3]>
    %weights = unary exp %moved : tensor<f32, [s1, s3]>
    %mass = reduce %weights, %none axes [1] combine add : tensor<f32, [s1]>
    view_store %4 [%h, :] = %mass
    view_store %2 [%h, :, :] = %weights
)"));
  ASSERT_TRUE(ownership.owned) << ownership.refusal;
  EXPECT_EQ(ownership.owned->extent, Extent::Symbol(1));
  EXPECT_EQ(ownership.owned->store_axis, 1);
}

// Attention whose queries, keys and values are one view: one symbol, two classes.
std::string SelfAttention(const std::string& positions) {
  return R"(kernel (%0: view<in, f32, [s0, s1, s2]>, %1: view<out, f32, [s0, s1, s2]>) symbols 5 {
  %zero = constant 0 : index
  %one = constant 1 : index
  %heads = dim %0 axis 0 : index
  %points = domain %zero, %heads, %one : domain<[s0]>
  %length = dim %0 axis 1 : index
  %places = domain %zero, %length, %one : domain<[s1]>
  %none = constant 0.0 : f32
  %at = indices %places : tensor<index, [s1]>
  parallel %h = %points {
    %q = view_load %0 [%h, :, :] : tensor<f32, [s1, s2]>
    %k = view_load %0 [%h, :, :] : tensor<f32, [s1, s2]>
    %inner = indices %places : tensor<index, [s1]>
    %source = make_tuple %k, )" +
         positions + R"( : tuple<tensor<f32, [s1, s2]>, tensor<index, [s1]>>
    %zeros = full %none : tensor<f32, [s1, s2]>
    %identity = make_record %zeros : record<total: tensor<f32, [s1, s2]>>
    %seen = region_fold %source, %identity, %q, %at axis 0 slice s4
        summarize (%ks: tensor<f32, [s4, s2]>, %ps: tensor<index, [s4]>, %qs: tensor<f32, [s1, s2]>, %ats: tensor<index, [s1]>) {
      %scores = contract %qs, %ks reduce [(1, 1)] batch [] : tensor<f32, [s1, s4]>
      %down = reshape %ats : tensor<index, [s1, 1]>
      %rows = broadcast %down : tensor<index, [s1, s4]>
      %columns = broadcast %ps : tensor<index, [s1, s4]>
      %allowed = compare le %columns, %rows : tensor<bool, [s1, s4]>
      %z = constant 0.0 : f32
      %zs = full %z : tensor<f32, [s1, s4]>
      %weights = select %allowed, %scores, %zs : tensor<f32, [s1, s4]>
      %part = contract %weights, %ks reduce [(1, 0)] batch [] : tensor<f32, [s1, s2]>
      %record = make_record %part : record<total: tensor<f32, [s1, s2]>>
      yield %record
    } combine (%a: record<total: tensor<f32, [s1, s2]>>, %b: record<total: tensor<f32, [s1, s2]>>) {
      %x = extract %a axis 0 : tensor<f32, [s1, s2]>
      %y = extract %b axis 0 : tensor<f32, [s1, s2]>
      %sum = binary add %x, %y : tensor<f32, [s1, s2]>
      %both = make_record %sum : record<total: tensor<f32, [s1, s2]>>
      yield %both
    } : record<total: tensor<f32, [s1, s2]>>
    %total = extract %seen axis 0 : tensor<f32, [s1, s2]>
    view_store %1 [%h, :, :] = %total
    yield
  }
  return
}
)";
}

TEST(OwnedAxisTest, QueriesOfSelfAttention) {
  for (const char* positions : {"%at", "%inner"}) {
    const Ownership ownership = Find(SelfAttention(positions));
    ASSERT_TRUE(ownership.owned) << ownership.refusal;
    EXPECT_EQ(ownership.owned->extent, Extent::Symbol(1));
    EXPECT_EQ(ownership.owned->store_axis, 1);
    // %0 is read as keys, at places of no tile, while %1 is written.
    ASSERT_EQ(ownership.owned->conflicts.size(), 1u);
    EXPECT_FALSE(ownership.owned->conflicts[0].aligned);
  }
}

TEST(OwnedAxisTest, TilesAreWindowsOfWhatTheBodyTakes) {
  const std::string printed = Tiled(SelfAttention("%at"));
  EXPECT_THAT(printed, HasSubstr("domain_product"));
  // Of queries and coordinates one window each; keys are whole.
  size_t windows = 0;
  for (size_t at = printed.find("region %"); at != std::string::npos;
       at = printed.find("region %", at + 1)) {
    ++windows;
  }
  EXPECT_EQ(windows, 3u) << printed;  // and the store
  Tiled(SelfAttention("%inner"));
  Tiled(Loop(std::string(kScores) + kStoreScores));
}

TEST(OwnedAxisTest, ViewsThatMayOverlapMeet) {
  const Ownership ownership = Find(Loop(std::string(kScores) + kStoreScores));
  ASSERT_TRUE(ownership.owned);
  ASSERT_EQ(ownership.owned->conflicts.size(), 2u);
  EXPECT_TRUE(ownership.owned->conflicts[0].aligned);   // queries, by tiles as well
  EXPECT_FALSE(ownership.owned->conflicts[1].aligned);  // keys
}

TEST(OwnedAxisTest, ViewsThatDoNotOverlapDoNot) {
  std::string text = Loop(std::string(kScores) + kStoreScores);
  text.replace(text.find("view<inout, f32, [s0, s1, s3]>"), 30,
               "view<inout, f32, [s0, s1, s3]> noalias");
  const Ownership ownership = Find(text);
  ASSERT_TRUE(ownership.owned) << ownership.refusal;
  EXPECT_THAT(ownership.owned->conflicts, IsEmpty());
  EXPECT_THAT(Tiled(text), Not(HasSubstr("select")));
}

TEST(OwnedAxisTest, FewRowsStayWhole) {
  const std::string text = R"(
kernel (%0: view<in, f32, [s0, 64, s1]>, %1: view<in, f32, [s1, s2]>, %2: view<out, f32, [s0, 64, s2]>) {
  %zero = constant 0 : index
  %one = constant 1 : index
  %n = dim %0 axis 0 : index
  %points = domain %zero, %n, %one : domain<[s0]>
  parallel %h = %points {
    %x = view_load %0 [%h, :, :] : tensor<f32, [64, s1]>
    %y = view_load %1 [:, :] : tensor<f32, [s1, s2]>
    %p = contract %x, %y reduce [(1, 0)] batch [] : tensor<f32, [64, s2]>
    view_store %2 [%h, :, :] = %p
    yield
  }
  return
}
)";
  const std::unique_ptr<Module> module = Parse(text);
  ASSERT_NE(module, nullptr);
  const TiledLoops loops =
      TileParallel(&module->kernel_function(), {.contractions = true, .rows = 64});
  EXPECT_THAT(loops.tiles, IsEmpty());
  EXPECT_EQ(loops.whole.size(), 1u);
  Tiled(text, 16);
}

TEST(OwnedAxisTest, OnlyBodiesOfWorkAreTiled) {
  const std::unique_ptr<Module> module = Parse(Loop(std::string(kScores) + kStoreScores));
  ASSERT_NE(module, nullptr);
  const TiledLoops loops = TileParallel(&module->kernel_function(), {.contractions = false});
  EXPECT_THAT(loops.tiles, IsEmpty());
  EXPECT_THAT(loops.whole, IsEmpty());
}

// --- What is not owned.

TEST(OwnedAxisTest, AReductionNeedsAllOfItsAxis) {
  EXPECT_THAT(RefusalOf(R"(
    %x = view_load %4 [%h, :] : tensor<f32, [s1]>
    %sum = reduce %x, %none axes [0] combine add : f32
    %sums = broadcast %sum : tensor<f32, [s1]>
    %y = binary div %x, %sums : tensor<f32, [s1]>
    view_store %4 [%h, :] = %y
)"),
              HasSubstr("axis 1 of what it stores is reduced"));
}

TEST(OwnedAxisTest, SoDoesAScan) {
  EXPECT_THAT(RefusalOf(R"(
    %x = view_load %4 [%h, :] : tensor<f32, [s1]>
    %y = scan %x, %none axis 0 inclusive combine add : tensor<f32, [s1]>
    view_store %4 [%h, :] = %y
)"),
              HasSubstr("is scanned"));
}

TEST(OwnedAxisTest, AndAContraction) {
  EXPECT_THAT(RefusalOf(std::string(kScores) + R"(
    %squares = contract %scores, %scores reduce [(0, 0)] batch [] : tensor<f32, [s3, s3]>
    %row = gather %squares [%zero, :] : tensor<f32, [s3]>
    %wide = broadcast %row : tensor<f32, [s1, s3]>
    %y = binary add %scores, %wide : tensor<f32, [s1, s3]>
    view_store %2 [%h, :, :] = %y
)"),
              HasSubstr("is contracted"));
}

TEST(OwnedAxisTest, BothSidesOfAContractionMayBeOneValue) {
  const std::string product = R"(
    %x = view_load %0 [%h, :, :] : tensor<f32, [s1, s2]>
    %y = contract %x, %x reduce [(1, 1)] batch [] : tensor<f32, [s1, s1]>
    view_store %5 [:, :] = %y
)";
  EXPECT_THAT(RefusalOf(product), HasSubstr("is two axes of one value"));
  const std::string square = R"(
    %x = view_load %5 [:, :] : tensor<f32, [s1, s1]>
    %y = contract %x, %x reduce [(1, 0)] batch [] : tensor<f32, [s1, s1]>
    %row = gather %y [:, %zero] : tensor<f32, [s1]>
    view_store %4 [%h, :] = %row
)";
  EXPECT_THAT(RefusalOf(square), HasSubstr("is contracted"));
}

TEST(OwnedAxisTest, AnExtentThatIsUsedAsAValue) {
  EXPECT_THAT(RefusalOf(std::string(kScores) + R"(
    %sums = reduce %scores, %none axes [1] combine add : tensor<f32, [s1]>
    %n = dim %sums axis 0 : index
    %m = cast %n : f32
    %ms = broadcast %m : tensor<f32, [s1]>
    %y = binary div %sums, %ms : tensor<f32, [s1]>
    view_store %4 [%h, :] = %y
)"),
              HasSubstr("has an extent that is used as a value"));
}

TEST(OwnedAxisTest, AnExtentOfAViewIsTheSameForAllTiles) {
  EXPECT_THAT(RefusalOf(std::string(kScores) + R"(
    %m = cast %queries : f32
    %ms = broadcast %m : tensor<f32, [s1, s3]>
    %y = binary div %scores, %ms : tensor<f32, [s1, s3]>
    view_store %2 [%h, :, :] = %y
)"),
              IsEmpty());
}

TEST(OwnedAxisTest, AGatherAlongTheAxis) {
  EXPECT_THAT(RefusalOf(std::string(kScores) + R"(
    %sums = reduce %scores, %none axes [1] combine add : tensor<f32, [s1]>
    %which = view_load %3 [:] : tensor<i32, [s1]>
    %y = gather %sums [%which] : tensor<f32, [s1]>
    view_store %4 [%h, :] = %y
)"),
              HasSubstr("is not in all that its tiles would repeat: contract"));
  EXPECT_THAT(RefusalOf(R"(
    %x = view_load %4 [%h, :] : tensor<f32, [s1]>
    %which = view_load %3 [:] : tensor<i32, [s1]>
    %z = binary add %x, %x : tensor<f32, [s1]>
    %y = gather %z [%which] : tensor<f32, [s1]>
    %s = binary add %y, %x : tensor<f32, [s1]>
    view_store %4 [%h, :] = %s
)"),
              HasSubstr("is indexed by values"));
}

TEST(OwnedAxisTest, AGatherOfRowsThatTheAxisChoosesIsOfTheAxis) {
  EXPECT_THAT(RefusalOf(R"(
    %k = view_load %1 [%h, :, :] : tensor<f32, [s3, s2]>
    %which = view_load %3 [:] : tensor<i32, [s1]>
    %q = gather %k [%which, :] : tensor<f32, [s1, s2]>
    %scores = contract %q, %k reduce [(1, 1)] batch [] : tensor<f32, [s1, s3]>
    view_store %2 [%h, :, :] = %scores
)"),
              IsEmpty());
}

TEST(OwnedAxisTest, APartOfTheAxis) {
  EXPECT_THAT(RefusalOf(R"(
    %x = view_load %4 [%h, %zero : %queries] : tensor<f32, [s1]>
    %y = binary add %x, %x : tensor<f32, [s1]>
    view_store %4 [%h, :] = %y
)"),
              HasSubstr("is taken in part"));
  EXPECT_THAT(RefusalOf(R"(
    %x = view_load %4 [%h, :] : tensor<f32, [s1]>
    view_store %4 [%h, region %all_queries] = %x
)"),
              HasSubstr("a store has no whole axis"));
}

TEST(OwnedAxisTest, AReshapeThatMixesIt) {
  EXPECT_THAT(RefusalOf(R"(
    %flat = view_load %2 [%h, :, :] : tensor<f32, [s1, s3]>
    %x = reshape %flat : tensor<f32, [s1*s3]>
    %y = binary add %x, %x : tensor<f32, [s1*s3]>
    %z = reshape %y : tensor<f32, [s1, s3]>
    view_store %2 [%h, :, :] = %z
)"),
              HasSubstr("is reshaped"));
}

TEST(OwnedAxisTest, EveryStoreCarriesIt) {
  EXPECT_THAT(
      RefusalOf(std::string(kScores) + kStoreScores + "    view_store %6 [%h, %zero] = %none\n"),
      HasSubstr("is not in all that is stored"));
  EXPECT_THAT(RefusalOf("    view_store %4 [%h, %zero] = %none\n"),
              HasSubstr("a store has no whole axis"));
}

TEST(OwnedAxisTest, OnceInAValue) {
  EXPECT_THAT(RefusalOf(R"(
    %x = view_load %4 [%h, :] : tensor<f32, [s1]>
    %wide = broadcast %x : tensor<f32, [s1, s1]>
    %tall = transpose %wide axes [1, 0] : tensor<f32, [s1, s1]>
    %both = binary add %wide, %tall : tensor<f32, [s1, s1]>
    view_store %5 [:, :] = %both
)"),
              HasSubstr("is two axes of one value"));
}

TEST(OwnedAxisTest, WorkWithoutItWouldBeRepeated) {
  EXPECT_THAT(RefusalOf(R"(
    %x = view_load %4 [%h, :] : tensor<f32, [s1]>
    %k = view_load %6 [%h, :] : tensor<f32, [s3]>
    %sum = reduce %k, %none axes [0] combine add : f32
    %sums = broadcast %sum : tensor<f32, [s1]>
    %y = binary add %x, %sums : tensor<f32, [s1]>
    view_store %4 [%h, :] = %y
)"),
              HasSubstr("would repeat: reduce"));
  EXPECT_THAT(RefusalOf(R"(
    %x = view_load %4 [%h, :] : tensor<f32, [s1]>
    %r = for %i = %points carry(%s = %none : f32) {
      %k = view_load %6 [%i, %zero] : f32
      %t = binary add %s, %k : f32
      yield %t
    } : tuple<f32>
    %sum = extract %r axis 0 : f32
    %sums = broadcast %sum : tensor<f32, [s1]>
    %y = binary add %x, %sums : tensor<f32, [s1]>
    view_store %4 [%h, :] = %y
)"),
              HasSubstr("would repeat: for"));
}

TEST(OwnedAxisTest, AtomicsAndScattersAreNotSplit) {
  EXPECT_EQ(RefusalOf(std::string(kScores) + kStoreScores +
                      "    %old = atomic_rmw add %6 [%h, %zero] = %none order relaxed : f32\n"),
            "it has atomics");
  EXPECT_EQ(RefusalOf(std::string(kScores) + kStoreScores + R"(
    %which = view_load %3 [:] : tensor<i32, [s1]>
    %x = view_load %4 [%h, :] : tensor<f32, [s1]>
    scatter_unique %4 [%h, %which] = %x
)"),
            "it scatters");
}

TEST(OwnedAxisTest, WhatIsWrittenIsNotReadElsewhere) {
  EXPECT_THAT(RefusalOf(R"(
    %x = view_load %4 [%h, :] : tensor<f32, [s1]>
    %first = view_load %4 [%h, %zero] : f32
    %firsts = broadcast %first : tensor<f32, [s1]>
    %y = binary add %x, %firsts : tensor<f32, [s1]>
    view_store %4 [%h, :] = %y
)"),
              HasSubstr("is read or written elsewhere where it is stored"));
  // Along its other axis, which has the same extent.
  EXPECT_THAT(RefusalOf(R"(
    %x = view_load %5 [:, %h] : tensor<f32, [s1]>
    view_store %5 [%h, :] = %x
)"),
              HasSubstr("is read or written elsewhere where it is stored"));
}

TEST(OwnedAxisTest, ItsOwnPlacesMayBeRead) {
  const Ownership ownership = Find(Loop(R"(
    %x = view_load %4 [%h, :] : tensor<f32, [s1]>
    %y = binary add %x, %x : tensor<f32, [s1]>
    view_store %4 [%h, :] = %y
)"));
  ASSERT_TRUE(ownership.owned) << ownership.refusal;
  EXPECT_THAT(ownership.owned->conflicts, IsEmpty());
}

TEST(OwnedAxisTest, BuffersOfTheBodyAreOfItsClass) {
  const std::string body = R"(
    %x = view_load %4 [%h, :] : tensor<f32, [s1]>
    %b = buffer : buffer<f32, [s1]>
    buffer_store %b [:] = %x
    %y = buffer_load %b [:] : tensor<f32, [s1]>
    view_store %4 [%h, :] = %y
)";
  EXPECT_THAT(RefusalOf(body), IsEmpty());
  EXPECT_THAT(RefusalOf(body + "    buffer_store %b [%zero] = %none\n"),
              HasSubstr("is indexed by values"));
  const std::string other = R"(
    %b = buffer : buffer<f32, [1]>
    buffer_store %b [%zero] = %none
    %x = view_load %4 [%h, :] : tensor<f32, [s1]>
    view_store %4 [%h, :] = %x
)";
  EXPECT_THAT(RefusalOf(other), HasSubstr("is not in all that is stored"));
}

TEST(OwnedAxisTest, CarriedValuesAreOfItsClass) {
  EXPECT_THAT(RefusalOf(R"(
    %start = full %none : tensor<f32, [s1]>
    %r = for %i = %points carry(%s = %start : tensor<f32, [s1]>) {
      %k = view_load %4 [%i, :] : tensor<f32, [s1]>
      %t = binary add %s, %k : tensor<f32, [s1]>
      yield %t
    } : tuple<tensor<f32, [s1]>>
    %sum = extract %r axis 0 : tensor<f32, [s1]>
    view_store %5 [%h, :] = %sum
)"),
              IsEmpty());
}

}  // namespace
}  // namespace intent::plan
