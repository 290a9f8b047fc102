// What authors write and what becomes of it: modules, and diagnostics with both sides.

#include "compiler/builder/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "compiler/builder/testing.h"
#include "compiler/ir/print.h"

namespace intent {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Builder : public testing::Test {
 protected:
  Operand In(const std::string& name, DType dtype, std::vector<Extent> shape) {
    return b.AddView(name, dtype, std::move(shape), Access::kIn, {});
  }
  Operand Out(const std::string& name, DType dtype, std::vector<Extent> shape) {
    return b.AddView(name, dtype, std::move(shape), Access::kOut, {});
  }
  Operand InOut(const std::string& name, DType dtype, std::vector<Extent> shape) {
    return b.AddView(name, dtype, std::move(shape), Access::kInOut, {});
  }
  std::string Type(const Operand& operand) { return b.Describe(operand); }
  // The text of the finished module; empty if it has errors.
  std::string Text() {
    const auto module = b.Finish(&map);
    return module == nullptr ? "" : PrintModule(*module);
  }

  KernelBuilder b;
  SourceMap map;
  Extent n = b.SymbolExtent("N"), m = b.SymbolExtent("M");
};

TEST_F(Builder, MakesAVerifiedModule) {
  const Operand x = In("x", DType::kF32, {n}), out = Out("out", DType::kF32, {n});
  b.Store(out, {}, b.Binary(BinaryKind::kMul, b.Load(x, {}), Int(2)));
  EXPECT_EQ(Text(), R"(kernel (%0: view<in, f32, [s0]>, %1: view<out, f32, [s0]>) {
  %2 = view_load %0 [:] : tensor<f32, [s0]>
  %3 = constant 2.0 : f32
  %4 = broadcast %3 : tensor<f32, [s0]>
  %5 = binary mul %2, %4 : tensor<f32, [s0]>
  view_store %1 [:] = %5
  return
}
)");
  EXPECT_THAT(Messages(b), IsEmpty());
  EXPECT_THAT(map.parameter_names, ElementsAre("x", "out"));
}

TEST_F(Builder, SpansFollowOperationsThroughNumbering) {
  const Operand x = In("x", DType::kF32, {n}), out = Out("out", DType::kF32, {n});
  b.SetSpan({.file = 0, .line = 3});
  const Operand value = b.Load(x, {});
  b.SetSpan({.file = 0, .line = 4});
  b.Store(out, {}, value);
  const auto module = b.Finish(&map);
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(map.SpanOf(0).line, 3u);
  EXPECT_EQ(map.SpanOf(1).line, 4u);
}

TEST_F(Builder, SymbolsAreNumberedByTheirFirstParameter) {
  Out("out", DType::kF32, {m, n});
  ASSERT_EQ(Text().substr(0, 40), "kernel (%0: view<out, f32, [s0, s1]>) {\n");
  EXPECT_THAT(map.symbol_names, ElementsAre("M", "N"));
}

// --- Literals.

struct LiteralCase {
  Literal literal;
  DType dtype;
  bool fits;
};

TEST_F(Builder, LiteralsMeetDtypesOnlyIfRepresentable) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto integer = [](__int128 value) { return Literal{Literal::Kind::kInt, value, 0}; };
  const auto real = [](double value) { return Literal{Literal::Kind::kFloat, 0, value}; };
  const Literal yes{Literal::Kind::kBool, 1, 0};
  const LiteralCase cases[] = {
      {integer(255), DType::kU8, true},
      {integer(256), DType::kU8, false},
      {integer(-1), DType::kU8, false},
      {integer(-128), DType::kI8, true},
      {integer(-129), DType::kI8, false},
      {integer((__int128{1} << 64) - 1), DType::kU64, true},
      {integer(__int128{1} << 63), DType::kI64, false},
      {integer(__int128{1} << 63), DType::kIndex, false},
      {integer(16777216), DType::kF32, true},
      {integer(16777217), DType::kF32, false},
      {integer(16777217), DType::kF64, true},
      {integer(2049), DType::kF16, false},
      {integer(65536), DType::kF16, false},
      {integer(448), DType::kF8E4M3FN, true},
      {integer(480), DType::kF8E4M3FN, false},
      {integer(1), DType::kBool, false},
      {real(0.1), DType::kF32, true},
      {real(0.1), DType::kBF16, true},
      {real(1e39), DType::kF32, false},
      {real(1e39), DType::kF64, true},
      {real(65519.9), DType::kF16, true},
      {real(65520.0), DType::kF16, false},
      {real(inf), DType::kF32, true},
      {real(-inf), DType::kF8E5M2, true},
      {real(inf), DType::kF8E4M3FN, false},
      {real(460.0), DType::kF8E4M3FN, true},
      {real(470.0), DType::kF8E4M3FN, false},
      {real(1.0), DType::kI32, false},
      {real(1.0), DType::kBool, false},
      {yes, DType::kBool, true},
      {yes, DType::kI32, false},
      {yes, DType::kF32, false},
  };
  for (const LiteralCase& c : cases) {
    const size_t mark = b.DiagnosticMark();
    const Operand value = b.Instantiate(c.literal, c.dtype);
    EXPECT_EQ(value.IsValue(), c.fits) << LiteralText(c.literal) << " as " << DTypeName(c.dtype);
    if (!c.fits) {
      EXPECT_THAT(Messages(b).back(), AllOf(HasSubstr("E0203"), HasSubstr(LiteralText(c.literal)),
                                            HasSubstr(std::string(DTypeName(c.dtype)))));
    }
    b.DiagnosticRollback(mark);
  }
}

