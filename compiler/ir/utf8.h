#pragma once

// UTF-8 as wire strings demand it (RFC 3629). Thread-safe.

#include <cstddef>
#include <string>
#include <string_view>

namespace intent {

// Bytes of the character that `text` begins with; 0 if they are not valid UTF-8 (or none).
size_t Utf8Length(std::string_view text);

bool IsUtf8(std::string_view text);

// `text` with every byte that is not part of a valid character replaced by '?'.
std::string ValidUtf8(std::string_view text);

}  // namespace intent
