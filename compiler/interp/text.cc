#include "compiler/interp/text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "compiler/interp/strided.h"
#include "compiler/numerics/scalar.h"

namespace intent::interp {
namespace {

constexpr int64_t kShown = 6;  // elements of a tensor in a message

// Coordinates of an element by its offset, largest stride first. Where strides overlap this names
// one of the coordinates that meet there, or none.
bool FindCoordinates(const Resource& resource, int64_t offset, Shape* coordinates) {
  std::vector<size_t> order(resource.extents.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto reach = [&](size_t axis) {
    const __int128 stride = resource.strides[axis];
    return stride < 0 ? -stride : stride;
  };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return reach(a) > reach(b); });
  coordinates->assign(resource.extents.size(), 0);
  __int128 rest = offset;
  for (size_t axis : order) {
    if (resource.strides[axis] < 0) rest += reach(axis) * (resource.extents[axis] - 1);
  }
  for (size_t axis : order) {
    if (reach(axis) == 0) continue;
    const __int128 steps = std::clamp<__int128>(rest / reach(axis), 0, resource.extents[axis] - 1);
    rest -= steps * reach(axis);
    const int64_t at = static_cast<int64_t>(steps);
    (*coordinates)[axis] = resource.strides[axis] < 0 ? resource.extents[axis] - 1 - at : at;
  }
  return rest == 0;
}

}  // namespace

std::string Text(__int128 value) {
  // Of the magnitude: the least value has no negative.
  unsigned __int128 magnitude = static_cast<unsigned __int128>(value);
  if (value < 0) magnitude = 0 - magnitude;
  std::string digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(magnitude % 10)));
    magnitude /= 10;
  } while (magnitude != 0);
  return value < 0 ? "-" + digits : digits;
}

std::string Text(const ScalarValue& value) {
  if (value.dtype == DType::kBool) return numerics::AsBool(value) ? "true" : "false";
  if (!IsFloat(value.dtype)) return Text(numerics::AsInteger(value));
  const double number = numerics::AsDouble(value);
  if (std::isnan(number)) return "nan";
  char text[40];
  std::snprintf(text, sizeof(text), "%.9g", number);
  return text;
}

std::string PlaceText(const Shape& shape, int64_t position) {
  Shape coordinates(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    coordinates[axis] = position % shape[axis];
    position /= shape[axis];
  }
  return ShapeText(coordinates);
}

std::string Shortened(std::span<const RuntimeValue> leaves) {
  std::string text;
  for (const RuntimeValue& leaf : leaves) {
    if (!text.empty()) text += ", ";
    if (leaf.IsScalar()) {
      text += Text(leaf.scalar());
      continue;
    }
    const Tensor& tensor = leaf.tensor();
    text += "[";
    for (int64_t i = 0; i < std::min(kShown, tensor.count()); ++i) {
      text += (i == 0 ? "" : ", ") + Text(tensor.At(i));
    }
    text += tensor.count() > kShown ? ", ...]" : "]";
  }
  return leaves.size() == 1 ? text : "(" + text + ")";
}

std::string OwnerText(const Resource& resource) {
  return resource.parameter >= 0 ? "parameter " + std::to_string(resource.parameter)
                                 : std::string("a buffer");
}

std::string ElementText(const Resource& resource, int64_t offset) {
  Shape coordinates;
  if (!FindCoordinates(resource, offset, &coordinates)) {
    return "the element at offset " + std::to_string(offset) + " of " + OwnerText(resource);
  }
  return "element " + ShapeText(coordinates) + " of " + OwnerText(resource);
}

}  // namespace intent::interp