TEST_F(Builder, ALiteralWithoutContextIsFixedAtItsCreation) {
  EXPECT_EQ(Type(b.Materialize(Int(3))), "i64");
  EXPECT_EQ(Type(b.Materialize(Float(3))), "f64");
  EXPECT_EQ(Type(b.Materialize(Bool(true))), "bool");
  const Operand x = b.AddScalar("x", DType::kF32);
  EXPECT_TRUE(b.Binary(BinaryKind::kAdd, b.Materialize(Float(3)), x).IsPoison());
  EXPECT_THAT(Messages(b), ElementsAre(AllOf(HasSubstr("E0201"), HasSubstr("f64 and f32"),
                                             HasSubstr("cast one of them"))));
}

TEST_F(Builder, LiteralsFoldExactlyAndOnlyWhatMeetsADtypeIsChecked) {
  const Operand big = b.Binary(BinaryKind::kPow, Int(2), Int(64));
  const Operand less = b.Binary(BinaryKind::kSub, big, Int(1));
  EXPECT_EQ(Type(less), "literal 18446744073709551615");
  EXPECT_EQ(Type(b.Instantiate(less, DType::kU64)), "u64");
  EXPECT_EQ(Type(b.Binary(BinaryKind::kDiv, Int(3), Int(4))), "literal 0.75");
  EXPECT_EQ(Type(b.Binary(BinaryKind::kFloorDiv, Int(-7), Int(2))), "literal -4");
  EXPECT_EQ(Type(b.Binary(BinaryKind::kMod, Int(-7), Int(2))), "literal 1");
  EXPECT_EQ(Type(b.Unary(UnaryKind::kNegate, Float(1.5))), "literal -1.5");
  EXPECT_EQ(Type(b.Compare(CompareKind::kLt, Int(1), Float(1.5))), "literal true");
  EXPECT_EQ(Type(b.Binary(BinaryKind::kAnd, Int(12), Int(10))), "literal 8");
  EXPECT_THAT(Messages(b), IsEmpty());
  EXPECT_TRUE(b.Binary(BinaryKind::kFloorDiv, Int(1), Int(0)).IsPoison());
  EXPECT_THAT(Messages(b), ElementsAre(HasSubstr("E0704")));
}

TEST_F(Builder, SelectOfTwoLiteralsHasNoHintFromItsCondition) {
  const Operand x = In("x", DType::kF32, {n});
  const Operand positive = b.Compare(CompareKind::kGt, b.Load(x, {}), Float(0));
  EXPECT_EQ(Type(b.Select(positive, Float(-1), Float(1))), "tensor<f64, [N]>");
  EXPECT_EQ(Type(b.Select(positive, Int(1), Float(0.5))), "tensor<f64, [N]>");
  EXPECT_EQ(Type(b.Cast(b.Select(positive, Float(-1), Float(1)), DType::kF32)), "tensor<f32, [N]>");
  EXPECT_THAT(Messages(b), IsEmpty());
}

TEST_F(Builder, ACastOfALiteralIsACastWhereItIsNotRepresentable) {
  EXPECT_EQ(Type(b.Cast(Int(300), DType::kU8)), "u8");
  EXPECT_EQ(Type(b.Cast(Float(2.75), DType::kI32)), "i32");
  EXPECT_EQ(Type(b.Cast(Bool(true), DType::kF32)), "f32");
  EXPECT_EQ(Type(b.Cast(Float(0.1), DType::kF32)), "f32");
  EXPECT_THAT(Messages(b), IsEmpty());
  EXPECT_THAT(Text(), AllOf(HasSubstr("constant 300 : i64\n  %1 = cast %0 : u8"),
                            HasSubstr("constant 2.75 : f64"), HasSubstr("constant true : bool")));
}

// --- Pointwise.

TEST_F(Builder, RefusesDtypesThatDoNotMix) {
  const Operand x = In("x", DType::kF32, {n}), y = In("y", DType::kF64, {n});
  const Operand k = In("k", DType::kI32, {n});
  const Operand v = b.Load(x, {}), w = b.Load(y, {}), i = b.Load(k, {});
  b.Binary(BinaryKind::kAdd, v, w);
  b.Binary(BinaryKind::kMul, i, Float(1.5));
  b.Binary(BinaryKind::kDiv, i, i);
  b.Binary(BinaryKind::kMod, v, Float(2));
  EXPECT_THAT(Messages(b),
              ElementsAre(AllOf(HasSubstr("E0201"), HasSubstr("f32 and f64"), HasSubstr("cast")),
                          AllOf(HasSubstr("E0203"), HasSubstr("1.5"), HasSubstr("i32")),
                          AllOf(HasSubstr("E0202"), HasSubstr("division")),
                          AllOf(HasSubstr("E0202"), HasSubstr("modulo"))));
}

