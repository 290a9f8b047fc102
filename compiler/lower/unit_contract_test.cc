// Contractions on units of threads: which of them are the tile program's matrix product, and that
// it gives the sums, as packed panels do. Values are small integers, so that every order of sums is
// exact.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "compiler/driver/intent_call.h"
#include "compiler/ir/module.h"
#include "compiler/ir/parse.h"
#include "compiler/lower/lower.h"
#include "compiler/numerics/scalar.h"
#include "compiler/specialize/specialize.h"
#include "compiler/tile/print.h"
#include "compiler/tile/tile_interp.h"
#include "compiler/tile/verify_tile.h"
#include "compiler/verify/verify.h"

namespace intent::lower {
namespace {

using testing::HasSubstr;
using testing::Not;

LowerOptions Units() {
  LowerOptions options;
  options.block_threads = 64;
  options.vector_bits = 128;
  return options;
}

std::unique_ptr<tile::Program> Lower(const std::string& kernel,
                                     const LowerOptions& options = Units()) {
  const ParsedModule parsed = ParseModule(kernel);
  EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : ToString(parsed.diagnostics[0])) << kernel;
  if (!parsed.ok()) return nullptr;
  EXPECT_TRUE(Verify(*parsed.module).empty()) << kernel;
  EXPECT_TRUE(Specialize(parsed.module.get(), {}).empty());
  Lowered lowered = LowerToTiles(*parsed.module, options);
  EXPECT_EQ(tile::VerifyTile(*lowered.program), absl::OkStatus()) << kernel;
  return std::move(lowered.program);
}

// A dense matrix of numbers that every dtype of the tests holds.
struct Matrix {
  DType dtype;
  std::vector<int64_t> extents, strides;
  std::vector<char> bytes;

  Matrix(DType of, std::vector<int64_t> shape, int seed) : dtype(of), extents(std::move(shape)) {
    int64_t count = 1;
    for (size_t axis = extents.size(); axis-- > 0; count *= extents[axis])
      strides.insert(strides.begin(), count);
    bytes.resize(static_cast<size_t>(count * StorageBytes(dtype)));
    for (int64_t i = 0; i < count; ++i) Put(i, static_cast<double>((i * 7 + seed) % 5) - 2);
  }
  void Put(int64_t at, double value) {
    numerics::StoreScalar(IsFloat(dtype)
                              ? numerics::MakeFloat(dtype, value)
                              : numerics::MakeInteger(dtype, static_cast<int64_t>(value)),
                          bytes.data() + at * StorageBytes(dtype));
  }
  double at(int64_t index) const {
    const ScalarValue value =
        numerics::LoadScalar(dtype, bytes.data() + index * StorageBytes(dtype));
    return IsFloat(dtype) ? numerics::AsDouble(value)
                          : static_cast<double>(numerics::AsInteger(value));
  }
  double at(int64_t row, int64_t column) const {
    return at(row * strides[0] + column * strides[1]);
  }
  intent_view view() {
    return {bytes.data(), extents.data(), strides.data(), 0, static_cast<int64_t>(bytes.size())};
  }
};

void Execute(const tile::Program& program, std::vector<Matrix*> matrices) {
  std::vector<intent_view> views;
  for (Matrix* matrix : matrices) views.push_back(matrix->view());
  intent_error error = {};
  const intent_call call = {views.data(), nullptr, nullptr, nullptr, &error};
  EXPECT_EQ(tile::Interpret(program, &call), INTENT_OK);
}

// %2 = f(%0) * %1 with `prologue` making %l of %x.
std::string Product(const std::string& dtype, const std::string& sum, const std::string& prologue,
                    const std::string& left) {
  return "kernel (%0: view<in, " + dtype + ", [s0, s1]>, %1: view<in, " + dtype +
         ", [s1, s2]>, %2: view<out, " + sum + ", [s0, s2]>) {\n" +
         "  %x = view_load %0 [:, :] : tensor<" + dtype + ", [s0, s1]>\n" +
         "  %y = view_load %1 [:, :] : tensor<" + dtype + ", [s1, s2]>\n" + prologue +
         "  %z = contract " + left + ", %y reduce [(1, 0)] : tensor<" + sum + ", [s0, s2]>\n" +
         "  view_store %2 [:, :] = %z\n  return\n}\n";
}

void ExpectProduct(const tile::Program& program, DType dtype, DType sum, double scale,
                   int64_t depth) {
  constexpr int64_t kRows = 5, kColumns = 3;
  Matrix a(dtype, {kRows, depth}, 1), b(dtype, {depth, kColumns}, 3), c(sum, {kRows, kColumns}, 0);
  Execute(program, {&a, &b, &c});
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t column = 0; column < kColumns; ++column) {
      double expected = 0;
      for (int64_t k = 0; k < depth; ++k) expected += scale * a.at(row, k) * b.at(k, column);
      EXPECT_EQ(c.at(row, column), expected) << row << " " << column;
    }
  }
}

