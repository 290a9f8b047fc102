#include "compiler/cuda_runtime/device_context.h"

#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"

namespace intent::gpu {
namespace {

// Never destroyed: threads may still ask while the process ends.
struct Contexts {
  std::mutex mutex;
  std::map<int, std::weak_ptr<DeviceContext>> by_index;
};

Contexts& TheContexts() {
  static Contexts* const kContexts = new Contexts;
  return *kContexts;
}

}  // namespace

absl::StatusOr<std::shared_ptr<DeviceContext>> DeviceContext::Get(int index) {
  const absl::StatusOr<const Driver*> driver = GetDriver();
  if (!driver.ok()) return driver.status();
  Contexts& contexts = TheContexts();
  std::lock_guard lock(contexts.mutex);
  if (std::shared_ptr<DeviceContext> known = contexts.by_index[index].lock()) return known;
  absl::StatusOr<std::vector<DeviceInfo>> devices = ListDevices();
  if (!devices.ok()) return devices.status();
  absl::StatusOr<DeviceInfo> info = PickDevice(*devices, absl::StrCat(index));
  if (!info.ok()) return info.status();
  int device = 0;
  Context context = nullptr;
  Result result = (*driver)->DeviceGet(&device, index);
  if (result == kSuccess) result = (*driver)->DevicePrimaryCtxRetain(&context, device);
  if (result != kSuccess) return ToStatus(result, "make a context on the device");
  std::shared_ptr<DeviceContext> made(
      new DeviceContext(**driver, *std::move(info), device, context));
  contexts.by_index[index] = made;
  return made;
}

DeviceContext::DeviceContext(const Driver& driver, DeviceInfo info, int device, Context context)
    : driver_(driver),
      info_(std::move(info)),
      device_(device),
      context_(context),
      error_records_(driver),
      launch_memory_(driver) {}

DeviceContext::~DeviceContext() {
  {
    const Current current(*this);
    launch_memory_.Release();
    error_records_.Release();
  }
  driver_.DevicePrimaryCtxRelease(device_);
}

DeviceContext::Current::Current(const DeviceContext& context) : driver_(context.driver_) {
  result_ = driver_.CtxGetCurrent(&before_);
  if (result_ != kSuccess || before_ == context.context_) return;
  result_ = driver_.CtxSetCurrent(context.context_);
  changed_ = result_ == kSuccess;
}

DeviceContext::Current::~Current() {
  if (changed_) driver_.CtxSetCurrent(before_);
}

absl::Status DeviceContext::Synchronize() const {
  const Current current(*this);
  if (absl::Status status = current.status(); !status.ok()) return status;
  return ToStatus(driver_.CtxSynchronize(), "wait for the device");
}

}  // namespace intent::gpu
