#include "client/cpp/intentc/bindings.h"

#include <algorithm>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace intent::client {
namespace {

std::optional<uint32_t> Find(const Module& module, const SourceMap& map, const std::string& name) {
  const std::vector<std::string>& names = map.constexpr_names;
  uint32_t position = std::find(names.begin(), names.end(), name) - names.begin();
  if (position == names.size() && !absl::SimpleAtoi(name, &position)) return std::nullopt;
  if (position >= module.constexprs.size()) return std::nullopt;
  return position;
}

const char* KindName(ConstexprKind kind) {
  switch (kind) {
    case ConstexprKind::kInt:
      return "integer";
    case ConstexprKind::kFloat:
      return "number";
    case ConstexprKind::kBool:
      return "bool (true or false)";
    case ConstexprKind::kEnum:
      return "member of its enum";
  }
  return "value";
}

std::optional<int64_t> EnumMember(const std::string& text, uint32_t type, const Module& module,
                                  const SourceMap& map) {
  const std::vector<int64_t>& values = module.enums[type].values;
  if (type < map.enum_member_names.size()) {
    const std::vector<std::string>& names = map.enum_member_names[type];
    const size_t position = std::find(names.begin(), names.end(), text) - names.begin();
    if (position < names.size() && position < values.size()) return values[position];
  }
  int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value)) return std::nullopt;
  return std::find(values.begin(), values.end(), value) != values.end() ? std::optional(value)
                                                                        : std::nullopt;
}

std::optional<ConstexprValue> ParseValue(const std::string& text,
                                         const ConstexprParameter& parameter, const Module& module,
                                         const SourceMap& map) {
  ConstexprValue value;
  value.kind = parameter.kind;
  value.enum_type = parameter.enum_type;
  bool ok = false;
  switch (parameter.kind) {
    case ConstexprKind::kInt:
      ok = absl::SimpleAtoi(text, &value.int_value);
      break;
    case ConstexprKind::kFloat:
      ok = absl::SimpleAtod(text, &value.float_value);
      break;
    case ConstexprKind::kBool:
      ok = text == "true" || text == "false";
      value.int_value = text == "true";
      break;
    case ConstexprKind::kEnum:
      if (parameter.enum_type >= module.enums.size()) break;
      if (const auto member = EnumMember(text, parameter.enum_type, module, map)) {
        ok = true;
        value.int_value = *member;
      }
      break;
  }
  return ok ? std::optional(value) : std::nullopt;
}

}  // namespace

absl::StatusOr<std::vector<Binding>> ParseBindings(
    const Module& module, const SourceMap& map, const std::map<std::string, std::string>& flags) {
  std::vector<Binding> bindings;
  for (const auto& [name, text] : flags) {
    const std::optional<uint32_t> position = Find(module, map, name);
    if (!position.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "there is no constexpr ", name, "; the module has ", module.constexprs.size()));
    }
    const ConstexprParameter& parameter = module.constexprs[*position];
    const std::optional<ConstexprValue> value = ParseValue(text, parameter, module, map);
    if (!value.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("constexpr ", name, ": '", text, "' is no ", KindName(parameter.kind)));
    }
    bindings.push_back({*position, *value});
  }
  std::sort(bindings.begin(), bindings.end(),
            [](const Binding& a, const Binding& b) { return a.parameter < b.parameter; });
  const auto twice = std::adjacent_find(
      bindings.begin(), bindings.end(),
      [](const Binding& a, const Binding& b) { return a.parameter == b.parameter; });
  if (twice != bindings.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("constexpr ", twice->parameter, " is given by name and by position"));
  }
  return bindings;
}

std::vector<compile::v1::Binding> ToWire(const std::vector<Binding>& bindings) {
  std::vector<compile::v1::Binding> result;
  for (const Binding& binding : bindings) {
    compile::v1::Binding& wire = result.emplace_back();
    wire.set_parameter(binding.parameter);
    switch (binding.value.kind) {
      case ConstexprKind::kInt:
        wire.set_int_value(binding.value.int_value);
        break;
      case ConstexprKind::kFloat:
        wire.set_float_value(binding.value.float_value);
        break;
      case ConstexprKind::kBool:
        wire.set_bool_value(binding.value.int_value != 0);
        break;
      case ConstexprKind::kEnum:
        wire.mutable_enum_value()->set_enum_type(binding.value.enum_type);
        wire.mutable_enum_value()->set_value(binding.value.int_value);
        break;
    }
  }
  return result;
}

}  // namespace intent::client