TEST(UnitContractTest, ElementsOfMatrixUnitsStayAsTheyAre) {
  const struct {
    const char *name, *sum_name;
    DType dtype, sum;
    const char* yielded;
  } kCases[] = {
      {"bf16", "f32", DType::kBF16, DType::kF32, ": bf16 = load("},
      {"f16", "f32", DType::kF16, DType::kF32, ": f16 = load("},
      {"f8e4m3fn", "f32", DType::kF8E4M3FN, DType::kF32, ": f16 = load("},  // of a copy
      {"f8e5m2", "f32", DType::kF8E5M2, DType::kF32, ": f16 = load("},
      {"f8e5m2", "f64", DType::kF8E5M2, DType::kF64, ": f64 = cast("},
      {"i8", "i32", DType::kI8, DType::kI32, ": i8 = load("},
      {"f16", "f64", DType::kF16, DType::kF64, ": f64 = cast("},
      {"f32", "f32", DType::kF32, DType::kF32, ": f32 = load("},
      {"i32", "i64", DType::kI32, DType::kI64, ": i64 = cast("},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto program = Lower(Product(c.name, c.sum_name, "", "%x"));
    ASSERT_NE(program, nullptr);
    const std::string text = tile::Print(*program);
    EXPECT_THAT(text, HasSubstr("contract("));
    EXPECT_THAT(text, HasSubstr(c.yielded));
    const auto panels = Lower(Product(c.name, c.sum_name, "", "%x"), {});
    ASSERT_NE(panels, nullptr);
    EXPECT_THAT(tile::Print(*panels), Not(HasSubstr("contract(")));
    for (int64_t depth : {0, 1, 130}) {
      ExpectProduct(*program, c.dtype, c.sum, 1, depth);
      ExpectProduct(*panels, c.dtype, c.sum, 1, depth);
    }
  }
}

TEST(UnitContractTest, CheapOperandsAreComputedWhereTheyAreReadAndDearOnesBefore) {
  const auto cheap =
      Lower(Product("f32", "f32", "  %l = unary negate %x : tensor<f32, [s0, s1]>\n", "%l"));
  ASSERT_NE(cheap, nullptr);
  EXPECT_THAT(tile::Print(*cheap), Not(HasSubstr("alloc(%0)")));
  ExpectProduct(*cheap, DType::kF32, DType::kF32, -1, 9);
  const auto dear = Lower(Product("f32", "f32",
                                  "  %e = unary exp %x : tensor<f32, [s0, s1]>\n"
                                  "  %f = unary log %e : tensor<f32, [s0, s1]>\n"
                                  "  %l = unary floor %f : tensor<f32, [s0, s1]>\n",
                                  "%l"));
  ASSERT_NE(dear, nullptr);
  const std::string text = tile::Print(*dear);
  EXPECT_THAT(text, HasSubstr("contract("));
  EXPECT_THAT(text.substr(text.find("contract(")), Not(HasSubstr("unary.exp")));
}