TEST_F(Builder, ShapesBroadcastFromTheRightAndNameBothSides) {
  const Operand x = In("x", DType::kF32, {m, n}), y = In("y", DType::kF32, {n});
  const Operand z = In("z", DType::kF32, {m});
  EXPECT_EQ(Type(b.Binary(BinaryKind::kAdd, b.Load(x, {}), b.Load(y, {}))), "tensor<f32, [M, N]>");
  EXPECT_THAT(Messages(b), IsEmpty());
  b.Binary(BinaryKind::kAdd, b.Load(x, {}), b.Load(z, {}));
  EXPECT_THAT(Messages(b), ElementsAre(AllOf(HasSubstr("E0301"), HasSubstr("[M, N] and [M]"))));
}

TEST_F(Builder, ScalarsAndRankZeroTensorsMeetAsRankZero) {
  const Operand s = b.AddScalar("s", DType::kF32);
  const Operand t = b.Full({}, Float(1), DType::kF32);
  EXPECT_EQ(Type(b.Binary(BinaryKind::kAdd, s, t)), "tensor<f32, []>");
  EXPECT_EQ(Type(b.Binary(BinaryKind::kAdd, s, Float(1))), "f32");
  EXPECT_THAT(Messages(b), IsEmpty());
}

TEST_F(Builder, PoisonInPoisonOut) {
  const Operand x = b.AddScalar("x", DType::kF32), y = b.AddScalar("y", DType::kF64);
  const Operand bad = b.Binary(BinaryKind::kAdd, x, y);
  EXPECT_TRUE(b.Unary(UnaryKind::kExp, bad).IsPoison());
  EXPECT_TRUE(b.Select(Bool(true), bad, x).IsPoison());
  EXPECT_TRUE(b.Reshape(bad, std::vector<Operand>{Int(1)}).IsPoison());
  EXPECT_EQ(Messages(b).size(), 1u);
}

TEST_F(Builder, StorageIsNoValue) {
  const Operand x = In("x", DType::kF32, {n});
  const Operand work = b.Buffer(std::vector<Operand>{b.Dim(x, 0)}, DType::kF32, b.Load(x, {}));
  b.Binary(BinaryKind::kAdd, work, Float(1));
  b.Binary(BinaryKind::kAdd, x, Float(1));
  const Operand rows = b.Domain(Int(0), b.Dim(x, 0), Int(1));
  b.Unary(UnaryKind::kNegate, rows);
  EXPECT_THAT(Messages(b), ElementsAre(AllOf(HasSubstr("E0504"), HasSubstr("storage")),
                                       AllOf(HasSubstr("E0204"), HasSubstr("view")),
                                       AllOf(HasSubstr("E0204"), HasSubstr("indices"))));
}

TEST_F(Builder, PythonsLogicIsForScalars) {
  const Operand c = b.AddScalar("c", DType::kBool);
  const Operand x = In("x", DType::kBool, {n});
  EXPECT_EQ(Type(b.LogicalAnd(c, Bool(true))), "bool");
  EXPECT_EQ(Type(b.LogicalNot(Bool(true))), "literal false");
  b.LogicalOr(b.Load(x, {}), c);
  EXPECT_THAT(Messages(b), ElementsAre(AllOf(HasSubstr("E0202"), HasSubstr("written |"))));
}

TEST_F(Builder, ApproximateIsACompileTimeFlagOfFewOperations) {
  const Operand x = b.AddScalar("x", DType::kF32), d = b.AddScalar("d", DType::kF64);
  const Operand fast = b.AddScalar("fast", DType::kBool);
  EXPECT_EQ(Type(b.Unary(UnaryKind::kExp2, x, Bool(true), Bool(true))), "f32");
  EXPECT_THAT(Messages(b), IsEmpty());
  b.Unary(UnaryKind::kExp2, x, Bool(false), Bool(true));
  b.Unary(UnaryKind::kTanh, d, Bool(true));
  b.Unary(UnaryKind::kExp2, x, fast);
  EXPECT_THAT(Messages(b), ElementsAre(AllOf(HasSubstr("E0605"), HasSubstr("flush_to_zero")),
                                       AllOf(HasSubstr("E0605"), HasSubstr("f32 only, not f64")),
                                       AllOf(HasSubstr("E0701"), HasSubstr("compile-time"))));
}

// --- Constexprs.

TEST_F(Builder, ConstexprsFoldToExpressionsAndMeetDtypesLikeLiterals) {
  const Operand k = b.AddConstexpr("K", ConstexprKind::kInt, 0, std::nullopt, false);
  const Operand x = In("x", DType::kI16, {n}), out = Out("out", DType::kI16, {n});
  const Operand twice = b.Binary(BinaryKind::kMul, k, Int(2));
  EXPECT_TRUE(b.IsConstexpr(twice));
  EXPECT_EQ(b.StaticIntOf(twice), std::nullopt);
  b.Store(out, {}, b.Binary(BinaryKind::kAdd, b.Load(x, {}), twice));
  EXPECT_THAT(Text(), AllOf(HasSubstr("constexpr x0 : i16"), HasSubstr("mul c0, 2")));
}

