#pragma once

// The version of the wire protocol of this tree. A daemon serves its own minor version and the two
// before it; a new field or enum value raises the minor one.

#include <cstdint>

namespace intent {

inline constexpr uint32_t kProtocolMajor = 1;
inline constexpr uint32_t kProtocolMinor = 2;
inline constexpr uint32_t kOldestProtocolMinor = kProtocolMinor < 2 ? 0 : kProtocolMinor - 2;

}  // namespace intent
