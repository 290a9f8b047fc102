#include "server/strict.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"

namespace intent {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

bool EnumsKnown(const Message& message, const Reflection& reflection,
                const FieldDescriptor& field) {
  const auto known = [&](int value) {
    return field.enum_type()->FindValueByNumber(value) != nullptr;
  };
  if (!field.is_repeated()) return known(reflection.GetEnumValue(message, &field));
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    if (!known(reflection.GetRepeatedEnumValue(message, &field, i))) return false;
  }
  return true;
}

}  // namespace

absl::Status CheckKnown(const Message& root) {
  std::vector<const Message*> pending = {&root};
  std::vector<const FieldDescriptor*> fields;
  while (!pending.empty()) {
    const Message& message = *pending.back();
    pending.pop_back();
    const Reflection& reflection = *message.GetReflection();
    if (!reflection.GetUnknownFields(message).empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(message.GetTypeName(), " has field ",
                       reflection.GetUnknownFields(message).field(0).number(),
                       ", which this version does not know"));
    }
    fields.clear();
    reflection.ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
        if (!EnumsKnown(message, reflection, *field)) {
          return absl::InvalidArgumentError(
              absl::StrCat(field->full_name(), " has a value that this version does not know"));
        }
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        if (!field->is_repeated()) {
          pending.push_back(&reflection.GetMessage(message, field));
          continue;
        }
        for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
          pending.push_back(&reflection.GetRepeatedMessage(message, field, i));
        }
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace intent
