#pragma once

#include <cstdint>

namespace intent {

// Raised with every change of worker.proto; front process and workers of different versions part at
// the hello.
inline constexpr uint32_t kFrameVersion = 2;

}  // namespace intent
