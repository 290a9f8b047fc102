#include "tests/numerics/ulp_measure.h"

#include <algorithm>
#include <cstdlib>

#include "compiler/cpu/kernel_fixture.h"
#include "compiler/cpu/pointwise_sweep.h"
#include "compiler/ir/module.h"
#include "compiler/numerics/scalar.h"
#include "tests/numerics/ulp_points.h"
#include "tests/support/mpfr_reference.h"

namespace intent::numerics {
namespace {

using cpu::Scalars;

constexpr size_t kChunk = size_t{1} << 16;  // arguments of one call

struct Implementation {
  std::string name;
  int lanes = 1;
  cpu::SweepTarget target;  // empty: the interpreter
};

// Every level on full vectors, the widest on scalars too.
std::vector<Implementation> Implementations(DType dtype) {
  std::vector<Implementation> all = {{"interpreter", 1, {}}};
  const std::vector<std::string> targets = cpu::RunnableTargets();
  for (const std::string& target : targets) {
    if (!IsAddressable(dtype) && target != targets.back()) continue;
    all.push_back({target, 16, {target, 2}});
  }
  if (BitWidth(dtype) >= 32) all.push_back({targets.back() + " scalar", 1, {targets.back(), 2}});
  return all;
}

std::vector<Scalars> Run(const Implementation& implementation, DType dtype,
                         const std::vector<const FloatFunction*>& functions, const Scalars& xs,
                         const Scalars& ys) {
  std::vector<Scalars> results;
  if (implementation.target.first.empty()) {
    for (const FloatFunction* function : functions) {
      Scalars& out = results.emplace_back();
      for (size_t i = 0; i < xs.size(); ++i) {
        out.push_back(function->unary ? EvalUnary(*function->unary, xs[i])
                                      : EvalBinary(function->binary, xs[i], ys[i]));
      }
    }
    return results;
  }
  cpu::Sweep sweep(dtype, implementation.lanes);
  for (const FloatFunction* function : functions) {
    sweep.Add(function->name + (function->unary ? "(%x)" : "(%x, %y)"), dtype);
  }
  return sweep.Run(xs, ys, xs, implementation.target);
}

void MeasureChunk(DType dtype, const std::vector<Implementation>& implementations,
                  const Scalars& xs, const Scalars& ys, std::vector<Measurement>* measurements) {
  std::vector<const FloatFunction*> functions;
  for (const Measurement& m : *measurements) functions.push_back(m.function);
  std::vector<std::vector<Scalars>> got;
  for (const Implementation& one : implementations) {
    got.push_back(Run(one, dtype, functions, xs, ys));
  }
  reference::Real x(53), y(53), exact(dtype == DType::kF64 ? 96 : 64);
  for (size_t k = 0; k < functions.size(); ++k) {
    Measurement& m = (*measurements)[k];
    for (size_t i = 0; i < xs.size(); ++i) {
      reference::Set(xs[i], &x);
      if (functions[k]->unary) {
        reference::Evaluate(*functions[k]->unary, x, &exact);
      } else {
        reference::Set(ys[i], &y);
        reference::Evaluate(functions[k]->binary, dtype, x, y, &exact);
      }
      const ScalarValue* last = nullptr;
      double ulps = 0;
      for (size_t one = 0; one < implementations.size(); ++one) {
        const ScalarValue& value = got[one][k][i];
        if (last == nullptr || *last != value) ulps = reference::UlpError(value, exact);
        last = &value;
        Worst& worst = m.worst[one];
        if (ulps > worst.ulps) {
          worst.ulps = ulps;
          worst.x = xs[i];
          worst.y = ys[i];
          worst.got = value;
        }
      }
    }
  }
}

}  // namespace

std::vector<Measurement> Measure(DType dtype, bool unary, size_t points) {
  const std::vector<Implementation> implementations = Implementations(dtype);
  std::vector<Measurement> measurements;
  for (const FloatFunction& function : FloatFunctions()) {
    if (function.unary.has_value() != unary) continue;
    Measurement& m = measurements.emplace_back();
    m.function = &function;
    m.dtype = dtype;
    m.exhaustive = BitWidth(dtype) <= (unary ? 16 : 8);
    for (const Implementation& one : implementations) {
      Worst& worst = m.worst.emplace_back();
      worst.implementation = one.name;
      const bool interpreter = one.target.first.empty();
      worst.bound = (interpreter ? function.interpreter : function.cpu).For(dtype);
    }
  }
  PointPairs all;
  if (unary) {
    all.xs = measurements[0].exhaustive ? cpu::EveryCode(dtype) : UnaryPoints(dtype, points);
    all.ys = all.xs;
  } else {
    all = measurements[0].exhaustive ? EveryPair(dtype) : BinaryPoints(dtype, points);
  }
  for (Measurement& m : measurements) m.points = all.xs.size();
  for (size_t first = 0; first < all.xs.size(); first += kChunk) {
    const size_t last = std::min(first + kChunk, all.xs.size());
    Scalars xs(all.xs.begin() + static_cast<ptrdiff_t>(first),
               all.xs.begin() + static_cast<ptrdiff_t>(last));
    Scalars ys(all.ys.begin() + static_cast<ptrdiff_t>(first),
               all.ys.begin() + static_cast<ptrdiff_t>(last));
    while (xs.size() % 16 != 0) xs.push_back(xs[0]), ys.push_back(ys[0]);
    MeasureChunk(dtype, implementations, xs, ys, &measurements);
  }
  return measurements;
}

size_t PointsFromEnvironment() {
  const char* text = std::getenv("INTENT_ULP_POINTS");
  return text == nullptr ? size_t{1} << 14 : std::strtoull(text, nullptr, 10);
}

}  // namespace intent::numerics
