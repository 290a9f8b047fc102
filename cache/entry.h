#pragma once

// Cache entries: what a key stands for, in the one format that memory, disk and remote tiers share.
//
//   entry    := magic version preimage payloads digest        integers are little endian
//   magic    := "INTENT\xCA\xE5"
//   version  := 1:u32
//   preimage := size:u64 bytes                   the key's preimage (key.h), compared on every hit
//   payloads := count:u32 payload*count          at most kMaxPayloads, names distinct
//   payload  := size:u32 name size:u64 bytes     name: 1 to kMaxNameBytes of [a-z0-9._-]
//   digest   := SHA-256 of everything before it
//
// Nothing may follow the digest, and one content has one encoding for a given order of payloads. A
// change to the grammar raises the version: older daemons then see a miss, never a misreading.
//
// An Entry is immutable and lives in a shared_ptr, so it may be read from any thread while stores
// drop it. It owns one buffer, its encoding; payloads are views into that buffer and die with the
// entry.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "cache/digest.h"
#include "cache/key.h"

namespace intent::cache {

struct Payload {
  std::string_view name;  // "manifest", "object", "kir", "diagnostics" …
  std::string_view bytes;
};

class Entry {
 public:
  static constexpr size_t kMaxPayloads = 64;
  static constexpr size_t kMaxNameBytes = 64;
  static constexpr uint64_t kMaxBytes = uint64_t{1} << 30;  // of the encoding

  // Encodes `payloads`, which are copied, for `key`. InvalidArgument for a bad or repeated name or
  // too many payloads, ResourceExhausted when the encoding would be larger than kMaxBytes.
  static absl::StatusOr<std::shared_ptr<const Entry>> Make(const Key& key,
                                                           std::span<const Payload> payloads);

  // The entry that `bytes` encodes. Total: any other bytes give DataLoss, without allocating more
  // than a small multiple of their size.
  static absl::StatusOr<std::shared_ptr<const Entry>> Decode(std::string bytes);

  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  const Digest& key_digest() const { return key_digest_; }
  std::string_view preimage() const { return preimage_; }

  // Whether this is the entry of `key`: the whole preimage is compared, not only the digest.
  bool IsFor(const Key& key) const { return preimage_ == key.preimage; }

  std::span<const Payload> payloads() const { return payloads_; }

  // The bytes of the payload called `name`; nullopt when there is none.
  std::optional<std::string_view> Find(std::string_view name) const;

  // The encoding.
  std::string_view bytes() const { return bytes_; }

  // What the entry occupies in memory, its own bookkeeping included.
  uint64_t MemoryBytes() const;

 private:
  explicit Entry(std::string bytes) : bytes_(std::move(bytes)) {}

  absl::Status Parse();

  const std::string bytes_;
  std::string_view preimage_;
  Digest key_digest_;
  std::vector<Payload> payloads_;
};

}  // namespace intent::cache
