#include "server/pool/cuda_devices.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace intent {
namespace {

constexpr auto kAnswerTimeout = std::chrono::seconds(30);
constexpr size_t kLeastUuidPrefix = 8;  // "GPU-" and 4 digits, as compiler/cuda_runtime/device.h

std::string Known(const worker::v1::DeviceList& list) {
  std::string text;
  for (const worker::v1::Device& device : list.devices()) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", device.index(), ": ", device.name(), ", ",
                    device.architecture(), ", ", device.uuid());
  }
  return text;
}

bool Named(const worker::v1::Device& device, const std::string& selector) {
  if (selector.empty()) return true;
  if (!absl::StartsWith(selector, "GPU-")) return absl::StrCat(device.index()) == selector;
  return selector.size() >= kLeastUuidPrefix && absl::StartsWith(device.uuid(), selector);
}

}  // namespace

const worker::v1::DeviceList& CudaDevices::Get() {
  std::call_once(once_, [this] { list_ = Ask(); });
  return list_;
}

worker::v1::DeviceList CudaDevices::Ask() {
  worker::v1::DeviceList none;
  absl::StatusOr<WorkerFactory::Child> child =
      factory_.Spawn(worker::v1::ZygoteRequest::ROLE_LIST_DEVICES);
  if (!child.ok()) {
    none.set_missing(absl::StrCat("no process could ask: ", child.status().message()));
    return none;
  }
  worker::v1::FromWorker answer;
  const absl::Status status = child->channel->Receive(&answer, Clock::now() + kAnswerTimeout);
  child->channel.reset();
  // It ends by itself when it has answered; one that hangs in the driver dies with the zygote.
  factory_.WaitForExit(child->serial, Clock::now() + std::chrono::seconds(2));
  if (!status.ok() || !answer.has_devices()) {
    none.set_missing("the CUDA driver gave no answer about its devices");
    return none;
  }
  return answer.devices();
}

absl::StatusOr<worker::v1::Device> CudaDevices::Pick(const std::string& selector,
                                                     const std::string& target) {
  const worker::v1::DeviceList& list = Get();
  if (list.devices().empty()) return absl::FailedPreconditionError(list.missing());
  bool named = false;
  for (const worker::v1::Device& device : list.devices()) {
    if (!Named(device, selector)) continue;
    named = true;
    if (std::count(device.targets().begin(), device.targets().end(), target) != 0) return device;
  }
  return absl::FailedPreconditionError(
      named ? absl::StrCat("no such device runs code for ", target, "; there are ", Known(list))
            : absl::StrCat("there is no CUDA device '", selector, "'; there are ", Known(list)));
}

}  // namespace intent
