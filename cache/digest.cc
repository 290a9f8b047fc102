#include "cache/digest.h"

#include <openssl/evp.h>

#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "compiler/diag/check.h"

namespace intent::cache {
namespace {

// Fetched once: OpenSSL 3 otherwise searches its providers again for every digest.
const EVP_MD* Sha256() {
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  INTENT_CHECK(algorithm != nullptr) << "OpenSSL offers no SHA-256";
  return algorithm;
}

int NibbleOf(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

}  // namespace

Digest Digest::Of(std::string_view bytes) {
  Hasher hasher;
  hasher.Update(bytes);
  return hasher.Finish();
}

absl::StatusOr<Digest> Digest::FromBytes(std::string_view raw) {
  if (raw.size() != kSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("a digest has ", kSize, " bytes, not ", raw.size()));
  }
  Digest digest;
  std::memcpy(digest.bytes_.data(), raw.data(), kSize);
  return digest;
}

absl::StatusOr<Digest> Digest::FromHex(std::string_view hex) {
  if (hex.size() != 2 * kSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("a digest has ", 2 * kSize, " hexadecimal digits, not ", hex.size()));
  }
  Digest digest;
  for (size_t i = 0; i < kSize; ++i) {
    const int high = NibbleOf(hex[2 * i]);
    const int low = NibbleOf(hex[2 * i + 1]);
    if (high < 0 || low < 0) {
      return absl::InvalidArgumentError("a digest is written in lower-case hexadecimal digits");
    }
    digest.bytes_[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return digest;
}

std::string Digest::Hex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * kSize);
  for (const uint8_t byte : bytes_) {
    hex.push_back(kDigits[byte >> 4]);
    hex.push_back(kDigits[byte & 15]);
  }
  return hex;
}

uint64_t Digest::Prefix() const {
  uint64_t prefix;
  std::memcpy(&prefix, bytes_.data(), sizeof prefix);
  return prefix;
}

Hasher::Hasher() : context_(EVP_MD_CTX_new()) {
  INTENT_CHECK(context_ != nullptr && EVP_DigestInit_ex2(context_, Sha256(), nullptr) == 1);
}

Hasher::~Hasher() { EVP_MD_CTX_free(context_); }

void Hasher::Update(std::string_view bytes) {
  INTENT_CHECK(EVP_DigestUpdate(context_, bytes.data(), bytes.size()) == 1);
}

Digest Hasher::Finish() {
  Digest digest;
  INTENT_CHECK(EVP_DigestFinal_ex(context_, digest.bytes_.data(), nullptr) == 1);
  INTENT_CHECK(EVP_DigestInit_ex2(context_, Sha256(), nullptr) == 1);
  return digest;
}

}  // namespace intent::cache
