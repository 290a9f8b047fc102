#pragma once

// SHA-256 digests, the names of everything in the cache.
//
// Digest is a value type, safe to copy and compare from any thread. Hasher belongs to one thread at
// a time. Neither can fail for reasons of the input; a failing OpenSSL is a broken invariant.

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

struct evp_md_ctx_st;

namespace intent::cache {

class Digest {
 public:
  static constexpr size_t kSize = 32;

  // All zero: the digest of nothing anybody has ever seen.
  Digest() = default;

  // SHA-256 of `bytes`.
  static Digest Of(std::string_view bytes);

  // The digest that `raw` spells out; InvalidArgument unless it is kSize bytes long.
  static absl::StatusOr<Digest> FromBytes(std::string_view raw);

  // Inverse of Hex(); InvalidArgument unless `hex` is 64 lower-case hexadecimal digits.
  static absl::StatusOr<Digest> FromHex(std::string_view hex);

  std::string Hex() const;
  std::string_view bytes() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }

  // The leading 64 bits, for tables that only need a well-spread number.
  uint64_t Prefix() const;

  friend auto operator<=>(const Digest&, const Digest&) = default;

  template <typename H>
  friend H AbslHashValue(H state, const Digest& digest) {
    return H::combine(std::move(state), digest.Prefix());
  }

 private:
  friend class Hasher;
  std::array<uint8_t, kSize> bytes_{};
};

// SHA-256 of a sequence of pieces; equal to Digest::Of of their concatenation.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  void Update(std::string_view bytes);

  // The digest of all pieces so far; the hasher then starts anew.
  Digest Finish();

 private:
  evp_md_ctx_st* context_;
};

}  // namespace intent::cache
