// stats, config, capabilities: what a daemon says of itself, as text or JSON.

#include <google/protobuf/util/json_util.h>

#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cpp/intentc/commands.h"
#include "client/cpp/intentc/support.h"

namespace intent::client {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Of the kinds that admin.proto has: numbers, strings and lists of strings.
std::string FieldText(const Message& message, const FieldDescriptor& field);

// "name value" on a line each; messages as "name.field value".
std::string FieldsText(const Message& message, const std::string& prefix) {
  std::string text;
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    const std::string name = absl::StrCat(prefix, field.name());
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field.is_repeated()) {
      absl::StrAppend(&text, FieldsText(message.GetReflection()->GetMessage(message, &field),
                                        absl::StrCat(name, ".")));
    } else {
      absl::StrAppend(&text, name, " ", FieldText(message, field), "\n");
    }
  }
  return text;
}

std::string FieldText(const Message& message, const FieldDescriptor& field) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  if (field.is_repeated()) {
    std::vector<std::string> items;
    for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
      items.push_back(reflection.GetRepeatedString(message, &field, i));
    }
    return absl::StrJoin(items, " ");
  }
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT64:
      return absl::StrCat(reflection.GetUInt64(message, &field));
    case FieldDescriptor::CPPTYPE_UINT32:
      return absl::StrCat(reflection.GetUInt32(message, &field));
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.GetString(message, &field);
    default:
      return message.ShortDebugString();
  }
}

std::string Json(const Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string text;
  (void)google::protobuf::util::MessageToJsonString(message, &text, options);
  return text;
}

// Asks the daemon and prints the answer, as JSON or by `text`.
template <typename Response, typename Text>
int Show(const CommandOptions& options,
         absl::StatusOr<Response> (Client::*method)(const CallOptions&), const Text& text) {
  const absl::StatusOr<std::unique_ptr<Client>> client = ConnectTo(options);
  if (!client.ok()) return Fail(client.status());
  const absl::StatusOr<Response> response = ((**client).*method)(CallOptionsOf(options));
  if (!response.ok()) return Fail(response.status());
  std::fputs((options.json ? Json(*response) : text(*response)).c_str(), stdout);
  return 0;
}

}  // namespace

int StatsCommand(const CommandOptions& options) {
  return Show(options, &Client::Statistics,
              [](const admin::v1::Statistics& response) { return FieldsText(response, ""); });
}

int ConfigCommand(const CommandOptions& options) {
  return Show(options, &Client::Config, [](const admin::v1::Config& response) {
    std::string text;
    for (const admin::v1::Setting& setting : response.settings()) {
      absl::StrAppend(&text, setting.key(), " ", absl::StrJoin(setting.values(), " "), "\n");
    }
    return text;
  });
}

int CapabilitiesCommand(const CommandOptions& options) {
  return Show(options, &Client::Capabilities,
              [](const admin::v1::Capabilities& response) { return FieldsText(response, ""); });
}

}  // namespace intent::client