TEST_F(Builder, FixedConstexprsAreKnown) {
  const Operand k =
      b.AddConstexpr("K", ConstexprKind::kInt, 0,
                     ConstexprValue{.kind = ConstexprKind::kInt, .int_value = 8}, true);
  EXPECT_EQ(b.StaticIntOf(b.Binary(BinaryKind::kAdd, k, Int(1))), 9);
  EXPECT_TRUE(b.ExtentOf(k).IsConstant(8));
  EXPECT_TRUE(b.Instantiate(b.Binary(BinaryKind::kMul, k, Int(100)), DType::kU8).IsPoison());
  EXPECT_THAT(Messages(b), ElementsAre(HasSubstr("literal 800 is not representable in u8")));
}

TEST_F(Builder, EnumsCompareWithTheirOwnMembersOnly) {
  const uint32_t first = b.AddEnum("Rounding", {{"UP", 0}, {"DOWN", 1}});
  const uint32_t second = b.AddEnum("Other", {{"UP", 0}});
  const Operand mode = b.AddConstexpr("mode", ConstexprKind::kEnum, first, std::nullopt, false);
  EXPECT_TRUE(b.IsConstexpr(b.Compare(CompareKind::kEq, mode, b.EnumMember(first, 1))));
  EXPECT_TRUE(b.Compare(CompareKind::kEq, mode, b.EnumMember(second, 0)).IsPoison());
  EXPECT_TRUE(b.Materialize(mode).IsPoison());
  EXPECT_EQ(Messages(b).size(), 2u);
}

TEST_F(Builder, AConstexprConditionKeepsBothArmsAndAKnownOneItsOwn) {
  const Operand flag = b.AddConstexpr("flag", ConstexprKind::kBool, 0, std::nullopt, false);
  const Operand x = b.AddScalar("x", DType::kF32), out = Out("out", DType::kF32, {});
  const auto arm = [&](UnaryKind kind) {
    b.PushRegion({});
    const Operand value = b.Unary(kind, x);
    return b.PopRegion(std::vector<Operand>{value});
  };
  auto then_arm = arm(UnaryKind::kExp);
  const Operand a = b.If(flag, then_arm, arm(UnaryKind::kLog))[0];
  then_arm = arm(UnaryKind::kSin);
  const Operand c = b.If(Bool(false), then_arm, arm(UnaryKind::kCos))[0];
  b.Store(out, {}, b.Binary(BinaryKind::kAdd, a, c));
  const std::string text = Text();
  EXPECT_THAT(text, AllOf(HasSubstr("constexpr_if"), HasSubstr("exp"), HasSubstr("log"),
                          HasSubstr("cos"), testing::Not(HasSubstr("sin"))));
}

// --- Shapes.

TEST_F(Builder, ShapesTakeIndexValuesLiteralsConstexprsAndDomains) {
  const Operand k = b.AddConstexpr("K", ConstexprKind::kInt, 0, std::nullopt, false);
  const Operand x = In("x", DType::kF32, {n});
  const Operand i = b.AddScalar("i", DType::kIndex), wide = b.AddScalar("wide", DType::kI64);
  const Operand rows = b.Domain(Int(0), b.Dim(x, 0), Int(1));
  const std::vector<Operand> shape = {rows, k, Int(3), i};
  EXPECT_EQ(Type(b.Full(shape, Float(0), DType::kF32)), "tensor<f32, [N, K, 3, %1]>");
  EXPECT_THAT(Messages(b), IsEmpty());
  b.Full(std::vector<Operand>{wide}, Float(0), DType::kF32);
  b.Full(std::vector<Operand>{Int(-1)}, Float(0), DType::kF32);
  EXPECT_THAT(Messages(b), ElementsAre(AllOf(HasSubstr("E0306"), HasSubstr("cast it to index")),
                                       AllOf(HasSubstr("E0306"), HasSubstr("negative"))));
}

TEST_F(Builder, ReshapeInfersOneExtent) {
  const Operand x = In("x", DType::kF32, {n, Extent(6)});
  const Operand v = b.Load(x, {});
  EXPECT_EQ(Type(b.Reshape(v, std::vector<Operand>{Int(-1), Int(3)})), "tensor<f32, [2*N, 3]>");
  EXPECT_EQ(Type(b.Reshape(v, std::vector<Operand>{Int(-1)})), "tensor<f32, [6*N]>");
  EXPECT_THAT(Messages(b), IsEmpty());
  b.Reshape(v, std::vector<Operand>{Int(-1), Int(-1)});
  const Operand fixed = b.Full(std::vector<Operand>{Int(4)}, Int(0), DType::kI32);
  b.Reshape(fixed, std::vector<Operand>{Int(3), Int(-1)});
  b.Reshape(fixed, std::vector<Operand>{Int(5)});
  EXPECT_THAT(Messages(b), ElementsAre(HasSubstr("E0305"), HasSubstr("E0305"),
                                       AllOf(HasSubstr("E0305"), HasSubstr("4"), HasSubstr("5"))));
}

