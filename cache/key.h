#pragma once

// Cache keys: SHA-256 over tagged, length-prefixed fields.
//
// A key keeps its preimage, the bytes that were hashed. Stores put it beside the value and compare
// it on every hit, and Explain() prints it, so that two keys expected to be equal can be diffed.
//
//   preimage := field*                              integers are little endian
//   field    := type tag-size:u32 tag body
//   body     := size:u64 bytes                      type 'b', bytes in full
//             | size:u64 digest[32]                 type 'h', bytes too large to keep, by size and
//             SHA-256 | value:u64                           type 'u', an unsigned number
//
// The grammar can be parsed in one way only, so different fields never give equal preimages:
// neither a byte moved from one field to the next nor a number written as text makes two keys
// collide. The order of fields counts. By convention the first field is the kind of key and its
// version, for example AddBytes("kind", "request.1").
//
// Values are plain data; a KeyBuilder belongs to one thread.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "cache/digest.h"

namespace intent::cache {

struct Key {
  Digest digest;         // Digest::Of(preimage)
  std::string preimage;  // what was hashed

  static Key FromPreimage(std::string preimage);

  friend bool operator==(const Key&, const Key&) = default;
};

class KeyBuilder {
 public:
  // A field kept in full: for what a person wants to read in Explain().
  KeyBuilder& AddBytes(std::string_view tag, std::string_view bytes);

  // A field kept as size and SHA-256: for modules and other large inputs.
  KeyBuilder& AddHashed(std::string_view tag, std::string_view bytes);

  KeyBuilder& AddNumber(std::string_view tag, uint64_t value);

  // The key of all fields so far; the builder is empty afterwards.
  Key Build();

 private:
  void AddHeader(char type, std::string_view tag);

  std::string preimage_;
};

struct KeyField {
  enum class Type { kBytes, kHashed, kNumber };

  Type type = Type::kBytes;
  std::string_view tag;
  std::string_view bytes;  // kBytes only
  Digest digest;           // kHashed only
  uint64_t number = 0;     // kNumber: the value; otherwise the size in bytes of what was added
};

// The fields of a preimage, as views into it; InvalidArgument unless all of it follows the grammar.
absl::StatusOr<std::vector<KeyField>> ParsePreimage(std::string_view preimage);

// One line per field, in order, with what is not printable escaped and long bytes replaced by size
// and digest; ends with the key's digest. Of a preimage that KeyBuilder did not write, says so.
std::string Explain(const Key& key);

}  // namespace intent::cache
