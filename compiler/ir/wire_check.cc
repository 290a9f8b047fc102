#include "compiler/ir/wire_check.h"

#include <string>

#include "compiler/ir/utf8.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/unknown_field_set.h"
#include "google/protobuf/wire_format_lite.h"

namespace intent::wire {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

Diagnostic Error(DiagnosticCode code, std::string message) {
  return Diagnostic{.code = code, .message = std::move(message)};
}

WireFormatLite::WireType WireTypeOf(const FieldDescriptor* field) {
  return WireFormatLite::WireTypeForFieldType(
      static_cast<WireFormatLite::FieldType>(static_cast<int>(field->type())));
}

class Scanner {
 public:
  Scanner(std::string_view bytes, const WireLimits& limits)
      : bytes_(bytes),
        stream_(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size())),
        limits_(limits),
        counts_(limits.repeated.size(), 0) {}

  // Recursion is as deep as the schema, which is not recursive.
  std::optional<Diagnostic> Scan(const Descriptor* descriptor) {
    for (;;) {
      const uint32_t tag = stream_.ReadTag();
      if (tag == 0) {
        if (stream_.ConsumedEntireMessage() || stream_.BytesUntilLimit() == 0) return std::nullopt;
        return Malformed(descriptor);
      }
      if (std::optional<Diagnostic> error = ScanField(descriptor, tag)) return error;
    }
  }

 private:
  static Diagnostic Malformed(const Descriptor* descriptor) {
    return Error(DiagnosticCode::kMalformedModule,
                 "broken encoding of a message " + std::string(descriptor->name()));
  }

  std::optional<Diagnostic> ScanField(const Descriptor* descriptor, uint32_t tag) {
    const int number = WireFormatLite::GetTagFieldNumber(tag);
    const auto type = WireFormatLite::GetTagWireType(tag);
    const FieldDescriptor* field = descriptor->FindFieldByNumber(number);
    const bool packed = field != nullptr && field->is_packable() &&
                        type == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    if (field == nullptr || (type != WireTypeOf(field) && !packed)) {
      return Error(DiagnosticCode::kUnknownField,
                   "field " + std::to_string(number) + " of message " +
                       std::string(descriptor->name()) + " is not known, or not in this form");
    }
    if (!packed && field->is_repeated()) {
      if (std::optional<Diagnostic> error = Count(descriptor, field)) return error;
    }
    switch (type) {
      case WireFormatLite::WIRETYPE_VARINT: {
        uint64_t value;
        if (!stream_.ReadVarint64(&value)) return Malformed(descriptor);
        return std::nullopt;
      }
      case WireFormatLite::WIRETYPE_FIXED64: {
        uint64_t value;
        if (!stream_.ReadLittleEndian64(&value)) return Malformed(descriptor);
        return std::nullopt;
      }
      case WireFormatLite::WIRETYPE_FIXED32: {
        uint32_t value;
        if (!stream_.ReadLittleEndian32(&value)) return Malformed(descriptor);
        return std::nullopt;
      }
      case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
        return ScanDelimited(descriptor, field, packed);
      case WireFormatLite::WIRETYPE_START_GROUP:
      case WireFormatLite::WIRETYPE_END_GROUP:
        break;
    }
    return Malformed(descriptor);
  }

  std::optional<Diagnostic> ScanDelimited(const Descriptor* descriptor,
                                          const FieldDescriptor* field, bool packed) {
    uint32_t size;
    if (!stream_.ReadVarint32(&size)) return Malformed(descriptor);
    const int room = stream_.BytesUntilLimit();
    const bool fits = size <= limits_.bytes && (room < 0 || static_cast<int64_t>(size) <= room);
    if (!fits) return Malformed(descriptor);
    if (!packed && ++objects_ > limits_.objects) {
      return Error(DiagnosticCode::kLimit,
                   "more than " + std::to_string(limits_.objects) + " messages and strings");
    }
    if (packed || field->type() != FieldDescriptor::TYPE_MESSAGE) {
      // The parser would refuse it too, and write to the log.
      const size_t position = static_cast<size_t>(stream_.CurrentPosition());
      if (!stream_.Skip(static_cast<int>(size))) return Malformed(descriptor);
      if (!packed && field->type() == FieldDescriptor::TYPE_STRING &&
          !IsUtf8(bytes_.substr(position, size))) {
        return Error(DiagnosticCode::kMalformedModule,
                     "a string of message " + std::string(descriptor->name()) + " is not UTF-8");
      }
      return std::nullopt;
    }
    const CodedInputStream::Limit limit = stream_.PushLimit(static_cast<int>(size));
    if (std::optional<Diagnostic> error = Scan(field->message_type())) return error;
    if (stream_.BytesUntilLimit() != 0) return Malformed(field->message_type());
    stream_.PopLimit(limit);
    return std::nullopt;
  }

  std::optional<Diagnostic> Count(const Descriptor* descriptor, const FieldDescriptor* field) {
    for (size_t i = 0; i < counts_.size(); ++i) {
      const WireLimits::Repeated& limit = limits_.repeated[i];
      if (limit.message != descriptor || limit.field != field->number()) continue;
      if (++counts_[i] > limit.count) {
        return Error(DiagnosticCode::kLimit,
                     "more than " + std::to_string(limit.count) + " " + std::string(field->name()));
      }
    }
    return std::nullopt;
  }

  const std::string_view bytes_;
  CodedInputStream stream_;
  const WireLimits& limits_;
  size_t objects_ = 0;
  std::vector<size_t> counts_;
};

std::optional<Diagnostic> CheckEnum(const FieldDescriptor* field, int number) {
  if (field->enum_type()->FindValueByNumber(number) != nullptr) return std::nullopt;
  return Error(DiagnosticCode::kUnknownField,
               std::string(field->enum_type()->name()) + " has no value " + std::to_string(number));
}

}  // namespace

std::optional<Diagnostic> ScanWire(std::string_view bytes, const Descriptor* descriptor,
                                   const WireLimits& limits) {
  if (bytes.size() > limits.bytes) {
    return Error(DiagnosticCode::kLimit, std::to_string(bytes.size()) + " bytes, at most " +
                                             std::to_string(limits.bytes) + " are read");
  }
  return Scanner(bytes, limits).Scan(descriptor);
}

std::optional<Diagnostic> FindUnknown(const Message& message) {
  const Reflection* reflection = message.GetReflection();
  if (!reflection->GetUnknownFields(message).empty()) {
    const int number = reflection->GetUnknownFields(message).field(0).number();
    return Error(DiagnosticCode::kUnknownField, "field " + std::to_string(number) + " of message " +
                                                    message.GetDescriptor()->name() +
                                                    " is not known");
  }
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const bool is_enum = field->type() == FieldDescriptor::TYPE_ENUM;
    const bool is_message = field->type() == FieldDescriptor::TYPE_MESSAGE;
    const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count && (is_enum || is_message); ++i) {
      std::optional<Diagnostic> error;
      if (is_enum) {
        error = CheckEnum(field, field->is_repeated()
                                     ? reflection->GetRepeatedEnumValue(message, field, i)
                                     : reflection->GetEnumValue(message, field));
      } else {
        error = FindUnknown(field->is_repeated() ? reflection->GetRepeatedMessage(message, field, i)
                                                 : reflection->GetMessage(message, field));
      }
      if (error) return error;
    }
  }
  return std::nullopt;
}

}  // namespace intent::wire
