#include "compiler/cuda_runtime/device.h"

#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "compiler/cuda_runtime/driver.h"

namespace intent::gpu {
namespace {

constexpr size_t kLeastUuidPrefix = 8;  // "GPU-" and 4 digits

std::string Text(const Uuid& uuid) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    const bool dash = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
    absl::StrAppendFormat(&text, dash ? "-%02x" : "%02x", uuid.bytes[i]);
  }
  return text;
}

absl::StatusOr<DeviceInfo> Describe(const Driver& driver, int index) {
  DeviceInfo info;
  info.index = index;
  int device = 0;
  if (Result result = driver.DeviceGet(&device, index); result != kSuccess) {
    return ToStatus(result, "open a device");
  }
  char name[256] = {};
  if (driver.DeviceGetName(name, sizeof(name) - 1, device) == kSuccess) info.name = name;
  Uuid uuid = {};
  if (driver.DeviceGetUuid(&uuid, device) == kSuccess) info.uuid = Text(uuid);
  size_t bytes = 0;
  if (driver.DeviceTotalMem(&bytes, device) == kSuccess) info.memory_bytes = bytes;
  Result result = kSuccess;
  const auto attribute = [&](int which) {
    int value = 0;
    if (result == kSuccess) result = driver.DeviceGetAttribute(&value, which, device);
    return value;
  };
  info.major = attribute(kComputeMajor);
  info.minor = attribute(kComputeMinor);
  info.multiprocessors = attribute(kMultiprocessorCount);
  info.cooperative = attribute(kCooperativeLaunch) != 0;
  info.shared_bytes_limit = attribute(kSharedBytesOptIn);
  if (result != kSuccess) return ToStatus(result, "ask a device what it is");
  return info;
}

std::string Known(const std::vector<DeviceInfo>& devices) {
  return absl::StrJoin(devices, "; ", [](std::string* out, const DeviceInfo& device) {
    absl::StrAppend(out, device.index, ": ", device.name, ", ", device.Architecture(), ", ",
                    device.uuid);
  });
}

struct Architecture {
  int major = 0, minor = 0;
  bool exact = false;  // "a": features of that architecture alone
};

// Of "sm_90a": the last digit is the minor revision.
std::optional<Architecture> Parse(std::string base) {
  if (!absl::StartsWith(base, "sm_")) return std::nullopt;
  Architecture architecture;
  if (base.back() == 'a') {
    architecture.exact = true;
    base.pop_back();
  }
  int number = 0;
  if (!absl::SimpleAtoi(base.substr(3), &number) || number < 10) return std::nullopt;
  architecture.major = number / 10;
  architecture.minor = number % 10;
  return architecture;
}

}  // namespace

std::string DeviceInfo::Architecture() const { return absl::StrCat("sm_", major, minor); }

absl::StatusOr<std::vector<DeviceInfo>> ListDevices() {
  const absl::StatusOr<const Driver*> driver = GetDriver();
  if (!driver.ok()) return driver.status();
  int count = 0;
  if (Result result = (*driver)->DeviceGetCount(&count); result != kSuccess) {
    return ToStatus(result, "count the devices");
  }
  if (count == 0) return absl::FailedPreconditionError("the CUDA driver shows no device");
  std::vector<DeviceInfo> devices;
  for (int index = 0; index < count; ++index) {
    absl::StatusOr<DeviceInfo> info = Describe(**driver, index);
    if (!info.ok()) return info.status();
    devices.push_back(*std::move(info));
  }
  return devices;
}

absl::StatusOr<DeviceInfo> PickDevice(const std::vector<DeviceInfo>& devices,
                                      std::string_view selector) {
  if (selector.empty() && !devices.empty()) return devices.front();
  const bool by_uuid = selector.starts_with("GPU-");
  std::vector<const DeviceInfo*> found;
  for (const DeviceInfo& device : devices) {
    if (by_uuid ? selector.size() >= kLeastUuidPrefix && device.uuid.starts_with(selector)
                : absl::StrCat(device.index) == selector) {
      found.push_back(&device);
    }
  }
  if (found.size() == 1) return *found.front();
  return absl::NotFoundError(
      absl::StrCat(found.empty() ? "there is no CUDA device '" : "there are several CUDA devices '",
                   std::string(selector), "'; there are ", Known(devices)));
}

absl::StatusOr<DeviceInfo> FirstThatRuns(const std::vector<DeviceInfo>& devices,
                                         const Target& target) {
  for (const DeviceInfo& device : devices) {
    if (Runs(device, target)) return device;
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "no device here runs code for ", target.ToString(), "; there are ", Known(devices)));
}

absl::StatusOr<int> DeviceOf(DevicePointer pointer) {
  const absl::StatusOr<const Driver*> driver = GetDriver();
  if (!driver.ok()) return driver.status();
  int index = 0;
  if ((*driver)->PointerGetAttribute(&index, kPointerDevice, pointer) != kSuccess) {
    return absl::InvalidArgumentError("it is no memory of a CUDA device");
  }
  return index;
}

bool Runs(const DeviceInfo& device, const Target& target) {
  if (target.kind != TargetKind::kCuda) return false;
  const std::optional<Architecture> code = Parse(target.base);
  if (!code.has_value() || code->major != device.major) return false;
  return code->exact ? code->minor == device.minor : code->minor <= device.minor;
}

absl::StatusOr<Target> NativeTarget(const DeviceInfo& device) {
  for (int minor = device.minor; minor >= 0; --minor) {
    for (const char* suffix : {"a", ""}) {
      absl::StatusOr<Target> target = ParseTarget(absl::StrCat("sm_", device.major, minor, suffix));
      if (target.ok() && Runs(device, *target)) return target;
    }
  }
  return absl::FailedPreconditionError(absl::StrCat(device.name, " is ", device.Architecture(),
                                                    ", for which this compiler has no target"));
}

}  // namespace intent::gpu
