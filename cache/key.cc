#include "cache/key.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "cache/wire.h"

namespace intent::cache {
namespace {

constexpr char kBytesType = 'b';
constexpr char kHashedType = 'h';
constexpr char kNumberType = 'u';

constexpr size_t kLongestExplained = 160;

std::string Escaped(std::string_view bytes) {
  return absl::CEscape(absl::string_view(bytes.data(), bytes.size()));
}

std::string ExplainHashed(uint64_t size, const Digest& digest) {
  return absl::StrCat(size, " bytes, sha256 ", digest.Hex());
}

std::string ExplainField(const KeyField& field) {
  switch (field.type) {
    case KeyField::Type::kNumber:
      return absl::StrCat(field.number);
    case KeyField::Type::kHashed:
      return ExplainHashed(field.number, field.digest);
    case KeyField::Type::kBytes:
      if (field.bytes.size() > kLongestExplained) {
        return ExplainHashed(field.bytes.size(), Digest::Of(field.bytes));
      }
      return absl::StrCat("\"", Escaped(field.bytes), "\"");
  }
  return {};
}

}  // namespace

Key Key::FromPreimage(std::string preimage) {
  Key key;
  key.digest = Digest::Of(preimage);
  key.preimage = std::move(preimage);
  return key;
}

void KeyBuilder::AddHeader(char type, std::string_view tag) {
  preimage_.push_back(type);
  wire::Append<uint32_t>(preimage_, static_cast<uint32_t>(tag.size()));
  preimage_.append(tag);
}

KeyBuilder& KeyBuilder::AddBytes(std::string_view tag, std::string_view bytes) {
  AddHeader(kBytesType, tag);
  wire::Append<uint64_t>(preimage_, bytes.size());
  preimage_.append(bytes);
  return *this;
}

KeyBuilder& KeyBuilder::AddHashed(std::string_view tag, std::string_view bytes) {
  AddHeader(kHashedType, tag);
  wire::Append<uint64_t>(preimage_, bytes.size());
  preimage_.append(Digest::Of(bytes).bytes());
  return *this;
}

KeyBuilder& KeyBuilder::AddNumber(std::string_view tag, uint64_t value) {
  AddHeader(kNumberType, tag);
  wire::Append<uint64_t>(preimage_, value);
  return *this;
}

Key KeyBuilder::Build() { return Key::FromPreimage(std::exchange(preimage_, {})); }

absl::StatusOr<std::vector<KeyField>> ParsePreimage(std::string_view preimage) {
  std::vector<KeyField> fields;
  wire::Reader reader(preimage);
  while (!reader.empty()) {
    KeyField field;
    const char type = reader.Bytes(1).front();
    field.tag = reader.Bytes(reader.Integer<uint32_t>());
    field.number = reader.Integer<uint64_t>();
    if (type == kBytesType) {
      field.type = KeyField::Type::kBytes;
      field.bytes = reader.Bytes(field.number);
    } else if (type == kHashedType) {
      field.type = KeyField::Type::kHashed;
      const absl::StatusOr<Digest> digest = Digest::FromBytes(reader.Bytes(Digest::kSize));
      if (digest.ok()) field.digest = *digest;
    } else if (type == kNumberType) {
      field.type = KeyField::Type::kNumber;
    } else {
      return absl::InvalidArgumentError("a key field of unknown type");
    }
    if (!reader.ok()) return absl::InvalidArgumentError("a key field ends early");
    fields.push_back(field);
  }
  return fields;
}

std::string Explain(const Key& key) {
  std::string text;
  const absl::StatusOr<std::vector<KeyField>> fields = ParsePreimage(key.preimage);
  if (fields.ok()) {
    for (const KeyField& field : *fields) {
      absl::StrAppend(&text, Escaped(field.tag), ": ", ExplainField(field), "\n");
    }
  } else {
    absl::StrAppend(&text, "not a list of fields: ",
                    ExplainHashed(key.preimage.size(), Digest::Of(key.preimage)), "\n");
  }
  absl::StrAppend(&text, "key: ", key.digest.Hex(), "\n");
  return text;
}

}  // namespace intent::cache
