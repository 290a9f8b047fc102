#include "compiler/cuda_runtime/driver.h"

#include <dlfcn.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace intent::gpu {
namespace {

constexpr char kLibrary[] = "libcuda.so.1";

absl::Status Open(Driver* driver) {
  // Never closed: the driver keeps threads and exit handlers.
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("this host has no CUDA driver: ", dlerror(),
                     "; install the NVIDIA driver, or give a container the GPU"));
  }
  std::string missing;
  const auto find = [&](const char* symbol, bool needed) {
    void* const address = dlsym(library, symbol);
    if (address == nullptr && needed)
      absl::StrAppend(&missing, missing.empty() ? "" : ", ", symbol);
    return address;
  };
#define FUNCTION(name, symbol, parameters) \
  driver->name = reinterpret_cast<Result(*) parameters>(find(#symbol, true));
#define OPTIONAL(name, symbol, parameters) \
  driver->name = reinterpret_cast<Result(*) parameters>(find(#symbol, false));
#include "compiler/cuda_runtime/driver_functions.def"
  if (!missing.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the CUDA driver is too old: it lacks ", missing, "; CUDA 11.4 is the least"));
  }
  return absl::OkStatus();
}

// In words, with name and number.
std::string Describe(const Driver& driver, Result result) {
  const char *name = nullptr, *text = nullptr;
  if (driver.GetErrorName(result, &name) != kSuccess || name == nullptr) name = "CUDA error";
  if (driver.GetErrorString(result, &text) != kSuccess || text == nullptr) text = "unknown";
  return absl::StrCat(text, " (", name, ", ", result, ")");
}

// The one driver of the process and what opening it gave.
struct Opened {
  Driver driver;
  absl::Status status;

  Opened() {
    status = Open(&driver);
    if (!status.ok()) return;
    if (const Result result = driver.Init(0); result != kSuccess) {
      status = absl::FailedPreconditionError(
          absl::StrCat("the CUDA driver finds nothing to run on: ", Describe(driver, result)));
      return;
    }
    driver.DriverGetVersion(&driver.version);
  }
};

const Opened& TheDriver() {
  static const Opened* const kOpened = new Opened;
  return *kOpened;
}

}  // namespace

absl::StatusOr<const Driver*> GetDriver() {
  const Opened& opened = TheDriver();
  if (!opened.status.ok()) return opened.status;
  return &opened.driver;
}

bool IsContextLost(Result result) {
  switch (result) {
    case 214:  // ECC_UNCORRECTABLE
    case 220:  // NVLINK_UNCORRECTABLE
    case 226:  // CONTAINED
    case kIllegalAddress:
    case kLaunchTimeout:
    case 709:  // CONTEXT_IS_DESTROYED
    case 710:  // ASSERT
    case 714:  // HARDWARE_STACK_ERROR
    case 715:  // ILLEGAL_INSTRUCTION
    case 716:  // MISALIGNED_ADDRESS
    case 717:  // INVALID_ADDRESS_SPACE
    case 718:  // INVALID_PC
    case 719:  // LAUNCH_FAILED
    case 721:  // TENSOR_MEMORY_LEAK
    case 806:  // MPS_RPC_FAILURE
    case 810:  // MPS_CLIENT_TERMINATED
    case 999:  // UNKNOWN
      return true;
    default:
      return false;
  }
}

absl::Status ToStatus(Result result, const char* action) {
  if (result == kSuccess) return absl::OkStatus();
  const std::string message =
      absl::StrCat("cannot ", action, ": ", Describe(TheDriver().driver, result));
  if (IsContextLost(result)) return absl::AbortedError(message);
  switch (result) {
    case kOutOfMemory:
      return absl::ResourceExhaustedError(message);
    case 200:  // INVALID_IMAGE
    case 209:  // NO_BINARY_FOR_GPU
    case 218:  // INVALID_PTX
    case 222:  // UNSUPPORTED_PTX_VERSION
    case 500:  // NOT_FOUND
    case 701:  // LAUNCH_OUT_OF_RESOURCES
    case 720:  // COOPERATIVE_LAUNCH_TOO_LARGE
      return absl::FailedPreconditionError(message);
    default:
      return absl::InternalError(message);
  }
}

}  // namespace intent::gpu