TEST(UnitContractTest, BatchesAndSeveralInnerAxes) {
  const std::string kernel =
      R"(kernel (%0: view<in, f32, [s0, s1, s2, s3]>, %1: view<in, f32, [s2, s3, s0, s4]>, %2: view<out, f32, [s0, s1, s4]>) {
  %x = view_load %0 [:, :, :, :] : tensor<f32, [s0, s1, s2, s3]>
  %y = view_load %1 [:, :, :, :] : tensor<f32, [s2, s3, s0, s4]>
  %z = contract %x, %y reduce [(2, 0), (3, 1)] batch [(0, 2)] : tensor<f32, [s0, s1, s4]>
  view_store %2 [:, :, :] = %z
  return
}
)";
  EXPECT_THAT(tile::Print(*Lower(kernel)), HasSubstr("contract("));
  for (const LowerOptions& options : {Units(), LowerOptions{}}) {
    const auto program = Lower(kernel, options);
    ASSERT_NE(program, nullptr);
    Matrix a(DType::kF32, {2, 3, 4, 5}, 1), b(DType::kF32, {4, 5, 2, 6}, 2),
        c(DType::kF32, {2, 3, 6}, 0);
    Execute(*program, {&a, &b, &c});
    for (int64_t p = 0; p < 2; ++p) {
      for (int64_t row = 0; row < 3; ++row) {
        for (int64_t column = 0; column < 6; ++column) {
          double expected = 0;
          for (int64_t k = 0; k < 20; ++k)
            expected += a.at((p * 3 + row) * 20 + k) * b.at((k * 2 + p) * 6 + column);
          EXPECT_EQ(c.at((p * 3 + row) * 6 + column), expected);
        }
      }
    }
  }
}

// With `between` the product %z and the store of %s.
std::string Stored(const std::string& between, const std::string& sum = "f32") {
  return "kernel (%0: view<in, bf16, [s0, s1]>, %1: view<in, bf16, [s1, s0]>, "
         "%2: view<inout, " +
         sum +
         ", [s0, s0]>, %3: view<in, f32, [s0]>, %4: view<in, i64, [s0]>, "
         "%5: view<out, f32, [s0, s0]>) {\n"
         "  %x = view_load %0 [:, :] : tensor<bf16, [s0, s1]>\n"
         "  %y = view_load %1 [:, :] : tensor<bf16, [s1, s0]>\n"
         "  %z = contract %x, %y reduce [(1, 0)] : tensor<f32, [s0, s0]>\n" +
         between + "  view_store %2 [:, :] = %s\n  return\n}\n";
}

// No stage comes after the product.
bool StoresItsSums(const std::string& kernel) {
  const auto program = Lower(kernel);
  if (program == nullptr) return false;
  const std::string text = tile::Print(*program);
  const size_t at = text.find("contract(");
  EXPECT_NE(at, std::string::npos) << text;
  return text.find("parallel(", at) == std::string::npos;
}

constexpr char kSame[] = "  %s = unary negate %z : tensor<f32, [s0, s0]>\n";

TEST(UnitContractTest, SumsAreStoredWhereTheyGo) {
  EXPECT_TRUE(StoresItsSums(Product("bf16", "f32", "", "%x")));
  EXPECT_TRUE(StoresItsSums(Stored(kSame)));
  EXPECT_TRUE(StoresItsSums(Stored("  %s = cast %z : tensor<bf16, [s0, s0]>\n", "bf16")));
  EXPECT_TRUE(
      StoresItsSums(Stored("  %c = view_load %2 [:, :] : tensor<f32, [s0, s0]>\n"
                           "  %b = view_load %3 [:] : tensor<f32, [s0]>\n"
                           "  %d = binary add %z, %c : tensor<f32, [s0, s0]>\n"
                           "  %w = broadcast %b : tensor<f32, [s0, s0]>\n"
                           "  %e = binary mul %d, %w : tensor<f32, [s0, s0]>\n"
                           "  %s = unary tanh %e : tensor<f32, [s0, s0]>\n")));
  // What must be looked up has guards, and comes before.
  EXPECT_TRUE(
      StoresItsSums(Stored("  %i = view_load %4 [:] : tensor<i64, [s0]>\n"
                           "  %b = view_load %3 [%i] : tensor<f32, [s0]>\n"
                           "  %w = broadcast %b : tensor<f32, [s0, s0]>\n"
                           "  %s = binary add %z, %w : tensor<f32, [s0, s0]>\n")));
}

