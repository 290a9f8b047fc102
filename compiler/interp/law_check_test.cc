// Sampled laws: for each a kernel that breaks it on the line marked `// <-`, and one that keeps it.

#include <gmock/gmock.h>

#include <limits>

#include "compiler/interp/marked_kernel.h"

namespace intent::interp::testing {
namespace {

using ::testing::HasSubstr;

constexpr Options kLaws{.laws = true};

std::vector<float> Values(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = 0.25f * static_cast<float>(i * 7 % 11) - 1.0f;
  return values;
}

void ExpectLaw(ErrorKind kind, const std::string& signature, const std::string& bad,
               const std::string& good, const std::vector<Argument>& arguments,
               const std::string& message) {
  const auto error = RunChecked(signature, bad, arguments, kLaws);
  ASSERT_TRUE(error) << "no report of " << NameOf(kind);
  EXPECT_EQ(NameOf(error->kind), NameOf(kind)) << error->message;
  EXPECT_THAT(error->message, HasSubstr(message));
  EXPECT_FALSE(RunChecked(signature, bad, arguments)) << "laws are sampled on request only";
  const auto none = RunChecked(signature, good, arguments, kLaws);
  EXPECT_FALSE(none) << NameOf(none->kind) << ": " << none->message;
}

// A reduce or scan of f32 by `combine`, which makes %r of %a and %b.
std::string Fold(const std::string& op, const std::string& identity, const std::string& combine) {
  return "%v = view_load %x [:] : tensor<f32, [s0]>\n%e = constant " + identity +
         " : f32\n%f = " + op + " %v, %e " + (op == "scan" ? "axis 0 inclusive" : "axes [0]") +
         " combine (%a: f32, %b: f32) { // <-\n" + combine +
         "\nyield %r\n} : " + (op == "scan" ? "tensor<f32, [s0]>" : "f32") + "\n";
}

TEST(Laws, AnIdentityIsNeutral) {
  std::vector<float> x = Values(40);
  const std::string add = "%r = binary add %a, %b : f32";
  for (const std::string op : {"reduce", "scan"}) {
    ExpectLaw(ErrorKind::kIdentityLaw, "%x: view<in, f32, [s0]>", Fold(op, "1.0", add),
              Fold(op, "0.0", add), {View(x)}, "the identity is 1");
  }
  const std::string builtin = R"(
    %v = view_load %x [:] : tensor<f32, [s0]>
    %e = constant 0.0 : f32
    %f = reduce %v, %e axes [0] combine maximum : f32 // <-
    )";
  ExpectLaw(ErrorKind::kIdentityLaw, "%x: view<in, f32, [s0]>", builtin,
            Replaced(builtin, "0.0", "-inf"), {View(x)}, "combine(identity, a) is 0, but a is -");
}

TEST(Laws, ASoftmaxRecordOfMinusInfinityIsNoIdentity) {
  const std::string body = R"(
    %v = view_load %x [:] : tensor<f32, [s0]>
    %one = constant 1.0 : f32
    %ones = broadcast %one : tensor<f32, [s0]>
    %m = make_tuple %v, %ones : tuple<tensor<f32, [s0]>, tensor<f32, [s0]>>
    %low = constant -inf : f32
    %zero = constant 0.0 : f32
    %e = make_tuple %low, %zero : tuple<f32, f32>
    %r = reduce %m, %e axes [0] combine (%a: tuple<f32, f32>, %b: tuple<f32, f32>) { // <-
      %am = extract %a axis 0 : f32
      %bm = extract %b axis 0 : f32
      %as = extract %a axis 1 : f32
      %bs = extract %b axis 1 : f32
      %top = binary maximum %am, %bm : f32
      %ad = binary sub %am, %top : f32
      %bd = binary sub %bm, %top : f32
      %aw = unary exp %ad : f32
      %bw = unary exp %bd : f32
      %ap = binary mul %as, %aw : f32
      %bp = binary mul %bs, %bw : f32
      %s = binary add %ap, %bp : f32
      %t = make_tuple %top, %s : tuple<f32, f32>
      yield %t
    } : tuple<f32, f32>)";
  std::vector<float> x = Values(30);
  EXPECT_FALSE(RunChecked("%x: view<in, f32, [s0]>", body, {View(x)}, kLaws));
  x.assign(30, -std::numeric_limits<float>::infinity());
  const auto error = RunChecked("%x: view<in, f32, [s0]>", body, {View(x)}, kLaws);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, ErrorKind::kIdentityLaw);
  EXPECT_THAT(error->message, HasSubstr("(-inf, nan)"));
}

