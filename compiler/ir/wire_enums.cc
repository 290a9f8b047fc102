#include "compiler/ir/wire_enums.h"

#include <cctype>
#include <string>

#include "compiler/diag/check.h"

namespace intent::wire {

EnumTable::EnumTable(EnumInfo info, std::span<const std::string_view> names) {
  for (std::string_view name : names) {
    std::string wire_name(info.prefix);
    for (char c : name) wire_name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const auto* value = info.descriptor->FindValueByName(wire_name);
    INTENT_CHECK(value != nullptr) << "kir.proto has no " << wire_name;
    const size_t number = static_cast<size_t>(value->number());
    if (from_wire_.size() <= number) from_wire_.resize(number + 1, -1);
    from_wire_[number] = static_cast<int>(to_wire_.size());
    to_wire_.push_back(value->number());
  }
}

std::optional<size_t> EnumTable::FromWire(int number) const {
  if (number < 0 || static_cast<size_t>(number) >= from_wire_.size()) return std::nullopt;
  if (from_wire_[number] < 0) return std::nullopt;
  return static_cast<size_t>(from_wire_[number]);
}

}  // namespace intent::wire
