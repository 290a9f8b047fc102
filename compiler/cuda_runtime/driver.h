#pragma once

// The CUDA driver API, opened at run time.
//
// libcuda.so.1 comes with the GPU's driver, so a host without one has no such file: everything here
// builds and starts there too, and GetDriver says what is missing. What is used of the API is
// declared in driver_functions.def; no header of the toolkit is needed.
//
// A process that forked after GetDriver cannot use CUDA in its child. Thread-safe.

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace intent::gpu {

using Result = int;  // CUresult
using DevicePointer = uint64_t;
using Context = struct ContextTag*;
using Module = struct ModuleTag*;
using Function = struct FunctionTag*;
using Stream = struct StreamTag*;
using Event = struct EventTag*;
struct Uuid {
  unsigned char bytes[16];
};

inline constexpr Result kSuccess = 0;
inline constexpr Result kOutOfMemory = 2;
inline constexpr Result kDeinitialized = 4;  // the process is ending
inline constexpr Result kIllegalAddress = 700;
inline constexpr Result kLaunchTimeout = 702;

// The stream that null stands for, by a handle that can be told from null.
inline const Stream kLegacyStream = reinterpret_cast<Stream>(1);
inline constexpr unsigned kNonBlockingStream = 1;
inline constexpr unsigned kEventWithoutTiming = 2;
inline constexpr unsigned kHostMemoryPortable = 1;
inline constexpr unsigned kHostMemoryMapped = 2;

// Of DeviceGetAttribute.
inline constexpr int kMultiprocessorCount = 16;
inline constexpr int kComputeMajor = 75;
inline constexpr int kComputeMinor = 76;
inline constexpr int kCooperativeLaunch = 95;
inline constexpr int kSharedBytesOptIn = 97;
// Of FuncSetAttribute.
inline constexpr int kMaxDynamicSharedBytes = 8;
// Of PointerGetAttribute.
inline constexpr int kPointerDevice = 9;

struct Driver {
#define FUNCTION(name, symbol, parameters) Result(*name) parameters = nullptr;
#include "compiler/cuda_runtime/driver_functions.def"
  int version = 0;  // 12040: CUDA 12.4
};

// Opens the driver at the first call. FailedPrecondition, and the same at every later call, when
// there is no driver, it is too old, or it finds no device it can use.
absl::StatusOr<const Driver*> GetDriver();

// Of a result of the driver `GetDriver` gave. `action` completes "cannot ...".
//   ResourceExhausted    out of the device's memory
//   FailedPrecondition   the code does not fit the device or the driver
//   Aborted              the process's context on the device is lost: an illegal access and the
//                        like, by this or an earlier kernel. Nothing works in it any more
//   Internal             everything else
absl::Status ToStatus(Result result, const char* action);

// Whether every further call on the device will fail in this process.
bool IsContextLost(Result result);

}  // namespace intent::gpu