TEST_F(Builder, TransposeReversesOrPermutesCompletely) {
  const Operand v = b.Load(In("x", DType::kF32, {m, n}), {});
  EXPECT_EQ(Type(b.Transpose(v, std::nullopt)), "tensor<f32, [N, M]>");
  EXPECT_EQ(Type(b.Transpose(v, std::vector<int64_t>{0, -1})), "tensor<f32, [M, N]>");
  b.Transpose(v, std::vector<int64_t>{1, 1});
  EXPECT_THAT(Messages(b), ElementsAre(AllOf(HasSubstr("E0304"), HasSubstr("permutation (1, 1)"))));
}

TEST_F(Builder, SubregionsKeepTheirBoundsAndAreCheckedWhereProvable) {
  const Operand x = In("x", DType::kF32, {n});
  const Operand e = b.AddScalar("e", DType::kIndex);
  const Operand all = b.Domain(Int(0), b.Dim(x, 0), Int(1));
  const Operand part = b.Subregion(all, Int(2), e);
  EXPECT_EQ(Type(b.Load(x, std::vector<IndexItem>{At(part)})), "tensor<f32, [%1 - 2]>");
  EXPECT_EQ(Type(b.Subregion(all, std::nullopt, std::nullopt)), "domain<[N]>");
  EXPECT_THAT(Messages(b), IsEmpty());
  b.Subregion(b.Domain(Int(0), Int(4), Int(1)), Int(1), Int(5));
  EXPECT_THAT(Messages(b), ElementsAre(HasSubstr("E0308")));
}

// --- Indexing.

TEST_F(Builder, IndexesViewsBuffersAndTensorsAlike) {
  const Operand x = In("x", DType::kF32, {m, n, Extent(4)});
  const Operand i = b.AddScalar("i", DType::kI32);
  const Operand rows = b.Domain(Int(0), b.Dim(x, 0), Int(1));
  const Operand tile = b.Load(x, std::vector<IndexItem>{At(rows)});
  EXPECT_EQ(Type(tile), "tensor<f32, [M, N, 4]>");
  EXPECT_EQ(Type(b.Load(tile, std::vector<IndexItem>{At(Int(0)), All(), At(Int(-1))})),
            "tensor<f32, [N]>");
  EXPECT_EQ(
      Type(b.Load(x, std::vector<IndexItem>{{.kind = IndexItem::Kind::kEllipsis}, At(Int(2))})),
      "tensor<f32, [M, N]>");
  EXPECT_EQ(Type(b.Load(x, std::vector<IndexItem>{At(i), At(i), At(Int(3))})), "f32");
  EXPECT_EQ(Type(b.Load(x, std::vector<IndexItem>{All(), {.kind = IndexItem::Kind::kNewAxis}})),
            "tensor<f32, [M, 1, N, 4]>");
  EXPECT_EQ(Type(b.Load(x, std::vector<IndexItem>{All(), All(), Slice(Int(1), std::nullopt)})),
            "tensor<f32, [M, N, 3]>");
  EXPECT_EQ(Type(b.Load(x, std::vector<IndexItem>{All(), All(), Slice(Int(-3), Int(-1))})),
            "tensor<f32, [M, N, 2]>");
  EXPECT_THAT(Messages(b), IsEmpty());
}

TEST_F(Builder, TensorIndicesPairUpBesideIndependentDomains) {
  const Operand x = In("x", DType::kF32, {m, n}), r = In("r", DType::kI64, {n});
  const Operand v = b.Load(r, {});
  EXPECT_EQ(Type(b.Load(x, std::vector<IndexItem>{At(v), At(v)})), "tensor<f32, [N]>");
  EXPECT_EQ(Type(b.Load(b.Load(x, {}), std::vector<IndexItem>{At(v)})), "tensor<f32, [N, N]>");
  EXPECT_THAT(Messages(b), IsEmpty());
  const Operand all = b.Domain(Int(0), b.Dim(x, 1), Int(1));
  const Operand square = InOut("square", DType::kF32, {n, n});
  b.Store(square, std::vector<IndexItem>{At(v), At(all)}, b.Load(In("y", DType::kF32, {m}), {}));
  EXPECT_THAT(Messages(b), ElementsAre(AllOf(HasSubstr("E0301"), HasSubstr("independent axes"))));
}

TEST_F(Builder, RefusesIndicesThatAreNone) {
  const Operand x = In("x", DType::kF32, {n}), out = InOut("out", DType::kF32, {n});
  const Operand v = b.Load(x, {});
  b.Load(x, std::vector<IndexItem>{All(), All()});
  b.Store(out, std::vector<IndexItem>{At(b.Compare(CompareKind::kGt, v, Float(0)))}, v);
  b.Load(x, std::vector<IndexItem>{At(Float(1))});
  b.Load(x, std::vector<IndexItem>{At(Int(-1))});
  b.Load(x, std::vector<IndexItem>{At(b.Dim(x, 0))});
  EXPECT_THAT(Messages(b),
              ElementsAre(AllOf(HasSubstr("E0302"), HasSubstr("2 indices for the 1 axis"),
                                HasSubstr("slice")),
                          AllOf(HasSubstr("E0307"), HasSubstr("bool"), HasSubstr("mask")),
                          AllOf(HasSubstr("E0307"), HasSubstr("integer")),
                          AllOf(HasSubstr("E0307"), HasSubstr("static extent")),
                          AllOf(HasSubstr("E0308"), HasSubstr("index N is out of range"))));
}

