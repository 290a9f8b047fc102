#include "tests/gpu/device_session.h"

#include <cstdlib>
#include <iostream>

namespace intent::gpu_test {
namespace {

void Must(gpu::Result result, const char* action) {
  if (result == gpu::kSuccess) return;
  std::cerr << gpu::ToStatus(result, action) << "\n";
  std::exit(1);
}

void Wait(const gpu::Driver& driver) { Must(driver.CtxSynchronize(), "wait for the device"); }

}  // namespace

Buffer::Buffer(const gpu::Driver& driver, size_t bytes) : driver_(driver), bytes_(bytes) {
  // Whole words, as atomics on parts of them want.
  Must(driver.MemAlloc(&address_, (bytes + 15) / 16 * 16), "allocate");
}

Buffer::Buffer(const gpu::Driver& driver, std::span<const uint8_t> bytes)
    : Buffer(driver, bytes.size()) {
  Must(driver.MemcpyHtoDAsync(address_, bytes.data(), bytes.size(), gpu::kLegacyStream), "copy");
  Wait(driver);
}

Buffer::~Buffer() { driver_.MemFree(address_); }

std::vector<uint8_t> Buffer::Read() const {
  std::vector<uint8_t> bytes(bytes_);
  Must(driver_.MemcpyDtoHAsync(bytes.data(), address_, bytes_, gpu::kLegacyStream), "copy back");
  Wait(driver_);
  return bytes;
}

Kernels::Kernels(const gpu::Driver& driver, const std::string& image) : driver_(driver) {
  Must(driver.ModuleLoadData(&module_, image.data()), "load an image");
}

Kernels::~Kernels() { driver_.ModuleUnload(module_); }

void Kernels::Launch(const std::string& name, unsigned blocks,
                     std::span<const uint64_t> words) const {
  gpu::Function function = nullptr;
  Must(driver_.ModuleGetFunction(&function, module_, name.c_str()), "find a kernel");
  std::vector<uint64_t> values(words.begin(), words.end());
  std::vector<void*> parameters;
  for (uint64_t& value : values) parameters.push_back(&value);
  Must(driver_.LaunchKernel(function, blocks, 1, 1, 256, 1, 1, 0, gpu::kLegacyStream,
                            parameters.data(), nullptr),
       "launch");
  Wait(driver_);
}

DeviceSession::DeviceSession(const gpu::Driver& driver) : driver_(driver) {
  int device = 0, major = 0, minor = 0;
  char name[256];
  Must(driver.DeviceGet(&device, 0), "find a device");
  Must(driver.DeviceGetName(name, sizeof(name), device), "ask the device");
  Must(driver.DeviceGetAttribute(&major, gpu::kComputeMajor, device), "ask the device");
  Must(driver.DeviceGetAttribute(&minor, gpu::kComputeMinor, device), "ask the device");
  name_ = name;
  architecture_ = "sm_" + std::to_string(10 * major + minor) + (major >= 9 ? "a" : "");
  gpu::Context context = nullptr;
  Must(driver.DevicePrimaryCtxRetain(&context, device), "open the device");
  Must(driver.CtxSetCurrent(context), "open the device");
}

absl::StatusOr<std::unique_ptr<DeviceSession>> DeviceSession::Open() {
  const absl::StatusOr<const gpu::Driver*> driver = gpu::GetDriver();
  if (!driver.ok()) return driver.status();
  return std::unique_ptr<DeviceSession>(new DeviceSession(**driver));
}

}  // namespace intent::gpu_test
