#include <algorithm>
#include <cstdio>
#include <map>

#include "compiler/numerics/scalar.h"
#include "tests/gpu/function_runner.h"
#include "tests/gpu/functions_check.h"
#include "tests/numerics/float_functions.h"
#include "tests/numerics/ulp_points.h"
#include "tests/support/mpfr_reference.h"

namespace intent::gpu_test {
namespace {

using numerics::FloatFunction;
using numerics::PointPairs;

constexpr DType kDTypes[] = {
#define INTENT_DTYPE(name, text, bits, bytes, cls) DType::name,
#include "compiler/ir/dtypes.def"
#undef INTENT_DTYPE
};
// What the table shows; the others only keep their bounds.
constexpr DType kColumns[] = {DType::kF64,  DType::kF32,    DType::kF16,
                              DType::kBF16, DType::kF8E5M2, DType::kF8E4M3FN};
constexpr size_t kChunk = 4096;

struct Worst {
  double ulps = 0;
  ScalarValue x, y, got;
};

using Table = std::map<std::string, std::map<DType, double>>;

PointPairs PointsOf(DType dtype, bool unary, size_t points) {
  if (!unary) {
    return BitWidth(dtype) <= 8 ? numerics::EveryPair(dtype)
                                : numerics::BinaryPoints(dtype, points);
  }
  numerics::Scalars xs =
      BitWidth(dtype) <= 16 ? numerics::EveryCode(dtype) : numerics::UnaryPoints(dtype, points);
  return {xs, xs};
}

size_t NumberOf(const FloatFunction& function, const std::vector<cuda::DeviceFunction>& all) {
  const auto form =
      function.unary ? cuda::DeviceFunction::Form::kUnary : cuda::DeviceFunction::Form::kBinary;
  const auto found = std::find_if(all.begin(), all.end(), [&](const cuda::DeviceFunction& f) {
    if (f.form != form || f.approximate) return false;
    return function.unary ? f.unary == *function.unary : f.binary == function.binary;
  });
  return static_cast<size_t>(found - all.begin());
}

Worst WorstOf(const FloatFunction& function, DType dtype, const PointPairs& points,
              const std::vector<uint8_t>& got) {
  const auto size = static_cast<size_t>(StorageBytes(dtype));
  std::vector<Worst> parts((points.xs.size() + kChunk - 1) / kChunk);
  InParallel(parts.size(), [&](size_t part) {
    reference::Real x(53), y(53), exact(dtype == DType::kF64 ? 96 : 64);
    Worst& worst = parts[part];
    for (size_t i = part * kChunk; i < std::min(points.xs.size(), (part + 1) * kChunk); ++i) {
      reference::Set(points.xs[i], &x);
      if (function.unary) {
        reference::Evaluate(*function.unary, x, &exact);
      } else {
        reference::Set(points.ys[i], &y);
        reference::Evaluate(function.binary, dtype, x, y, &exact);
      }
      const ScalarValue value = numerics::LoadScalar(dtype, &got[i * size]);
      const double ulps = reference::UlpError(value, exact);
      if (ulps > worst.ulps) worst = {ulps, points.xs[i], points.ys[i], value};
    }
  });
  return *std::max_element(parts.begin(), parts.end(),
                           [](const Worst& a, const Worst& b) { return a.ulps < b.ulps; });
}

std::string Describe(const FloatFunction& function, DType dtype, const Worst& worst) {
  char text[256];
  std::snprintf(
      text, sizeof(text), "%s of %s: %.4g ulp, more than %.4g, at %a (%.9g)%s gives %a",
      function.name.c_str(), std::string(DTypeName(dtype)).c_str(), worst.ulps,
      function.cuda.For(dtype), numerics::AsDouble(worst.x), numerics::AsDouble(worst.x),
      function.unary ? "" : (" and " + std::to_string(numerics::AsDouble(worst.y))).c_str(),
      numerics::AsDouble(worst.got));
  return text;
}

void Print(const Table& table) {
  std::printf("\n| function |");
  for (DType dtype : kColumns) std::printf(" %s |", std::string(DTypeName(dtype)).c_str());
  std::printf("\n|---|");
  for (size_t i = 0; i < std::size(kColumns); ++i) std::printf("---|");
  for (const FloatFunction& function : numerics::FloatFunctions()) {
    std::printf("\n| %s |", function.name.substr(function.name.find('.') + 1).c_str());
    for (DType dtype : kColumns) {
      std::printf(" %.4g (%.4g) |", function.cuda.For(dtype), table.at(function.name).at(dtype));
    }
  }
  std::printf("\n\n");
}

}  // namespace

void CheckRealFunctions(const DeviceSession& session, const Images& images, size_t points,
                        Tally* tally) {
  Table table;
  for (DType dtype : kDTypes) {
    if (!IsFloat(dtype)) continue;
    FunctionRunner runner(session, images, dtype, Conversions::kNative);
    for (bool unary : {true, false}) {
      const PointPairs pairs = PointsOf(dtype, unary, points);
      const std::vector<uint8_t> x = numerics::Stored(pairs.xs), y = numerics::Stored(pairs.ys);
      runner.SetOperands({pairs.xs.size(), x, y, x});
      for (const FloatFunction& function : numerics::FloatFunctions()) {
        if (function.unary.has_value() != unary) continue;
        const std::vector<uint8_t> got = runner.Run(NumberOf(function, runner.functions()));
        const Worst worst = WorstOf(function, dtype, pairs, got);
        table[function.name][dtype] = worst.ulps;
        tally->Add(worst.ulps <= function.cuda.For(dtype) ? "" : Describe(function, dtype, worst));
      }
    }
  }
  Print(table);
}

}  // namespace intent::gpu_test