TEST_F(Builder, StoresHaveTheViewsDtypeAndNeverReduceRank) {
  const Operand x = In("x", DType::kF32, {n}), half = Out("half", DType::kF16, {n});
  const Operand one = Out("one", DType::kF32, {}), y = Out("y", DType::kF32, {m, n});
  const Operand v = b.Load(x, {});
  b.Store(y, {}, v);
  b.Store(y, {}, Float(0.1));
  b.Store(one, {}, b.Full({}, Float(1), DType::kF32));
  EXPECT_THAT(Messages(b), IsEmpty());
  b.Store(half, {}, v);
  b.Store(one, {}, v);
  b.Store(x, {}, v);
  b.Store(v, {}, v);
  EXPECT_THAT(Messages(b),
              ElementsAre(AllOf(HasSubstr("E0201"), HasSubstr("f32"), HasSubstr("cast it to f16")),
                          AllOf(HasSubstr("E0302"), HasSubstr("never reduces the rank")),
                          AllOf(HasSubstr("E0501"), HasSubstr("read-only")),
                          AllOf(HasSubstr("E0204"), HasSubstr("immutable"))));
}

TEST_F(Builder, GathersBroadcastValidAndFillToTheResult) {
  const Operand x = In("x", DType::kF32, {m, n}), r = In("r", DType::kI64, {n});
  const Operand v = b.Load(r, {});
  const Operand in_range = b.Compare(CompareKind::kGe, v, Int(0));
  const Operand i = b.AddScalar("i", DType::kIndex);
  EXPECT_EQ(Type(b.Gather(x, std::vector<IndexItem>{At(i), At(v)}, in_range, Float(7))),
            "tensor<f32, [N]>");
  EXPECT_EQ(Type(b.Gather(x, std::vector<IndexItem>{At(i)}, Bool(true), std::nullopt)),
            "tensor<f32, [N]>");
  EXPECT_THAT(Messages(b), IsEmpty());
  b.Gather(x, std::vector<IndexItem>{At(i), At(i)}, in_range, std::nullopt);
  EXPECT_THAT(Messages(b), ElementsAre(HasSubstr("E0301")));
}

TEST_F(Builder, OutIsNotReadBeforeItIsWrittenAndTheReadIsNamed) {
  const Operand x = In("x", DType::kF32, {n}), out = Out("out", DType::kF32, {n});
  const Operand v = b.Load(x, {});
  b.SetSpan({.line = 6});
  const Operand old = b.Load(out, {});
  b.SetSpan({.line = 7});
  b.Store(out, {}, b.Binary(BinaryKind::kAdd, v, old));
  EXPECT_EQ(Text(), "");
  ASSERT_THAT(Messages(b), ElementsAre(HasSubstr("E0502")));
  EXPECT_EQ(b.diagnostics()[0].span.line, 6u);
}

// --- Control.

TEST_F(Builder, LoopsCarryValuesOfOneType) {
  const Operand x = In("x", DType::kF32, {m, n}), out = Out("out", DType::kF32, {});
  const Operand rows = b.Domain(Int(0), b.Dim(x, 0), Int(1));
  const Operand zero = b.Cast(Float(0), DType::kF32);
  const auto loop = [&](bool grow) {
    const std::vector<intent::Type> arguments = {intent::Type::Scalar(DType::kIndex),
                                                 intent::Type::Scalar(DType::kF32)};
    const std::vector<Operand> inner = b.PushRegion(arguments);
    std::vector<IndexItem> at = {At(inner[0])};
    if (!grow) at.push_back(At(Int(0)));
    const Operand next = b.Binary(BinaryKind::kAdd, inner[1], b.Load(x, at));
    return b.For(rows, std::vector<Operand>{zero}, b.PopRegion(std::vector<Operand>{next}))[0];
  };
  b.Store(out, {}, loop(false));
  EXPECT_THAT(Messages(b), IsEmpty());
  EXPECT_TRUE(loop(true).IsPoison());
  EXPECT_THAT(Messages(b), ElementsAre(AllOf(HasSubstr("E0402"), HasSubstr("carried"),
                                             HasSubstr("tensor<f32, [N]>"))));
}

TEST_F(Builder, ParallelCarriesNothingAndConditionsAreScalar) {
  const Operand x = In("x", DType::kF32, {n});
  const Operand rows = b.Domain(Int(0), b.Dim(x, 0), Int(1));
  const std::vector<intent::Type> index = {intent::Type::Scalar(DType::kIndex)};
  const Operand i = b.PushRegion(index)[0];
  b.Parallel(rows, b.PopRegion(std::vector<Operand>{i}));
  b.PushRegion({});
  auto empty = b.PopRegion({});
  b.PushRegion({});
  b.If(b.Compare(CompareKind::kGt, b.Load(x, {}), Float(0)), empty, b.PopRegion({}));
  EXPECT_THAT(Messages(b), ElementsAre(AllOf(HasSubstr("E0403"), HasSubstr("carries")),
                                       AllOf(HasSubstr("E0401"), HasSubstr("select"))));
}

