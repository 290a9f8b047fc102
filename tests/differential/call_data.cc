#include "tests/differential/call_data.h"

#include <algorithm>
#include <cstring>

#include "compiler/numerics/scalar.h"

namespace intent::testing {
namespace {

constexpr int64_t kMargin = 2;

std::vector<int64_t> DenseStrides(const std::vector<int64_t>& extents) {
  std::vector<int64_t> strides(extents.size(), 1);
  for (size_t axis = extents.size(); axis-- > 1;) {
    strides[axis - 1] = strides[axis] * std::max<int64_t>(extents[axis], 1);
  }
  return strides;
}

// A dense view of these extents with the elements that `from` has at the same coordinates.
void AppendView(CallData* data, const std::vector<int64_t>& extents, const ViewPlace& from,
                const Allocation& source) {
  ViewPlace place = {data->allocations.size(), kMargin, extents, DenseStrides(extents)};
  const int64_t size = StorageBytes(source.dtype), count = ElementCount(place);
  Allocation allocation = {source.dtype, {}, source.tolerance};
  allocation.bytes.resize(static_cast<size_t>((count + 2 * kMargin) * size));
  const ScalarValue one = IsFloat(source.dtype) ? numerics::MakeFloat(source.dtype, 1)
                                                : numerics::MakeInteger(source.dtype, 1);
  for (int64_t i = 0; i < count; ++i) {
    uint8_t* target = allocation.bytes.data() + (kMargin + i) * size;
    int64_t rest = i, element = from.offset;
    bool inside = true;
    for (size_t axis = extents.size(); axis-- > 0;) {
      const int64_t at = rest % extents[axis];
      inside = inside && at < from.extents[axis];
      element += at * from.strides[axis];
      rest /= extents[axis];
    }
    if (inside) {
      std::memcpy(target, source.bytes.data() + element * size, static_cast<size_t>(size));
    } else {
      numerics::StoreScalar(one, target);
    }
  }
  data->views.push_back(std::move(place));
  data->allocations.push_back(std::move(allocation));
}

}  // namespace

int64_t ElementCount(const ViewPlace& place) {
  int64_t count = 1;
  for (const int64_t extent : place.extents) count *= extent;
  return count;
}

int64_t ElementAt(const ViewPlace& place, int64_t linear) {
  int64_t element = place.offset;
  for (size_t axis = place.extents.size(); axis-- > 0;) {
    element += linear % place.extents[axis] * place.strides[axis];
    linear /= place.extents[axis];
  }
  return element;
}

std::map<uint32_t, int64_t> SymbolsOf(const Function& kernel, const CallData& data) {
  std::map<uint32_t, int64_t> symbols;
  size_t view = 0;
  for (const Parameter& parameter : kernel.parameters) {
    if (!parameter.type.IsView()) continue;
    const ViewPlace& place = data.views[view++];
    for (size_t axis = 0; axis < place.extents.size(); ++axis) {
      const Extent& extent = parameter.type.shape()[axis];
      extent.ForEachLeaf([&](AtomKind kind, uint32_t index) {
        if (kind == AtomKind::kSymbol && extent == Extent::Symbol(index)) {
          symbols[index] = place.extents[axis];
        }
      });
    }
  }
  return symbols;
}

CallData Densified(const CallData& data) {
  CallData result;
  result.scalars = data.scalars;
  for (size_t view = 0; view < data.views.size(); ++view) {
    const ViewPlace& place = data.views[view];
    AppendView(&result, place.extents, place, data.allocations[place.allocation]);
  }
  return result;
}

std::optional<CallData> Resized(const Function& kernel, const CallData& data,
                                const std::map<uint32_t, int64_t>& symbols) {
  CallData result;
  result.scalars = data.scalars;
  size_t view = 0;
  for (const Parameter& parameter : kernel.parameters) {
    if (!parameter.type.IsView()) continue;
    const ViewPlace& place = data.views[view++];
    std::vector<int64_t> extents;
    for (const Extent& extent : parameter.type.shape()) {
      const auto value = extent.Evaluate([&](AtomKind kind, uint32_t index) {
        const auto found = symbols.find(index);
        return kind == AtomKind::kSymbol && found != symbols.end()
                   ? std::optional<int64_t>(found->second)
                   : std::nullopt;
      });
      if (!value || *value < 0) return std::nullopt;
      extents.push_back(*value);
    }
    AppendView(&result, extents, place, data.allocations[place.allocation]);
  }
  return result;
}

}  // namespace intent::testing
