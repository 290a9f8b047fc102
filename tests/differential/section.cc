#include "tests/differential/section.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "compiler/ir/print.h"
#include "compiler/numerics/scalar.h"
#include "tests/differential/call_data.h"

namespace intent::testing {
namespace {

std::string Number(const ScalarValue& value) {
  if (value.dtype == DType::kBool) return numerics::AsBool(value) ? "1" : "0";
  char text[64];
  if (!IsFloat(value.dtype)) {
    const __int128 number = numerics::AsInteger(value);
    if (number > INT64_MAX) {
      std::snprintf(text, sizeof text, "%llu", static_cast<unsigned long long>(number));
    } else {
      std::snprintf(text, sizeof text, "%lld", static_cast<long long>(number));
    }
    return text;
  }
  const double number = numerics::AsDouble(value);
  if (std::isnan(number)) return "nan";
  std::snprintf(text, sizeof text, "%.17g", number);
  return text;
}

std::string Elements(const Allocation& allocation, const ViewPlace& place) {
  std::string text;
  const int64_t size = StorageBytes(allocation.dtype);
  const int64_t count = ElementCount(place);
  for (int64_t i = 0; i < count; ++i) {
    text += " " + Number(numerics::LoadScalar(
                      allocation.dtype, allocation.bytes.data() + ElementAt(place, i) * size));
  }
  return text;
}

bool IsDense(const ViewPlace& place) {
  int64_t running = 1;
  for (size_t axis = place.extents.size(); axis-- > 0;) {
    if (place.strides[axis] != running) return false;
    running *= std::max<int64_t>(place.extents[axis], 1);
  }
  return true;
}

}  // namespace

std::string SectionOf(const std::string& title, const std::string& remark, const Module& module,
                      const CallData& data) {
  std::string text = "// --- " + title + "\n";
  for (size_t at = 0; at < remark.size();) {
    const size_t end = std::min(remark.find('\n', at), remark.size());
    text += "// (" + remark.substr(at, end - at) + ")\n";
    at = end + 1;
  }
  text += PrintModule(module) + "// call";
  const Function& kernel = module.kernel_function();
  for (const auto& [symbol, value] : SymbolsOf(kernel, data)) {
    text += " s" + std::to_string(symbol) + "=" + std::to_string(value);
  }
  text += "\n";
  std::string error;
  const auto runnable = TestKernel::Make(module, &error);
  std::optional<Outcome> outcome;
  if (runnable != nullptr) outcome = runnable->Interpret(data);
  std::map<size_t, size_t> first;  // allocation -> the parameter that brings it
  std::map<size_t, int64_t> origin;
  size_t view = 0, scalar = 0;
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    const Type& type = kernel.parameters[i].type;
    const std::string number = std::to_string(i) + ":";
    if (!type.IsView()) {
      text += "// scalar " + number + " " + Number(data.scalars[scalar++]) + "\n";
      continue;
    }
    const ViewPlace& place = data.views[view++];
    if (!IsDense(place)) {
      text += "// strides " + number;
      for (const int64_t stride : place.strides) text += " " + std::to_string(stride);
      text += "\n";
    }
    const auto [known, fresh] = first.emplace(place.allocation, i);
    if (fresh) {
      origin[place.allocation] = place.offset;
    } else {
      const int64_t shift = place.offset - origin[place.allocation];
      text += "// place " + number + " like " + std::to_string(known->second) +
              (shift < 0 ? " " : " +") + std::to_string(shift) + "\n";
    }
    if (ElementCount(place) > 0) {
      text += "// data " + number + Elements(data.allocations[place.allocation], place) + "\n";
    }
    if (type.access() == Access::kIn || !outcome || outcome->failed) continue;
    const double tolerance = data.allocations[place.allocation].tolerance.relative;
    if (tolerance > 0) {
      char relative[32];
      std::snprintf(relative, sizeof relative, "%g", tolerance);
      text += "// tolerance " + number + " " + relative + "\n";
    }
    text += "// expect " + number + Elements(outcome->allocations[place.allocation], place) + "\n";
  }
  if (outcome && outcome->failed) text += "// fails\n";
  return text;
}

}  // namespace intent::testing