TEST(Laws, CombinesAssociate) {
  std::vector<float> x = Values(40);
  const std::string halves = R"(
      %h = constant 0.5 : f32
      %s = binary add %a, %b : f32
      %c = compare eq %a, %b : bool
      %m = binary mul %s, %h : f32
      %z = constant 0.0 : f32
      %az = compare eq %a, %z : bool
      %bz = compare eq %b, %z : bool
      %k = select %bz, %a, %m : f32
      %r = select %az, %b, %k : f32)";
  const std::string sum = "%r = binary add %a, %b : f32";
  for (const std::string op : {"reduce", "scan"}) {
    ExpectLaw(ErrorKind::kAssociativeLaw, "%x: view<in, f32, [s0]>", Fold(op, "0.0", halves),
              Fold(op, "0.0", sum), {View(x)}, "combine(combine(a, b), c) is ");
  }
}

TEST(Laws, ReductionsCommuteAndScansNeedNot) {
  std::vector<float> x = Values(40);
  // The later operand unless it is the identity: associative only.
  const std::string last = R"(
      %z = constant -100.0 : f32
      %none = compare eq %b, %z : bool
      %r = select %none, %a, %b : f32)";
  ExpectLaw(ErrorKind::kCommutativeLaw, "%x: view<in, f32, [s0]>", Fold("reduce", "-100.0", last),
            Fold("scan", "-100.0", last), {View(x)}, "combine(b, a) is ");
}

TEST(Laws, RoundingIsAllowed) {
  std::vector<float> x(400);
  for (size_t i = 0; i < x.size(); ++i) x[i] = (i % 2 != 0 ? -1.0f : 1.0f) * (1.0f + 1e-3f * i);
  EXPECT_FALSE(RunChecked("%x: view<in, f32, [s0]>",
                          Fold("reduce", "0.0", "%r = binary add %a, %b : f32"), {View(x)}, kLaws));
  x.assign(400, 3e38f);  // sums overflow in one order and not in the other
  for (size_t i = 0; i < x.size(); i += 2) x[i] = -3e38f;
  EXPECT_FALSE(RunChecked("%x: view<in, f32, [s0]>",
                          Fold("reduce", "0.0", "%r = binary add %a, %b : f32"), {View(x)}, kLaws));
}

TEST(Laws, OfStatesOneByOneAndOfSlices) {
  // With a branch a combine runs on one state after the other.
  const std::string branch = R"(
      %big = compare gt %a, %b : bool
      %p = if %big {
        yield %a
      } else {
        %s = binary SECOND %b, %b : f32
        yield %s
      } : tuple<f32>
      %r = extract %p axis 0 : f32)";
  std::vector<float> x = Values(40), z = Values(12);
  ExpectLaw(ErrorKind::kIdentityLaw, "%x: view<in, f32, [s0]>",
            Fold("reduce", "-inf", Replaced(branch, "SECOND", "add")),
            Fold("reduce", "-inf", Replaced(branch, "SECOND", "maximum")), {View(x)},
            "combine(identity, a)");
  const std::string slices = R"(
    %v = view_load %x [:, :] : tensor<f32, [6, 2]>
    %0 = constant 0.0 : f32
    %e = full %0 : tensor<f32, [2]>
    %r = reduce %v, %e axes [0] combine (%a: tensor<f32, [2]>, %b: tensor<f32, [2]>) { // <-
      %s = binary OP %a, %b : tensor<f32, [2]>
      yield %s
    } : tensor<f32, [2]>)";
  ExpectLaw(ErrorKind::kIdentityLaw, "%x: view<in, f32, [6, 2]>", Replaced(slices, "OP", "sub"),
            Replaced(slices, "OP", "add"), {View(z, {6, 2})}, "element [");
}

TEST(Laws, UpdatesOfOneElementComeInAnyOrder) {
  std::vector<float> x = Values(8), y(8, 2.0f);
  const std::string body = R"(
    %0 = constant 0 : index
    %1 = constant 1 : index
    %8 = constant 8 : index
    %d = domain %0, %8, %1 : domain<[8]>
    %at = indices %d : tensor<index, [8]>
    %v = view_load %x [:] : tensor<f32, [8]>
    scatter_reduce %y [%at] = %v combine (%a: f32, %b: f32) { // <-
      %s = binary OP %a, %b : f32
      yield %s
    })";
  const std::string signature = "%x: view<in, f32, [8]>, %y: view<inout, f32, [8]>";
  ExpectLaw(ErrorKind::kAssociativeLaw, signature, Replaced(body, "OP", "sub"),
            Replaced(body, "OP", "add"), {View(x), View(y)}, "combine(e, combine(a, b))");
  const std::string decay = Replaced(body, "%s = binary OP %a, %b : f32", R"(%h = constant 0.5 : f32
      %k = binary mul %a, %h : f32
      %s = binary add %k, %b : f32)");
  ExpectLaw(ErrorKind::kCommutativeLaw, signature, decay, Replaced(body, "OP", "maximum"),
            {View(x), View(y)}, "combine(combine(e, b), a)");
}