TEST_F(Builder, CallbacksCaptureNothingImplicitly) {
  const Operand x = In("x", DType::kF32, {n}), k = b.AddScalar("k", DType::kF32);
  const Operand v = b.Load(x, {});
  const std::vector<int64_t> axes = {0};
  const auto schema = b.CombineSchema(v, axes, Float(0));
  ASSERT_TRUE(schema.has_value());
  const std::vector<intent::Type> states = {*schema, *schema};
  const std::vector<Operand> s = b.PushRegion(states, true);
  const Operand sum = b.Binary(BinaryKind::kAdd, s[0], k);
  const auto combine = b.PopRegion(std::vector<Operand>{sum});
  EXPECT_TRUE(b.Reduce(v, axes, Float(0), CombineKind::kRegion, combine, {}).IsPoison());
  EXPECT_THAT(Messages(b), ElementsAre(AllOf(HasSubstr("E0803"), HasSubstr("captures"))));
}

// --- Structured.

TEST_F(Builder, BuiltinReductionsWidenAndKnowTheirDtypes) {
  const std::vector<int64_t> last = {-1};
  const auto sum = [&](DType dtype) {
    const Operand x = In("x", dtype, {m, n});
    return Type(b.ReduceBuiltin("sum", b.Load(x, {}), last, std::nullopt));
  };
  EXPECT_EQ(sum(DType::kI8), "tensor<i32, [M]>");
  EXPECT_EQ(sum(DType::kU16), "tensor<u32, [M]>");
  EXPECT_EQ(sum(DType::kBF16), "tensor<f32, [M]>");
  EXPECT_EQ(sum(DType::kI64), "tensor<i64, [M]>");
  const Operand flags = b.Load(In("f", DType::kBool, {m, n}), {});
  EXPECT_EQ(Type(b.ReduceBuiltin("any", flags, std::vector<int64_t>{0, 1}, std::nullopt)), "bool");
  EXPECT_THAT(Messages(b), IsEmpty());
  b.ReduceBuiltin("sum", flags, last, std::nullopt);
  b.ReduceBuiltin("all", b.Load(In("x", DType::kF32, {n}), {}), last, std::nullopt);
  b.ReduceBuiltin("max", flags, std::vector<int64_t>{2}, std::nullopt);
  EXPECT_THAT(Messages(b),
              ElementsAre(AllOf(HasSubstr("E0202"), HasSubstr("bool")),
                          AllOf(HasSubstr("E0202"), HasSubstr("f32")), HasSubstr("E0202")));
}

// The accumulators of seed 000 chapter 3 and the identities of chapter 6, dtype by dtype.
TEST_F(Builder, EveryDefaultAccumulatorAndIdentity) {
  struct Row {
    DType dtype;
    const char *sum, *zero, *least;
  };
  const Row rows[] = {
      {DType::kI8, "i32", "0", "-128"},
      {DType::kI16, "i32", "0", "-32768"},
      {DType::kI32, "i32", "0", "-2147483648"},
      {DType::kI64, "i64", "0", "-9223372036854775808"},
      {DType::kIndex, "index", "0", "-9223372036854775808"},
      {DType::kU8, "u32", "0", "0"},
      {DType::kU16, "u32", "0", "0"},
      {DType::kU32, "u32", "0", "0"},
      {DType::kU64, "u64", "0", "0"},
      {DType::kF16, "f32", "0.0", "-inf"},
      {DType::kBF16, "f32", "0.0", "-inf"},
      {DType::kF32, "f32", "0.0", "-inf"},
      {DType::kF64, "f64", "0.0", "-inf"},
      {DType::kF8E4M3FN, "f32", "0.0", "-448.0"},
      {DType::kF8E5M2, "f32", "0.0", "-inf"},
  };
  for (const Row& row : rows) {
    KernelBuilder one;
    SourceMap spans;
    const Operand x =
        one.Load(one.AddView("x", row.dtype, {one.SymbolExtent("N")}, Access::kIn, {}), {});
    const std::string dtype(DTypeName(row.dtype));
    const std::vector<int64_t> axes = {0};
    const Operand whole[] = {
        one.ReduceBuiltin("sum", x, axes, std::nullopt),
        one.CumulativeBuiltin("cumsum", x, 0, Bool(true), Bool(false), std::nullopt),
        one.ReduceBuiltin("max", x, axes, std::nullopt),
        one.CumulativeBuiltin("cummax", x, 0, Bool(true), Bool(false), std::nullopt)};
    EXPECT_EQ(one.Describe(whole[0]), row.sum) << dtype;
    EXPECT_EQ(one.Describe(whole[1]), "tensor<" + std::string(row.sum) + ", [N]>") << dtype;
    EXPECT_EQ(one.Describe(whole[2]), dtype);
    EXPECT_EQ(one.Describe(whole[3]), "tensor<" + dtype + ", [N]>");
    const auto module = one.Finish(&spans);
    ASSERT_NE(module, nullptr) << dtype;
    const std::string text = PrintModule(*module);
    const std::string zero = std::string("constant ") + row.zero + " : " + row.sum;
    EXPECT_THAT(text, HasSubstr(zero));
    EXPECT_THAT(text, HasSubstr(std::string("constant ") + row.least + " : " + dtype));
    // What is widened is cast before it is combined.
    if (dtype != row.sum) {
      EXPECT_LT(text.find("cast"), text.find("combine add")) << text;
    } else {
      EXPECT_EQ(text.find("cast"), std::string::npos) << text;
    }
  }
}

