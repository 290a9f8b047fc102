#include "compiler/cpu/pointwise_sweep.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "compiler/cpu/kernel_fixture.h"
#include "compiler/numerics/scalar.h"

namespace intent::cpu {
namespace {

using numerics::EvalCast;

// The dtype of the views that carry a dtype's elements.
DType CarrierOf(DType dtype) {
  if (IsAddressable(dtype)) return dtype;
  if (BitWidth(dtype) == 128) return DType::kU64;
  if (BitWidth(dtype) == 6) return DType::kF32;
  return DType::kU8;
}
int CarriersOf(DType dtype) { return BitWidth(dtype) == 128 ? 2 : 1; }

bool IsNan(const ScalarValue& x) { return IsFloat(x.dtype) && std::isnan(numerics::AsDouble(x)); }

ScalarValue ToCarrier(const ScalarValue& x, int part) {
  const DType carrier = CarrierOf(x.dtype);
  if (carrier == x.dtype) return x;
  if (IsFloat(carrier)) return EvalCast(x, carrier);
  return {carrier, static_cast<uint64_t>(x.bits >> (64 * part))};
}

ScalarValue FromCarrier(DType dtype, const std::vector<ScalarValue>& parts) {
  if (IsFloat(parts[0].dtype) && parts[0].dtype != dtype) return EvalCast(parts[0], dtype);
  unsigned __int128 bits = parts[0].bits;
  if (parts.size() == 2) bits |= parts[1].bits << 64;
  const int width = BitWidth(dtype);
  if (width < 128) bits &= (static_cast<unsigned __int128>(1) << width) - 1;
  return {dtype, bits};
}

std::vector<uint8_t> Stored(const Scalars& values, int part) {
  const size_t size = static_cast<size_t>(StorageBytes(CarrierOf(values[0].dtype)));
  std::vector<uint8_t> bytes(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) {
    numerics::StoreScalar(ToCarrier(values[i], part), &bytes[i * size]);
  }
  return bytes;
}

std::string Hex(const ScalarValue& v) {
  char text[48];
  std::snprintf(text, sizeof(text), "0x%llx%016llx", static_cast<unsigned long long>(v.bits >> 64),
                static_cast<unsigned long long>(v.bits));
  return text;
}

}  // namespace

std::vector<SweepTarget> SweepTargets(int lanes) {
  const std::vector<std::string> runnable = RunnableTargets();
  if (lanes > 16) return {{runnable.back(), 2}};
  if (lanes == 4) return {{runnable.back(), 2}, {runnable.front(), 0}};
  std::vector<SweepTarget> targets;
  for (const std::string& target : runnable) targets.emplace_back(target, 2);
  if (lanes == 8) targets.emplace_back(runnable.back(), 0);
  return targets;
}

std::string Sweep::Type(DType dtype) const {
  return std::string(DTypeName(dtype)) + (lanes_ == 1 ? "" : "x" + std::to_string(lanes_));
}

void Sweep::Add(const std::string& expression, DType result) {
  expressions_.push_back(expression);
  outputs_.push_back(result);
}

std::string Sweep::Text() const {
  std::string views, bases, body;
  int view = 0;
  const auto add_view = [&](DType dtype, const char* access) {
    const std::string name(DTypeName(dtype)), number = std::to_string(view++);
    views += "  view " + name + " rank 1 " + access + "\n";
    bases += "  %m" + number + ": mem<" + name + "> = view_base {view=" + number + "}\n";
    return number;
  };
  const auto line = [&](const std::string& result, DType dtype, const std::string& expression) {
    body += "  " + result + ": " + Type(dtype) + " = " + expression + "\n";
  };
  const auto load = [&](const std::string& result, DType carrier) {
    line(result, carrier, "load(%m" + add_view(carrier, "read") + ", %i) {stride=1}");
  };
  const auto store = [&](const std::string& value, DType carrier) {
    body += "  store(%m" + add_view(carrier, "write") + ", %i, " + value + ") {stride=1}\n";
  };
  const DType carrier = CarrierOf(dtype_);
  for (const std::string name : {"%x", "%y", "%z"}) {
    if (carrier == dtype_) {
      load(name, carrier);
    } else if (CarriersOf(dtype_) == 2) {
      load(name + "l", carrier);
      load(name + "h", carrier);
      line(name + "low", dtype_, "cast(" + name + "l)");
      line(name + "high", dtype_, "cast(" + name + "h)");
      line(name + "bits", dtype_, "const 64");
      line(name + "top", dtype_, "binary.shl(" + name + "high, " + name + "bits)");
      line(name, dtype_, "binary.or(" + name + "low, " + name + "top)");
    } else {
      load(name + "c", carrier);
      const bool whole = BitWidth(dtype_) == 8;
      if (BitWidth(dtype_) == 4 && IsFloat(dtype_)) {
        line(name + "i", DType::kI4, "cast(" + name + "c)");
        line(name, dtype_, "bitcast(" + name + "i)");
      } else {
        line(name, dtype_, (whole ? "bitcast(" : "cast(") + name + "c)");
      }
    }
  }
  for (size_t k = 0; k < outputs_.size(); ++k) {
    const DType to = outputs_[k], out = CarrierOf(to);
    const std::string name = "%r" + std::to_string(k);
    line(name, to, expressions_[k]);
    if (out == to) {
      store(name, out);
    } else if (CarriersOf(to) == 2) {
      line(name + "l", out, "cast(" + name + ")");
      line(name + "bits", to, "const 64");
      line(name + "top", to, "binary.shr(" + name + ", " + name + "bits)");
      line(name + "h", out, "cast(" + name + "top)");
      store(name + "l", out);
      store(name + "h", out);
    } else if (BitWidth(to) == 4 && IsFloat(to)) {
      line(name + "i", DType::kI4, "bitcast(" + name + ")");
      line(name + "c", out, "cast(" + name + "i)");
      store(name + "c", out);
    } else {
      line(name + "c", out, (BitWidth(to) == 8 ? "bitcast(" : "cast(") + name + ")");
      store(name + "c", out);
    }
  }
  return "tile {\n" + views + bases +
         "  %zero: index = const 0\n  %n: index = view_extent {view=0 axis=0}\n"
         "  %step: index = const " +
         std::to_string(lanes_) + "\n  for(%zero, %n, %step) (%i: index) {\n" + body +
         "  yield\n  }\n}\n";
}

std::vector<Scalars> Sweep::Run(const Scalars& xs, const Scalars& ys, const Scalars& zs,
                                const SweepTarget& target) const {
  EXPECT_EQ(xs.size() % static_cast<size_t>(lanes_), 0u);
  std::vector<ViewArgument> views;
  for (const Scalars* s : {&xs, &ys, &zs}) {
    for (int part = 0; part < CarriersOf(dtype_); ++part) {
      views.push_back(Contiguous(Stored(*s, part), StorageBytes(CarrierOf(dtype_))));
    }
  }
  size_t view = views.size();
  for (DType d : outputs_) {
    const int size = StorageBytes(CarrierOf(d));
    for (int part = 0; part < CarriersOf(d); ++part) {
      views.push_back(
          Contiguous(std::vector<uint8_t>(xs.size() * static_cast<size_t>(size), 0xee), size));
    }
  }
  const auto program = ParseOrDie(Text());
  std::vector<Scalars> results(outputs_.size());
  if (testing::Test::HasFailure()) return results;
  const Outcome outcome = target.first.empty()
                              ? RunInterpreted(*program, views)
                              : RunCompiled(*program, views, {}, target.first, target.second);
  EXPECT_EQ(outcome.status, 0);
  for (size_t k = 0; k < outputs_.size() && outcome.status == 0; ++k) {
    const DType carrier = CarrierOf(outputs_[k]);
    const size_t size = static_cast<size_t>(StorageBytes(carrier));
    for (size_t i = 0; i < xs.size(); ++i) {
      std::vector<ScalarValue> parts;
      for (int part = 0; part < CarriersOf(outputs_[k]); ++part) {
        const auto& bytes = outcome.allocations[view + static_cast<size_t>(part)];
        parts.push_back(numerics::LoadScalar(carrier, &bytes[i * size]));
      }
      results[k].push_back(FromCarrier(outputs_[k], parts));
    }
    view += static_cast<size_t>(CarriersOf(outputs_[k]));
  }
  return results;
}

void Sweep::Check(const Scalars& xs, const Scalars& ys, const Scalars& zs,
                  const std::vector<SweepTarget>& targets) const {
  const std::vector<Scalars> expected = Run(xs, ys, zs, {});
  for (const SweepTarget& target : targets) {
    const std::vector<Scalars> got = Run(xs, ys, zs, target);
    if (testing::Test::HasFatalFailure()) return;
    for (size_t k = 0; k < outputs_.size(); ++k) {
      for (size_t i = 0; i < got[k].size(); ++i) {
        const ScalarValue &left = got[k][i], &right = expected[k][i];
        if (left == right || (IsNan(left) && IsNan(right))) continue;
        ADD_FAILURE() << expressions_[k] << " of " << DTypeName(dtype_) << "x" << lanes_ << " to "
                      << DTypeName(outputs_[k]) << " on " << target.first << " level "
                      << target.second << ": x=" << Hex(xs[i]) << " y=" << Hex(ys[i])
                      << " z=" << Hex(zs[i]) << " got " << Hex(left) << " expected " << Hex(right);
        break;
      }
    }
  }
}

}  // namespace intent::cpu