// Region operations over a sum of f32; each piece may be exchanged.
std::string Region(const std::string& summarize, const std::string& combine,
                   const std::string& apply, const std::string& emit) {
  return R"(
    %v = view_load %x [:] : tensor<f32, [s0]>
    %zero = constant 0.0 : f32
    %r = region_scan %v, %zero, %zero axis 0 slice s1 summarize (%s: tensor<f32, [s1]>) { // <-
      %z = constant 0.0 : f32
      %t = reduce %s, %z axes [0] combine add : f32
      )" +
         summarize + R"(
      yield %summary
    } combine (%a: f32, %b: f32) {
      )" +
         combine + R"(
      yield %d
    } apply (%p: f32, %state: f32) {
      )" +
         apply + R"(
      yield %e
    } emit (%part: tensor<f32, [s1]>, %before: f32) {
      %z2 = constant 0.0 : f32
      %c = scan %part, %z2 axis 0 inclusive combine add : tensor<f32, [s1]>
      %spread = broadcast %before : tensor<f32, [s1]>
      )" +
         emit + R"(
      yield %o
    } : tuple<tensor<f32, [s0]>, f32>)";
}

constexpr char kSame[] = "%summary = binary add %t, %z : f32";
constexpr char kAdd[] = "%d = binary add %a, %b : f32";
constexpr char kApply[] = "%e = binary add %p, %state : f32";
constexpr char kEmit[] = "%o = binary add %c, %spread : tensor<f32, [s1]>";

TEST(Laws, EquationsOfRegions) {
  std::vector<float> x = Values(50);
  const std::string good = Region(kSame, kAdd, kApply, kEmit);
  struct Case {
    ErrorKind kind;
    std::string bad;
    const char* message;
  };
  const Case cases[] = {
      {ErrorKind::kSummaryLaw, Region("%summary = binary mul %t, %t : f32", kAdd, kApply, kEmit),
       "the summary of a region is "},
      {ErrorKind::kIdentityLaw, Region(kSame, "%d = binary sub %a, %b : f32", kApply, kEmit),
       "combine(identity, x)"},
      {ErrorKind::kActionLaw,
       Region(kSame, kAdd,
              "%one = constant 1.0 : f32\n%k = binary add %p, %one : f32\n%e = "
              "binary add %k, %state : f32",
              kEmit),
       "apply(identity, s) is 1, but the initial state s is 0"},
      {ErrorKind::kActionLaw,
       Region(kSame, kAdd, "%q = binary mul %p, %p : f32\n%e = binary add %q, %state : f32", kEmit),
       "apply(b, apply(a, s))"},
      {ErrorKind::kEmitLaw,
       Region(kSame, kAdd, kApply, "%o = binary sub %c, %spread : tensor<f32, [s1]>"),
       "emit of the second slice"},
  };
  // The region's fresh symbol is declared by the kernel.
  const auto run = [&](const std::string& body, const Options& options) {
    return RunChecked("%x: view<in, f32, [s0]>", body, {View(x)}, options, "symbols 2");
  };
  EXPECT_FALSE(run(good, kLaws));
  for (const Case& c : cases) {
    const auto error = run(c.bad, kLaws);
    ASSERT_TRUE(error) << NameOf(c.kind);
    EXPECT_EQ(NameOf(error->kind), NameOf(c.kind)) << error->message;
    EXPECT_THAT(error->message, HasSubstr(c.message));
    EXPECT_FALSE(run(c.bad, {}));
  }
}

TEST(Laws, SamplesAreTheSameInEveryRun) {
  std::vector<float> x = Values(200);
  const std::string body = Fold("reduce", "0.0", "%r = binary sub %a, %b : f32");
  const auto first = RunChecked("%x: view<in, f32, [s0]>", body, {View(x)}, kLaws);
  const auto second = RunChecked("%x: view<in, f32, [s0]>", body, {View(x)}, kLaws);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->message, second->message);
}

TEST(Laws, NothingIsSampledOfNothing) {
  std::vector<float> none;
  EXPECT_FALSE(RunChecked("%x: view<in, f32, [s0]>",
                          Fold("reduce", "1.0", "%r = binary sub %a, %b : f32"), {View(none)},
                          kLaws));
  EXPECT_FALSE(RunChecked("%x: view<in, f32, [s0]>", Region(kSame, kAdd, kApply, kEmit),
                          {View(none)}, kLaws, "symbols 2"));
}

}  // namespace
}  // namespace intent::interp::testing
