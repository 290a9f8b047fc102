#include "tests/gpu/images.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "compiler/cuda/device_library.h"
#include "compiler/cuda/device_sweep.h"
#include "compiler/diag/check.h"
#include "tests/gpu/atomics_check.h"

namespace intent::gpu_test {
namespace {

constexpr DType kDTypes[] = {
#define INTENT_DTYPE(name, text, bits, bytes, cls) DType::name,
#include "compiler/ir/dtypes.def"
#undef INTENT_DTYPE
};

absl::StatusOr<std::string> Compile(const std::string& source, const std::string& architecture,
                                    Conversions conversions) {
  static const auto* const kNvrtc =
      new absl::StatusOr<std::unique_ptr<cuda::Nvrtc>>(cuda::Nvrtc::Open());
  if (!kNvrtc->ok()) return kNvrtc->status();
  std::vector<cuda::NvrtcHeader> headers(cuda::DeviceLibrary().begin(),
                                         cuda::DeviceLibrary().end());
  std::string ptx;
  if (conversions == Conversions::kPortable) {
    // What older architectures see.
    constexpr std::string_view kCondition = "#if __CUDA_ARCH__ >= 890";
    for (cuda::NvrtcHeader& header : headers) {
      if (header.name != "intent/ptx.cuh") continue;
      ptx = header.text;
      const size_t at = ptx.find(kCondition);
      INTENT_CHECK(at != std::string::npos) << "ptx.cuh has no native conversions";
      ptx.replace(at, kCondition.size(), "#if 0");
      header.text = ptx;
    }
  }
  auto result = (*kNvrtc)->get()->Compile(
      {.source = source, .headers = headers, .architecture = architecture});
  if (!result.ok()) return result.status();
  return std::move(result->cubin);
}

}  // namespace

std::string Images::PathOf(const std::string& name) const {
  return folder_ + "/" + name + "." + architecture_ + ".cubin";
}

absl::StatusOr<std::string> Images::Find(const std::string& name, const std::string& source,
                                         Conversions conversions) const {
  if (!folder_.empty()) {
    std::ifstream file(PathOf(name), std::ios::binary);
    if (file) return std::string(std::istreambuf_iterator<char>(file), {});
  }
  return Compile(source, architecture_, conversions);
}

absl::StatusOr<std::string> Images::Functions(DType dtype, Conversions conversions) const {
  const std::string suffix = conversions == Conversions::kPortable ? "-portable" : "";
  return Find(std::string(DTypeName(dtype)) + suffix,
              cuda::DeviceSweepSource(cuda::DeviceFunctionsOf(dtype)), conversions);
}

absl::StatusOr<std::string> Images::Atomics() const {
  return Find("atomics", AtomicsSource(), Conversions::kNative);
}

absl::Status Images::WriteAll() const {
  std::filesystem::create_directories(folder_);
  const auto write = [&](const std::string& name,
                         const absl::StatusOr<std::string>& image) -> absl::Status {
    if (!image.ok()) return image.status();
    std::ofstream file(PathOf(name), std::ios::binary);
    file << *image;
    return file.flush() ? absl::OkStatus() : absl::InternalError("cannot write " + PathOf(name));
  };
  const Images fresh("", architecture_);
  for (DType dtype : kDTypes) {
    const std::string name(DTypeName(dtype));
    if (auto s = write(name, fresh.Functions(dtype, Conversions::kNative)); !s.ok()) return s;
    if (auto s = write(name + "-portable", fresh.Functions(dtype, Conversions::kPortable));
        !s.ok()) {
      return s;
    }
  }
  return write("atomics", fresh.Atomics());
}

}  // namespace intent::gpu_test