// The name of a view's stride.
std::string StrideOf(const std::string& text, int view, int axis) {
  std::smatch found;
  const std::regex line("(%\\d+): index = view_stride \\{view=" + std::to_string(view) +
                        " axis=" + std::to_string(axis) + "\\}");
  return std::regex_search(text, found, line) ? found[1].str() : "no such stride";
}

TEST(UnitContractTest, OperandsWithoutLinesAreCopiedWhereTheyServeMany) {
  // The left side's lines are 9 elements long, the right side's as long as there are columns.
  for (const char* dtype : {"bf16", "f32"}) {
    const auto program = Lower(Product(dtype, "f32", "", "%x"));
    ASSERT_NE(program, nullptr);
    for (int64_t columns : {255, 257}) {
      const DType element = dtype == std::string("f32") ? DType::kF32 : DType::kBF16;
      Matrix a(element, {2, 9}, 1), b(element, {9, columns}, 3), c(DType::kF32, {2, columns}, 0);
      Execute(*program, {&a, &b, &c});
      for (int64_t column = 0; column < columns; ++column) {
        double expected = 0;
        for (int64_t k = 0; k < 9; ++k) expected += a.at(1, k) * b.at(k, column);
        EXPECT_EQ(c.at(1, column), expected) << column;
      }
    }
    // A remainder of a stride tells lines of pieces from others; elements of 4 bytes need none.
    const std::string text = tile::Print(*program);
    EXPECT_EQ(std::regex_search(text, std::regex("binary.mod\\(" + StrideOf(text, 0, 0) + ",")),
              dtype == std::string("bf16"))
        << text;
  }
}

TEST(UnitContractTest, SumsThatOthersReadAreKept) {
  const std::string same = kSame;
  // Another use, another effect between, another place.
  EXPECT_FALSE(StoresItsSums(Stored("  view_store %5 [:, :] = %z\n" + same)));
  EXPECT_FALSE(StoresItsSums(Stored(same + "  view_store %5 [:, :] = %s\n")));
  EXPECT_FALSE(
      StoresItsSums(Stored("  %c = view_load %2 [:, :] : tensor<f32, [s0, s0]>\n"
                           "  view_store %5 [:, :] = %c\n" +
                           same)));
  EXPECT_FALSE(StoresItsSums(Stored("  %s = transpose %z axes [1, 0] : tensor<f32, [s0, s0]>\n")));
}

TEST(UnitContractTest, WithoutAnAxisOfItsOwnASideIsReduced) {
  const auto program = Lower(
      R"(kernel (%0: view<in, f32, [s0, s1]>, %1: view<in, f32, [s1]>, %2: view<out, f32, [s0]>) {
  %x = view_load %0 [:, :] : tensor<f32, [s0, s1]>
  %y = view_load %1 [:] : tensor<f32, [s1]>
  %z = contract %x, %y reduce [(1, 0)] : tensor<f32, [s0]>
  view_store %2 [:] = %z
  return
}
)");
  ASSERT_NE(program, nullptr);
  EXPECT_THAT(tile::Print(*program), Not(HasSubstr("contract(")));
}

TEST(UnitContractTest, FewRowsAreReducedForTheyLeaveATileEmpty) {
  const auto rows = [](const std::string& count) {
    return tile::Print(*Lower("kernel (%0: view<in, f32, [" + count +
                              ", s1]>, %1: view<in, f32, [s1, s2]>, %2: view<out, f32, [" + count +
                              ", s2]>) {\n  %x = view_load %0 [:, :] : tensor<f32, [" + count +
                              ", s1]>\n  %y = view_load %1 [:, :] : tensor<f32, [s1, s2]>\n"
                              "  %z = contract %x, %y reduce [(1, 0)] : tensor<f32, [" +
                              count + ", s2]>\n  view_store %2 [:, :] = %z\n  return\n}\n"));
  };
  EXPECT_THAT(rows("4"), Not(HasSubstr("contract(")));
  EXPECT_THAT(rows("5"), HasSubstr("contract("));
}

