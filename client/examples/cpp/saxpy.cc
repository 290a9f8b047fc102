// A kernel made in C++, compiled by a daemon and run there: out = a * x + y.
//
//   intent-compiled --listen unix:/tmp/i.sock &
//   intent_example_saxpy unix:/tmp/i.sock

#include <cstdio>
#include <variant>
#include <vector>

#include "client/cpp/arguments.h"
#include "client/cpp/client.h"
#include "client/cpp/render.h"
#include "compiler/builder/builder.h"
#include "compiler/ir/codec.h"

namespace {

using intent::client::Client;
using intent::client::HostAllocation;
using intent::client::Render;
using intent::client::ScalarOf;
using intent::client::Sources;
using intent::client::ViewOf;

// The kernel's serialised KIR; empty, with its mistakes printed, when it has any.
std::string BuildSaxpy(Sources* sources) {
  intent::KernelBuilder b;
  b.SetKernelName("saxpy");
  const intent::Extent n = b.SymbolExtent("N");
  const intent::Operand a = b.AddScalar("a", intent::DType::kF32);
  const intent::Operand x = b.AddView("x", intent::DType::kF32, {n}, intent::Access::kIn, {});
  const intent::Operand y = b.AddView("y", intent::DType::kF32, {n}, intent::Access::kIn, {});
  const intent::Operand out = b.AddView("out", intent::DType::kF32, {n}, intent::Access::kOut, {});
  const intent::Operand product = b.Binary(intent::BinaryKind::kMul, a, b.Load(x, {}));
  b.Store(out, {}, b.Binary(intent::BinaryKind::kAdd, product, b.Load(y, {})));
  const auto module = b.Finish(&sources->map);
  if (module != nullptr) return intent::EncodeModule(*module);
  std::fputs(Render(b.diagnostics(), *sources).c_str(), stderr);
  return "";
}

int Fail(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

HostAllocation Memory(std::vector<float>& array, bool is_result) {
  return {.data = reinterpret_cast<char*>(array.data()),
          .size = array.size() * sizeof(float),
          .sent = !is_result,
          .returned = is_result};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return Fail("usage: intent_example_saxpy unix:/path");
  Sources sources;
  sources.name = "saxpy";
  const std::string module = BuildSaxpy(&sources);
  if (module.empty()) return 1;

  const auto client = Client::Connect(argv[1]);
  if (!client.ok()) return Fail(client.status().ToString());
  const auto compiled = (*client)->Compile({.module = module});
  if (!compiled.ok()) return Fail(compiled.status().ToString());
  if (const auto* diagnostics = std::get_if<intent::compile::v1::Diagnostics>(&*compiled)) {
    return Fail(Render(*diagnostics, sources));
  }
  const auto& artifact = std::get<intent::compile::v1::Artifact>(*compiled);

  std::vector<float> x = {1, 2, 3}, y = {10, 20, 30}, out(3);
  const int64_t shape[] = {3};
  const auto result =
      (*client)->Execute(artifact.id(), {Memory(x, false), Memory(y, false), Memory(out, true)},
                         {ScalarOf(2.0f), ViewOf(0, shape), ViewOf(1, shape), ViewOf(2, shape)});
  if (!result.ok()) return Fail(result.status().ToString());
  if (const auto* error = std::get_if<intent::execute::v1::RunError>(&*result)) {
    return Fail(Render(*error, sources));
  }
  std::printf("2 * x + y = %g %g %g\n", out[0], out[1], out[2]);
  return out == std::vector<float>{12, 24, 36} ? 0 : 1;
}