TEST_F(Builder, ArgMaxIsAReductionOfValuesAndPositions) {
  const Operand x = In("x", DType::kF32, {m, n});
  EXPECT_EQ(Type(b.ArgMax(b.Load(x, {}), 1, std::nullopt)),
            "tuple<tensor<f32, [M]>, tensor<index, [M]>>");
  EXPECT_EQ(Type(b.ArgMax(b.Load(In("y", DType::kI8, {n}), {}), -1, std::nullopt)),
            "tuple<i8, index>");
  EXPECT_THAT(Messages(b), IsEmpty());
  EXPECT_THAT(Text(), AllOf(HasSubstr("constant -inf : f32"),
                            HasSubstr("constant 9223372036854775807 : index"),
                            HasSubstr("combine arg_max")));
}

TEST_F(Builder, IdentitiesOfRecordsTakeTheirLeavesDtypes) {
  const Operand v = b.Load(In("x", DType::kF32, {n}), {});
  const std::vector<std::string> names = {"low", "high"};
  const Operand value = b.MakeRecord(names, std::vector<Operand>{v, v});
  const Operand identity = b.MakeRecord(names, std::vector<Operand>{Float(0), Int(1)});
  const auto schema = b.CombineSchema(value, std::vector<int64_t>{0}, identity);
  ASSERT_TRUE(schema.has_value());
  EXPECT_EQ(b.Describe(*schema), "record<low: f32, high: f32>");
  EXPECT_THAT(Messages(b), IsEmpty());
}

TEST_F(Builder, ScansKeepTheShape) {
  const Operand v = b.Load(In("x", DType::kF16, {m, n}), {});
  EXPECT_EQ(Type(b.CumulativeBuiltin("cumsum", v, 0, Bool(true), Bool(false), std::nullopt)),
            "tensor<f32, [M, N]>");
  EXPECT_EQ(Type(b.CumulativeBuiltin("cummax", v, 0, Bool(true), Bool(true), std::nullopt)),
            "tensor<f16, [M, N]>");
  EXPECT_THAT(Messages(b), IsEmpty());
}

TEST_F(Builder, ContractionsOfTheSurface) {
  const Extent k = b.SymbolExtent("K"), batch = b.SymbolExtent("B");
  const Operand v = b.Load(In("v", DType::kF16, {k}), {});
  const Operand a = b.Load(In("a", DType::kF16, {batch, m, k}), {});
  const Operand w = b.Load(In("w", DType::kF16, {k, n}), {});
  const Operand c = b.Load(In("c", DType::kF16, {Extent(2), batch, k, n}), {});
  const Operand one = b.Load(In("one", DType::kF16, {Extent(1), k, n}), {});
  EXPECT_EQ(Type(b.Dot(v, v, DType::kF32)), "tensor<f32, []>");
  EXPECT_EQ(Type(b.Matvec(a, v, DType::kF32, false)), "tensor<f32, [B, M]>");
  EXPECT_EQ(Type(b.Matvec(w, v, DType::kF32, true)), "tensor<f32, [N]>");
  EXPECT_EQ(Type(b.Vecmat(v, c, DType::kF32, false)), "tensor<f32, [2, B, N]>");
  EXPECT_EQ(Type(b.Matmul(a, w, DType::kF32, false, false)), "tensor<f32, [B, M, N]>");
  EXPECT_EQ(Type(b.Matmul(a, c, DType::kF32, false, false)), "tensor<f32, [2, B, M, N]>");
  EXPECT_EQ(Type(b.Matmul(a, one, DType::kF32, false, false)), "tensor<f32, [B, M, N]>");
  EXPECT_EQ(Type(b.Matmul(w, a, DType::kF32, true, true)), "tensor<f32, [B, N, M]>");
  EXPECT_EQ(Type(b.Outer(v, v)), "tensor<f16, [K, K]>");
  EXPECT_THAT(Messages(b), IsEmpty());
  b.Matmul(a, a, DType::kF32, false, false);
  b.Dot(a, v, DType::kF32);
  EXPECT_THAT(Messages(b), ElementsAre(AllOf(HasSubstr("E0301"), HasSubstr("K"), HasSubstr("M")),
                                       HasSubstr("E0302")));
}

TEST_F(Builder, SignatureRules) {
  b.AddView("x", DType::kF32, {n}, Access::kIn, {.alias = "a", .noalias = true});
  b.AddView("y", DType::kI4, {n}, Access::kIn, {});
  b.AddView("z", DType::kF32, {Extent(-1)}, Access::kIn, {});
  EXPECT_THAT(Messages(b), ElementsAre(AllOf(HasSubstr("E0506"), HasSubstr("alias")),
                                       HasSubstr("E0206"), HasSubstr("E0306")));
}

}  // namespace
}  // namespace intent
