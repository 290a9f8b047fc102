#include "server/worker/warm_up.h"

#include <string_view>
#include <utility>
#include <variant>

#include "compiler/driver/compile.h"
#include "compiler/ir/codec.h"
#include "compiler/ir/parse.h"
#include "compiler/target/target.h"

namespace intent {
namespace {

constexpr std::string_view kKernel = R"(
kernel (%x: view<in, f32, [s0]>, %y: view<out, f32, [s0]>) {
  %a = view_load %x [:] : tensor<f32, [s0]>
  %b = binary mul %a, %a : tensor<f32, [s0]>
  %c = unary exp %b : tensor<f32, [s0]>
  view_store %y [:] = %c
  return
}
)";

}  // namespace

void WarmUpCompiler(const Target& target, const CompileTools& tools) {
  const ParsedModule parsed = ParseModule(kKernel);
  if (!parsed.ok()) return;
  CompileInput input;
  input.module = EncodeModule(*parsed.module);
  input.target = target;
  auto prepared = Prepare(input, nullptr);
  if (!prepared.ok() || !std::holds_alternative<Prepared>(*prepared)) return;
  (void)Compile(input, std::get<Prepared>(std::move(*prepared)), nullptr, tools);
}

}  // namespace intent
