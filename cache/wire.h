#pragma once

// Little-endian integers and length-checked reads for the formats of key.h and entry.h.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace intent::cache::wire {

template <typename Int>
void Append(std::string& out, Int value) {
  for (size_t i = 0; i < sizeof(Int); ++i) {
    out.push_back(static_cast<char>(static_cast<uint8_t>(value >> (8 * i))));
  }
}

// Reads from the front of a string that it does not own. A read past the end returns zero or
// nothing, reads nothing more from then on and leaves ok() false, so that callers check once per
// record.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  bool empty() const { return rest_.empty(); }
  size_t remaining() const { return rest_.size(); }

  std::string_view Bytes(uint64_t size) {
    if (size > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }

  template <typename Int>
  Int Integer() {
    Int value = 0;
    const std::string_view bytes = Bytes(sizeof(Int));
    for (size_t i = 0; i < bytes.size(); ++i) {
      value |= static_cast<Int>(static_cast<Int>(static_cast<uint8_t>(bytes[i])) << (8 * i));
    }
    return value;
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace intent::cache::wire
