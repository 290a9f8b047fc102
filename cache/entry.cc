#include "cache/entry.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cache/wire.h"

namespace intent::cache {
namespace {

constexpr std::string_view kMagic("INTENT\xCA\xE5", 8);
constexpr uint32_t kVersion = 1;

bool IsName(std::string_view name) {
  if (name.empty() || name.size() > Entry::kMaxNameBytes) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  });
}

bool Contains(std::span<const Payload> payloads, std::string_view name) {
  return std::any_of(payloads.begin(), payloads.end(),
                     [&](const Payload& payload) { return payload.name == name; });
}

absl::Status CheckPayloads(std::span<const Payload> payloads) {
  if (payloads.size() > Entry::kMaxPayloads) {
    return absl::InvalidArgumentError(absl::StrCat("an entry has at most ", Entry::kMaxPayloads,
                                                   " payloads, not ", payloads.size()));
  }
  for (size_t i = 0; i < payloads.size(); ++i) {
    const std::string name(payloads[i].name);
    if (!IsName(name)) return absl::InvalidArgumentError("a payload's name is malformed");
    if (Contains(payloads.first(i), name)) {
      return absl::InvalidArgumentError(absl::StrCat("two payloads are called ", name));
    }
  }
  return absl::OkStatus();
}

// Saturates just above the limit, so that sizes from anywhere cannot overflow the sum.
uint64_t EncodedSize(std::string_view preimage, std::span<const Payload> payloads) {
  uint64_t size =
      kMagic.size() + sizeof(uint32_t) + sizeof(uint64_t) + sizeof(uint32_t) + Digest::kSize;
  const auto add = [&size](uint64_t more) {
    size = more > Entry::kMaxBytes ? Entry::kMaxBytes + 1
                                   : std::min(size + more, Entry::kMaxBytes + 1);
  };
  add(preimage.size());
  for (const Payload& payload : payloads) {
    add(sizeof(uint32_t) + payload.name.size() + sizeof(uint64_t));
    add(payload.bytes.size());
  }
  return size;
}

absl::Status Damaged(std::string_view what) {
  return absl::DataLossError(absl::StrCat("damaged cache entry: ", std::string(what)));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Entry>> Entry::Make(const Key& key,
                                                         std::span<const Payload> payloads) {
  if (absl::Status status = CheckPayloads(payloads); !status.ok()) return status;
  const uint64_t size = EncodedSize(key.preimage, payloads);
  if (size > kMaxBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a cache entry is at most ", kMaxBytes, " bytes"));
  }

  std::string bytes;
  bytes.reserve(size);
  bytes.append(kMagic);
  wire::Append<uint32_t>(bytes, kVersion);
  wire::Append<uint64_t>(bytes, key.preimage.size());
  bytes.append(key.preimage);
  wire::Append<uint32_t>(bytes, static_cast<uint32_t>(payloads.size()));
  for (const Payload& payload : payloads) {
    wire::Append<uint32_t>(bytes, static_cast<uint32_t>(payload.name.size()));
    bytes.append(payload.name);
    wire::Append<uint64_t>(bytes, payload.bytes.size());
    bytes.append(payload.bytes);
  }
  bytes.append(Digest::Of(bytes).bytes());

  return Decode(std::move(bytes));
}

absl::StatusOr<std::shared_ptr<const Entry>> Entry::Decode(std::string bytes) {
  std::shared_ptr<Entry> entry(new Entry(std::move(bytes)));
  if (absl::Status status = entry->Parse(); !status.ok()) return status;
  return entry;
}

absl::Status Entry::Parse() {
  if (bytes_.size() > kMaxBytes) return Damaged("larger than any entry");
  wire::Reader reader(bytes_);
  if (reader.Bytes(kMagic.size()) != kMagic) return Damaged("no magic");
  if (reader.Integer<uint32_t>() != kVersion) return Damaged("of another format version");
  if (reader.remaining() < Digest::kSize) return Damaged("ends early");

  const std::string_view body(bytes_.data(), bytes_.size() - Digest::kSize);
  if (Digest::Of(body).bytes() != std::string_view(bytes_).substr(body.size())) {
    return Damaged("its digest does not match");
  }

  preimage_ = reader.Bytes(reader.Integer<uint64_t>());
  const uint32_t count = reader.Integer<uint32_t>();
  if (count > kMaxPayloads) return Damaged("too many payloads");
  payloads_.reserve(count);
  for (uint32_t i = 0; i < count && reader.ok(); ++i) {
    Payload payload;
    payload.name = reader.Bytes(reader.Integer<uint32_t>());
    payload.bytes = reader.Bytes(reader.Integer<uint64_t>());
    payloads_.push_back(payload);
  }
  if (!reader.ok() || reader.remaining() != Digest::kSize) return Damaged("sizes do not add up");
  if (!CheckPayloads(payloads_).ok()) return Damaged("malformed payload names");
  key_digest_ = Digest::Of(preimage_);
  return absl::OkStatus();
}

std::optional<std::string_view> Entry::Find(std::string_view name) const {
  for (const Payload& payload : payloads_) {
    if (payload.name == name) return payload.bytes;
  }
  return std::nullopt;
}

uint64_t Entry::MemoryBytes() const {
  return sizeof(Entry) + bytes_.capacity() + payloads_.capacity() * sizeof(Payload);
}

}  // namespace intent::cache