TEST(UnitContractTest, TheReportSaysWhatWarpsOfATaskShare) {
  const ParsedModule parsed = ParseModule(
      "kernel (%0: view<in, f32, [s1, s0, s2]>, %1: view<out, f32, [s1, s0, s0]>, "
      "%2: view<inout, f32, [s1, s2]>) {\n"
      "  %zero = constant 0 : index\n  %one = constant 1 : index\n"
      "  %n = dim %0 axis 0 : index\n  %m = dim %0 axis 2 : index\n"
      "  %all = domain %zero, %n, %one : domain<[s1]>\n"
      "  %columns = domain %zero, %m, %one : domain<[s2]>\n"
      "  parallel %i = %all {\n    %x = view_load %0 [%i, :, :] : tensor<f32, [s0, s2]>\n"
      "    %c = contract %x, %x reduce [(1, 1)] : tensor<f32, [s0, s0]>\n"
      "    view_store %1 [%i, :, :] = %c\n    parallel %j = %columns {\n"
      "      %y = view_load %2 [%i, %j] : f32\n      %z = binary add %y, %y : f32\n"
      "      view_store %2 [%i, %j] = %z\n      yield\n    }\n"
      "    %w = view_load %2 [%i, :] : tensor<f32, [s2]>\n"
      "    %v = binary add %w, %w : tensor<f32, [s2]>\n    view_store %2 [%i, :] = %v\n"
      "    yield\n  }\n  return\n}\n");
  ASSERT_TRUE(parsed.ok()) << ToString(parsed.diagnostics[0]);
  std::string report;
  for (const ReportLine& line : LowerToTiles(*parsed.module, Units()).report)
    report += line.text + "\n";
  EXPECT_THAT(report, HasSubstr("lanes, split among the warps of its task"));
  EXPECT_THAT(report, HasSubstr("points in order, by the threads of its task"));
}

// Every link uses the one before twice.
TEST(UnitContractTest, ALongChainOfBoundsIsFollowedOnce) {
  std::string kernel =
      "kernel (%0: view<in, f32, [s1, s0, s2]>, %1: view<out, f32, [s1, s0, s0]>, "
      "%2: view<out, f32, [s1]>, %3: index) {\n"
      "  %zero = constant 0 : index\n  %one = constant 1 : index\n"
      "  %n = dim %0 axis 0 : index\n  %all = domain %zero, %n, %one : domain<[s1]>\n"
      "  %a0 = binary minimum %3, %n : index\n";
  constexpr int kLinks = 64;
  for (int i = 0; i < kLinks; ++i) {
    const std::string a = "%a" + std::to_string(i), m = "%m" + std::to_string(i);
    kernel += "  " + m + " = binary mul " + a + ", %n : index\n  %p" + std::to_string(i) +
              " = binary minimum " + a + ", " + m + " : index\n  %a" + std::to_string(i + 1) +
              " = binary maximum " + a + ", %p" + std::to_string(i) + " : index\n";
  }
  kernel += "  %above = compare gt %3, %n : bool\n  %last = select %above, %a" +
            std::to_string(kLinks) + ", %n : index\n";
  const std::string row = "[max(0, %last)]";
  kernel += "  %few = domain %zero, %last, %one : domain<" + row + ">\n" +
            "  parallel %i = %all {\n    %x = view_load %0 [%i, :, :] : tensor<f32, [s0, s2]>\n"
            "    %c = contract %x, %x reduce [(1, 1)] : tensor<f32, [s0, s0]>\n"
            "    view_store %1 [%i, :, :] = %c\n    %k = indices %few : tensor<index, " +
            row + ">\n    %l = cast %k : tensor<i32, " + row +
            ">\n    %b = buffer %l : buffer<i32, " + row +
            ">\n    %g = buffer_load %b [0] : i32\n    %h = cast %g : f32\n"
            "    view_store %2 [%i] = %h\n    yield\n  }\n  return\n}\n";
  EXPECT_NE(Lower(kernel), nullptr);
}

}  // namespace
}  // namespace intent::lower
