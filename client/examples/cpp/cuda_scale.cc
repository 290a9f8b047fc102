// A kernel compiled by a daemon and launched in this process, on this program's own device memory
// and stream: y = a * x. The daemon needs no GPU for that, this process does.
//
//   intent-compiled --listen unix:/tmp/i.sock &
//   intent_example_cuda_scale unix:/tmp/i.sock

#include <cstdio>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "client/cpp/arguments.h"
#include "client/cpp/client.h"
#include "client/cpp/render.h"
#include "compiler/builder/builder.h"
#include "compiler/cuda_runtime/cuda_kernel.h"
#include "compiler/ir/codec.h"

namespace {

using intent::client::Client;
using intent::client::Render;
using intent::client::Sources;
using intent::execute::v1::RunError;
using intent::gpu::CudaKernel;
using intent::gpu::DeviceContext;
using intent::gpu::DevicePointer;
using intent::gpu::ToStatus;

constexpr int64_t kCount = 1'000'000;
constexpr size_t kBytes = kCount * sizeof(float);

std::string BuildScale(Sources* sources) {
  intent::KernelBuilder b;
  b.SetKernelName("scale");
  const intent::Extent n = b.SymbolExtent("N");
  const intent::Operand a = b.AddScalar("a", intent::DType::kF32);
  const intent::Operand x = b.AddView("x", intent::DType::kF32, {n}, intent::Access::kIn, {});
  const intent::Operand y = b.AddView("y", intent::DType::kF32, {n}, intent::Access::kOut, {});
  b.Store(y, {}, b.Binary(intent::BinaryKind::kMul, a, b.Load(x, {})));
  return intent::EncodeModule(*b.Finish(&sources->map));
}

// The kernel on the first device of this process, compiled for it.
absl::StatusOr<std::unique_ptr<CudaKernel>> CompileAndLoad(const std::string& address,
                                                           const Sources& sources,
                                                           const std::string& module) {
  auto context = DeviceContext::Get(0);
  if (!context.ok()) return context.status();
  const auto target = intent::gpu::NativeTarget((*context)->info());
  if (!target.ok()) return target.status();
  const auto client = Client::Connect(address);
  if (!client.ok()) return client.status();
  const auto compiled = (*client)->Compile({.module = module, .target = target->ToString()});
  if (!compiled.ok()) return compiled.status();
  if (const auto* mistakes = std::get_if<intent::compile::v1::Diagnostics>(&*compiled)) {
    return absl::InvalidArgumentError(Render(*mistakes, sources));
  }
  const auto& artifact = std::get<intent::compile::v1::Artifact>(*compiled);
  const auto cubin = (*client)->GetPayload(artifact.id(), "cubin");
  if (!cubin.ok()) return cubin.status();
  intent::compile::v1::Manifest manifest;
  manifest.ParseFromString(artifact.manifest());
  return CudaKernel::Load(*std::move(context), std::move(manifest), *cubin);
}

// Scales `host` by way of the device.
absl::Status Scale(CudaKernel& kernel, const Sources& sources, std::vector<float>& host) {
  const DeviceContext::Current current(kernel.context());
  const intent::gpu::Driver& driver = kernel.context().driver();
  intent::gpu::Stream stream = nullptr;
  DevicePointer x = 0, y = 0;
  intent::gpu::Result result = driver.StreamCreate(&stream, intent::gpu::kNonBlockingStream);
  if (result == intent::gpu::kSuccess) result = driver.MemAlloc(&x, kBytes);
  if (result == intent::gpu::kSuccess) result = driver.MemAlloc(&y, kBytes);
  if (result == intent::gpu::kSuccess) {
    result = driver.MemcpyHtoDAsync(x, host.data(), kBytes, stream);
  }
  if (result != intent::gpu::kSuccess) return ToStatus(result, "have memory on the device");

  // What is checked and computed here once serves any number of launches.
  const int64_t shape[] = {kCount};
  google::protobuf::RepeatedPtrField<intent::execute::v1::Argument> arguments;
  *arguments.Add() = intent::client::ScalarOf(3.0f);
  *arguments.Add() = intent::client::ViewOf(0, shape);
  *arguments.Add() = intent::client::ViewOf(1, shape);
  const auto bound = intent::Bind(
      kernel.manifest(),
      {{0, reinterpret_cast<char*>(x), kBytes}, {1, reinterpret_cast<char*>(y), kBytes}},
      arguments);
  if (const auto* error = std::get_if<RunError>(&bound)) {
    return absl::InvalidArgumentError(Render(*error, sources));
  }
  const auto prepared = kernel.Prepare(std::get<intent::BoundCall>(bound));
  if (!prepared.ok()) return prepared.status();
  if (const auto* error = std::get_if<RunError>(&*prepared)) {
    return absl::InvalidArgumentError(Render(*error, sources));
  }

  absl::Status status = kernel.Launch(std::get<intent::gpu::PreparedLaunch>(*prepared), stream);
  if (!status.ok()) return status;
  result = driver.MemcpyDtoHAsync(host.data(), y, kBytes, stream);
  if (result == intent::gpu::kSuccess) result = driver.StreamSynchronize(stream);
  if (result != intent::gpu::kSuccess) return ToStatus(result, "run the kernel");
  const auto error = kernel.TakeError();
  if (!error.ok()) return error.status();
  if (error->has_value()) return absl::InternalError(Render(**error, sources));
  driver.MemFree(x);
  driver.MemFree(y);
  driver.StreamDestroy(stream);
  return absl::OkStatus();
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: intent_example_cuda_scale unix:/path\n", stderr);
    return 2;
  }
  Sources sources;
  sources.name = "scale";
  const std::string module = BuildScale(&sources);
  const auto kernel = CompileAndLoad(argv[1], sources, module);
  if (!kernel.ok()) return Fail(kernel.status());
  std::vector<float> values(kCount);
  for (int64_t i = 0; i < kCount; ++i) values[i] = static_cast<float>(i);
  if (const absl::Status status = Scale(**kernel, sources, values); !status.ok()) {
    return Fail(status);
  }
  std::printf("3 * x = %g %g %g ... on %s\n", values[0], values[1], values[2],
              (*kernel)->context().info().name.c_str());
  return values[1] == 3.0f && values[kCount - 1] == 3.0f * (kCount - 1) ? 0 : 1;
}
